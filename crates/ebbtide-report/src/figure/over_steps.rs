//! Several runs: bounds and distances against the number of steps, a line for each method; of one number of steps, method beside
//! method.

use ebbtide::target::NamedTarget;
use ebbtide_run::compare::{Group, Mean};

use super::look::look;
use crate::chart::{Chart, Colour, Form, Mark, Scale, Tick, Tip, number};

/// What a chart shows of each group.
struct Metric {
    name: &'static str,
    label: &'static str,
    caption: &'static str,
    of: fn(&Group) -> Option<Mean>,
    /// What a perfect sampler has, and its name.
    perfect: fn(&[&Group]) -> Option<(f64, &'static str)>,
}

const METRICS: [Metric; 4] = [
    Metric {
        name: "elbo",
        label: "ELBO (nats)",
        caption: "Lower bound on log Z; higher is better.",
        of: |group| group.elbo,
        perfect: true_log_z,
    },
    Metric {
        name: "eubo",
        label: "EUBO (nats)",
        caption: "Upper bound on log Z; lower is better.",
        of: |group| group.eubo,
        perfect: true_log_z,
    },
    Metric {
        name: "w2",
        label: "2-Wasserstein distance",
        caption: "Distance of samples from exact draws; lower is better.",
        of: |group| group.w2,
        perfect: |groups| {
            let floors = groups.iter().filter_map(|group| group.w2_floor).map(|mean| mean.mean);
            floors.reduce(f64::min).map(|floor| (floor, "exact draws"))
        },
    },
    Metric {
        name: "ess",
        label: "effective share of samples (%)",
        caption: "Effective samples; higher is better.",
        of: |group| group.ess.map(Mean::percent),
        perfect: |_| None,
    },
];

/// A chart for each figure that the groups of one target have.
pub fn charts(groups: &[&Group]) -> Vec<Chart> {
    METRICS.iter().filter_map(|metric| chart(groups, metric)).collect()
}

/// A method's line: steps, mean and deviation.
struct Curve<'a> {
    method: &'a str,
    points: Vec<(f64, f64, Option<f64>)>,
}

/// The lines of a figure, in the order of the groups.
fn curves<'a>(groups: &[&'a Group], metric: &Metric) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve> = Vec::new();
    for group in groups {
        let Some(Mean { mean, deviation, .. }) = (metric.of)(group) else { continue };
        let point = (group.steps as f64, mean, deviation);
        match curves.iter_mut().find(|curve| curve.method == group.method) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { method: &group.method, points: vec![point] }),
        }
    }
    curves
}

fn true_log_z(groups: &[&Group]) -> Option<(f64, &'static str)> {
    let target: NamedTarget = groups.first()?.target.parse().ok()?;
    target.build().log_z().map(|log_z| (log_z, "true log Z"))
}

fn chart(groups: &[&Group], metric: &Metric) -> Option<Chart> {
    let (target, curves) = (&groups.first()?.target, curves(groups, metric));
    let all = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let mut steps: Vec<f64> = all().map(|point| point.0).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let perfect = (metric.perfect)(groups);
    let ends = all().flat_map(|(_, mean, deviation)| {
        let deviation = deviation.unwrap_or(0.0);
        [mean - deviation, mean + deviation]
    });
    let seeds = match all().any(|(_, _, deviation)| deviation.is_some()) {
        true => "Means over seeds, bars of one standard deviation.",
        false => "One seed each.",
    };
    let mut chart =
        Chart::new(format!("{target}-{}", metric.name), Form::Broad, format!("{} {seeds}", metric.caption))
            .alt(alt(target, metric, &curves))
            .y(metric.label, Scale::fitting(ends.chain(perfect.map(|(value, _)| value))));
    if let Some((at, name)) = perfect {
        chart = chart.named(Mark::Level { at, colour: Colour::TRUTH }, name);
    }
    match &steps[..] {
        [] => None,
        [one] => Some(beside(chart, &curves, *one)),
        _ => Some(over(chart, &curves, &steps)),
    }
}

/// A line for each method, over several numbers of steps.
fn over(mut chart: Chart, curves: &[Curve], steps: &[f64]) -> Chart {
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    let room = 0.06 * (last - first);
    let ticks = steps.iter().map(|&value| Tick { value, label: number(value, 0) });
    chart = chart.x("steps T", Scale::exact(first - room, last + room)).x_ticks(ticks.collect());
    for (i, Curve { method, points }) in curves.iter().enumerate() {
        let (colour, symbol) = look(method);
        // A little aside, so that error bars stand beside each other.
        let aside = 0.012 * (last - first) * (i as f64 - 0.5 * (curves.len() - 1) as f64);
        let points: Vec<_> = points.iter().map(|&(x, y, deviation)| (x + aside, y, deviation)).collect();
        let line = points.iter().map(|&(x, y, _)| (x, y));
        let line = if symbol.is_open() { Mark::dashes(line, colour) } else { Mark::line(line, colour) };
        chart = chart.mark(line).named(Mark::Symbols { points, colour, symbol }, *method);
    }
    chart.tips(steps.iter().map(|&at| {
        let here = |curve: &Curve| {
            let point = curve.points.iter().find(|point| point.0 == at)?;
            Some(format!("\n{}", line(curve.method, point)))
        };
        let lines: String = curves.iter().filter_map(here).collect();
        Tip { x: at, text: format!("T = {at}{lines}") }
    }))
}

/// Method beside method, where all have the same number of steps.
fn beside(chart: Chart, curves: &[Curve], steps: f64) -> Chart {
    let place = |i: usize| (i + 1) as f64;
    let label = |curve: &Curve| if curves.len() <= 4 { curve.method.to_owned() } else { String::new() };
    let ticks = curves.iter().enumerate().map(|(i, curve)| Tick { value: place(i), label: label(curve) });
    let tips = curves.iter().enumerate().map(|(i, curve)| Tip {
        x: place(i),
        text: curve.points.iter().map(|point| line(curve.method, point)).collect(),
    });
    let chart = chart
        .x(format!("method, T = {steps}"), Scale::exact(0.5, curves.len() as f64 + 0.5))
        .x_ticks(ticks.collect())
        .tips(tips);
    curves.iter().enumerate().fold(chart, |chart, (i, curve)| {
        let (colour, symbol) = look(curve.method);
        let points = curve.points.iter().map(|&(_, mean, deviation)| (place(i), mean, deviation)).collect();
        chart.named(Mark::Symbols { points, colour, symbol }, curve.method)
    })
}

fn line(method: &str, (_, mean, deviation): &(f64, f64, Option<f64>)) -> String {
    let deviation = deviation.map_or_else(String::new, |deviation| format!(" ± {}", number(deviation, 3)));
    format!("{method} {}{deviation}", number(*mean, 3))
}

fn alt(target: &str, metric: &Metric, curves: &[Curve]) -> String {
    let at = |curve: &Curve| {
        let values: Vec<String> =
            curve.points.iter().map(|point| format!("{} at T = {}", number(point.1, 3), point.0)).collect();
        format!("{}: {}", curve.method, values.join(", "))
    };
    let methods: Vec<String> = curves.iter().map(at).collect();
    format!("{} of {target} by method and number of steps. {}.", metric.label, methods.join("; "))
}

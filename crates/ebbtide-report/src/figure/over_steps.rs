//! Several runs: bounds and distances against the number of steps, a line for each method.

use ebbtide::objective::Method;
use ebbtide_run::compare::{Group, Mean};

use crate::chart::{Chart, Colour, Form, Mark, Scale, Symbol, Tip, number};

/// What a chart shows of each group.
struct Metric {
    name: &'static str,
    label: &'static str,
    caption: &'static str,
    of: fn(&Group) -> Option<Mean>,
}

const METRICS: [Metric; 4] = [
    Metric {
        name: "elbo",
        label: "ELBO (nats)",
        caption: "Lower bound on log Z; higher is better",
        of: |group| group.elbo,
    },
    Metric {
        name: "eubo",
        label: "EUBO (nats)",
        caption: "Upper bound on log Z; lower is better",
        of: |group| group.eubo,
    },
    Metric {
        name: "w2",
        label: "2-Wasserstein distance",
        caption: "Distance of samples from exact draws; lower is better",
        of: |group| group.w2,
    },
    Metric {
        name: "ess",
        label: "effective share of samples (%)",
        caption: "Effective samples; higher is better",
        of: |group| group.ess.map(percent),
    },
];

fn percent(mean: Mean) -> Mean {
    Mean { mean: 100.0 * mean.mean, deviation: mean.deviation.map(|deviation| 100.0 * deviation), ..mean }
}

/// The look of a method: colours go by what is learned, symbols by the objective too.
fn look(method: &str) -> (Colour, Symbol) {
    const LOOKS: [(Method, Colour, Symbol); 8] = [
        (Method::TbFixed, Colour::GOLD, Symbol::Triangle),
        (Method::TbVariance, Colour::GREEN, Symbol::Square),
        (Method::TbTlm, Colour::PURPLE, Symbol::Diamond),
        (Method::TbTb, Colour::BLUE, Symbol::Disc),
        (Method::PisFixed, Colour::GOLD, Symbol::Plus),
        (Method::PisVariance, Colour::GREEN, Symbol::Box),
        (Method::PisTlm, Colour::PURPLE, Symbol::Cross),
        (Method::PisVarGrad, Colour::BLUE, Symbol::Ring),
    ];
    let found = LOOKS.iter().find(|(known, _, _)| known.name() == method);
    found.map_or((Colour::VERMILION, Symbol::Diamond), |(_, colour, symbol)| (*colour, *symbol))
}

/// A chart for each figure that the groups of one target have.
pub fn charts(groups: &[&Group]) -> Vec<Chart> {
    METRICS.iter().filter_map(|metric| chart(groups, metric)).collect()
}

fn chart(groups: &[&Group], metric: &Metric) -> Option<Chart> {
    let target = &groups.first()?.target;
    let mut steps: Vec<f64> = groups.iter().map(|group| group.steps as f64).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let points = |method: &str| -> Vec<(f64, f64, Option<f64>)> {
        let own = groups.iter().filter(|group| group.method == method);
        own.filter_map(|group| {
            let mean = (metric.of)(group)?;
            Some((group.steps as f64, mean.mean, mean.deviation))
        })
        .collect()
    };
    let mut methods: Vec<&str> = Vec::new();
    for group in groups {
        if !methods.contains(&group.method.as_str()) && !points(&group.method).is_empty() {
            methods.push(&group.method);
        }
    }
    if methods.is_empty() {
        return None;
    }
    let ends = |(_, mean, deviation): (f64, f64, Option<f64>)| {
        let deviation = deviation.unwrap_or(0.0);
        [mean - deviation, mean + deviation]
    };
    let values: Vec<f64> = methods.iter().flat_map(|method| points(method)).flat_map(ends).collect();
    let floor =
        (metric.name == "w2").then(|| groups.iter().filter_map(|group| group.w2_floor).map(|mean| mean.mean));
    let floor = floor.and_then(|floors| floors.reduce(f64::min));
    let mut chart = Chart::new(
        format!("{target}-{}", metric.name),
        Form::Broad,
        format!("{}, over the steps from the origin to a sample. Means over seeds, bars of one standard deviation.", metric.caption),
    )
    .x("steps T", spaced(&steps))
    .y(metric.label, Scale::fitting(values.into_iter().chain(floor)));
    if let Some(floor) = floor {
        chart = chart.named(Mark::Level { at: floor, colour: Colour::TRUTH }, "exact draws");
    }
    for method in &methods {
        let (points, (colour, symbol)) = (points(method), look(method));
        let line = points.iter().map(|&(x, y, _)| (x, y));
        let line =
            if method.starts_with("pis") { Mark::dashes(line, colour) } else { Mark::line(line, colour) };
        chart = chart.mark(line).named(Mark::Symbols { points, colour, symbol }, *method);
    }
    let told = |&steps: &f64| {
        let line = |method: &&&str| {
            let (_, mean, deviation) = points(method).into_iter().find(|point| point.0 == steps)?;
            let deviation =
                deviation.map_or_else(String::new, |deviation| format!(" ± {}", number(deviation, 3)));
            Some(format!("\n{method} {}{deviation}", number(mean, 3)))
        };
        Tip {
            x: steps,
            text: format!(
                "T = {steps}{}",
                methods.iter().filter_map(|method| line(&method)).collect::<String>()
            ),
        }
    };
    let tips: Vec<Tip> = steps.iter().map(told).collect();
    let alt =
        format!("{} of {target} against the number of steps, for {}.", metric.label, methods.join(", "));
    Some(chart.alt(alt).tips(tips))
}

/// Steps by factors where they are of several sizes, with room for symbols at the ends.
fn spaced(steps: &[f64]) -> Scale {
    let (low, high) = (steps[0], steps[steps.len() - 1]);
    Scale::exact(low - 0.06 * (high - low).max(1.0), high + 0.06 * (high - low).max(1.0))
}

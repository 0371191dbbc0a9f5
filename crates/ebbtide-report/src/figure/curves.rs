//! Curves over training: bounds, losses, effective samples, gradients.

use ebbtide::objective::{DestructionObjective, GenerationObjective};
use ebbtide_run::settings::Settings;
use ebbtide_run::{Figures, Record};

use crate::chart::{Chart, Colour, Form, Mark, Scale, Tip, number};
use crate::portrait::Portrait;

/// More points than this are not told apart on a page.
const MOST: usize = 500;

/// All curves of a run.
pub fn charts(portrait: &Portrait) -> Vec<Chart> {
    let records = thinned(&portrait.records);
    let evaluated: Vec<(f64, Figures)> = portrait
        .records
        .iter()
        .filter_map(|record| Some((record.iteration as f64, record.figures?)))
        .collect();
    let evaluated: Vec<(f64, Figures)> = thinned(&evaluated).into_iter().copied().collect();
    let mut charts = Vec::new();
    let end = portrait.settings.config.iterations.max(portrait.iteration()).max(1) as f64;
    let across = Scale::exact(0.0, end);
    if !evaluated.is_empty() {
        charts.push(bounds(&evaluated, portrait.log_z(), across));
    }
    charts.extend(losses(&records, &portrait.settings, across));
    if !evaluated.is_empty() {
        charts.push(effective(&evaluated, across));
    }
    charts.extend(gradients(&records, across));
    charts
}

/// Every so many of them, and always the last.
fn thinned<T>(all: &[T]) -> Vec<&T> {
    let every = all.len().div_ceil(MOST).max(1);
    let last = all.len().saturating_sub(1);
    all.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last).map(|(_, one)| one).collect()
}

fn iteration(at: f64) -> String {
    format!("iteration {}", number(at, 0))
}

fn bounds(evaluated: &[(f64, Figures)], truth: Option<f64>, across: Scale) -> Chart {
    let curve = |of: fn(&Figures) -> f64| evaluated.iter().map(move |(at, figures)| (*at, of(figures)));
    let error = |value: fn(&Figures) -> f64, error: fn(&Figures) -> f64| {
        let band = |(at, figures): &(f64, Figures)| {
            (*at, value(figures) - error(figures), value(figures) + error(figures))
        };
        evaluated.iter().map(band).collect::<Vec<_>>()
    };
    let (elbo, eubo) = (|f: &Figures| f.elbo, |f: &Figures| f.eubo.unwrap_or(f64::NAN));
    let has_eubo = evaluated.iter().any(|(_, figures)| figures.eubo.is_some());
    // What the first fifth went through is left to the tips: the rest would be a line.
    let later = |points: &dyn Fn() -> Vec<(f64, f64)>| points().split_off(evaluated.len() / 5);
    let (lower, upper) = (later(&|| curve(elbo).collect()), later(&|| curve(eubo).collect()));
    let values = lower.into_iter().chain(upper).map(|(_, value)| value).chain(truth);
    let mut chart = Chart::new(
        "curve-bounds",
        Form::Broad,
        "Bounds on log Z, with bands of one standard error. They meet at log Z when generation has become the reversal of destruction.",
    )
    .x("iteration", across)
    .y("log Z (nats)", Scale::fitting(values));
    if let Some(truth) = truth {
        chart = chart.named(Mark::Level { at: truth, colour: Colour::TRUTH }, "true log Z");
    }
    chart = chart.mark(Mark::Band { points: error(elbo, |f| f.elbo_error), colour: Colour::BLUE });
    if has_eubo {
        let points = error(eubo, |f| f.eubo_error.unwrap_or(f64::NAN));
        chart = chart
            .mark(Mark::Band { points, colour: Colour::VERMILION })
            .named(Mark::line(curve(eubo), Colour::VERMILION), "EUBO");
    }
    let last = evaluated.last().map(|(at, figures)| {
        let upper = figures.eubo.map_or_else(String::new, |eubo| format!(", EUBO {}", number(eubo, 3)));
        format!("At {} the ELBO is {}{upper}.", iteration(*at), number(figures.elbo, 3))
    });
    let alt = format!("Lower and upper bound on log Z over training. {}", last.unwrap_or_default());
    let tips = evaluated.iter().map(|(at, f)| {
        let upper = f.eubo.zip(f.eubo_error);
        let upper =
            upper.map_or_else(String::new, |(v, e)| format!("\nEUBO {} ± {}", number(v, 4), number(e, 4)));
        let lower = format!("\nELBO {} ± {}", number(f.elbo, 4), number(f.elbo_error, 4));
        let middle = format!("\nlog Z {} ± {}", number(f.log_z, 4), number(f.log_z_error, 4));
        Tip { x: *at, text: format!("{}{upper}{middle}{lower}", iteration(*at)) }
    });
    chart
        .named(Mark::dashes(curve(|f| f.log_z), Colour::GREEN), "weighted log Z")
        .named(Mark::line(curve(elbo), Colour::BLUE), "ELBO")
        .alt(alt)
        .tips(tips)
}

/// What a loss is measured in: second moments are squares.
fn unit(second_moment: bool) -> &'static str {
    if second_moment { "nats²" } else { "nats" }
}

fn losses(records: &[&Record], settings: &Settings, across: Scale) -> Option<Chart> {
    let curve = |of: fn(&Record) -> Option<f64>| -> Vec<(f64, f64)> {
        records.iter().filter_map(|record| Some((record.iteration as f64, of(record)?))).collect()
    };
    let (generation, destruction) = (curve(|r| r.generation_loss), curve(|r| r.destruction_loss));
    if generation.is_empty() {
        return None;
    }
    let values = || generation.iter().chain(&destruction).map(|point| point.1);
    let scale = match values().all(|value| value > 0.0) {
        true => Scale::log(values()),
        false => Scale::fitting(values()),
    };
    let mut chart = Chart::new(
        "curve-losses",
        Form::Broad,
        "Losses on fresh trajectories, means over the iterations since the point before.",
    )
    .alt("Losses of the generation and the destruction process over training.")
    .x("iteration", across)
    .y("loss", scale);
    let units = (
        unit(settings.config.generation_objective != GenerationObjective::ReverseKl),
        unit(settings.config.destruction_objective != Some(DestructionObjective::TrajectoryLikelihood)),
    );
    chart = chart.named(Mark::line(generation, Colour::BLUE), format!("generation ({})", units.0));
    if !destruction.is_empty() {
        chart = chart.named(Mark::line(destruction, Colour::VERMILION), format!("destruction ({})", units.1));
    }
    let tips = records.iter().filter(|record| record.generation_loss.is_some()).map(|record| {
        let line = |name: &str, value: Option<f64>| {
            value.map_or_else(String::new, |value| format!("\n{name} {}", number(value, 4)))
        };
        let at = record.iteration as f64;
        let text = iteration(at)
            + &line("generation", record.generation_loss)
            + &line("destruction", record.destruction_loss);
        Tip { x: at, text }
    });
    Some(chart.tips(tips))
}

fn effective(evaluated: &[(f64, Figures)], across: Scale) -> Chart {
    let points = || evaluated.iter().map(|(at, figures)| (*at, 100.0 * figures.ess));
    let last = points().next_back().map_or(f64::NAN, |point| point.1);
    Chart::new(
        "curve-ess",
        Form::Broad,
        "Effective samples: what share of independent exact samples the weighted ones are worth.",
    )
    .alt(format!("Effective sample size over training; at the end {} percent.", number(last, 1)))
    .x("iteration", across)
    .y("effective share of samples (%)", Scale::exact(0.0, 100.0))
    .mark(Mark::line(points(), Colour::BLUE))
    .tips(points().map(|(x, ess)| Tip { x, text: format!("{}\n{} %", iteration(x), number(ess, 1)) }))
}

fn gradients(records: &[&Record], across: Scale) -> Option<Chart> {
    let points: Vec<(f64, f64)> =
        records.iter().filter_map(|record| Some((record.iteration as f64, record.gradient_norm?))).collect();
    if points.is_empty() {
        return None;
    }
    let tips =
        points.iter().map(|&(x, norm)| Tip { x, text: format!("{}\n{}", iteration(x), number(norm, 3)) });
    Some(
        Chart::new("curve-gradient", Form::Broad, "Norm of the generation gradient, before clipping.")
            .alt("Norm of the generation gradient over training.")
            .x("iteration", across)
            .y("gradient norm", Scale::log(points.iter().map(|point| point.1)))
            .mark(Mark::line(points.clone(), Colour::PURPLE))
            .tips(tips.collect::<Vec<_>>()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_thinned_and_keep_their_end() {
        for (count, most) in [(0, 0), (1, 1), (500, 500), (501, 251), (100_000, 501)] {
            let all: Vec<usize> = (0..count).collect();
            let thin = thinned(&all);
            assert_eq!(thin.len(), most, "{count}");
            assert_eq!((thin.first(), thin.last()), (all.first().as_ref(), all.last().as_ref()));
        }
    }
}

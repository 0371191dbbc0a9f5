//! Curves over training: bounds, losses, effective samples, gradients.

use ebbtide::objective::{DestructionObjective, GenerationObjective};
use ebbtide_run::settings::Settings;
use ebbtide_run::{Figures, Record};

use crate::chart::{Chart, Colour, Form, Mark, Scale, Tip, number};
use crate::portrait::{Portrait, Stage};

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
    let across = Scale::exact(0.0, end(portrait));
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

/// Where the axis of iterations ends: at the last one, with some room to go on in while there are more to come.
fn end(portrait: &Portrait) -> f64 {
    let (done, all) = (portrait.iteration().max(1) as f64, portrait.settings.config.iterations as f64);
    if portrait.stage == Stage::Training { (1.2 * done).min(all).max(done) } else { done }
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
    let band = |value: fn(&Figures) -> f64, error: fn(&Figures) -> f64, colour: Colour| {
        let ends = |f: &Figures| (value(f) - error(f), value(f) + error(f));
        let points = evaluated.iter().map(|(at, figures)| (*at, ends(figures).0, ends(figures).1)).collect();
        Mark::Band { points, colour }
    };
    let eubo = |f: &Figures| f.eubo.unwrap_or(f64::NAN);
    let scale = bounds_scale(evaluated, truth);
    let beyond =
        curve(|f| f.elbo).chain(curve(eubo)).any(|(_, value)| value < scale.low() || value > scale.high());
    let caption = format!(
        "Bounds on log Z, with bands of one standard error. They meet at log Z when generation has become the reversal of \
         destruction.{}",
        if beyond { " The beginning is out of the picture." } else { "" }
    );
    let mut chart = Chart::new("curve-bounds", Form::Broad, caption)
        .alt(bounds_alt(evaluated))
        .x("iteration", across)
        .y("log Z (nats)", scale)
        .tips(evaluated.iter().map(bounds_tip));
    if let Some(truth) = truth {
        chart = chart.named(Mark::Level { at: truth, colour: Colour::TRUTH }, "true log Z");
    }
    if evaluated.iter().any(|(_, figures)| figures.eubo.is_some()) {
        chart = chart
            .mark(band(eubo, |f| f.eubo_error.unwrap_or(f64::NAN), Colour::VERMILION))
            .named(Mark::line(curve(eubo), Colour::VERMILION), "EUBO");
    }
    chart
        .named(Mark::dashes(curve(|f| f.log_z), Colour::GREEN), "weighted log Z")
        .mark(band(|f| f.elbo, |f| f.elbo_error, Colour::BLUE))
        .named(Mark::line(curve(|f| f.elbo), Colour::BLUE), "ELBO")
}

/// Over what came after the first fifth: beside the beginning the rest would be a straight line.
fn bounds_scale(evaluated: &[(f64, Figures)], truth: Option<f64>) -> Scale {
    let later = evaluated[evaluated.len() / 5..].iter();
    let both = later.flat_map(|(_, figures)| [figures.elbo, figures.eubo.unwrap_or(f64::NAN)]);
    // Between two bounds weighted log Z is in sight anyway; above one alone it would not be.
    let weighted = evaluated.last().map(|(_, figures)| figures.log_z);
    Scale::fitting(both.chain(truth).chain(weighted))
}

fn bounds_tip((at, figures): &(f64, Figures)) -> Tip {
    let line =
        |name: &str, value: f64, error: f64| format!("\n{name} {} ± {}", number(value, 4), number(error, 4));
    let upper = figures.eubo.zip(figures.eubo_error);
    let text = iteration(*at)
        + &upper.map_or_else(String::new, |(value, error)| line("EUBO", value, error))
        + &line("log Z", figures.log_z, figures.log_z_error)
        + &line("ELBO", figures.elbo, figures.elbo_error);
    Tip { x: *at, text }
}

fn bounds_alt(evaluated: &[(f64, Figures)]) -> String {
    let last = evaluated.last().map(|(at, figures)| {
        let upper = figures.eubo.map_or_else(String::new, |eubo| format!(", the EUBO {}", number(eubo, 3)));
        format!("At {} the ELBO is {}{upper}.", iteration(*at), number(figures.elbo, 3))
    });
    format!("Lower and upper bound on log Z over training. {}", last.unwrap_or_default())
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
        "Losses on fresh trajectories, means over the iterations since the line before in metrics.jsonl.",
    )
    .alt("Losses of the generation and the destruction process over training.")
    .x("iteration", across)
    .y("loss", scale);
    // Second moments are squares; reverse KL is divided by the dimension.
    let units = (
        match settings.config.generation_objective {
            GenerationObjective::ReverseKl => "nats per coordinate",
            GenerationObjective::TrajectoryBalance | GenerationObjective::VarGrad => "nats²",
        },
        match settings.config.destruction_objective {
            Some(DestructionObjective::TrajectoryLikelihood) => "nats",
            _ => "nats²",
        },
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

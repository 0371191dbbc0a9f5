//! What was learned of each step: γ, α and β over time.

use std::ops::Range;

use ebbtide::process::{Corrections, GenerationVariance};
use ebbtide_run::settings::Settings;

use crate::chart::{Chart, Colour, Form, Mark, Scale, Symbol, Tip, number};
use crate::histogram::quantile;
use crate::portrait::View;

/// Medians, and bands that hold nine in ten of all trajectories and coordinates; none of what is fixed.
pub fn charts(view: &View, settings: &Settings) -> Vec<Chart> {
    let mut charts = Vec::new();
    if let GenerationVariance::Learned { bound } = settings.config.generation_variance {
        charts.push(gamma(view, f64::from(bound)));
    }
    if settings.config.destruction != Corrections::Fixed && view.generated.steps() > 1 {
        charts.push(alpha_and_beta(view));
    }
    charts
}

fn gamma(view: &View, bound: f64) -> Chart {
    let steps = view.generated.steps();
    let (at, rows) = (&view.times[..steps], spread(&view.generation.gamma, 0..steps, view));
    let caption = format!(
        "γ multiplies the variance of a generation step that leaves at t; it may be from {} to {}.",
        number((-bound).exp(), 3),
        number(bound.exp(), 1)
    );
    let chart = Chart::new("multiplier-gamma", Form::Broad, caption)
        .alt("Learned multiplier gamma of the generation variance over time, median and spread.")
        .x("time t at which the step begins", Scale::exact(0.0, 1.0))
        .y("γ", Scale::log(rows.iter().flatten().copied().chain([0.5, 2.0])))
        .mark(Mark::Level { at: 1.0, colour: Colour::TRUTH });
    with_spread(chart, at, &rows, Colour::BLUE, Symbol::Disc, "γ").tips(told(at, &[("γ", &rows)]))
}

fn alpha_and_beta(view: &View) -> Chart {
    let steps = 1..view.generated.steps();
    let (at, multipliers) = (&view.times[2..], &view.destruction);
    let (means, variances) =
        (spread(&multipliers.alpha, steps.clone(), view), spread(&multipliers.beta, steps, view));
    let caption = "α multiplies the mean and β the variance of a destruction step that leaves at t; 1 is the Brownian bridge.";
    let chart = Chart::new("multiplier-alpha-beta", Form::Broad, caption)
        .alt("Learned multipliers alpha and beta of the destruction step over time, medians and spreads.")
        .x("time t at which the step back begins", Scale::exact(0.0, 1.0))
        .y("α, β", Scale::linear(means.iter().chain(&variances).flatten().copied().chain([0.0, 2.0])))
        .mark(Mark::Level { at: 1.0, colour: Colour::TRUTH });
    let chart = with_spread(chart, at, &variances, Colour::PURPLE, Symbol::Diamond, "β (variance)");
    with_spread(chart, at, &means, Colour::VERMILION, Symbol::Square, "α (mean)")
        .tips(told(at, &[("α", &means), ("β", &variances)]))
}

/// Quantiles of the values of each of some steps.
fn spread(values: &[f32], steps: Range<usize>, view: &View) -> Vec<[f64; 3]> {
    steps.map(|step| quantiles(values, step, view.generated.path_len(), view.dim())).collect()
}

/// The 5, 50 and 95 % quantiles of the values of a step.
fn quantiles(values: &[f32], step: usize, path: usize, dim: usize) -> [f64; 3] {
    let of_step = |path: &[f32]| path[step * dim..(step + 1) * dim].to_vec();
    let mut all: Vec<f64> = values.chunks_exact(path).flat_map(of_step).map(f64::from).collect();
    all.sort_by(f64::total_cmp);
    [0.05, 0.5, 0.95].map(|share| quantile(&all, share))
}

fn with_spread(
    chart: Chart,
    at: &[f64],
    rows: &[[f64; 3]],
    colour: Colour,
    symbol: Symbol,
    name: &str,
) -> Chart {
    let points = at.iter().zip(rows).map(|(&t, row)| (t, row[0], row[2])).collect();
    let medians = || at.iter().zip(rows).map(|(&t, row)| (t, row[1]));
    let symbols = medians().map(|(t, median)| (t, median, None)).collect();
    chart
        .mark(Mark::Band { points, colour })
        .mark(Mark::line(medians(), colour))
        .named(Mark::Symbols { points: symbols, colour, symbol }, name)
}

/// Medians and spreads of each time, in words.
fn told(at: &[f64], curves: &[(&str, &[[f64; 3]])]) -> Vec<Tip> {
    let line = |i: usize, (name, rows): &(&str, &[[f64; 3]])| {
        let [low, median, high] = rows[i].map(|value| number(value, 3));
        format!("\n{name} {median}, nine in ten from {low} to {high}")
    };
    let tip = |(i, &x): (usize, &f64)| {
        let lines: String = curves.iter().map(|curve| line(i, curve)).collect();
        Tip { x, text: format!("t = {}{lines}", number(x, 2)) }
    };
    at.iter().enumerate().map(tip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_over_paths_and_coordinates() {
        // Two paths of two steps in two coordinates.
        let values = [1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0];
        assert_eq!(quantiles(&values, 0, 4, 2), [1.0, 3.0, 4.0]);
        assert_eq!(quantiles(&values, 1, 4, 2), [10.0, 30.0, 40.0]);
    }
}

//! The two processes as pictures: where trajectories are at each time, which ways they take, and what was learned of each step.

use ebbtide::process::{Corrections, GenerationVariance};
use ebbtide::target::TargetError;
use ebbtide::trajectory::{Multipliers, Trajectories};
use ebbtide_run::settings::Settings;

use super::samples::{Pair, coordinate_name, landscape, window};
use crate::chart::{Chart, Colour, Form, Mark, Scale, Symbol, Tip, number};
use crate::histogram::quantile;
use crate::landscape::Window;
use crate::portrait::View;

/// The most times of a strip.
const TIMES: usize = 20;
/// The most dots of a stamp.
const DOTS: usize = 700;
/// Trajectories that are drawn.
const TRAJECTORIES: usize = 90;

/// Where trajectories are at some times: forwards, and beneath it backwards.
pub struct Strip {
    /// From the origin to samples, in the order of time.
    pub generation: Vec<Chart>,
    /// The same times, on the way back.
    pub destruction: Vec<Chart>,
}

/// Stamps of a pair of coordinates; those of a single one have no second to stand against.
pub fn strip(view: &View, pair: Pair) -> Result<Strip, TargetError> {
    let window = window(view, pair).and(way_window(view, pair));
    let (x, y) = window.scales();
    // A stamp has room for two rings.
    let ground: Vec<Mark> = landscape(view, pair, window)?.into_iter().skip(1).step_by(2).collect();
    let steps = shown(view.generated.steps());
    let stamp = |paths: &Trajectories, step: usize, colour: Colour, way: &str| {
        let column = |k: usize| View::coordinate(paths, step, k);
        let points: Vec<_> = column(pair.0).into_iter().zip(column(pair.1)).take(DOTS).collect();
        let time = number(view.times[step], 2);
        Chart::new(format!("{way}-{step}"), Form::Stamp, format!("t = {time}"))
            .alt(format!("States of the {way} process at time {time}."))
            .x("", x)
            .y("", y)
            .marks(ground.clone())
            .mark(Mark::Dots { points, colour, radius: 0.9 })
    };
    let row = |paths: &Trajectories, colour, way: &str| {
        steps.iter().map(|&step| stamp(paths, step, colour, way)).collect()
    };
    Ok(Strip {
        generation: row(&view.generated, Colour::BLUE, "generation"),
        destruction: row(&view.destroyed, Colour::VERMILION, "destruction"),
    })
}

/// A window onto where trajectories go, forwards and backwards.
fn way_window(view: &View, (i, j): Pair) -> Window {
    let states = |k: usize| -> Vec<f64> {
        let both = [&view.generated, &view.destroyed].into_iter();
        both.flat_map(|paths| paths.states().iter().skip(k).step_by(paths.dim()))
            .map(|&x| f64::from(x))
            .collect()
    };
    Window::onto(&states(i), &states(j))
}

/// Steps 1 … T, or some of them, the first and the last always among them.
fn shown(steps: usize) -> Vec<usize> {
    let count = steps.min(TIMES);
    // From 1 to T, evenly.
    (0..count).map(|i| 1 + (i * (steps - 1) + (count - 1) / 2) / (count - 1).max(1)).collect()
}

/// Some trajectories in one coordinate, forwards and backwards.
pub fn ways(view: &View, coordinate: usize) -> Vec<Chart> {
    let name = coordinate_name(coordinate);
    let pair = (coordinate, coordinate);
    let (low, high) = window(view, pair).and(way_window(view, pair)).x;
    let scale = Scale::exact(low.min(0.0), high.max(0.0));
    let chart = |way: &str, paths: &Trajectories, colour: Colour, caption: String| {
        let line = |path: usize| {
            let states = paths.path(path).iter().skip(coordinate).step_by(paths.dim());
            let states = std::iter::once(0.0).chain(states.map(|&x| f64::from(x)));
            view.times.iter().copied().zip(states).collect()
        };
        let lines = (0..paths.len().min(TRAJECTORIES)).map(line).collect();
        Chart::new(format!("trajectories-{way}"), Form::Broad, caption)
            .alt(format!("Trajectories of the {way} process in coordinate {name} over time."))
            .x("time t", Scale::exact(0.0, 1.0))
            .y(name.clone(), scale)
            .mark(Mark::Threads { paths: lines, colour })
    };
    let from = if view.exact { "exact draws" } else { "samples" };
    vec![
        chart(
            "generation",
            &view.generated,
            Colour::BLUE,
            format!("Generation: {TRAJECTORIES} trajectories from the origin to a sample, {name} over time."),
        ),
        chart(
            "destruction",
            &view.destroyed,
            Colour::VERMILION,
            format!(
                "Destruction: {TRAJECTORIES} trajectories from {from} back to the origin. Learned well, both look alike."
            ),
        ),
    ]
}

/// γ, α and β over time: medians, and bands that hold nine in ten of all trajectories and coordinates.
pub fn multipliers(view: &View, settings: &Settings) -> Vec<Chart> {
    let (steps, path) = (view.generated.steps(), view.generated.path_len());
    let mut charts = Vec::new();
    let Multipliers { gamma, .. } = &view.generation;
    let Multipliers { alpha, beta, .. } = &view.destruction;
    if let GenerationVariance::Learned { bound } = settings.config.generation_variance {
        let rows = spread(gamma, 0..steps, path, view.dim());
        let at: Vec<f64> = view.times[..steps].to_vec();
        let limits = [-bound, bound].map(|bound| f64::from(bound).exp());
        let chart = Chart::new(
            "multiplier-gamma",
            Form::Broad,
            format!(
                "γ multiplies the variance of a generation step that leaves at t; it may be from {} to {}.",
                number(limits[0], 3),
                number(limits[1], 1)
            ),
        )
        .alt("Learned multiplier gamma of the generation variance over time, median and spread.")
        .x("time t at which the step begins", Scale::exact(0.0, 1.0))
        .y("γ", Scale::log(rows.iter().flatten().copied().chain([0.5, 2.0])))
        .mark(Mark::Level { at: 1.0, colour: Colour::TRUTH });
        let tips = told(&at, &[("γ", &rows)]);
        charts.push(with_spread(chart, &at, &rows, Colour::BLUE, Symbol::Disc, "γ").tips(tips));
    }
    if settings.config.destruction != Corrections::Fixed && steps > 1 {
        let (means, variances) =
            (spread(alpha, 1..steps, path, view.dim()), spread(beta, 1..steps, path, view.dim()));
        let at: Vec<f64> = view.times[2..].to_vec();
        let all = means.iter().chain(&variances).flatten().copied().chain([0.0, 2.0]);
        let chart = Chart::new(
            "multiplier-alpha-beta",
            Form::Broad,
            "α multiplies the mean and β the variance of a destruction step that leaves at t; 1 is the Brownian bridge.",
        )
        .alt("Learned multipliers alpha and beta of the destruction step over time, medians and spreads.")
        .x("time t at which the step back begins", Scale::exact(0.0, 1.0))
        .y("α, β", Scale::linear(all))
        .mark(Mark::Level { at: 1.0, colour: Colour::TRUTH });
        let tips = told(&at, &[("α", &means), ("β", &variances)]);
        let chart = with_spread(chart, &at, &variances, Colour::PURPLE, Symbol::Diamond, "β (variance)");
        charts
            .push(with_spread(chart, &at, &means, Colour::VERMILION, Symbol::Square, "α (mean)").tips(tips));
    }
    charts
}

/// The 5, 50 and 95 % quantiles of each of some steps.
fn spread(values: &[f32], steps: std::ops::Range<usize>, path: usize, dim: usize) -> Vec<[f64; 3]> {
    let of_step = |step: usize| {
        let mut all: Vec<f64> = values
            .chunks_exact(path)
            .flat_map(|path| path[step * dim..(step + 1) * dim].iter().map(|&value| f64::from(value)))
            .collect();
        all.sort_by(f64::total_cmp);
        [0.05, 0.5, 0.95].map(|share| quantile(&all, share))
    };
    steps.map(of_step).collect()
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
    fn the_last_time_is_always_shown() {
        assert_eq!(shown(1), [1]);
        assert_eq!(shown(5), [1, 2, 3, 4, 5]);
        assert_eq!(shown(20).len(), 20);
        assert_eq!(shown(30)[..4], [1, 3, 4, 6]);
        assert_eq!((shown(30).len(), shown(30).last()), (20, Some(&30)));
    }

    #[test]
    fn spreads_are_over_paths_and_coordinates() {
        // Two paths of two steps in two coordinates.
        let values = [1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0];
        assert_eq!(spread(&values, 0..2, 4, 2), [[1.0, 3.0, 4.0], [10.0, 30.0, 40.0]]);
    }
}

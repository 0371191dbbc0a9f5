//! The two processes as pictures: where trajectories are at each time, and which ways they take.

use ebbtide::target::TargetError;
use ebbtide::trajectory::Trajectories;

use super::samples::{Pair, coordinate_name, landscape, window};
use crate::chart::{Chart, Colour, Form, Mark, Scale, number};
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
}

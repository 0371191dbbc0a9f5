//! Samples of a target, beside exact draws: first two coordinates.

use std::fs;
use std::path::Path;

use ebbtide::target::NamedTarget;
use ebbtide::trajectory::Threads;
use ebbtide_report::chart::{Chart, Colour, Form, Mark};
use ebbtide_report::landscape::Window;
use ebbtide_report::portrait::Portrait;
use ebbtide_run::folder::is_run;
use ebbtide_run::run::RunError;
use ebbtide_run::trained::Which;

use super::{DrawingError, Picture, exact_draws};
use crate::figure::{Figure, SHOWN};
use crate::{Paper, Row};

/// Dots of a picture.
const DOTS: usize = 2048;
/// Draws that decide what is in sight.
const DRAWS: usize = 20_000;

/// What stands where, and where its runs come from.
pub fn note(figure: &Figure, rows: &[&Row]) -> String {
    let first = rows.first().map_or(0, |row| row.steps);
    let methods: Vec<&str> = rows.iter().filter(|row| row.steps == first).map(|row| row.label).collect();
    format!(
        "First two coordinates of 2048 samples, a strip for each number of steps; from left to right {}, and exact draws. Samples come from run folders: `ebbtide paper run {} --seeds 1` trains them.",
        methods.join(", "),
        figure.name
    )
}

/// A strip for each number of steps: all methods, then exact draws. None where neither runs nor pictures are there.
pub fn strips(
    figure: &Figure,
    target: NamedTarget,
    rows: &[&Row],
    runs: &Path,
    before: &Path,
) -> Result<Vec<Vec<Picture>>, DrawingError> {
    let mut steps: Vec<usize> = rows.iter().map(|row| row.steps).collect();
    steps.sort_unstable();
    steps.dedup();
    let folder = |row: &Row| Paper::runs(runs).join(row.folder(SHOWN));
    if !rows.iter().all(|row| is_run(&folder(row))) {
        return Ok(kept(figure, rows, &steps, before).unwrap_or_default());
    }
    let threads = Threads::new(1).map_err(|error| DrawingError::Portrait(RunError::from(error).into()))?;
    let (across, up) = exact_draws(target, SHOWN, DRAWS)?;
    let window = Window::onto(&across, &up);
    let mut strips = Vec::new();
    for &steps in &steps {
        let mut strip = Vec::new();
        for row in rows.iter().filter(|row| row.steps == steps) {
            let Some(view) = Portrait::read(&folder(row), Which::Last, &threads)?.view else { continue };
            strip.push(stamp(
                &name(figure, row.label, steps),
                row.label,
                steps,
                window,
                (view.samples(0), view.samples(1)),
            ));
        }
        let exact = exact_draws(target, steps as u64, DOTS)?;
        strip.push(stamp(&name(figure, EXACT, steps), "exact draws", steps, window, exact));
        strips.push(strip);
    }
    Ok(strips)
}

/// What exact draws are called among the methods.
const EXACT: &str = "exact";

fn name(figure: &Figure, label: &str, steps: usize) -> String {
    format!("{}-{label}-T{steps}", figure.name)
}

fn caption(label: &str, steps: usize) -> String {
    format!("{label}, T = {steps}")
}

fn stamp(name: &str, label: &str, steps: usize, window: Window, dots: (Vec<f64>, Vec<f64>)) -> Picture {
    let points = dots.0.into_iter().zip(dots.1).take(DOTS).collect();
    let colour = if label == "exact draws" { Colour::TRUTH } else { Colour::BLUE };
    let (x, y) = window.scales();
    let caption = caption(label, steps);
    let alt = format!("Scatter plot of the first two coordinates, {caption}.");
    let dots = Mark::Dots { points, colour, radius: 0.7 };
    Chart::new(name, Form::Stamp, caption).alt(alt).x("x₀", x).y("x₁", y).mark(dots).into()
}

/// Pictures that were drawn before, if all of them are there.
fn kept(figure: &Figure, rows: &[&Row], steps: &[usize], before: &Path) -> Option<Vec<Vec<Picture>>> {
    let picture = |label: &str, shown: &str, steps: usize| {
        let (name, caption) = (name(figure, label, steps), caption(shown, steps));
        let inline = fs::read_to_string(before.join(format!("{name}.svg"))).ok()?;
        Some(Picture { name, caption, inline, file: None })
    };
    let strip = |steps: &usize| {
        let own = rows.iter().filter(|row| row.steps == *steps);
        let pictures = own.map(|row| picture(row.label, row.label, *steps));
        pictures.chain([picture(EXACT, "exact draws", *steps)]).collect::<Option<Vec<Picture>>>()
    };
    steps.iter().map(strip).collect()
}

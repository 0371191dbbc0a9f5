//! Contours of two-dimensional densities.

use ebbtide::target::{NamedTarget, TargetError};
use ebbtide_report::chart::{Chart, Form};
use ebbtide_report::landscape::{Window, of_target};

use super::{Picture, exact_draws};

/// What all of them have in common.
pub const NOTE: &str = "Shades hold 99, 90, 70, 45 and 20 % of the probability.";

/// Draws that decide what is in sight.
const DRAWS: usize = 20_000;

/// A picture for each target.
pub fn pictures(targets: &[NamedTarget]) -> Result<Vec<Picture>, TargetError> {
    targets.iter().map(|target| chart(*target).map(Picture::from)).collect()
}

fn chart(target: NamedTarget) -> Result<Chart, TargetError> {
    let (across, up) = exact_draws(target, 0, DRAWS)?;
    let window = Window::onto(&across, &up);
    let (x, y) = window.scales();
    let chart = Chart::new(format!("contours-{target}"), Form::Square, format!("{}.", target.title()));
    Ok(chart
        .alt(format!("Contours of the density of {}.", target.title()))
        .x("x₀", x)
        .y("x₁", y)
        .marks(of_target(&*target.build(), window, false)?))
}

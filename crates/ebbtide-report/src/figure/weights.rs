//! Log weights of trajectories: how far the two processes are from being each other's reversal.

use crate::chart::{Chart, Colour, Form, Mark, Scale, number};
use crate::histogram::{density, highest, relative};
use crate::landscape::range;
use crate::portrait::View;

/// Log weights of generated trajectories, and of those destroyed from exact draws.
pub fn chart(view: &View) -> Chart {
    let finite: Vec<f64> =
        view.generated_weights.iter().copied().filter(|weight| weight.is_finite()).collect();
    let none = view.generated_weights.len() - finite.len();
    let both: Vec<f64> = finite.iter().chain(view.destroyed_weights.iter().flatten()).copied().collect();
    let sight = range(&both);
    let generated = density(&finite, None, sight, 50);
    let destroyed = view.destroyed_weights.as_ref().map(|weights| density(weights, None, sight, 50));
    let top = 1.06 * highest(&generated).max(destroyed.as_deref().map_or(0.0, highest));
    let mut weights = relative(&view.generated_weights);
    let total: f64 = weights.iter().sum();
    weights.sort_by(|a, b| b.total_cmp(a));
    let hundredth = weights.len().div_ceil(100);
    let share = 100.0 * weights[..hundredth].iter().sum::<f64>() / total;
    let beyond = match both.iter().filter(|&&weight| weight < sight.0 || weight > sight.1).count() {
        0 => String::new(),
        count => format!(" {count} lie outside the picture."),
    };
    let nowhere = if none == 0 { String::new() } else { format!(" {none} end where the density is zero.") };
    let caption = format!(
        "Log weights, log density + log p← − log p→. Were the processes each other's reversal, all would be log Z. The heaviest \
         hundredth of the samples has {} % of all weight.{beyond}{nowhere}",
        number(share, 0)
    );
    let mut chart = Chart::new("weights", Form::Broad, caption)
        .alt("Histogram of the log weights of generated trajectories and of trajectories destroyed from exact draws.")
        .x("log weight (nats)", Scale::exact(sight.0, sight.1))
        .y("density (1/nat)", Scale::exact(0.0, top.max(1e-9)))
        .named(Mark::Bars { bars: generated, colour: Colour::BLUE }, "generated");
    if let Some(destroyed) = destroyed {
        chart = chart.named(Mark::outline(&destroyed, Colour::VERMILION), "destroyed from exact draws");
    }
    match view.target.log_z() {
        Some(log_z) => chart.named(Mark::Upright { at: log_z, colour: Colour::TRUTH }, "true log Z"),
        None => chart,
    }
}

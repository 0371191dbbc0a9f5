//! Samples over the density they are meant to follow, and marginals beside the true ones.

use ebbtide::target::TargetError;

use crate::chart::{Chart, Colour, Form, Mark, Scale, number};
use crate::histogram::{density, highest, relative};
use crate::landscape::{self, Window, range};
use crate::portrait::View;

/// Two coordinates to look at together.
pub type Pair = (usize, usize);

/// The most pairs that are chosen unasked.
const PAIRS: usize = 4;
/// The most dots of a cloud: more would be a black spot.
const DOTS: usize = 2048;
/// Up to so many marginals are shown at full size.
pub const BROAD: usize = 4;
/// The most marginals that are shown.
const MARGINALS: usize = 36;

/// Which pairs to show of so many coordinates: the first ones, and the two whose marginals are furthest from the truth.
pub fn chosen_pairs(view: &View) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = match view.dim() {
        0 | 1 => return Vec::new(),
        2 => return vec![(0, 1)],
        _ => vec![(0, 1), (0, 2), (1, 2)],
    };
    let mut misfits: Vec<(f64, usize)> = (0..view.dim()).map(|k| (misfit(view, k), k)).collect();
    misfits.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (a, b) = (misfits[0].1, misfits[1].1);
    let worst = (a.min(b), a.max(b));
    if !pairs.contains(&worst) {
        pairs.push(worst);
    }
    pairs.truncate(PAIRS);
    pairs
}

/// The largest distance between the distribution functions of the samples and the exact draws of a coordinate.
fn misfit(view: &View, coordinate: usize) -> f64 {
    let Some(mut truth) = view.exact_draws(coordinate) else { return 0.0 };
    let mut samples = view.samples(coordinate);
    truth.sort_by(f64::total_cmp);
    samples.sort_by(f64::total_cmp);
    let (n, m) = (samples.len() as f64, truth.len() as f64);
    let below = |x: f64| truth.partition_point(|&value| value <= x) as f64 / m;
    samples.iter().enumerate().map(|(i, &x)| (below(x) - (i as f64 + 0.5) / n).abs()).fold(0.0, f64::max)
}

/// The window onto a pair: what is true is seen, whatever the sampler does.
pub fn window(view: &View, (i, j): Pair) -> Window {
    let column = |k: usize| view.exact_draws(k).unwrap_or_else(|| view.samples(k));
    Window::onto(&column(i), &column(j))
}

/// The density of a pair: from the target itself where it has no other coordinates, else from exact draws.
pub fn landscape(view: &View, pair: Pair, window: Window) -> Result<Vec<Mark>, TargetError> {
    if view.dim() == 2 {
        return landscape::of_target(&*view.target, window, pair == (1, 0));
    }
    match (view.exact_draws(pair.0), view.exact_draws(pair.1)) {
        (Some(x), Some(y)) => Ok(landscape::of_draws(&x, &y, window)),
        _ => Ok(Vec::new()),
    }
}

/// The name of a coordinate: x₀, x₁, …
pub fn coordinate_name(coordinate: usize) -> String {
    let lowered = |digit: char| char::from_u32('₀' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit);
    format!("x{}", coordinate.to_string().chars().map(lowered).collect::<String>())
}

/// Samples over the density; where the target has two dimensions, exact draws beside them.
pub fn charts(view: &View, pairs: &[Pair]) -> Result<Vec<Chart>, TargetError> {
    let mut charts = Vec::new();
    for &(i, j) in pairs {
        let window = window(view, (i, j));
        let ground = landscape(view, (i, j), window)?;
        let (names, dots) = ((coordinate_name(i), coordinate_name(j)), (view.samples(i), view.samples(j)));
        let blank = |name: &str, caption: String| {
            let (x, y) = window.scales();
            let chart = Chart::new(format!("{name}-{i}-{j}"), Form::Square, caption);
            chart.x(names.0.clone(), x).y(names.1.clone(), y).marks(ground.clone())
        };
        let bands = match (ground.is_empty(), view.dim()) {
            (true, _) => "",
            (false, 2) => "; shades hold 99, 90, 70, 45 and 20 % of the true probability",
            (false, _) => "; shades hold 99, 90, 70, 45 and 20 % of the exact draws in sight",
        };
        let count = dots.0.len().min(DOTS);
        let beyond = beyond(view, window, (i, j));
        let caption = format!("{count} samples, {} against {}{bands}.{beyond}", names.1, names.0);
        let points = dots.0.iter().copied().zip(dots.1.iter().copied()).take(count).collect();
        charts.push(
            blank("samples", caption)
                .alt(format!(
                    "Scatter plot of {count} samples, coordinates {} and {}, over the true density.",
                    names.0, names.1
                ))
                .named(Mark::Dots { points, colour: Colour::BLUE, radius: 1.3 }, "samples"),
        );
        if let (2, Some(x), Some(y)) = (view.dim(), view.exact_draws(i), view.exact_draws(j)) {
            let points: Vec<_> = x.into_iter().zip(y).take(count).collect();
            let caption = format!("As many exact draws: what a perfect sampler looks like{bands}.");
            charts.push(
                blank("exact", caption)
                    .alt(format!("Scatter plot of {} exact draws over the true density.", points.len()))
                    .named(Mark::Dots { points, colour: Colour::TRUTH, radius: 1.3 }, "exact draws"),
            );
        }
    }
    Ok(charts)
}

/// How much of samples and exact draws a picture does not show; nothing where that is next to none.
fn beyond(view: &View, window: Window, (i, j): Pair) -> String {
    let percent = |share: f64| number(100.0 * share, 1);
    let samples = window.outside(&view.samples(i), &view.samples(j));
    let exact = view.exact_draws(i).zip(view.exact_draws(j)).map(|(x, y)| window.outside(&x, &y));
    match (samples > 0.0005, exact) {
        (_, Some(exact)) if samples.max(exact) > 0.0005 => format!(
            " {} % of the samples and {} % of exact draws lie outside the picture.",
            percent(samples),
            percent(exact)
        ),
        (true, None) => format!(" {} % of the samples lie outside the picture.", percent(samples)),
        _ => String::new(),
    }
}

/// Marginals of the samples beside the true ones, or beside weighted samples where there are no exact draws.
pub fn marginals(view: &View) -> Vec<Chart> {
    let weights = relative(&view.generated_weights);
    let dims = view.dim().min(MARGINALS);
    (0..dims)
        .map(|k| {
            let (samples, truth) = (view.samples(k), view.exact_draws(k));
            let sight = range(truth.as_ref().unwrap_or(&samples));
            let cells = if view.dim() <= BROAD { 80 } else { 40 };
            let bars = density(&samples, None, sight, cells);
            let outline = match &truth {
                Some(truth) => density(truth, None, sight, cells),
                None => density(&samples, Some(&weights), sight, cells),
            };
            let name = coordinate_name(k);
            let top = 1.05 * highest(&bars).max(highest(&outline));
            let (beside, colour) = match truth {
                Some(_) => ("exact draws", Colour::INK),
                None => ("weighted samples", Colour::GREEN),
            };
            let broad = view.dim() <= BROAD;
            let (form, below) = if broad { (Form::Broad, name.as_str()) } else { (Form::Small, "") };
            let density = if broad { format!("density of {name}") } else { name.clone() };
            Chart::new(format!("marginal-{k}"), form, String::new())
                .alt(format!("Marginal density of {name}, samples beside {beside}."))
                .x(below, Scale::exact(sight.0, sight.1))
                .y(density, Scale::exact(0.0, top))
                .named(Mark::Bars { bars, colour: Colour::BLUE }, "samples")
                .named(Mark::outline(&outline, colour), beside)
        })
        .collect()
}

//! Landscapes: where the probability of two coordinates is, as rings around more and more of it.
//!
//! ```
//! use ebbtide::stream::{Address, Purpose};
//! use ebbtide::target::NamedTarget;
//! use ebbtide_report::chart::{Chart, Form, Mark};
//! use ebbtide_report::landscape::{Window, of_target};
//!
//! let (target, mut draws) = (NamedTarget::Gmm25.build(), [0.0; 2000]);
//! let drawable = target.drawable().expect("a mixture can be drawn from");
//! drawable.draw(Address::new(0, Purpose::ExactDraw, 0), &mut draws)?;
//! let (x, y): (Vec<f64>, Vec<f64>) =
//!     draws.chunks_exact(2).map(|point| (f64::from(point[0]), f64::from(point[1]))).unzip();
//!
//! // All 25 modes are in sight, each with a ring of its own around 99 % of its probability.
//! let window = Window::onto(&x, &y);
//! let rings = of_target(&*target, window, false)?;
//! assert!(matches!(&rings[0], Mark::Region { rings, .. } if rings.len() == 25));
//!
//! let (x, y) = window.scales();
//! let chart = Chart::new("25gmm", Form::Square, "25GMM.").x("x₀", x).y("x₁", y).marks(rings);
//! assert!(chart.for_file().starts_with("<svg"));
//! # Ok::<(), ebbtide::target::TargetError>(())
//! ```

use contour::ContourBuilder;
use ebbtide::target::{Target, TargetError};

use crate::chart::{Colour, Mark, Point, Scale};
use crate::histogram::quantile;

/// What is shown of two coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// From left to right.
    pub x: (f64, f64),
    /// From bottom to top.
    pub y: (f64, f64),
}

/// Shares of the probability that the rings hold, from the outermost to the innermost.
const SHARES: [f64; 5] = [0.99, 0.9, 0.7, 0.45, 0.2];

/// Cells along each side of a grid that a density is evaluated on.
const FINE: usize = 200;
/// The same where draws are counted.
const COARSE: usize = 100;
/// Below this, the logarithm of a density relative to its peak is as good as nothing.
const NOTHING: f64 = -60.0;

impl Window {
    /// A window onto most of these values of two coordinates. A coordinate with long tails is shown without them.
    pub fn onto(x: &[f64], y: &[f64]) -> Self {
        Self { x: range(x), y: range(y) }
    }

    /// The scales of a chart that shows it.
    pub fn scales(&self) -> (Scale, Scale) {
        (Scale::exact(self.x.0, self.x.1), Scale::exact(self.y.0, self.y.1))
    }

    /// A window onto all that either of two shows.
    pub(crate) fn and(self, other: Self) -> Self {
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        Self { x: both(self.x, other.x), y: both(self.y, other.y) }
    }

    /// The share of points that it does not show.
    pub(crate) fn outside(&self, x: &[f64], y: &[f64]) -> f64 {
        let within = |value: f64, (low, high): (f64, f64)| value >= low && value <= high;
        let seen = x.iter().zip(y).filter(|(x, y)| within(**x, self.x) && within(**y, self.y)).count();
        1.0 - seen as f64 / x.len().max(1) as f64
    }
}

/// How wide a range is relative to its middle, at most, before its ends are called tails. (A Gaussian has 2.)
const TAILS: f64 = 8.0;

/// Where most of the values are.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return (0.0, 1.0);
    }
    let quantile = |share: f64| quantile(&sorted, share);
    let (all, middle) = (quantile(0.995) - quantile(0.005), quantile(0.9) - quantile(0.1));
    let (low, high) = match all > TAILS * middle {
        true => (quantile(0.05), quantile(0.95)),
        false => (quantile(0.005), quantile(0.995)),
    };
    let room = (0.12 * (high - low)).max(1e-6 * (1.0 + low.abs()));
    (low - room, high + room)
}

/// Rings around the density of a two-dimensional target, from the target itself; `swapped` has its second coordinate across.
pub fn of_target(target: &dyn Target, window: Window, swapped: bool) -> Result<Vec<Mark>, TargetError> {
    let mut points = Vec::with_capacity(2 * FINE * FINE);
    for j in 0..FINE {
        for i in 0..FINE {
            let (x, y) = cell(window, FINE, i as f64 + 0.5, j as f64 + 0.5);
            let point = [x as f32, y as f32];
            points.extend(if swapped { [point[1], point[0]] } else { point });
        }
    }
    let mut log_density = vec![0.0; FINE * FINE];
    target.log_density(&points, &mut log_density)?;
    relative(&mut log_density);
    Ok(rings(&log_density, &levels(&log_density), FINE, window))
}

/// Rings around the density of draws, counted and smoothed. Each ring holds its share of the draws in sight.
pub(crate) fn of_draws(x: &[f64], y: &[f64], window: Window) -> Vec<Mark> {
    let place = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low) * COARSE as f64;
    let places = x.iter().zip(y).map(|(&x, &y)| (place(x, window.x), place(y, window.y)));
    let seen = |place: f64| (0.0..COARSE as f64).contains(&place);
    let places: Vec<Point> = places.filter(|&(i, j)| seen(i) && seen(j)).collect();
    let mut counts = vec![0.0; COARSE * COARSE];
    for &(i, j) in &places {
        counts[j as usize * COARSE + i as usize] += 1.0;
    }
    let mut smooth: Vec<f64> = smoothed(&smoothed(&counts)).into_iter().map(f64::ln).collect();
    relative(&mut smooth);
    let mut heights: Vec<f64> = places.iter().map(|&place| between(&smooth, place)).collect();
    heights.sort_by(f64::total_cmp);
    if heights.is_empty() {
        return Vec::new();
    }
    rings(&smooth, &SHARES.map(|share| quantile(&heights, 1.0 - share)), COARSE, window)
}

/// The height of a grid's values at a place between the centres of its cells.
fn between(values: &[f64], (i, j): Point) -> f64 {
    let last = (COARSE - 1) as f64;
    let (i, j) = ((i - 0.5).clamp(0.0, last), (j - 0.5).clamp(0.0, last));
    let at = |i: f64, j: f64| values[j.min(last) as usize * COARSE + i.min(last) as usize];
    let (left, low) = (i.floor(), j.floor());
    let row = |j: f64| at(left, j) + (i - left) * (at(left + 1.0, j) - at(left, j));
    row(low) + (j - low) * (row(low + 1.0) - row(low))
}

/// Each row with a Gaussian of about a cell's width, transposed.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let kernel: Vec<f64> = (-4..=4).map(|k| (-0.5 * (f64::from(k) / 1.3).powi(2)).exp()).collect();
    let mut out = vec![0.0; COARSE * COARSE];
    for (j, row) in counts.chunks_exact(COARSE).enumerate() {
        for i in 0..COARSE {
            let near = (-4_isize..=4)
                .zip(&kernel)
                .filter_map(|(k, weight)| Some(weight * row.get(i.checked_add_signed(k)?)?));
            out[i * COARSE + j] = near.sum();
        }
    }
    out
}

fn cell(window: Window, cells: usize, i: f64, j: f64) -> Point {
    let along = |(low, high): (f64, f64), place: f64| low + (high - low) * place / cells as f64;
    (along(window.x, i), along(window.y, j))
}

/// Makes log densities relative to the largest.
fn relative(log_density: &mut [f64]) {
    let most =
        log_density.iter().copied().filter(|value| value.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    for value in log_density {
        *value = if value.is_nan() { NOTHING } else { (*value - most).clamp(NOTHING, 0.0) };
    }
}

/// Rings around where a log density on a grid is above each of some levels, filled darker and darker.
fn rings(log_density: &[f64], levels: &[f64], cells: usize, window: Window) -> Vec<Mark> {
    let builder = ContourBuilder::new(cells, cells, true);
    let lines = builder.lines(log_density, levels).expect("as many values as the grid has cells");
    let edges = Colour::DENSITY.into_iter().skip(1).chain([Colour::DENSITY[4]]);
    lines
        .into_iter()
        .zip(Colour::DENSITY.into_iter().zip(edges))
        .map(|(line, (fill, edge))| {
            let place = |point: contour::Pt| cell(window, cells, point.x, point.y);
            let (geometry, _) = line.into_inner();
            let rings = geometry.0.into_iter().map(|ring| ring.0.into_iter().map(place).collect());
            Mark::Region { rings: rings.collect(), fill, edge }
        })
        .collect()
}

/// The log densities above which the shares of the probability are.
fn levels(log_density: &[f64]) -> Vec<f64> {
    let mut sorted = log_density.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let total: f64 = sorted.iter().map(|value| value.exp()).sum();
    let level = |share: &f64| {
        let mut sum = 0.0;
        let last = sorted.iter().find(|value| {
            sum += value.exp();
            sum >= share * total
        });
        last.copied().unwrap_or(NOTHING)
    };
    SHARES.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use ebbtide::stream::{Address, Purpose};
    use ebbtide::target::TargetError;

    use super::*;

    /// A standard normal in two dimensions.
    struct Bell;

    impl Target for Bell {
        fn dim(&self) -> usize {
            2
        }

        fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
            for (point, out) in points.chunks_exact(2).zip(out) {
                *out = -0.5 * f64::from(point[0]).hypot(f64::from(point[1])).powi(2);
            }
            Ok(())
        }
    }

    #[test]
    fn the_rings_of_a_bell_are_circles_that_hold_their_shares() {
        let window = Window { x: (-5.0, 5.0), y: (-5.0, 5.0) };
        let marks = of_target(&Bell, window, false).expect("a density");
        assert_eq!(marks.len(), SHARES.len());
        for (mark, share) in marks.iter().zip(SHARES) {
            let Mark::Region { rings, .. } = mark else { panic!("{mark:?}") };
            assert_eq!(rings.len(), 1);
            // P(r² > R²) = exp(−R²/2) in two dimensions.
            let radius = (-2.0 * (1.0_f64 - share).ln()).sqrt();
            for &(x, y) in &rings[0] {
                assert!((x.hypot(y) - radius).abs() < 0.06, "{share}: {} and {radius}", x.hypot(y));
            }
        }
    }

    /// Whether a point is inside of rings: an odd number of their sides is to its right.
    fn inside(rings: &[Vec<Point>], (x, y): Point) -> bool {
        let sides = rings.iter().flat_map(|ring| ring.iter().zip(ring.iter().cycle().skip(1)));
        let crossed = sides.filter(|((ax, ay), (bx, by))| {
            (*ay > y) != (*by > y) && x < ax + (bx - ax) * (y - ay) / (by - ay)
        });
        crossed.count() % 2 == 1
    }

    #[test]
    fn the_rings_of_draws_hold_their_shares_of_them() {
        // Five narrow bells, where smoothing is as wide as they are.
        let mut stream = Address::new(0, Purpose::Sample, 0).stream(0);
        let draw = |i: usize| (i % 5) as f64 * 10.0;
        let (x, y): (Vec<f64>, Vec<f64>) =
            (0..20_000).map(|i| (draw(i) + 0.5 * stream.normal_f64(), 0.5 * stream.normal_f64())).unzip();
        let window = Window { x: (-3.0, 43.0), y: (-23.0, 23.0) };
        for (mark, share) in of_draws(&x, &y, window).iter().zip(SHARES) {
            let Mark::Region { rings, .. } = mark else { panic!("{mark:?}") };
            let held = x.iter().zip(&y).filter(|(x, y)| inside(rings, (**x, **y))).count() as f64 / 20_000.0;
            assert!((held - share).abs() < 0.03, "{held} of {share}");
        }
    }

    #[test]
    fn long_tails_do_not_squeeze_the_rest() {
        let bell: Vec<f64> = (0..1000).map(|i| f64::from(i) / 500.0 - 1.0).collect();
        let (low, high) = range(&bell);
        assert!(low < -0.98 && high > 0.98 && high < 1.5, "{low} {high}");
        let tailed: Vec<f64> = bell.iter().map(|x| x.signum() * (40.0 * x.abs()).exp()).collect();
        let (low, high) = range(&tailed);
        // From the 5th to the 95th hundredth: exp(40 · 0.9), and a little.
        let most = 36.0_f64.exp();
        assert!(low > -1.5 * most && high < 1.5 * most, "{low} {high}");
        assert_eq!(range(&[f64::NAN]), (0.0, 1.0));
        let (low, high) = range(&[3.0, 3.0]);
        assert!(low < 3.0 && high > 3.0);
    }

    #[test]
    fn nothing_to_see_is_no_ring() {
        assert!(of_draws(&[], &[], Window { x: (0.0, 1.0), y: (0.0, 1.0) }).is_empty());
    }
}

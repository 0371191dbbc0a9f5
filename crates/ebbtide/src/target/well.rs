//! One double well: a quartic density on a line, with its constant and its quantiles.

/// The number of cells of the table of the distribution function.
const CELLS: usize = 1024;

/// Abscissae and weights of five-point Gauss–Legendre quadrature on [−1, 1]; the negative half mirrored.
const LEGENDRE: [(f64, f64); 3] = [
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_08),
];

/// A double well in x with a Gaussian valley in y:
///
///   log μ(x, y) = −a₁ x⁴ + 6 a₂ x² + ½ a₃ x − ½ a₄ y².
///
/// The two coordinates are independent. Z_x = ∫ exp(−a₁ x⁴ + 6 a₂ x² + ½ a₃ x) dx is found by
/// quadrature once, with a table of the distribution function F of x. A quantile is the root of
/// F(x) = u: bracketed by the table, closed in on by Newton's method with F integrated from the nearest
/// node. It is exact to rounding and spends one uniform number, where rejection would spend a random
/// number of them and want an envelope proved for every a.
#[derive(Clone, Debug)]
pub(super) struct DoubleWell {
    a: [f64; 4],
    /// max over x of the exponent; densities are integrated relative to it.
    peak: f64,
    /// ∫ exp(exponent − peak) dx.
    relative_z: f64,
    low: f64,
    cell: f64,
    /// F at the CELLS + 1 nodes low + i · cell.
    distribution: Vec<f64>,
}

impl DoubleWell {
    /// The well with coefficients a, of which a₁, a₂ and a₄ are positive.
    pub(super) fn new(a: [f64; 4]) -> Self {
        let half_width = half_width(a);
        let (low, cell) = (-half_width, 2.0 * half_width / CELLS as f64);
        let node = |i: usize| low + i as f64 * cell;
        let peak = (0..=CELLS).map(|i| exponent(a, node(i))).fold(f64::MIN, f64::max);
        let mut distribution = Vec::with_capacity(CELLS + 1);
        let mut sum = 0.0;
        distribution.push(sum);
        for i in 0..CELLS {
            sum += integrate(|x| (exponent(a, x) - peak).exp(), node(i), node(i + 1));
            distribution.push(sum);
        }
        distribution.iter_mut().for_each(|value| *value /= sum);
        Self { a, peak, relative_z: sum, low, cell, distribution }
    }

    /// log μ(x, y).
    #[inline]
    pub(super) fn log_density(&self, x: f64, y: f64) -> f64 {
        exponent(self.a, x) - 0.5 * self.a[3] * y * y
    }

    /// (∂ₓ, ∂_y) log μ(x, y).
    #[inline]
    pub(super) fn gradient(&self, x: f64, y: f64) -> (f64, f64) {
        let [a1, a2, a3, a4] = self.a;
        (x * (12.0 * a2 - 4.0 * a1 * x * x) + 0.5 * a3, -a4 * y)
    }

    /// log ∫∫ μ(x, y) dx dy = log Z_x + ½ log(2π/a₄).
    pub(super) fn log_z(&self) -> f64 {
        self.log_z_x() + 0.5 * (std::f64::consts::TAU / self.a[3]).ln()
    }

    fn log_z_x(&self) -> f64 {
        self.peak + self.relative_z.ln()
    }

    /// The standard deviation of y.
    pub(super) fn valley_deviation(&self) -> f64 {
        self.a[3].sqrt().recip()
    }

    /// P(x < 0), the share of the left well.
    pub(super) fn left_share(&self) -> f64 {
        self.distribution_at(0.0, CELLS / 2)
    }

    /// The x with F(x) = u, for u in [0, 1].
    pub(super) fn quantile(&self, u: f64) -> f64 {
        let above = self.distribution.partition_point(|&value| value <= u);
        let i = above.clamp(1, CELLS) - 1;
        let (mut left, mut right) = (self.node(i), self.node(i + 1));
        let mut x = 0.5 * (left + right);
        // Newton's method settles in four or five steps; a step that leaves the bracket becomes a bisection.
        for _ in 0..60 {
            let excess = self.distribution_at(x, i) - u;
            if excess > 0.0 {
                right = x;
            } else {
                left = x;
            }
            let newton = x - excess / self.density(x);
            let next = if newton >= left && newton <= right { newton } else { 0.5 * (left + right) };
            if (next - x).abs() <= 1e-13 {
                return next;
            }
            x = next;
        }
        x
    }

    /// F(x), integrated from node i.
    fn distribution_at(&self, x: f64, i: usize) -> f64 {
        self.distribution[i] + integrate(|x| self.density(x), self.node(i), x)
    }

    /// The density of x, normalised.
    fn density(&self, x: f64) -> f64 {
        (exponent(self.a, x) - self.peak).exp() / self.relative_z
    }

    fn node(&self, i: usize) -> f64 {
        self.low + i as f64 * self.cell
    }
}

/// −a₁ x⁴ + 6 a₂ x² + ½ a₃ x.
#[inline]
fn exponent([a1, a2, a3, _]: [f64; 4], x: f64) -> f64 {
    let square = x * x;
    square * (6.0 * a2 - a1 * square) + 0.5 * a3 * x
}

/// A width beyond which the density of x is below e⁻⁶⁰ of its value at 0, itself below the peak.
fn half_width(a: [f64; 4]) -> f64 {
    let mut width = 1.0;
    while exponent(a, width).max(exponent(a, -width)) > -60.0 {
        width *= 1.05;
    }
    width
}

/// ∫ f over a short interval.
fn integrate(f: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let [(_, middle), pairs @ ..] = LEGENDRE;
    let sides: f64 = pairs
        .iter()
        .map(|(place, weight)| weight * (f(centre - half * place) + f(centre + half * place)))
        .sum();
    half * (middle * f(centre) + sides)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [f64; 4] = [1.0; 4];

    #[test]
    fn the_constant_of_the_plain_well_is_the_published_one() {
        assert!((DoubleWell::new(PLAIN).log_z_x().exp() - 11784.509265).abs() < 1e-6);
    }

    #[test]
    fn quantiles_invert_an_independent_distribution_function() {
        // Simpson's rule, summed along in steps too short for its error to show.
        for a in [PLAIN, [0.75, 1.25, 0.9, 1.1], [1.25, 0.75, 1.25, 0.75]] {
            let well = DoubleWell::new(a);
            let step = 1e-4;
            let mut sum = 0.0;
            for i in 0..100_000 {
                let x = -5.0 + i as f64 * step;
                let middle = well.density(x + 0.5 * step);
                sum += step / 6.0 * (well.density(x) + 4.0 * middle + well.density(x + step));
                if i % 997 == 0 && (1e-12..1.0 - 1e-12).contains(&sum) {
                    let error = (well.quantile(sum) - (x + step)) * well.density(x + step);
                    assert!(error.abs() < 1e-12, "{a:?} {x} {error}");
                }
            }
            assert!((sum - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_ends_of_the_quantiles_are_finite_and_ordered() {
        let well = DoubleWell::new(PLAIN);
        let ends = [well.quantile(0.0), well.quantile(1e-16), well.quantile(1.0 - 1e-16), well.quantile(1.0)];
        assert!(ends.is_sorted() && ends.iter().all(|x| x.abs() < 5.0), "{ends:?}");
    }
}

//! A random walk with unknown scales, its middle unseen.

use std::f64::consts::{LN_2, TAU};

use super::super::{Differentiable, Target, TargetError, saturate};
use super::one_by_one;
use super::softplus::{sigmoid, softplus};
use super::tables;

/// The number of steps of the walk.
const STEPS: usize = 30;

const DIM: usize = 2 + STEPS;

/// log Z by quadrature over the logarithms of both scales, the walk integrated in closed form.
const LOG_Z: f64 = 1.187_749_103_231;

/// A random walk of 30 steps, seen through noise at the first ten and the last ten; both scales are unknown:
///
///   s ~ LogNormal(0, 2),  r ~ LogNormal(0, 2),  x_t ~ N(x_{t−1}, s²) from x_{−1} = 0,
///   y_t ~ N(x_t, r²) for t = 0 … 9 and 20 … 29.
///
/// Coordinates are (a, b, x₀ … x₂₉) with s = log(1 + eᵃ) and r = log(1 + eᵇ). The density is the joint one of
/// these and the twenty y_t, with the derivatives σ(a) and σ(b) of the scales as factors. With
/// Q = Σ_t (x_t − x_{t−1})² and R = Σ_t (y_t − x_t)², sums over 30 steps and over the n = 20 seen,
///
///   log density = f(a, 30, Q) + f(b, 20, R),
///   f(a, m, Q) = log σ(a) − (log s)²/8 − log 2 − ½ log 2π − (1 + m) log s − Q/2s² − m/2 log 2π,
///   ∂_a f = 1 − σ(a) + σ(a)/s · (Q/s² − m − 1 − ¼ log s).
///
/// Given both scales the walk is Gaussian, so log Z is an integral over two coordinates, found by quadrature:
/// 1.18775. Model, data and coordinates are those of `BrownianMotionUnknownScalesMissingMiddleObservations` of
/// the Inference Gym.
///
/// ```
/// use ebbtide::target::{BrownianMotion, Target};
///
/// let mut points = [0.0; 2 * 32];
/// for point in points.chunks_exact_mut(32) {
///     point[..2].fill(1_f32.exp_m1().ln()); // s = r = 1
/// }
/// points[32 + 2 + 15] = 1.0; // x₁₅ of the second point: nothing is seen of it, but there are two steps of 1
/// let mut values = [0.0; 2];
/// BrownianMotion::new().log_density(&points, &mut values)?;
/// assert!((values[0] - values[1] - 1.0).abs() < 1e-6);
/// # Ok::<(), ebbtide::target::TargetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BrownianMotion {
    seen: Vec<(usize, f64)>,
}

impl BrownianMotion {
    /// The model with its data.
    pub fn new() -> Self {
        Self { seen: tables::brownian() }
    }

    fn evaluate(&self, point: &[f32], gradient: Option<&mut [f32]>) -> f64 {
        let [innovation, noise] = [Scale::new(point[0]), Scale::new(point[1])];
        let path = &point[2..];
        let steps = path.iter().scan(0.0, |before, &x| {
            let step = f64::from(x) - *before;
            *before = f64::from(x);
            Some(step)
        });
        let misses = self.seen.iter().map(|&(step, value)| value - f64::from(path[step]));
        let walked: f64 = steps.clone().map(|step| step * step).sum();
        let missed: f64 = misses.clone().map(|miss| miss * miss).sum();
        let seen = self.seen.len() as f64;
        let value = innovation.log_density(STEPS as f64, walked) + noise.log_density(seen, missed);
        if let Some(gradient) = gradient {
            gradient[0] = saturate(innovation.slope(STEPS as f64, walked));
            gradient[1] = saturate(noise.slope(seen, missed));
            let mut slopes = [0.0; STEPS];
            for (t, step) in steps.enumerate() {
                slopes[t] -= step * innovation.precision;
                if t > 0 {
                    slopes[t - 1] += step * innovation.precision;
                }
            }
            for (&(t, _), miss) in self.seen.iter().zip(misses) {
                slopes[t] += miss * noise.precision;
            }
            gradient[2..].iter_mut().zip(slopes).for_each(|(slope, value)| *slope = saturate(value));
        }
        value.max(f64::MIN)
    }
}

impl Default for BrownianMotion {
    fn default() -> Self {
        Self::new()
    }
}

/// A scale s = log(1 + eᵃ).
struct Scale {
    a: f64,
    /// log s.
    log: f64,
    /// ∂ log s / ∂a = σ(a)/s.
    log_slope: f64,
    /// 1/s², finite for every a, so that it makes 0 of no differences and not NaN.
    precision: f64,
}

impl Scale {
    fn new(a: f32) -> Self {
        let a = f64::from(a);
        // Far below 0, s = eᵃ to rounding, though eᵃ itself may be too small for a number.
        let (log, log_slope) =
            if a < -40.0 { (a, 1.0) } else { (softplus(a).ln(), sigmoid(a) / softplus(a)) };
        Self { a, log, log_slope, precision: (-2.0 * log).min(700.0).exp() }
    }

    /// f(a, m, Q).
    fn log_density(&self, count: f64, squares: f64) -> f64 {
        let prior = -0.125 * self.log * self.log - self.log - LN_2 - 0.5 * TAU.ln();
        prior - softplus(-self.a) - count * (self.log + 0.5 * TAU.ln()) - 0.5 * squares * self.precision
    }

    /// ∂_a f(a, m, Q).
    fn slope(&self, count: f64, squares: f64) -> f64 {
        let by_log = squares * self.precision - count - 1.0 - 0.25 * self.log;
        sigmoid(-self.a) + self.log_slope * by_log
    }
}

impl Target for BrownianMotion {
    fn dim(&self) -> usize {
        DIM
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        one_by_one(DIM, points, out, None, |point, gradient| self.evaluate(point, gradient))
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn log_z(&self) -> Option<f64> {
        Some(LOG_Z)
    }
}

impl Differentiable for BrownianMotion {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        one_by_one(DIM, points, out, Some(gradient), |point, gradient| self.evaluate(point, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log p(y | s, r) by Kalman's filter: the mean and variance of x_t given what was seen before.
    fn log_evidence(seen: &[(usize, f64)], s: f64, r: f64) -> f64 {
        let (mut mean, mut variance, mut sum) = (0.0, 0.0, 0.0);
        for t in 0..STEPS {
            variance += s * s;
            if let Some((_, value)) = seen.iter().find(|(step, _)| *step == t) {
                let (surprise, spread) = (value - mean, variance + r * r);
                sum -= 0.5 * (surprise * surprise / spread + (TAU * spread).ln());
                mean += variance / spread * surprise;
                variance *= 1.0 - variance / spread;
            }
        }
        sum
    }

    /// The trapezoid rule, exact to rounding for what vanishes smoothly at the border.
    #[test]
    fn log_z_is_the_quadrature_over_both_scales() {
        let walk = BrownianMotion::new();
        let log_prior = |log: f64| -0.125 * log * log - LN_2 - 0.5 * TAU.ln();
        let mut sum = 0.0;
        for i in -280..=280 {
            for j in -280..=280 {
                let [s, r] = [i, j].map(|place| 0.05 * f64::from(place));
                let log = log_prior(s) + log_prior(r) + log_evidence(&walk.seen, s.exp(), r.exp());
                sum += log.exp() * 0.05 * 0.05;
            }
        }
        assert!((sum.ln() - LOG_Z).abs() < 1e-9, "{}", sum.ln());
    }

    #[test]
    fn far_points_stay_finite() {
        for raw in [-1e30, -1e4, -40.0, 1e4, 1e30] {
            for x in [0.0, 1.0, 1e30] {
                let mut point = [x; DIM];
                (point[0], point[1]) = (raw, raw);
                let (mut value, mut gradient) = ([0.0], [0.0; DIM]);
                BrownianMotion::new().log_density_and_gradient(&point, &mut value, &mut gradient).unwrap();
                assert!(value[0].is_finite() && gradient.iter().all(|slope| slope.is_finite()), "{raw} {x}");
            }
        }
    }
}

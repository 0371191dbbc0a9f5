//! Eight schools: a hierarchical model of eight experiments.

use std::f64::consts::{PI, TAU};

use super::super::{Differentiable, Target, TargetError, saturate};
use super::one_by_one;
use super::softplus::{sigmoid, softplus};

/// The estimated effect of coaching in each school, and its standard error (Rubin 1981).
const SCHOOLS: [(f64, f64); 8] = [
    (28.0, 15.0),
    (8.0, 10.0),
    (-3.0, 16.0),
    (7.0, 11.0),
    (-1.0, 9.0),
    (1.0, 11.0),
    (18.0, 10.0),
    (12.0, 18.0),
];

/// The scale of both priors.
const SCALE: f64 = 5.0;

const DIM: usize = 2 + SCHOOLS.len();

/// log Z by quadrature over μ and log τ, the effects integrated in closed form.
const LOG_Z: f64 = -31.311_347_352_292_7;

/// Eight schools with effects θ_j around a common mean, in the centred form:
///
///   μ ~ N(0, 5²),  τ ~ half-Cauchy(5),  θ_j ~ N(μ, τ²),  y_j ~ N(θ_j, s_j²).
///
/// Coordinates are (μ, t, θ₁ … θ₈) with t = log τ. The density is the joint one of these and the eight
/// estimates y, with the derivative τ = eᵗ of τ by t as a factor:
///
///   log density = log N(μ; 0, 5²) + log(2/5π) − log(1 + τ²/25) + t
///                 + Σ_j log N(θ_j; μ, τ²) + log N(y_j; θ_j, s_j²),
///   ∂_μ = −μ/25 + Σ_j (θ_j − μ)/τ²,  ∂_t = 1 − 2 τ²/(25 + τ²) + Σ_j ((θ_j − μ)²/τ² − 1),
///   ∂_{θ_j} = (μ − θ_j)/τ² + (y_j − θ_j)/s_j².
///
/// Given μ and τ, y_j ~ N(μ, τ² + s_j²), so log Z is an integral over two coordinates, found by quadrature.
/// Model and data are `eight_schools_centered` of posteriordb. A neck, where τ is small and all θ_j must be near μ,
/// makes it hard to sample.
///
/// ```
/// use ebbtide::target::{Differentiable, EightSchools};
///
/// // μ = 0, τ = 1 and no effects, where all pull: the first school saw 28 ± 15.
/// let (mut value, mut slopes) = ([0.0], [0.0; 10]);
/// EightSchools::new().log_density_and_gradient(&[0.0; 10], &mut value, &mut slopes)?;
/// let [mean, log_deviation, first, ..] = slopes;
/// assert_eq!(mean, 0.0);
/// assert!((log_deviation + 7.0 + 1.0 / 13.0).abs() < 1e-6);
/// assert!((first - 28.0 / 225.0).abs() < 1e-6);
/// # Ok::<(), ebbtide::target::TargetError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct EightSchools;

impl EightSchools {
    /// The model with its data.
    pub fn new() -> Self {
        Self
    }

    fn evaluate(point: &[f32], gradient: Option<&mut [f32]>) -> f64 {
        let [mean, t] = [f64::from(point[0]), f64::from(point[1])];
        // Finite for every t, so that where all effects are μ the energy is 0 and not ∞ · 0.
        let precision = (-2.0 * t).min(700.0).exp();
        let doubt = 2.0 * (t - SCALE.ln()); // log τ²/25
        let mut value = log_normal(mean, SCALE) + (2.0 / (PI * SCALE)).ln() - softplus(doubt) + t;
        let (mut pull, mut energy) = (0.0, 0.0);
        for (&theta, (effect, error)) in point[2..].iter().zip(SCHOOLS) {
            let theta = f64::from(theta);
            pull += precision * (theta - mean);
            energy += precision * (theta - mean).powi(2);
            value += log_normal(effect - theta, error);
        }
        let schools = SCHOOLS.len() as f64;
        value -= 0.5 * energy + schools * (t + 0.5 * TAU.ln());
        if let Some(gradient) = gradient {
            gradient[0] = saturate(pull - mean / (SCALE * SCALE));
            gradient[1] = saturate(1.0 - 2.0 * sigmoid(doubt) + energy - schools);
            for ((slope, &theta), (effect, error)) in gradient[2..].iter_mut().zip(&point[2..]).zip(SCHOOLS) {
                let theta = f64::from(theta);
                *slope = saturate(precision * (mean - theta) + (effect - theta) / (error * error));
            }
        }
        value.max(f64::MIN)
    }
}

/// log N(x; 0, s²).
fn log_normal(x: f64, deviation: f64) -> f64 {
    -0.5 * ((x / deviation).powi(2) + TAU.ln()) - deviation.ln()
}

impl Target for EightSchools {
    fn dim(&self) -> usize {
        DIM
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        one_by_one(DIM, points, out, None, Self::evaluate)
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn log_z(&self) -> Option<f64> {
        Some(LOG_Z)
    }
}

impl Differentiable for EightSchools {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        one_by_one(DIM, points, out, Some(gradient), Self::evaluate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trapezoid rule, exact to rounding for what vanishes smoothly at the border.
    #[test]
    fn log_z_is_the_quadrature_over_mean_and_deviation() {
        let mut sum = 0.0;
        for i in -240..=240 {
            let mean = 0.25 * f64::from(i);
            for j in -1200..=800 {
                let t = 0.05 * f64::from(j);
                let tau = t.exp();
                let prior = log_normal(mean, 5.0) + (10.0 / PI / (25.0 + tau * tau)).ln() + t;
                let seen = SCHOOLS.map(|(effect, error)| log_normal(effect - mean, tau.hypot(error)));
                sum += (prior + seen.iter().sum::<f64>()).exp() * 0.25 * 0.05;
            }
        }
        assert!((sum.ln() - LOG_Z).abs() < 1e-10, "{}", sum.ln());
    }

    #[test]
    fn the_ends_of_the_neck_stay_finite() {
        for t in [-1e4, -300.0, 300.0, 1e4] {
            for theta in [0.0, 1.0, 1e30] {
                let mut point = [theta; DIM];
                (point[0], point[1]) = (0.0, t);
                let (mut value, mut gradient) = ([0.0], [0.0; DIM]);
                EightSchools::new().log_density_and_gradient(&point, &mut value, &mut gradient).unwrap();
                assert!(value[0].is_finite() && gradient.iter().all(|slope| slope.is_finite()));
            }
        }
    }
}

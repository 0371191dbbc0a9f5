//! The exact reversal of the fixed destruction process, for a Gaussian target.
//!
//! Let x_T ~ N(0, s² I) and x_i | x_{i+1} ~ N(ρ_i x_{i+1}, ρ_i σ² Δ_i), with ρ_i = t_i/t_{i+1}. Coordinates are
//! independent, so take one of them.
//!
//! *Marginals.* Let V_i be the variance of x_i. Then V_T = s² and V_i = ρ_i² V_{i+1} + ρ_i σ² Δ_i, which is solved by
//!
//! > V_i = t_i u_i, u_i = t_i s² + (1 − t_i) σ²:
//!
//! with t = t_i and t′ = t_{i+1}, the right-hand side is
//! (t²/t′) (t′ s² + (1 − t′) σ²) + (t/t′) (t′ − t) σ² = t² s² + (t/t′) σ² (t − t t′ + t′ − t) = t (t s² + (1 − t) σ²).
//!
//! *Conditionals.* (x_i, x_{i+1}) is Gaussian with covariance ρ_i V_{i+1}. Hence x_{i+1} | x_i is Gaussian with
//!
//! > slope m_i = ρ_i V_{i+1} / V_i = u_{i+1} / u_i,
//! >
//! > variance s_i² = V_{i+1} − ρ_i² V_{i+1}² / V_i = V_{i+1} ρ_i σ² Δ_i / V_i = σ² Δ_i u_{i+1} / u_i = m_i σ² Δ_i.
//!
//! At i = 0, where x_0 = 0, the formula still gives V_1 = t_1 u_1, since u_0 = σ². In the letters of the generation
//! kernel: f = (m_i − 1) x_i / Δ_i and γ = m_i. For s² = σ² every u_i is σ², and this is Brownian motion.

use super::Settings;
use super::kernel::{Gaussian, state};

/// One step of the reversal: x_{i+1} | x_i ~ N(m_i x_i, s_i²) in every coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactStep {
    /// m_i.
    pub slope: f64,
    /// s_i².
    pub variance: f64,
}

/// The reversal step by step, i = 0 … T−1, for the target N(0, `target_variance` I).
pub fn reversal(settings: &Settings, target_variance: f64) -> Vec<ExactStep> {
    let u = |i: usize| {
        let t = settings.times[i];
        t * target_variance + (1.0 - t) * settings.sigma_squared
    };
    (0..settings.steps())
        .map(|i| {
            let slope = u(i + 1) / u(i);
            let variance = slope * settings.sigma_squared * settings.delta(i);
            ExactStep { slope, variance }
        })
        .collect()
}

/// log p→ of a trajectory under the reversal.
pub fn log_generation(settings: &Settings, target_variance: f64, states: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, step) in reversal(settings, target_variance).iter().enumerate() {
        let x = state(settings, states, i);
        let kernel = Gaussian {
            mean: x.iter().map(|x| step.slope * x).collect(),
            variance: vec![step.variance; settings.dim],
        };
        sum += kernel.log_density(&state(settings, states, i + 1));
    }
    sum
}

/// log N(x; 0, `target_variance` I).
pub fn log_target(target_variance: f64, x: &[f64]) -> f64 {
    let target = Gaussian { mean: vec![0.0; x.len()], variance: vec![target_variance; x.len()] };
    target.log_density(x)
}

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

use super::draw::Draw;
use super::kernel::{Gaussian, state};
use super::network::{Head, output, random_parameters};
use super::{Parameters, Settings};

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

/// A network that is the exact reversal for T = 2 and the target N(0, s² I), in width 2d + 1.
///
/// gelu(x) − gelu(−x) = x carries the state through both activations; the last unit carries time alone, and
/// the head fits v to the two values of γ. The drift needs no time, because at t_0 the state is zero.
pub fn network(settings: &Settings, s_squared: f64) -> Parameters {
    let (d, h) = (settings.dim, settings.width);
    assert_eq!((h, settings.depth, settings.steps()), (2 * d + 1, 1, 2));
    let steps = reversal(settings, s_squared);
    let mut p = random_parameters(settings, 0.8, &mut Draw::new(23));

    let mut state = vec![0.0; d * h];
    let mut pass_state = vec![0.0; h * h];
    let mut head = vec![0.0; h * 2 * d];
    let mut bias = vec![0.0; h];
    bias[2 * d] = 0.3;
    let mut pass_time = p["shared.backbone.0.time.weight"].clone();
    for k in 0..d {
        (state[k * h + k], state[k * h + d + k]) = (1.0, -1.0);
        (pass_state[k * h + k], pass_state[(d + k) * h + k]) = (1.0, -1.0);
        (pass_state[k * h + d + k], pass_state[(d + k) * h + d + k]) = (-1.0, 1.0);
        let f = (steps[1].slope - 1.0) / settings.delta(1);
        (head[k * 2 * d + k], head[(d + k) * 2 * d + k]) = (f, -f);
        head[2 * d * 2 * d + d + k] = 1.0;
    }
    for (index, weight) in pass_time.iter_mut().enumerate() {
        if index % h != 2 * d {
            *weight = 0.0;
        }
    }
    p.insert("shared.state.weight".into(), state);
    p.insert("shared.state.bias".into(), vec![0.0; h]);
    p.insert("shared.backbone.0.state.weight".into(), pass_state);
    p.insert("shared.backbone.0.time.weight".into(), pass_time);
    p.insert("shared.backbone.0.bias".into(), bias);
    p.insert("generation.head.weight".into(), head.clone());
    p.insert("generation.head.bias".into(), vec![0.0; 2 * d]);

    let unit = |i: usize| {
        let zero = vec![0.0; d];
        output(settings, &p, Head::Generation, &zero, settings.times[i])[d]
    };
    let v = |i: usize| (steps[i].slope.ln() / settings.c1).atanh();
    let gain = (v(1) - v(0)) / (unit(1) - unit(0));
    let offset = v(0) - gain * unit(0);
    for k in 0..d {
        head[2 * d * 2 * d + d + k] = gain;
    }
    p.insert("generation.head.weight".into(), head);
    let bias = (0..2 * d).map(|k| if k < d { 0.0 } else { offset });
    p.insert("generation.head.bias".into(), bias.collect());
    p
}

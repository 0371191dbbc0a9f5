//! The kernels: one Gaussian step of generation or destruction, and the trajectories made of them.
//!
//! A trajectory is its states x_1 … x_T, stored `[T][d]`; x_0 = 0 is left out.

use std::f64::consts::TAU;

use super::network::{self, Head};
use super::{Destruction, DestructionVariance, GenerationVariance, Parameters, Settings};

/// A normal distribution with independent coordinates.
#[derive(Clone, Debug)]
pub struct Gaussian {
    /// The mean of every coordinate.
    pub mean: Vec<f64>,
    /// The variance of every coordinate.
    pub variance: Vec<f64>,
}

impl Gaussian {
    /// log N(x; mean, variance), summed over coordinates.
    pub fn log_density(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        for k in 0..x.len() {
            let residual = x[k] - self.mean[k];
            sum -= 0.5 * residual * residual / self.variance[k];
            sum -= 0.5 * (TAU * self.variance[k]).ln();
        }
        sum
    }

    /// mean + √variance ξ.
    pub fn sample(&self, xi: &[f64]) -> Vec<f64> {
        (0..xi.len()).map(|k| self.mean[k] + self.variance[k].sqrt() * xi[k]).collect()
    }
}

/// p→(· | x_i) = N(x_i + f Δ_i, γ σ² Δ_i), the network read at (x_i, t_i).
pub fn generation(settings: &Settings, parameters: &Parameters, i: usize, x: &[f64]) -> Gaussian {
    let d = settings.dim;
    let raw = network::output(settings, parameters, Head::Generation, x, settings.times[i]);
    let delta = settings.delta(i);
    let mut kernel = Gaussian { mean: vec![0.0; d], variance: vec![0.0; d] };
    for k in 0..d {
        let f = raw[k].clamp(-settings.drift_bound, settings.drift_bound);
        let gamma = match settings.generation_variance {
            GenerationVariance::Fixed => 1.0,
            GenerationVariance::Learned => (settings.c1 * raw[d + k].tanh()).exp(),
        };
        kernel.mean[k] = x[k] + f * delta;
        kernel.variance[k] = gamma * settings.sigma_squared * delta;
    }
    kernel
}

/// p←(x_i = · | x_{i+1}) = N(α ρ x_{i+1}, β ρ σ² Δ_i), ρ = t_i/t_{i+1}, the network read at (x_{i+1}, t_{i+1}).
///
/// Only for i ≥ 1: the step to x_0 is certain.
pub fn destruction(settings: &Settings, parameters: &Parameters, i: usize, x: &[f64]) -> Gaussian {
    assert!(i >= 1, "the step to x_0 has no density");
    let d = settings.dim;
    let (rho, delta) = (settings.rho(i), settings.delta(i));
    let (alpha, beta) = corrections(settings, parameters, i, x);
    let mut kernel = Gaussian { mean: vec![0.0; d], variance: vec![0.0; d] };
    for k in 0..d {
        kernel.mean[k] = alpha[k] * rho * x[k];
        kernel.variance[k] = beta[k] * rho * settings.sigma_squared * delta;
    }
    kernel
}

/// α and β of the destruction step that leaves (x_{i+1}, t_{i+1}).
fn corrections(settings: &Settings, parameters: &Parameters, i: usize, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let d = settings.dim;
    let Destruction::Learned(form) = settings.destruction else {
        return (vec![1.0; d], vec![1.0; d]);
    };
    let t = settings.times[i + 1];
    let raw = network::output(settings, parameters, Head::Destruction, x, t);
    let (a, b) = raw.split_at(d);
    let alpha = a.iter().map(|a| 1.0 + settings.c2 * a.tanh()).collect();
    let beta = b
        .iter()
        .map(|b| match form {
            DestructionVariance::Bounded => 1.0 + settings.c2 * b.tanh(),
            DestructionVariance::Exponential => (settings.c1 * b.tanh()).exp(),
        })
        .collect();
    (alpha, beta)
}

/// x_i of a trajectory, for i from 0 to T.
pub fn state(settings: &Settings, states: &[f64], i: usize) -> Vec<f64> {
    let d = settings.dim;
    assert_eq!(states.len(), settings.steps() * d, "shape of a trajectory");
    match i {
        0 => vec![0.0; d],
        _ => states[(i - 1) * d..i * d].to_vec(),
    }
}

/// log p→ = Σ_{i=0}^{T−1} log p→(x_{i+1} | x_i).
pub fn log_generation(settings: &Settings, parameters: &Parameters, states: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..settings.steps() {
        let from = state(settings, states, i);
        let to = state(settings, states, i + 1);
        sum += generation(settings, parameters, i, &from).log_density(&to);
    }
    sum
}

/// log p← = Σ_{i=1}^{T−1} log p←(x_i | x_{i+1}).
pub fn log_destruction(settings: &Settings, parameters: &Parameters, states: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 1..settings.steps() {
        let from = state(settings, states, i + 1);
        let to = state(settings, states, i);
        sum += destruction(settings, parameters, i, &from).log_density(&to);
    }
    sum
}

/// The trajectory that `noise` ξ, stored `[T][d]`, drives: x_{i+1} = x_i + f Δ_i + √(γ σ² Δ_i) ξ_i.
pub fn simulate(settings: &Settings, parameters: &Parameters, noise: &[f64]) -> Vec<f64> {
    let d = settings.dim;
    assert_eq!(noise.len(), settings.steps() * d, "shape of the noise");
    let mut x = vec![0.0; d];
    let mut states = Vec::new();
    for i in 0..settings.steps() {
        x = generation(settings, parameters, i, &x).sample(&noise[i * d..(i + 1) * d]);
        states.extend_from_slice(&x);
    }
    states
}

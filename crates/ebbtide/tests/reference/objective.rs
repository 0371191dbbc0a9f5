//! The objectives: plain scalar losses of a batch, one process differentiated and the other constant.
//!
//! Each loss takes two sets of parameters. The first belongs to the process being trained, and differences
//! are taken in it alone; the second belongs to the other process, and is a copy that stays put: the target
//! network, or the live parameters frozen. That also freezes a shared trunk as the other process uses it.

use super::kernel::{log_destruction, log_generation, simulate, state};
use super::{Parameters, Settings};

/// Trajectories already drawn, with what the losses need to know of each.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The states x_1 … x_T of every trajectory, each `[T][d]`.
    pub trajectories: &'a [Vec<f64>],
    /// w, the importance weights; 1 unless replayed.
    pub weights: &'a [f64],
    /// ℓ = −E(x_T).
    pub log_density: &'a [f64],
}

/// What trains the generation process.
#[derive(Clone, Copy)]
pub enum GenerationObjective<'a> {
    /// (1/B) Σ w h(δ), δ = log Z + log p→ − log p← − ℓ, h(δ) = ½ δ², or c |δ| − ½ c² beyond the bound c.
    TrajectoryBalance {
        /// The batch.
        batch: Batch<'a>,
        /// log Z.
        log_z: f64,
    },
    /// ½ (1/B) Σ w δ², log Z replaced by minus the weighted mean of log p→ − log p← − ℓ.
    VarGrad {
        /// The batch.
        batch: Batch<'a>,
    },
    /// (1/(B d)) Σ (log p→ − log p← − ℓ) along trajectories simulated from `noise`.
    ReverseKl {
        /// ξ of every trajectory, each `[T][d]`.
        noise: &'a [Vec<f64>],
        /// ℓ as a function of x_T.
        log_density: &'a dyn Fn(&[f64]) -> f64,
    },
}

/// What trains the destruction process.
#[derive(Clone, Copy)]
pub enum DestructionObjective<'a> {
    /// (1/B) Σ w h(δ), δ = log Z + log p→ − log p← − ℓ, h(δ) = ½ δ², or c |δ| − ½ c² beyond the bound c.
    TrajectoryBalance {
        /// The batch.
        batch: Batch<'a>,
        /// log Z.
        log_z: f64,
    },
    /// ½ (1/B) Σ w δ², log Z replaced by minus the weighted mean of log p→ − log p← − ℓ.
    VarGrad {
        /// The batch.
        batch: Batch<'a>,
    },
    /// Trajectory likelihood maximisation, −(1/B) Σ w log p←.
    TrajectoryLikelihood {
        /// The batch.
        batch: Batch<'a>,
    },
}

/// The loss of the generation process, a function of `generation`; `other` is the destruction process.
pub fn generation_loss(
    settings: &Settings,
    objective: GenerationObjective,
    generation: &Parameters,
    other: &Parameters,
) -> f64 {
    match objective {
        GenerationObjective::TrajectoryBalance { batch, log_z } => {
            let r = log_ratios(settings, generation, other, batch);
            mean_huber(settings.residual_bound, log_z, &r, batch.weights)
        }
        GenerationObjective::VarGrad { batch } => {
            let r = log_ratios(settings, generation, other, batch);
            mean_huber(f64::INFINITY, -weighted_mean(&r, batch.weights), &r, batch.weights)
        }
        GenerationObjective::ReverseKl { noise, log_density } => {
            reverse_kl(settings, generation, other, noise, log_density)
        }
    }
}

/// The loss of the destruction process, a function of `destruction`; `other` is the generation process.
pub fn destruction_loss(
    settings: &Settings,
    objective: DestructionObjective,
    destruction: &Parameters,
    other: &Parameters,
) -> f64 {
    match objective {
        DestructionObjective::TrajectoryBalance { batch, log_z } => {
            let r = log_ratios(settings, other, destruction, batch);
            mean_huber(settings.residual_bound, log_z, &r, batch.weights)
        }
        DestructionObjective::VarGrad { batch } => {
            let r = log_ratios(settings, other, destruction, batch);
            mean_huber(f64::INFINITY, -weighted_mean(&r, batch.weights), &r, batch.weights)
        }
        DestructionObjective::TrajectoryLikelihood { batch } => {
            let mut sum = 0.0;
            for (states, w) in batch.trajectories.iter().zip(batch.weights) {
                sum -= w * log_destruction(settings, destruction, states);
            }
            sum / batch.trajectories.len() as f64
        }
    }
}

/// log p→ − log p← − ℓ of every trajectory.
pub fn log_ratios(
    settings: &Settings,
    generation: &Parameters,
    destruction: &Parameters,
    batch: Batch,
) -> Vec<f64> {
    let count = batch.trajectories.len();
    assert_eq!(batch.weights.len(), count, "one weight a trajectory");
    assert_eq!(batch.log_density.len(), count, "one density a trajectory");
    let mut ratios = Vec::new();
    for (states, l) in batch.trajectories.iter().zip(batch.log_density) {
        let forward = log_generation(settings, generation, states);
        let backward = log_destruction(settings, destruction, states);
        ratios.push(forward - backward - l);
    }
    ratios
}

/// Σ w r / Σ w.
pub fn weighted_mean(r: &[f64], w: &[f64]) -> f64 {
    let sum: f64 = r.iter().zip(w).map(|(r, w)| w * r).sum();
    sum / w.iter().sum::<f64>()
}

/// (1/B) Σ w h(log Z + r), h(δ) = ½ δ² up to |δ| = c and c |δ| − ½ c² beyond.
fn mean_huber(c: f64, log_z: f64, r: &[f64], w: &[f64]) -> f64 {
    let h = |delta: f64| {
        if delta.abs() <= c { 0.5 * delta.powi(2) } else { c * delta.abs() - 0.5 * c * c }
    };
    let sum: f64 = r.iter().zip(w).map(|(r, w)| w * h(log_z + r)).sum();
    sum / r.len() as f64
}

fn reverse_kl(
    settings: &Settings,
    generation: &Parameters,
    other: &Parameters,
    noise: &[Vec<f64>],
    log_density: &dyn Fn(&[f64]) -> f64,
) -> f64 {
    let mut sum = 0.0;
    for xi in noise {
        let states = simulate(settings, generation, xi);
        let terminal = state(settings, &states, settings.steps());
        sum += log_generation(settings, generation, &states);
        sum -= log_destruction(settings, other, &states);
        sum -= log_density(&terminal);
    }
    sum / (noise.len() * settings.dim) as f64
}

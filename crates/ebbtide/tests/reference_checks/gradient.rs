//! Gradients of the losses are scores of the trajectories, scaled by their residuals.

use crate::reference::difference::{derivative, gradient};
use crate::reference::draw::Draw;
use crate::reference::kernel::{log_destruction, log_generation};
use crate::reference::network::random_parameters;
use crate::reference::objective::{
    Batch, DestructionObjective, GenerationObjective, destruction_loss, generation_loss, log_ratios,
    weighted_mean,
};
use crate::reference::{Destruction, Parameters, Settings};
use crate::{assert_close, every_choice, inner, settings};

const WEIGHTS: [f64; 3] = [1.0, 0.6, 0.85];
const LOG_DENSITY: [f64; 3] = [-1.3, 0.4, -2.2];

/// A small network under the paper's own C1, the steepest variance that is used.
fn paper_bounds() -> Settings {
    Settings { c1: 4.0, ..settings(2, 3, 2, &[0.0, 0.3, 0.5, 1.0]) }
}

/// Parameters of a process, parameters of the other, and three trajectories.
fn gradient_case(settings: &Settings) -> (Parameters, Parameters, Vec<Vec<f64>>) {
    let mut draw = Draw::new(31);
    let live = random_parameters(settings, 0.6, &mut draw);
    let other = random_parameters(settings, 0.6, &mut draw);
    let length = settings.dim * settings.steps();
    let trajectories = (0..3).map(|_| draw.normals(length)).collect();
    (live, other, trajectories)
}

/// Asserts ∇ loss = Σ_b scale_b ∇ log p(trajectory b), all by differences.
fn assert_weighted_score(
    loss: &dyn Fn(&Parameters) -> f64,
    log_prob: &dyn Fn(&Parameters, usize) -> f64,
    scale: &[f64],
    at: &Parameters,
) {
    let whole = gradient(loss, at);
    let parts: Vec<Parameters> =
        (0..scale.len()).map(|b| gradient(&|p: &Parameters| log_prob(p, b), at)).collect();
    assert!(inner(&whole, &whole) > 1e-3, "a gradient worth comparing");
    for (name, tensor) in &whole {
        for k in 0..tensor.len() {
            let sum: f64 = (0..scale.len()).map(|b| scale[b] * parts[b][name][k]).sum();
            assert_close(tensor[k], sum, 1e-8, name);
        }
    }
}

#[test]
fn generation_gradients_are_residuals_times_scores() {
    let base = paper_bounds();
    for settings in every_choice(&base) {
        let (live, other, trajectories) = gradient_case(&settings);
        let batch = Batch { trajectories: &trajectories, weights: &WEIGHTS, log_density: &LOG_DENSITY };
        let r = log_ratios(&settings, &live, &other, batch);
        let balance = GenerationObjective::TrajectoryBalance { batch, log_z: 0.9 };
        let vargrad = GenerationObjective::VarGrad { batch };
        for (objective, log_z) in [(balance, 0.9), (vargrad, -weighted_mean(&r, &WEIGHTS))] {
            let scale: Vec<f64> = (0..3).map(|b| WEIGHTS[b] * (log_z + r[b]) / 3.0).collect();
            assert_weighted_score(
                &|p| generation_loss(&settings, objective, p, &other),
                &|p, b| log_generation(&settings, p, &trajectories[b]),
                &scale,
                &live,
            );
        }
        let by_log_z = |log_z: f64| {
            let objective = GenerationObjective::TrajectoryBalance { batch, log_z };
            generation_loss(&settings, objective, &live, &other)
        };
        let mean: f64 = (0..3).map(|b| WEIGHTS[b] * (0.9 + r[b]) / 3.0).sum();
        let slope = derivative(&by_log_z, 0.9).value;
        assert_close(slope, mean, 1e-9, "slope in log Z");
    }
}

#[test]
fn destruction_gradients_are_residuals_times_scores() {
    let base = paper_bounds();
    for settings in every_choice(&base) {
        if settings.destruction == Destruction::Fixed {
            continue;
        }
        let (live, other, trajectories) = gradient_case(&settings);
        let batch = Batch { trajectories: &trajectories, weights: &WEIGHTS, log_density: &LOG_DENSITY };
        let r = log_ratios(&settings, &other, &live, batch);
        let mean = weighted_mean(&r, &WEIGHTS);
        let residual = |log_z: f64| -> Vec<f64> {
            let of = |b: usize| -WEIGHTS[b] * (log_z + r[b]) / 3.0;
            (0..3).map(of).collect()
        };
        let likelihood: Vec<f64> = WEIGHTS.iter().map(|w| -w / 3.0).collect();
        let balance = DestructionObjective::TrajectoryBalance { batch, log_z: 0.9 };
        let vargrad = DestructionObjective::VarGrad { batch };
        let tlm = DestructionObjective::TrajectoryLikelihood { batch };
        for (objective, scale) in [(balance, residual(0.9)), (vargrad, residual(-mean)), (tlm, likelihood)] {
            assert_weighted_score(
                &|p| destruction_loss(&settings, objective, p, &other),
                &|p, b| log_destruction(&settings, p, &trajectories[b]),
                &scale,
                &live,
            );
        }
    }
}

//! Reverse KL of a single step, where it is the divergence of two Gaussians.
//!
//! With T = 1 and fixed destruction, p← is empty and x = f + s ξ in every coordinate, s² = γ σ², with f and v the
//! outputs of the network at the origin. For the target N(m, r²) the loss of a trajectory, times d, is the sum over
//! coordinates of
//!
//! > log p→ − ℓ = −½ ξ² − ½ log 2πs² + ½ (f + s ξ − m)² / r² + ½ log 2πr².
//!
//! If a batch has mean ξ = 0 and mean ξ² = 1 in every coordinate (here ξ = ±1), its mean is
//!
//! > KL(N(f, s²) ‖ N(m, r²)) = ½ ((s² + (f − m)²) / r² − 1 − log s²/r²),
//!
//! with ∂/∂f = (f − m) / r² and, as ∂s²/∂v = s² C₁ (1 − tanh² v), ∂/∂v = ½ (s²/r² − 1) C₁ (1 − tanh² v). The biases of
//! the head have just these gradients, divided by d. With width 1 the weights have them times the single feature.

use ebbtide::network::{Backbone, Process, View};
use ebbtide::objective::GenerationObjective;
use ebbtide::train::{Batch, Differentiator};
use ebbtide::trajectory::{Network, Threads, simulate_forward};

use crate::case::{Case, Shape};
use crate::choice::Choice;
use crate::reference::DestructionVariance;
use crate::reference::network::{Head, output};

const MEAN: [f64; 3] = [0.4, -1.1, 0.0];
const VARIANCE: [f64; 3] = [0.5, 2.0, 1.3];

#[test]
fn one_step_of_reverse_kl_is_a_divergence_of_gaussians() {
    for seed in 0..8 {
        let choice = Choice {
            generation: GenerationObjective::ReverseKl,
            destruction: None,
            learns_variance: true,
            multiplier: DestructionVariance::Bounded,
            backbone: Backbone::Shared,
            lags: false,
            weighted: false,
        };
        let shape = Shape {
            dim: 3,
            width: 1,
            depth: 2,
            gaps: vec![1.0],
            batch: 6,
            sigma_squared: 1.7,
            c1: 1.4,
            c2: 0.5,
            head_gain: 1.0,
            drift_bound: 1e4,
            view: View::Plain,
            residual_bound: f64::INFINITY,
            seed,
        };
        check_divergence(Case::new(choice, &shape));
    }
}

fn check_divergence(mut case: Case) {
    let dim = case.settings.dim;
    for (b, noise) in case.noise.chunks_mut(dim).enumerate() {
        noise.fill(if b % 2 == 0 { 1.0 } else { -1.0 });
    }
    let mut differentiator = Differentiator::new(case.model.clone(), &Threads::new(1).expect("threads"));
    let (lanes, model, prelude) = differentiator.ready(&case.live);
    let network = Network { parameters: &case.live, prelude };
    simulate_forward(lanes, model, network, &case.noise, &[], &mut case.trajectories);
    let (mut log_density, mut slope) = (Vec::new(), Vec::new());
    for end in case.trajectories.states().chunks(dim) {
        let away = |j: usize| f64::from(end[j]) - MEAN[j];
        let of =
            |j: usize| -0.5 * (away(j).powi(2) / VARIANCE[j] + (std::f64::consts::TAU * VARIANCE[j]).ln());
        log_density.push((0..dim).map(of).sum::<f64>());
        slope.extend((0..dim).map(|j| (-away(j) / VARIANCE[j]) as f32));
    }
    let batch = Batch { trajectories: &case.trajectories, log_density: &log_density, importance: None };
    let losses = differentiator.reverse_kl(case.weights(), batch, &case.noise, &slope);

    let live = case.named_live();
    let raw = output(&case.settings, &live, Head::Generation, &vec![0.0; dim], 0.0);
    let (mut divergence, mut expected) = (0.0, vec![0.0; 2 * dim]);
    for j in 0..dim {
        let (f, t) = (raw[j], raw[dim + j].tanh());
        let ratio = (case.settings.c1 * t).exp() * case.settings.sigma_squared / VARIANCE[j];
        divergence += 0.5 * (ratio + (f - MEAN[j]).powi(2) / VARIANCE[j] - 1.0 - ratio.ln());
        expected[j] = (f - MEAN[j]) / VARIANCE[j] / dim as f64;
        expected[dim + j] = 0.5 * (ratio - 1.0) * case.settings.c1 * (1.0 - t * t) / dim as f64;
    }
    let loss = losses.generation.expect("always");
    assert!((loss - divergence / dim as f64).abs() < 1e-5, "{loss} against {divergence} / {dim}");

    let bias = &live["generation.head.bias"];
    let weight = &live["generation.head.weight"];
    let feature = (raw[0] - bias[0]) / weight[0];
    let layout = case.model.layout.clone();
    let gradient = differentiator.gradient(Process::Generation);
    let ours = layout.generation.dense;
    for k in 0..2 * dim {
        let (by_bias, by_weight) =
            (f64::from(ours.bias.of(gradient)[k]), f64::from(ours.weight.of(gradient)[k]));
        let tolerance = 1e-5 * (1.0 + expected[k].abs());
        assert!((by_bias - expected[k]).abs() < tolerance, "bias {k}: {by_bias}, not {}", expected[k]);
        let expected = feature * expected[k];
        assert!((by_weight - expected).abs() < tolerance, "weight {k}: {by_weight}, not {expected}");
    }
}

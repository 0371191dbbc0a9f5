//! The soft value of the generation process is log Z less its divergence from the destroyed target.

use std::f64::consts::{E, TAU};

use crate::reference::draw::Draw;
use crate::reference::kernel::{self, log_destruction, log_generation};
use crate::reference::network::random_parameters;
use crate::reference::objective::{GenerationObjective, generation_loss};
use crate::reference::{Destruction, DestructionVariance, Parameters, Settings};
use crate::{assert_close, settings};

/// A shifted Gaussian, not normalised: −E(x) = 0.7 − (x − 0.4)² / (2 · 0.8).
fn log_density(x: f64) -> f64 {
    0.7 - (x - 0.4).powi(2) / 1.6
}

/// log ∫ exp(−E).
fn log_z() -> f64 {
    0.7 + 0.5 * (TAU * 0.8).ln()
}

/// KL(p→ ‖ p_target p←) over (x_1, x_2), by the trapezoid rule on a grid of states.
fn divergence_by_states(settings: &Settings, p: &Parameters) -> f64 {
    let (count, spacing) = (240, 0.1);
    let at = |k: usize| spacing * (k as f64 - 0.5 * count as f64);
    let (mut mass, mut divergence) = (0.0, 0.0);
    for j in 0..=count {
        for k in 0..=count {
            let states = [at(j), at(k)];
            let forward = log_generation(settings, p, &states);
            let backward = log_destruction(settings, p, &states);
            let target = log_density(states[1]) - log_z();
            let weight = forward.exp() * spacing * spacing;
            mass += weight;
            divergence += weight * (forward - target - backward);
        }
    }
    assert_close(mass, 1.0, 1e-10, "mass of p→");
    divergence
}

/// Nodes and weights of ∫ N(ξ; 0, 1) · dξ.
fn noise_rule() -> Vec<(f64, f64)> {
    let spacing = 0.15;
    (-60..=60)
        .map(|k| {
            let xi = spacing * f64::from(k);
            (xi, spacing * (-0.5 * xi * xi).exp() / TAU.sqrt())
        })
        .collect()
}

/// V(x_i) by its definition: entropy of the step, plus the expected reward log p← (none for leaving x_0) and the
/// value of where it leads; at the end, V(x_T) = −E(x_T).
fn soft_value(settings: &Settings, p: &Parameters, i: usize, x: f64) -> f64 {
    if i == settings.steps() {
        return log_density(x);
    }
    let step = kernel::generation(settings, p, i, &[x]);
    let mut value = 0.5 * (TAU * E * step.variance[0]).ln();
    for (xi, weight) in noise_rule() {
        let next = step.sample(&[xi]);
        let reward = match i {
            0 => 0.0,
            _ => kernel::destruction(settings, p, i, &next).log_density(&[x]),
        };
        value += weight * (reward + soft_value(settings, p, i + 1, next[0]));
    }
    value
}

#[test]
fn soft_value_is_log_z_less_divergence() {
    for destruction in [Destruction::Fixed, Destruction::Learned(DestructionVariance::Bounded)] {
        let settings = Settings { destruction, ..settings(1, 4, 2, &[0.0, 0.4, 1.0]) };
        let p = random_parameters(&settings, 0.6, &mut Draw::new(11));
        let divergence = divergence_by_states(&settings, &p);
        let value = soft_value(&settings, &p, 0, 0.0);
        assert!(divergence > 0.01, "a case far from solved");
        assert_close(value, log_z() - divergence, 1e-8, "soft value");
    }
}

#[test]
fn reverse_kl_averaged_over_noise_is_the_divergence() {
    let settings = settings(1, 4, 2, &[0.0, 0.4, 1.0]);
    let p = random_parameters(&settings, 0.6, &mut Draw::new(12));
    let rule = noise_rule();
    let mut average = 0.0;
    for (xi_0, weight_0) in &rule {
        for (xi_1, weight_1) in &rule {
            let objective = GenerationObjective::ReverseKl {
                noise: &[vec![*xi_0, *xi_1]],
                log_density: &|x| log_density(x[0]),
            };
            average += weight_0 * weight_1 * generation_loss(&settings, objective, &p, &p);
        }
    }
    let divergence = divergence_by_states(&settings, &p);
    assert_close(average, divergence - log_z(), 1e-8, "reverse KL");
}

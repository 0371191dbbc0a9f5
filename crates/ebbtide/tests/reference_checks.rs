//! The slow reference is itself held to identities that do not depend on how it is written.

mod reference;

#[path = "reference_checks/difference.rs"]
mod difference;
#[path = "reference_checks/exact.rs"]
mod exact;
#[path = "reference_checks/gradient.rs"]
mod gradient;
#[path = "reference_checks/kernel.rs"]
mod kernel;
#[path = "reference_checks/soft_value.rs"]
mod soft_value;

use reference::{Backbone, Destruction, DestructionVariance, GenerationVariance, Parameters, Settings, View};

fn settings(dim: usize, width: usize, depth: usize, times: &[f64]) -> Settings {
    Settings {
        dim,
        width,
        depth,
        times: times.to_vec(),
        sigma_squared: 1.7,
        c1: 1.0,
        c2: 0.9,
        drift_bound: 1e4,
        generation_variance: GenerationVariance::Learned,
        destruction: Destruction::Learned(DestructionVariance::Bounded),
        backbone: Backbone::Shared,
        view: View::Plain,
        residual_bound: f64::INFINITY,
    }
}

/// Every combination of the choices that shape the network and the kernels.
fn every_choice(base: &Settings) -> Vec<Settings> {
    let mut all = Vec::new();
    for generation_variance in [GenerationVariance::Fixed, GenerationVariance::Learned] {
        for destruction in [
            Destruction::Fixed,
            Destruction::Learned(DestructionVariance::Bounded),
            Destruction::Learned(DestructionVariance::Exponential),
        ] {
            for backbone in [Backbone::Shared, Backbone::Separate] {
                all.push(Settings { generation_variance, destruction, backbone, ..base.clone() });
            }
        }
    }
    all
}

fn assert_close(left: f64, right: f64, tolerance: f64, what: &str) {
    let scale = left.abs().max(right.abs()).max(1.0);
    assert!((left - right).abs() <= tolerance * scale, "{what}: {left} against {right}");
}

/// Σ left · right over every coordinate.
fn inner(left: &Parameters, right: &Parameters) -> f64 {
    let of = |name: &String, tensor: &Vec<f64>| -> f64 {
        tensor.iter().zip(&right[name]).map(|(l, r)| l * r).sum()
    };
    left.iter().map(|(name, tensor)| of(name, tensor)).sum()
}

//! The method once more, slowly: double precision, scalar loops, the letters of the paper.
//!
//! Nothing here uses the library under test. A test includes this module with `mod reference;` and compares
//! the library's values with these functions, and its gradients with finite differences of these losses.
#![allow(dead_code, reason = "every integration test compiles its own copy and uses only a part of it")]

pub mod difference;
pub mod draw;
pub mod error_function;
pub mod exact;
pub mod kernel;
pub mod network;
pub mod objective;

use std::collections::BTreeMap;

/// Named tensors; a weight is stored `[in][out]`, `out` contiguous.
pub type Parameters = BTreeMap<String, Vec<f64>>;

/// Everything that is fixed while the parameters move.
#[derive(Clone, Debug)]
pub struct Settings {
    /// d, the dimension of a state.
    pub dim: usize,
    /// h, the width of every hidden layer.
    pub width: usize,
    /// L ≥ 1, the number of hidden layers of the backbone.
    pub depth: usize,
    /// 0 = t_0 < … < t_T = 1.
    pub times: Vec<f64>,
    /// σ².
    pub sigma_squared: f64,
    /// C1, the bound of log γ.
    pub c1: f64,
    /// C2, the bound of α − 1 and β − 1.
    pub c2: f64,
    /// The drift is clamped to ± this.
    pub drift_bound: f64,
    /// Whether γ is learned.
    pub generation_variance: GenerationVariance,
    /// Whether α and β are learned, and in which form.
    pub destruction: Destruction,
    /// Whether both processes use one trunk.
    pub backbone: Backbone,
    /// How the network sees a state.
    pub view: View,
    /// c, beyond which residuals of trajectory balance count in proportion.
    pub residual_bound: f64,
}

/// How the network sees a coordinate x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// As it is.
    Plain,
    /// sign(x) ln(1 + |x|).
    Logarithmic,
}

/// The factor γ on the variance of a generation step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationVariance {
    /// γ = 1.
    Fixed,
    /// γ = exp(C1 tanh v).
    Learned,
}

/// The destruction process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destruction {
    /// α = β = 1: the Brownian bridge.
    Fixed,
    /// α = 1 + C2 tanh a, and β in the form named.
    Learned(DestructionVariance),
}

/// The form of β, the factor on the variance of a destruction step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestructionVariance {
    /// β = 1 + C2 tanh b.
    Bounded,
    /// β = exp(C1 tanh b).
    Exponential,
}

/// How the two processes divide the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backbone {
    /// One trunk, two heads.
    Shared,
    /// A trunk for each head.
    Separate,
}

impl Settings {
    /// T, the number of generation steps.
    pub fn steps(&self) -> usize {
        self.times.len() - 1
    }

    /// Δ_i = t_{i+1} − t_i.
    pub fn delta(&self, i: usize) -> f64 {
        self.times[i + 1] - self.times[i]
    }

    /// ρ_i = t_i / t_{i+1}.
    pub fn rho(&self, i: usize) -> f64 {
        self.times[i] / self.times[i + 1]
    }
}

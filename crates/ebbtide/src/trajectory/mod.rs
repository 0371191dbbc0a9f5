//! Trajectories: batches of paths from the origin to a sample, simulated in either direction.

mod lanes;
mod model;
mod multipliers;
mod prelude;
mod sampler;
mod simulate;
mod threads;
mod tile;

pub use lanes::Lanes;
pub(crate) use lanes::{Desk, Lane};
pub use model::Model;
pub use multipliers::Multipliers;
pub(crate) use prelude::PreludeDescent;
pub use prelude::{Network, Prelude};
pub use sampler::{LogProbs, Sampler, SamplerError};
pub(crate) use simulate::simulate_backward;
pub use simulate::{Noise, draw_noise, log_probs, simulate_forward};
pub(crate) use threads::{PIECES, piece};
pub use threads::{Threads, ThreadsError};
pub use tile::{Tile, Wanted};

/// A batch of paths x_1 … x_T. All begin at x_0 = 0, which is not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectories {
    dim: usize,
    steps: usize,
    states: Vec<f32>,
}

impl Trajectories {
    /// `count` paths of zeros.
    pub fn new(count: usize, steps: usize, dim: usize) -> Self {
        Self { dim, steps, states: vec![0.0; count * steps * dim] }
    }

    /// The number of paths.
    pub fn len(&self) -> usize {
        self.states.len() / self.path_len().max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Coordinates of a state.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Steps of a path.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Numbers in one path: steps × dim.
    pub fn path_len(&self) -> usize {
        self.steps * self.dim
    }

    /// Changes the number of paths, keeping those that stay.
    fn resize(&mut self, count: usize) {
        self.states.resize(count * self.path_len(), 0.0);
    }

    /// All states, `[path][step][coordinate]`.
    pub fn states(&self) -> &[f32] {
        &self.states
    }

    /// All states, to be written.
    pub fn states_mut(&mut self) -> &mut [f32] {
        &mut self.states
    }

    /// One path, `[step][coordinate]`.
    pub fn path(&self, index: usize) -> &[f32] {
        &self.states[index * self.path_len()..][..self.path_len()]
    }

    /// One path, to be written.
    pub fn path_mut(&mut self, index: usize) -> &mut [f32] {
        let length = self.path_len();
        &mut self.states[index * length..][..length]
    }

    /// The end points x_T, `[path][coordinate]`, into `ends`.
    pub fn copy_ends(&self, ends: &mut Vec<f32>) {
        ends.clear();
        for path in self.states.chunks_exact(self.path_len()) {
            ends.extend_from_slice(&path[path.len() - self.dim..]);
        }
    }

    /// Whole paths x_0 … x_T with their origins, `[path][step][coordinate]`, into `states`.
    pub fn copy_with_origins(&self, states: &mut Vec<f32>) {
        states.clear();
        for path in self.states.chunks_exact(self.path_len()) {
            states.extend(std::iter::repeat_n(0.0, self.dim));
            states.extend_from_slice(path);
        }
    }

    /// Sets the end points x_T from `ends`, `[path][coordinate]`.
    pub(crate) fn set_ends(&mut self, ends: &[f32]) {
        let (length, dim) = (self.path_len(), self.dim);
        for (path, end) in self.states.chunks_exact_mut(length).zip(ends.chunks_exact(dim)) {
            path[length - dim..].copy_from_slice(end);
        }
    }
}

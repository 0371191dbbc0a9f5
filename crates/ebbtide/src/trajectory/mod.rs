//! Trajectories: batches of paths from the origin to a sample, simulated in either direction.
//!
//! A [`Sampler`] is all that most need. Underneath, noise is drawn first and then made into paths:
//!
//! ```
//! use ebbtide::network::{Backbone, Direction};
//! use ebbtide::process::{Corrections, Destruction, Generation, GenerationVariance, Grid, TimeGrid};
//! use ebbtide::stream::{Address, Purpose};
//! use ebbtide::trajectory::{Lanes, Model, Network, Noise, Prelude, Threads, Trajectories};
//! use ebbtide::trajectory::{draw_noise, log_probs, simulate_forward};
//!
//! let generation = Generation { variance: GenerationVariance::Fixed, sigma_squared: 4.0, drift_bound: 1e4 };
//! let destruction = Destruction { corrections: Corrections::Fixed, sigma_squared: 4.0 };
//! let grid = TimeGrid::new(&Grid::Uniform(2))?;
//! let model = Model::new(1, grid, generation, destruction, 8, 1, Backbone::Shared);
//! let parameters = model.layout.initialise(0);
//! let mut prelude = Prelude::new(&model);
//! prelude.forward(&model, &parameters, Direction::Up);
//! let network = Network { parameters: &parameters, prelude: &prelude };
//!
//! let mut lanes = Lanes::for_simulation(&model, &Threads::new(1)?);
//! let (mut noise, mut paths) = (Noise::new(), Trajectories::new(3, model.steps(), model.dim()));
//! draw_noise(&mut lanes, &model, Address::new(0, Purpose::Sample, 0), 0..3, &mut noise);
//! simulate_forward(&mut lanes, &model, network, &noise, &[], &mut paths);
//! let (mut log_generation, mut log_destruction) = (Vec::new(), Vec::new());
//! log_probs(&mut lanes, &model, network, &paths, &mut log_generation, &mut log_destruction);
//!
//! for (i, noise) in noise.chunks(2).enumerate() {
//!     // Before it has learned anything this is Brownian motion: a step adds √(σ² Δ) ξ = √2 ξ.
//!     let end = paths.path(i)[1];
//!     assert!((end - 2.0_f32.sqrt() * (noise[0] + noise[1])).abs() < 1e-5);
//!     // Its reversal is exact, so that all that is left of both is the density of the end, N(0, 4).
//!     let log_normal = -0.5 * (f64::from(end).powi(2) / 4.0 + (4.0 * std::f64::consts::TAU).ln());
//!     assert!((log_generation[i] - log_destruction[i] - log_normal).abs() < 1e-5);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use simulate::{Noise, draw_noise, log_probs, simulate_forward};
pub(crate) use simulate::{simulate_backward, simulate_ends};
pub(crate) use threads::{PIECES, are_few, piece};
pub use threads::{Threads, ThreadsError};
pub use tile::{Tile, Wanted};

/// A batch of paths x_1 … x_T. All begin at x_0 = 0, which is not stored.
///
/// ```
/// use ebbtide::trajectory::Trajectories;
///
/// let mut paths = Trajectories::new(2, 3, 1);
/// paths.path_mut(0).copy_from_slice(&[1.0, 2.0, 3.0]);
/// paths.states_mut()[3..].copy_from_slice(&[-1.0, -2.0, -4.0]);
/// assert_eq!((paths.len(), paths.steps(), paths.dim(), paths.path_len()), (2, 3, 1, 3));
/// assert_eq!((paths.states().len(), paths.path(1)), (6, &[-1.0, -2.0, -4.0][..]));
///
/// let (mut ends, mut whole) = (Vec::new(), Vec::new());
/// paths.copy_ends(&mut ends);
/// assert_eq!(ends, [3.0, -4.0]);
/// paths.copy_with_origins(&mut whole);
/// assert_eq!(whole, [0.0, 1.0, 2.0, 3.0, 0.0, -1.0, -2.0, -4.0]);
/// assert!(Trajectories::new(0, 3, 1).is_empty());
/// ```
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

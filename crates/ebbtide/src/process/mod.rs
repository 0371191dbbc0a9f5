//! The two processes: Gaussian steps on a time grid, their densities, draws and derivatives.
//!
//! Kernels work on one coordinate of one step for many trajectories at once: every argument that is a
//! slice has one entry for each trajectory.

mod destruction;
mod generation;
mod grid;

pub use destruction::{Corrections, Destruction, Multiplier};
pub use generation::{Generation, GenerationVariance};
pub use grid::{Grid, GridError, Step, TimeGrid};

/// log 2π
pub(crate) const LOG_TAU: f32 = 1.837_877_1;

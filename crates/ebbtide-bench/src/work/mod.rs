//! The pieces of work that are timed.

mod iteration;
mod reverse_kl;
mod sample;
mod sgemm;
mod transport;
mod update;

pub use iteration::{Fill, Iteration};
pub use reverse_kl::ReverseKl;
pub use sample::Sample;
pub use sgemm::Sgemm;
pub use transport::Transport;
pub use update::Update;

use crate::Failure;

/// Something set up once and done again and again.
pub trait Work {
    /// Does it once.
    fn call(&mut self) -> Result<(), Failure>;

    /// Arithmetic that one call needs; 0 where that is not counted.
    fn flops(&self) -> f64 {
        0.0
    }

    /// How many calls make a fair average, where some are longer than others.
    fn unit(&self) -> usize {
        1
    }

    /// What the last call found, where programs can be held against each other.
    fn value(&self) -> Option<f64> {
        None
    }
}

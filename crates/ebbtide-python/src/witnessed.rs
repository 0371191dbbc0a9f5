//! A target of which somebody has true samples.

use std::sync::Arc;

use ebbtide::stream::Address;
use ebbtide::target::{Differentiable, Drawable, Modes, Target, TargetError};

/// A target, and samples of it that stand in for exact draws.
pub struct Witnessed {
    target: Arc<dyn Target>,
    /// n × dim by rows.
    truth: Vec<f32>,
}

impl Witnessed {
    /// Samples are in the target's coordinates.
    pub fn new(target: Arc<dyn Target>, truth: Vec<f32>) -> Self {
        Self { target, truth }
    }
}

impl Target for Witnessed {
    fn dim(&self) -> usize {
        self.target.dim()
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.target.log_density(points, out)
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        self.target.differentiable()
    }

    fn drawable(&self) -> Option<&dyn Drawable> {
        Some(self)
    }

    fn log_z(&self) -> Option<f64> {
        self.target.log_z()
    }

    fn modes(&self) -> Option<&dyn Modes> {
        self.target.modes()
    }
}

impl Drawable for Witnessed {
    /// The first of the samples.
    fn draw(&self, _: Address, points: &mut [f32]) -> Result<(), TargetError> {
        match self.truth.get(..points.len()) {
            Some(first) => points.copy_from_slice(first),
            None => return Err(TargetError::failed("there are not so many true samples")),
        }
        Ok(())
    }
}

//! Trajectory likelihood: the destruction process learns the paths that generation takes.

use super::{Logs, Pull};

/// L = −w log p←, on trajectories of the generation process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrajectoryLikelihood;

impl TrajectoryLikelihood {
    /// The pull on log p← of a trajectory with importance weight w.
    pub fn destruction(&self, logs: &Logs, importance: f64) -> Pull {
        Pull { loss: -importance * logs.destruction, weight: -importance }
    }
}

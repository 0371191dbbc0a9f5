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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likelier_paths_back_are_wanted_by_their_weight() {
        let logs = Logs { generation: -7.0, destruction: -2.0, density: 3.0 };
        assert_eq!(TrajectoryLikelihood.destruction(&logs, 0.25), Pull { loss: 0.5, weight: -0.25 });
    }
}

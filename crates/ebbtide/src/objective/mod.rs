//! What training minimises: a weight for each trajectory's log-probabilities.
//!
//! Given log p→, log p←, the log density and an estimate of log Z, an objective that does not look at how
//! a trajectory came about answers with its loss and the derivative of the loss with respect to log p→ or
//! log p←. Everything behind those (kernels, network) is the same for all of them. Reverse KL is the
//! exception: it is differentiated through the simulation (see [`crate::train`]).

mod likelihood;
mod method;
mod second_moment;

pub(crate) use likelihood::TrajectoryLikelihood;
pub use method::{DestructionObjective, GenerationObjective, Method, OffPolicy, UnknownMethod};
pub(crate) use second_moment::{SecondMoment, weighted_mean};

/// The logarithms that belong to one trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Logs {
    /// log p→(x_1 … x_T)
    pub generation: f64,
    /// log p←(x_1 … x_{T−1} | x_T)
    pub destruction: f64,
    /// log density of x_T, up to log Z
    pub density: f64,
}

impl Logs {
    /// log p→ − log p← − log density: minus the logarithm of the trajectory's importance weight.
    pub fn ratio(&self) -> f64 {
        self.generation - self.destruction - self.density
    }
}

/// An objective's answer for one trajectory, before the mean over the batch is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pull {
    /// The trajectory's share of the loss.
    pub loss: f64,
    /// Its derivative with respect to the log-probability that is being learned.
    pub weight: f64,
}

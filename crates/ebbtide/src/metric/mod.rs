//! How good a sampler is: bounds on log Z, sample quality, mode coverage, each with its error.

pub mod assignment;
mod auction;
mod bounds;
mod coverage;
mod evaluation;
mod pareto;
mod rewards;
mod shortest_path;
mod shortlist;
pub mod transport;

pub use bounds::{Bounds, Estimate, Importance};
pub use coverage::Coverage;
pub use evaluation::{Evaluation, EvaluationError, EvaluationOptions, Extreme, evaluate, log_weights};
pub use pareto::pareto_shape;
pub use rewards::{Rewards, Worth, mean_cosine_distance};
pub use transport::{TransportError, wasserstein2};

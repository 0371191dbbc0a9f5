//! How good a sampler is: bounds on log Z, sample quality, mode coverage, each with its error.

mod bounds;
mod coverage;
mod evaluation;

pub use bounds::{Bounds, Estimate, Importance};
pub use coverage::Coverage;
pub use evaluation::{Evaluation, EvaluationError, EvaluationOptions, evaluate};

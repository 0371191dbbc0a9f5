//! Training.

mod adam;
mod gradient;
mod learner;

pub use adam::{Adam, clip_scale, norm};
pub use gradient::{Batch, Differentiator, Losses, Objectives, Weights};
pub use learner::{Arrangement, Learner, Norms, Optimisation};

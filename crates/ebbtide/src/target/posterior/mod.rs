//! Densities of practice: posteriors given data that others share, and a lattice field.

mod brownian;
mod eight_schools;
mod lattice;
mod reference;
mod regression;
mod regression_batch;
mod softplus;
mod tables;

pub use brownian::BrownianMotion;
pub use eight_schools::EightSchools;
pub use lattice::{LatticeError, Phi4Lattice};
pub use reference::Reference;
pub use regression::{LogisticRegression, RegressionError};

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

use super::{TargetError, check_shape};

/// Evaluates a batch point by point; each gets its row of the gradient, where one is wanted.
fn one_by_one(
    dim: usize,
    points: &[f32],
    out: &mut [f64],
    gradient: Option<&mut [f32]>,
    evaluate: impl Fn(&[f32], Option<&mut [f32]>) -> f64,
) -> Result<(), TargetError> {
    check_shape(dim, points, out, gradient.as_deref())?;
    let mut gradients = gradient.map(|gradient| gradient.chunks_exact_mut(dim));
    for (point, value) in points.chunks_exact(dim).zip(out) {
        *value = evaluate(point, gradients.as_mut().and_then(Iterator::next));
    }
    Ok(())
}

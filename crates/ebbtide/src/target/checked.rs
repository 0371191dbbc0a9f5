//! Evaluation of any target with its answers checked.

use super::{Differentiable, Target, TargetError};

/// The value that stands for a density of zero: so low that nothing else is, and still a number to compute with.
pub(crate) const NOWHERE: f32 = -1e30;

/// Refuses NaN and +∞, naming the row.
pub(crate) fn check_log_density(points: &[f32], log_density: &[f32], dim: usize) -> Result<(), TargetError> {
    match log_density.iter().position(|value| value.is_nan() || *value == f32::INFINITY) {
        None => Ok(()),
        Some(row) => Err(TargetError::Impossible {
            value: log_density[row],
            row,
            point: points[row * dim..(row + 1) * dim].to_vec(),
        }),
    }
}

/// Log densities of n points, checked; −∞ (a density of zero) becomes a very low number.
pub(crate) fn evaluate(target: &dyn Target, points: &[f32], out: &mut Vec<f32>) -> Result<(), TargetError> {
    out.resize(points.len() / target.dim(), 0.0);
    target.log_density(points, out)?;
    finish(points, out, target.dim())
}

/// As [`evaluate`], with the gradient, which must be finite.
pub(crate) fn evaluate_with_gradient(
    target: &dyn Differentiable,
    dim: usize,
    points: &[f32],
    out: &mut Vec<f32>,
    gradient: &mut Vec<f32>,
) -> Result<(), TargetError> {
    out.resize(points.len() / dim, 0.0);
    gradient.resize(points.len(), 0.0);
    target.log_density_and_gradient(points, out, gradient)?;
    finish(points, out, dim)?;
    match gradient.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => Err(TargetError::Gradient {
            value: gradient[place],
            coordinate: place % dim,
            point: points[place / dim * dim..][..dim].to_vec(),
        }),
    }
}

fn finish(points: &[f32], out: &mut [f32], dim: usize) -> Result<(), TargetError> {
    check_log_density(points, out, dim)?;
    for value in out {
        *value = value.max(NOWHERE);
    }
    Ok(())
}

//! Evaluation of any target with its answers checked.

use super::{Differentiable, Target, TargetError};

/// The log density that stands for a density of zero: so low that nothing else is, and still a number to
/// compute with.
pub(crate) const NOWHERE: f64 = -1e30;

/// Refuses NaN and +∞, naming the row.
pub(crate) fn check_log_density(points: &[f32], log_density: &[f64], dim: usize) -> Result<(), TargetError> {
    match log_density.iter().position(|value| value.is_nan() || *value == f64::INFINITY) {
        None => Ok(()),
        Some(row) => Err(TargetError::Impossible {
            value: log_density[row],
            row,
            point: points[row * dim..(row + 1) * dim].to_vec(),
        }),
    }
}

/// Log densities of n points, checked; −∞ (a density of zero) becomes [`NOWHERE`]. A row that the target does not fill
/// in counts as NaN.
pub(crate) fn evaluate(target: &dyn Target, points: &[f32], out: &mut Vec<f64>) -> Result<(), TargetError> {
    reset(out, points.len() / target.dim(), f64::NAN);
    target.log_density(points, out)?;
    finish(points, out, target.dim())
}

/// As [`evaluate`], with the gradient, which must be finite; where the density is zero it is not looked at, and
/// becomes zero.
pub(crate) fn evaluate_with_gradient(
    target: &dyn Differentiable,
    dim: usize,
    points: &[f32],
    out: &mut Vec<f64>,
    gradient: &mut Vec<f32>,
) -> Result<(), TargetError> {
    reset(out, points.len() / dim, f64::NAN);
    reset(gradient, points.len(), f32::NAN);
    target.log_density_and_gradient(points, out, gradient)?;
    finish(points, out, dim)?;
    for (slope, density) in gradient.chunks_exact_mut(dim).zip(&*out) {
        if *density <= NOWHERE {
            slope.fill(0.0);
        }
    }
    match gradient.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => Err(TargetError::Gradient {
            value: gradient[place],
            coordinate: place % dim,
            point: points[place / dim * dim..][..dim].to_vec(),
        }),
    }
}

fn reset<Number: Clone>(values: &mut Vec<Number>, length: usize, value: Number) {
    values.clear();
    values.resize(length, value);
}

fn finish(points: &[f32], out: &mut [f64], dim: usize) -> Result<(), TargetError> {
    check_log_density(points, out, dim)?;
    for value in out {
        *value = value.max(NOWHERE);
    }
    Ok(())
}

//! Neal's funnel: a Gaussian whose first coordinate is the log variance of all the others.

use std::f64::consts::TAU;

use super::{Differentiable, Drawable, Target, TargetError, check_shape, saturate};
use crate::stream::{Address, Stream};

/// x₀ ~ N(0, v), x_i | x₀ ~ N(0, e^{x₀}) for i = 1 … d−1; normalised, so log Z = 0:
///
///   log p(x) = −½ (x₀²/v + log 2πv) − ½ (d−1) (x₀ + log 2π) − ½ e^{−x₀} S,  S = Σ x_i²,
///   ∂₀ log p = −x₀/v − ½ (d−1) + ½ e^{−x₀} S,  ∂_i log p = −e^{−x₀} x_i.
///
/// The precision e^{−x₀} spans more than single precision holds, so the arithmetic is double; answers
/// beyond the range of `f32` stop at its ends. There is one mode, so none are listed.
///
/// ```
/// use ebbtide::target::{Funnel, FunnelError, Target};
///
/// let mut value = [0.0];
/// Funnel::easy().log_density(&[0.0; 10], &mut value)?;
/// assert!((value[0] + 5.0 * std::f64::consts::TAU.ln()).abs() < 1e-5);
///
/// // With v = 9 the density at the origin is a third of that.
/// for funnel in [Funnel::hard(), Funnel::new(10, 9.0)?] {
///     let mut third = [0.0];
///     funnel.log_density(&[0.0; 10], &mut third)?;
///     assert!((value[0] - third[0] - 3.0_f64.ln()).abs() < 1e-12);
/// }
/// assert_eq!(Funnel::new(1, 9.0).unwrap_err(), FunnelError::Dimension(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Funnel {
    dim: usize,
    variance: f64,
}

/// Why a funnel could not be made.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FunnelError {
    /// Too few coordinates.
    #[error("a funnel has at least 2 dimensions, not {0}")]
    Dimension(usize),
    /// The variance of x₀ is not a positive, finite number.
    #[error("the variance of a funnel's first coordinate is {0}; it must be positive and finite")]
    Variance(f64),
}

impl Funnel {
    /// A funnel of `dim` ≥ 2 coordinates with v = `variance`.
    pub fn new(dim: usize, variance: f64) -> Result<Self, FunnelError> {
        if dim < 2 {
            return Err(FunnelError::Dimension(dim));
        }
        if !(variance.is_normal() && variance > 0.0) {
            return Err(FunnelError::Variance(variance));
        }
        Ok(Self { dim, variance })
    }

    /// Easy Funnel: ten coordinates, v = 1.
    pub fn easy() -> Self {
        Self { dim: 10, variance: 1.0 }
    }

    /// Hard Funnel: ten coordinates, v = 9.
    pub fn hard() -> Self {
        Self { dim: 10, variance: 9.0 }
    }

    /// e^{−x₀} and ½ e^{−x₀} S of one point.
    fn precision_and_energy(&self, point: &[f32]) -> (f64, f64) {
        // Finite for every x₀, so that on the axis (S = 0) the energy is 0 and not ∞ · 0.
        let precision = (-f64::from(point[0])).min(700.0).exp();
        let squares: f64 = point[1..].iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        (precision, 0.5 * precision * squares)
    }

    /// log p of one point, given ½ e^{−x₀} S.
    fn log_density_at(&self, first: f64, energy: f64) -> f64 {
        let others = (self.dim - 1) as f64;
        let log_prior = -0.5 * (first * first / self.variance + (TAU * self.variance).ln());
        // Finite in the deepest throat: as low as it may be, it is not a density of zero.
        (log_prior - 0.5 * others * (first + TAU.ln()) - energy).max(f64::MIN)
    }
}

impl Target for Funnel {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, None)?;
        for (point, value) in points.chunks_exact(self.dim).zip(out) {
            let (_, energy) = self.precision_and_energy(point);
            *value = self.log_density_at(f64::from(point[0]), energy);
        }
        Ok(())
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn drawable(&self) -> Option<&dyn Drawable> {
        Some(self)
    }

    fn log_z(&self) -> Option<f64> {
        Some(0.0)
    }
}

impl Differentiable for Funnel {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, Some(gradient))?;
        let rows = points.chunks_exact(self.dim).zip(gradient.chunks_exact_mut(self.dim));
        for ((point, gradient), value) in rows.zip(out) {
            let first = f64::from(point[0]);
            let (precision, energy) = self.precision_and_energy(point);
            *value = self.log_density_at(first, energy);
            gradient[0] = saturate(-first / self.variance - 0.5 * (self.dim - 1) as f64 + energy);
            for (slope, &x) in gradient[1..].iter_mut().zip(&point[1..]) {
                *slope = saturate(-precision * f64::from(x));
            }
        }
        Ok(())
    }
}

impl Funnel {
    fn draw_one(&self, stream: &mut Stream, point: &mut [f32]) {
        let Some((first, others)) = point.split_first_mut() else { return };
        let x = self.variance.sqrt() * stream.normal_f64();
        *first = x as f32;
        let deviation = (0.5 * x).exp();
        for value in others {
            *value = (deviation * stream.normal_f64()) as f32;
        }
    }
}

impl Drawable for Funnel {
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
        for (row, point) in points.chunks_exact_mut(self.dim).enumerate() {
            self.draw_one(&mut address.stream(row), point);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_throat_stays_finite() {
        for point in [[-1e4, 0.0], [-200.0, 1.0], [-1e4, 1e30]] {
            let (mut value, mut gradient) = ([0.0], [0.0; 2]);
            let funnel = Funnel::new(2, 9.0).unwrap();
            funnel.log_density_and_gradient(&point, &mut value, &mut gradient).unwrap();
            assert!(value[0].is_finite() && gradient.iter().all(|slope| slope.is_finite()));
        }
    }

    #[test]
    fn impossible_funnels_are_refused() {
        assert_eq!(Funnel::new(1, 1.0).unwrap_err(), FunnelError::Dimension(1));
        assert_eq!(Funnel::new(2, 0.0).unwrap_err(), FunnelError::Variance(0.0));
        assert!(matches!(Funnel::new(2, f64::NAN), Err(FunnelError::Variance(_))));
        assert!(matches!(Funnel::new(2, f64::INFINITY), Err(FunnelError::Variance(_))));
    }
}

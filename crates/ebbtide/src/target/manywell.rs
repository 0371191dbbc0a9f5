//! Manywell: a product of double wells, plain or distorted.

use super::data::{self, MANYWELL_ROWS};
use super::well::DoubleWell;
use super::{Differentiable, Drawable, Modes, Target, TargetError, check_shape, saturate};
use crate::stream::{Address, Stream};

/// A product of d/2 double wells over the pairs (x_{2i−1}, x_{2i}), unnormalised:
///
///   log density = Σ_i −a_{i1} x_{2i−1}⁴ + 6 a_{i2} x_{2i−1}² + ½ a_{i3} x_{2i−1} − ½ a_{i4} x_{2i}²,
///
/// with a = 1 for the plain Manywell and fixed draws from U(0.75, 1.25) for the Distorted one. log Z is a
/// sum of one-dimensional quadratures and Gaussian constants; exact draws invert the distribution function
/// of x_{2i−1} and scale a normal for x_{2i}.
///
/// Up to dimension 8 the modes are listed: the sign patterns of the d/2 double-well coordinates, at most 16.
/// Beyond that the list, 2^{d/2} long, would be longer than any sample, and there is none.
///
/// ```
/// use ebbtide::target::{Manywell, ManywellError, Target};
///
/// let log_z = Manywell::new(32)?.log_z().expect("known");
/// assert!((log_z - 164.695675).abs() < 1e-6);
///
/// let small = Manywell::distorted(4)?;
/// let modes = small.modes().expect("listed up to dimension 8");
/// assert_eq!(modes.mode_of(&[1.7, 0.0, -1.7, 0.0]), Some(0b01)); // the first well right, the second left
/// assert!((modes.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// assert_eq!(Manywell::distorted(34).unwrap_err(), ManywellError::TooLarge { dim: 34, most: 32 });
/// # Ok::<(), ManywellError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Manywell {
    dim: usize,
    /// One well for all pairs, or one for each.
    wells: Vec<DoubleWell>,
    modes: Option<SignPatterns>,
}

/// Why a Manywell could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManywellError {
    /// The coordinates do not pair up.
    #[error("a Manywell has an even number of dimensions, at least 2; not {0}")]
    Dimension(usize),
    /// There are no coefficients for so many wells.
    #[error("the Distorted Manywell has coefficients for up to {most} dimensions, not {dim}")]
    TooLarge {
        /// The dimension asked for.
        dim: usize,
        /// The largest there is.
        most: usize,
    },
}

/// The largest dimension whose modes are listed.
const MOST_LISTED: usize = 8;

impl Manywell {
    /// The plain Manywell in an even dimension; the paper's is 32.
    pub fn new(dim: usize) -> Result<Self, ManywellError> {
        Self::with_wells(dim, vec![DoubleWell::new([1.0; 4])])
    }

    /// The Distorted Manywell in an even dimension up to the paper's 32, using the first d/2 wells.
    pub fn distorted(dim: usize) -> Result<Self, ManywellError> {
        let most = 2 * MANYWELL_ROWS;
        if dim > most {
            return Err(ManywellError::TooLarge { dim, most });
        }
        Self::with_wells(
            dim,
            data::manywell_distortion().into_iter().take(dim / 2).map(DoubleWell::new).collect(),
        )
    }

    fn with_wells(dim: usize, wells: Vec<DoubleWell>) -> Result<Self, ManywellError> {
        if dim == 0 || !dim.is_multiple_of(2) {
            return Err(ManywellError::Dimension(dim));
        }
        let modes = (dim <= MOST_LISTED).then(|| SignPatterns::new(wells.iter().cycle().take(dim / 2)));
        Ok(Self { dim, wells, modes })
    }

    /// The pairs of a point with their wells.
    fn pairs<'a>(&'a self, point: &'a [f32]) -> impl Iterator<Item = (&'a DoubleWell, f64, f64)> {
        let pairs = point.chunks_exact(2).map(|pair| (f64::from(pair[0]), f64::from(pair[1])));
        self.wells.iter().cycle().zip(pairs).map(|(well, (x, y))| (well, x, y))
    }
}

impl Default for Manywell {
    /// The paper's Manywell, in 32 dimensions.
    fn default() -> Self {
        Self::new(32).expect("32 is even")
    }
}

impl Target for Manywell {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, None)?;
        for (point, value) in points.chunks_exact(self.dim).zip(out) {
            *value = self.pairs(point).map(|(well, x, y)| well.log_density(x, y)).sum();
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
        let rounds = self.dim / 2 / self.wells.len();
        Some(rounds as f64 * self.wells.iter().map(DoubleWell::log_z).sum::<f64>())
    }

    fn modes(&self) -> Option<&dyn Modes> {
        self.modes.as_ref().map(|modes| modes as &dyn Modes)
    }
}

impl Differentiable for Manywell {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, Some(gradient))?;
        let rows = points.chunks_exact(self.dim).zip(gradient.chunks_exact_mut(self.dim));
        for ((point, gradient), value) in rows.zip(out) {
            let mut sum = 0.0;
            for ((well, x, y), slope) in self.pairs(point).zip(gradient.chunks_exact_mut(2)) {
                sum += well.log_density(x, y);
                let (along_x, along_y) = well.gradient(x, y);
                slope.copy_from_slice(&[saturate(along_x), saturate(along_y)]);
            }
            *value = sum;
        }
        Ok(())
    }
}

impl Manywell {
    fn draw_one(&self, stream: &mut Stream, point: &mut [f32]) {
        for (well, pair) in self.wells.iter().cycle().zip(point.chunks_exact_mut(2)) {
            pair[0] = well.quantile(stream.uniform()) as f32;
            pair[1] = (well.valley_deviation() * stream.normal_f64()) as f32;
        }
    }
}

impl Drawable for Manywell {
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
        for (row, point) in points.chunks_exact_mut(self.dim).enumerate() {
            self.draw_one(&mut address.stream(row), point);
        }
        Ok(())
    }
}

/// The modes of a small Manywell: bit i of a mode's number is set where x_{2i−1} ≥ 0, i from 0.
///
/// The wells are independent, so a mode's weight is a product of the shares of left and right halves. The
/// patterns divide the whole space: every point without NaN belongs to a mode.
#[derive(Clone, Debug)]
struct SignPatterns {
    weights: Vec<f64>,
}

impl SignPatterns {
    fn new<'a>(wells: impl Iterator<Item = &'a DoubleWell>) -> Self {
        let mut weights = vec![1.0];
        for left in wells.map(DoubleWell::left_share) {
            let right_half: Vec<f64> = weights.iter().map(|weight| weight * (1.0 - left)).collect();
            weights.iter_mut().for_each(|weight| *weight *= left);
            weights.extend(right_half);
        }
        Self { weights }
    }
}

impl Modes for SignPatterns {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn mode_of(&self, point: &[f32]) -> Option<usize> {
        let wells = self.weights.len().ilog2() as usize;
        if point.len() != 2 * wells || point.iter().any(|x| x.is_nan()) {
            return None;
        }
        let bits = point.chunks_exact(2).enumerate().map(|(i, pair)| usize::from(pair[0] >= 0.0) << i);
        Some(bits.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused() {
        assert_eq!(Manywell::new(0).unwrap_err(), ManywellError::Dimension(0));
        assert_eq!(Manywell::new(7).unwrap_err(), ManywellError::Dimension(7));
        assert_eq!(Manywell::distorted(0).unwrap_err(), ManywellError::Dimension(0));
        assert_eq!(Manywell::distorted(5).unwrap_err(), ManywellError::Dimension(5));
        assert_eq!(Manywell::distorted(34).unwrap_err(), ManywellError::TooLarge { dim: 34, most: 32 });
    }

    #[test]
    fn modes_are_the_sign_patterns_and_their_weights_multiply() {
        let two_wells = Manywell::distorted(4).unwrap();
        let modes = two_wells.modes().unwrap();
        let [first, second] = [&two_wells.wells[0], &two_wells.wells[1]].map(DoubleWell::left_share);
        assert!((modes.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(modes.mode_of(&[1.7, 0.0, -1.7, 0.0]), Some(1));
        assert!((modes.weights()[1] - (1.0 - first) * second).abs() < 1e-12);
        assert_eq!(modes.mode_of(&[-1.7, 0.0, 1.7, f32::NAN]), None);
        assert_eq!(modes.mode_of(&[-1.7, 0.0]), None);
        assert_eq!(Manywell::new(8).unwrap().modes().unwrap().weights().len(), 16);
        assert!(Manywell::new(10).unwrap().modes().is_none());
    }

    #[test]
    fn far_points_keep_a_value_and_a_finite_gradient() {
        let (mut value, mut gradient) = ([0.0], [0.0; 2]);
        let well = Manywell::new(2).unwrap();
        well.log_density_and_gradient(&[3e38, -3e38], &mut value, &mut gradient).unwrap();
        assert!(value[0] < -1e150);
        assert_eq!(gradient[0], f32::MIN);
    }
}

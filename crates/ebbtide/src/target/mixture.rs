//! Gaussian mixtures with equal weights.

use super::cholesky::{factorise, invert_lower};
use super::{Differentiable, Drawable, Modes, Target, TargetError, check_shape};
use crate::stream::{Address, Stream};

/// A mixture of K Gaussians of equal weight, normalised (log Z = 0):
///
///   p(x) = 1/K Σ_k N(x; μ_k, C_k),  log p(x) = log Σ_k exp(c_k − ½ |W_k (x − μ_k)|²),
///
/// where W_k is the inverse of the lower Cholesky factor of C_k, so that W_k (x − μ_k) ~ N(0, I) under
/// component k, and c_k = −log K − d/2 log 2π + log det W_k. With the responsibilities r_k(x), the terms
/// of that sum over their total,
///
///   ∇ log p(x) = −Σ_k r_k W_kᵀ W_k (x − μ_k).
///
/// Sixteen points are evaluated side by side in single precision. The error of log p is a few parts in
/// 10⁷ of its size, and a point has the same value in any batch and on any machine's vector units.
///
/// ```
/// use ebbtide::target::{Mixture, Target};
///
/// let pair = Mixture::isotropic(1, &[-3.0, 3.0], 0.5)?;
/// let mut value = [0.0];
/// pair.log_density(&[3.0], &mut value)?;
/// assert!((value[0] - (0.5 / std::f64::consts::PI.sqrt()).ln()).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Covariances may differ, and a point belongs to the component that it is nearest to by them:
///
/// ```
/// use ebbtide::target::{Mixture, MixtureError, Modes};
///
/// let lying_and_standing = [4.0, 0.0, 0.0, 0.25, 0.25, 0.0, 0.0, 4.0];
/// let cross = Mixture::full(2, &[0.0; 4], &lying_and_standing)?;
/// assert_eq!([cross.mode_of(&[3.0, 0.0]), cross.mode_of(&[0.0, 3.0])], [Some(0), Some(1)]);
/// assert_eq!(cross.mode_of(&[3.0, 3.0]), None); // far from both
///
/// let not_positive = Mixture::full(2, &[0.0; 2], &[1.0, 2.0, 2.0, 1.0]);
/// assert_eq!(not_positive.unwrap_err(), MixtureError::Covariance { component: 0 });
/// # Ok::<(), MixtureError>(())
/// ```
///
/// Those of the paper:
///
/// ```
/// use ebbtide::target::{Gmm40Deviation, Mixture, Modes, Target};
///
/// let grids = [(Mixture::gmm25(), 25), (Mixture::distorted_gmm25(0.1)?, 25), (Mixture::gmm125(), 125)];
/// let scattered = (Mixture::gmm40(Gmm40Deviation::Unit), 40);
/// for (mixture, components) in grids.into_iter().chain([scattered]) {
///     assert_eq!(mixture.components(), components);
///     let mut means = mixture.means().chunks_exact(mixture.dim()).enumerate();
///     assert!(means.all(|(component, mean)| mixture.mode_of(mean) == Some(component)));
/// }
/// # Ok::<(), ebbtide::target::MixtureError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mixture {
    pub(super) dim: usize,
    /// μ, K × d by rows.
    pub(super) means: Vec<f32>,
    pub(super) spread: Spread,
    weights: Vec<f64>,
}

/// The covariances of a mixture, in the forms that evaluation and drawing want.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    /// C_k = s² I for all components.
    Isotropic { deviation: f64, precision: f32, constant: f32 },
    /// One covariance a component: its Cholesky factor, W and c.
    Full { cholesky: Vec<f64>, whitening: Vec<f32>, constants: Vec<f32> },
}

/// Why a mixture could not be made.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MixtureError {
    /// The means do not come in rows of `dim` numbers, or there are none.
    #[error("{length} numbers are not one or more means of {dim} coordinates each")]
    Means {
        /// How many numbers were given.
        length: usize,
        /// The dimension asked for.
        dim: usize,
    },
    /// The covariances are not one d × d matrix a component.
    #[error("{length} numbers were given as covariances; {components} matrices of {dim} × {dim} are needed")]
    Covariances {
        /// How many numbers were given.
        length: usize,
        /// How many matrices are needed.
        components: usize,
        /// The side of each.
        dim: usize,
    },
    /// A mean is not a finite number.
    #[error("the mean of component {component} is not finite")]
    Mean {
        /// The component, from 0.
        component: usize,
    },
    /// The common variance is not positive, or out of the reach of `f32`.
    #[error("the variance is {0}; it must be a number from 1e-30 to 1e30")]
    Variance(f64),
    /// A covariance matrix is not symmetric and positive definite, or too nearly singular for `f32`.
    #[error("the covariance of component {component} is not symmetric and positive definite")]
    Covariance {
        /// The component, from 0.
        component: usize,
    },
}

impl Mixture {
    /// Components with covariance `variance` · I. `means` is K × dim by rows.
    pub fn isotropic(dim: usize, means: &[f64], variance: f64) -> Result<Self, MixtureError> {
        let components = count_components(dim, means)?;
        // Single precision must hold the precision 1/s².
        if !(1e-30..=1e30).contains(&variance) {
            return Err(MixtureError::Variance(variance));
        }
        let spread = Spread::Isotropic {
            deviation: variance.sqrt(),
            precision: variance.recip() as f32,
            constant: log_constant(components, dim, -0.5 * dim as f64 * variance.ln()) as f32,
        };
        Ok(Self::assemble(dim, means, spread))
    }

    /// Components with a covariance matrix each. `means` is K × dim by rows, `covariances` K × dim × dim.
    pub fn full(dim: usize, means: &[f64], covariances: &[f64]) -> Result<Self, MixtureError> {
        let components = count_components(dim, means)?;
        let length = covariances.len();
        if dim.checked_mul(dim).and_then(|size| size.checked_mul(components)) != Some(length) {
            return Err(MixtureError::Covariances { length, components, dim });
        }
        let mut cholesky = Vec::with_capacity(length);
        let mut whitening = Vec::with_capacity(length);
        let mut constants = Vec::with_capacity(components);
        for (component, covariance) in covariances.chunks_exact(dim * dim).enumerate() {
            let refused = MixtureError::Covariance { component };
            let factor = factorise(dim, covariance).ok_or(refused)?;
            let log_det: f64 = (0..dim).map(|i| factor[i * dim + i].ln()).sum();
            whitening.extend(invert_lower(dim, &factor).into_iter().map(|value| value as f32));
            if !whitening[component * dim * dim..].iter().all(|value| value.is_finite()) {
                return Err(refused);
            }
            constants.push(log_constant(components, dim, -log_det) as f32);
            cholesky.extend(factor);
        }
        Ok(Self::assemble(dim, means, Spread::Full { cholesky, whitening, constants }))
    }

    fn assemble(dim: usize, means: &[f64], spread: Spread) -> Self {
        let components = means.len() / dim;
        Self {
            dim,
            means: means.iter().map(|&value| value as f32).collect(),
            spread,
            weights: vec![1.0 / components as f64; components],
        }
    }

    /// K, the number of components.
    pub fn components(&self) -> usize {
        self.weights.len()
    }

    /// μ_k of every component, K × dim by rows.
    pub fn means(&self) -> &[f32] {
        &self.means
    }

    /// Mahalanobis distance, squared, of a point from the mean of component k.
    fn distance_squared(&self, k: usize, point: &[f32]) -> f32 {
        let d = self.dim;
        let mean = &self.means[k * d..][..d];
        let from_mean = |j: usize| point[j] - mean[j];
        match &self.spread {
            Spread::Isotropic { precision, .. } => {
                precision * (0..d).map(|j| from_mean(j).powi(2)).sum::<f32>()
            }
            Spread::Full { whitening, .. } => {
                let rows = whitening[k * d * d..][..d * d].chunks_exact(d);
                rows.map(|row| (0..d).map(|j| row[j] * from_mean(j)).sum::<f32>().powi(2)).sum()
            }
        }
    }
}

/// K of `means`, given as K × dim finite numbers.
fn count_components(dim: usize, means: &[f64]) -> Result<usize, MixtureError> {
    let length = means.len();
    if dim == 0 || length == 0 || !length.is_multiple_of(dim) {
        return Err(MixtureError::Means { length, dim });
    }
    match means.iter().position(|value| !(*value as f32).is_finite()) {
        Some(place) => Err(MixtureError::Mean { component: place / dim }),
        None => Ok(length / dim),
    }
}

/// −log K − d/2 log 2π + log det W.
fn log_constant(components: usize, dim: usize, log_det_whitening: f64) -> f64 {
    log_det_whitening - (components as f64).ln() - 0.5 * dim as f64 * std::f64::consts::TAU.ln()
}

impl Target for Mixture {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, None)?;
        self.evaluate(points, out, &mut []);
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

    fn modes(&self) -> Option<&dyn Modes> {
        Some(self)
    }
}

impl Differentiable for Mixture {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, Some(gradient))?;
        self.evaluate(points, out, gradient);
        Ok(())
    }
}

impl Mixture {
    fn draw_one(&self, stream: &mut Stream, point: &mut [f32]) {
        let d = self.dim;
        let k = stream.below(self.components());
        let mean = &self.means[k * d..][..d];
        stream.fill_normal(point);
        // μ + L z in place of z: row i of L asks for z up to i only, so the last row goes first.
        for (i, &mean) in mean.iter().enumerate().take(point.len()).rev() {
            let step: f64 = match &self.spread {
                Spread::Isotropic { deviation, .. } => deviation * f64::from(point[i]),
                Spread::Full { cholesky, .. } => {
                    let row = &cholesky[(k * d + i) * d..][..=i];
                    row.iter().zip(&*point).map(|(factor, &noise)| factor * f64::from(noise)).sum()
                }
            };
            point[i] = (f64::from(mean) + step) as f32;
        }
    }
}

impl Drawable for Mixture {
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
        for (row, point) in points.chunks_exact_mut(self.dim).enumerate() {
            self.draw_one(&mut address.stream(row), point);
        }
        Ok(())
    }
}

/// The components are the modes: sensible where they stand well apart.
impl Modes for Mixture {
    fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The component nearest in Mahalanobis distance, if that distance is at most √d + 3.
    ///
    /// |z| of a standard normal z gathers around √d at any d; less than one exact draw in 10,000 lies
    /// beyond √d + 3 and goes unclaimed. On 25GMM the radius is 4.4 deviations, 2.4 where neighbours are 5
    /// apart: a sample left on the bridge between two modes counts for neither.
    fn mode_of(&self, point: &[f32]) -> Option<usize> {
        if point.len() != self.dim {
            return None;
        }
        let radius = (self.dim as f32).sqrt() + 3.0;
        let distances = (0..self.components()).map(|k| (k, self.distance_squared(k, point)));
        distances
            .filter(|(_, square)| *square <= radius * radius)
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
            .map(|(k, _)| k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_mixture_with_round_components_is_an_isotropic_one() {
        let means = [0.0, 1.0, -2.0, 3.0, 0.5, 0.5];
        let round = [0.3, 0.0, 0.0, 0.3].repeat(3);
        let full = Mixture::full(2, &means, &round).unwrap();
        let isotropic = Mixture::isotropic(2, &means, 0.3).unwrap();
        let points: Vec<f32> = (0..74).map(|i| (i as f32 * 0.7).sin() * 4.0).collect();
        let answers = |mixture: &Mixture| {
            let (mut values, mut gradient) = ([0.0; 37], [0.0; 74]);
            mixture.log_density_and_gradient(&points, &mut values, &mut gradient).unwrap();
            values.into_iter().chain(gradient.map(f64::from)).collect::<Vec<_>>()
        };
        for (a, b) in answers(&full).into_iter().zip(answers(&isotropic)) {
            assert!((a - b).abs() < 1e-5 * (1.0 + b.abs()), "{a} {b}");
        }
    }

    #[test]
    fn far_points_keep_a_value_and_a_way_home_and_nan_shows() {
        let mixture = Mixture::isotropic(2, &[0.0, 0.0, 5.0, 0.0], 0.3).unwrap();
        let (mut value, mut gradient) = ([0.0; 2], [0.0; 4]);
        let points = [1e25, 0.0, f32::NAN, 0.0];
        mixture.log_density_and_gradient(&points, &mut value, &mut gradient).unwrap();
        assert!(value[0] < -1e30 && gradient[0] < -1e24 && gradient[0].is_finite());
        assert!(value[1].is_nan());
    }

    #[test]
    fn large_mixtures_are_evaluated_too() {
        for count in [1000, 3000] {
            let means: Vec<f64> = (0..count).map(|k| 20.0 * f64::from(k)).collect();
            let mixture = Mixture::isotropic(1, &means, 1.0).unwrap();
            let mut value = [0.0];
            mixture.log_density(&[400.0], &mut value).unwrap();
            let exact = -(f64::from(count).ln()) - 0.5 * std::f64::consts::TAU.ln();
            assert!((value[0] - exact).abs() < 1e-5);
            assert_eq!(mixture.mode_of(&[401.0]), Some(20));
            assert_eq!(mixture.mode_of(&[410.0]), None);
            assert_eq!(mixture.mode_of(&[f32::NAN]), None);
        }
    }

    #[test]
    fn wrong_parts_are_refused_by_name() {
        let means = [0.0, 0.0, 1.0];
        assert_eq!(
            Mixture::isotropic(2, &means, 1.0).unwrap_err(),
            MixtureError::Means { length: 3, dim: 2 }
        );
        assert!(matches!(Mixture::isotropic(0, &[], 1.0), Err(MixtureError::Means { .. })));
        assert_eq!(Mixture::isotropic(3, &means, -1.0).unwrap_err(), MixtureError::Variance(-1.0));
        assert!(matches!(Mixture::isotropic(3, &means, f64::NAN), Err(MixtureError::Variance(_))));
        assert_eq!(
            Mixture::isotropic(1, &[0.0, f64::NAN], 1.0).unwrap_err(),
            MixtureError::Mean { component: 1 }
        );
        assert!(matches!(
            Mixture::full(3, &means, &[1.0]),
            Err(MixtureError::Covariances { length: 1, components: 1, dim: 3 })
        ));
        for matrix in [[1.0, 0.5, 0.4, 1.0], [1.0, 2.0, 2.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0]] {
            assert_eq!(
                Mixture::full(2, &means[..2], &matrix).unwrap_err(),
                MixtureError::Covariance { component: 0 }
            );
        }
    }
}

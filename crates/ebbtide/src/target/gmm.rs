//! The Gaussian mixtures of the paper: 25GMM and its distortions, 125GMM, 40GMM.

use super::data;
use super::mixture::{Mixture, MixtureError};

/// The coordinates of the means of 25GMM and 125GMM.
const GRID: [f64; 5] = [-10.0, -5.0, 0.0, 5.0, 10.0];

/// The variance of every component of 25GMM and 125GMM.
const VARIANCE: f64 = 0.3;

/// The standard deviation of the components of 40GMM.
///
/// ```
/// use ebbtide::target::{Gmm40Deviation, Mixture};
///
/// assert_eq!(Gmm40Deviation::default().value(), 1.0);
/// assert!((Gmm40Deviation::Softplus.value() - 1.3132617).abs() < 1e-7);
/// let [paper, wider] = [Gmm40Deviation::Unit, Gmm40Deviation::Softplus].map(Mixture::gmm40);
/// assert_eq!(paper.means(), wider.means());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gmm40Deviation {
    /// 1, as the paper says.
    #[default]
    Unit,
    /// log(1 + e) = 1.3132617, as where the means come from.
    Softplus,
}

impl Gmm40Deviation {
    /// The standard deviation itself.
    pub fn value(self) -> f64 {
        match self {
            Self::Unit => 1.0,
            Self::Softplus => std::f64::consts::E.ln_1p(),
        }
    }
}

impl Mixture {
    /// 25GMM: means on {−10, −5, 0, 5, 10}², first coordinate slowest, covariance 0.3 I.
    pub fn gmm25() -> Self {
        Self::isotropic(2, grid::<2>().as_flattened(), VARIANCE).expect("the parts are constants that fit")
    }

    /// 125GMM: means on {−10, −5, 0, 5, 10}³, covariance 0.3 I.
    pub fn gmm125() -> Self {
        Self::isotropic(3, grid::<3>().as_flattened(), VARIANCE).expect("the parts are constants that fit")
    }

    /// 25GMM with the covariance of component i distorted to
    ///
    ///   C_i = A_iᵀ A_i,  A_i = √0.3 I + d [[ξ_i1, ξ_i2], [ξ_i3, ξ_i4]],
    ///
    /// ξ fixed standard normal draws. The paper's d is 0.05 (Slightly Distorted) or 0.1 (Distorted); a d
    /// that makes some C_i singular, or is not finite, is refused.
    pub fn distorted_gmm25(d: f64) -> Result<Self, MixtureError> {
        let root = VARIANCE.sqrt();
        let covariances: Vec<[f64; 4]> = (data::gmm25_distortion().into_iter())
            .map(|xi| {
                let [a, b, c, e] = [root + d * xi[0], d * xi[1], d * xi[2], root + d * xi[3]];
                let across = a * b + c * e;
                [a * a + c * c, across, across, b * b + e * e]
            })
            .collect();
        Self::full(2, grid::<2>().as_flattened(), covariances.as_flattened())
    }

    /// 40GMM: 40 means spread uniformly over [−40, 40]².
    pub fn gmm40(deviation: Gmm40Deviation) -> Self {
        let means = data::gmm40_means();
        Self::isotropic(2, means.as_flattened(), deviation.value().powi(2))
            .expect("the parts are constants that fit")
    }
}

/// The Cartesian power of [`GRID`], first coordinate slowest.
fn grid<const D: usize>() -> Vec<[f64; D]> {
    let count = GRID.len().pow(D as u32);
    let digit = |index: usize, place: usize| index / GRID.len().pow((D - 1 - place) as u32) % GRID.len();
    (0..count).map(|index| std::array::from_fn(|place| GRID[digit(index, place)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_counts_in_order() {
        assert_eq!(grid::<2>()[..3], [[-10.0, -10.0], [-10.0, -5.0], [-10.0, 0.0]]);
        assert_eq!(grid::<3>()[124], [10.0, 10.0, 10.0]);
    }

    #[test]
    fn sizes_are_as_named() {
        assert_eq!(Mixture::gmm25().components(), 25);
        assert_eq!(Mixture::gmm125().components(), 125);
        assert_eq!(Mixture::gmm40(Gmm40Deviation::default()).components(), 40);
        assert!((Gmm40Deviation::Softplus.value() - 1.3132617).abs() < 1e-7);
    }

    #[test]
    fn no_distortion_is_25gmm_and_an_impossible_one_is_refused() {
        assert_eq!(Mixture::distorted_gmm25(0.0).unwrap().means(), Mixture::gmm25().means());
        assert!(matches!(Mixture::distorted_gmm25(f64::NAN), Err(MixtureError::Covariance { component: 0 })));
    }
}

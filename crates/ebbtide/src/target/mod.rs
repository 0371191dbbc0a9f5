//! What is sampled: a density known up to a constant, and whatever else is known about it.
//!
//! A target with all that may be known:
//!
//! ```
//! use ebbtide::stream::{Address, Purpose};
//! use ebbtide::target::{Differentiable, Drawable, Modes, Target, TargetError};
//!
//! /// e^{−x²/2}; negative and positive numbers count as its modes.
//! struct Bell;
//!
//! impl Target for Bell {
//!     fn dim(&self) -> usize {
//!         1
//!     }
//!     fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
//!         out.iter_mut().zip(points).for_each(|(out, x)| *out = -0.5 * f64::from(*x).powi(2));
//!         Ok(())
//!     }
//!     fn differentiable(&self) -> Option<&dyn Differentiable> {
//!         Some(self)
//!     }
//!     fn drawable(&self) -> Option<&dyn Drawable> {
//!         Some(self)
//!     }
//!     fn log_z(&self) -> Option<f64> {
//!         Some(0.5 * std::f64::consts::TAU.ln())
//!     }
//!     fn modes(&self) -> Option<&dyn Modes> {
//!         Some(self)
//!     }
//! }
//!
//! impl Differentiable for Bell {
//!     fn log_density_and_gradient(
//!         &self,
//!         points: &[f32],
//!         out: &mut [f64],
//!         gradient: &mut [f32],
//!     ) -> Result<(), TargetError> {
//!         gradient.iter_mut().zip(points).for_each(|(slope, x)| *slope = -x);
//!         self.log_density(points, out)
//!     }
//! }
//!
//! impl Drawable for Bell {
//!     fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
//!         points.iter_mut().enumerate().for_each(|(row, x)| *x = address.stream(row).normal());
//!         Ok(())
//!     }
//! }
//!
//! impl Modes for Bell {
//!     fn weights(&self) -> &[f64] {
//!         &[0.5, 0.5]
//!     }
//!     fn mode_of(&self, point: &[f32]) -> Option<usize> {
//!         (!point[0].is_nan()).then_some(usize::from(point[0] >= 0.0))
//!     }
//! }
//!
//! let (mut x, mut values, mut slopes) = ([0.0; 1000], [0.0; 1000], [0.0; 1000]);
//! Bell.draw(Address::new(0, Purpose::ExactDraw, 0), &mut x)?;
//! Bell.log_density_and_gradient(&x, &mut values, &mut slopes)?;
//! // The mean of x · ∇ log p is −1 for each dimension, whatever the density.
//! let mean = x.iter().zip(&slopes).map(|(x, slope)| x * slope).sum::<f32>() / 1000.0;
//! assert!((mean + 1.0).abs() < 0.2);
//! let positive = x.iter().filter(|x| Bell.mode_of(&[**x]) == Some(1)).count() as f64 / 1000.0;
//! assert!((positive - Bell.weights()[1]).abs() < 0.1);
//! # Ok::<(), TargetError>(())
//! ```

mod batch;
mod checked;
mod cholesky;
mod data;
mod formula;
mod funnel;
mod gmm;
mod lanes;
mod latent;
mod manywell;
mod mixture;
mod named;
mod oracle;
mod placement;
mod posterior;
mod well;

pub(crate) use checked::{NOWHERE, check_log_density, evaluate, evaluate_with_gradient};
pub use formula::{Formula, FormulaError, FormulaProblem};
pub use funnel::{Funnel, FunnelError};
pub use gmm::Gmm40Deviation;
pub use latent::Latent;
pub use manywell::{Manywell, ManywellError};
pub use mixture::{Mixture, MixtureError};
pub use named::{NamedTarget, UnknownTarget};
pub use oracle::{Consulted, Oracle};
pub use placement::{Placeable, Placement, PlacementError};
pub use posterior::{
    BrownianMotion, EightSchools, LatticeError, LogisticRegression, Phi4Lattice, Reference, RegressionError,
};

use std::error::Error;
use std::sync::Arc;

use crate::stream::Address;

/// An unnormalised density p(x) ∝ exp(log_density(x)) on R^dim.
///
/// Points are single precision, log densities double: those of a posterior may be large, and only their
/// differences count. All methods are called on the caller's own thread, a whole batch at a time.
///
/// Only `dim` and `log_density` are asked for. Everything else answers `None` unless a target says
/// otherwise, so what a target lacks is a value that can be looked at before anything starts.
///
/// ```
/// use ebbtide::target::{Target, TargetError};
///
/// struct Bowl;
///
/// impl Target for Bowl {
///     fn dim(&self) -> usize {
///         2
///     }
///     fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
///         for (point, value) in points.chunks_exact(2).zip(out) {
///             *value = f64::from(-0.5 * (point[0] * point[0] + point[1] * point[1]));
///         }
///         Ok(())
///     }
/// }
///
/// assert!(Bowl.differentiable().is_none());
/// assert_eq!(Bowl.log_z(), None);
/// ```
pub trait Target: Send + Sync {
    /// The number of coordinates of a point.
    fn dim(&self) -> usize;

    /// log density, up to a constant, of n points: `points` is n × dim by rows, `out` has n places.
    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError>;

    /// The gradient of the log density, where there is one.
    fn differentiable(&self) -> Option<&dyn Differentiable> {
        None
    }

    /// Exact, independent draws, where they can be made.
    fn drawable(&self) -> Option<&dyn Drawable> {
        None
    }

    /// The logarithm of the normalising constant, where it is known.
    fn log_z(&self) -> Option<f64> {
        None
    }

    /// The modes, where they are known.
    fn modes(&self) -> Option<&dyn Modes> {
        None
    }

    /// What its points are decoded into, where they are latents of something else.
    fn latent(&self) -> Option<&dyn Latent> {
        None
    }
}

/// A target whose log density can be differentiated.
pub trait Differentiable: Send + Sync {
    /// As [`Target::log_density`], with ∇ log density of each point in `gradient` (n × dim by rows).
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError>;
}

/// A target that can be sampled exactly.
pub trait Drawable: Send + Sync {
    /// Fills `points` (n × dim by rows) with exact, independent draws; row i takes its randomness from stream i of the
    /// address.
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError>;
}

/// A target whose probability is known to sit in a list of modes.
pub trait Modes: Send + Sync {
    /// The share of the probability in each mode; sums to 1.
    fn weights(&self) -> &[f64];

    /// The mode a point belongs to, or `None` for a point that no mode claims.
    fn mode_of(&self, point: &[f32]) -> Option<usize>;
}

/// Why a target could not be evaluated.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The density itself failed, for a reason of its own.
    #[error("the density could not be evaluated: {0}")]
    Failed(#[source] Arc<dyn Error + Send + Sync>),
    /// The density answered with something no density can have.
    #[error(
        "the log density is {value} at x = {point:?} (row {row} of the batch); it must be a number below +∞"
    )]
    Impossible {
        /// NaN or +∞.
        value: f64,
        /// The row of the batch.
        row: usize,
        /// The offending point.
        point: Vec<f32>,
    },
    /// The gradient has a coordinate that is not finite.
    #[error("the gradient of the log density has {value} in coordinate {coordinate} at x = {point:?}")]
    Gradient {
        /// NaN or ±∞.
        value: f32,
        /// The coordinate.
        coordinate: usize,
        /// The offending point.
        point: Vec<f32>,
    },
}

impl TargetError {
    /// A density's own failure: any error, or a sentence.
    pub fn failed(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(Arc::from(reason.into()))
    }
}

/// Refuses a batch whose slices do not hold the same number of points.
fn check_shape(dim: usize, points: &[f32], out: &[f64], gradient: Option<&[f32]>) -> Result<(), TargetError> {
    let expected = out.len().checked_mul(dim);
    let gradient_length = gradient.map_or(points.len(), <[f32]>::len);
    if expected == Some(points.len()) && points.len() == gradient_length {
        return Ok(());
    }
    Err(TargetError::failed(format!(
        "{} values of points in {dim} dimensions need {dim} coordinates each; there are {} coordinates \
         and room for {gradient_length} of the gradient",
        out.len(),
        points.len(),
    )))
}

/// The nearest number that single precision holds, never infinite; NaN stays NaN.
fn saturate(value: f64) -> f32 {
    value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

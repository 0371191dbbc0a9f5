//! Latents: points that a generator decodes, and what a reward thinks of what comes out.

use super::TargetError;

/// A target whose points are decoded into data, and whose density is a standard normal prior times a reward of the data:
/// log p(z) = log N(z; 0, I) + β log r(g(z)).
///
/// ```
/// use ebbtide::target::{Latent, Target, TargetError};
///
/// /// Two numbers are decoded into their difference, whose exponential is the reward.
/// struct Difference;
///
/// impl Latent for Difference {
///     fn beta(&self) -> f64 {
///         2.0
///     }
///     fn log_reward(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
///         out.iter_mut().zip(self.decode(points)?).for_each(|(out, made)| *out = f64::from(made));
///         Ok(())
///     }
///     fn shape(&self) -> Result<&[usize], TargetError> {
///         Ok(&[1])
///     }
///     fn decode(&self, points: &[f32]) -> Result<Vec<f32>, TargetError> {
///         Ok(points.chunks_exact(2).map(|z| z[1] - z[0]).collect())
///     }
///     fn embed(&self, _: &[f32]) -> Result<Option<Vec<f32>>, TargetError> {
///         Ok(None)
///     }
/// }
///
/// impl Target for Difference {
///     fn dim(&self) -> usize {
///         2
///     }
///     fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
///         self.log_reward(points, out)?;
///         for (z, out) in points.chunks_exact(2).zip(out) {
///             let square = f64::from(z[0]).powi(2) + f64::from(z[1]).powi(2);
///             *out = self.beta() * *out - 0.5 * square - std::f64::consts::TAU.ln();
///         }
///         Ok(())
///     }
///     fn latent(&self) -> Option<&dyn Latent> {
///         Some(self)
///     }
/// }
///
/// // It is e⁴ N(z; (−2, 2), I).
/// let mut value = [0.0];
/// Difference.log_density(&[-2.0, 2.0], &mut value)?;
/// assert!((value[0] - 4.0 + std::f64::consts::TAU.ln()).abs() < 1e-12);
/// # Ok::<(), TargetError>(())
/// ```
pub trait Latent: Send + Sync {
    /// β, by which the log reward counts.
    fn beta(&self) -> f64;

    /// log r(g(z)) of n points (n × dim by rows); `out` has n places.
    fn log_reward(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError>;

    /// The shape of what one point is decoded into.
    fn shape(&self) -> Result<&[usize], TargetError>;

    /// g(z) of n points, one after the other.
    fn decode(&self, points: &[f32]) -> Result<Vec<f32>, TargetError>;

    /// Numbers by which decoded points are compared, as many for each; nothing where there is no network for it.
    fn embed(&self, points: &[f32]) -> Result<Option<Vec<f32>>, TargetError>;
}

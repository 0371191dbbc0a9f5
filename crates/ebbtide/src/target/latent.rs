//! Latents: points that a generator decodes, and what a reward thinks of what comes out.

use super::TargetError;

/// A target whose points are decoded into data, and whose density is a standard normal prior times a reward of the data:
/// log p(z) = log N(z; 0, I) + β log r(g(z)).
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

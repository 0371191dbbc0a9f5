//! What samples of a latent space are worth once they are decoded: their rewards and their diversity, beside those of the prior.

use super::Estimate;
use crate::stream::{Address, Purpose};
use crate::target::{Latent, TargetError};

/// So many samples say how diverse they are, as in the paper.
const COMPARED: usize = 128;

/// Rewards and diversity of samples, and of as many draws from the prior.
///
/// ```
/// use ebbtide::metric::{Rewards, Worth};
/// # use ebbtide::target::{Latent, TargetError};
/// # struct Difference;
/// # impl Latent for Difference {
/// #     fn beta(&self) -> f64 {
/// #         2.0
/// #     }
/// #     fn log_reward(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
/// #         out.iter_mut().zip(self.decode(points)?).for_each(|(out, made)| *out = f64::from(made));
/// #         Ok(())
/// #     }
/// #     fn shape(&self) -> Result<&[usize], TargetError> {
/// #         Ok(&[1])
/// #     }
/// #     fn decode(&self, points: &[f32]) -> Result<Vec<f32>, TargetError> {
/// #         Ok(points.chunks_exact(2).map(|z| z[1] - z[0]).collect())
/// #     }
/// #     fn embed(&self, points: &[f32]) -> Result<Option<Vec<f32>>, TargetError> {
/// #         Ok(Some(points.to_vec()))
/// #     }
/// # }
///
/// // Two numbers are decoded into their difference, which is the log reward; β is 2, and points are their own embeddings.
/// let rewards = Rewards::new(&Difference, &[-2.0, 2.0, -3.0, 3.0], 2, 0, 0)?;
/// let Worth { log_reward, diversity } = rewards.samples;
/// assert_eq!((log_reward.value, log_reward.standard_error), (5.0, 1.0)); // of 4 and 6
/// assert!(diversity.is_some_and(|distance| distance.abs() < 1e-12)); // both in the same direction
/// assert_eq!(rewards.prior_elbo, 2.0 * rewards.prior.log_reward.value);
/// # Ok::<(), TargetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rewards {
    /// Of the samples.
    pub samples: Worth,
    /// Of the prior.
    pub prior: Worth,
    /// β E[log r] under the prior: the ELBO of whoever samples the prior.
    pub prior_elbo: f64,
}

/// What some latents are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The mean log reward.
    pub log_reward: Estimate,
    /// The mean cosine distance between embeddings of the first 128, where there is a network for embeddings.
    pub diversity: Option<f64>,
}

impl Rewards {
    /// Of samples (n × dim by rows, n at least 2); draws from the prior are named by `seed` and `iteration`.
    pub fn new(
        latent: &dyn Latent,
        samples: &[f32],
        dim: usize,
        seed: u64,
        iteration: u64,
    ) -> Result<Self, TargetError> {
        let address = Address::new(seed, Purpose::Prior, iteration);
        let mut draws = vec![0.0; samples.len()];
        for (row, draw) in draws.chunks_exact_mut(dim).enumerate() {
            address.stream(row).fill_normal(draw);
        }
        let prior = Worth::new(latent, &draws, dim)?;
        let prior_elbo = latent.beta() * prior.log_reward.value;
        Ok(Self { samples: Worth::new(latent, samples, dim)?, prior, prior_elbo })
    }
}

impl Worth {
    fn new(latent: &dyn Latent, points: &[f32], dim: usize) -> Result<Self, TargetError> {
        let count = points.len() / dim;
        let mut rewards = vec![0.0; count];
        latent.log_reward(points, &mut rewards)?;
        let compared = count.min(COMPARED);
        let embeddings = latent.embed(&points[..compared * dim])?;
        let diversity = embeddings.map(|embeddings| mean_cosine_distance(&embeddings, compared));
        Ok(Self { log_reward: Estimate::mean(&rewards), diversity })
    }
}

/// The mean of 1 − cos over all pairs of `count` vectors, one after the other. Vectors of length 0 are at a right angle to all others.
///
/// ```
/// use ebbtide::metric::mean_cosine_distance;
///
/// assert_eq!(mean_cosine_distance(&[1.0, 0.0, 0.0, 2.0], 2), 1.0);
/// assert_eq!(mean_cosine_distance(&[1.0, 0.0, 3.0, 0.0, -1.0, 0.0], 3), 4.0 / 3.0);
/// ```
pub fn mean_cosine_distance(vectors: &[f32], count: usize) -> f64 {
    if count < 2 {
        return 0.0;
    }
    let width = vectors.len() / count;
    // Of unit vectors, the squared length of the sum is n + 2 Σ cos over pairs.
    let (mut sum, mut lengths) = (vec![0.0; width], 0.0);
    for vector in vectors.chunks_exact(width.max(1)) {
        let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        if length > 0.0 {
            lengths += 1.0;
            sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += f64::from(*x) / length);
        }
    }
    let square: f64 = sum.iter().map(|x| x * x).sum();
    1.0 - (square - lengths) / (count * (count - 1)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_compared_all_at_once() {
        let (count, width) = (9, 4);
        let mut vectors = vec![0.0; count * width];
        Address::new(3, Purpose::Prior, 0).stream(0).fill_normal(&mut vectors);
        let vector = |row: usize| &vectors[row * width..][..width];
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let mut distances = Vec::new();
        for first in 0..count {
            for second in 0..first {
                let (a, b) = (vector(first), vector(second));
                distances.push(1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt());
            }
        }
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        assert!((mean_cosine_distance(&vectors, count) - mean).abs() < 1e-12);
    }
}

//! An evaluation: draws from a sampler and from its target, and everything that can be said of them.

use super::transport::{TransportError, wasserstein2};
use super::{Bounds, Coverage};
use crate::stream::{Address, Purpose};
use crate::target::{self, NOWHERE, Target, TargetError};
use crate::trajectory::{Sampler, Trajectories};

/// How much to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationOptions {
    /// Trajectories of each kind, and samples for the distance.
    pub samples: usize,
    /// Names the random streams, together with `iteration`.
    pub seed: u64,
    /// When in a training this takes place.
    pub iteration: u64,
    /// Whether to compute the 2-Wasserstein distance, whose cost grows as the cube of `samples`.
    pub transport: bool,
}

impl Default for EvaluationOptions {
    fn default() -> Self {
        Self { samples: 2048, seed: 0, iteration: 0, transport: true }
    }
}

/// What a sampler is worth. What the target cannot offer is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// ELBO, EUBO, log Z and effective sample size.
    pub bounds: Bounds,
    /// 2-Wasserstein distance between samples and exact draws.
    pub wasserstein2: Option<f64>,
    /// The same between two sets of exact draws: what a perfect sampler would get.
    pub wasserstein2_floor: Option<f64>,
    /// How the samples are spread over the modes.
    pub coverage: Option<Coverage>,
    /// The samples themselves, n × dim by rows.
    pub samples: Vec<f32>,
    /// The generated trajectory of the smallest log weight: the one that takes most from the ELBO.
    pub worst_generated: Extreme,
    /// The destroyed trajectory of the largest log weight: the one that adds most to the EUBO, ending where the sampler
    /// hardly ever goes.
    pub worst_destroyed: Option<Extreme>,
}

/// A trajectory that stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct Extreme {
    /// Its log weight.
    pub log_weight: f64,
    /// Where it ends.
    pub point: Vec<f32>,
}

impl Extreme {
    /// The first of the trajectories that `badness` of the log weight is largest for; NaN is worse than any.
    fn worst(log_weights: &[f64], ends: &[f32], dim: usize, badness: fn(f64) -> f64) -> Self {
        let badness = |weight: f64| if weight.is_nan() { f64::INFINITY } else { badness(weight) };
        let rows = log_weights.iter().copied().enumerate();
        let worst = rows.reduce(|worst, row| if badness(row.1) > badness(worst.1) { row } else { worst });
        let (row, log_weight) = worst.expect("at least one trajectory is evaluated");
        Self { log_weight, point: ends[row * dim..(row + 1) * dim].to_vec() }
    }
}

/// Why an evaluation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// No trajectories were asked for.
    #[error("the number of samples to evaluate is 0, but must be at least 1")]
    NoSamples,
    /// The target failed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The distance could not be computed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The sampler was made for another target.
    #[error("the sampler draws points of dimension {sampler}, but the target has dimension {target}")]
    Dimension {
        /// Of the sampler.
        sampler: usize,
        /// Of the target.
        target: usize,
    },
    /// A point left the numbers.
    #[error("{what} {row} is not finite: {point:?}")]
    NotFinite {
        /// A sample or an exact draw.
        what: &'static str,
        /// Its row.
        row: usize,
        /// The point.
        point: Vec<f32>,
    },
}

/// Evaluates a sampler of a target.
///
/// ```
/// use std::sync::Arc;
///
/// use ebbtide::metric::{Evaluation, EvaluationError, EvaluationOptions, Extreme, evaluate};
/// use ebbtide::objective::Method;
/// use ebbtide::target::Mixture;
/// use ebbtide::train::{Config, Trainer};
/// use ebbtide::trajectory::Threads;
///
/// // Before any training, both processes are the Brownian motion that ends in a standard normal: exact for this target.
/// let target = Arc::new(Mixture::isotropic(2, &[0.0, 0.0], 1.0)?);
/// let valid = Config::new(Method::TbTb, 3).validate(target.clone())?;
/// let mut sampler = Trainer::new(valid, &Threads::new(1)?).sampler();
///
/// let options = EvaluationOptions { samples: 64, ..EvaluationOptions::default() };
/// let Evaluation { bounds, samples, worst_generated, .. } = evaluate(&*target, &mut sampler, options)?;
/// let eubo = bounds.eubo.expect("a mixture has exact draws");
/// assert!(bounds.elbo.value.abs() < 1e-4 && eubo.value.abs() < 1e-4);
/// assert!(bounds.importance.effective > 0.9999);
///
/// let Extreme { log_weight, point } = worst_generated;
/// assert!(log_weight.abs() < 1e-4 && samples.chunks(2).any(|sample| sample == point));
///
/// let nothing = evaluate(&*target, &mut sampler, EvaluationOptions { samples: 0, ..options });
/// assert!(matches!(nothing, Err(EvaluationError::NoSamples)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate(
    target: &dyn Target,
    sampler: &mut Sampler,
    options: EvaluationOptions,
) -> Result<Evaluation, EvaluationError> {
    let EvaluationOptions { samples: count, seed, iteration, transport } = options;
    if count == 0 {
        return Err(EvaluationError::NoSamples);
    }
    let dim = target.dim();
    if sampler.model().dim() != dim {
        return Err(EvaluationError::Dimension { sampler: sampler.model().dim(), target: dim });
    }
    let address = |purpose| Address::new(seed, purpose, iteration);
    let trajectories = sampler.generate(count, address(Purpose::EvaluateGenerate));
    let mut samples = Vec::new();
    trajectories.copy_ends(&mut samples);
    finite(&samples, dim, "sample")?;
    let generated = log_weights(target, sampler, &trajectories)?;
    let exact = |purpose| {
        target.drawable().map(|drawable| {
            let mut draws = vec![f32::NAN; count * dim];
            drawable.draw(address(purpose), &mut draws)?;
            finite(&draws, dim, "exact draw")?;
            Ok::<_, EvaluationError>(draws)
        })
    };
    let truth = exact(Purpose::ExactDraw).transpose()?;
    let destroyed = match &truth {
        None => None,
        Some(truth) => {
            let trajectories = sampler.destroy(truth, address(Purpose::EvaluateDestroy));
            Some(log_weights(target, sampler, &trajectories)?)
        }
    };
    let (mut distance, mut floor) = (None, None);
    if let (true, Some(truth)) = (transport, &truth) {
        let again =
            exact(Purpose::ExactDrawAgain).transpose()?.expect("a target that draws once draws again");
        distance = Some(wasserstein2(&samples, truth, dim)?);
        floor = Some(wasserstein2(&again, truth, dim)?);
    }
    Ok(Evaluation {
        bounds: Bounds::new(&generated, destroyed.as_deref()),
        wasserstein2: distance,
        wasserstein2_floor: floor,
        coverage: target.modes().map(|modes| Coverage::new(modes, &samples, dim)),
        worst_generated: Extreme::worst(&generated, &samples, dim, |weight| -weight),
        worst_destroyed: truth
            .zip(destroyed)
            .map(|(truth, weights)| Extreme::worst(&weights, &truth, dim, |weight| weight)),
        samples,
    })
}

/// log density + log p← − log p→ of each trajectory, or −∞ where the density is zero. Target, sampler and trajectories
/// must have one dimension, and the trajectories as many steps as the sampler.
pub fn log_weights(
    target: &dyn Target,
    sampler: &mut Sampler,
    trajectories: &Trajectories,
) -> Result<Vec<f64>, TargetError> {
    let (mut ends, mut log_density) = (Vec::new(), Vec::new());
    trajectories.copy_ends(&mut ends);
    target::evaluate(target, &ends, &mut log_density)?;
    let logs = sampler.log_probs(trajectories);
    let both = logs.destruction.iter().zip(&logs.generation).zip(&log_density);
    Ok(both
        .map(|((destruction, generation), &density)| match density > NOWHERE {
            true => density + destruction - generation,
            false => f64::NEG_INFINITY,
        })
        .collect())
}

/// Refuses points (n × dim by rows) that are none.
fn finite(points: &[f32], dim: usize, what: &'static str) -> Result<(), EvaluationError> {
    match points.chunks_exact(dim).enumerate().find(|(_, point)| point.iter().any(|x| !x.is_finite())) {
        None => Ok(()),
        Some((row, point)) => Err(EvaluationError::NotFinite { what, row, point: point.to_vec() }),
    }
}

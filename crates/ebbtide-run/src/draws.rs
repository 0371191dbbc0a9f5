//! Draws from a trained sampler with their weights, and those that the weights choose.

use ebbtide::metric::log_weights;
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::TargetError;
use ebbtide::weighted::{independence_chain, resample};

use crate::Stop;
use crate::trained::Trained;

/// Numbers of a portion: what a sampler has in memory at once.
const PORTION: usize = 1 << 22;

/// Samples that one is chosen from, where they are resampled.
const PROPOSALS: usize = 4;

/// Samples in the density's own coordinates (n × dim by rows), with the logarithm of what each weighs.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    /// The samples.
    pub points: Vec<f32>,
    /// log density + log p← − log p→ of each one's trajectory.
    pub log_weights: Vec<f64>,
}

/// How samples are chosen by weight, exactly as their number grows.
///
/// ```
/// use ebbtide_run::draws::{Choice, Chosen, Weighted, Weightless};
///
/// let log_weights = vec![0.0, f64::NEG_INFINITY, 3.0_f64.ln()];
/// let proposals = Weighted { points: vec![10.0, 20.0, 30.0], log_weights };
/// let Chosen { points, distinct, .. } = Choice::Resample.among(&proposals, 4, 0)?;
/// assert_eq!((points, distinct), (vec![10.0, 30.0, 30.0, 30.0], 2));
/// let chain = Choice::Chain.among(&proposals, 3, 0)?;
/// // It goes along with whatever weighs more than where it is.
/// assert_eq!((chain.points, chain.acceptance), (vec![10.0, 10.0, 30.0], Some(1.0 / 3.0)));
///
/// assert_eq!((Choice::Resample.proposals(100), Choice::Chain.proposals(100)), (400, 100));
/// let nothing = Weighted { log_weights: vec![f64::NEG_INFINITY; 3], ..proposals };
/// assert_eq!(Choice::Chain.among(&nothing, 3, 0), Err(Weightless));
/// # Ok::<(), Weightless>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// As often as their weight says, among four times as many.
    Resample,
    /// Along a Markov chain that goes along with a sample or stays.
    Chain,
}

/// Samples that were chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// The samples, n × dim by rows.
    pub points: Vec<f32>,
    /// The logarithm of what each weighed among the proposals.
    pub log_weights: Vec<f64>,
    /// How many of them are different.
    pub distinct: usize,
    /// The share of proposals that a chain went along with.
    pub acceptance: Option<f64>,
}

/// No sample can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all importance weights vanish: no sample is where the density is above zero")]
pub struct Weightless;

impl Trained {
    /// How many samples are drawn at once: more are drawn in portions.
    pub fn portion(&self) -> usize {
        let model = self.sampler.model();
        (PORTION / (model.dim() * model.steps())).max(1)
    }

    /// Draws with weights; `None` if somebody asks to stop before all are there.
    ///
    /// ```
    /// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
    /// # use ebbtide_run::{Stop, run::Run, settings::Preset};
    /// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
    /// # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
    /// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
    /// # let run = Run::begin(runs.path(), settings, &threads)?;
    /// # let folder = run.folder().to_owned();
    /// # run.go(&Stop::new(), &mut ())?;
    /// use ebbtide_run::draws::Weighted;
    /// use ebbtide_run::trained::{Trained, Which};
    ///
    /// // `folder` has a run whose trajectories have two steps in two dimensions.
    /// let mut trained = Trained::open(&folder, Which::Last, &threads)?;
    /// assert_eq!(trained.portion(), (1 << 22) / 4);
    /// let Some(Weighted { points, log_weights }) = trained.weighted(100, 7, &Stop::new())? else {
    ///     unreachable!("nobody asked to stop")
    /// };
    /// assert_eq!((points, log_weights.len()), (trained.sampler.sample(100, 7), 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weighted(
        &mut self,
        count: usize,
        seed: u64,
        stop: &Stop,
    ) -> Result<Option<Weighted>, TargetError> {
        let (mut weighted, mut ends) = (Weighted { points: Vec::new(), log_weights: Vec::new() }, Vec::new());
        while weighted.log_weights.len() < count {
            if stop.asked() {
                return Ok(None);
            }
            let first = weighted.log_weights.len();
            let trajectories = self.sampler.portion(first, self.portion().min(count - first), seed);
            weighted.log_weights.extend(log_weights(&*self.target, &mut self.sampler, &trajectories)?);
            trajectories.copy_ends(&mut ends);
            self.settings.placing.apply(&mut ends);
            weighted.points.extend_from_slice(&ends);
        }
        Ok(Some(weighted))
    }
}

impl Choice {
    /// How many samples it takes to choose so many.
    pub fn proposals(self, count: usize) -> usize {
        match self {
            Choice::Resample => count.saturating_mul(PROPOSALS),
            Choice::Chain => count,
        }
    }

    /// Chooses so many among the proposals.
    pub fn among(self, proposals: &Weighted, count: usize, seed: u64) -> Result<Chosen, Weightless> {
        let Weighted { points, log_weights } = proposals;
        let address = Address::new(seed, Purpose::Resample, 0);
        let (places, acceptance) = match self {
            Choice::Resample => (resample(log_weights, count, address).ok_or(Weightless)?, None),
            Choice::Chain => {
                let chain = independence_chain(log_weights, address).ok_or(Weightless)?;
                (chain.states, Some(chain.accepted as f64 / log_weights.len() as f64))
            }
        };
        let dim = points.len() / log_weights.len();
        let rows = places.iter().flat_map(|place| &points[place * dim..][..dim]);
        let (points, log_weights) =
            (rows.copied().collect(), places.iter().map(|place| log_weights[*place]).collect());
        let mut distinct = places;
        distinct.sort_unstable();
        distinct.dedup();
        Ok(Chosen { points, log_weights, distinct: distinct.len(), acceptance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposals(log_weights: &[f64]) -> Weighted {
        let points = (0..log_weights.len()).flat_map(|row| [row as f32, -(row as f32)]).collect();
        Weighted { points, log_weights: log_weights.to_vec() }
    }

    #[test]
    fn what_is_chosen_stands_with_its_weight() {
        let proposals = proposals(&[0.0, f64::NEG_INFINITY, 1.0, 0.5]);
        for choice in [Choice::Resample, Choice::Chain] {
            let chosen = choice.among(&proposals, 4, 7).expect("some weigh something");
            assert_eq!((chosen.points.len(), chosen.log_weights.len()), (8, 4));
            for (point, weight) in chosen.points.chunks(2).zip(&chosen.log_weights) {
                assert_eq!((point[1], proposals.log_weights[point[0] as usize]), (-point[0], *weight));
            }
            assert!((1..=3).contains(&chosen.distinct) && chosen.log_weights.iter().all(|w| w.is_finite()));
            assert_eq!(chosen.acceptance.is_some(), choice == Choice::Chain);
        }
    }

    #[test]
    fn nothing_is_chosen_where_nothing_weighs() {
        let none = proposals(&[f64::NEG_INFINITY; 3]);
        assert_eq!(Choice::Chain.among(&none, 3, 0), Err(Weightless));
        assert_eq!(Choice::Resample.among(&none, 3, 0), Err(Weightless));
    }
}

//! What a run came to.

use ebbtide::metric::{Evaluation, Rewards};
use ebbtide::target::{Target, TargetError};
use serde::{Deserialize, Serialize};

use crate::Figures;
use crate::settings::Settings;

/// How a run ended. Not finishing is an outcome, not an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
pub enum Status {
    /// All iterations are done.
    Finished,
    /// Somebody stopped it; it can be resumed.
    Interrupted,
    /// A loss, a gradient or a bound left all bounds.
    Diverged {
        /// The iteration in which it did, from 1.
        at: u64,
        /// What happened, in words.
        reason: String,
        /// Where: the end point of the worst trajectory.
        #[serde(with = "coordinates")]
        point: Vec<f32>,
    },
}

/// The figures of a run that is over. A diverged run has those of its last evaluation, if there was one.
///
/// ```
/// use ebbtide::metric::{EvaluationOptions, evaluate};
/// use ebbtide::{objective::Method, target::NamedTarget, train::Trainer, trajectory::Threads};
/// use ebbtide_run::{Figures, Outcome, Status, settings::Preset};
///
/// // A sampler that has not learned anything, evaluated.
/// let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// settings.keeping.samples = 64;
/// let trainer = Trainer::new(settings.validate()?, &Threads::new(1)?);
/// let target = trainer.target();
/// let options = EvaluationOptions { samples: 64, ..EvaluationOptions::default() };
/// let evaluation = evaluate(&**target, &mut trainer.sampler(), options)?;
///
/// let outcome = Outcome::new(Status::Interrupted, &settings, &**target, 0).evaluated(&evaluation);
/// let Figures { elbo, ess, .. } = outcome.figures.expect("it was evaluated");
/// assert!(elbo < outcome.log_z_true.expect("a mixture's is known"));
/// assert_eq!(outcome.too_few(), Some(64.0 * ess).filter(|effective| *effective < 10.0));
/// // Its samples are no latents, so that they have no rewards.
/// assert_eq!(outcome.rewarded(&**target, &evaluation, 0)?.rewards, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    #[serde(flatten)]
    pub status: Status,
    /// Name of the target.
    pub target: String,
    /// Name of the method; `custom` for a combination that has none.
    pub method: String,
    /// Steps of a trajectory.
    pub steps: usize,
    /// Trajectories of an update.
    pub batch: usize,
    /// The seed.
    pub seed: u64,
    /// Iterations done.
    pub iterations: u64,
    /// Iterations asked for.
    pub length: u64,
    /// Seconds of training, evaluations not counted; `None` where a sampler is evaluated long after.
    pub seconds: Option<f64>,
    /// Evaluations of the density in training.
    pub evaluations: Option<u64>,
    /// log Ẑ, where trajectory balance learned it.
    #[serde(default)]
    pub log_z_learned: Option<f64>,
    /// Whether training looked for what its own samples miss; older results do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<bool>,
    /// The iteration whose weights the figures below are of.
    pub evaluated_at: Option<u64>,
    /// Trajectories that they rest on.
    pub samples: usize,
    /// Bounds on log Z.
    #[serde(flatten)]
    pub figures: Option<Figures>,
    /// The true log Z, where known.
    pub log_z_true: Option<f64>,
    /// 2-Wasserstein distance to exact draws.
    pub w2: Option<f64>,
    /// The same between two sets of exact draws.
    pub w2_floor: Option<f64>,
    /// Modes reached and modes there are.
    pub modes: Option<(usize, usize)>,
    /// Total variation of the mode frequencies from the true weights.
    pub modes_total_variation: Option<f64>,
    /// What samples are worth once they are decoded, where they are latents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewards: Option<RewardFigures>,
    /// The setting `evaluation.explosion` that it was measured by.
    pub explosion: Option<f64>,
    /// The iteration whose weights are kept as the best.
    pub best_iteration: Option<u64>,
}

/// Mean log rewards and diversity of decoded samples, beside those of the prior.
///
/// ```
/// use ebbtide::metric::{Estimate, Rewards, Worth};
/// use ebbtide_run::RewardFigures;
///
/// let worth = |rewards: &[f64], diversity| Worth { log_reward: Estimate::mean(rewards), diversity };
/// let samples = worth(&[-1.0, -3.0], Some(0.25));
/// let figures = RewardFigures::from(Rewards { samples, prior: worth(&[-4.0, -6.0], None), prior_elbo: -15.0 });
/// assert_eq!((figures.log_reward, figures.log_reward_error, figures.diversity), (-2.0, 1.0, Some(0.25)));
/// assert_eq!((figures.prior_log_reward, figures.prior_diversity), (-5.0, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RewardFigures {
    /// E[log r] of samples.
    pub log_reward: f64,
    /// Its standard error.
    pub log_reward_error: f64,
    /// The mean cosine distance between embeddings of samples, where there is a network for them.
    pub diversity: Option<f64>,
    /// E[log r] of the prior.
    pub prior_log_reward: f64,
    /// Its standard error.
    pub prior_log_reward_error: f64,
    /// The diversity of the prior.
    pub prior_diversity: Option<f64>,
    /// The ELBO of the prior, as a sampler.
    pub prior_elbo: f64,
}

impl From<Rewards> for RewardFigures {
    fn from(rewards: Rewards) -> Self {
        let Rewards { samples, prior, prior_elbo } = rewards;
        Self {
            log_reward: samples.log_reward.value,
            log_reward_error: samples.log_reward.standard_error,
            diversity: samples.diversity,
            prior_log_reward: prior.log_reward.value,
            prior_log_reward_error: prior.log_reward.standard_error,
            prior_diversity: prior.diversity,
            prior_elbo,
        }
    }
}

/// An importance-weighted mean of fewer effective samples than this says nothing, nor does its error.
const FEW: f64 = 10.0;

impl Outcome {
    /// All that is known without an evaluation and a clock.
    pub fn new(status: Status, settings: &Settings, target: &dyn Target, iterations: u64) -> Self {
        Self {
            status,
            target: settings.target.to_string(),
            method: settings.method_name().to_owned(),
            steps: settings.steps(),
            batch: settings.config.batch,
            seed: settings.config.seed,
            iterations,
            length: settings.config.iterations,
            seconds: None,
            evaluations: None,
            log_z_learned: None,
            searched: Some(settings.searches()),
            evaluated_at: None,
            samples: settings.keeping.samples,
            figures: None,
            log_z_true: target.log_z(),
            w2: None,
            w2_floor: None,
            modes: None,
            modes_total_variation: None,
            rewards: None,
            explosion: Some(settings.keeping.explosion),
            best_iteration: None,
        }
    }

    /// How many effective samples an importance-weighted log Z rests on, if they are so few that neither it nor its error says anything.
    pub fn too_few(&self) -> Option<f64> {
        let effective = self.figures?.ess * self.samples as f64;
        (effective < FEW).then_some(effective)
    }

    /// With what decoded samples of an evaluation are worth, if the target is one of latents.
    pub fn rewarded(
        self,
        target: &dyn Target,
        evaluation: &Evaluation,
        seed: u64,
    ) -> Result<Self, TargetError> {
        let Some(latent) = target.latent() else { return Ok(self) };
        let rewards = Rewards::new(latent, &evaluation.samples, target.dim(), seed, self.iterations)?;
        Ok(Self { rewards: Some(rewards.into()), ..self })
    }

    /// With what an evaluation tells.
    pub fn evaluated(self, evaluation: &Evaluation) -> Self {
        let coverage = evaluation.coverage.as_ref();
        Self {
            evaluated_at: Some(self.iterations),
            figures: Some(Figures::from(&evaluation.bounds)),
            w2: evaluation.wasserstein2,
            w2_floor: evaluation.wasserstein2_floor,
            modes: coverage.map(|coverage| (coverage.reached, coverage.frequencies.len())),
            modes_total_variation: coverage.map(|coverage| coverage.total_variation),
            ..self
        }
    }
}

/// JSON has no NaN and no infinities: they are null there, and NaN when read again.
mod coordinates {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(point: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(point.iter().map(|x| x.is_finite().then_some(x)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
        let point = Vec::<Option<f32>>::deserialize(deserializer)?;
        Ok(point.into_iter().map(|x| x.unwrap_or(f32::NAN)).collect())
    }
}

#[cfg(test)]
mod tests {
    use ebbtide::target::NamedTarget;

    use super::*;
    use crate::settings::Preset;

    #[test]
    fn a_point_that_left_the_numbers_reads_back() {
        let settings = Preset::Paper.settings(NamedTarget::Gmm25, None, 2);
        let point = vec![f32::NAN, f32::NEG_INFINITY, 0.1];
        let status = Status::Diverged { at: 3, reason: "the generation loss is NaN".to_owned(), point };
        let outcome = Outcome::new(status, &settings, &*settings.built_target(), 2);
        let text = serde_json::to_string(&outcome).expect("written");
        let read: Outcome = serde_json::from_str(&text).expect("read");
        let Status::Diverged { at: 3, point, .. } = &read.status else { panic!("{read:?}") };
        assert!(point[0].is_nan() && point[1].is_nan() && point[2] == 0.1);
        assert_eq!((read.method.as_str(), read.figures), ("custom", None));
    }
}

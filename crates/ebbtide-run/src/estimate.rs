//! How long a run would take, and how much memory, without doing it.

use std::time::{Duration, Instant};

use ebbtide::metric::{EvaluationOptions, evaluate};
use ebbtide::train::Trainer;
use ebbtide::trajectory::Threads;

use crate::run::RunError;
use crate::settings::Settings;

/// What a run would cost.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::settings::Preset;
/// # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10_000, 16, 64);
/// use std::time::Duration;
///
/// use ebbtide_run::estimate::Estimate;
///
/// // `settings` are those of 10,000 iterations with 64 samples to each evaluation.
/// let estimate = Estimate::of(&settings, &Threads::new(1)?, Duration::from_millis(20))?;
/// assert!(estimate.total > 10_000.0 * estimate.iteration + estimate.evaluation);
/// assert!(estimate.memory > 8 * 64 * 64, "the distances between samples and exact draws alone");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds of an iteration, its share of local searches included.
    pub iteration: f64,
    /// Seconds of an evaluation.
    pub evaluation: f64,
    /// Seconds of the whole run.
    pub total: f64,
    /// Bytes at its fullest.
    pub memory: u64,
}

/// Most points whose transport is tried; its cost grows as their cube.
const MOST_TRIED: usize = 2048;

/// Fewest iterations that say anything.
const LEAST: usize = 4;

impl Estimate {
    /// Tries some iterations and an evaluation, for about this long.
    pub fn of(settings: &Settings, threads: &Threads, patience: Duration) -> Result<Self, RunError> {
        let valid = settings.validate()?;
        let memory = valid.memory(threads.count());
        let mut trainer = Trainer::new(valid, threads);
        // Local search comes first in a training, and from then on every so often.
        let first = timed(|| trainer.step())?.1;
        let begun = Instant::now();
        let mut count = 0;
        // An even number, for iterations may alternate.
        while count < LEAST || begun.elapsed() < patience || count % 2 == 1 {
            trainer.step()?;
            count += 1;
        }
        let ordinary = begun.elapsed().as_secs_f64() / count as f64;
        let searches = settings.config.local_search.map_or(0.0, |search| 1.0 / search.every as f64);
        let iteration = ordinary + searches * (first - ordinary).max(0.0);
        let target = trainer.target();
        let evaluating = |samples: usize, transport: bool| {
            let options = EvaluationOptions { samples, transport, ..Default::default() };
            let evaluated = timed(|| evaluate(&**target, &mut trainer.sampler(), options));
            Ok::<f64, RunError>(evaluated.map_err(|source| RunError::Evaluation { iteration: 0, source })?.1)
        };
        let samples = settings.keeping.samples;
        let evaluation = evaluating(samples, false)?;
        let tried = samples.min(MOST_TRIED);
        let last = evaluating(tried, true)? * (samples as f64 / tried as f64).powi(3);
        let iterations = settings.config.iterations;
        let evaluations =
            iterations.checked_div(settings.keeping.evaluate_every).unwrap_or(0).saturating_add(1);
        let total = iterations as f64 * iteration + evaluations as f64 * evaluation + last;
        // The distances of the last evaluation, all of them in memory.
        let memory = memory.saturating_add(8 * (samples as u64).pow(2));
        Ok(Self { iteration, evaluation, total, memory })
    }
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let begun = Instant::now();
    let result = work()?;
    Ok((result, begun.elapsed().as_secs_f64()))
}

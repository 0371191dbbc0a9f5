//! A portrait of a run: what it left on disk, and what its weights do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ebbtide::metric::{Bounds, Coverage, log_weights};
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::{Latent, Oracle, Target, TargetError};
use ebbtide::trajectory::{Multipliers, Threads, Trajectories};
use ebbtide_run::checkpoint::CheckpointError;
use ebbtide_run::compare::is_over;
use ebbtide_run::folder::{Files, is_at_work};
use ebbtide_run::journal;
use ebbtide_run::number::number;
use ebbtide_run::run::{RunError, read_environment, read_outcome, read_settings};
use ebbtide_run::settings::Settings;
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Environment, Figures, Outcome, Record, Status};

/// All that a page shows of a run.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{Stop, run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTlm), 3);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 100);
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// # let folder = run.folder().to_owned();
/// # run.go(&Stop::new(), &mut ())?;
/// use ebbtide_report::portrait::{Portrait, PortraitError, Stage, View};
/// use ebbtide_run::trained::Which;
///
/// let portrait = Portrait::read(&folder, Which::Last, &threads)?;
/// assert_eq!(portrait.stage, Stage::Over);
/// // Pictures are of the trajectories that the figures were computed from.
/// let view: &View = portrait.view.as_ref().expect("a run that is over has weights");
/// let (iteration, figures) = portrait.figures().expect("it was evaluated at its end");
/// let mean = view.generated_weights.iter().sum::<f64>() / view.samples(0).len() as f64;
/// assert!(iteration == view.iteration && (mean - figures.elbo).abs() < 1e-9);
///
/// assert!(Portrait::sketch(&folder)?.view.is_none());
/// assert!(matches!(Portrait::sketch(runs.path()), Err(PortraitError::Run(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Portrait {
    /// Where the run is.
    pub folder: PathBuf,
    /// What was asked for.
    pub settings: Settings,
    /// What it ran on, if that can be read.
    pub environment: Option<Environment>,
    /// Its curves.
    pub records: Vec<Record>,
    /// What it came to, if it ended.
    pub outcome: Option<Outcome>,
    /// Whether somebody is training.
    pub stage: Stage,
    /// What its weights do; none before the first checkpoint.
    pub view: Option<View>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A process is training.
    Training,
    /// It did not end, and nobody is training: interrupted or killed.
    Stopped,
    /// It ended.
    Over,
}

/// What the weights of a run do: trajectories both ways, and what can be said of them.
pub struct View {
    /// Iterations that made the weights.
    pub iteration: u64,
    /// The target.
    pub target: Arc<dyn Target>,
    /// t_0 … t_T
    pub times: Vec<f64>,
    /// From the origin to samples.
    pub generated: Trajectories,
    /// From exact draws, or where there are none from samples, back.
    pub destroyed: Trajectories,
    /// Whether those are exact draws.
    pub exact: bool,
    /// γ, α and β along generated trajectories.
    pub generation: Multipliers,
    /// γ, α and β along destroyed trajectories.
    pub destruction: Multipliers,
    /// Of generated trajectories.
    pub generated_weights: Vec<f64>,
    /// Of destroyed trajectories, if they begin at exact draws.
    pub destroyed_weights: Option<Vec<f64>>,
    /// How samples are spread over the modes.
    pub coverage: Option<Coverage>,
    /// More exact draws, to compare with.
    pub truth: Option<Vec<f32>>,
    /// What the first samples are decoded into, where they are latents.
    pub(crate) decoded: Option<Decoded>,
}

/// What latents are decoded into.
pub(crate) struct Decoded {
    /// The shape of what one of them is.
    pub shape: Vec<usize>,
    /// The first samples.
    pub samples: Vec<f32>,
    /// As many draws from the prior.
    pub prior: Vec<f32>,
}

impl Decoded {
    fn of(latent: &dyn Latent, samples: &[f32], dim: usize, address: Address) -> Result<Self, TargetError> {
        let count = (samples.len() / dim).min(DECODED);
        let mut prior = vec![0.0; count * dim];
        for (row, draw) in prior.chunks_exact_mut(dim).enumerate() {
            address.stream(row).fill_normal(draw);
        }
        let samples = latent.decode(&samples[..count * dim])?;
        Ok(Self { shape: latent.shape()?.to_vec(), samples, prior: latent.decode(&prior)? })
    }
}

/// Why there is no portrait.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortraitError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its target cannot be evaluated.
    #[error(transparent)]
    Target(#[from] TargetError),
}

/// The most trajectories of a view: enough for any figure.
const MOST: usize = 16_384;
/// Latents that are decoded.
const DECODED: usize = 64;
/// Exact draws to compare with.
const TRUTH: usize = 20_000;

impl Portrait {
    /// Looks at a run, which may be going on meanwhile, with its newest or best weights. What cannot be read is left out, with a remark.
    pub fn read(folder: &Path, which: Which, threads: &Threads) -> Result<Self, PortraitError> {
        Self::read_with(folder, which, None, threads)
    }

    /// The same, with the density that the run's files can only name. Without it there are no pictures of such a run.
    pub(crate) fn read_with(
        folder: &Path,
        which: Which,
        oracle: Option<Arc<dyn Oracle>>,
        threads: &Threads,
    ) -> Result<Self, PortraitError> {
        let mut portrait = Self::sketch(folder)?;
        let seen = |(trained, found): (Trained, Which)| {
            let (log_z_learned, remarks) = (trained.log_z_learned, trained.remarks.clone());
            Ok::<_, PortraitError>((View::of(trained)?, found, log_z_learned, remarks))
        };
        let looked = weights(folder, which, oracle, threads).map_err(PortraitError::from);
        match looked.and_then(|weights| weights.map(seen).transpose()) {
            Ok(None) => {}
            Ok(Some((view, found, log_z_learned, remarks))) => {
                portrait.remarks.extend(remarks);
                match (which, found) {
                    (Which::Best, _) => portrait.judge(&view, log_z_learned),
                    (Which::Last, Which::Best) => {
                        let text = "There is no checkpoint; pictures are of the best weights.";
                        portrait.remarks.push(text.to_owned());
                    }
                    (Which::Last, Which::Last) => {}
                }
                portrait.view = Some(view);
            }
            Err(error) => portrait.remarks.push(format!("No pictures: {error}.")),
        }
        Ok(portrait)
    }

    /// Figures of the view's own weights, instead of the last ones.
    fn judge(&mut self, view: &View, log_z_learned: Option<f64>) {
        let iteration = number(view.iteration as f64, 0);
        self.remarks
            .push(format!("Figures and pictures are of the best weights, after {iteration} iterations."));
        let bounds = Bounds::new(&view.generated_weights, view.destroyed_weights.as_deref());
        let status = self.outcome.as_ref().map_or(Status::Interrupted, |outcome| outcome.status.clone());
        let coverage = view.coverage.as_ref();
        self.outcome = Some(Outcome {
            evaluated_at: Some(view.iteration),
            log_z_learned,
            figures: Some(Figures::from(&bounds)),
            samples: view.generated.len(),
            modes: coverage.map(|coverage| (coverage.reached, coverage.frequencies.len())),
            modes_total_variation: coverage.map(|coverage| coverage.total_variation),
            ..Outcome::new(status, &self.settings, &*view.target, self.iteration())
        });
    }

    /// Everything but the view.
    pub fn sketch(folder: &Path) -> Result<Self, PortraitError> {
        let files = Files(folder);
        let settings = read_settings(folder)?;
        // Whether anybody is at work is asked first: what ends meanwhile is then seen to have ended.
        let at_work = is_at_work(folder);
        let mut remarks = Vec::new();
        let outcome = read_outcome(folder).unwrap_or_else(|error| {
            remarks.push(format!("No result: {error}."));
            None
        });
        // What a run came to before it was made longer is not what it comes to now.
        let stale = |outcome: &Outcome| outcome.status == Status::Finished && !is_over(&settings, outcome);
        let outcome = outcome.filter(|outcome| !at_work && !stale(outcome));
        let records = match files.metrics().exists() {
            true => journal::read(&files.metrics()).unwrap_or_else(|error| {
                remarks.push(format!("No curves: {error}."));
                Vec::new()
            }),
            false => Vec::new(),
        };
        let environment = read_environment(folder).unwrap_or_else(|error| {
            remarks.push(format!("Nothing of the machine: {error}."));
            None
        });
        let stage = match &outcome {
            _ if at_work => Stage::Training,
            Some(outcome) if is_over(&settings, outcome) => Stage::Over,
            _ => Stage::Stopped,
        };
        Ok(Self {
            folder: folder.to_owned(),
            settings,
            environment,
            records,
            outcome,
            stage,
            view: None,
            remarks,
        })
    }

    /// Iterations done, as far as is known.
    pub(crate) fn iteration(&self) -> u64 {
        let recorded = self.records.last().map_or(0, |record| record.iteration);
        self.outcome.as_ref().map_or(recorded, |outcome| outcome.iterations)
    }

    /// The newest figures, and the iteration whose weights they are of.
    pub fn figures(&self) -> Option<(u64, Figures)> {
        let ended = self.outcome.as_ref().and_then(|outcome| Some((outcome.evaluated_at?, outcome.figures?)));
        ended.or_else(|| {
            self.records.iter().rev().find_map(|record| Some((record.iteration, record.figures?)))
        })
    }

    /// The true log Z, where it is known.
    pub(crate) fn log_z(&self) -> Option<f64> {
        self.settings.built_target().log_z()
    }
}

/// The weights of a run, and which they are; none of one that has only begun. One that diverged early may have its best weights
/// and no others.
fn weights(
    folder: &Path,
    which: Which,
    oracle: Option<Arc<dyn Oracle>>,
    threads: &Threads,
) -> Result<Option<(Trained, Which)>, RunError> {
    match Trained::open_with(folder, which, oracle.clone(), threads) {
        Err(RunError::Checkpoint(CheckpointError::None { .. })) => {}
        other => return other.map(|trained| Some((trained, which))),
    }
    match Trained::open_with(folder, Which::Best, oracle, threads) {
        Err(RunError::Checkpoint(CheckpointError::NoBest { .. })) => Ok(None),
        other => other.map(|trained| Some((trained, Which::Best))),
    }
}

impl View {
    /// Draws with the streams of the run's own evaluations: what is shown is what the figures were computed from.
    fn of(trained: Trained) -> Result<Self, TargetError> {
        let Trained { target, mut sampler, settings, iteration, .. } = trained;
        let (dim, count) = (target.dim(), settings.keeping.samples.min(MOST));
        let address = |purpose| Address::new(settings.config.seed, purpose, iteration);
        let generated = sampler.generate(count, address(Purpose::EvaluateGenerate));
        let mut samples = Vec::new();
        generated.copy_ends(&mut samples);
        let draws = |purpose, count: usize| {
            target.drawable().map(|drawable| {
                let mut draws = vec![0.0; count * dim];
                drawable.draw(address(purpose), &mut draws).map(|()| draws)
            })
        };
        let exact = draws(Purpose::ExactDraw, count).transpose()?;
        let destroyed =
            sampler.destroy(exact.as_ref().unwrap_or(&samples), address(Purpose::EvaluateDestroy));
        let generated_weights = log_weights(&*target, &mut sampler, &generated)?;
        let destroyed_weights = match exact {
            Some(_) => Some(log_weights(&*target, &mut sampler, &destroyed)?),
            None => None,
        };
        let (generation, destruction) = (sampler.multipliers(&generated), sampler.multipliers(&destroyed));
        let coverage = target.modes().map(|modes| Coverage::new(modes, &samples, dim));
        let mut truth = draws(Purpose::ExactDrawAgain, TRUTH).transpose()?;
        let latent = target.latent();
        let decode = |latent| Decoded::of(latent, &samples, dim, address(Purpose::Prior));
        let decoded = latent.map(decode).transpose()?;
        // What is shown is in the density's own coordinates.
        let (mut generated, mut destroyed) = (generated, destroyed);
        for points in
            [generated.states_mut(), destroyed.states_mut(), truth.as_deref_mut().unwrap_or_default()]
        {
            settings.placing.apply(points);
        }
        Ok(Self {
            iteration,
            times: sampler.model().grid.times().to_vec(),
            generation,
            destruction,
            coverage,
            truth,
            decoded,
            exact: exact.is_some(),
            generated,
            destroyed,
            generated_weights,
            destroyed_weights,
            target: settings.target.build(),
        })
    }

    /// Coordinates of a point.
    pub(crate) fn dim(&self) -> usize {
        self.target.dim()
    }

    /// One coordinate of the state after `step` steps (1 … T) of all paths.
    pub(crate) fn coordinate(paths: &Trajectories, step: usize, coordinate: usize) -> Vec<f64> {
        let place = (step - 1) * paths.dim() + coordinate;
        (0..paths.len()).map(|path| f64::from(paths.path(path)[place])).collect()
    }

    /// One coordinate of the samples.
    pub fn samples(&self, coordinate: usize) -> Vec<f64> {
        Self::coordinate(&self.generated, self.generated.steps(), coordinate)
    }

    /// One coordinate of the exact draws.
    pub(crate) fn exact_draws(&self, coordinate: usize) -> Option<Vec<f64>> {
        let column = |truth: &Vec<f32>| {
            truth.iter().skip(coordinate).step_by(self.dim()).map(|&x| f64::from(x)).collect()
        };
        self.truth.as_ref().map(column)
    }
}

#[cfg(test)]
mod tests {
    use ebbtide::objective::Method;
    use ebbtide::target::NamedTarget;
    use ebbtide::train::Trainer;
    use ebbtide_run::settings::Preset;

    use super::*;
    use crate::page;

    /// A target of which nothing is known but its density.
    struct Bare(Box<dyn Target>);

    impl Target for Bare {
        fn dim(&self) -> usize {
            self.0.dim()
        }

        fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
            self.0.log_density(points, out)
        }
    }

    #[test]
    fn what_a_target_lacks_is_left_out() {
        for (target, method) in
            [(NamedTarget::Gmm25, Method::TbTb), (NamedTarget::EasyFunnel, Method::TbFixed)]
        {
            let settings = Preset::Paper.settings(target, Some(method), 2);
            let trainer =
                Trainer::new(settings.validate().expect("valid"), &Threads::new(1).expect("a thread"));
            let trained = Trained {
                folder: PathBuf::new(),
                settings: settings.clone(),
                target: Arc::new(Bare(target.build())),
                sampler: trainer.sampler(),
                iteration: 0,
                log_z_learned: None,
                remarks: Vec::new(),
            };
            let view = View::of(trained).expect("a view");
            assert!(
                !view.exact
                    && view.truth.is_none()
                    && view.destroyed_weights.is_none()
                    && view.coverage.is_none()
            );
            // Without exact draws, samples are destroyed.
            let ends = |paths: &Trajectories| View::coordinate(paths, 2, 0);
            assert_eq!(ends(&view.destroyed), ends(&view.generated));
            let portrait = Portrait {
                folder: PathBuf::from("run"),
                settings,
                environment: None,
                records: Vec::new(),
                outcome: None,
                stage: Stage::Stopped,
                view: Some(view),
                remarks: Vec::new(),
            };
            let shown = page::run(&portrait, &[]).expect("a page");
            let names: Vec<&str> = shown.charts.iter().map(|chart| chart.name.as_str()).collect();
            for name in ["samples-0-1", "marginal-0", "weights", "destruction-1"] {
                assert!(names.contains(&name), "{name} in {names:?}");
            }
            assert!(!names.contains(&"coverage") && !names.contains(&"exact-0-1"), "{names:?}");
            let html = shown.page.to_html(page::Life::Still);
            assert!(
                html.contains("in want of exact draws") && html.contains("destruction from samples back")
            );
        }
    }
}

//! Runs side by side: mean and deviation over seeds, with those that diverged counted.
//!
//! ```
//! # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
//! # use ebbtide_run::{Stop, run::Run, settings::Preset};
//! # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
//! # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
//! # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
//! use ebbtide_run::compare::{Found, Gathered, Group, Mean, gather, group, is_done};
//!
//! // `settings` are those of a small run.
//! for seed in [0, 1, 2] {
//!     settings.config.seed = seed;
//!     Run::begin(runs.path(), settings.clone(), &threads)?.go(&Stop::new(), &mut ())?;
//! }
//! let Gathered { found, unreadable } = gather(&[runs.path().to_owned()]);
//! assert!(unreadable.is_empty() && found.iter().all(is_done));
//!
//! let groups: Vec<Group> = group(&found);
//! assert_eq!((groups.len(), &groups[0].seeds), (1, &vec![0, 1, 2]));
//! let elbo = |run: &Found| Some(run.outcome.as_ref()?.figures?.elbo);
//! let elbos: Vec<f64> = found.iter().filter_map(elbo).collect();
//! assert_eq!(groups[0].elbo, Mean::of(&elbos));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::objective::Method;
use serde::Serialize;

use crate::folder::{FolderError, is_run};
use crate::run::{RunError, read_outcome, read_settings};
use crate::settings::Settings;
use crate::{Outcome, Status};

/// A run as it is found on disk.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where.
    pub folder: PathBuf,
    /// What was asked for.
    pub settings: Settings,
    /// What it came to, if it ended.
    pub outcome: Option<Outcome>,
}

/// A mean over runs.
///
/// ```
/// use ebbtide_run::compare::Mean;
///
/// let share = Mean::of(&[0.25, 0.5, 0.75]).expect("three values");
/// assert_eq!(share, Mean { mean: 0.5, deviation: Some(0.25), runs: 3 });
/// assert_eq!(share.percent(), Mean { mean: 50.0, deviation: Some(25.0), runs: 3 });
/// assert_eq!(Mean::of(&[]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// Standard deviation from run to run; needs two.
    pub deviation: Option<f64>,
    /// How many runs.
    pub runs: usize,
}

impl Mean {
    /// Of these values; `None` of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (runs > 1).then(|| (squares / (runs - 1) as f64).sqrt());
        Some(Self { mean, deviation, runs })
    }

    /// Of a share, in percent.
    pub fn percent(self) -> Self {
        let deviation = self.deviation.map(|deviation| 100.0 * deviation);
        Self { mean: 100.0 * self.mean, deviation, ..self }
    }
}

/// Runs of the same target, method and number of steps. Means are over those that finished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Name of the target.
    pub target: String,
    /// Name of the method.
    pub method: String,
    /// Steps of a trajectory.
    pub steps: usize,
    /// Seeds of those that finished.
    pub seeds: Vec<u64>,
    /// How many diverged.
    pub diverged: usize,
    /// How many have not ended: interrupted, killed, or still going on.
    pub unfinished: usize,
    /// Lower bound on log Z.
    pub elbo: Option<Mean>,
    /// Upper bound on log Z.
    pub eubo: Option<Mean>,
    /// Importance-weighted log Z.
    pub log_z: Option<Mean>,
    /// Effective sample size, as a share.
    pub ess: Option<Mean>,
    /// 2-Wasserstein distance.
    pub w2: Option<Mean>,
    /// The same between exact draws.
    pub w2_floor: Option<Mean>,
    /// Modes reached.
    pub modes: Option<Mean>,
    /// Seconds of training.
    pub seconds: Option<Mean>,
    /// What a reader of the means should know.
    pub notes: Vec<String>,
}

/// What there is in some places.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Runs that can be read.
    pub found: Vec<Found>,
    /// What is wrong with the others.
    pub unreadable: Vec<RunError>,
}

/// The runs in these places: run folders, or folders of run folders.
pub fn gather(paths: &[PathBuf]) -> Gathered {
    let mut gathered = Gathered::default();
    let mut known = BTreeSet::new();
    for path in paths {
        let folders = if is_run(path) { vec![path.clone()] } else { runs_in(path, 2) };
        if folders.is_empty() {
            gathered.unreadable.push(FolderError::NotARun { path: path.clone(), near: None }.into());
        }
        for folder in folders {
            // The same run may be named twice.
            if known.insert(fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone())) {
                match read(&folder) {
                    Ok(run) => gathered.found.push(run),
                    Err(error) => gathered.unreadable.push(error),
                }
            }
        }
    }
    gathered
}

fn read(folder: &Path) -> Result<Found, RunError> {
    let (settings, outcome) = (read_settings(folder)?, read_outcome(folder)?);
    if let Some(outcome) = &outcome {
        let target = settings.target.to_string();
        let now = (target.as_str(), settings.method_name(), settings.steps(), settings.config.seed);
        let then = (outcome.target.as_str(), outcome.method.as_str(), outcome.steps, outcome.seed);
        if now != then {
            return Err(RunError::Relabelled { path: folder.to_owned() });
        }
    }
    Ok(Found { folder: folder.to_owned(), settings, outcome })
}

/// Run folders in a folder, so many levels down; none if it cannot be read.
fn runs_in(folder: &Path, levels: usize) -> Vec<PathBuf> {
    let mut runs = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if is_run(&path) {
            runs.push(path);
        } else if levels > 1 && path.is_dir() {
            runs.extend(runs_in(&path, levels - 1));
        }
    }
    runs.sort();
    runs
}

/// Groups runs by target, method and steps, in the order of the paper.
pub fn group(found: &[Found]) -> Vec<Group> {
    let mut groups: BTreeMap<_, Vec<&Found>> = BTreeMap::new();
    for run in found {
        let method = Method::ALL.iter().position(|method| Some(*method) == run.settings.method);
        let key = (run.settings.target.rank(), method.unwrap_or(Method::ALL.len()), run.settings.steps());
        groups.entry(key).or_default().push(run);
    }
    groups.into_values().map(|runs| summary(&runs)).collect()
}

fn summary(runs: &[&Found]) -> Group {
    let done = runs.iter().filter(|run| is_done(run)).filter_map(|run| run.outcome.as_ref());
    let (finished, diverged): (Vec<&Outcome>, Vec<_>) =
        done.partition(|outcome| outcome.status == Status::Finished);
    let diverged = diverged.len();
    let mean = |value: fn(&Outcome) -> Option<f64>| {
        Mean::of(&finished.iter().filter_map(|outcome| value(outcome)).collect::<Vec<_>>())
    };
    let first = &runs[0].settings;
    Group {
        target: first.target.to_string(),
        method: first.method_name().to_owned(),
        steps: first.steps(),
        seeds: finished.iter().map(|outcome| outcome.seed).collect(),
        diverged,
        unfinished: runs.len() - finished.len() - diverged,
        elbo: mean(|outcome| Some(outcome.figures?.elbo)),
        eubo: mean(|outcome| outcome.figures?.eubo),
        log_z: mean(|outcome| Some(outcome.figures?.log_z)),
        ess: mean(|outcome| Some(outcome.figures?.ess)),
        w2: mean(|outcome| outcome.w2),
        w2_floor: mean(|outcome| outcome.w2_floor),
        modes: mean(|outcome| outcome.modes.map(|(reached, _)| reached as f64)),
        seconds: mean(|outcome| outcome.seconds),
        notes: notes(runs),
    }
}

/// What makes the runs of a group other than repetitions.
fn notes(runs: &[&Found]) -> Vec<String> {
    let first = &runs[0].settings;
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        for difference in first.differences(&run.settings, &["seed", "checkpoint.seconds"]) {
            values.entry(difference.key).or_default().extend([difference.ours, difference.theirs]);
        }
    }
    let listed = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" or ");
    let unlike =
        values.into_iter().map(|(key, values)| format!("not all alike: {key} is {}", listed(values)));
    let mut seeds: Vec<u64> = runs.iter().map(|run| run.settings.config.seed).collect();
    seeds.sort_unstable();
    let twice: BTreeSet<u64> =
        seeds.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    let twice = twice.into_iter().map(|seed| format!("seed {seed} is there more than once"));
    unlike.chain(twice).collect()
}

/// Whether there is nothing left to do for a run: all its iterations are done, or it diverged.
pub fn is_done(run: &Found) -> bool {
    run.outcome.as_ref().is_some_and(|outcome| is_over(&run.settings, outcome))
}

/// Whether an outcome is the end of a run with these settings. One that was made longer has an outcome from before.
///
/// ```
/// use ebbtide::{objective::Method, target::NamedTarget};
/// use ebbtide_run::{Outcome, Status, compare::is_over, settings::Preset};
///
/// let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbTb), 5);
/// let target = settings.built_target();
/// let outcome = Outcome::new(Status::Finished, &settings, &*target, settings.config.iterations);
/// assert!(is_over(&settings, &outcome));
/// settings.config.iterations *= 2;
/// assert!(!is_over(&settings, &outcome));
/// ```
pub fn is_over(settings: &Settings, outcome: &Outcome) -> bool {
    match outcome.status {
        Status::Finished => outcome.iterations >= settings.config.iterations,
        Status::Diverged { .. } => true,
        Status::Interrupted => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_over_one_less() {
        let mean = Mean::of(&[1.0, 2.0, 6.0]).expect("three values");
        assert_eq!(mean.mean, 3.0);
        assert!((mean.deviation.expect("three") - 7.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(Mean::of(&[4.0]).expect("one").deviation, None);
        assert_eq!(Mean::of(&[]), None);
    }
}

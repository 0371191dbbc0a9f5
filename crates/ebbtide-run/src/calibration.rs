//! How far verdicts can be trusted: samplers whose worth is known from better evidence, and what is said of each.
//!
//! ```
//! use ebbtide::objective::Method;
//! use ebbtide::target::NamedTarget;
//! use ebbtide::trajectory::Threads;
//! use ebbtide_run::Stop;
//! use ebbtide_run::calibration::{Case, Tally, Worth};
//! use ebbtide_run::reading::Sight;
//! use ebbtide_run::run::Run;
//! use ebbtide_run::settings::Preset;
//! use ebbtide_run::trained::{Trained, Which};
//!
//! // A sampler of 25 modes that has hardly been trained.
//! let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::PisFixed), 1);
//! (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (1, 16, 16);
//! settings.config.network.width = 8;
//! let (folder, threads) = (tempfile::tempdir()?, Threads::new(1)?);
//! let run = Run::begin(folder.path(), settings, &threads)?;
//! let path = run.folder().to_owned();
//! run.go(&Stop::new(), &mut ())?;
//!
//! let mut trained = Trained::open(&path, Which::Last, &threads)?;
//! let case = Case::measure(&mut trained, "last")?.expect("25GMM has exact draws");
//! let Worth { neglected, misplaced } = case.worth;
//! // Where samples go less than a twentieth as often as they should, 95 % and more is misplaced.
//! assert!(neglected > 0.05 && misplaced >= 0.95 * neglected && misplaced <= 1.0);
//! // One sampler has collapsed, and it is not called good.
//! let table = Tally::of([&case], Sight::Target).to_string();
//! assert!(table.contains("| collapsed | 1 | 0 (0–79 %) |"), "{table}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use ebbtide::metric::{EvaluationError, EvaluationOptions, evaluate, log_weights};
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::{NamedTarget, Target, TargetError};
use ebbtide::trajectory::Sampler;
use serde::{Deserialize, Serialize};

use crate::reading::{Reading, Sight, Verdict};
use crate::trained::Trained;
use crate::{COMMIT, Figures, Outcome, Status};

/// A sampler, what its evaluation told, and what is known of it besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The run's folder, and the one that it is in.
    pub run: String,
    /// `last` or `best` weights.
    pub checkpoint: String,
    /// The commit that measured it.
    pub commit: String,
    /// What destruction from exact draws tells of it.
    #[serde(flatten)]
    pub worth: Worth,
    /// What an evaluation of an ordinary size told.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How the density q of the samples compares with the target's, p, over exact draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The share of the target where q < p / 20: samples practically never go there.
    pub neglected: f64,
    /// The mean of 1 − q / p where q is smaller: the total variation between the two, and no expectation of anything between 0 and 1 is further off.
    /// Noise of the estimate makes it larger, never smaller.
    pub misplaced: f64,
}

/// What a sampler is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    /// More than 5 % of the target is where samples practically never go.
    Collapsed,
    /// Samples go everywhere, and more than a quarter of them would have to be elsewhere.
    Rough,
    /// Neither.
    Sound,
}

impl Truth {
    /// All of them, the worst first.
    pub const ALL: [Truth; 3] = [Truth::Collapsed, Truth::Rough, Truth::Sound];
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Truth::Collapsed => "collapsed",
            Truth::Rough => "rough",
            Truth::Sound => "sound",
        })
    }
}

/// Exact draws, and ways back from each.
const DRAWS: usize = 1024;
const WAYS: u64 = 32;
/// Samples go somewhere practically never if they go there less often than this share of what they should.
const NEVER: f64 = 0.05;
/// More of the target than this where samples never go is a collapse.
const LOST: f64 = 0.05;
/// More than this in the wrong place is rough.
const ASTRAY: f64 = 0.25;
/// Names the draws of a measurement, which no run has seen.
const SEED: u64 = 20_261_116;

impl Worth {
    /// Estimates q / p at exact draws, where it is the mean of Z / weight over the ways back. None without exact draws or log Z.
    pub(crate) fn of(target: &dyn Target, sampler: &mut Sampler) -> Result<Option<Self>, TargetError> {
        let (Some(drawable), Some(log_z)) = (target.drawable(), target.log_z()) else { return Ok(None) };
        let mut draws = vec![0.0; DRAWS * target.dim()];
        drawable.draw(Address::new(SEED, Purpose::ExactDrawAgain, 0), &mut draws)?;
        let mut ratios = vec![0.0; DRAWS];
        for way in 0..WAYS {
            let trajectories = sampler.destroy(&draws, Address::new(SEED, Purpose::EvaluateDestroy, way));
            let weights = log_weights(target, sampler, &trajectories)?;
            for (ratio, weight) in ratios.iter_mut().zip(weights) {
                // What is not a number is a place that generation knows nothing of.
                let way = (log_z - weight).exp();
                *ratio += if way.is_finite() { way / WAYS as f64 } else { 0.0 };
            }
        }
        let neglected = ratios.iter().filter(|ratio| **ratio < NEVER).count() as f64 / DRAWS as f64;
        let misplaced = ratios.iter().map(|ratio| (1.0 - ratio).max(0.0)).sum::<f64>() / DRAWS as f64;
        Ok(Some(Self { neglected, misplaced }))
    }

    /// In a word.
    pub(crate) fn truth(self) -> Truth {
        match self {
            Worth { neglected, .. } if neglected > LOST => Truth::Collapsed,
            Worth { misplaced, .. } if misplaced > ASTRAY => Truth::Rough,
            _ => Truth::Sound,
        }
    }
}

impl Case {
    /// Evaluates a sampler as `ebbtide eval` does, with 2048 samples that nobody has seen, and measures its worth. None where the worth
    /// cannot be known.
    pub fn measure(trained: &mut Trained, checkpoint: &str) -> Result<Option<Self>, EvaluationError> {
        let Trained { folder, settings, target, sampler, iteration, log_z_learned, .. } = trained;
        let Some(worth) = Worth::of(&**target, sampler)? else { return Ok(None) };
        let options =
            EvaluationOptions { seed: SEED, iteration: *iteration, transport: false, ..Default::default() };
        let evaluation = evaluate(&**target, sampler, options)?;
        let outcome = Outcome {
            samples: options.samples,
            log_z_learned: *log_z_learned,
            ..Outcome::new(Status::Finished, settings, &**target, *iteration)
        };
        let mut names: Vec<_> =
            folder.components().rev().take(2).map(|name| name.as_os_str().to_string_lossy()).collect();
        names.reverse();
        Ok(Some(Self {
            run: names.join("/"),
            checkpoint: checkpoint.to_owned(),
            commit: COMMIT.to_owned(),
            worth,
            outcome: outcome.evaluated(&evaluation),
        }))
    }

    /// What is said of it, with all that is known of the target, or as of a density that nobody has seen before. None if there is no such target.
    pub(crate) fn judged(&self, sight: Sight) -> Option<Verdict> {
        let target = self.outcome.target.parse::<NamedTarget>().ok()?.build();
        match sight {
            Sight::Target => Reading::of(&self.outcome, &*target).verdict,
            Sight::Samples => {
                let figures =
                    self.outcome.figures.map(|figures| Figures { eubo: None, eubo_error: None, ..figures });
                let outcome = Outcome {
                    figures,
                    log_z_true: None,
                    modes: None,
                    modes_total_variation: None,
                    ..self.outcome.clone()
                };
                Reading::of(&outcome, &Unseen(&*target)).verdict
            }
        }
    }
}

/// A target of which nothing is known but its density.
struct Unseen<'a>(&'a dyn Target);

impl Target for Unseen<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.0.log_density(points, out)
    }
}

/// How often each verdict was given to samplers of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<(Truth, Verdict), usize>);

impl Tally {
    /// Judges all cases.
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a Case>, sight: Sight) -> Self {
        let mut counts = BTreeMap::new();
        for case in cases {
            if let Some(verdict) = case.judged(sight) {
                *counts.entry((case.worth.truth(), verdict)).or_insert(0) += 1;
            }
        }
        Self(counts)
    }

    /// How many of a kind got a verdict.
    pub(crate) fn count(&self, truth: Truth, verdict: Verdict) -> usize {
        self.0.get(&(truth, verdict)).copied().unwrap_or(0)
    }

    /// How many of a kind there are.
    pub(crate) fn all(&self, truth: Truth) -> usize {
        Verdict::ALL.into_iter().map(|verdict| self.count(truth, verdict)).sum()
    }
}

/// A table in Markdown: a row for each kind, with 95 % intervals of the shares.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let heads: Vec<String> = Verdict::ALL.iter().map(Verdict::to_string).collect();
        writeln!(f, "| in truth | samplers | {} |", heads.join(" | "))?;
        writeln!(f, "|---|--:|{}", "--:|".repeat(heads.len()))?;
        for truth in Truth::ALL {
            let all = self.all(truth);
            write!(f, "| {truth} | {all} |")?;
            for verdict in Verdict::ALL {
                let count = self.count(truth, verdict);
                match interval(count, all) {
                    Some((low, high)) => write!(f, " {count} ({low:.0}–{high:.0} %) |")?,
                    None => write!(f, " {count} |")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Wilson's 95 % interval of a share, in percent.
fn interval(count: usize, all: usize) -> Option<(f64, f64)> {
    const DEVIATIONS: f64 = 1.96;
    let (n, squared) = (all as f64, DEVIATIONS * DEVIATIONS);
    let share = count as f64 / n;
    let middle = (share + squared / (2.0 * n)) / (1.0 + squared / n);
    let half =
        DEVIATIONS / (1.0 + squared / n) * (share * (1.0 - share) / n + squared / (4.0 * n * n)).sqrt();
    (all > 0).then(|| (100.0 * (middle - half).max(0.0), 100.0 * (middle + half).min(1.0)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use ebbtide::train::Trainer;
    use ebbtide::trajectory::Threads;

    use super::*;
    use crate::settings::Preset;

    fn repository(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    fn cases() -> Vec<Case> {
        let text =
            fs::read_to_string(repository("paper/experiments/results/calibration.jsonl")).expect("the cases");
        text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect()
    }

    #[test]
    fn the_documented_error_rates_are_those_of_the_cases() {
        let documented = fs::read_to_string(repository("docs/reports.md")).expect("the page");
        let cases = cases();
        let searched = cases.iter().filter(|case| case.outcome.searched == Some(true));
        for tally in [
            Tally::of(&cases, Sight::Target),
            Tally::of(&cases, Sight::Samples),
            Tally::of(searched, Sight::Samples),
        ] {
            assert!(documented.contains(&tally.to_string()), "docs/reports.md should have\n{tally}");
        }
    }

    #[test]
    fn a_collapsed_sampler_is_never_called_good_where_the_target_is_known() {
        for case in cases() {
            let wrong =
                case.worth.truth() == Truth::Collapsed && case.judged(Sight::Target) == Some(Verdict::Good);
            assert!(!wrong, "{} ({})", case.run, case.checkpoint);
        }
    }

    #[test]
    fn an_untrained_sampler_has_collapsed() {
        let settings = Preset::Paper.settings(NamedTarget::Gmm25, None, 5);
        let trainer = Trainer::new(settings.validate().expect("valid"), &Threads::new(1).expect("a thread"));
        let target = settings.built_target();
        let worth = Worth::of(&*target, &mut trainer.sampler()).expect("measured").expect("exact draws");
        assert_eq!(worth.truth(), Truth::Collapsed, "{worth:?}");
        assert_eq!(Worth::of(&Unseen(&*target), &mut trainer.sampler()).expect("measured"), None);
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        // 3 of 10: 0.108 to 0.603, as in any table.
        let (low, high) = interval(3, 10).expect("an interval");
        assert!((low - 10.8).abs() < 0.1 && (high - 60.3).abs() < 0.1, "{low} {high}");
        assert_eq!(interval(0, 10).map(|(low, _)| low), Some(0.0));
        assert_eq!(interval(0, 0), None);
    }
}

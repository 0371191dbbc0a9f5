//! A cell: a published figure, and ours.

use ebbtide_run::Status;
use ebbtide_run::compare::Mean;
use ebbtide_run::number::thousands;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::published::Published;
use crate::results::Results;
use crate::{Metric, Paper, Row, Verdict};

/// One figure of a table beside what was found.
///
/// ```
/// use std::path::Path;
/// use ebbtide_paper::{Cell, Metric, Paper, Results, Verdict};
///
/// let paper = Paper::new();
/// let row = paper.rows().find(|row| row.name(0) == "easy-funnel-tb-variance-T5-s0");
/// let row = row.expect("it is in the paper");
/// let results = Results::read(Path::new("../../paper/results"), &paper);
/// let cell = Cell::new(&paper, &results, row, Metric::Elbo);
/// let (ours, published) = (cell.ours.expect("it was run"), cell.published().figure());
/// let published = published.expect("it did not diverge");
/// assert_eq!((published.mean, published.deviation), (-0.34, 0.01));
/// assert!((ours.mean - published.mean).abs() < 0.05 && cell.verdict == Verdict::Reproduced);
/// // No seed diverged, and none was stopped early.
/// assert!(cell.notes().is_empty());
///
/// let nothing = Cell::new(&paper, &Results::default(), row, Metric::Elbo);
/// assert_eq!((nothing.seeds, nothing.verdict), (0, Verdict::NotRun));
/// ```
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Whose figure.
    pub row: &'a Row,
    /// Which.
    pub metric: Metric,
    /// Ours: the mean over seeds that did not diverge.
    pub ours: Option<Mean>,
    /// How many those are.
    pub seeds: usize,
    /// How many diverged.
    pub diverged: usize,
    /// The fewest iterations of any seed, and how many the row asks for, if those are more.
    pub shorter: Option<(u64, u64)>,
    /// How the two stand.
    pub verdict: Verdict,
}

impl<'a> Cell<'a> {
    /// The figure of a row beside what was found.
    pub fn new(paper: &Paper, results: &Results, row: &'a Row, metric: Metric) -> Self {
        let outcomes = || results.of(row).iter().map(|finding| &finding.outcome);
        let stayed = || outcomes().filter(|outcome| !matches!(outcome.status, Status::Diverged { .. }));
        let (seeds, diverged) = (stayed().count(), outcomes().count() - stayed().count());
        // A mean over some of the seeds would flatter the others.
        let values: Option<Vec<f64>> = stayed().map(|outcome| metric.of(outcome)).collect();
        let ours = values.and_then(|values| Mean::of(&values));
        let asked = paper.settings(row, 0).config.iterations;
        let fewest = stayed().map(|outcome| outcome.iterations).min();
        let verdict = match (ours, seeds, diverged) {
            (Some(ours), ..) => Verdict::on(metric, ours.mean, row.published(metric)),
            (None, 0, 0) => Verdict::NotRun,
            (None, 0, _) => Verdict::Diverged,
            // A bound that is not finite is as far away as can be; a distance is only missing.
            (None, ..) => {
                if metric == Metric::W2 {
                    Verdict::NotRun
                } else {
                    Verdict::Worse
                }
            }
        };
        let shorter = fewest.filter(|fewest| *fewest < asked).map(|fewest| (fewest, asked));
        Self { row, metric, ours, seeds, diverged, shorter, verdict }
    }

    /// What the paper prints.
    pub fn published(&self) -> Published {
        self.row.published(self.metric)
    }

    /// What the mean does not tell.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.diverged > 0 {
            let published = match (self.published(), self.verdict) {
                (Published::Diverged, _) => "; the paper's diverged too",
                (_, Verdict::Diverged) => "; the paper's did not",
                _ => "",
            };
            notes.push(format!(
                "{} of {} seeds diverged{published}",
                self.diverged,
                self.seeds + self.diverged
            ));
        } else if self.published() == Published::Diverged && self.seeds > 0 {
            notes.push("the paper's diverged".to_owned());
        }
        if let Some((done, asked)) = self.shorter {
            notes.push(format!("{} of {} iterations", thousands(done), thousands(asked)));
        }
        notes
    }
}

impl Cell<'_> {
    /// What programs are told, by name. The last ones are nothing for most cells.
    pub(crate) fn fields(&self) -> [(&'static str, Value); 14] {
        let (row, published) = (self.row, self.published().figure());
        let diverged = self.verdict == Verdict::Diverged;
        [
            ("table", row.table.into()),
            ("target", row.target.name().into()),
            ("method", row.label.into()),
            ("steps", row.steps.into()),
            ("metric", self.metric.name().into()),
            ("published", published.map(|figure| figure.mean).into()),
            ("published_std", published.map(|figure| figure.deviation).into()),
            ("ours", self.ours.map(|ours| ours.mean).into()),
            ("ours_std", self.ours.and_then(|ours| ours.deviation).into()),
            ("seeds", self.seeds.into()),
            ("diverged", self.diverged.into()),
            ("status", self.verdict.name().into()),
            ("iterations", self.shorter.map(|(done, _)| done).into()),
            ("published_diverged", diverged.then_some(self.published() == Published::Diverged).into()),
        ]
    }
}

/// How many fields every cell has.
const ALWAYS: usize = 12;

/// A flat object, without what is there only now and then where it is not.
impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = self.fields().into_iter().enumerate();
        serializer.collect_map(
            fields.filter(|(i, (_, value))| *i < ALWAYS || !value.is_null()).map(|(_, field)| field),
        )
    }
}

//! A row: a sampler that the paper trained, and what it prints of it.

use std::path::PathBuf;

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_run::settings::Settings;

use crate::Metric;
use crate::published::Published;

/// One sampler of a table, whatever its seed.
///
/// ```
/// use std::path::Path;
/// use ebbtide_paper::published::{Estimate, Published};
/// use ebbtide_paper::{Metric, Paper, Row};
///
/// let paper = Paper::new();
/// let named = |name: &str| -> Option<&Row> { paper.rows().find(|row| row.name(0) == name) };
/// let row = named("hard-funnel-tb-tb-T5-s0").expect("it is in the paper");
/// assert_eq!(row.file(2), Path::new("funnel/hard-funnel-tb-tb-T5-s2.json"));
/// assert_eq!(row.published(Metric::Eubo), Published::Figure(Estimate { mean: 2800.63, deviation: 1351.92 }));
///
/// let diverged = named("manywell-tb-tlm-T20-s0").expect("it is in the paper");
/// assert_eq!(diverged.published(Metric::W2).figure(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Row {
    /// The table's name.
    pub table: &'static str,
    /// What it is called within the table: the method, or what an ablation changed.
    pub label: &'static str,
    /// What is sampled.
    pub target: NamedTarget,
    /// How it learns.
    pub method: Method,
    /// Steps of a trajectory.
    pub steps: usize,
    /// What the paper prints, in the order of [`Metric::ALL`].
    pub published: [Published; 3],
    /// What is changed of the usual settings.
    pub(crate) change: fn(&mut Settings),
    /// How its table is laid out.
    pub(crate) layout: Layout,
}

/// How a table is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Methods down, steps across, for each target and metric. A row is told from its neighbours by all of these.
    OverSteps,
    /// Rows with settings of their own down, metrics across.
    List,
}

impl Row {
    /// What its runs are called, but for the seed: `25gmm-tb-tb-T5`.
    pub(crate) fn slug(&self) -> String {
        format!("{}-{}-T{}", self.target, self.label, self.steps)
    }

    /// What its run with a seed is called: `25gmm-tb-tb-T5-s0`.
    pub fn name(&self, seed: u64) -> String {
        format!("{}-s{seed}", self.slug())
    }

    /// Where its run with a seed is, within the folder of the paper's runs. What a list trains is not what its target usually is.
    pub(crate) fn folder(&self, seed: u64) -> PathBuf {
        let name = PathBuf::from(self.name(seed));
        match self.layout {
            Layout::List => PathBuf::from(self.table).join(name),
            Layout::OverSteps => name,
        }
    }

    /// Where what was found of its run with a seed is, within the folder of results.
    pub fn file(&self, seed: u64) -> PathBuf {
        PathBuf::from(self.table).join(format!("{}.json", self.name(seed)))
    }

    /// What the paper prints of it.
    pub fn published(&self, metric: Metric) -> Published {
        self.published[metric as usize]
    }
}

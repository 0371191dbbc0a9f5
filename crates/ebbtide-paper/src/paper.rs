//! The paper as a whole: tables, figures, and the settings behind every row.

use std::path::{Path, PathBuf};

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_run::settings::{Preset, Settings};

use crate::figure::FIGURES;
use crate::table::tables;
use crate::{Row, Table};

/// The settings that a row's changes are made to.
type Base = fn(NamedTarget, Method, usize) -> Settings;

/// Those that the paper's runs have.
pub fn usual(target: NamedTarget, method: Method, steps: usize) -> Settings {
    Preset::Paper.settings(target, Some(method), steps)
}

/// All there is to reproduce.
///
/// ```
/// use ebbtide::{objective::Method, target::NamedTarget};
/// use ebbtide_paper::Paper;
/// use ebbtide_run::settings::{Preset, Settings};
///
/// let paper = Paper::new();
/// let ablation = paper.table("ablation").expect("it is one of the tables");
/// let slow = ablation.rows.iter().find(|row| row.label == "rate-0.01").expect("it is one of the rows");
/// let settings = paper.settings(slow, 2);
/// assert_eq!((settings.config.seed, settings.config.iterations), (2, 25_000));
/// let rates = settings.config.optimisation;
/// assert_eq!(rates.destruction_rate, rates.generation_rate / 100.0);
///
/// // The same rows, with less to do.
/// fn short(target: NamedTarget, method: Method, steps: usize) -> Settings {
///     let mut settings = Preset::Paper.settings(target, Some(method), steps);
///     settings.config.iterations = 100;
///     settings
/// }
/// assert_eq!(Paper::based_on(short).settings(slow, 2).config.iterations, 100);
/// ```
#[derive(Clone, Debug)]
pub struct Paper {
    /// Its tables.
    pub tables: Vec<Table>,
    base: Base,
}

impl Default for Paper {
    fn default() -> Self {
        Self::new()
    }
}

impl Paper {
    /// The paper with its own settings.
    pub fn new() -> Self {
        Self::based_on(usual)
    }

    /// Names of its tables, then of its figures.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.tables.iter().map(|table| table.name).chain(FIGURES.iter().map(|figure| figure.name))
    }

    /// The paper with other settings in place of the usual ones, for who has less time.
    pub fn based_on(base: Base) -> Self {
        // A test reads every line.
        let tables = tables().expect("the figures were whole when this was built");
        Self { tables, base }
    }

    /// All rows of all tables.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.tables.iter().flat_map(|table| &table.rows)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Where the paper's runs are, in a folder of runs.
    pub fn runs(runs: &Path) -> PathBuf {
        runs.join("paper")
    }

    /// What a row asks for.
    pub fn settings(&self, row: &Row, seed: u64) -> Settings {
        let mut settings = (self.base)(row.target, row.method, row.steps);
        (row.change)(&mut settings);
        settings.config.seed = seed;
        settings
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Metric;
    use crate::published::{ABLATION, Published, RESULTS};

    #[test]
    fn every_published_figure_is_in_a_table() {
        let paper = Paper::new();
        let counts: Vec<(&str, usize)> =
            paper.tables.iter().map(|table| (table.name, table.cells())).collect();
        let expected = [
            ("125gmm", 144),
            ("25gmm", 432),
            ("40gmm", 192),
            ("funnel", 144),
            ("manywell", 72),
            ("ablation", 36),
            ("recommended", 12),
        ];
        assert_eq!(counts, expected);
        let floors: usize = paper.tables.iter().map(|table| table.floors.len()).sum();
        let appendix: usize = counts.iter().take(5).map(|(_, cells)| cells).sum();
        assert_eq!(appendix + floors, RESULTS.lines().count() - 1);
        assert_eq!(paper.tables[5].rows.len(), ABLATION.lines().count() - 1);
    }

    #[test]
    fn every_row_has_valid_settings_and_a_name_of_its_own() {
        let paper = Paper::new();
        let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
        for row in paper.rows() {
            let settings = paper.settings(row, 1);
            settings.validate().unwrap_or_else(|error| panic!("{}: {error}", row.name(1)));
            assert_eq!((settings.config.iterations, settings.config.seed), (25_000, 1));
            if row.label == row.method.name() {
                assert_eq!(row.name(1), settings.name());
            }
            assert!(files.insert(row.file(1)) && folders.insert(row.folder(1)), "{}", row.name(1));
        }
    }

    #[test]
    fn an_ablation_is_one_change() {
        let paper = Paper::new();
        let table = paper.table("ablation").expect("a table");
        let settings = |row: &Row| paper.settings(row, 0);
        let optimal = settings(&table.rows[0]);
        let changes: Vec<String> = table.rows[3..]
            .iter()
            .map(|row| {
                let changed: Vec<String> = settings(row)
                    .differences(&optimal, &[])
                    .map(|change| format!("{} {}", change.key, change.ours))
                    .collect();
                format!("{}: {}", row.label, changed.join(", "))
            })
            .collect();
        let expected = [
            "separate-backbones: network.backbone \"separate\"",
            "single-optimiser: optimisation.arrangement \"single\"",
            "rate-0.1: optimisation.destruction-rate 0.0001",
            "rate-0.01: optimisation.destruction-rate 1e-5",
            "replay-0: replay.ratio 0",
            "replay-1: replay.ratio 1",
            "replay-4: replay.ratio 4",
            "replay-8: replay.ratio 8",
            "no-target-network: target-network \"off\"",
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn figures_stand_where_they_were_printed() {
        let paper = Paper::new();
        let row = paper.rows().find(|row| row.name(0) == "hard-funnel-tb-tb-T5-s0").expect("a row");
        let eubo = row.published(Metric::Eubo).figure().expect("a figure");
        assert_eq!((eubo.mean, eubo.deviation), (2800.63, 1351.92));
        let diverged = paper.rows().find(|row| row.name(0) == "manywell-tb-tlm-T20-s0").expect("a row");
        assert_eq!(diverged.published(Metric::W2), Published::Diverged);
        let slow = paper.rows().find(|row| row.label == "rate-0.01").expect("a row");
        assert_eq!(slow.published(Metric::Elbo).figure().expect("a figure").mean, -2.69);
    }
}

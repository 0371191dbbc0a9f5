//! A block: cells laid out as the paper prints them, methods down, steps across.
//!
//! ```
//! use ebbtide_paper::block::{Block, Section, sections};
//! use ebbtide_paper::{Paper, Results, Selection};
//!
//! let paper = Paper::new();
//! let wells = Selection { names: vec!["manywell".to_owned()], steps: vec![5, 10], ..Selection::default() };
//! let laid_out: Vec<Section> = sections(&paper, &Results::default(), &wells.rows(&paper)?);
//! assert_eq!((laid_out.len(), laid_out[0].table.number), (1, Some(8)));
//!
//! // Two targets, three metrics.
//! let blocks: &[Block] = &laid_out[0].blocks;
//! assert_eq!(blocks.len(), 6);
//! assert_eq!(blocks[0].heading, "Manywell, ELBO gap to log Z (higher is better)");
//! assert_eq!(blocks[0].columns, ["T = 5", "T = 10"]);
//! let methods: Vec<&str> = blocks[0].lines.iter().map(|(method, _)| method.as_str()).collect();
//! assert_eq!(methods, ["tb-fixed", "tb-variance", "tb-tlm", "tb-tb"]);
//! # Ok::<(), ebbtide_paper::Unknown>(())
//! ```

use std::cmp::Reverse;

use ebbtide::target::NamedTarget;
use ebbtide_run::Outcome;
use ebbtide_run::compare::Mean;

use crate::published::Estimate;
use crate::results::Results;
use crate::{Cell, Layout, Metric, Paper, Row, Table, Verdict};

/// A part of a table that is printed by itself: one target and metric, or a whole list.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// What it is of.
    pub heading: String,
    /// What stands above the columns.
    pub columns: Vec<String>,
    /// What stands in them. A place that nothing was published for is empty.
    pub lines: Vec<Line<'a>>,
    /// What exact draws have, published and measured here.
    pub floor: Option<(Estimate, Option<Mean>)>,
    /// What a reader should know before comparing.
    pub remark: Option<&'static str>,
}

/// What a line is of, and its cells.
pub(crate) type Line<'a> = (String, Vec<Option<Cell<'a>>>);

/// The rows of a table that were asked for, block by block.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Which table.
    pub table: &'a Table,
    /// Its blocks.
    pub blocks: Vec<Block<'a>>,
}

const UNTRAINED: &str = "Most published EUBOs of pis rows with a fixed destruction process, and many of the others, sit at or near the value of the untrained sampler, KL(target ‖ N(0, 5 I)) = 8.65 for 25GMM, 12.98 for 125GMM and 103.9 for 40GMM: those are not something to reproduce.";
const HEAVY: &str =
    "On Hard Funnel the W2 of exact draws against exact draws is 24.24 ± 4.20, so W2 says nothing there.";

/// Lays out these rows, table by table.
pub fn sections<'a>(paper: &'a Paper, results: &Results, rows: &[&'a Row]) -> Vec<Section<'a>> {
    let section = |table: &'a Table| {
        let own: Vec<&'a Row> = rows.iter().copied().filter(|row| row.table == table.name).collect();
        let blocks = match (own.is_empty(), table.layout()) {
            (true, _) => Vec::new(),
            (false, Layout::List) => vec![list(paper, results, table, &own)],
            (false, Layout::OverSteps) => appendix(paper, results, table, &own),
        };
        (!blocks.is_empty()).then_some(Section { table, blocks })
    };
    paper.tables.iter().filter_map(section).collect()
}

fn appendix<'a>(paper: &Paper, results: &Results, table: &Table, rows: &[&'a Row]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    for &target in table.targets {
        let own: Vec<&Row> = rows.iter().copied().filter(|row| row.target == target).collect();
        if own.is_empty() {
            continue;
        }
        for metric in Metric::ALL {
            blocks.push(over_steps(paper, results, table, (target, metric), &own));
        }
    }
    blocks
}

fn over_steps<'a>(
    paper: &Paper,
    results: &Results,
    table: &Table,
    (target, metric): (NamedTarget, Metric),
    rows: &[&'a Row],
) -> Block<'a> {
    let mut steps: Vec<usize> = rows.iter().map(|row| row.steps).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut labels: Vec<&'static str> = rows.iter().map(|row| row.label).collect();
    labels.dedup();
    let cell = |label: &str, steps: usize| {
        let row = rows.iter().find(|row| row.label == label && row.steps == steps)?;
        Some(Cell::new(paper, results, row, metric))
    };
    let line = |label: &str| (label.to_owned(), steps.iter().map(|&steps| cell(label, steps)).collect());
    let gap = if metric != Metric::W2 && target.build().log_z() != Some(0.0) { " gap to log Z" } else { "" };
    let floor = table.floors.iter().find(|(own, _)| *own == target && metric == Metric::W2);
    let remark = match (metric, target) {
        (Metric::W2, NamedTarget::HardFunnel) => Some(HEAVY),
        (Metric::Eubo, _) if labels.iter().any(|label| label.starts_with("pis")) => Some(UNTRAINED),
        _ => None,
    };
    Block {
        heading: format!("{}, {}{gap} ({})", target.title(), metric.title(), metric.direction()),
        columns: steps.iter().map(|steps| format!("T = {steps}")).collect(),
        lines: labels.into_iter().map(line).collect(),
        floor: floor.map(|(_, published)| (*published, measured_floor(paper, results, target))),
        remark,
    }
}

/// W2 of exact draws as our own runs measured it.
fn measured_floor(paper: &Paper, results: &Results, target: NamedTarget) -> Option<Mean> {
    let rows = paper.rows().filter(|row| row.target == target);
    let findings = rows.flat_map(|row| results.of(row));
    let floors = findings.filter_map(|finding| Some((&finding.outcome, finding.outcome.w2_floor?)));
    // Runs of one seed draw the same points, if they are of one length; the longest count.
    let mut by_seed: Vec<(&Outcome, f64)> = floors.collect();
    by_seed.sort_by_key(|(outcome, _)| (outcome.seed, Reverse(outcome.iterations)));
    by_seed.dedup_by_key(|(outcome, _)| outcome.seed);
    Mean::of(&by_seed.into_iter().map(|(_, floor)| floor).collect::<Vec<_>>())
}

fn list<'a>(paper: &Paper, results: &Results, table: &Table, rows: &[&'a Row]) -> Block<'a> {
    let line = |row: &&'a Row| {
        let cells = Metric::ALL.map(|metric| Some(Cell::new(paper, results, row, metric)));
        let heading = match table.targets {
            [_] => row.label.to_owned(),
            _ => format!("{} {}", row.target, row.label),
        };
        (heading, cells.to_vec())
    };
    Block {
        heading: format!(
            "{}, T = 5",
            table.targets.iter().map(|target| target.title()).collect::<Vec<_>>().join(", ")
        ),
        columns: Metric::ALL.map(|metric| format!("{} ({})", metric.title(), metric.direction())).to_vec(),
        lines: rows.iter().map(line).collect(),
        floor: None,
        remark: table.remark,
    }
}

impl<'a> Block<'a> {
    /// All its cells, row by row.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &Cell<'a>> {
        self.lines.iter().flat_map(|(_, cells)| cells.iter().flatten())
    }

    /// What the means do not tell, with the places of each.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.lines.iter().flat_map(notes).chain(self.seeds()).collect()
    }

    /// Over how many seeds the means are, where there are any.
    fn seeds(&self) -> Option<String> {
        let counts = || self.cells().map(|cell| cell.seeds).filter(|seeds| *seeds > 0);
        match (counts().min()?, counts().max()?) {
            (1, 1) => Some("figures of one seed each".to_owned()),
            (least, most) if least == most => Some(format!("means over {most} seeds")),
            (least, most) => Some(format!("means over {least} to {most} seeds")),
        }
    }
}

/// What the means of a line do not tell: once, with the numbers of steps that it is so for.
fn notes((heading, cells): &Line) -> Vec<String> {
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for cell in cells.iter().flatten() {
        for note in cell.notes() {
            let steps = cell.row.steps.to_string();
            match places.iter_mut().find(|place| place.0 == note) {
                Some((_, all)) => all.push(steps),
                None => places.push((note, vec![steps])),
            }
        }
    }
    let is_list = cells.iter().flatten().any(|cell| cell.row.layout == Layout::List);
    let line = |(note, steps): (String, Vec<String>)| match is_list {
        true => format!("{heading}: {note}"),
        false => format!("{heading}, T = {}: {note}", steps.join(", ")),
    };
    places.into_iter().map(line).collect()
}

/// All cells of some sections.
pub(crate) fn cells<'s, 'a>(sections: &'s [Section<'a>]) -> impl Iterator<Item = &'s Cell<'a>> {
    sections.iter().flat_map(|section| &section.blocks).flat_map(Block::cells)
}

/// How many cells got each verdict: `reproduced 31, better 12, …`.
pub(crate) fn summary(sections: &[Section]) -> String {
    let count = |verdict: &Verdict| {
        let count = cells(sections).filter(|cell| cell.verdict == *verdict).count();
        format!("{} {count}", verdict.name())
    };
    Verdict::ALL.iter().map(count).collect::<Vec<_>>().join(", ")
}

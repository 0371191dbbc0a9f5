//! The paper's tables: which rows each has, read off what is published.

use std::collections::BTreeMap;

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;

use crate::ablation::ABLATIONS;
use crate::published::{self, Estimate, Printed, Published, PublishedError};
use crate::row::Layout;
use crate::{Metric, Row, recommended};

/// A table of the paper.
///
/// ```
/// use ebbtide_paper::{Metric, Paper, Table};
///
/// let paper = Paper::new();
/// let funnels: &Table = paper.table("funnel").expect("it is one of the tables");
/// assert_eq!(funnels.title(), "Table 7: both funnels over the number of steps");
/// // Two targets, four methods, six numbers of steps, and three figures of each.
/// assert_eq!((funnels.rows.len(), funnels.cells()), (48, 48 * Metric::ALL.len()));
/// let (target, floor) = funnels.floors[1];
/// assert_eq!((target.title(), floor.mean, floor.deviation), ("Hard Funnel", 24.24, 4.20));
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    /// What it is called here.
    pub name: &'static str,
    /// Its number in the paper, if it is there.
    pub number: Option<usize>,
    /// What it is about.
    pub about: &'static str,
    /// Its targets, in the paper's order.
    pub targets: &'static [NamedTarget],
    /// Its rows: targets, then methods, then steps.
    pub rows: Vec<Row>,
    /// W2 of exact draws against exact draws, where it is printed.
    pub floors: Vec<(NamedTarget, Estimate)>,
    /// What a reader should know before comparing.
    pub remark: Option<&'static str>,
}

/// The ablation's name.
const ABLATION: &str = "ablation";

/// Steps of the ablation's trajectories.
const ABLATION_STEPS: usize = 5;

/// Tables of the appendix: name, number, what they are about, targets.
type Heading = (&'static str, usize, &'static str, &'static [NamedTarget]);

const APPENDIX: [Heading; 5] = [
    ("125gmm", 4, "125GMM over the number of steps", &[NamedTarget::Gmm125]),
    (
        "25gmm",
        5,
        "three variants of 25GMM over the number of steps",
        &[NamedTarget::Gmm25, NamedTarget::SlightlyDistortedGmm25, NamedTarget::DistortedGmm25],
    ),
    ("40gmm", 6, "40GMM over the number of steps; three settings are not the text's", &[NamedTarget::Gmm40]),
    (
        "funnel",
        7,
        "both funnels over the number of steps",
        &[NamedTarget::EasyFunnel, NamedTarget::HardFunnel],
    ),
    (
        "manywell",
        8,
        "both Manywells over the number of steps, bounds as gaps to log Z",
        &[NamedTarget::Manywell, NamedTarget::DistortedManywell],
    ),
];

/// All tables that there are runs for, from what is published.
pub fn tables() -> Result<Vec<Table>, PublishedError> {
    let printed = published::results(published::RESULTS)?;
    let mut tables: Vec<Table> = APPENDIX.iter().map(|heading| appendix(heading, &printed)).collect();
    tables.push(ablation(&published::ablation(published::ABLATION)?));
    tables.push(recommended::table(&printed));
    Ok(tables)
}

fn appendix(&(name, number, about, targets): &Heading, printed: &[Printed]) -> Table {
    let (mut rows, mut floors) = (Vec::new(), Vec::new());
    for &target in targets {
        let own = printed.iter().filter(|line| line.target == target);
        let mut sets: BTreeMap<(usize, usize), [Option<Published>; 3]> = BTreeMap::new();
        for line in own {
            match (line.by, line.published) {
                (Some((method, steps)), published) => {
                    sets.entry((place(method), steps)).or_default()[line.metric as usize] = Some(published);
                }
                (None, Published::Figure(floor)) => floors.push((target, floor)),
                (None, Published::Diverged) => {}
            }
        }
        for ((method, steps), set) in sets {
            let [Some(elbo), Some(eubo), Some(w2)] = set else { continue };
            let method = Method::ALL[method];
            rows.push(Row {
                table: name,
                label: method.name(),
                target,
                method,
                steps,
                published: [elbo, eubo, w2],
                change: |_| (),
                layout: Layout::OverSteps,
            });
        }
    }
    Table { name, number: Some(number), about, targets, rows, floors, remark: None }
}

fn place(method: Method) -> usize {
    Method::ALL.iter().position(|known| *known == method).expect("all methods are there")
}

fn ablation(ablated: &[published::Ablated]) -> Table {
    let row = |ablation: &crate::ablation::Ablation| {
        let line = ablated.iter().find(|line| {
            line.group == ablation.group
                && (line.setting == ablation.setting
                    || line.setting.starts_with(&format!("{}, ", ablation.setting)))
        })?;
        Some(Row {
            table: ABLATION,
            label: ablation.slug,
            target: NamedTarget::Gmm40,
            method: ablation.method,
            steps: ABLATION_STEPS,
            published: line.published,
            change: ablation.change,
            layout: Layout::List,
        })
    };
    Table {
        name: ABLATION,
        number: Some(2),
        about: "40GMM in five steps, one thing changed at a time; three settings are not the text's",
        targets: &[NamedTarget::Gmm40],
        rows: ABLATIONS.iter().filter_map(row).collect(),
        floors: Vec::new(),
        remark: None,
    }
}

impl Table {
    /// How many figures it has.
    pub fn cells(&self) -> usize {
        Metric::ALL.len() * self.rows.len()
    }

    /// What it is in the paper.
    pub fn title(&self) -> String {
        match self.number {
            Some(number) => format!("Table {number}: {}", self.about),
            None => self.about.to_owned(),
        }
    }

    /// How it is laid out.
    pub(crate) fn layout(&self) -> Layout {
        self.rows.first().map_or(Layout::List, |row| row.layout)
    }
}

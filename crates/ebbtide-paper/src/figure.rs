//! The paper's figures: which rows they are drawn from.

use ebbtide::objective::{GenerationObjective, Method};
use ebbtide::target::NamedTarget;

use crate::{Layout, Row};

/// A figure of the paper.
///
/// ```
/// use ebbtide_paper::{FIGURES, Figure, Paper};
///
/// let paper = Paper::new();
/// let [curves, _, samples, _]: [Figure; 4] = FIGURES;
/// assert_eq!(samples.title(), "Figure 3: samples of Hard Funnel, first two coordinates");
/// // Three methods, in 5 and in 10 steps.
/// assert_eq!(paper.rows().filter(|row| samples.has(row)).count(), 6);
/// // Four methods in six numbers of steps on two mixtures, and in eight on 40GMM, with either objective.
/// assert_eq!(curves.cells(paper.rows()), 2 * 4 * 6 + 2 * 4 * 8);
/// assert_eq!(samples.cells(paper.rows()), 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What it is called here.
    pub name: &'static str,
    /// Its number in the paper.
    pub number: usize,
    /// What it is about.
    pub about: &'static str,
    /// What it shows.
    pub(crate) shows: Shows,
}

/// What a figure shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shows {
    /// ELBO over the number of steps, a panel for each target and kind of method.
    Curves(&'static [Panel]),
    /// First two coordinates of samples.
    Samples {
        /// Of what.
        target: NamedTarget,
        /// In how many steps, a strip for each.
        steps: &'static [usize],
        /// Learned how.
        methods: &'static [Method],
    },
    /// Contours of densities.
    Contours(&'static [NamedTarget]),
}

/// A panel of curves: a target, and how generation learns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    /// What is sampled.
    pub target: NamedTarget,
    /// The generation objective of its methods.
    pub objective: GenerationObjective,
}

impl Panel {
    const fn new(target: NamedTarget, objective: GenerationObjective) -> Self {
        Self { target, objective }
    }

    /// Whether a row is on one of its lines.
    pub(crate) fn has(&self, row: &Row) -> bool {
        row.layout == Layout::OverSteps
            && row.target == self.target
            && row.method.generation() == self.objective
    }
}

/// The seed of the runs that samples are shown of.
pub(crate) const SHOWN: u64 = 0;

const BALANCE: GenerationObjective = GenerationObjective::TrajectoryBalance;

/// All figures that there is something to draw for.
pub const FIGURES: [Figure; 4] = [
    Figure {
        name: "figure-1",
        number: 1,
        about: "ELBO over the number of steps on Gaussian mixtures",
        shows: Shows::Curves(&[
            Panel::new(NamedTarget::Gmm25, BALANCE),
            Panel::new(NamedTarget::DistortedGmm25, BALANCE),
            Panel::new(NamedTarget::Gmm40, BALANCE),
            Panel::new(NamedTarget::Gmm40, GenerationObjective::ReverseKl),
        ]),
    },
    Figure {
        name: "figure-2",
        number: 2,
        about: "ELBO over the number of steps on 125GMM, funnels and wells",
        shows: Shows::Curves(&[
            Panel::new(NamedTarget::Gmm125, BALANCE),
            Panel::new(NamedTarget::EasyFunnel, BALANCE),
            Panel::new(NamedTarget::HardFunnel, BALANCE),
            Panel::new(NamedTarget::DistortedManywell, BALANCE),
        ]),
    },
    Figure {
        name: "figure-3",
        number: 3,
        about: "samples of Hard Funnel, first two coordinates",
        shows: Shows::Samples {
            target: NamedTarget::HardFunnel,
            steps: &[5, 10],
            methods: &[Method::TbFixed, Method::TbVariance, Method::TbTb],
        },
    },
    Figure {
        name: "contours",
        number: 5,
        about: "contours of the two-dimensional mixtures",
        shows: Shows::Contours(&[
            NamedTarget::Gmm25,
            NamedTarget::SlightlyDistortedGmm25,
            NamedTarget::DistortedGmm25,
            NamedTarget::Gmm40,
        ]),
    },
];

impl Figure {
    /// What it is in the paper.
    pub fn title(&self) -> String {
        format!("Figure {}: {}", self.number, self.about)
    }

    /// How many published figures it draws.
    pub fn cells<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> usize {
        match self.shows {
            Shows::Curves(_) => rows.into_iter().filter(|row| self.has(row)).count(),
            Shows::Samples { .. } | Shows::Contours(_) => 0,
        }
    }

    /// Whether it is drawn from a row.
    pub fn has(&self, row: &Row) -> bool {
        match self.shows {
            Shows::Curves(panels) => panels.iter().any(|panel| panel.has(row)),
            Shows::Samples { target, steps, methods } => {
                row.layout == Layout::OverSteps
                    && row.target == target
                    && steps.contains(&row.steps)
                    && methods.contains(&row.method)
            }
            Shows::Contours(_) => false,
        }
    }
}

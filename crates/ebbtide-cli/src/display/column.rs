//! The columns of the table: what stands in them, and which of them a narrow terminal can do without.

use console::style;
use ebbtide_run::number::thousands;

use super::row::{Phase, View};
use crate::words::{self, NOTHING, NUMBER_WIDTH};

/// Characters of a bar.
const BAR: usize = 12;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Which run it is.
    Name,
    /// Iterations done and all there are.
    Iteration,
    /// The same as a bar.
    Bar,
    /// The same as a percentage.
    Percent,
    /// Generation loss; its arrow is that of p→.
    GenerationLoss,
    /// Destruction loss; its arrow is that of p←.
    DestructionLoss,
    /// Lower bound on log Z.
    Elbo,
    /// Upper bound on log Z.
    Eubo,
    /// log Ẑ as it is learned.
    LogZ,
    /// Effective sample size.
    Ess,
    /// Evaluations of the density.
    Evaluations,
    /// Iterations per second.
    Rate,
    /// Time it has taken.
    Elapsed,
    /// Time it still takes, or how it ended.
    Left,
}

impl Column {
    /// All there are, from left to right.
    pub const ALL: [Self; 14] = [
        Self::Name,
        Self::Iteration,
        Self::Bar,
        Self::Percent,
        Self::GenerationLoss,
        Self::DestructionLoss,
        Self::Elbo,
        Self::Eubo,
        Self::LogZ,
        Self::Ess,
        Self::Evaluations,
        Self::Rate,
        Self::Elapsed,
        Self::Left,
    ];

    /// How soon it is left out: the highest rank goes first.
    pub fn rank(self) -> usize {
        match self {
            Self::Name => 0,
            Self::Left => 1,
            Self::Percent => 2,
            Self::GenerationLoss => 3,
            Self::Elbo => 4,
            Self::Ess => 5,
            Self::Iteration => 6,
            Self::DestructionLoss => 7,
            Self::Eubo => 8,
            Self::LogZ => 9,
            Self::Rate => 10,
            Self::Elapsed => 11,
            Self::Evaluations => 12,
            Self::Bar => 13,
        }
    }

    /// What stands above it.
    pub fn header(self) -> &'static str {
        match self {
            Self::Name => "run",
            Self::Iteration => "iteration",
            Self::Bar | Self::Percent => "",
            Self::GenerationLoss => "loss →",
            Self::DestructionLoss => "loss ←",
            Self::Elbo => "ELBO",
            Self::Eubo => "EUBO",
            Self::LogZ => "log Ẑ",
            Self::Ess => "ESS",
            Self::Evaluations => "E(x)",
            Self::Rate => "it/s",
            Self::Elapsed => "elapsed",
            Self::Left => "left",
        }
    }

    /// The width it has at least, so that it does not change with each number.
    pub fn least_width(self) -> usize {
        match self {
            Self::Name | Self::Iteration | Self::Bar => 0,
            Self::Percent => 5,
            Self::GenerationLoss | Self::DestructionLoss | Self::Elbo | Self::Eubo | Self::LogZ => {
                NUMBER_WIDTH
            }
            Self::Ess | Self::Evaluations => 6,
            Self::Rate => 5,
            Self::Elapsed => 9,
            // That of `interrupted`.
            Self::Left => 11,
        }
    }

    /// Whether it begins at its left edge, as text does, and does not end at its right, as numbers do.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Name | Self::Bar)
    }

    /// Whether it is known that no run will ever have something to show here.
    pub fn is_pointless(self, views: &[&View]) -> bool {
        match self {
            Self::DestructionLoss => {
                let mut trained = views.iter().filter(|view| view.generation_loss.is_some()).peekable();
                trained.peek().is_some() && trained.all(|view| view.destruction_loss.is_none())
            }
            Self::Eubo => {
                let mut evaluated = views.iter().filter_map(|view| view.figures).peekable();
                evaluated.peek().is_some() && evaluated.all(|figures| figures.eubo.is_none())
            }
            _ => false,
        }
    }

    /// What a run has to show here.
    pub fn cell(self, view: &View) -> Cell {
        let begun = !matches!(view.phase, Phase::Waiting | Phase::Dropped);
        if !begun && !matches!(self, Self::Name | Self::Left) {
            return Cell::new("", Tone::Plain);
        }
        let tone = |alarm: bool| if alarm { Tone::Warning } else { Tone::Plain };
        let share = view.iteration as f64 / view.iterations.max(1) as f64;
        let number = |value: Option<f64>, alarm: bool| Cell::optional(value.map(words::number), tone(alarm));
        let figures = view.figures.as_ref();
        match self {
            Self::Name => {
                let tone = match Tone::of(view.phase) {
                    Tone::Good => Tone::Plain,
                    tone => tone,
                };
                Cell::new(words::printable(&view.name), tone)
            }
            Self::Iteration => {
                let (done, all) = (thousands(view.iteration), thousands(view.iterations));
                Cell::new(format!("{done:>width$}/{all}", width = all.len()), Tone::Plain)
            }
            Self::Bar => Cell::new(bar(share), Tone::Plain),
            // Rounded down: 100 % is when all is done. In whole numbers, where 29 of 100 are 29.
            Self::Percent => {
                let percent = 100 * u128::from(view.iteration) / u128::from(view.iterations.max(1));
                Cell::new(format!("{percent} %"), Tone::Plain)
            }
            Self::GenerationLoss => number(view.generation_loss, view.alarms.generation_loss),
            Self::DestructionLoss => number(view.destruction_loss, view.alarms.destruction_loss),
            Self::Elbo => number(figures.map(|figures| figures.elbo), view.alarms.elbo),
            Self::Eubo => number(figures.and_then(|figures| figures.eubo), false),
            Self::LogZ => number(view.log_z, false),
            Self::Ess => {
                Cell::optional(figures.map(|figures| words::percentage(figures.ess)), tone(view.alarms.ess))
            }
            Self::Evaluations => Cell::new(words::amount(view.evaluations), Tone::Plain),
            Self::Rate => Cell::optional(view.rate.map(words::rate), Tone::Plain),
            Self::Elapsed => Cell::optional(view.elapsed.map(words::duration), Tone::Plain),
            Self::Left if view.phase == Phase::Training => {
                Cell::optional(view.left.map(words::duration), Tone::Plain)
            }
            Self::Left => Cell::new(view.phase.word(), Tone::of(view.phase)),
        }
    }
}

/// How a cell looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As any text.
    Plain,
    /// Of no importance now.
    Faint,
    /// As it should be.
    Good,
    /// It deserves a second look.
    Warning,
    /// It went wrong.
    Failure,
}

impl Tone {
    /// The tone for a phase.
    pub fn of(phase: Phase) -> Self {
        match phase {
            Phase::Training | Phase::Evaluating => Self::Plain,
            Phase::Waiting | Phase::Dropped => Self::Faint,
            Phase::Done => Self::Good,
            Phase::Interrupted => Self::Warning,
            Phase::Diverged | Phase::Failed => Self::Failure,
        }
    }
}

/// A cell of the table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
}

impl Cell {
    /// A cell that says so.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }

    /// The same, or a dash.
    fn optional(text: Option<String>, tone: Tone) -> Self {
        text.map_or_else(|| Self::new(NOTHING, Tone::Faint), |text| Self::new(text, tone))
    }

    /// The text with the escape codes of its tone, if there is to be colour.
    pub fn paint(&self, colour: bool) -> String {
        if self.tone == Tone::Plain || self.text.is_empty() {
            return self.text.clone();
        }
        let styled = style(&self.text).force_styling(colour);
        let styled = match self.tone {
            Tone::Plain => styled,
            Tone::Faint => styled.dim(),
            Tone::Good => styled.green(),
            Tone::Warning => styled.yellow(),
            Tone::Failure => styled.red(),
        };
        styled.to_string()
    }
}

/// A bar of which a share is heavy.
fn bar(share: f64) -> String {
    let heavy = ((share * BAR as f64) as usize).min(BAR);
    "━".repeat(heavy) + &"─".repeat(BAR - heavy)
}

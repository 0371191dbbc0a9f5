//! Marks: what stands in a chart.

use super::Colour;

/// A point of a chart.
pub(crate) type Point = (f64, f64);

/// Something drawn between the axes, in the units of the axes.
///
/// ```
/// use ebbtide_report::chart::{Colour, Mark, Stroke};
///
/// let points = [(5.0, -0.42), (10.0, f64::INFINITY), (20.0, -0.06)];
/// let (ours, published) = (Mark::line(points, Colour::GREEN), Mark::dashes(points, Colour::GREEN));
/// assert_eq!(ours, Mark::Line { points: points.to_vec(), colour: Colour::GREEN, stroke: Stroke::Solid });
/// assert!(matches!(published, Mark::Line { stroke: Stroke::Dashed, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // of the fields, whose names say it
pub enum Mark {
    /// A line through points; it breaks where one is not finite.
    Line { points: Vec<Point>, colour: Colour, stroke: Stroke },
    /// Many lines, thin and pale.
    Threads { paths: Vec<Vec<Point>>, colour: Colour },
    /// Between two curves: (x, low, high).
    Band { points: Vec<(f64, f64, f64)>, colour: Colour },
    /// A cloud of dots.
    Dots { points: Vec<Point>, colour: Colour, radius: f64 },
    /// Single points, with error bars of this half height.
    Symbols { points: Vec<(f64, f64, Option<f64>)>, colour: Colour, symbol: Symbol },
    /// From the bottom: (from, to, height).
    Bars { bars: Vec<(f64, f64, f64)>, colour: Colour },
    /// A value that matters, across the chart.
    Level { at: f64, colour: Colour },
    /// The same, upright.
    Upright { at: f64, colour: Colour },
    /// Rings around where a density is high; inside of them is filled.
    Region { rings: Vec<Vec<Point>>, fill: Colour, edge: Colour },
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// In one piece.
    Solid,
    /// In dashes.
    Dashed,
}

/// The shape of a single point; it tells lines apart where colours do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Symbol {
    Disc,
    Square,
    Triangle,
    Diamond,
    Ring,
    Box,
    Cross,
    Plus,
}

impl Symbol {
    /// Whether it is drawn by its outline alone; its line is then in dashes.
    pub fn is_open(self) -> bool {
        matches!(self, Symbol::Ring | Symbol::Box | Symbol::Cross | Symbol::Plus)
    }
}

impl Mark {
    /// A line in one piece.
    pub fn line(points: impl IntoIterator<Item = Point>, colour: Colour) -> Self {
        Mark::Line { points: points.into_iter().collect(), colour, stroke: Stroke::Solid }
    }

    /// A line in dashes.
    pub fn dashes(points: impl IntoIterator<Item = Point>, colour: Colour) -> Self {
        Mark::Line { points: points.into_iter().collect(), colour, stroke: Stroke::Dashed }
    }

    /// The outline of a histogram: (from, to, height).
    pub(crate) fn outline(bars: &[(f64, f64, f64)], colour: Colour) -> Self {
        let tops = bars.iter().flat_map(|&(from, to, height)| [(from, height), (to, height)]);
        let ends = (bars.first().map(|bar| (bar.0, 0.0)), bars.last().map(|bar| (bar.1, 0.0)));
        Self::line(ends.0.into_iter().chain(tops).chain(ends.1), colour)
    }
}

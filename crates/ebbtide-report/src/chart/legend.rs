//! The legend: what the marks of a chart are, above them, where it covers nothing.

use svg::node::element::{Group, Path, Rectangle, Text};

use super::draw::{FONT, drawn_symbol, text_width};
use super::{Colour, Mark, Stroke};

/// From one row to the next.
const ROW: f64 = 18.0;
/// Room for what an entry looks like.
const SWATCH: f64 = 22.0;
/// Between entries.
const GAP: f64 = 16.0;

/// Entries with the places they get.
pub struct Legend<'a> {
    entries: Vec<(f64, f64, &'a Mark, &'a str)>,
    rows: usize,
}

impl<'a> Legend<'a> {
    /// Lays entries out in rows of this width.
    pub fn new(entries: &'a [(Mark, String)], width: f64) -> Self {
        let (mut laid, mut across, mut rows) = (Vec::new(), 0.0, 1);
        for (mark, name) in entries {
            let needed = SWATCH + text_width(name, FONT);
            if across > 0.0 && across + needed > width {
                (across, rows) = (0.0, rows + 1);
            }
            laid.push((across, (rows - 1) as f64 * ROW, mark, name.as_str()));
            across += needed + GAP;
        }
        Self { rows: if laid.is_empty() { 0 } else { rows }, entries: laid }
    }

    /// How much room it takes.
    pub fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }

    /// Draws it from its upper left corner.
    pub fn draw(&self, left: f64, top: f64) -> Group {
        self.entries.iter().fold(Group::new(), |group, &(across, down, mark, name)| {
            let (x, y) = (left + across, top + down + 0.5 * ROW);
            let label = Text::new(name)
                .set("x", x + SWATCH)
                .set("y", y)
                .set("dominant-baseline", "central")
                .set("fill", Colour::INK.light);
            swatch(mark, x, y).into_iter().fold(group, Group::add).add(label)
        })
    }
}

/// What a mark looks like, in small.
fn swatch(mark: &Mark, x: f64, y: f64) -> Vec<svg::node::element::Element> {
    let across = |colour: Colour, dashed: bool| {
        let line = Path::new()
            .set("d", format!("M{x:.1} {y:.1}h16"))
            .set("stroke", colour.light)
            .set("stroke-width", 2)
            .set("fill", "none");
        if dashed { line.set("stroke-dasharray", "4 3") } else { line }
    };
    let block = |colour: Colour, opacity: f64| {
        Rectangle::new()
            .set("x", x + 2.0)
            .set("y", y - 5.0)
            .set("width", 12)
            .set("height", 10)
            .set("fill", colour.light)
            .set("fill-opacity", opacity)
    };
    match mark {
        Mark::Line { colour, stroke, .. } => vec![across(*colour, *stroke == Stroke::Dashed).into()],
        Mark::Threads { colour, .. } => vec![across(*colour, false).into()],
        Mark::Level { colour, .. } | Mark::Upright { colour, .. } => vec![across(*colour, true).into()],
        Mark::Band { colour, .. } => vec![block(*colour, 0.25).into()],
        Mark::Bars { colour, .. } => vec![block(*colour, 0.55).into()],
        Mark::Region { fill, edge, .. } => {
            vec![block(*fill, 1.0).set("stroke", edge.light).into()]
        }
        Mark::Dots { colour, .. } => {
            let dot = Path::new()
                .set("d", format!("M{:.1} {y:.1}h0", x + 8.0))
                .set("stroke", colour.light)
                .set("stroke-width", 7)
                .set("stroke-linecap", "round");
            vec![dot.into()]
        }
        Mark::Symbols { colour, symbol, .. } => {
            vec![across(*colour, symbol.is_open()).into(), drawn_symbol(*symbol, *colour, x + 8.0, y).into()]
        }
    }
}

//! ELBO over the number of steps: ours in one piece, the published one in dashes.

use ebbtide::objective::{GenerationObjective, Method};
use ebbtide_report::chart::{Chart, Colour, Form, Mark, Scale, Symbol, Tick, Tip, number};
use ebbtide_report::look;

use super::Picture;
use crate::figure::{Figure, Panel};
use crate::results::Results;
use crate::write::{ours, published};
use crate::{Cell, Metric, Paper, Verdict};

/// What all of them have in common.
pub const NOTE: &str = "Solid lines with symbols are ours, with bars of one standard deviation over seeds; dashed lines of the same colour are the paper's. Where a training diverged, a line has no point. Heights go by factors beyond 0.3.";

/// Bounds nearer to log Z than this are drawn evenly, others by factors: the worst method would squeeze all others together.
const LINEAR: f64 = 0.3;

/// A picture for each panel.
pub fn pictures(figure: &Figure, panels: &[Panel], paper: &Paper, results: &Results) -> Vec<Picture> {
    panels.iter().map(|panel| chart(figure, panel, paper, results).into()).collect()
}

/// Cells of a method, by steps.
struct Curve<'a> {
    method: Method,
    cells: Vec<Cell<'a>>,
}

fn curves<'a>(panel: &Panel, paper: &'a Paper, results: &Results) -> Vec<Curve<'a>> {
    let own = |method: Method| {
        let rows = paper.rows().filter(|row| panel.has(row) && row.method == method);
        let cells: Vec<Cell> = rows.map(|row| Cell::new(paper, results, row, Metric::Elbo)).collect();
        (!cells.is_empty()).then_some(Curve { method, cells })
    };
    Method::ALL.into_iter().filter_map(own).collect()
}

fn chart(figure: &Figure, panel: &Panel, paper: &Paper, results: &Results) -> Chart {
    let curves = curves(panel, paper, results);
    let (kind, way) = match panel.objective {
        GenerationObjective::ReverseKl => ("-pis", ", reverse KL"),
        _ => ("", ""),
    };
    let (name, title) = (format!("{}-{}{kind}", figure.name, panel.target), panel.target.title());
    let all = || curves.iter().flat_map(|curve| &curve.cells);
    let heights = all().flat_map(|cell| {
        let ours = cell.ours.map(|ours| (ours.mean, ours.deviation.unwrap_or(0.0)));
        let ends = ours.map(|(mean, deviation)| [mean - deviation, mean + deviation]);
        cell.published().figure().map(|figure| figure.mean).into_iter().chain(ends.into_iter().flatten())
    });
    let gap = if panel.target.build().log_z() == Some(0.0) { "ELBO" } else { "ELBO − log Z" };
    let mut steps: Vec<usize> = all().map(|cell| cell.row.steps).collect();
    steps.sort_unstable();
    steps.dedup();
    let (first, last) =
        (steps.first().copied().unwrap_or(0) as f64, steps.last().copied().unwrap_or(1) as f64);
    let room = 0.06 * (last - first);
    let ticks = steps.iter().map(|&steps| Tick { value: steps as f64, label: steps.to_string() });
    let dashed = Mark::dashes([], Colour::PENCIL);
    let chart = Chart::new(name, Form::Broad, format!("{title}{way}. Higher is better."))
        .alt(alt(title, &curves))
        .x("steps T", Scale::exact(first - room, last + room))
        .x_ticks(ticks.collect())
        .y(gap, Scale::symmetric(heights, LINEAR))
        .tips(steps.iter().map(|&steps| tip(&curves, steps)));
    curves.iter().fold(chart, line).named(dashed, "paper")
}

/// The lines of a method.
fn line(chart: Chart, curve: &Curve) -> Chart {
    let (colour, symbol) = filled(curve.method);
    let at = |cell: &Cell| cell.row.steps as f64;
    let published =
        curve.cells.iter().map(|cell| (at(cell), cell.published().figure().map_or(f64::NAN, |f| f.mean)));
    let ours: Vec<(f64, f64, Option<f64>)> = curve
        .cells
        .iter()
        .filter_map(|cell| cell.ours.map(|ours| (at(cell), ours.mean, ours.deviation)))
        .collect();
    chart
        .mark(Mark::dashes(published, colour))
        .mark(Mark::line(ours.iter().map(|&(x, y, _)| (x, y)), colour))
        .named(Mark::Symbols { points: ours, colour, symbol }, curve.method.name())
}

/// A method's colour, and a filled symbol: lines in dashes are the paper's here.
fn filled(method: Method) -> (Colour, Symbol) {
    let (colour, symbol) = look(method.name());
    if !symbol.is_open() {
        return (colour, symbol);
    }
    let twin = Method::ALL.into_iter().map(|other| look(other.name())).find(|other| other.0 == colour);
    twin.unwrap_or((colour, symbol))
}

fn tip(curves: &[Curve], steps: usize) -> Tip {
    let line = |curve: &Curve| {
        let cell = curve.cells.iter().find(|cell| cell.row.steps == steps)?;
        Some(format!("\n{} {}", curve.method, words(cell)))
    };
    let lines: String = curves.iter().filter_map(line).collect();
    Tip { x: steps as f64, text: format!("T = {}{lines}", number(steps as f64, 0)) }
}

/// Ours and the paper's in words.
fn words(cell: &Cell) -> String {
    let ours = match (cell.ours, cell.verdict) {
        (None, Verdict::Diverged) => "diverged".to_owned(),
        (None, _) => Verdict::NotRun.name().to_owned(),
        _ => ours(cell, " ± "),
    };
    format!("{ours} (paper {})", published(cell, " ± "))
}

fn alt(title: &str, curves: &[Curve]) -> String {
    let at = |cell: &Cell| format!("T = {}: {}", cell.row.steps, words(cell));
    let method = |curve: &Curve| {
        format!("{}: {}", curve.method, curve.cells.iter().map(at).collect::<Vec<_>>().join(", "))
    };
    let methods: Vec<String> = curves.iter().map(method).collect();
    format!("ELBO of {title} by method and number of steps. {}.", methods.join("; "))
}

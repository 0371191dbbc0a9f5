//! A chart as SVG: frame, grid, ticks, marks, legend, and what a pointer finds.

use svg::node::element::{ClipPath, Definitions, Element, Group, Path, Rectangle, SVG, Text, Title};

use super::legend::Legend;
use super::paths::Area;
use super::{Chart, Colour, Form, Mark, Stroke, Symbol, Tip};

/// Size of all text.
pub const FONT: f64 = 12.0;
const FAMILY: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/// Where a drawing is going to stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a page, as wide as there is room, with the page's colours.
    Page,
    /// Alone, on white.
    File,
}

/// About how wide a text is. No font is asked: a drawing must not depend on which ones there are.
pub fn text_width(text: &str, size: f64) -> f64 {
    let narrow = |letter: char| {
        matches!(
            letter,
            'i' | 'l' | 'I' | '.' | ',' | ':' | '|' | 'j' | 't' | ' ' | '\u{202f}' | '⁰'
                ..='⁹' | '¹' | '²' | '³'
        )
    };
    text.chars().map(|letter| if narrow(letter) { 0.36 } else { 0.61 }).sum::<f64>() * size
}

/// The whole drawing.
pub fn svg(chart: &Chart, place: Place) -> SVG {
    let (width, height) = chart.form.size();
    let (area, legend) = layout(chart);
    let blank = SVG::new()
        .set("viewBox", format!("0 0 {width} {height}"))
        .set("role", "img")
        .set("font-family", FAMILY)
        .set("font-size", FONT);
    let sheet =
        || Rectangle::new().set("width", width).set("height", height).set("fill", Colour::PAPER.light);
    let drawing = match place {
        // A title would pop up beside our own tips.
        Place::Page => blank.set("aria-label", chart.alt.replace('"', "″")),
        Place::File => {
            blank.set("width", width).set("height", height).add(Title::new(chart.alt.as_str())).add(sheet())
        }
    };
    let window = Rectangle::new()
        .set("x", area.left)
        .set("y", area.top)
        .set("width", area.width)
        .set("height", area.height);
    let clip = format!("clip-{}", chart.name);
    let marks = chart.marks.iter().filter(|mark| !matches!(mark, Mark::Symbols { .. }));
    let clipped = marks
        .flat_map(|mark| draw(mark, &area))
        .fold(Group::new().set("clip-path", format!("url(#{clip})")), Group::add);
    // Whole symbols, also at the edge.
    let symbols = chart.marks.iter().filter(|mark| matches!(mark, Mark::Symbols { .. }));
    let drawing = drawing
        .add(Definitions::new().add(ClipPath::new().set("id", clip).add(window)))
        .add(axes(chart, &area))
        .add(clipped)
        .add(symbols.flat_map(|mark| draw(mark, &area)).fold(Group::new(), Group::add))
        .add(legend.draw(area.left, area.top - legend.height() - 6.0));
    match place {
        Place::Page if !chart.tips.is_empty() => drawing.add(tips(&chart.tips, &area)),
        _ => drawing,
    }
}

/// Where everything is: the axes get the room that their numbers need.
fn layout(chart: &Chart) -> (Area, Legend<'_>) {
    let (width, height) = chart.form.size();
    let (x, y) = (chart.x.scale, chart.y.scale);
    if chart.form == Form::Stamp {
        let area = Area { left: 1.0, top: 1.0, width: width - 2.0, height: height - 2.0, x, y };
        return (area, Legend::new(&[], width));
    }
    if chart.form == Form::Small {
        let title = if chart.y.label.is_empty() { 6.0 } else { 20.0 };
        let (width, height) = (width - 16.0, height - 24.0 - title);
        return (Area { left: 8.0, top: title, width, height, x, y }, Legend::new(&[], width));
    }
    let ticks = chart.y.ticks(5);
    let widest = ticks.iter().map(|tick| text_width(&tick.label, FONT)).fold(0.0, f64::max);
    let (left, right) = (widest + 14.0, 26.0);
    let legend = Legend::new(&chart.legend, width - left - right);
    let label = if chart.y.label.is_empty() { 0.0 } else { 20.0 };
    let top = 10.0 + label + legend.height();
    let bottom = if chart.x.label.is_empty() { 24.0 } else { 42.0 };
    let area = Area { left, top, width: width - left - right, height: height - top - bottom, x, y };
    (area, legend)
}

fn axes(chart: &Chart, area: &Area) -> Group {
    let mut group = Group::new();
    let hair =
        |data: String| Path::new().set("d", data).set("stroke", Colour::HAIR.light).set("fill", "none");
    let label = |text: &str, x: f64, y: f64, anchor: &'static str| {
        Text::new(text).set("x", round(x)).set("y", round(y)).set("text-anchor", anchor)
    };
    let frame =
        format!("M{:.1} {:.1}h{:.1}v{:.1}h-{:.1}z", area.left, area.top, area.width, area.height, area.width);
    if chart.form == Form::Stamp {
        return group.add(hair(frame));
    }
    let small = chart.form == Form::Small;
    for tick in chart.x.ticks(if small { 4 } else { 5 }) {
        let x = area.across(tick.value);
        let text = label(&tick.label, x, area.bottom() + 15.0, "middle");
        group = group
            .add(hair(format!("M{x:.1} {:.1}V{:.1}", area.top, area.bottom())))
            .add(text.set("fill", Colour::PENCIL.light));
    }
    if small {
        let title = label(&chart.y.label, area.left, area.top - 6.0, "start").set("fill", Colour::INK.light);
        let ground = format!("M{:.1} {:.1}h{:.1}", area.left, area.bottom(), area.width);
        return group.add(hair(ground).set("stroke", Colour::PENCIL.light)).add(title);
    }
    for tick in chart.y.ticks(5) {
        let y = area.up(tick.value);
        let text = label(&tick.label, area.left - 7.0, y, "end").set("dominant-baseline", "central");
        group = group
            .add(hair(format!("M{:.1} {y:.1}H{:.1}", area.left, area.right())))
            .add(text.set("fill", Colour::PENCIL.light));
    }
    let across = label(&chart.x.label, area.left + 0.5 * area.width, area.bottom() + 34.0, "middle");
    group
        .add(hair(frame))
        .add(across.set("fill", Colour::INK.light))
        .add(label(&chart.y.label, 2.0, 14.0, "start").set("fill", Colour::INK.light))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn stroked(data: String, colour: Colour, width: f64) -> Path {
    Path::new()
        .set("d", data)
        .set("stroke", colour.light)
        .set("stroke-width", width)
        .set("stroke-linejoin", "round")
        .set("fill", "none")
}

fn draw(mark: &Mark, area: &Area) -> Vec<Element> {
    match mark {
        Mark::Line { points, colour, stroke } => {
            let line = stroked(area.line(points), *colour, 1.8);
            vec![if *stroke == Stroke::Dashed { line.set("stroke-dasharray", "5 4") } else { line }.into()]
        }
        Mark::Threads { paths, colour } => {
            let data: String = paths.iter().map(|path| area.line(path)).collect();
            vec![stroked(data, *colour, 0.7).set("stroke-opacity", 0.35).into()]
        }
        Mark::Band { points, colour } => {
            let band = Path::new().set("d", area.band(points)).set("fill", colour.light);
            vec![band.set("fill-opacity", 0.2).into()]
        }
        Mark::Dots { points, colour, radius } => {
            let dots = stroked(area.dots(points), *colour, 2.0 * radius);
            vec![dots.set("stroke-linecap", "round").set("stroke-opacity", 0.55).into()]
        }
        Mark::Symbols { points, colour, symbol } => symbols(points, *colour, *symbol, area),
        Mark::Bars { bars, colour } => {
            let bars = Path::new().set("d", area.bars(bars)).set("fill", colour.light);
            vec![bars.set("fill-opacity", 0.55).into()]
        }
        Mark::Level { at, colour } => {
            let data = format!("M{:.1} {:.1}H{:.1}", area.left, area.up(*at), area.right());
            vec![stroked(data, *colour, 1.4).set("stroke-dasharray", "2 3").into()]
        }
        Mark::Upright { at, colour } => {
            let data = format!("M{:.1} {:.1}V{:.1}", area.across(*at), area.top, area.bottom());
            vec![stroked(data, *colour, 1.4).set("stroke-dasharray", "2 3").into()]
        }
        Mark::Region { rings, fill, edge } => {
            let data: String = rings.iter().map(|ring| area.ring(ring)).collect();
            let region = stroked(data, *edge, 0.6).set("fill", fill.light).set("fill-rule", "evenodd");
            vec![region.into()]
        }
    }
}

fn symbols(points: &[(f64, f64, Option<f64>)], colour: Colour, symbol: Symbol, area: &Area) -> Vec<Element> {
    let mut elements = Vec::new();
    for &(x, y, error) in points.iter().filter(|(x, y, _)| (x + y).is_finite()) {
        let (across, up) = (area.across(x), area.up(y));
        if let Some(error) = error.filter(|error| error.is_finite()) {
            let (low, high) = (area.up(y - error), area.up(y + error).max(area.top));
            let data = format!(
                "M{:.1} {high:.1}h8M{across:.1} {high:.1}V{low:.1}M{:.1} {low:.1}h8",
                across - 4.0,
                across - 4.0,
                low = low.min(area.bottom()),
            );
            elements.push(Path::new().set("d", data).set("stroke", colour.light).set("fill", "none").into());
        }
        elements.push(drawn_symbol(symbol, colour, across, up).into());
    }
    elements
}

/// A symbol around a place.
pub fn drawn_symbol(symbol: Symbol, colour: Colour, x: f64, y: f64) -> Path {
    let from = |dx: f64, dy: f64| format!("M{:.1} {:.1}", x + dx, y + dy);
    let circle = "a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z";
    let data = match symbol {
        Symbol::Disc | Symbol::Ring => from(-4.0, 0.0) + circle,
        Symbol::Square | Symbol::Box => from(-3.6, -3.6) + "h7.2v7.2h-7.2z",
        Symbol::Triangle => from(0.0, -4.8) + "l4.6 8h-9.2z",
        Symbol::Diamond => from(0.0, -5.0) + "l5 5l-5 5l-5 -5z",
        Symbol::Cross => from(-3.6, -3.6) + "l7.2 7.2" + &from(-3.6, 3.6) + "l7.2 -7.2",
        Symbol::Plus => from(-4.4, 0.0) + "h8.8" + &from(0.0, -4.4) + "v8.8",
    };
    let fill = if symbol.is_open() { Colour::PAPER } else { colour };
    Path::new().set("d", data).set("fill", fill.light).set("stroke", colour.light).set("stroke-width", 1.6)
}

/// A pointer further from a place than this is not meant for it.
const WIDEST: f64 = 24.0;

/// Upright strips, unseen, that a pointer finds: each reaches half way to its neighbours.
fn tips(tips: &[Tip], area: &Area) -> Group {
    let places: Vec<f64> = tips.iter().map(|tip| area.across(tip.x)).collect();
    let half = |i: usize, j: usize| match (places.get(i), places.get(j)) {
        (Some(one), Some(other)) => 0.5 * (other - one),
        _ => 0.5 * area.width,
    };
    tips.iter().enumerate().fold(Group::new().set("class", "tips"), |group, (i, tip)| {
        let before = if i > 0 { half(i - 1, i) } else { half(i, i + 1) };
        let after = if i + 1 < tips.len() { half(i, i + 1) } else { before };
        let (before, after) = (before.min(WIDEST), after.min(WIDEST));
        let (left, right) = ((places[i] - before).max(area.left), (places[i] + after).min(area.right()));
        let strip = Rectangle::new()
            .set("x", round(left))
            .set("y", round(area.top))
            .set("width", round((right - left).max(0.0)))
            .set("height", round(area.height))
            .set("data-tip", tip.text.replace('"', "″"));
        group.add(strip)
    })
}

//! Places in a drawing, and the path data that leads through them.

use std::fmt::Write;

use super::{Point, Scale};

/// The rectangle between the axes.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its left edge.
    pub left: f64,
    /// Its upper edge.
    pub top: f64,
    /// How wide.
    pub width: f64,
    /// How high.
    pub height: f64,
    /// What is where from left to right.
    pub x: Scale,
    /// What is where from bottom to top.
    pub y: Scale,
}

/// So far beyond the edges a place is still told apart.
const BEYOND: f64 = 1e4;

impl Area {
    /// Where a value of the x axis is.
    pub fn across(&self, x: f64) -> f64 {
        (self.left + self.width * self.x.place(x)).clamp(-BEYOND, BEYOND)
    }

    /// Where a value of the y axis is.
    pub fn up(&self, y: f64) -> f64 {
        (self.top + self.height * (1.0 - self.y.place(y))).clamp(-BEYOND, BEYOND)
    }

    /// Its lower edge.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Its right edge.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    fn sees(&self, (x, y): Point) -> bool {
        (self.x.low()..=self.x.high()).contains(&x) && (self.y.low()..=self.y.high()).contains(&y)
    }

    /// A line through points, in pieces where one is not finite.
    pub fn line(&self, points: &[Point]) -> String {
        let (mut data, mut drawing) = (String::new(), false);
        for &(x, y) in points {
            if !x.is_finite() || !y.is_finite() {
                drawing = false;
                continue;
            }
            step(&mut data, if drawing { 'L' } else { 'M' }, (self.across(x), self.up(y)));
            drawing = true;
        }
        data
    }

    /// A ring through points.
    pub fn ring(&self, points: &[Point]) -> String {
        let mut data = self.line(points);
        if !data.is_empty() {
            data.push('Z');
        }
        data
    }

    /// A ring around what is between two curves: (x, low, high).
    pub fn band(&self, points: &[(f64, f64, f64)]) -> String {
        let finite = points.iter().filter(|(x, low, high)| (x + low + high).is_finite());
        let above = finite.clone().map(|&(x, _, high)| (x, high));
        let ring: Vec<Point> = above.chain(finite.rev().map(|&(x, low, _)| (x, low))).collect();
        self.ring(&ring)
    }

    /// Bars from the bottom: (from, to, height).
    pub fn bars(&self, bars: &[(f64, f64, f64)]) -> String {
        let ground = self.bottom();
        let bar = |&(from, to, height): &(f64, f64, f64)| {
            let (left, right, top) = (self.across(from), self.across(to), self.up(height));
            format!("M{left:.1} {ground:.1}V{top:.1}H{right:.1}V{ground:.1}z")
        };
        bars.iter().filter(|bar| bar.2 > 0.0).map(bar).collect()
    }

    /// A dot at each point in sight: a line of no length with a round end, a tenth of what an element each would take.
    pub fn dots(&self, points: &[Point]) -> String {
        let mut data = String::new();
        for &(x, y) in points.iter().filter(|&&point| self.sees(point)) {
            step(&mut data, 'M', (self.across(x), self.up(y)));
            data.push_str("h0");
        }
        data
    }
}

fn step(data: &mut String, letter: char, (x, y): Point) {
    data.push(letter);
    coordinate(data, x);
    if (y * 10.0).round() >= 0.0 {
        data.push(' ');
    }
    coordinate(data, y);
}

/// A place to a tenth of a pixel, in as few letters as it takes.
fn coordinate(data: &mut String, value: f64) {
    let tenths = (value * 10.0).round();
    match tenths % 10.0 == 0.0 {
        true => write!(data, "{:.0}", tenths / 10.0 + 0.0),
        false => write!(data, "{:.1}", tenths / 10.0),
    }
    .expect("text takes all");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area() -> Area {
        let unit = Scale::exact(0.0, 1.0);
        Area { left: 10.0, top: 20.0, width: 100.0, height: 50.0, x: unit, y: unit }
    }

    #[test]
    fn up_is_up() {
        assert_eq!(area().line(&[(0.0, 0.0), (1.0, 1.0)]), "M10 70L110 20");
    }

    #[test]
    fn lines_break_where_a_value_is_missing() {
        let points = [(0.0, 0.5), (0.1, 0.5), (0.2, f64::NAN), (0.3, 0.5), (0.4, 0.5)];
        assert_eq!(area().line(&points), "M10 45L20 45M40 45L50 45");
        assert_eq!(area().ring(&[(0.0, f64::INFINITY)]), "");
    }

    #[test]
    fn dots_out_of_sight_are_left_out() {
        assert_eq!(area().dots(&[(0.5, 0.5), (2.0, 0.5), (0.255, 0.1)]), "M60 45h0M35.5 65h0");
    }

    #[test]
    fn places_far_away_stay_numbers() {
        let data = area().line(&[(-1e300, 1e300), (0.5, 0.5)]);
        assert_eq!(data, "M-10000-10000L60 45");
    }
}

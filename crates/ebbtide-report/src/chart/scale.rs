//! Scales: from values to places on an axis, and the ticks that tell them.

use ebbtide_run::number::{number, superscript};

/// How values are laid out along an axis.
///
/// ```
/// use ebbtide_report::chart::{Chart, Form, Scale};
///
/// let elbo = [-800.0, -0.4, -0.2];
/// let drawn = |scale: Scale| Chart::new("elbo", Form::Broad, "Three methods.").y("ELBO", scale).for_file();
/// let has = |drawing: &str, labels: [&str; 2]| labels.map(|label| drawing.contains(label));
///
/// // Evenly, the worst method squeezes the others together; by factors beyond 0.3, it does not.
/// let (even, by_factors) = (drawn(Scale::exact(-800.0, 0.0)), drawn(Scale::symmetric(elbo, 0.3)));
/// assert_eq!(has(&even, ["−400", "−0.1"]), [true, false]);
/// assert_eq!(has(&by_factors, ["−400", "−0.1"]), [false, true]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
    /// Linear within ± the number, logarithmic beyond: for values of both signs over many sizes.
    Symmetric(f64),
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where.
    pub value: f64,
    /// What stands beside it.
    pub label: String,
}

impl Scale {
    /// Even, over these values and a little more. Values that are not finite do not count; without any, from 0 to 1.
    pub(crate) fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values).unwrap_or((0.0, 1.0));
        let room = match high - low {
            span if span > 0.0 => 0.05 * span,
            _ => 0.5 * low.abs().max(1.0),
        };
        Self { kind: Kind::Linear, low: low - room, high: high + room }
    }

    /// Even, from one value to a larger one, no more.
    pub fn exact(low: f64, high: f64) -> Self {
        Self { kind: Kind::Linear, low, high: if high > low { high } else { low + 1.0 } }
    }

    /// By factors, over those values that are above zero.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = extent(values.into_iter().filter(|&value| value > 0.0)).unwrap_or((0.1, 10.0));
        let (low, high) = (low.max(1.0 / LARGEST), high.max(1.0 / LARGEST));
        let room = (high / low).powf(0.05).max(1.1);
        Self { kind: Kind::Log, low: low / room, high: high * room }
    }

    /// Even around zero, by factors beyond ± `linear`.
    pub fn symmetric(values: impl IntoIterator<Item = f64>, linear: f64) -> Self {
        let (low, high) = extent(values).unwrap_or((-1.0, 1.0));
        let scale = Self { kind: Kind::Symmetric(linear), low, high };
        let room = 0.05 * (scale.along(high) - scale.along(low)).max(0.1);
        let widened = |value: f64, by: f64| scale.back(scale.along(value) + by);
        Self { low: widened(low, -room), high: widened(high, room), ..scale }
    }

    /// Even where the values are of one size, by factors where they are not.
    pub(crate) fn fitting(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        let most = sizes.last().copied().unwrap_or(0.0);
        let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
        match most > 30.0 * usual.max(1.0) {
            true => Self::symmetric(values, usual.max(1.0)),
            false => Self::linear(values),
        }
    }

    /// The smallest value shown.
    pub(crate) fn low(&self) -> f64 {
        self.low
    }

    /// The largest value shown.
    pub(crate) fn high(&self) -> f64 {
        self.high
    }

    /// A value's place, 0 at the beginning of the axis and 1 at its end. Zero and less have no place on a logarithmic axis: they are
    /// where it begins.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.along(self.low), self.along(self.high));
        match (self.along(value) - low) / (high - low) {
            place if place.is_finite() => place,
            _ if value > self.high => 1.0,
            _ => 0.0,
        }
    }

    fn along(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Linear => value,
            Kind::Log => value.ln(),
            Kind::Symmetric(linear) => value.signum() * (value / linear).abs().ln_1p(),
        }
    }

    fn back(&self, along: f64) -> f64 {
        match self.kind {
            Kind::Linear => along,
            Kind::Log => along.exp(),
            Kind::Symmetric(linear) => along.signum() * linear * along.abs().exp_m1(),
        }
    }

    /// About `wanted` ticks at round values.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => self.even_ticks(wanted),
            Kind::Log => {
                let powers = self.powers(wanted, 1.0, f64::INFINITY);
                let parts = if powers.len() > 2 { powers } else { self.parts() };
                if parts.len() > 1 { parts } else { self.even_ticks(wanted) }
            }
            Kind::Symmetric(linear) => {
                let mut ticks = self.powers(wanted / 2, -1.0, linear);
                ticks.reverse();
                if (self.low..=self.high).contains(&0.0) {
                    ticks.push(Tick { value: 0.0, label: "0".to_owned() });
                }
                ticks.extend(self.powers(wanted / 2 + 1, 1.0, linear));
                let ticks = self.apart(ticks);
                if ticks.len() > 1 { ticks } else { self.even_ticks(wanted) }
            }
        }
    }

    /// Those that do not get in each other's way: zero, then the larger before the smaller.
    fn apart(&self, mut ticks: Vec<Tick>) -> Vec<Tick> {
        let rank = |tick: &Tick| if tick.value == 0.0 { f64::INFINITY } else { tick.value.abs() };
        ticks.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        let mut kept: Vec<Tick> = Vec::new();
        for tick in ticks {
            let far = |other: &Tick| (self.place(other.value) - self.place(tick.value)).abs() > 0.07;
            if kept.iter().all(far) {
                kept.push(tick);
            }
        }
        kept.sort_by(|a, b| a.value.total_cmp(&b.value));
        kept
    }

    fn even_ticks(&self, wanted: usize) -> Vec<Tick> {
        let rough = (self.high - self.low) / wanted.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|round| round * power).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).clamp(0.0, 100.0) as usize;
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tick = |i: usize| {
            let value = (first + i as f64) * step;
            Tick { value, label: number(value, decimals) }
        };
        (0..=count).map(tick).collect()
    }

    /// 1, 2 and 5 times powers of ten.
    fn parts(&self) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let tick = |exponent: i32, lead: f64| {
            let decimals = exponent.min(0).unsigned_abs() as usize;
            let value = lead * 10_f64.powi(exponent);
            Tick { value, label: number(value, decimals) }
        };
        let all = (first..=last).flat_map(|exponent| [1.0, 2.0, 5.0].map(|lead| tick(exponent, lead)));
        all.filter(|tick| (self.low..=self.high).contains(&tick.value)).collect()
    }

    /// Powers of ten of one sign, those beyond `beyond` (where the scale is by factors), few enough to read.
    fn powers(&self, wanted: usize, sign: f64, beyond: f64) -> Vec<Tick> {
        let inside = |value: f64| value >= self.low && value <= self.high;
        let from = if beyond.is_finite() { beyond } else { self.low.max(f64::MIN_POSITIVE) };
        let to = self.low.abs().max(self.high.abs());
        let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
        let exponents: Vec<i32> =
            (first..=last).filter(|&exponent| inside(sign * 10_f64.powi(exponent))).collect();
        let every = exponents.len().div_ceil(wanted.max(1)).max(1);
        exponents
            .into_iter()
            .step_by(every)
            .map(|exponent| {
                let value = sign * 10_f64.powi(exponent);
                let label = match exponent {
                    0..=3 => number(value, 0),
                    -2..0 => number(value, exponent.unsigned_abs() as usize),
                    _ => format!("{}10{}", if sign < 0.0 { "−" } else { "" }, superscript(exponent)),
                };
                Tick { value, label }
            })
            .collect()
    }
}

/// Larger sizes, and their inverses, are as good as infinite: beyond, room around them would leave the numbers.
const LARGEST: f64 = 1e150;

fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite =
        values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-LARGEST, LARGEST));
    finite.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks(5).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            labels(Scale::exact(0.0, 25_000.0)),
            ["0", "5000", "10\u{202f}000", "15\u{202f}000", "20\u{202f}000", "25\u{202f}000"]
        );
        assert_eq!(labels(Scale::exact(-0.31, 0.22)), ["−0.2", "0.0", "0.2"]);
        assert_eq!(labels(Scale::log([0.02, 60.0])), ["0.1", "1", "10"]);
        assert_eq!(labels(Scale::log([0.3, 6.0])), ["0.5", "1", "2", "5"]);
        assert_eq!(labels(Scale::log([1e-9, 1e9])), ["10⁻⁹", "10⁻⁵", "0.1", "1000", "10⁷"]);
        assert_eq!(labels(Scale::symmetric([-200.0, 5e6], 1.0)), ["−100", "0", "1000", "10⁶"]);
        assert_eq!(labels(Scale::symmetric([-2.0, 2300.0], 1.0)), ["−1", "0", "1", "100"]);
        assert_eq!(labels(Scale::symmetric([-2.0, 2e9], 1.0)), ["0", "10⁴", "10⁸"]);
    }

    #[test]
    fn places_run_from_end_to_end() {
        for scale in [Scale::exact(-2.0, 6.0), Scale::log([0.5, 300.0]), Scale::symmetric([-7.0, 1e5], 0.5)] {
            assert!(scale.place(scale.low()).abs() < 1e-12);
            assert!((scale.place(scale.high()) - 1.0).abs() < 1e-12);
            assert!(scale.place(1.0) < scale.place(2.0));
        }
        assert_eq!(Scale::log([1.0, 10.0]).place(-3.0), 0.0);
        assert_eq!(Scale::exact(0.0, 1.0).place(f64::INFINITY), 1.0);
    }

    #[test]
    fn the_largest_and_the_smallest_numbers_have_ticks_too() {
        let wild = [1e-300, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 0.0];
        for scale in
            [Scale::linear(wild), Scale::log(wild), Scale::symmetric(wild, 1.0), Scale::fitting(wild)]
        {
            let ticks = scale.ticks(5);
            assert!((1..20).contains(&ticks.len()), "{scale:?} {ticks:?}");
            assert!(wild.iter().all(|&value| scale.place(value).is_finite()), "{scale:?}");
        }
    }

    #[test]
    fn nothing_and_one_value_make_a_scale_too() {
        for values in [vec![], vec![f64::NAN], vec![3.0], vec![0.0, 0.0]] {
            for scale in [
                Scale::linear(values.clone()),
                Scale::log(values.clone()),
                Scale::symmetric(values.clone(), 1.0),
                Scale::fitting(values.clone()),
            ] {
                assert!(scale.low() < scale.high(), "{values:?} {scale:?}");
                assert!(!scale.ticks(5).is_empty(), "{values:?} {scale:?}");
            }
        }
    }
}

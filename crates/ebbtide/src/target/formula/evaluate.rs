//! A tape, played for sixteen points at a time: forwards for values, backwards for gradients.

use super::tape::Operation;
use crate::target::saturate;

/// Points that are evaluated side by side.
pub const LANES: usize = 16;

/// A number of each of them.
pub type Lanes = [f64; LANES];

/// A batch to evaluate, with the space for one block of it: a place for each operation, and with a gradient two.
pub struct Batch<'a> {
    pub operations: &'a [Operation],
    pub dim: usize,
    pub points: &'a [f32],
    pub out: &'a mut [f64],
    /// Empty when it is not wanted.
    pub gradient: &'a mut [f32],
    pub space: &'a mut [Lanes],
}

impl Batch<'_> {
    /// How many places a block needs.
    pub fn need(operations: &[Operation], with_gradient: bool) -> usize {
        operations.len() * if with_gradient { 2 } else { 1 }
    }
}

/// Plain loops, compiled once for each generation of vector units.
impl pulp::WithSimd for Batch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { operations, dim, points, out, gradient, space } = self;
        let (values, slopes) = space.split_at_mut(operations.len());
        let block = LANES * dim;
        let mut gradients = gradient.chunks_mut(block);
        for (rows, out) in points.chunks(block).zip(out.chunks_mut(LANES)) {
            forwards(operations, dim, rows, values);
            out.copy_from_slice(&values[operations.len() - 1][..out.len()]);
            if let Some(gradient) = gradients.next() {
                backwards(operations, dim, values, slopes, gradient);
            }
        }
    }
}

/// All values, in order.
#[inline(always)]
fn forwards(operations: &[Operation], dim: usize, rows: &[f32], values: &mut [Lanes]) {
    for (place, operation) in operations.iter().enumerate() {
        let (before, rest) = values.split_at_mut(place);
        let out = &mut rest[0];
        match *operation {
            Operation::Constant(number) => out.fill(number.value()),
            Operation::Coordinate(index) => {
                // Places without a point get the last point's: what is true of it is true of them.
                let last = rows.len() / dim - 1;
                for (lane, out) in out.iter_mut().enumerate() {
                    *out = f64::from(rows[lane.min(last) * dim + index]);
                }
            }
            Operation::Add(a, b) => pairs(&before[a], &before[b], out, |a, b| a + b),
            Operation::Subtract(a, b) => pairs(&before[a], &before[b], out, |a, b| a - b),
            Operation::Multiply(a, b) => pairs(&before[a], &before[b], out, |a, b| a * b),
            Operation::Divide(a, b) => pairs(&before[a], &before[b], out, |a, b| a / b),
            Operation::Fixed(a, power) => {
                for (out, a) in out.iter_mut().zip(&before[a]) {
                    *out = a.powf(power.value());
                }
            }
            Operation::Power(a, b) => pairs(&before[a], &before[b], out, f64::powf),
            Operation::Apply(function, a) => {
                for (out, a) in out.iter_mut().zip(&before[a]) {
                    *out = function.at(*a);
                }
            }
            // NaN is not swallowed, as `f64::min` would do.
            Operation::Min(a, b) => {
                pairs(&before[a], &before[b], out, |a, b| if is_first(a, b) { a } else { b })
            }
            Operation::Max(a, b) => {
                pairs(&before[a], &before[b], out, |a, b| if is_first(b, a) { a } else { b })
            }
            Operation::LogAddExp(a, b) => pairs(&before[a], &before[b], out, log_add_exp),
        }
    }
}

/// Slopes of the last value with respect to all others, from the last to the first; those of the coordinates are the gradient.
#[inline(always)]
fn backwards(
    operations: &[Operation],
    dim: usize,
    values: &[Lanes],
    slopes: &mut [Lanes],
    gradient: &mut [f32],
) {
    gradient.fill(0.0);
    slopes.fill([0.0; LANES]);
    slopes[operations.len() - 1] = [1.0; LANES];
    for (place, operation) in operations.iter().enumerate().rev() {
        let (before, rest) = slopes.split_at_mut(place);
        let (slope, value) = (&rest[0], &values[place]);
        match *operation {
            Operation::Constant(_) => {}
            Operation::Coordinate(index) => {
                for (row, slope) in gradient.chunks_exact_mut(dim).zip(slope) {
                    row[index] = saturate(*slope);
                }
            }
            Operation::Add(a, b) => {
                each(&mut before[a], |lane| slope[lane]);
                each(&mut before[b], |lane| slope[lane]);
            }
            Operation::Subtract(a, b) => {
                each(&mut before[a], |lane| slope[lane]);
                each(&mut before[b], |lane| -slope[lane]);
            }
            Operation::Multiply(a, b) => {
                each(&mut before[a], |lane| slope[lane] * values[b][lane]);
                each(&mut before[b], |lane| slope[lane] * values[a][lane]);
            }
            Operation::Divide(a, b) => {
                each(&mut before[a], |lane| slope[lane] / values[b][lane]);
                each(&mut before[b], |lane| -slope[lane] * value[lane] / values[b][lane]);
            }
            Operation::Fixed(a, power) => each(&mut before[a], |lane| {
                times(slope[lane], || power.value() * values[a][lane].powf(power.value() - 1.0))
            }),
            Operation::Power(a, b) => {
                let (base, exponent) = (&values[a], &values[b]);
                each(&mut before[a], |lane| {
                    times(slope[lane], || exponent[lane] * base[lane].powf(exponent[lane] - 1.0))
                });
                each(&mut before[b], |lane| times(slope[lane] * value[lane], || base[lane].ln()));
            }
            Operation::Apply(function, a) => {
                each(&mut before[a], |lane| {
                    times(slope[lane], || function.slope(values[a][lane], value[lane]))
                });
            }
            Operation::Min(a, b) => {
                let first = |lane: usize| is_first(values[a][lane], values[b][lane]);
                each(&mut before[a], |lane| if first(lane) { slope[lane] } else { 0.0 });
                each(&mut before[b], |lane| if first(lane) { 0.0 } else { slope[lane] });
            }
            Operation::Max(a, b) => {
                let first = |lane: usize| is_first(values[b][lane], values[a][lane]);
                each(&mut before[a], |lane| if first(lane) { slope[lane] } else { 0.0 });
                each(&mut before[b], |lane| if first(lane) { 0.0 } else { slope[lane] });
            }
            Operation::LogAddExp(a, b) => {
                each(&mut before[a], |lane| times(slope[lane], || (values[a][lane] - value[lane]).exp()));
                each(&mut before[b], |lane| times(slope[lane], || (values[b][lane] - value[lane]).exp()));
            }
        }
    }
}

#[inline(always)]
fn pairs(a: &Lanes, b: &Lanes, out: &mut Lanes, of: impl Fn(f64, f64) -> f64) {
    for lane in 0..LANES {
        out[lane] = of(a[lane], b[lane]);
    }
}

#[inline(always)]
fn each(slopes: &mut Lanes, of: impl Fn(usize) -> f64) {
    for (lane, slope) in slopes.iter_mut().enumerate() {
        *slope += of(lane);
    }
}

/// A product that is nothing where nothing goes into it, however steep it is there.
#[inline(always)]
fn times(slope: f64, steepness: impl Fn() -> f64) -> f64 {
    if slope == 0.0 { 0.0 } else { slope * steepness() }
}

/// Whether the first is not the larger one; NaN comes first.
#[inline(always)]
fn is_first(a: f64, b: f64) -> bool {
    a <= b || a.is_nan()
}

fn log_add_exp(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    // Both −∞, or +∞: their difference would be NaN.
    if low == high && high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

//! A tape, played for sixteen points at a time: forwards for values, backwards for gradients.

use super::exp::exp;
use super::function::Function;
use super::tape::{LogSumExp, Operation, Place, Sum};
use crate::target::saturate;

/// Points that are evaluated side by side.
pub const LANES: usize = 16;

/// A number of each of them.
pub type Lanes = [f64; LANES];

/// A batch to evaluate, with the space for one block of it: a place for each operation, and with a gradient two.
pub struct Batch<'a> {
    pub operations: &'a [Operation],
    /// Those that the gradient goes through.
    pub is_on_the_way: &'a [bool],
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
        let Self { operations, is_on_the_way, dim, points, out, gradient, space } = self;
        let (values, slopes) = space.split_at_mut(operations.len());
        let block = LANES * dim;
        let mut gradients = gradient.chunks_mut(block);
        for (rows, out) in points.chunks(block).zip(out.chunks_mut(LANES)) {
            forwards(operations, dim, rows, values);
            out.copy_from_slice(&values[operations.len() - 1][..out.len()]);
            if let Some(gradient) = gradients.next() {
                backwards(operations, is_on_the_way, dim, values, slopes, gradient);
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
            Operation::Sum(ref sum) => total(sum, before, out),
            Operation::Square(a) => singles(&before[a], out, |a| a * a),
            Operation::Largest(ref terms) => largest(terms, before, out),
            Operation::ExpBelow(a, b) => pairs(&before[a], &before[b], out, |a, b| exp(a - finite(b))),
            Operation::LogSumExp(LogSumExp { sum, largest, .. }) => {
                pairs(&before[sum], &before[largest], out, |sum, largest| sum.ln() + finite(largest));
            }
            Operation::Multiply(a, b) => pairs(&before[a], &before[b], out, |a, b| a * b),
            Operation::Divide(a, b) => pairs(&before[a], &before[b], out, |a, b| a / b),
            Operation::Fixed(a, power) => singles(&before[a], out, |a| a.powf(power.value())),
            Operation::Power(a, b) => pairs(&before[a], &before[b], out, f64::powf),
            // By itself, for it becomes vector code.
            Operation::Apply(Function::Exp, a) => singles(&before[a], out, exp),
            Operation::Apply(function, a) => singles(&before[a], out, |a| function.at(a)),
            Operation::Min(a, b) => pairs(&before[a], &before[b], out, smaller),
            Operation::Max(a, b) => pairs(&before[a], &before[b], out, larger),
        }
    }
}

/// Slopes of the last value with respect to all others, from the last to the first; those of the coordinates are the gradient.
#[inline(always)]
fn backwards(
    operations: &[Operation],
    is_on_the_way: &[bool],
    dim: usize,
    values: &[Lanes],
    slopes: &mut [Lanes],
    gradient: &mut [f32],
) {
    gradient.fill(0.0);
    slopes.fill([0.0; LANES]);
    slopes[operations.len() - 1] = [1.0; LANES];
    for place in (0..operations.len()).rev().filter(|place| is_on_the_way[*place]) {
        let (before, rest) = slopes.split_at_mut(place);
        let (slope, value) = (&rest[0], &values[place]);
        match operations[place] {
            // Only a logarithm of a sum of exponentials asks for the latter two, and its slope goes past them.
            Operation::Constant(_) | Operation::Largest(_) | Operation::ExpBelow(..) => {}
            Operation::LogSumExp(LogSumExp { ref terms, sum, .. }) => {
                let mut share = [0.0; LANES];
                pairs(slope, &values[sum], &mut share, |slope, sum| slope / sum);
                for &(term, weight) in terms {
                    each(&mut before[term], |lane| product(share[lane], values[weight][lane]));
                }
            }
            Operation::Sum(Sum { ref terms, by, .. }) => {
                for &(term, factor) in terms {
                    let steepness = factor.value() * by.value();
                    each(&mut before[term], |lane| slope[lane] * steepness);
                }
            }
            Operation::Apply(Function::Exp, a) => {
                each(&mut before[a], |lane| product(slope[lane], value[lane]))
            }
            Operation::Square(a) => each(&mut before[a], |lane| 2.0 * slope[lane] * values[a][lane]),
            Operation::Coordinate(index) => {
                for (row, slope) in gradient.chunks_exact_mut(dim).zip(slope) {
                    row[index] = saturate(*slope);
                }
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
        }
    }
}

#[inline(always)]
fn singles(a: &Lanes, out: &mut Lanes, of: impl Fn(f64) -> f64) {
    for lane in 0..LANES {
        out[lane] = of(a[lane]);
    }
}

#[inline(always)]
fn pairs(a: &Lanes, b: &Lanes, out: &mut Lanes, of: impl Fn(f64, f64) -> f64) {
    for lane in 0..LANES {
        out[lane] = of(a[lane], b[lane]);
    }
}

#[inline(always)]
fn total(sum: &Sum, values: &[Lanes], out: &mut Lanes) {
    let (first, factor) = sum.terms[0];
    let mut all = values[first].map(|value| value * factor.value());
    for &(term, factor) in &sum.terms[1..] {
        for lane in 0..LANES {
            all[lane] += values[term][lane] * factor.value();
        }
    }
    singles(&all, out, |all| all * sum.by.value() + sum.plus.value());
}

#[inline(always)]
fn largest(terms: &[Place], values: &[Lanes], out: &mut Lanes) {
    let mut all = values[terms[0]];
    for term in &terms[1..] {
        for lane in 0..LANES {
            all[lane] = larger(all[lane], values[*term][lane]);
        }
    }
    *out = all;
}

#[inline(always)]
fn each(slopes: &mut Lanes, of: impl Fn(usize) -> f64) {
    for (lane, slope) in slopes.iter_mut().enumerate() {
        *slope += of(lane);
    }
}

/// A product that is nothing where nothing goes into it, however steep it is there.
#[inline(always)]
fn product(slope: f64, steepness: f64) -> f64 {
    let product = slope * steepness;
    if slope == 0.0 { 0.0 } else { product }
}

/// The same where it is not worth finding the steepness in vain.
#[inline(always)]
fn times(slope: f64, steepness: impl Fn() -> f64) -> f64 {
    if slope == 0.0 { 0.0 } else { slope * steepness() }
}

/// Nothing, if it is infinite: a difference to it would be NaN.
#[inline(always)]
fn finite(x: f64) -> f64 {
    if x.is_infinite() { 0.0 } else { x }
}

/// NaN is not swallowed, as `f64::min` would do.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if is_first(a, b) { a } else { b }
}

#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if is_first(b, a) { a } else { b }
}

/// Whether the first is not the larger one; NaN comes first.
#[inline(always)]
fn is_first(a: f64, b: f64) -> bool {
    a <= b || a.is_nan()
}

//! GELU over rows of features: Φ − ½ is a quotient of two short polynomials, and its slope takes one power of two more.
//!
//! By one formula on all machines: the same bits come of vectors of any width. (On 512-bit vectors a table of short polynomials was up to a tenth faster for
//! a whole update at width 64, and trainings parted from those of other machines within a hundred iterations.)
//!
//! A row goes through the formula part by part, with what lies between in the nearest cache. The constants of a part fit the registers,
//! and a processor sees so far ahead that it works on many numbers at a time while the loop is short; in one long loop it would fetch constants and
//! wait for each term of a series.
//!
//! ```
//! use ebbtide::numeric::gelu::{activate, activate_with_slope};
//!
//! // Two rows of two features, three numbers apart. With the bias they are 0, 1 and 8, −8.
//! let (mut z, bias) = ([0.0, 0.0, 9.0, 8.0, -9.0, 9.0], [0.0, 1.0]);
//! let (mut alone, mut slope) = (z, [0.0; 6]);
//! activate_with_slope(&mut z, &mut slope, &bias, 3);
//! // GELU(1) = Φ(1), and far out it is the number itself or nothing. What stands between rows stays.
//! assert!((z[1] - 0.841_344_7).abs() < 1e-6);
//! assert_eq!([z[0], z[2], z[3], z[4], z[5]], [0.0, 9.0, 8.0, 0.0, 9.0]);
//! assert_eq!([slope[0], slope[3], slope[4]], [0.5, 1.0, 0.0]);
//!
//! activate(&mut alone, &bias, 3);
//! assert_eq!(alone, z);
//! ```

use super::vector::ROUND;
use super::{Vectorised, dispatch};

/// z ← GELU(z + bias) for rows of features, `stride` apart.
pub fn activate(z: &mut [f32], bias: &[f32], stride: usize) {
    dispatch(Activate { z, bias, stride });
}

/// As [`activate`], with the derivative at z + bias written beside.
pub fn activate_with_slope(z: &mut [f32], slope: &mut [f32], bias: &[f32], stride: usize) {
    dispatch(ActivateWithSlope { z, slope, bias, stride });
}

/// Numbers between two parts of the formula.
const PART: usize = 256;

pub(super) struct Activate<'a> {
    pub(super) z: &'a mut [f32],
    pub(super) bias: &'a [f32],
    pub(super) stride: usize,
}

impl Vectorised for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut parts = Parts::new();
        for z in self.z.chunks_mut(self.stride) {
            for (z, bias) in z.chunks_mut(PART).zip(self.bias.chunks(PART)) {
                let z = &mut z[..bias.len()];
                let (squares, numerators) = parts.fill(z, bias);
                for ((z, square), numerator) in z.iter_mut().zip(squares).zip(numerators) {
                    *z *= phi(*square, *numerator);
                }
            }
        }
    }
}

pub(super) struct ActivateWithSlope<'a> {
    pub(super) z: &'a mut [f32],
    pub(super) slope: &'a mut [f32],
    pub(super) bias: &'a [f32],
    pub(super) stride: usize,
}

impl Vectorised for ActivateWithSlope<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut parts = Parts::new();
        for (z, slope) in self.z.chunks_mut(self.stride).zip(self.slope.chunks_mut(self.stride)) {
            let pieces = z.chunks_mut(PART).zip(slope.chunks_mut(PART)).zip(self.bias.chunks(PART));
            for ((z, slope), bias) in pieces {
                let (z, slope) = (&mut z[..bias.len()], &mut slope[..bias.len()]);
                let (squares, numerators) = parts.fill(z, bias);
                for (bell, square) in slope.iter_mut().zip(squares.iter()) {
                    *bell = bell_of(*square);
                }
                let parts = squares.iter().zip(numerators.iter());
                for ((z, slope), (square, numerator)) in z.iter_mut().zip(slope).zip(parts) {
                    let (x, phi) = (*z, phi(*square, *numerator));
                    *z = x * phi;
                    *slope = x.mul_add(*slope, phi);
                }
            }
        }
    }
}

/// Beyond this distance from the origin GELU counts as 0 or x, and its slope as 0 or 1: by then they differ from that by less than 7e-7.
const EDGE: f32 = 5.5;

/// What stands between the parts of the formula: x², and the numerator of Φ − ½, with x held within the edge.
struct Parts {
    squares: [f32; PART],
    numerators: [f32; PART],
}

impl Parts {
    #[inline(always)]
    fn new() -> Self {
        Self { squares: [0.0; PART], numerators: [0.0; PART] }
    }

    /// Adds the biases to z, and fills as many of both as there are.
    #[inline(always)]
    fn fill(&mut self, z: &mut [f32], bias: &[f32]) -> (&[f32], &[f32]) {
        let (squares, numerators) = (&mut self.squares[..z.len()], &mut self.numerators[..z.len()]);
        let parts = squares.iter_mut().zip(numerators.iter_mut());
        for ((z, bias), (square, numerator)) in z.iter_mut().zip(bias).zip(parts) {
            *z += bias;
            let x = within_the_edge(*z);
            *square = x * x;
            *numerator = x * polynomial(NUMERATOR, *square);
        }
        (squares, numerators)
    }
}

/// x, or the edge where that is nearer. Not a number stays what it is.
#[inline(always)]
fn within_the_edge(x: f32) -> f32 {
    let x = if x > EDGE { EDGE } else { x };
    if x < -EDGE { -EDGE } else { x }
}

/// Of Φ(x) − ½ = x N(x²) / D(x²), |x| ≤ 5.5: minimax of the error, 7e-9, by Lawson's iteration. Of all roundings to single precision that were tried, this one
/// comes with the smallest error of GELU, and at the edge it is ½ exactly.
const NUMERATOR: [f32; 6] =
    [3.565_770_4e-1, 3.025_781_2e-2, 4.180_571_5e-3, 1.508_985_3e-4, 5.677_572_5e-6, 2.033_349_5e-8];
const DENOMINATOR: [f32; 6] =
    [8.938_062e-1, 2.248_121_2e-1, 2.560_392e-2, 1.684_334_7e-3, 6.582_696e-5, 1.070_336_3e-6];

/// Σ cₖ yᵏ
#[inline(always)]
fn polynomial(c: [f32; 6], y: f32) -> f32 {
    c[5].mul_add(y, c[4]).mul_add(y, c[3]).mul_add(y, c[2]).mul_add(y, c[1]).mul_add(y, c[0])
}

/// Φ(x) from x² and its numerator.
#[inline(always)]
fn phi(square: f32, numerator: f32) -> f32 {
    numerator / polynomial(DENOMINATOR, square) + 0.5
}

const LOG2_INVERSE_SQRT_TAU: f32 = -1.325_748_1;

/// e^(−x²/2) / √2π, and 0 at the edge.
#[inline(always)]
fn bell_of(square: f32) -> f32 {
    let bell = power_of_two(square.mul_add(-0.5 * std::f32::consts::LOG2_E, LOG2_INVERSE_SQRT_TAU));
    if square < EDGE * EDGE { bell } else { 0.0 }
}

/// 2ʸ for y from −120 to 120; outside it may be anything. Relative error below 2e-7.
#[inline(always)]
fn power_of_two(y: f32) -> f32 {
    let whole = y + ROUND;
    let part = y - (whole - ROUND);
    // minimax on |part| ≤ ½ of its error, 1e-7, by exchange in 40 digits; 2⁰ is 1 exactly
    let square = part * part;
    let high =
        square.mul_add(part.mul_add(1.340_686_9e-3, 9.671_602e-3), part.mul_add(5.550_31e-2, 2.402_224e-1));
    let p = square.mul_add(high, part.mul_add(6.931_472e-1, 1.0));
    f32::from_bits(p.to_bits().wrapping_add(whole.to_bits() << 23))
}

#[cfg(test)]
mod tests {
    use super::super::reference::{normal_distribution, sweep};
    use super::*;

    /// Rows of 21 features with a stride of 24: a whole vector, a part of one, and padding.
    const FEATURES: usize = 21;
    const STRIDE: usize = 24;

    fn rows() -> (Vec<f32>, Vec<f32>) {
        let bias: Vec<f32> = (0..FEATURES).map(|i| 0.01 * i as f32).collect();
        let rows = if cfg!(miri) { 10 } else { 4000 };
        let z = (0..rows * STRIDE).map(|i| 28.0 * (i as f32 / (rows * STRIDE) as f32 - 0.5)).collect();
        (z, bias)
    }

    #[test]
    fn rows_are_activated_alike_with_and_without_slopes_and_nothing_between_them() {
        let (z, bias) = rows();
        let (mut values, mut slopes, mut alone) = (z.clone(), vec![7.0; z.len()], z.clone());
        activate_with_slope(&mut values, &mut slopes, &bias, STRIDE);
        activate(&mut alone, &bias, STRIDE);
        assert_eq!(values, alone);
        for (i, &before) in z.iter().enumerate() {
            let (value, slope) = (values[i], slopes[i]);
            if i % STRIDE >= FEATURES {
                assert_eq!((value, slope), (before, 7.0), "padding must not be touched");
                continue;
            }
            let x = f64::from(before + bias[i % STRIDE]);
            assert!(
                (f64::from(value) - x * normal_distribution(x)).abs() <= 2e-7 * x.abs().max(1.0),
                "GELU {x}: {value}"
            );
        }
    }

    #[test]
    fn values_and_slopes_are_accurate() {
        let z: Vec<f32> = sweep(-14.0, 14.0).collect();
        let (mut values, mut slopes) = (z.clone(), z.clone());
        activate_with_slope(&mut values, &mut slopes, &vec![0.0; z.len()], z.len());
        for (i, x) in z.iter().map(|&x| f64::from(x)).enumerate() {
            let (phi, bell) = (normal_distribution(x), (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt());
            let allowed = 2e-7 * x.abs().max(1.0);
            assert!((f64::from(values[i]) - x * phi).abs() <= allowed, "GELU {x}: {}", values[i]);
            assert!((f64::from(slopes[i]) - phi - x * bell).abs() <= allowed, "GELU′ {x}: {}", slopes[i]);
            // Φ itself, and with it erf(x / √2) = 2 Φ(x) − 1, but for the rounding of the product.
            let (found, rounded) = (f64::from(values[i]) / x, f64::from(f32::EPSILON) / 2.0);
            assert!(x.abs() < 1e-30 || (found - phi).abs() <= 2e-7 + rounded, "Φ {x}: {found}, not {phi}");
        }
    }

    #[test]
    fn tails_are_exact_and_nan_stays() {
        let mut z = [-1e30, -40.0, -7.5, 0.0, 7.5, 40.0, 1e30, f32::NAN];
        let mut slope = [9.0; 8];
        activate_with_slope(&mut z, &mut slope, &[0.0; 8], 8);
        assert_eq!(z[..7], [0.0, 0.0, 0.0, 0.0, 7.5, 40.0, 1e30]);
        assert_eq!(slope[..7], [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0]);
        assert!(z[7].is_nan() && slope[7].is_nan());
    }
}

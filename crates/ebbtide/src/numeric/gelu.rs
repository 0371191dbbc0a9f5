//! GELU over rows of features, by powers of two: log₂ Φ is so smooth that a short polynomial has it everywhere.
//!
//! By one formula on all machines: the same bits come of vectors of any width. (On 512-bit vectors a table of short polynomials was up to a tenth faster for
//! a whole update at width 64, and trainings parted from those of other machines within a hundred iterations.)
//!
//! A row goes through the formula part by part, with what lies between in the nearest cache. A processor sees so far ahead that it
//! works on many numbers at a time while the loop is short; in one long loop it would wait for each term of a series.
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
        let mut tails = [0.0; PART];
        for z in self.z.chunks_mut(self.stride) {
            for (z, bias) in z.chunks_mut(PART).zip(self.bias.chunks(PART)) {
                let (z, tails) = (&mut z[..bias.len()], &mut tails[..bias.len()]);
                fill_tails(z, bias, tails);
                for (z, tail) in z.iter_mut().zip(tails) {
                    *z *= phi(*z, *tail);
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
        let mut tails = [0.0; PART];
        for (z, slope) in self.z.chunks_mut(self.stride).zip(self.slope.chunks_mut(self.stride)) {
            let parts = z.chunks_mut(PART).zip(slope.chunks_mut(PART)).zip(self.bias.chunks(PART));
            for ((z, slope), bias) in parts {
                let (z, tails) = (&mut z[..bias.len()], &mut tails[..bias.len()]);
                fill_tails(z, bias, tails);
                // e^(−x²/2) / √2π
                for (bell, z) in slope.iter_mut().zip(z.iter()) {
                    *bell =
                        power_of_two((z * z).mul_add(-0.5 * std::f32::consts::LOG2_E, LOG2_INVERSE_SQRT_TAU));
                }
                for ((z, slope), tail) in z.iter_mut().zip(slope).zip(tails) {
                    let (x, phi) = (*z, phi(*z, *tail));
                    *z = x * phi;
                    *slope = x.mul_add(within(x.abs(), *slope), phi);
                }
            }
        }
    }
}

/// Adds the biases to z, and writes Φ(−|z|) beside.
#[inline(always)]
fn fill_tails(z: &mut [f32], bias: &[f32], tails: &mut [f32]) {
    for ((z, bias), tail) in z.iter_mut().zip(bias).zip(tails.iter_mut()) {
        *z += bias;
        *tail = log2_tail(z.abs());
    }
    for tail in tails {
        *tail = power_of_two(*tail);
    }
}

/// Φ(x) from Φ(−|x|).
#[inline(always)]
fn phi(x: f32, tail: f32) -> f32 {
    let tail = within(x.abs(), tail);
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// `value` where the distance from the origin is below 7, and 0 beyond, where GELU and its slope differ from 0, x and 1 by less than 1e-10: tails end in
/// zero, never among the denormal numbers.
#[inline(always)]
fn within(distance: f32, value: f32) -> f32 {
    if distance < 7.0 { value } else { 0.0 }
}

const LOG2_INVERSE_SQRT_TAU: f32 = -1.325_748_1;

/// log₂ Φ(−z): minimax of the error that it makes in Φ, 4e-8, by exchange in 40 digits. At 0 it is −1 exactly.
///
/// Summed in pairs, so that a processor need not wait for one term after the other.
#[inline(always)]
fn log2_tail(z: f32) -> f32 {
    let square = z * z;
    let low = 0.459_164_33_f32.mul_add(-square, z.mul_add(-1.151_108_8, -1.0));
    let low = (z * square).mul_add(-5.266_661_4e-2, low);
    let high = z.mul_add(-4.070_133e-4, 7.363_159e-3);
    let high = square.mul_add(z.mul_add(8.856_819e-6, -5.768_467_4e-5), high);
    (square * square).mul_add(high, low)
}

/// 1.5 · 2²³: adding it rounds to a whole number, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;

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

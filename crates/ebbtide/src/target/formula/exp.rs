//! eˣ in double precision, without branches, so that a loop over it becomes vector code.

use std::f64::consts::LOG2_E;

/// ln 2 in two parts; the first has zeros enough at its end for its products with whole numbers up to 2¹¹ to be exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Added and taken away again, it rounds to a whole number, which stands in the last bits meanwhile.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// 1/k!, for the powers from 0 on.
const TERMS: [f64; 14] = [
    1.0,
    1.0,
    0.5,
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5_040.0,
    1.0 / 40_320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
];

/// eˣ, to the last two bits; 0 and ∞ where it is beyond all numbers, NaN for NaN.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = x.clamp(-746.0, 710.0);
    let rounded = x.mul_add(LOG2_E, ROUNDER);
    let whole = rounded - ROUNDER;
    let rest = whole.mul_add(-LN_2_LOW, whole.mul_add(-LN_2_HIGH, x));
    let sum = series(rest);
    // 2 to the whole number, in two parts: one alone may be beyond all numbers where the product is not.
    let power = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()) as i64;
    let half = power >> 1;
    sum * two_to(half) * two_to(power - half)
}

/// The sum of all terms: of pairs, then of pairs of those, and so on. One term after the other, each would wait for the one before.
#[inline(always)]
fn series(x: f64) -> f64 {
    let pair = |first: usize| TERMS[first + 1].mul_add(x, TERMS[first]);
    let square = x * x;
    let four = |first: usize| pair(first + 2).mul_add(square, pair(first));
    let fourth = square * square;
    let (low, high) = (four(4).mul_add(fourth, four(0)), pair(12).mul_add(fourth, four(8)));
    high.mul_add(fourth * fourth, low)
}

#[inline(always)]
fn two_to(power: i64) -> f64 {
    f64::from_bits((power.wrapping_add(1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential() {
        for step in -74_000..71_000 {
            let x = f64::from(step) * 0.01 + 1e-5;
            let exact = x.exp();
            // Denormal numbers have fewer bits.
            let tolerance = 5e-16 * exact + 1e-323;
            assert!((exp(x) - exact).abs() <= tolerance || exp(x) == exact, "{x}: {} {exact}", exp(x));
        }
        assert_eq!((exp(0.0), exp(f64::NEG_INFINITY), exp(f64::INFINITY)), (1.0, 0.0, f64::INFINITY));
        assert!(exp(f64::NAN).is_nan());
    }
}

//! exp, ln and tanh for single numbers, in a form that compilers turn into vector code.
//!
//! No branches, no tables, no calls: a loop over any of these vectorises. Errors are bounded by the tests
//! below against double precision.
//!
//! Tails end in zero or in a plain small number, never among the denormal ones: a matrix product that meets
//! those takes several times as long, and a network in training makes ever more of them.

/// 1.5 · 2²³: adding it rounds to a whole number, which then stands in the low bits.
pub(super) const ROUND: f32 = 12_582_912.0;
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// eˣ; relative error below 2e-7. Results below 2⁻¹²⁶ become about 2⁻¹²⁶, and x above 88 counts as 88.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.3, 88.0);
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let k = rounded - ROUND;
    let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2_HIGH, x));
    // minimax on |r| ≤ ln 2 / 2 of (eʳ − 1 − r) / r²
    let p = 1.381_461_2e-3_f32;
    let p = p.mul_add(r, 8.368_71e-3);
    let p = p.mul_add(r, 4.166_838_7e-2);
    let p = p.mul_add(r, 1.666_652_1e-1);
    let p = p.mul_add(r, 4.999_999_3e-1);
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23));
    (r * r).mul_add(p, r + 1.0) * power
}

/// ln x for normal x > 0; relative error below 2e-7.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let shifted = x.to_bits().wrapping_sub(0x3f35_04f3); // so that the mantissa lies in [√½, √2)
    let exponent = (shifted as i32 >> 23) as f32;
    let m = f32::from_bits((shifted & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    // 2 artanh s = 2 (s + s³/3 + s⁵/5 + …), |s| < 0.172
    let p = (2.0_f32 / 9.0).mul_add(s2, 2.0 / 7.0);
    let p = p.mul_add(s2, 2.0 / 5.0);
    let p = p.mul_add(s2, 2.0 / 3.0);
    let tail = (p * s2).mul_add(s, exponent * LN_2_LOW);
    exponent.mul_add(LN_2_HIGH, s.mul_add(2.0, tail))
}

/// tanh x; relative error below 2e-7.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    tanh_and_slope(x).0
}

/// (tanh x, tanh′ x); relative errors below 2e-7 and 3e-7. Beyond |x| = 16 the slope stays what it is there,
/// 5e-14.
///
/// With r = 1 − |tanh x| = 2 / (e^(2|x|) + 1) the slope is r (2 − r). Taken as 1 − tanh² instead, it would have lost
/// all digits where tanh rounds to 1.
#[inline(always)]
pub fn tanh_and_slope(x: f32) -> (f32, f32) {
    let magnitude = x.abs();
    let rest = 2.0 / (exp(2.0 * magnitude.min(16.0)) + 1.0);
    let large = 1.0 - rest;
    let x2 = x * x;
    // minimax on |x| < 0.65 of (tanh x − x) / x³
    let p = -5.514_996_e-3_f32;
    let p = p.mul_add(x2, 2.046_926_7e-2);
    let p = p.mul_add(x2, -5.368_797_6e-2);
    let p = p.mul_add(x2, 1.333_083e-1);
    let p = p.mul_add(x2, -3.333_326e-1);
    let small = (p * x2).mul_add(magnitude, magnitude);
    let value = if magnitude < 0.65 { small } else { large };
    (value.copysign(x), rest * (2.0 - rest))
}

#[cfg(test)]
mod tests {
    use super::super::reference::sweep;
    use super::*;

    /// Relative, and so for small results far below what an absolute bound would ask.
    fn assert_close(name: &str, x: f32, value: f32, exact: f64, bound: f64) {
        let error = (f64::from(value) - exact).abs();
        assert!(error <= bound * exact.abs(), "{name} {x} is {value}, not {exact}");
    }

    #[test]
    fn exp_is_accurate() {
        for x in sweep(-87.0, 88.0).chain(sweep(-1.0, 1.0)) {
            assert_close("exp", x, exp(x), f64::from(x).exp(), 2e-7);
        }
        assert!(exp(-1000.0) < 2e-38 && exp(f32::INFINITY).is_finite());
    }

    #[test]
    fn ln_is_accurate() {
        for x in sweep(-80.0, 80.0).map(f32::exp).chain(sweep(0.05, 3.0)).chain(sweep(0.99, 1.01)) {
            assert_close("ln", x, ln(x), f64::from(x).ln(), 2e-7);
        }
    }

    #[test]
    fn tanh_is_accurate() {
        for x in sweep(-12.0, 12.0).chain(sweep(-0.7, 0.7)).chain(sweep(0.64, 0.72)) {
            assert_close("tanh", x, tanh(x), f64::from(x).tanh(), 2e-7);
        }
        assert_eq!(tanh(1e30), 1.0);
        assert_eq!(tanh(0.0), 0.0);
    }

    #[test]
    fn slope_of_tanh_is_accurate_where_tanh_is_flat() {
        for x in sweep(-16.0, 16.0).chain(sweep(-0.7, 0.7)) {
            let (slope, exact) = (tanh_and_slope(x).1, f64::from(x).cosh().powi(-2));
            assert_close("tanh′", x, slope, exact, 3e-7);
            assert!((f64::from(slope) - exact).abs() < 2e-7, "tanh′ {x}");
        }
        assert_eq!(tanh_and_slope(f32::MAX).1, tanh_and_slope(16.0).1);
    }
}

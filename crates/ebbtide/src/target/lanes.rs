//! Sixteen points side by side: their layout, and an exponential that becomes vector code.

/// How many points are evaluated side by side: one AVX-512 register, two of AVX, four of SSE or NEON.
pub(super) const LANES: usize = 16;

/// One number of each point of a block.
pub(super) type Lanes = [f32; LANES];

/// Transposes up to [`LANES`] points into coordinates; places without a point become the origin.
#[inline(always)]
pub(super) fn gather(rows: &[f32], x: &mut [Lanes]) {
    let d = x.len();
    if rows.len() < LANES * d {
        x.fill([0.0; LANES]);
    }
    for (lane, row) in rows.chunks_exact(d).enumerate() {
        for (x, &value) in x.iter_mut().zip(row) {
            x[lane] = value;
        }
    }
}

/// The reverse of [`gather`].
#[inline(always)]
pub(super) fn scatter(x: &[Lanes], rows: &mut [f32]) {
    for (lane, row) in rows.chunks_exact_mut(x.len()).enumerate() {
        for (value, x) in row.iter_mut().zip(x) {
            *value = x[lane];
        }
    }
}

/// eˣ for x ≤ 0, to 2 parts in 10⁷. Below −60 it stays at e⁻⁶⁰: nothing beside a term of 1, and its
/// products do not fall among the denormal numbers, which are slow. NaN stays NaN.
///
/// x = n log 2 + r with |r| ≤ ½ log 2; eʳ is a polynomial, 2ⁿ is written into the exponent bits.
/// There is no call and no branch, so a loop over lanes becomes vector code.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Adding 1.5 · 2²³ leaves the nearest whole number in the lowest bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    // log 2 in two parts; the first has few enough bits that n times it is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < -60.0 { -60.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let last = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let tail = 1.0 / 6.0 + r * (1.0 / 24.0 + r * last);
    let power = 1.0 + r * (1.0 + r * (0.5 + r * tail));
    let two_to_n = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    power * two_to_n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate_to_the_last_bits() {
        for step in 0..=600_000 {
            let x = step as f32 * -1e-4;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 2e-7, "{x}");
        }
        assert_eq!(exp(f32::NEG_INFINITY), exp(-60.0));
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn scatter_undoes_gather() {
        let rows: Vec<f32> = (0..15).map(|value| value as f32).collect();
        let mut x = [[9.0; LANES]; 3];
        gather(&rows, &mut x);
        assert_eq!((x[1][0], x[0][4], x[2][5]), (1.0, 12.0, 0.0));
        let mut back = vec![0.0; 15];
        scatter(&x, &mut back);
        assert_eq!(back, rows);
    }
}

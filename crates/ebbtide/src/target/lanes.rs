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

/// eˣ for x ≤ 0. Below −60 it stays at e⁻⁶⁰: nothing beside a term of 1, and its products do not fall among
/// the denormal numbers, which are slow. NaN stays NaN.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let value = crate::numeric::vector::exp(x.max(-60.0));
    if x.is_nan() { x } else { value }
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

//! A batch of weights under a logistic regression: log densities and gradients, sixteen points at a time.

use super::super::lanes::{LANES, Lanes, exp, gather, scatter};
use super::regression::{LogisticRegression, ROWS};
use crate::numeric::vector::ln;

/// Coordinates and gradients that are given 16 kB of the stack.
const SMALL: usize = 256;

/// No product of a weight of this size overflows; the likelihood says nothing new beyond it.
const FAR: f32 = 1e30;

impl LogisticRegression {
    /// Evaluates a batch in blocks of [`LANES`] points; `gradient` is empty when it is not wanted.
    pub(super) fn evaluate(&self, points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        if 2 * self.dim <= SMALL {
            self.evaluate_in(&mut [[0.0; LANES]; SMALL], points, out, gradient);
        } else {
            self.evaluate_in(&mut vec![[0.0; LANES]; 2 * self.dim], points, out, gradient);
        }
    }

    fn evaluate_in(&self, space: &mut [Lanes], points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        let (w, slope) = space[..2 * self.dim].split_at_mut(self.dim);
        crate::numeric::vectors().dispatch(Batch { regression: self, points, out, gradient, w, slope });
    }
}

/// A batch to evaluate, with the space for one block of it.
struct Batch<'a> {
    regression: &'a LogisticRegression,
    points: &'a [f32],
    out: &'a mut [f64],
    gradient: &'a mut [f32],
    w: &'a mut [Lanes],
    slope: &'a mut [Lanes],
}

/// Plain loops, compiled once for each generation of vector units; all give the same bits.
impl pulp::WithSimd for Batch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { regression, points, out, gradient, w, slope } = self;
        let block = LANES * regression.dim;
        let mut gradients = gradient.chunks_mut(block);
        for (points, out) in points.chunks(block).zip(out.chunks_mut(LANES)) {
            let gradient = gradients.next();
            gather(points, w);
            for w in w.iter_mut() {
                *w = w.map(|w| w.clamp(-FAR, FAR));
            }
            let slope = if gradient.is_some() { &mut *slope } else { &mut [] };
            slope.fill([0.0; LANES]);
            let misfit = misfit(&regression.tiles, w, slope);
            let prior = points.chunks_exact(regression.dim).map(half_square);
            for ((out, misfit), prior) in out.iter_mut().zip(misfit).zip(prior) {
                *out = regression.constant - prior - misfit;
            }
            if let Some(gradient) = gradient {
                scatter(slope, gradient);
                gradient.iter_mut().zip(points).for_each(|(slope, w)| *slope -= w);
            }
        }
    }
}

/// ½ |w|².
#[inline(always)]
fn half_square(w: &[f32]) -> f64 {
    0.5 * w.iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>()
}

/// Σ_i log(1 + e^{−u_i}) over all rows of all tiles; Σ_i ±σ(−u_i) x_i is added to `slope`, unless that is empty.
#[inline(always)]
fn misfit(tiles: &[[f32; ROWS]], w: &[Lanes], slope: &mut [Lanes]) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for tile in tiles.chunks_exact(w.len()) {
        let mut u = [[0.0; LANES]; ROWS];
        for (x, w) in tile.iter().zip(w) {
            for row in 0..ROWS {
                for lane in 0..LANES {
                    u[row][lane] = x[row].mul_add(w[lane], u[row][lane]);
                }
            }
        }
        // u becomes σ(−u).
        for u in &mut u {
            for lane in 0..LANES {
                let (log, pull) = softplus_and_slope(-u[lane]);
                sum[lane] += f64::from(log);
                u[lane] = pull;
            }
        }
        for (x, slope) in tile.iter().zip(&mut *slope) {
            for row in 0..ROWS {
                for lane in 0..LANES {
                    slope[lane] = x[row].mul_add(u[row][lane], slope[lane]);
                }
            }
        }
    }
    sum
}

/// log(1 + eˣ) and σ(x).
#[inline(always)]
fn softplus_and_slope(x: f32) -> (f32, f32) {
    let small = exp(-x.abs());
    let whole = 1.0 + small;
    let share = 1.0 / whole;
    // What `whole` lost of `small` to rounding is given back, or the logarithm of next to 1 would be 0.
    let log = ln(whole) + (small - (whole - 1.0)) * share;
    let above = x > 0.0;
    (if above { x } else { 0.0 } + log, if above { share } else { small * share })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softplus_is_accurate_everywhere() {
        for step in -59_000..=59_000 {
            let x = step as f32 * 1e-3;
            let (log, slope) = softplus_and_slope(x);
            let exact = f64::from(x);
            let exact = (exact.max(0.0) + (-exact.abs()).exp().ln_1p(), 1.0 / (1.0 + (-exact).exp()));
            assert!((f64::from(log) / exact.0 - 1.0).abs() < 5e-7, "{x}: {log}");
            assert!((f64::from(slope) / exact.1 - 1.0).abs() < 5e-7, "{x}: {slope}");
        }
        assert!(softplus_and_slope(f32::NAN).0.is_nan());
    }
}

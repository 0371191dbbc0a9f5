//! The derivative of an activation over rows of features.

use crate::numeric::aligned::LINE;
use crate::numeric::{Vectorised, dispatch};

/// delta ← delta ⊙ slope for rows of features, `stride` apart, dust swept away; the sums over all rows are added to `sums`
/// if wanted.
pub(super) fn deactivate(
    delta: &mut [f32],
    slope: &[f32],
    features: usize,
    stride: usize,
    sums: Option<&mut [f32]>,
) {
    dispatch(Deactivate { delta, slope, features, stride, sums });
}

struct Deactivate<'a> {
    delta: &'a mut [f32],
    slope: &'a [f32],
    features: usize,
    stride: usize,
    sums: Option<&'a mut [f32]>,
}

/// Features that go down the rows together.
const WAYS: usize = 4 * LINE;

/// Far below what rounding leaves of a gradient, and far above where products become denormal and slow.
const DUST: f32 = 1e-25;

/// A gradient that is as good as zero is zero.
#[inline(always)]
fn without_dust(gradient: f32) -> f32 {
    if gradient.abs() < DUST { 0.0 } else { gradient }
}

impl Vectorised for Deactivate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        for first in (0..self.features).step_by(WAYS) {
            let width = (self.features - first).min(WAYS);
            let mut ways = [0.0_f32; WAYS];
            let rows = self.delta.chunks_mut(self.stride).zip(self.slope.chunks(self.stride));
            for (delta, slope) in rows {
                let (delta, slope) = (&mut delta[first..first + width], &slope[first..first + width]);
                if width == WAYS {
                    sweep(&mut ways, &mut delta[..WAYS], &slope[..WAYS]);
                } else {
                    sweep(&mut ways[..width], delta, slope);
                }
            }
            if let Some(sums) = &mut self.sums {
                for (sum, way) in sums[first..first + width].iter_mut().zip(&ways) {
                    *sum += way;
                }
            }
        }
    }
}

#[inline(always)]
fn sweep(ways: &mut [f32], delta: &mut [f32], slope: &[f32]) {
    for i in 0..ways.len() {
        delta[i] = without_dust(delta[i] * slope[i]);
        ways[i] += delta[i];
    }
}

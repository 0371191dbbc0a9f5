//! GELU and its derivative over rows of features.

use crate::numeric::aligned::LINE;
use crate::numeric::vector::gelu;
use crate::numeric::{Vectorised, dispatch};

/// z ← GELU(z + bias) for rows of features, `stride` apart, with the slopes beside if wanted.
pub(super) fn activate(z: &mut [f32], slope: Option<&mut [f32]>, bias: &[f32], stride: usize) {
    match slope {
        Some(slope) => dispatch(Activate { z, slope, bias, stride }),
        None => dispatch(ActivateOnly { z, bias, stride }),
    }
}

struct Activate<'a> {
    z: &'a mut [f32],
    slope: &'a mut [f32],
    bias: &'a [f32],
    stride: usize,
}

impl Vectorised for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.z.chunks_mut(self.stride).zip(self.slope.chunks_mut(self.stride));
        for (z, slope) in rows {
            for ((z, slope), bias) in z.iter_mut().zip(slope).zip(self.bias) {
                (*z, *slope) = gelu(*z + bias);
            }
        }
    }
}

struct ActivateOnly<'a> {
    z: &'a mut [f32],
    bias: &'a [f32],
    stride: usize,
}

impl Vectorised for ActivateOnly<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for z in self.z.chunks_mut(self.stride) {
            for (z, bias) in z.iter_mut().zip(self.bias) {
                *z = gelu(*z + bias).0;
            }
        }
    }
}

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

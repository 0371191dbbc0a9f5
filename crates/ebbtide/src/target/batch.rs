//! A batch of points under a mixture: log densities and gradients, sixteen points at a time.

use super::lanes::{LANES, Lanes, exp, gather, scatter};
use super::mixture::{Mixture, Spread};

/// Terms, coordinates and gradients that are given 16 kB or 128 kB of the stack.
const SMALL: usize = 256;
const LARGE: usize = 2048;

impl Mixture {
    /// Evaluates a batch in blocks of [`LANES`] points; `gradient` is empty when it is not wanted.
    pub(super) fn evaluate(&self, points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        // One block's terms, coordinates and gradients: on the stack, but for a mixture larger than any known.
        match self.components() + 2 * self.dim {
            need if need <= SMALL => self.evaluate_on_stack::<SMALL>(points, out, gradient),
            need if need <= LARGE => self.evaluate_on_stack::<LARGE>(points, out, gradient),
            need => self.evaluate_in(&mut vec![[0.0; LANES]; need], points, out, gradient),
        }
    }

    /// Never inlined, or small mixtures would take the stack of large ones.
    #[inline(never)]
    fn evaluate_on_stack<const SPACE: usize>(&self, points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        self.evaluate_in(&mut [[0.0; LANES]; SPACE], points, out, gradient);
    }

    fn evaluate_in(&self, space: &mut [Lanes], points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        let (terms, space) = space.split_at_mut(self.components());
        let (x, slope) = space[..2 * self.dim].split_at_mut(self.dim);
        crate::numeric::vectors().dispatch(Batch { mixture: self, points, out, gradient, terms, x, slope });
    }

    /// Writes exp(l_k − max l) over `terms`, where l_k = c_k − ½ |W_k (x − μ_k)|²; returns max l and
    /// the sum of the terms.
    #[inline(always)]
    fn responsibilities(&self, x: &[Lanes], terms: &mut [Lanes]) -> (Lanes, Lanes) {
        let d = self.dim;
        // Not −∞: a point so far away that every l_k overflows still has a value and a direction home.
        let mut largest = [f32::MIN; LANES];
        for (k, (term, mean)) in terms.iter_mut().zip(self.means.chunks_exact(d)).enumerate() {
            let mut square = [0.0; LANES];
            let (scale, constant) = match &self.spread {
                Spread::Isotropic { precision, constant, .. } => {
                    for (x, &mean) in x.iter().zip(mean) {
                        for lane in 0..LANES {
                            let from_mean = x[lane] - mean;
                            square[lane] += from_mean * from_mean;
                        }
                    }
                    (-0.5 * precision, *constant)
                }
                Spread::Full { whitening, constants, .. } => {
                    for (i, row) in whitening[k * d * d..][..d * d].chunks_exact(d).enumerate() {
                        let white = whiten(&row[..=i], x, mean);
                        for lane in 0..LANES {
                            square[lane] += white[lane] * white[lane];
                        }
                    }
                    (-0.5, constants[k])
                }
            };
            for lane in 0..LANES {
                term[lane] = scale * square[lane] + constant;
                largest[lane] = if term[lane] > largest[lane] { term[lane] } else { largest[lane] };
            }
        }
        let mut total = [0.0; LANES];
        for term in terms {
            for lane in 0..LANES {
                term[lane] = exp(term[lane] - largest[lane]);
                total[lane] += term[lane];
            }
        }
        (largest, total)
    }

    /// ∇ log p from the terms of a block and their total.
    #[inline(always)]
    fn slope(&self, x: &[Lanes], terms: &[Lanes], total: &Lanes, slope: &mut [Lanes]) {
        let d = self.dim;
        match &self.spread {
            Spread::Isotropic { precision, .. } => {
                for (j, (slope, x)) in slope.iter_mut().zip(x).enumerate() {
                    let mut sum = [0.0; LANES];
                    for (term, mean) in terms.iter().zip(self.means.chunks_exact(d)) {
                        for lane in 0..LANES {
                            sum[lane] += term[lane] * (mean[j] - x[lane]);
                        }
                    }
                    for lane in 0..LANES {
                        slope[lane] = sum[lane] / total[lane] * precision;
                    }
                }
            }
            Spread::Full { whitening, .. } => {
                slope.fill([0.0; LANES]);
                let components = self.means.chunks_exact(d).zip(whitening.chunks_exact(d * d));
                for (term, (mean, whitening)) in terms.iter().zip(components) {
                    for (i, row) in whitening.chunks_exact(d).enumerate() {
                        let mut white = whiten(&row[..=i], x, mean);
                        for lane in 0..LANES {
                            white[lane] *= term[lane] / total[lane];
                        }
                        for (slope, &weight) in slope.iter_mut().zip(&row[..=i]) {
                            for lane in 0..LANES {
                                slope[lane] -= weight * white[lane];
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A batch to evaluate, with the space for one block of it.
struct Batch<'a> {
    mixture: &'a Mixture,
    points: &'a [f32],
    out: &'a mut [f64],
    gradient: &'a mut [f32],
    terms: &'a mut [Lanes],
    x: &'a mut [Lanes],
    slope: &'a mut [Lanes],
}

/// Plain loops, compiled once for each generation of vector units; all give the same bits.
impl pulp::WithSimd for Batch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { mixture, points, out, gradient, terms, x, slope } = self;
        let block = LANES * mixture.dim;
        let mut gradients = gradient.chunks_mut(block);
        for (rows, out) in points.chunks(block).zip(out.chunks_mut(LANES)) {
            gather(rows, x);
            let (largest, total) = mixture.responsibilities(x, terms);
            for ((out, largest), total) in out.iter_mut().zip(largest).zip(total) {
                *out = f64::from(largest + total.ln());
            }
            if let Some(gradient) = gradients.next() {
                mixture.slope(x, terms, &total, slope);
                scatter(slope, gradient);
            }
        }
    }
}

/// One row of W (x − μ).
#[inline(always)]
fn whiten(row: &[f32], x: &[Lanes], mean: &[f32]) -> Lanes {
    let mut white = [0.0; LANES];
    for ((&weight, x), &mean) in row.iter().zip(x).zip(mean) {
        for lane in 0..LANES {
            white[lane] += weight * (x[lane] - mean);
        }
    }
    white
}

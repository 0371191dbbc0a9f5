//! Mode coverage: which modes the samples reach, and in what proportion.

use super::Estimate;
use crate::target::Modes;

/// How samples are spread over the known modes of a target.
///
/// ```
/// use ebbtide::metric::Coverage;
/// use ebbtide::target::Mixture;
///
/// // Two modes of equal weight; three samples in one, none in the other, one far away.
/// let pair = Mixture::isotropic(1, &[-3.0, 3.0], 0.5)?;
/// let coverage = Coverage::new(&pair, &[-3.1, -2.0, -3.0, 40.0], 1);
/// assert_eq!(coverage.reached, 1);
/// assert_eq!(coverage.frequencies[0].value, 0.75);
/// assert_eq!(coverage.unclaimed.value, 0.25);
/// assert_eq!(coverage.total_variation, 0.5 * (0.25 + 0.5 + 0.25));
/// assert_eq!(coverage.entropy_of_truth, 2.0_f64.ln());
/// # Ok::<(), ebbtide::target::MixtureError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The share of the samples in each mode.
    pub frequencies: Vec<Estimate>,
    /// The share of the samples that no mode claims.
    pub unclaimed: Estimate,
    /// Modes with at least one sample.
    pub reached: usize,
    /// −Σ f log f over the modes.
    pub entropy: f64,
    /// The same of the true weights: what a perfect sampler has.
    pub entropy_of_truth: f64,
    /// Half the sum of |f − weight| over the modes and the unclaimed: 0 when they agree, 1 at worst.
    pub total_variation: f64,
}

impl Coverage {
    /// Counts samples (n × dim by rows, at least one).
    pub fn new(modes: &dyn Modes, samples: &[f32], dim: usize) -> Self {
        let weights = modes.weights();
        let mut counts = vec![0_usize; weights.len()];
        let mut lost = 0_usize;
        for sample in samples.chunks_exact(dim) {
            // A mode that is not in the list claims nothing.
            match modes.mode_of(sample).and_then(|mode| counts.get_mut(mode)) {
                Some(count) => *count += 1,
                None => lost += 1,
            }
        }
        let n = samples.len() / dim;
        let frequencies: Vec<Estimate> = counts.iter().map(|&count| Estimate::share(count, n)).collect();
        let unclaimed = Estimate::share(lost, n);
        let distance: f64 = frequencies.iter().zip(weights).map(|(f, w)| (f.value - w).abs()).sum();
        Self {
            reached: counts.iter().filter(|&&count| count > 0).count(),
            entropy: entropy(frequencies.iter().map(|f| f.value)),
            entropy_of_truth: entropy(weights.iter().copied()),
            total_variation: 0.5 * (distance + unclaimed.value),
            frequencies,
            unclaimed,
        }
    }
}

fn entropy(shares: impl Iterator<Item = f64>) -> f64 {
    -shares.filter(|&share| share > 0.0).map(|share| share * share.ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit intervals [0, 1), [1, 2), [2, 3).
    struct Intervals([f64; 3]);

    impl Modes for Intervals {
        fn weights(&self) -> &[f64] {
            &self.0
        }

        fn mode_of(&self, point: &[f32]) -> Option<usize> {
            (0.0..3.0).contains(&point[0]).then_some(point[0] as usize)
        }
    }

    #[test]
    fn shares_are_counted() {
        let modes = Intervals([0.5, 0.25, 0.25]);
        let coverage = Coverage::new(&modes, &[0.1, 0.2, 1.5, 9.0], 1);
        let shares: Vec<f64> = coverage.frequencies.iter().map(|f| f.value).collect();
        assert_eq!(shares, [0.5, 0.25, 0.0]);
        // √(p (1 − p) / (n − 1))
        assert!((coverage.frequencies[0].standard_error - (0.25_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!((coverage.reached, coverage.unclaimed.value), (2, 0.25));
        assert!((coverage.total_variation - 0.25).abs() < 1e-12);
        let full = Coverage::new(&modes, &[0.1, 0.2, 1.5, 2.0], 1);
        assert_eq!((full.entropy, full.total_variation, full.reached), (full.entropy_of_truth, 0.0, 3));
        assert!((full.entropy - 1.5 * 2.0_f64.ln()).abs() < 1e-12);
    }
}

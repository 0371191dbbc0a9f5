//! Mode coverage: which modes the samples reach, and in what proportion.

use crate::target::Modes;

/// How samples are spread over the known modes of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The share of the samples in each mode.
    pub frequencies: Vec<f64>,
    /// The share of the samples that no mode claims.
    pub unclaimed: f64,
    /// Modes with at least one sample.
    pub reached: usize,
    /// −Σ f log f over the modes, as a share of that of the true weights: 1 when they agree.
    pub entropy: f64,
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
        let n = (samples.len() / dim) as f64;
        let frequencies: Vec<f64> = counts.iter().map(|&count| count as f64 / n).collect();
        let unclaimed = lost as f64 / n;
        let distance: f64 = frequencies.iter().zip(weights).map(|(f, w)| (f - w).abs()).sum();
        let full = entropy(weights);
        Self {
            unclaimed,
            reached: counts.iter().filter(|&&count| count > 0).count(),
            entropy: if full > 0.0 { entropy(&frequencies) / full } else { 1.0 },
            total_variation: 0.5 * (distance + unclaimed),
            frequencies,
        }
    }
}

fn entropy(shares: &[f64]) -> f64 {
    -shares.iter().filter(|&&share| share > 0.0).map(|share| share * share.ln()).sum::<f64>()
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
        assert_eq!(coverage.frequencies, [0.5, 0.25, 0.0]);
        assert_eq!((coverage.reached, coverage.unclaimed), (2, 0.25));
        assert!((coverage.total_variation - 0.25).abs() < 1e-12);
        let full = Coverage::new(&modes, &[0.1, 0.2, 1.5, 2.0], 1);
        assert_eq!((full.entropy, full.total_variation, full.reached), (1.0, 0.0, 3));
    }
}

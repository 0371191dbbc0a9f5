//! ELBO, EUBO and importance-weighted log Z, from the log weights of trajectories.

use super::pareto::pareto_shape;

/// A Monte-Carlo estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error; NaN for a single draw.
    pub standard_error: f64,
}

impl Estimate {
    /// The mean of independent draws.
    ///
    /// ```
    /// use ebbtide::metric::Estimate;
    ///
    /// let mean = Estimate::mean(&[1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(mean.value, 2.5);
    /// assert!((mean.standard_error - (5.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
    /// ```
    pub fn mean(draws: &[f64]) -> Self {
        let n = draws.len() as f64;
        let value = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|draw| (draw - value).powi(2)).sum::<f64>() / (n - 1.0);
        Self { value, standard_error: (variance / n).sqrt() }
    }
}

impl Estimate {
    /// The share of `count` in `n` independent draws: the mean of as many ones and zeros.
    pub(super) fn share(count: usize, n: usize) -> Self {
        let value = count as f64 / n as f64;
        Self { value, standard_error: (value * (1.0 - value) / (n as f64 - 1.0)).sqrt() }
    }
}

/// What the log weights of generated trajectories say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Importance {
    /// log (mean weight): an estimate of log Z.
    pub log_z: Estimate,
    /// Effective sample size, as a share of the draws: (Σ w)² / (n Σ w²).
    pub effective: f64,
    /// Pareto k̂, where there are enough weights: above 0.7 neither figure can be relied upon.
    pub tail: Option<f64>,
}

/// The two bounds on log Z, and the estimate between them.
///
/// A trajectory's log weight is log density + log p← − log p→. Over generated trajectories its mean is the ELBO, at
/// most log Z; over trajectories destroyed from exact samples it is the EUBO, at least log Z. Both
/// touch log Z only where generation is the reversal of destruction.
///
/// ```
/// use ebbtide::metric::{Bounds, Importance};
///
/// // Weights of 1 and 3, equally often: Z is 2. Exact samples have the second three times as often.
/// let (one, three) = (0.0, 3.0_f64.ln());
/// let bounds = Bounds::new(&[one, three], Some(&[one, three, three, three]));
/// let Importance { log_z, effective, .. } = bounds.importance;
/// assert!((log_z.value - 2.0_f64.ln()).abs() < 1e-12);
/// assert!((effective - 16.0 / 20.0).abs() < 1e-12);
/// let eubo = bounds.eubo.expect("of exact samples");
/// assert!(bounds.elbo.value < log_z.value && log_z.value < eubo.value);
/// assert!((eubo.value - 0.75 * three).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Mean log weight of generated trajectories.
    pub elbo: Estimate,
    /// Mean log weight of destroyed trajectories; needs exact samples.
    pub eubo: Option<Estimate>,
    /// From the weights of generated trajectories.
    pub importance: Importance,
}

impl Bounds {
    /// From log weights of generated trajectories, and of destroyed ones where exact samples exist.
    pub fn new(generated: &[f64], destroyed: Option<&[f64]>) -> Self {
        Self {
            elbo: Estimate::mean(generated),
            eubo: destroyed.map(Estimate::mean),
            importance: Importance::new(generated),
        }
    }
}

impl Importance {
    /// From log weights. If all vanish, log Z is −∞ and the effective sample size 0.
    fn new(log_weights: &[f64]) -> Self {
        let n = log_weights.len() as f64;
        let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            let log_z = Estimate { value: most, standard_error: f64::NAN };
            return Self { log_z, effective: 0.0, tail: None };
        }
        let weights = || log_weights.iter().map(|log_weight| (log_weight - most).exp());
        let sum: f64 = weights().sum();
        let squares: f64 = weights().map(|weight| weight * weight).sum();
        let mean = sum / n;
        let variance = weights().map(|weight| (weight - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self {
            // The error of a logarithm is the relative error of its argument.
            log_z: Estimate { value: most + mean.ln(), standard_error: (variance / n).sqrt() / mean },
            effective: sum * sum / (n * squares),
            tail: pareto_shape(log_weights),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_fully_effective() {
        let importance = Importance::new(&[700.0; 10]);
        assert!((importance.log_z.value - 700.0).abs() < 1e-12);
        assert_eq!(importance.log_z.standard_error, 0.0);
        assert!((importance.effective - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_weight_that_outweighs_all_counts_alone() {
        let importance = Importance::new(&[0.0, -1000.0, -1000.0, -1000.0]);
        assert!((importance.effective - 0.25).abs() < 1e-12);
        assert!((importance.log_z.value + 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn weights_that_vanish_are_no_error() {
        let importance = Importance::new(&[f64::NEG_INFINITY; 3]);
        assert_eq!(importance.effective, 0.0);
        assert_eq!(importance.log_z.value, f64::NEG_INFINITY);
    }
}

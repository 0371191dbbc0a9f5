//! How heavy the tail of importance weights is: Pareto k̂.
//!
//! The largest weights, less the largest of the others, are fitted by a generalised Pareto distribution; k̂ is its shape. Weights have finite moments
//! up to 1/k̂: below 0.5 their variance is finite, and above 0.7 estimates do not settle at any number of draws that one would wait for
//! (Vehtari, Simpson, Gelman, Yao and Gabry, Pareto smoothed importance sampling, 2024).

/// Fewer weights than this in the tail say nothing.
const LEAST: usize = 5;

/// The fit is drawn towards k = 0.5 as much as ten more weights would draw it.
const PRIOR: f64 = 10.0;

/// k̂ of log weights; `None` where the tail has too few different weights to tell.
///
/// ```
/// use ebbtide::metric::pareto_shape;
///
/// // Quantiles of weights whose tail is that of a Pareto distribution with k = 0.3.
/// let log_weights: Vec<f64> = (0..10_000).map(|place| -0.3 * ((f64::from(place) + 0.5) / 1e4).ln()).collect();
/// assert!((pareto_shape(&log_weights).unwrap() - 0.3).abs() < 0.05);
/// assert_eq!(pareto_shape(&[0.0; 100]), None);
/// ```
pub fn pareto_shape(log_weights: &[f64]) -> Option<f64> {
    let draws = log_weights.len() as f64;
    let size = (0.2 * draws).min(3.0 * draws.sqrt()).ceil() as usize;
    if size + 1 > log_weights.len() || log_weights.iter().any(|weight| weight.is_nan()) {
        return None;
    }
    let mut sorted = log_weights.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let most = sorted[sorted.len() - 1];
    // Weights next to nothing are nothing.
    let cutoff = (sorted[sorted.len() - size - 1] - most).max(f64::MIN_POSITIVE.ln());
    let above = sorted[sorted.len() - size..].iter().map(|weight| weight - most);
    let excesses: Vec<f64> =
        above.filter(|weight| *weight > cutoff).map(|weight| weight.exp() - cutoff.exp()).collect();
    (excesses.len() >= LEAST).then(|| shape(&excesses)).filter(|shape| shape.is_finite())
}

/// The shape of a generalised Pareto distribution, from its draws in ascending order: the posterior mean over a grid of
/// b = −k/σ, k being the maximum of the likelihood given b (Zhang and Stephens, A new and efficient estimation method
/// for the generalized Pareto distribution, 2009).
fn shape(draws: &[f64]) -> f64 {
    let n = draws.len() as f64;
    let given = |b: f64| draws.iter().map(|draw| (-b * draw).ln_1p()).sum::<f64>() / n;
    let quartile = draws[((n / 4.0 + 0.5) as usize).max(1) - 1];
    let largest = draws[draws.len() - 1];
    let count = 30 + n.sqrt() as usize;
    let grid: Vec<f64> = (0..count)
        .map(|place| {
            let share = count as f64 / (place as f64 + 0.5);
            1.0 / largest + (1.0 - share.sqrt()) / (3.0 * quartile)
        })
        .collect();
    let likelihood = |b: &f64| {
        let k = given(*b);
        n * ((-b / k).ln() - k - 1.0)
    };
    let likelihoods: Vec<f64> = grid.iter().map(likelihood).collect();
    let best = likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = || likelihoods.iter().map(|likelihood| (likelihood - best).exp());
    let mean = grid.iter().zip(weights()).map(|(b, weight)| b * weight).sum::<f64>() / weights().sum::<f64>();
    (n * given(mean) + 0.5 * PRIOR) / (n + PRIOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Address, Purpose};

    /// Numbers between 0 and 1 that no loop can foresee.
    fn uniforms(seed: u64, count: usize) -> Vec<f64> {
        let mut stream = Address::new(seed, Purpose::Sample, 0).stream(0);
        (0..count).map(|_| stream.uniform()).collect()
    }

    #[test]
    fn the_shape_of_known_tails_is_found() {
        for k in [0.1, 0.3, 0.5, 0.7, 1.0, 1.5] {
            let shapes: Vec<f64> = (0..20)
                .map(|seed| {
                    let weights: Vec<f64> =
                        uniforms(seed, 4096).iter().map(|u| -k * (1.0 - u).ln()).collect();
                    pareto_shape(&weights).expect("a shape")
                })
                .collect();
            let mean = shapes.iter().sum::<f64>() / 20.0;
            assert!((mean - k).abs() < 0.08, "{k}: {mean}");
        }
    }

    #[test]
    fn weights_with_an_upper_bound_have_no_tail() {
        let weights: Vec<f64> = uniforms(1, 4096).iter().map(|u| u.ln()).collect();
        assert!(pareto_shape(&weights).expect("a shape") < 0.0);
    }

    #[test]
    fn what_says_nothing_has_no_shape() {
        assert_eq!(pareto_shape(&[]), None);
        assert_eq!(pareto_shape(&[0.0]), None);
        assert_eq!(pareto_shape(&[0.0, 1.0, 2.0, 3.0]), None);
        assert_eq!(pareto_shape(&[f64::NEG_INFINITY; 1000]), None);
        assert_eq!(pareto_shape(&[f64::NAN; 1000]), None);
        let alone = [vec![0.0], vec![-5000.0; 999]].concat();
        assert_eq!(pareto_shape(&alone), None, "one weight is no tail");
    }

    #[test]
    fn a_constant_factor_changes_nothing() {
        let weights: Vec<f64> = uniforms(2, 1000).iter().map(|u| -0.4 * (1.0 - u).ln()).collect();
        let moved: Vec<f64> = weights.iter().map(|weight| weight + 1000.0).collect();
        let (one, other) = (pareto_shape(&weights).expect("a shape"), pareto_shape(&moved).expect("a shape"));
        assert!((one - other).abs() < 1e-9);
    }
}

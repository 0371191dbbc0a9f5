//! What weights are for: draws that are as exact as there are many of them.
//!
//! Both ways choose among generated trajectories by their log weights, so they work for any sampler whose weights are finite; a sampler that
//! never reaches a mode does not reach it so either.

use crate::stream::Address;

/// Chooses `count` trajectories, each as often as its weight says, as evenly as possible: one for each of `count` equal slices of the
/// total weight. Indices are in ascending order. `None` if all weights vanish, or one is NaN or +∞.
///
/// ```
/// use ebbtide::stream::{Address, Purpose};
/// use ebbtide::weighted::resample;
///
/// let address = Address::new(0, Purpose::Resample, 0);
/// let chosen = resample(&[0.0, f64::NEG_INFINITY, 3.0_f64.ln()], 8, address).unwrap();
/// assert_eq!(chosen, [0, 0, 2, 2, 2, 2, 2, 2]);
/// ```
pub fn resample(log_weights: &[f64], count: usize, address: Address) -> Option<Vec<usize>> {
    let most = largest(log_weights)?;
    let total: f64 = log_weights.iter().map(|weight| (weight - most).exp()).sum();
    let mut stream = address.stream(0);
    let (mut place, mut reached) = (0, (log_weights[0] - most).exp());
    let mut chosen = Vec::with_capacity(count);
    for slice in 0..count {
        let height = total * (slice as f64 + stream.uniform()) / count as f64;
        while reached < height && place + 1 < log_weights.len() {
            place += 1;
            reached += (log_weights[place] - most).exp();
        }
        chosen.push(place);
    }
    // Rounding may lead past the last weight that counts.
    let last = log_weights.iter().rposition(|weight| *weight > f64::NEG_INFINITY)?;
    chosen.iter_mut().for_each(|place| *place = (*place).min(last));
    Some(chosen)
}

/// A Markov chain whose distribution tends to the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The trajectory that it is at, after each proposal.
    pub states: Vec<usize>,
    /// How many proposals it went along with.
    pub accepted: usize,
}

/// Independence Metropolis: proposes one trajectory after the other and goes along with it with probability min(1, w′/w).
/// It begins with the first whose weight does not vanish. `None` if there is none, or one is NaN or +∞.
///
/// ```
/// use ebbtide::stream::{Address, Purpose};
/// use ebbtide::weighted::{Chain, independence_chain};
///
/// let address = Address::new(0, Purpose::Resample, 0);
/// let log_weights = [f64::NEG_INFINITY, 0.0, 1.0, -1000.0, 2.0];
/// let Chain { states, accepted } = independence_chain(&log_weights, address).unwrap();
/// assert_eq!(states, [1, 1, 2, 2, 4]);
/// assert_eq!(accepted, 2);
/// ```
pub fn independence_chain(log_weights: &[f64], address: Address) -> Option<Chain> {
    largest(log_weights)?;
    let mut state = log_weights.iter().position(|weight| *weight > f64::NEG_INFINITY)?;
    let (mut stream, mut accepted) = (address.stream(0), 0);
    let states = log_weights.iter().enumerate().map(|(proposed, weight)| {
        // Drawn in any case, so that one weight does not shift the others' randomness.
        let height = stream.uniform().ln();
        if proposed > state && height < weight - log_weights[state] {
            state = proposed;
            accepted += 1;
        }
        state
    });
    let states = states.collect();
    Some(Chain { states, accepted })
}

/// The largest log weight, if it is one to go by.
fn largest(log_weights: &[f64]) -> Option<f64> {
    let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most.is_finite() && !log_weights.iter().any(|weight| weight.is_nan())).then_some(most)
}

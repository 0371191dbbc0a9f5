//! Derivatives by central differences, extrapolated to step zero.

use super::Parameters;

/// The widest step, a power of two so that it is exact; functions here vary on the scale of 1.
const FIRST_STEP: f64 = 1.0 / 16.0;

/// How many times a difference is taken, the step halved each time.
const LEVELS: usize = 6;

/// A derivative and how far it can be trusted.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The derivative.
    pub value: f64,
    /// How much the last refinement moved it.
    pub error: f64,
}

/// f′(at), by Richardson extrapolation of (f(at + h) − f(at − h)) / 2h, whose error is a series in h².
///
/// Row n of the table holds step h/2ⁿ, and column k has the terms up to h^{2k} removed. The entry that agrees best
/// with both of its parents is taken: further right less is truncated, further down more is rounded away.
pub fn derivative(f: &dyn Fn(f64) -> f64, at: f64) -> Estimate {
    let mut best = Estimate { value: f64::NAN, error: f64::INFINITY };
    let mut above: Vec<f64> = Vec::new();
    let mut step = FIRST_STEP;
    for level in 0..LEVELS {
        let mut row = vec![(f(at + step) - f(at - step)) / (2.0 * step)];
        let mut power = 1.0;
        for k in 1..=level {
            power *= 4.0;
            let value = (power * row[k - 1] - above[k - 1]) / (power - 1.0);
            let moved = (value - row[k - 1]).abs();
            let error = moved.max((value - above[k - 1]).abs());
            if error < best.error {
                best = Estimate { value, error };
            }
            row.push(value);
        }
        above = row;
        step *= 0.5;
    }
    best
}

/// ∂ loss / ∂ (coordinate `index` of `tensor`).
pub fn partial(loss: &dyn Fn(&Parameters) -> f64, at: &Parameters, tensor: &str, index: usize) -> Estimate {
    let moved_to = |value: f64| {
        let mut moved = at.clone();
        moved.get_mut(tensor).expect("a tensor of that name")[index] = value;
        loss(&moved)
    };
    derivative(&moved_to, at[tensor][index])
}

/// d loss(at + s · direction) / ds at s = 0; a direction of length about 1 suits the step.
///
/// Tensors that `direction` leaves out stay put.
pub fn directional(loss: &dyn Fn(&Parameters) -> f64, at: &Parameters, direction: &Parameters) -> Estimate {
    let moved_by = |s: f64| {
        let mut moved = at.clone();
        for (name, along) in direction {
            let tensor = moved.get_mut(name).expect("a tensor of that name");
            assert_eq!(tensor.len(), along.len(), "shape of a direction");
            for k in 0..along.len() {
                tensor[k] += s * along[k];
            }
        }
        loss(&moved)
    };
    derivative(&moved_by, 0.0)
}

/// Every partial derivative; meant for small networks.
pub fn gradient(loss: &dyn Fn(&Parameters) -> f64, at: &Parameters) -> Parameters {
    let partials = |name: &String, length: usize| {
        (0..length).map(|index| partial(loss, at, name, index).value).collect()
    };
    at.iter().map(|(name, tensor)| (name.clone(), partials(name, tensor.len()))).collect()
}

//! What a sample consists of.

use super::ExportError;

/// What is written of each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Coordinates of a state.
    pub dim: usize,
    /// Whether each sample comes with the logarithm of its importance weight.
    pub weights: bool,
    /// t_0 … t_T where whole paths are written, T + 1 states each; `None` where only end points are.
    pub times: Option<Vec<f64>>,
}

impl Shape {
    /// States of a sample: T + 1, or 1 for an end point.
    pub(super) fn states(&self) -> usize {
        self.times.as_ref().map_or(1, Vec::len)
    }

    /// Numbers in the states of one sample, which is at least one.
    pub(super) fn values(&self) -> Result<usize, ExportError> {
        let states = self.states();
        // Steps are numbered in 32 bits.
        i32::try_from(states)
            .ok()
            .and(states.checked_mul(self.dim))
            .filter(|&values| values > 0)
            .ok_or(ExportError::Shape { dim: self.dim, states })
    }

    /// Names of the columns where there is a row for each state, from left to right.
    pub(super) fn columns(&self) -> Vec<String> {
        let path = ["sample", "step", "time"].into_iter().filter(|_| self.times.is_some()).map(str::to_owned);
        let coordinates = (0..self.dim).map(|coordinate| format!("x{coordinate}"));
        let weight = self.weights.then(|| "log_weight".to_owned());
        path.chain(coordinates).chain(weight).collect()
    }
}

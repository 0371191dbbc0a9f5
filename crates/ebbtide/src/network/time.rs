//! The time half of the network: run once for each grid point, it ends as a bias of the first layer.

use super::layout::Trunk;
use crate::numeric::gelu::activate_with_slope;
use crate::numeric::matrix::{Matrix, MatrixMut, Write, multiply};

/// Time features, encodings and per-time biases of one trunk, at all grid points.
///
/// Features are sin(c_k t + φ_k) and cos(c_k t + φ_k) with c evenly spaced in [0.1, 100] and learned
/// phases φ. They go through linear, GELU, linear, GELU and the time half of the first backbone layer;
/// what comes out is added to the state half as a bias that depends on the time alone.
///
/// Everything is stored `[time][feature]`.
pub struct TimePass {
    times: Vec<f64>,
    width: usize,
    features: Vec<f32>,
    first: Activation,
    second: Activation,
    biases: Vec<f32>,
    delta: Vec<f32>,
    delta_below: Vec<f32>,
}

/// GELU of a layer and its slope.
struct Activation {
    value: Vec<f32>,
    slope: Vec<f32>,
}

impl Activation {
    fn new(length: usize) -> Self {
        Self { value: vec![0.0; length], slope: vec![0.0; length] }
    }

    /// Adds a bias for each feature, then applies GELU.
    fn apply(&mut self, bias: &[f32]) {
        activate_with_slope(&mut self.value, &mut self.slope, bias, bias.len());
    }
}

impl TimePass {
    /// Room for the times of a grid, t_0 to t_T.
    pub fn new(times: &[f64], width: usize) -> Self {
        let rows = times.len();
        Self {
            times: times.to_vec(),
            width,
            features: vec![0.0; 2 * width * rows],
            first: Activation::new(width * rows),
            second: Activation::new(width * rows),
            biases: vec![0.0; width * rows],
            delta: vec![0.0; width * rows],
            delta_below: vec![0.0; 2 * width * rows],
        }
    }

    /// The bias that time gives the first backbone layer, `[time][feature]`.
    pub fn biases(&self) -> &[f32] {
        &self.biases
    }

    /// Runs the encoder with these parameters.
    pub fn forward(&mut self, trunk: &Trunk, parameters: &[f32]) {
        let (h, rows) = (self.width, self.times.len());
        for (k, &phase) in trunk.phase.of(parameters).iter().enumerate() {
            let frequency = frequency(k, h);
            for (i, &time) in self.times.iter().enumerate() {
                let (sine, cosine) = (frequency * time + f64::from(phase)).sin_cos();
                self.features[2 * h * i + k] = sine as f32;
                self.features[2 * h * i + h + k] = cosine as f32;
            }
        }
        let below = Matrix::by_rows(&self.features, rows, 2 * h);
        let weight = Matrix::by_rows(trunk.time[0].weight.of(parameters), 2 * h, h);
        multiply(MatrixMut::by_rows(&mut self.first.value, rows, h), Write::Replace, below, weight);
        self.first.apply(trunk.time[0].bias.of(parameters));
        let below = Matrix::by_rows(&self.first.value, rows, h);
        let weight = Matrix::by_rows(trunk.time[1].weight.of(parameters), h, h);
        multiply(MatrixMut::by_rows(&mut self.second.value, rows, h), Write::Replace, below, weight);
        self.second.apply(trunk.time[1].bias.of(parameters));
        for row in self.biases.chunks_exact_mut(h) {
            row.copy_from_slice(trunk.first_time.bias.of(parameters));
        }
        let below = Matrix::by_rows(&self.second.value, rows, h);
        let weight = Matrix::by_rows(trunk.first_time.weight.of(parameters), h, h);
        multiply(MatrixMut::by_rows(&mut self.biases, rows, h), Write::Add, below, weight);
    }

    /// Adds to `gradient` what reaches the encoder's parameters from the gradient of the biases.
    pub fn backward(
        &mut self,
        trunk: &Trunk,
        parameters: &[f32],
        bias_gradient: &[f32],
        gradient: &mut [f32],
    ) {
        let (h, rows) = (self.width, self.times.len());
        let above = Matrix::by_rows(bias_gradient, rows, h);
        sum_rows(trunk.first_time.bias.of_mut(gradient), bias_gradient);
        accumulate(trunk.first_time.weight.of_mut(gradient), &self.second.value, h, above, rows);
        let weight = Matrix::by_rows(trunk.first_time.weight.of(parameters), h, h).transposed();
        multiply(MatrixMut::by_rows(&mut self.delta, rows, h), Write::Replace, above, weight);
        scale(&mut self.delta, &self.second.slope);

        sum_rows(trunk.time[1].bias.of_mut(gradient), &self.delta);
        let above = Matrix::by_rows(&self.delta, rows, h);
        accumulate(trunk.time[1].weight.of_mut(gradient), &self.first.value, h, above, rows);
        let weight = Matrix::by_rows(trunk.time[1].weight.of(parameters), h, h).transposed();
        let below = MatrixMut::by_rows(&mut self.delta_below, rows, h);
        multiply(below, Write::Replace, above, weight);
        self.delta.copy_from_slice(&self.delta_below[..h * rows]);
        scale(&mut self.delta, &self.first.slope);

        sum_rows(trunk.time[0].bias.of_mut(gradient), &self.delta);
        let above = Matrix::by_rows(&self.delta, rows, h);
        accumulate(trunk.time[0].weight.of_mut(gradient), &self.features, 2 * h, above, rows);
        let weight = Matrix::by_rows(trunk.time[0].weight.of(parameters), 2 * h, h).transposed();
        multiply(MatrixMut::by_rows(&mut self.delta_below, rows, 2 * h), Write::Replace, above, weight);
        for (k, sum) in trunk.phase.of_mut(gradient).iter_mut().enumerate() {
            for i in 0..rows {
                let (sine, cosine) = (2 * h * i + k, 2 * h * i + h + k);
                *sum += self.delta_below[sine] * self.features[cosine];
                *sum -= self.delta_below[cosine] * self.features[sine];
            }
        }
    }
}

/// c_k of h evenly spaced frequencies from 0.1 to 100.
fn frequency(k: usize, h: usize) -> f64 {
    if h == 1 { 0.1 } else { 0.1 + 99.9 * k as f64 / (h - 1) as f64 }
}

/// gradient += activationsᵀ above
fn accumulate(gradient: &mut [f32], activations: &[f32], inputs: usize, above: Matrix, rows: usize) {
    let outputs = gradient.len() / inputs;
    let below = Matrix::by_rows(activations, rows, inputs).transposed();
    multiply(MatrixMut::by_rows(gradient, inputs, outputs), Write::Add, below, above);
}

fn scale(delta: &mut [f32], slope: &[f32]) {
    for (value, slope) in delta.iter_mut().zip(slope) {
        *value *= slope;
    }
}

fn sum_rows(gradient: &mut [f32], delta: &[f32]) {
    for row in delta.chunks_exact(gradient.len()) {
        for (sum, value) in gradient.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

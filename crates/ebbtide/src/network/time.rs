//! The time half of the network: run once for each grid point, it ends as a bias of the first layer.

use super::backward::add_rows;
use super::layout::{Tensor, Trunk};
use crate::numeric::aligned::Aligned;
use crate::numeric::gelu::activate_with_slope;
use crate::numeric::product::{Panels, Rows, RowsMut, Write, accumulate, multiply, scratch, transpose};

/// Time features, encodings and per-time biases of one trunk, at all grid points.
///
/// Features are sin(c_k t + φ_k) and cos(c_k t + φ_k) with c evenly spaced in [0.1, 100] and learned
/// phases φ. They go through linear, GELU, linear, GELU and the time half of the first backbone layer;
/// what comes out is added to the state half as a bias that depends on the time alone.
///
/// Everything is stored `[time][feature]`. There are few times and many weights, so weights are used as they stand.
pub struct TimePass {
    times: usize,
    width: usize,
    /// (sin c_k t, cos c_k t), `[time][k]`.
    turns: Vec<(f64, f64)>,
    /// (sin φ_k, cos φ_k)
    phases: Vec<(f64, f64)>,
    features: Vec<f32>,
    first: Activation,
    second: Activation,
    biases: Vec<f32>,
    workspace: Workspace,
}

/// Scratch of the way back: the gradient on its way down.
pub struct TimeDescent {
    delta: Vec<f32>,
    delta_below: Vec<f32>,
    workspace: Workspace,
}

impl TimeDescent {
    /// Room for so many times.
    pub fn new(times: usize, width: usize) -> Self {
        Self {
            delta: vec![0.0; width * times],
            delta_below: vec![0.0; 2 * width * times],
            workspace: Workspace::new(times, width),
        }
    }
}

/// GELU of a layer and its slope.
struct Activation {
    value: Vec<f32>,
    slope: Vec<f32>,
}

/// Places for a product's operands.
struct Workspace {
    times: usize,
    /// `[feature][time]`
    turned: Vec<f32>,
    above: Panels,
    scratch: Aligned,
}

impl TimePass {
    /// Room for the times of a grid, t_0 to t_T.
    pub fn new(times: &[f64], width: usize) -> Self {
        let rows = times.len();
        let turn = |time: f64| (0..width).map(move |k| (frequency(k, width) * time).sin_cos());
        let activation = || Activation { value: vec![0.0; width * rows], slope: vec![0.0; width * rows] };
        Self {
            times: rows,
            width,
            turns: times.iter().flat_map(|&time| turn(time)).collect(),
            phases: vec![(0.0, 1.0); width],
            features: vec![0.0; 2 * width * rows],
            first: activation(),
            second: activation(),
            biases: vec![0.0; width * rows],
            workspace: Workspace::new(rows, width),
        }
    }

    /// The bias that time gives the first backbone layer, `[time][feature]`.
    pub fn biases(&self) -> &[f32] {
        &self.biases
    }

    /// Runs the encoder with these parameters.
    pub fn forward(&mut self, trunk: &Trunk, parameters: &[f32]) {
        let h = self.width;
        for (sin_cos, &phase) in self.phases.iter_mut().zip(trunk.phase.of(parameters)) {
            *sin_cos = f64::from(phase).sin_cos();
        }
        // sin and cos of a sum
        for (features, turns) in self.features.chunks_exact_mut(2 * h).zip(self.turns.chunks_exact(h)) {
            let (sines, cosines) = features.split_at_mut(h);
            for (k, ((s, c), (sine, cosine))) in turns.iter().zip(&self.phases).enumerate() {
                sines[k] = (s * cosine + c * sine) as f32;
                cosines[k] = (c * cosine - s * sine) as f32;
            }
        }
        let workspace = &mut self.workspace;
        workspace.up(&self.features, trunk.time[0].weight, parameters, &mut self.first.value);
        self.first.apply(trunk.time[0].bias.of(parameters));
        workspace.up(&self.first.value, trunk.time[1].weight, parameters, &mut self.second.value);
        self.second.apply(trunk.time[1].bias.of(parameters));
        workspace.up(&self.second.value, trunk.first_time.weight, parameters, &mut self.biases);
        for row in self.biases.chunks_exact_mut(h) {
            let biases = row.iter_mut().zip(trunk.first_time.bias.of(parameters));
            biases.for_each(|(sum, bias)| *sum += bias);
        }
    }

    /// Writes to `gradient` what reaches the encoder's parameters from the gradient of the biases.
    pub fn backward(
        &self,
        trunk: &Trunk,
        parameters: &[f32],
        bias_gradient: &[f32],
        gradient: &mut [f32],
        descent: &mut TimeDescent,
    ) {
        let h = self.width;
        let TimeDescent { delta, delta_below, workspace } = descent;
        for bias in [trunk.first_time.bias, trunk.time[1].bias, trunk.time[0].bias, trunk.phase] {
            bias.of_mut(gradient).fill(0.0);
        }
        add_rows(trunk.first_time.bias.of_mut(gradient), bias_gradient);
        workspace.gather(&self.second.value, bias_gradient, trunk.first_time.weight, gradient);
        workspace.down(bias_gradient, trunk.first_time.weight, parameters, delta);
        scale(delta, &self.second.slope);

        add_rows(trunk.time[1].bias.of_mut(gradient), delta);
        workspace.gather(&self.first.value, delta, trunk.time[1].weight, gradient);
        workspace.down(delta, trunk.time[1].weight, parameters, delta_below);
        delta.copy_from_slice(&delta_below[..h * self.times]);
        scale(delta, &self.first.slope);

        add_rows(trunk.time[0].bias.of_mut(gradient), delta);
        workspace.gather(&self.features, delta, trunk.time[0].weight, gradient);
        workspace.down(delta, trunk.time[0].weight, parameters, delta_below);
        let rows = delta_below.chunks_exact(2 * h).zip(self.features.chunks_exact(2 * h));
        for (delta, features) in rows {
            let ((above_sines, above_cosines), (sines, cosines)) = (delta.split_at(h), features.split_at(h));
            for (k, sum) in trunk.phase.of_mut(gradient).iter_mut().enumerate() {
                *sum += above_sines[k] * cosines[k] - above_cosines[k] * sines[k];
            }
        }
    }
}

impl Activation {
    /// Adds a bias for each feature, then applies GELU.
    fn apply(&mut self, bias: &[f32]) {
        activate_with_slope(&mut self.value, &mut self.slope, bias, bias.len());
    }
}

impl Workspace {
    fn new(times: usize, width: usize) -> Self {
        Self {
            times,
            turned: vec![0.0; 2 * width * times],
            above: Panels::new(width, times),
            scratch: Aligned::zeros(scratch(2 * width).max(scratch(times))),
        }
    }

    /// above ← below · weight
    fn up(&mut self, below: &[f32], weight: Tensor, parameters: &[f32], above: &mut [f32]) {
        let (rows, inputs, outputs) = (self.times, weight.inputs, weight.outputs);
        transpose(below, inputs, inputs, &mut self.turned, rows);
        let below = Rows::new(&self.turned, inputs, rows, rows);
        let weight = Rows::new(weight.of(parameters), inputs, outputs, outputs);
        let above = RowsMut::new(above, rows, outputs, outputs);
        accumulate(above, Write::Replace, below, weight, &mut self.scratch);
    }

    /// gradient ← belowᵀ · above
    fn gather(&mut self, below: &[f32], above: &[f32], weight: Tensor, gradient: &mut [f32]) {
        let (rows, inputs, outputs) = (self.times, weight.inputs, weight.outputs);
        let below = Rows::new(below, rows, inputs, inputs);
        let gradient = RowsMut::new(weight.of_mut(gradient), inputs, outputs, outputs);
        accumulate(
            gradient,
            Write::Replace,
            below,
            Rows::new(above, rows, outputs, outputs),
            &mut self.scratch,
        );
    }

    /// below ← above · weightᵀ, as the transpose of weight · aboveᵀ.
    fn down(&mut self, above: &[f32], weight: Tensor, parameters: &[f32], below: &mut [f32]) {
        let (rows, inputs, outputs) = (self.times, weight.inputs, weight.outputs);
        self.above.pack_transposed(above);
        let weight = Rows::new(weight.of(parameters), inputs, outputs, outputs);
        multiply(RowsMut::new(&mut self.turned, inputs, rows, rows), weight, &self.above);
        transpose(&self.turned[..inputs * rows], rows, rows, below, inputs);
    }
}

/// c_k of h evenly spaced frequencies from 0.1 to 100.
fn frequency(k: usize, h: usize) -> f64 {
    if h == 1 { 0.1 } else { 0.1 + 99.9 * k as f64 / (h - 1) as f64 }
}

fn scale(delta: &mut [f32], slope: &[f32]) {
    for (value, slope) in delta.iter_mut().zip(slope) {
        *value *= slope;
    }
}

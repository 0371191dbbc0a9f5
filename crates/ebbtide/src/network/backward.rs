//! Back through the state half of the network: from the heads' gradients to the weights'.

use std::ops::Range;

use super::activation::deactivate;
use super::layout::{Head, Trunk};
use super::packed::{PackedLayer, PackedTrunk};
use super::trunk::{Activations, RowBlocks};
use crate::numeric::aligned::{Aligned, row_stride};
use crate::numeric::product::{Rows, RowsMut, accumulate, multiply, scratch};

/// Where a loss's gradient is gathered.
pub struct Sink {
    /// One place for each parameter of the network.
    pub parameters: Vec<f32>,
    /// Gradient of the per-time biases, `[time][feature]`.
    pub biases: Vec<f32>,
}

impl Sink {
    /// Zeros, for a network with so many parameters, grid points and features.
    pub fn new(parameters: usize, times: usize, width: usize) -> Self {
        Self { parameters: vec![0.0; parameters], biases: vec![0.0; times * width] }
    }

    /// Back to zeros.
    pub fn clear(&mut self) {
        self.parameters.fill(0.0);
        self.biases.fill(0.0);
    }
}

/// One head's share of a backward pass.
pub struct Part<'a> {
    /// The head.
    pub head: Head,
    /// Its weights.
    pub packed: &'a PackedLayer,
    /// The rows it looked at.
    pub rows: Range<usize>,
    /// Gradient of the loss with respect to its raw outputs, `[row][output]`.
    pub raw_gradient: &'a [f32],
    /// Where its gradient goes; `None` if only the states' gradient is wanted.
    pub sink: Option<&'a mut Sink>,
}

/// Scratch of the backward pass: the gradient on its way down, rows of all parts below each other.
pub struct Descent {
    here: Aligned,
    below: Aligned,
    scratch: Aligned,
    head: Vec<f32>,
}

impl Descent {
    /// Room for at most `rows` rows, counted over all parts, of networks whose layers and heads have at most so many inputs
    /// and outputs.
    pub fn new(width: usize, dim: usize, outputs: usize, rows: usize) -> Self {
        let widest = width.max(dim).max(outputs);
        Self {
            here: Aligned::zeros(row_stride(width) * rows),
            below: Aligned::zeros(row_stride(width) * rows),
            scratch: Aligned::zeros(scratch(rows, widest)),
            head: vec![0.0; width * outputs.min(FEW)],
        }
    }
}

/// Below this many outputs the gradient of a head is gathered transposed: its columns would not fill a vector.
const FEW: usize = 16;

/// Carries the parts' gradients down one trunk in a single stack, each into its own sink.
///
/// `states` are those of the forward pass. With `state_gradient`, the gradient with respect to the states
/// is written there, `[row][coordinate]`, rows of all parts below each other.
#[allow(clippy::too_many_arguments)]
pub fn backward(
    trunk: &Trunk,
    packed: &PackedTrunk,
    blocks: RowBlocks,
    states: &[f32],
    activations: &Activations,
    parts: &mut [Part],
    descent: &mut Descent,
    state_gradient: Option<&mut [f32]>,
) {
    let (h, dim, stride) = (activations.width, trunk.state.weight.inputs, activations.stride);
    let stacked: usize = parts.iter().map(|part| part.rows.len()).sum();
    if stacked == 0 {
        return;
    }
    let mut offset = 0;
    for part in parts.iter_mut() {
        let count = part.rows.len();
        part.gather_head(activations, descent);
        let raw = part.raw(count);
        let here = &mut descent.here[offset * stride..];
        multiply(RowsMut::new(here, count, h, stride), raw, &part.packed.down);
        offset += count;
    }
    for (layer, packed) in packed.layers.iter().enumerate().rev() {
        let mut offset = 0;
        for part in parts.iter_mut() {
            let count = part.rows.len();
            let delta = &mut descent.here[offset * stride..(offset + count) * stride];
            let slope = &activations.slopes[layer][part.rows.start * stride..part.rows.end * stride];
            let mut sums = part.sink.as_mut().map(|sink| match layer {
                0 => trunk.state.bias.of_mut(&mut sink.parameters),
                1 => &mut sink.biases[(blocks.first_time + part.rows.start / blocks.each) * h..],
                _ => trunk.hidden[layer - 2].bias.of_mut(&mut sink.parameters),
            });
            let block = if layer == 1 { blocks.each } else { count.max(1) } * stride;
            for (time, (delta, slope)) in delta.chunks_mut(block).zip(slope.chunks(block)).enumerate() {
                let sums = sums.as_mut().map(|sums| &mut sums[time * h..(time + 1) * h]);
                deactivate(delta, slope, h, stride, sums);
            }
            if let Some(sink) = &mut part.sink {
                let (weight, below) = match layer {
                    0 => (trunk.state.weight, Rows::new(&states[part.rows.start * dim..], count, dim, dim)),
                    _ => {
                        let weight =
                            if layer == 1 { trunk.first_state } else { trunk.hidden[layer - 2].weight };
                        let values = &activations.values[layer - 1][part.rows.start * stride..];
                        (weight, Rows::new(values, count, h, stride))
                    }
                };
                let gradient = RowsMut::new(weight.of_mut(&mut sink.parameters), weight.inputs, h, h);
                accumulate(gradient, below, Rows::new(delta, count, h, stride), &mut descent.scratch);
            }
            offset += count;
        }
        let above = Rows::new(&descent.here, stacked, h, stride);
        if layer > 0 {
            multiply(RowsMut::new(&mut descent.below, stacked, h, stride), above, &packed.down);
            std::mem::swap(&mut descent.here, &mut descent.below);
        } else if let Some(gradient) = state_gradient {
            multiply(RowsMut::new(gradient, stacked, dim, dim), above, &packed.down);
            return;
        }
    }
}

impl Part<'_> {
    fn raw(&self, count: usize) -> Rows<'_> {
        let outputs = self.head.dense.weight.outputs;
        Rows::new(self.raw_gradient, count, outputs, outputs)
    }

    /// The gradient of the head's own weights and biases.
    fn gather_head(&mut self, activations: &Activations, descent: &mut Descent) {
        let (dense, count, h) = (self.head.dense, self.rows.len(), activations.width);
        let outputs = dense.weight.outputs;
        let Some(sink) = &mut self.sink else { return };
        let bias = dense.bias.of_mut(&mut sink.parameters);
        for row in self.raw_gradient[..count * outputs].chunks_exact(outputs) {
            for (sum, value) in bias.iter_mut().zip(row) {
                *sum += value;
            }
        }
        let raw = Rows::new(self.raw_gradient, count, outputs, outputs);
        let top = activations.top(self.rows.clone());
        let gradient = dense.weight.of_mut(&mut sink.parameters);
        if outputs >= FEW {
            accumulate(RowsMut::new(gradient, h, outputs, outputs), top, raw, &mut descent.scratch);
            return;
        }
        let transposed = &mut descent.head[..h * outputs];
        transposed.fill(0.0);
        accumulate(RowsMut::new(transposed, outputs, h, h), raw, top, &mut descent.scratch);
        for (output, row) in transposed.chunks_exact(h).enumerate() {
            for (feature, value) in row.iter().enumerate() {
                gradient[feature * outputs + output] += value;
            }
        }
    }
}

//! The state half of the network: encoder, backbone and heads, over a tile of rows.
//!
//! A tile holds blocks of rows, one block for each of several consecutive times. Its activations are
//! small enough to stay in the cache from the forward to the backward pass.

use std::ops::Range;

use super::activation::activate;
use super::layout::{Head, Trunk};
use super::packed::{PackedLayer, PackedTrunk};
use crate::numeric::aligned::{Aligned, row_stride};
use crate::numeric::product::{Rows, RowsMut, multiply};

/// Rows in blocks: `each` rows for every time from `first_time` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBlocks {
    /// Index of the first block's time.
    pub first_time: usize,
    /// How many times.
    pub times: usize,
    /// Rows of each time.
    pub each: usize,
}

impl RowBlocks {
    /// All rows of all blocks.
    pub fn rows(&self) -> usize {
        self.times * self.each
    }

    /// The rows of some of the times.
    pub fn of_times(&self, times: Range<usize>) -> Range<usize> {
        if times.is_empty() {
            return 0..0;
        }
        (times.start - self.first_time) * self.each..(times.end - self.first_time) * self.each
    }
}

/// What the forward pass leaves for the heads and the backward pass.
pub struct Activations {
    pub(super) width: usize,
    pub(super) depth: usize,
    /// How far apart rows are.
    pub(super) stride: usize,
    /// GELU of the encoded state and of each backbone layer, `[row][feature]`.
    pub(super) values: Vec<Aligned>,
    /// Their slopes; only kept by a pass that will be followed by a backward one.
    pub(super) slopes: Vec<Aligned>,
}

impl Activations {
    /// Room for at most `rows` rows.
    pub fn new(width: usize, depth: usize, rows: usize) -> Self {
        let stride = row_stride(width);
        let layers = || (0..=depth).map(|_| Aligned::zeros(stride * rows)).collect();
        Self { width, depth, stride, values: layers(), slopes: layers() }
    }

    /// Some rows of what the heads look at.
    pub(super) fn top(&self, rows: Range<usize>) -> Rows<'_> {
        let count = rows.len();
        Rows::new(&self.values[self.depth][rows.start * self.stride..], count, self.width, self.stride)
    }
}

/// Encodes states and runs the backbone. `states` is `[row][coordinate]`, `biases` as [`super::TimePass`]
/// gives them. Slopes are kept if `slopes`.
#[allow(clippy::too_many_arguments)]
pub fn forward(
    trunk: &Trunk,
    packed: &PackedTrunk,
    parameters: &[f32],
    biases: &[f32],
    blocks: RowBlocks,
    states: &[f32],
    activations: &mut Activations,
    slopes: bool,
) {
    let (h, rows, dim, stride) =
        (activations.width, blocks.rows(), trunk.state.weight.inputs, activations.stride);
    if rows == 0 {
        return;
    }
    for (layer, packed) in packed.layers.iter().enumerate() {
        let (below, here) = activations.values.split_at_mut(layer);
        let below = match below.last() {
            None => Rows::new(states, rows, dim, dim),
            Some(below) => Rows::new(below, rows, h, stride),
        };
        multiply(RowsMut::new(&mut here[0], rows, h, stride), below, &packed.up);
        // Only the first backbone layer has biases that differ from time to time.
        let (bias, block) = match layer {
            0 => (trunk.state.bias.of(parameters), rows),
            1 => (&biases[blocks.first_time * h..], blocks.each),
            _ => (trunk.hidden[layer - 2].bias.of(parameters), rows),
        };
        let values = here[0][..rows * stride].chunks_mut(block * stride);
        let mut places = activations.slopes[layer][..rows * stride].chunks_mut(block * stride);
        for (values, bias) in values.zip(bias.chunks_exact(h)) {
            activate(values, places.next().filter(|_| slopes), bias, stride);
        }
    }
}

/// What a head says about some of the rows: raw outputs, `[row][output]`.
pub fn head_forward(
    head: Head,
    packed: &PackedLayer,
    parameters: &[f32],
    rows: Range<usize>,
    activations: &Activations,
    raw: &mut [f32],
) {
    let (count, outputs) = (rows.len(), head.dense.weight.outputs);
    multiply(RowsMut::new(raw, count, outputs, outputs), activations.top(rows), &packed.up);
    let bias = head.dense.bias.of(parameters);
    for row in raw[..count * outputs].chunks_exact_mut(outputs) {
        for (value, bias) in row.iter_mut().zip(bias) {
            *value += bias;
        }
    }
}

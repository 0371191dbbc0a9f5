//! The state half of the network: encoder, backbone and heads, over a tile of rows.
//!
//! A tile holds blocks of rows, one block for each of several consecutive times. Its activations are
//! small enough to stay in the cache from the forward to the backward pass.

use std::ops::Range;

use super::layout::{Head, Trunk};
use super::packed::{PackedLayer, PackedNetwork, PackedTrunk};
use crate::numeric::aligned::{Aligned, row_stride};
use crate::numeric::gelu::{activate, activate_with_slope};
use crate::numeric::product::{Rows, RowsMut, multiply};
use crate::numeric::{Vectorised, dispatch};

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

/// Wider layers than this have weights that do not fit the nearest cache.
pub(super) const WIDE: usize = 128;
const CHUNK: usize = 32;

impl RowBlocks {
    /// All rows of all blocks.
    pub fn rows(&self) -> usize {
        self.times * self.each
    }

    /// Rows to be taken through a layer together: few enough that what the product wrote is still at hand when it is
    /// activated, and either some whole blocks or a part of one. Wide layers are taken whole, since their weights would
    /// have to be brought in again.
    pub(super) fn chunks(self, width: usize) -> impl Iterator<Item = Range<usize>> {
        let group = if width > WIDE { self.times } else { (CHUNK / self.each.max(1)).max(1) };
        let most = if width > WIDE { self.rows() } else { CHUNK.max(group * self.each.min(CHUNK)) };
        (0..self.times).step_by(group.max(1)).flat_map(move |first| {
            let last = (first + group).min(self.times);
            let (start, end) = (first * self.each, last * self.each);
            (start..end).step_by(most.max(1)).map(move |start| start..(start + most).min(end))
        })
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
    let (depth, values) = (activations.depth, &mut activations.values);
    // Without a backward pass to come, two buffers are enough, and stay in the cache.
    let buffer = |layer: usize| if slopes { layer } else { depth - (depth - layer) % 2 };
    for (layer, packed) in packed.layers.iter().enumerate() {
        let (below, here) = match layer {
            0 => (states, &mut values[buffer(0)]),
            _ => {
                let [below, here] = values
                    .get_disjoint_mut([buffer(layer - 1), buffer(layer)])
                    .expect("a layer and the one below have a buffer each");
                (&below[..], here)
            }
        };
        let (below_stride, inputs) = if layer == 0 { (dim, dim) } else { (stride, h) };
        let slope = &mut activations.slopes[layer];
        for rows in blocks.chunks(h) {
            let place = rows.start * stride..rows.end * stride;
            let (count, here) = (rows.len(), &mut here[place.clone()]);
            let below = Rows::new(&below[rows.start * below_stride..], count, inputs, below_stride);
            multiply(RowsMut::new(here, count, h, stride), below, &packed.up);
            // Only the first backbone layer has biases that differ from time to time.
            let (bias, block) = match layer {
                0 => (trunk.state.bias.of(parameters), count),
                1 => (&biases[(blocks.first_time + rows.start / blocks.each) * h..], blocks.each),
                _ => (trunk.hidden[layer - 2].bias.of(parameters), count),
            };
            let parts = here.chunks_mut(block * stride).zip(slope[place].chunks_mut(block * stride));
            for ((here, slope), bias) in parts.zip(bias.chunks_exact(h)) {
                if slopes {
                    activate_with_slope(here, slope, bias, stride);
                } else {
                    activate(here, bias, stride);
                }
            }
        }
    }
}

/// How many numbers of scratch heads of so many outputs together need for each row: whole lines, which products write fastest.
pub fn head_scratch(outputs: usize) -> usize {
    row_stride(outputs)
}

/// What a head says about some of the rows: raw outputs, `[output][row]`.
pub fn head_forward(
    head: Head,
    packed: &PackedLayer,
    parameters: &[f32],
    rows: Range<usize>,
    activations: &Activations,
    scratch: &mut [f32],
    raw: &mut [f32],
) {
    let (count, outputs) = (rows.len(), head.dense.weight.outputs);
    if count == 0 {
        return;
    }
    let stride = head_scratch(outputs);
    multiply(RowsMut::new(scratch, count, outputs, stride), activations.top(rows), &packed.up);
    turn(head, parameters, &scratch[..count * stride], stride, raw);
}

/// What both heads say, each about its own rows, if they stand side by side.
pub fn heads_forward(
    heads: [(Head, Range<usize>, &mut [f32]); 2],
    packed: &PackedNetwork,
    parameters: &[f32],
    activations: &Activations,
    scratch: &mut [f32],
) -> bool {
    let Some(both) = packed.both() else { return false };
    let rows = heads.iter().map(|head| head.1.end).max().unwrap_or(0);
    let outputs: usize = heads.iter().map(|head| head.0.dense.weight.outputs).sum();
    let stride = head_scratch(outputs);
    multiply(RowsMut::new(scratch, rows, outputs, stride), activations.top(0..rows), both);
    let mut first = 0;
    for (head, rows, raw) in heads {
        if !rows.is_empty() {
            let from = &scratch[rows.start * stride + first..rows.end * stride];
            turn(head, parameters, from, stride, raw);
        }
        first += head.dense.weight.outputs;
    }
    true
}

/// Adds the biases to a head's outputs and writes them `[output][row]`.
fn turn(head: Head, parameters: &[f32], outputs: &[f32], stride: usize, raw: &mut [f32]) {
    let rows = outputs.len().div_ceil(stride);
    let bias = head.dense.bias.of(parameters);
    dispatch(Turn { outputs, stride, bias, raw: &mut raw[..bias.len() * rows] });
}

struct Turn<'a> {
    outputs: &'a [f32],
    stride: usize,
    bias: &'a [f32],
    raw: &'a mut [f32],
}

impl Vectorised for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let rows = self.raw.len() / self.bias.len();
        for (output, (column, &bias)) in self.raw.chunks_exact_mut(rows).zip(self.bias).enumerate() {
            let from = &self.outputs[output..][..(rows - 1) * self.stride + 1];
            for (row, value) in column.iter_mut().enumerate() {
                *value = from[row * self.stride] + bias;
            }
        }
    }
}

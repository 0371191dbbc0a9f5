//! The state half of the network: encoder, backbone and heads, over a tile of rows.
//!
//! A tile holds blocks of rows, one block for each of several consecutive times. Its activations are
//! small enough to stay in the cache from the forward to the backward pass.

use std::ops::Range;

use super::layout::{Head, Trunk};
use crate::numeric::matrix::{Matrix, MatrixMut, Write, multiply};
use crate::numeric::vector::gelu;
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
    width: usize,
    depth: usize,
    /// GELU of the encoded state and of each backbone layer, `[feature][row]`.
    values: Vec<Vec<f32>>,
    /// Their slopes; only kept by a pass that will be followed by a backward one.
    slopes: Vec<Vec<f32>>,
}

impl Activations {
    /// Room for at most `rows` rows.
    pub fn new(width: usize, depth: usize, rows: usize) -> Self {
        let layers = || (0..=depth).map(|_| vec![0.0; width * rows]).collect();
        Self { width, depth, values: layers(), slopes: layers() }
    }

    fn top(&self) -> &[f32] {
        &self.values[self.depth]
    }
}

/// Encodes states and runs the backbone. `states` is `[coordinate][row]`, `biases` as [`super::TimePass`]
/// gives them. Slopes are kept if `slopes`.
pub fn forward(
    trunk: &Trunk,
    parameters: &[f32],
    biases: &[f32],
    blocks: RowBlocks,
    states: &[f32],
    activations: &mut Activations,
    slopes: bool,
) {
    let (h, rows, dim) = (activations.width, blocks.rows(), trunk.state.weight.inputs);
    if rows == 0 {
        return;
    }
    let length = h * rows;
    let encoded = &mut activations.values[0][..length];
    multiply(
        MatrixMut::by_columns(encoded, rows, h, rows),
        Write::Replace,
        Matrix::by_columns(states, rows, dim, rows),
        Matrix::by_rows(trunk.state.weight.of(parameters), dim, h),
    );
    let bias = trunk.state.bias.of(parameters);
    activate(encoded, slopes.then_some(&mut activations.slopes[0][..length]), bias, h, rows);
    for layer in 1..=activations.depth {
        let (below, here) = activations.values.split_at_mut(layer);
        let here = &mut here[0][..length];
        let (weight, bias, block) = if layer == 1 {
            let first = blocks.first_time * h;
            (trunk.first_state, &biases[first..first + blocks.times * h], blocks.each)
        } else {
            let dense = trunk.hidden[layer - 2];
            (dense.weight, dense.bias.of(parameters), rows)
        };
        multiply(
            MatrixMut::by_columns(here, rows, h, rows),
            Write::Replace,
            Matrix::by_columns(&below[layer - 1][..length], rows, h, rows),
            Matrix::by_rows(weight.of(parameters), h, h),
        );
        activate(here, slopes.then_some(&mut activations.slopes[layer][..length]), bias, h, block);
    }
}

/// What a head says about some of the rows: raw outputs, `[output][row]`, the rows counted from the
/// first of the range.
pub fn head_forward(
    head: Head,
    parameters: &[f32],
    blocks: RowBlocks,
    rows: Range<usize>,
    activations: &Activations,
    raw: &mut [f32],
) {
    if rows.is_empty() {
        return;
    }
    let (stride, count, h) = (blocks.rows(), rows.len(), activations.width);
    let outputs = head.dense.weight.outputs;
    for (column, &bias) in raw.chunks_exact_mut(count).zip(head.dense.bias.of(parameters)) {
        column.fill(bias);
    }
    multiply(
        MatrixMut::by_columns(raw, count, outputs, count),
        Write::Add,
        Matrix::by_columns(&activations.top()[rows.start..h * stride], count, h, stride),
        Matrix::by_rows(head.dense.weight.of(parameters), h, outputs),
    );
}

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
    /// The rows it looked at.
    pub rows: Range<usize>,
    /// Gradient of the loss with respect to its raw outputs, `[output][row]`.
    pub raw_gradient: &'a [f32],
    /// Where its gradient goes; `None` if only the states' gradient is wanted.
    pub sink: Option<&'a mut Sink>,
}

/// Scratch of the backward pass: the gradient on its way down, rows of all parts side by side.
pub struct Descent {
    here: Vec<f32>,
    below: Vec<f32>,
}

impl Descent {
    /// Room for at most `rows` rows, counted over all parts.
    pub fn new(width: usize, rows: usize) -> Self {
        Self { here: vec![0.0; width * rows], below: vec![0.0; width * rows] }
    }
}

/// Carries the parts' gradients down one trunk in a single stack, each into its own sink.
///
/// `states` are those of the forward pass. With `state_gradient`, the gradient with respect to the states
/// is written there, `[coordinate][row]`, rows of all parts side by side.
#[allow(clippy::too_many_arguments)]
pub fn backward(
    trunk: &Trunk,
    parameters: &[f32],
    blocks: RowBlocks,
    states: &[f32],
    activations: &Activations,
    parts: &mut [Part],
    descent: &mut Descent,
    state_gradient: Option<&mut [f32]>,
) {
    let (h, rows, dim) = (activations.width, blocks.rows(), trunk.state.weight.inputs);
    let stacked: usize = parts.iter().map(|part| part.rows.len()).sum();
    if stacked == 0 {
        return;
    }
    let mut offset = 0;
    for part in parts.iter_mut() {
        let (count, outputs) = (part.rows.len(), part.head.dense.weight.outputs);
        if count == 0 {
            continue;
        }
        let raw = Matrix::by_columns(part.raw_gradient, count, outputs, count);
        if let Some(sink) = &mut part.sink {
            for (sum, column) in part
                .head
                .dense
                .bias
                .of_mut(&mut sink.parameters)
                .iter_mut()
                .zip(part.raw_gradient.chunks_exact(count))
            {
                *sum += column.iter().sum::<f32>();
            }
            let top = Matrix::by_columns(&activations.top()[part.rows.start..h * rows], count, h, rows);
            let gradient = part.head.dense.weight.of_mut(&mut sink.parameters);
            multiply(MatrixMut::by_rows(gradient, h, outputs), Write::Add, top.transposed(), raw);
        }
        multiply(
            MatrixMut::by_columns(&mut descent.here[offset..h * stacked], count, h, stacked),
            Write::Replace,
            raw,
            Matrix::by_rows(part.head.dense.weight.of(parameters), h, outputs).transposed(),
        );
        offset += count;
    }
    for layer in (0..=activations.depth).rev() {
        let (inputs, weight) = match layer {
            0 => (dim, trunk.state.weight),
            1 => (h, trunk.first_state),
            _ => (h, trunk.hidden[layer - 2].weight),
        };
        let below = if layer == 0 { states } else { &activations.values[layer - 1][..h * rows] };
        let mut offset = 0;
        for part in parts.iter_mut() {
            let count = part.rows.len();
            if count == 0 {
                continue;
            }
            let block = if layer == 1 { blocks.each } else { count };
            let sums = part.sink.as_mut().map(|sink| match layer {
                0 => trunk.state.bias.of_mut(&mut sink.parameters),
                1 => {
                    let first = (blocks.first_time + part.rows.start / blocks.each) * h;
                    &mut sink.biases[first..first + count / blocks.each * h]
                }
                _ => trunk.hidden[layer - 2].bias.of_mut(&mut sink.parameters),
            });
            dispatch(Deactivate {
                delta: &mut descent.here[offset..h * stacked],
                delta_stride: stacked,
                slope: &activations.slopes[layer][part.rows.start..h * rows],
                slope_stride: rows,
                features: h,
                count,
                block,
                sums,
            });
            if let Some(sink) = &mut part.sink {
                multiply(
                    MatrixMut::by_rows(weight.of_mut(&mut sink.parameters), inputs, h),
                    Write::Add,
                    Matrix::by_columns(&below[part.rows.start..inputs * rows], count, inputs, rows)
                        .transposed(),
                    Matrix::by_columns(&descent.here[offset..h * stacked], count, h, stacked),
                );
            }
            offset += count;
        }
        let above = Matrix::by_columns(&descent.here[..h * stacked], stacked, h, stacked);
        let weight = Matrix::by_rows(weight.of(parameters), inputs, h).transposed();
        if layer > 0 {
            multiply(
                MatrixMut::by_columns(&mut descent.below, stacked, h, stacked),
                Write::Replace,
                above,
                weight,
            );
            std::mem::swap(&mut descent.here, &mut descent.below);
        } else if let Some(gradient) = state_gradient {
            multiply(MatrixMut::by_columns(gradient, stacked, dim, stacked), Write::Replace, above, weight);
            return;
        }
    }
}

/// z ← GELU(z + bias), with the slopes beside if wanted. Rows stand in blocks of `block`, each with its own
/// biases.
pub(super) fn activate(
    z: &mut [f32],
    slope: Option<&mut [f32]>,
    bias: &[f32],
    features: usize,
    block: usize,
) {
    match slope {
        Some(slope) => dispatch(Activate { z, slope, bias, features, block }),
        None => dispatch(ActivateOnly { z, bias, features, block }),
    }
}

struct Activate<'a> {
    z: &'a mut [f32],
    slope: &'a mut [f32],
    bias: &'a [f32],
    features: usize,
    block: usize,
}

impl Vectorised for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let blocks = self.bias.len() / self.features;
        let places = self.z.chunks_exact_mut(self.block).zip(self.slope.chunks_exact_mut(self.block));
        for (i, (z, slope)) in places.enumerate() {
            let bias = self.bias[i % blocks * self.features + i / blocks];
            for (z, slope) in z.iter_mut().zip(slope) {
                (*z, *slope) = gelu(*z + bias);
            }
        }
    }
}

struct ActivateOnly<'a> {
    z: &'a mut [f32],
    bias: &'a [f32],
    features: usize,
    block: usize,
}

impl Vectorised for ActivateOnly<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let blocks = self.bias.len() / self.features;
        for (i, z) in self.z.chunks_exact_mut(self.block).enumerate() {
            let bias = self.bias[i % blocks * self.features + i / blocks];
            for z in z {
                *z = gelu(*z + bias).0;
            }
        }
    }
}

/// delta ← delta ⊙ slope, dust swept away, and its sums over each block of rows added to `sums` (`[block][feature]`).
struct Deactivate<'a> {
    delta: &'a mut [f32],
    delta_stride: usize,
    slope: &'a [f32],
    slope_stride: usize,
    features: usize,
    count: usize,
    block: usize,
    sums: Option<&'a mut [f32]>,
}

const SUM_WAYS: usize = 16;

/// Far below what rounding leaves of a gradient, and far above where products become denormal and slow.
const DUST: f32 = 1e-25;

/// A gradient that is as good as zero is zero.
#[inline(always)]
fn without_dust(gradient: f32) -> f32 {
    if gradient.abs() < DUST { 0.0 } else { gradient }
}

impl Vectorised for Deactivate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        for feature in 0..self.features {
            let delta = &mut self.delta[feature * self.delta_stride..][..self.count];
            let slope = &self.slope[feature * self.slope_stride..][..self.count];
            let places = delta.chunks_exact_mut(self.block).zip(slope.chunks_exact(self.block));
            for (block, (delta, slope)) in places.enumerate() {
                let mut ways = [0.0_f32; SUM_WAYS];
                let mut delta = delta.chunks_exact_mut(SUM_WAYS);
                let mut slope = slope.chunks_exact(SUM_WAYS);
                for (delta, slope) in delta.by_ref().zip(slope.by_ref()) {
                    for way in 0..SUM_WAYS {
                        delta[way] = without_dust(delta[way] * slope[way]);
                        ways[way] += delta[way];
                    }
                }
                let rest = delta.into_remainder().iter_mut().zip(slope.remainder());
                for (way, (delta, slope)) in rest.enumerate() {
                    *delta = without_dust(*delta * slope);
                    ways[way] += *delta;
                }
                if let Some(sums) = &mut self.sums {
                    sums[block * self.features + feature] += ways.iter().sum::<f32>();
                }
            }
        }
    }
}

//! Back through the state half of the network: from the heads' gradients to the weights'.

use std::ops::Range;

use super::activation::deactivate;
use super::layout::{Head, Layout, Process, Trunk};
use super::packed::{PackedLayer, PackedTrunk};
use super::trunk::{Activations, RowBlocks, WIDE};
use crate::numeric::aligned::{Aligned, row_stride};
use crate::numeric::product::{Blocks, Columns, FAR, Rows, RowsMut, Write, accumulate, multiply, scratch};

/// Where a loss's gradient is gathered.
pub struct Sink {
    /// One place for each parameter of the network.
    pub parameters: Vec<f32>,
    /// Gradient of the per-time biases, `[time][feature]`.
    pub biases: Vec<f32>,
    /// Gradient of the raw outputs at the origin, which all trajectories share.
    pub origin: Vec<f32>,
    /// Whether what stands in the place of weights is from before, and is to be written over.
    fresh: bool,
}

impl Sink {
    /// Zeros, for a network with so many parameters, grid points, features and outputs at the origin.
    pub fn new(parameters: usize, times: usize, width: usize, outputs: usize) -> Self {
        Self {
            parameters: vec![0.0; parameters],
            biases: vec![0.0; times * width],
            origin: vec![0.0; outputs],
            fresh: false,
        }
    }

    /// Begins anew: the first rows that leave something write over what there is. That saves a pass over all weights.
    pub fn begin(&mut self, layout: &Layout, process: Process) {
        self.fresh = true;
        self.biases.fill(0.0);
        self.origin.fill(0.0);
        for bias in layout.gathered_biases(process) {
            bias.of_mut(&mut self.parameters).fill(0.0);
        }
    }

    /// Ends the gathering: where no row left anything, the gradient is zero.
    pub(crate) fn end(&mut self, layout: &Layout, process: Process) {
        if std::mem::take(&mut self.fresh) {
            for part in layout.gathered(process) {
                self.parameters[part].fill(0.0);
            }
        }
    }

    /// How the next rows' gradient of weights is written.
    fn write(&self) -> Write {
        if self.fresh { Write::Replace } else { Write::Add }
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
    above: Aligned,
    scratch: Aligned,
    head: Vec<f32>,
    /// The activations below a wide layer, rearranged once for all parts.
    blocks: Option<Blocks>,
}

impl Descent {
    /// Room for at most `rows` rows, counted over all parts, and heads of at most so many outputs.
    pub fn new(width: usize, outputs: usize, rows: usize) -> Self {
        Self {
            here: Aligned::zeros(row_stride(width) * rows),
            above: Aligned::zeros(row_stride(width) * rows),
            scratch: Aligned::zeros(scratch(rows)),
            head: vec![0.0; width * outputs.min(FEW)],
            blocks: (width >= FAR).then(|| Blocks::new(rows, width)),
        }
    }
}

impl Descent {
    /// Takes the activations of a layer, where they are wide enough for that.
    fn rearrange(&mut self, activations: &Activations, layer: usize, rows: usize) {
        if let Some(blocks) = &mut self.blocks {
            blocks.pack(Rows::new(&activations.values[layer], rows, activations.width, activations.stride));
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
    for layer in (0..=activations.depth).rev() {
        let mut offset = 0;
        if layer == activations.depth {
            descent.rearrange(activations, layer, blocks.rows());
            for part in parts.iter_mut() {
                part.gather_head(activations, descent);
            }
        }
        if layer > 0 {
            descent.rearrange(activations, layer - 1, blocks.rows());
        }
        // Weights too large for the nearest cache are brought in once for all parts.
        let together = layer < activations.depth && h > WIDE;
        if together {
            let (here, above) = (&mut descent.here, Rows::new(&descent.above, stacked, h, stride));
            multiply(RowsMut::new(here, stacked, h, stride), above, &packed.layers[layer + 1].down);
        }
        for part in parts.iter_mut() {
            let (count, outputs) = (part.rows.len(), part.head.dense.weight.outputs);
            let mut sums = part.sink.as_mut().map(|sink| match layer {
                0 => trunk.state.bias.of_mut(&mut sink.parameters),
                1 => &mut sink.biases[(blocks.first_time + part.rows.start / blocks.each) * h..],
                _ => trunk.hidden[layer - 2].bias.of_mut(&mut sink.parameters),
            });
            let here = &mut descent.here[offset * stride..(offset + count) * stride];
            let slope = &activations.slopes[layer][part.rows.start * stride..part.rows.end * stride];
            for rows in (RowBlocks { times: count / blocks.each, ..blocks }).chunks(h) {
                let (above, down) = if layer == activations.depth {
                    let raw = &part.raw_gradient[rows.start * outputs..];
                    (Rows::new(raw, rows.len(), outputs, outputs), &part.packed.down)
                } else {
                    let above = &descent.above[(offset + rows.start) * stride..];
                    (Rows::new(above, rows.len(), h, stride), &packed.layers[layer + 1].down)
                };
                let place = rows.start * stride..rows.end * stride;
                if !together {
                    multiply(RowsMut::new(&mut here[place.clone()], rows.len(), h, stride), above, down);
                }
                // Time is a bias of the first backbone layer, one for each block.
                let (first, block) =
                    if layer == 1 { (rows.start / blocks.each, blocks.each) } else { (0, count) };
                let parts =
                    here[place.clone()].chunks_mut(block * stride).zip(slope[place].chunks(block * stride));
                for (index, (here, slope)) in parts.enumerate() {
                    let sums = sums.as_mut().map(|sums| &mut sums[(first + index) * h..][..h]);
                    deactivate(here, slope, h, stride, sums);
                }
            }
            if let Some(sink) = part.sink.as_mut().filter(|_| count > 0) {
                let weight = match layer {
                    0 => trunk.state.weight,
                    1 => trunk.first_state,
                    _ => trunk.hidden[layer - 2].weight,
                };
                let first = part.rows.start;
                let below = match (layer, &descent.blocks) {
                    (0, _) => Columns::Rows(Rows::new(&states[first * dim..], count, dim, dim)),
                    (_, Some(below)) => Columns::Blocks(below, first, count),
                    (_, None) => {
                        let below = &activations.values[layer - 1][first * stride..];
                        Columns::Rows(Rows::new(below, count, h, stride))
                    }
                };
                let write = sink.write();
                let gradient = RowsMut::new(weight.of_mut(&mut sink.parameters), weight.inputs, h, h);
                accumulate(gradient, write, below, Rows::new(here, count, h, stride), &mut descent.scratch);
            }
            offset += count;
        }
        std::mem::swap(&mut descent.here, &mut descent.above);
    }
    for part in parts.iter_mut().filter(|part| !part.rows.is_empty()) {
        if let Some(sink) = &mut part.sink {
            sink.fresh = false;
        }
    }
    if let Some(gradient) = state_gradient {
        let above = Rows::new(&descent.above, stacked, h, stride);
        multiply(RowsMut::new(gradient, stacked, dim, dim), above, &packed.layers[0].down);
    }
}

impl Part<'_> {
    /// The gradient of the head's own weights and biases.
    fn gather_head(&mut self, activations: &Activations, descent: &mut Descent) {
        let (dense, count, h) = (self.head.dense, self.rows.len(), activations.width);
        let outputs = dense.weight.outputs;
        let Some(sink) = self.sink.as_mut().filter(|_| count > 0) else { return };
        let bias = dense.bias.of_mut(&mut sink.parameters);
        add_rows(bias, &self.raw_gradient[..count * outputs]);
        let raw = Rows::new(self.raw_gradient, count, outputs, outputs);
        let (write, top) = (sink.write(), activations.top(self.rows.clone()));
        let gradient = dense.weight.of_mut(&mut sink.parameters);
        if outputs >= FEW {
            let top = match &descent.blocks {
                Some(blocks) => Columns::Blocks(blocks, self.rows.start, count),
                None => Columns::Rows(top),
            };
            let gradient = RowsMut::new(gradient, h, outputs, outputs);
            accumulate(gradient, write, top, raw, &mut descent.scratch);
            return;
        }
        let transposed = &mut descent.head[..h * outputs];
        let place = RowsMut::new(transposed, outputs, h, h);
        accumulate(place, Write::Replace, Columns::Rows(raw), top, &mut descent.scratch);
        if write == Write::Replace {
            gradient.fill(0.0);
        }
        for (output, row) in transposed.chunks_exact(h).enumerate() {
            for (feature, value) in row.iter().enumerate() {
                gradient[feature * outputs + output] += value;
            }
        }
    }
}

/// sums ← sums + all rows, in their order.
pub(super) fn add_rows(sums: &mut [f32], rows: &[f32]) {
    let add = |sums: &mut [f32], row: &[f32]| sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    let outputs = sums.len();
    if outputs >= FEW {
        return rows.chunks_exact(outputs).for_each(|row| add(sums, row));
    }
    // Few sums stay in registers from one row to the next.
    for (first, sums) in sums.chunks_mut(4).enumerate() {
        let mut four = [0.0; 4];
        four[..sums.len()].copy_from_slice(sums);
        for row in rows.chunks_exact(outputs) {
            match row[4 * first..].first_chunk::<4>() {
                Some(row) => add(&mut four, row),
                None => add(&mut four, &row[4 * first..]),
            }
        }
        sums.copy_from_slice(&four[..sums.len()]);
    }
}

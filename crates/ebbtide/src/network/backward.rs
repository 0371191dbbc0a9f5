//! Back through the state half of the network: from the heads' gradients to the weights'.

use std::ops::Range;

use super::activation::deactivate;
use super::gather::{Trace, gathers_at_once};
use super::layout::{Head, Layout, Process, Shape, Trunk};
use super::packed::{PackedLayer, PackedTrunk};
use super::trunk::{Activations, RowBlocks, WIDE};
use crate::numeric::aligned::{Aligned, row_stride};
use crate::numeric::product::{Below, Columns, FAR, Rows, RowsMut, Write, accumulate, multiply, scratch};

/// Where a loss's gradient is gathered.
pub struct Sink {
    /// One place for each parameter of the network; none in a lane that leaves the weights to others.
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
        if !gathers_at_once(layout.shape.width) {
            for bias in layout.gathered_biases(process) {
                bias.of_mut(&mut self.parameters).fill(0.0);
            }
        }
    }

    /// Ends the gathering: where no row left anything, the gradient is zero.
    pub(crate) fn end(&mut self, layout: &Layout, process: Process) {
        if !gathers_at_once(layout.shape.width) && std::mem::take(&mut self.fresh) {
            for part in layout.gathered(process) {
                self.parameters[part].fill(0.0);
            }
        }
    }

    /// How the next rows' gradient of weights is written.
    fn write(&self) -> Write {
        if self.fresh { Write::Replace } else { Write::Add }
    }

    /// The same, where this is all that will be written over.
    pub(super) fn take_write(&mut self) -> Write {
        let write = self.write();
        self.fresh = false;
        write
    }
}

/// One head's share of a backward pass.
pub struct Part<'a> {
    /// Whose head it is.
    pub process: Process,
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
    below: Option<Below>,
    /// What the gradient of still wider layers' weights is gathered from later.
    trace: Option<Trace>,
}

impl Descent {
    /// Room for at most so many rows of a pass, and twice as many of all parts together.
    pub fn new(shape: &Shape, rows: usize) -> Self {
        let (width, stacked) = (shape.width, 2 * rows);
        let outputs = shape.generation_outputs.max(shape.destruction_outputs);
        let trace = gathers_at_once(width).then(|| Trace::new(shape, rows));
        let here = if trace.is_some() { (0, 0) } else { (scratch(stacked), width * outputs.min(FEW)) };
        Self {
            here: Aligned::zeros(row_stride(width) * stacked),
            above: Aligned::zeros(row_stride(width) * stacked),
            scratch: Aligned::zeros(here.0),
            head: vec![0.0; here.1],
            below: (width >= FAR && trace.is_none()).then(|| Below::new(rows, width)),
            trace,
        }
    }

    /// Takes the activations of a layer, where they are wide enough for that.
    fn rearrange(&mut self, activations: &Activations, layer: usize, rows: usize) {
        if let Some(below) = &mut self.below {
            below.pack(0, Rows::new(&activations.values[layer], rows, activations.width, activations.stride));
        }
    }

    /// Begins anew, for rows that passed upwards like this.
    pub fn begin(&mut self, states: &[f32], activations: &Activations, rows: usize) {
        if let Some(trace) = &mut self.trace {
            trace.begin(states, activations, rows);
        }
    }

    /// What passes since the beginning left behind.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }
}

/// Below this many outputs the gradient of a head is gathered transposed: its columns would not fill a vector.
const FEW: usize = 16;

/// Carries the parts' gradients down one trunk in a single stack, each into its own sink, or leaves what weights get of them behind, after
/// [`Descent::begin`].
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
    // Rows of passes that come one after the other stand below each other, too.
    let start = parts[0].rows.start;
    let stack = start * stride..(start + stacked) * stride;
    let traced = descent.trace.is_some() && parts.iter().any(|part| part.sink.is_some());
    for layer in (0..=activations.depth).rev() {
        let mut offset = start;
        if layer == activations.depth {
            descent.rearrange(activations, layer, blocks.rows());
            for part in parts.iter_mut() {
                match &mut descent.trace {
                    Some(trace) if traced => trace.leave_head(part.process, part.rows.clone(), part.raw()),
                    Some(_) => {}
                    None => part.gather_head(activations, descent),
                }
            }
        }
        if layer > 0 {
            descent.rearrange(activations, layer - 1, blocks.rows());
        }
        // Weights too large for the nearest cache are brought in once for all parts.
        let together = layer < activations.depth && h > WIDE;
        if together {
            let above = Rows::new(&descent.above[stack.clone()], stacked, h, stride);
            let here = RowsMut::new(&mut descent.here[stack.clone()], stacked, h, stride);
            multiply(here, above, &packed.layers[layer + 1].down);
        }
        for part in parts.iter_mut() {
            let (count, outputs) = (part.rows.len(), part.head.dense.weight.outputs);
            let mut sums = part.sink.as_mut().and_then(|sink| match layer {
                1 => Some(&mut sink.biases[(blocks.first_time + part.rows.start / blocks.each) * h..]),
                _ if traced => None,
                0 => Some(trunk.state.bias.of_mut(&mut sink.parameters)),
                _ => Some(trunk.hidden[layer - 2].bias.of_mut(&mut sink.parameters)),
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
            if let Some(sink) = part.sink.as_mut().filter(|_| count > 0 && !traced) {
                let weight = match layer {
                    0 => trunk.state.weight,
                    1 => trunk.first_state,
                    _ => trunk.hidden[layer - 2].weight,
                };
                let first = part.rows.start;
                let below = match (layer, &descent.below) {
                    (0, _) => Rows::new(&states[first * dim..], count, dim, dim).into(),
                    (_, Some(below)) => Columns::Blocks(below, first, count),
                    (_, None) => {
                        Rows::new(&activations.values[layer - 1][first * stride..], count, h, stride).into()
                    }
                };
                let write = sink.write();
                let gradient = RowsMut::new(weight.of_mut(&mut sink.parameters), weight.inputs, h, h);
                accumulate(gradient, write, below, Rows::new(here, count, h, stride), &mut descent.scratch);
            }
            offset += count;
        }
        if let Some(trace) = descent.trace.as_mut().filter(|_| traced) {
            trace.leave(layer, start, Rows::new(&descent.here[stack.clone()], stacked, h, stride));
        }
        std::mem::swap(&mut descent.here, &mut descent.above);
    }
    let mut offset = start;
    for part in parts.iter_mut().filter(|part| !part.rows.is_empty()) {
        match (&mut descent.trace, &mut part.sink) {
            (Some(trace), Some(_)) => trace.note(part.process, part.rows.clone(), offset),
            (None, Some(sink)) => sink.fresh = false,
            _ => {}
        }
        offset += part.rows.len();
    }
    if let Some(gradient) = state_gradient {
        let above = Rows::new(&descent.above[stack], stacked, h, stride);
        multiply(RowsMut::new(gradient, stacked, dim, dim), above, &packed.layers[0].down);
    }
}

impl Part<'_> {
    /// The gradient of the raw outputs by rows.
    fn raw(&self) -> Rows<'_> {
        let outputs = self.head.dense.weight.outputs;
        Rows::new(self.raw_gradient, self.rows.len(), outputs, outputs)
    }

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
            let top = match &descent.below {
                Some(below) => Columns::Blocks(below, self.rows.start, count),
                None => top.into(),
            };
            let gradient = RowsMut::new(gradient, h, outputs, outputs);
            accumulate(gradient, write, top, raw, &mut descent.scratch);
            return;
        }
        let transposed = &mut descent.head[..h * outputs];
        let place = RowsMut::new(transposed, outputs, h, h);
        accumulate(place, Write::Replace, raw, top, &mut descent.scratch);
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

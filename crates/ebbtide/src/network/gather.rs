//! The gradient of a wide network's weights, gathered at once from all that passes left behind.
//!
//! Its weights fit no cache. A gradient of its own for each lane would be written, read again and added up, which takes longer than to write what the gradient is
//! made of. So every pass down leaves its two sides of each layer's product, arranged, and whoever has time takes a band of a weight's gradient and
//! goes through the rows of all passes.

use std::ops::Range;

use super::backward::Sink;
use super::layout::{Dense, Head, Layout, Process, Shape};
use super::trunk::Activations;
use crate::numeric::product::{Above, BANDS, Below, Pair, Rows, RowsMut, Write, gather};

/// Narrower layers' gradients stay in the second cache from one tile of a lane to the next.
const VAST: usize = 512;

/// Whether networks of this width leave their weights' gradient to be gathered at once.
pub(crate) fn gathers_at_once(width: usize) -> bool {
    width >= VAST
}

/// What passes down a trunk left behind.
pub(crate) struct Trace {
    /// What each layer and then the heads were multiplied with, and a 1 for their biases.
    below: Vec<Below>,
    /// What came back through each layer, rows of all parts below each other.
    above: Vec<Above>,
    /// What came back through the head of each process.
    heads: [Above; 2],
    left: [Option<Left>; 2],
}

/// Where the rows of a process stand.
struct Left {
    rows: Range<usize>,
    /// The first of them among those of all parts.
    stacked: usize,
}

impl Trace {
    /// Room for so many rows of a pass, and twice as many of all parts together.
    pub fn new(shape: &Shape, rows: usize) -> Self {
        let h = shape.width;
        let inputs = std::iter::once(shape.dim).chain(std::iter::repeat_n(h, shape.depth + 1));
        let heads = [shape.generation_outputs, shape.destruction_outputs];
        Self {
            below: inputs.map(|inputs| Below::new(rows, inputs + 1)).collect(),
            above: (0..=shape.depth).map(|_| Above::new(2 * rows, h)).collect(),
            heads: heads.map(|outputs| Above::new(rows, outputs)),
            left: [None, None],
        }
    }

    /// Forgets what was left, and takes what the layers were multiplied with.
    pub fn begin(&mut self, states: &[f32], activations: &Activations, rows: usize) {
        self.left = [None, None];
        let (below, h) = (&mut self.below, activations.width);
        let dim = states.len() / rows.max(1);
        below[0].pack(0, Rows::new(states, rows, dim, dim));
        below[0].set_ones(dim, rows);
        for (below, values) in below[1..].iter_mut().zip(&activations.values) {
            below.pack(0, Rows::new(values, rows, h, activations.stride));
            below.set_ones(h, rows);
        }
    }

    /// Takes what comes back through a layer, from a row of the stack on.
    pub fn leave(&mut self, layer: usize, first: usize, rows: Rows) {
        self.above[layer].pack(first, rows);
    }

    /// Takes what comes back through a head.
    pub fn leave_head(&mut self, process: Process, rows: Range<usize>, raw: Rows) {
        self.heads[process as usize].pack(rows.start, raw);
    }

    /// Takes note of rows of a process: those next to what there is of it, or the first.
    pub fn note(&mut self, process: Process, rows: Range<usize>, stacked: usize) {
        let left = self.left[process as usize].get_or_insert(Left { rows: rows.clone(), stacked });
        left.rows = left.rows.start.min(rows.start)..left.rows.end.max(rows.end);
        left.stacked = left.stacked.min(stacked);
    }

    /// Both sides of a weight's gradient, if anything was left of a process.
    fn pair(&self, process: Process, product: Product) -> Option<Pair<'_>> {
        let Left { rows, stacked } = self.left[process as usize].as_ref()?;
        let (below, above) = match product {
            Product::Layer(layer) => (&self.below[layer], (&self.above[layer], *stacked)),
            Product::Head => (self.below.last()?, (&self.heads[process as usize], rows.start)),
        };
        Some(Pair { below: (below, rows.start), above, rows: rows.len() })
    }
}

/// What weights belong to.
#[derive(Clone, Copy)]
enum Product {
    /// The encoder of states is number 0.
    Layer(usize),
    Head,
}

impl Layout {
    /// The products of a process whose weights are gathered, where these stand, biases included, and how many outputs they have: from first to
    /// last.
    fn products(&self, process: Process) -> impl Iterator<Item = (Product, Range<usize>, usize)> {
        self.head(process).into_iter().flat_map(move |Head { dense, trunk }| {
            let both = |dense: Dense| dense.weight.start..dense.bias.range().end;
            let trunk = &self.trunks[trunk];
            let hidden = trunk.hidden.iter().copied().map(both);
            let layers = [both(trunk.state), trunk.first_state.range()].into_iter().chain(hidden).enumerate();
            let layers = layers.map(|(layer, range)| (Product::Layer(layer), range, self.shape.width));
            let head = [(Product::Head, both(dense), dense.weight.outputs)].into_iter();
            // The generation head stands before all trunks, the destruction head after them.
            let (first, last) = match process {
                Process::Generation => (Some(head), None),
                Process::Destruction => (None, Some(head)),
            };
            first.into_iter().flatten().chain(layers).chain(last.into_iter().flatten())
        })
    }
}

/// Some rows of a weight's gradient, with or without its bias.
pub(crate) struct Band<'a> {
    process: Process,
    product: Product,
    first: usize,
    outputs: usize,
    write: Write,
    gradient: &'a mut [f32],
}

impl Sink {
    /// All there is to gather for a process; what is not gathered now stays as it is.
    pub(crate) fn bands<'a>(
        &'a mut self,
        layout: &'a Layout,
        process: Process,
    ) -> impl Iterator<Item = Band<'a>> {
        let write = self.take_write();
        let mut rest = (0, &mut self.parameters[..]);
        layout.products(process).flat_map(move |(product, range, outputs)| {
            let (done, parameters) = std::mem::take(&mut rest);
            let (gradient, later) = parameters[range.start - done..].split_at_mut(range.len());
            rest = (range.end, later);
            gradient.chunks_mut(BANDS * outputs).enumerate().map(move |(index, gradient)| {
                let first = index * BANDS;
                Band { process, product, first, outputs, write, gradient }
            })
        })
    }
}

impl Band<'_> {
    /// Gathers it from all traces, one after the other.
    pub(crate) fn gather<'a>(self, traces: impl Iterator<Item = &'a Trace> + Clone) {
        let Self { process, product, first, outputs, write, gradient } = self;
        let rows = gradient.len() / outputs;
        let pairs = traces.filter_map(|trace| trace.pair(process, product));
        gather(RowsMut::new(gradient, rows, outputs, outputs), first, write, pairs);
    }
}

//! A pass that no way back follows, for networks whose weights stay in the nearest cache.
//!
//! Activations stand `[feature][row]`, a band of rows at a time, and what is left of one layer is still at hand for the next. So states come in and
//! raw outputs go out as the kernels have them, and a head of few outputs fills its vectors with rows. Every number is the same to the bit as that of
//! [`super::forward`]: its products add up in the same order.

use std::ops::Range;

use super::layout::{Head, Tensor, Trunk};
use super::trunk::RowBlocks;
use super::view::View;
use crate::numeric::aligned::{Aligned, LINE};
use crate::numeric::gelu::{BlockBiases, activate_features};
use crate::numeric::product::{FAR, Rows, RowsMut, Write, accumulate, scratch};

const BAND: usize = Glance::BAND;

/// Places for a band on its way up.
pub struct Glance {
    /// `[coordinate][row]`
    seen: Aligned,
    /// `[feature][row]`: of a layer, and of the one below.
    layers: [Aligned; 2],
    scratch: Aligned,
}

/// A head that is asked, and the rows it is asked about. Answers go to `raw`, `[output][row]`.
pub struct Question<'a> {
    /// The head.
    pub head: Head,
    /// Of all rows, those it is asked about.
    pub rows: Range<usize>,
    /// One place for each output and each of these rows.
    pub raw: &'a mut [f32],
}

/// States of all rows, `[coordinate][row]`.
#[derive(Clone, Copy)]
pub struct States<'a> {
    /// Coordinates are `stride` apart.
    pub data: &'a [f32],
    /// How far.
    pub stride: usize,
    /// What the network sees of them.
    pub view: View,
}

impl Glance {
    /// Rows of a band: four of the widest vectors.
    pub const BAND: usize = 4 * LINE;

    /// Whether layers of this width are narrow enough.
    pub fn fits(width: usize) -> bool {
        width < FAR
    }

    /// Room for states of so many coordinates and layers of this width, unless they are too wide.
    pub fn new(dim: usize, width: usize) -> Option<Self> {
        let layer = || Aligned::zeros(width * BAND);
        Self::fits(width).then(|| Self {
            seen: Aligned::zeros(dim * BAND),
            layers: [layer(), layer()],
            scratch: Aligned::zeros(scratch(dim.max(width))),
        })
    }

    /// Encodes states, runs the backbone and asks heads. `biases` as [`super::TimePass`] gives them.
    pub fn run(
        &mut self,
        trunk: &Trunk,
        parameters: &[f32],
        biases: &[f32],
        blocks: RowBlocks,
        states: States,
        questions: &mut [Option<Question>],
    ) {
        for start in (0..blocks.rows()).step_by(BAND) {
            let band = start..(start + BAND).min(blocks.rows());
            self.see(states, band.clone());
            let columns = band.len().next_multiple_of(LINE);
            let [here, below] = &mut self.layers;
            let scratch = &mut self.scratch;
            let mut climb = |weight: Tensor, below: &[f32], here: &mut [f32], biases: BlockBiases| {
                let here = &mut here[..weight.outputs * BAND];
                let place = RowsMut::new(here, weight.outputs, columns, BAND);
                product(place, weight, parameters, below, columns, scratch);
                activate_features(here, BAND, columns, biases);
            };
            let alike = |bias: Tensor| BlockBiases::alike(bias.of(parameters));
            climb(trunk.state.weight, &self.seen, here, alike(trunk.state.bias));
            std::mem::swap(here, below);
            let of_time = &biases[(blocks.first_time + start / blocks.each) * trunk.first_state.outputs..];
            let of_time =
                BlockBiases { biases: of_time, first: blocks.each - start % blocks.each, each: blocks.each };
            climb(trunk.first_state, below, here, of_time);
            for dense in &trunk.hidden {
                std::mem::swap(here, below);
                climb(dense.weight, below, here, alike(dense.bias));
            }
            for question in questions.iter_mut().flatten() {
                question.ask(parameters, here, band.clone(), scratch);
            }
        }
    }

    /// Takes the states of a band.
    fn see(&mut self, states: States, band: Range<usize>) {
        for (place, coordinate) in self.seen.chunks_exact_mut(BAND).zip(states.data.chunks(states.stride)) {
            place[..band.len()].copy_from_slice(&coordinate[band.clone()]);
            states.view.apply(&mut place[..band.len()]);
        }
    }
}

impl Question<'_> {
    /// Asks about those rows of a band that are wanted.
    fn ask(&mut self, parameters: &[f32], top: &[f32], band: Range<usize>, scratch: &mut [f32]) {
        let (start, end) = (band.start.max(self.rows.start), band.end.min(self.rows.end));
        if start >= end {
            return;
        }
        let (columns, all, dense) = (end - start, self.rows.len(), self.head.dense);
        let raw = &mut self.raw[start - self.rows.start..];
        let place = RowsMut::new(raw, dense.weight.outputs, columns, all);
        product(place, dense.weight, parameters, &top[start - band.start..], columns, scratch);
        for (raw, bias) in raw.chunks_mut(all).zip(dense.bias.of(parameters)) {
            raw[..columns].iter_mut().for_each(|raw| *raw += bias);
        }
    }
}

/// above ← weightᵀ · below, `[feature][row]`
fn product(
    above: RowsMut,
    weight: Tensor,
    parameters: &[f32],
    below: &[f32],
    columns: usize,
    scratch: &mut [f32],
) {
    let left = Rows::new(weight.of(parameters), weight.inputs, weight.outputs, weight.outputs);
    accumulate(above, Write::Replace, left, Rows::new(below, weight.inputs, columns, BAND), scratch);
}

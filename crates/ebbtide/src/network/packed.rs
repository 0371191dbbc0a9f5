//! A network's weights, arranged for products: once per update, shared by all lanes.

use super::layout::{Head, Layout, Process, Tensor, Trunk};
use crate::numeric::aligned::LINE;
use crate::numeric::product::Panels;

/// A layer's weights, for the way up and for the way down.
pub struct PackedLayer {
    pub(super) up: Panels,
    pub(super) down: Panels,
}

/// What of the state half of a trunk is multiplied with: encoder, then backbone.
pub struct PackedTrunk {
    pub(super) layers: Vec<PackedLayer>,
}

/// All trunks and heads of a network.
pub struct PackedNetwork {
    trunks: Vec<PackedTrunk>,
    generation: PackedLayer,
    destruction: Option<PackedLayer>,
    /// Both heads side by side, where they share a trunk and together fill no more than a vector.
    both: Option<Panels>,
}

/// Which directions will be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Forward passes only.
    Up,
    /// Backward passes too.
    Both,
}

impl PackedLayer {
    fn new(weight: Tensor) -> Self {
        Self {
            up: Panels::new(weight.inputs, weight.outputs),
            down: Panels::new(weight.outputs, weight.inputs),
        }
    }

    fn packing<'a>(
        &'a mut self,
        weight: &'a [f32],
        direction: Direction,
    ) -> impl Iterator<Item = Packing<'a>> {
        let down = (direction == Direction::Both).then_some(Packing::Down(&mut self.down, weight));
        [Packing::Up(&mut self.up, weight)].into_iter().chain(down)
    }
}

/// Weights to be arranged. In any order, or at once: each goes to a place of its own.
pub enum Packing<'a> {
    /// For the way up.
    Up(&'a mut Panels, &'a [f32]),
    /// For the way down.
    Down(&'a mut Panels, &'a [f32]),
    /// For the way up, both heads side by side.
    SideBySide(&'a mut Panels, [Tensor; 2], &'a [f32]),
}

impl Packing<'_> {
    /// Arranges them.
    pub fn run(self) {
        match self {
            Packing::Up(panels, weight) => panels.pack(0, weight),
            Packing::Down(panels, weight) => panels.pack_transposed(weight),
            Packing::SideBySide(panels, [first, second], parameters) => {
                panels.pack(0, first.of(parameters));
                panels.pack(first.outputs, second.of(parameters));
            }
        }
    }
}

impl Trunk {
    /// The weights of the state half: the encoder's, then the backbone's.
    fn state_weights(&self) -> impl Iterator<Item = Tensor> {
        let hidden = self.hidden.iter().map(|dense| dense.weight);
        [self.state.weight, self.first_state].into_iter().chain(hidden)
    }
}

impl PackedNetwork {
    /// Room for the weights of a network.
    pub fn new(layout: &Layout) -> Self {
        let trunk =
            |trunk: &Trunk| PackedTrunk { layers: trunk.state_weights().map(PackedLayer::new).collect() };
        let head = |head: Head| PackedLayer::new(head.dense.weight);
        let outputs = layout.shape.generation_outputs + layout.shape.destruction_outputs;
        let side_by_side = layout.destruction.filter(|head| head.trunk == 0 && outputs <= LINE);
        Self {
            trunks: layout.trunks.iter().map(trunk).collect(),
            generation: head(layout.generation),
            destruction: layout.destruction.map(head),
            both: side_by_side.map(|_| Panels::new(layout.shape.width, outputs)),
        }
    }

    /// What is to be done to take the weights from a parameter vector.
    pub fn packing<'a>(
        &'a mut self,
        layout: &'a Layout,
        parameters: &'a [f32],
        direction: Direction,
    ) -> impl Iterator<Item = Packing<'a>> {
        let weights = layout.trunks.iter().flat_map(Trunk::state_weights);
        let layers = self.trunks.iter_mut().flat_map(|trunk| &mut trunk.layers).zip(weights);
        let generation = (&mut self.generation, layout.generation.dense.weight);
        let destruction = self.destruction.as_mut().zip(layout.destruction.map(|head| head.dense.weight));
        let both = self.both.as_mut().zip(layout.destruction).map(|(both, destruction)| {
            let heads = [layout.generation.dense.weight, destruction.dense.weight];
            Packing::SideBySide(both, heads, parameters)
        });
        let layers = layers.chain([generation]).chain(destruction);
        layers.flat_map(move |(layer, weight)| layer.packing(weight.of(parameters), direction)).chain(both)
    }

    /// One of the trunks.
    pub fn trunk(&self, index: usize) -> &PackedTrunk {
        &self.trunks[index]
    }

    /// Both heads side by side, where that is worth it.
    pub(super) fn both(&self) -> Option<&Panels> {
        self.both.as_ref()
    }

    /// The head of a process that is learned.
    pub fn head(&self, process: Process) -> &PackedLayer {
        match process {
            Process::Generation => &self.generation,
            Process::Destruction => self.destruction.as_ref().expect("only a learned process has a head"),
        }
    }
}

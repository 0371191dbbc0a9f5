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

    fn pack(&mut self, weight: Tensor, parameters: &[f32], direction: Direction) {
        self.up.pack(0, weight.of(parameters));
        if direction == Direction::Both {
            self.down.pack_transposed(weight.of(parameters));
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

    /// Takes the weights from a parameter vector.
    pub fn pack(&mut self, layout: &Layout, parameters: &[f32], direction: Direction) {
        for (packed, trunk) in self.trunks.iter_mut().zip(&layout.trunks) {
            for (layer, weight) in packed.layers.iter_mut().zip(trunk.state_weights()) {
                layer.pack(weight, parameters, direction);
            }
        }
        self.generation.pack(layout.generation.dense.weight, parameters, direction);
        if let (Some(packed), Some(head)) = (&mut self.destruction, layout.destruction) {
            packed.pack(head.dense.weight, parameters, direction);
            if let Some(both) = &mut self.both {
                both.pack(0, layout.generation.dense.weight.of(parameters));
                both.pack(layout.shape.generation_outputs, head.dense.weight.of(parameters));
            }
        }
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

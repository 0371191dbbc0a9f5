//! Where each tensor of the network stands in the flat parameter vector.
//!
//! The order is generation head, trunk(s), destruction head. What an optimiser owns, a trunk and its own
//! head, is therefore one contiguous range, whether the trunk is shared or not.

use std::ops::Range;

use crate::stream::{Address, Purpose};

/// One of the two processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// From the origin to a sample.
    Generation,
    /// From a sample back to the origin.
    Destruction,
}

/// Whether the two processes share encoders and backbone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backbone {
    /// One trunk, two heads.
    Shared,
    /// Two trunks, one head each.
    Separate,
}

/// The sizes that fix a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Coordinates of a state.
    pub dim: usize,
    /// Features of each encoder and each layer.
    pub width: usize,
    /// Layers of the backbone, at least one.
    pub depth: usize,
    /// Outputs of the generation head.
    pub generation_outputs: usize,
    /// Outputs of the destruction head; 0 if the destruction process is not learned.
    pub destruction_outputs: usize,
    /// Shared or separate trunks.
    pub backbone: Backbone,
}

/// A matrix (inputs × outputs, by rows) or a vector inside the flat parameter vector.
///
/// ```
/// use ebbtide::network::Tensor;
///
/// let weight = Tensor { start: 1, inputs: 2, outputs: 3 };
/// assert_eq!(weight.range(), 1..7);
/// let mut parameters = [0.0; 8];
/// let (input, output) = (1, 2);
/// weight.of_mut(&mut parameters)[input * weight.outputs + output] = 5.0;
/// assert_eq!(parameters[6], 5.0);
/// assert_eq!(weight.of(&parameters), [0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where it begins.
    pub start: usize,
    /// Its inputs; 1 for a vector.
    pub inputs: usize,
    /// Its outputs.
    pub outputs: usize,
}

impl Tensor {
    /// The places it takes.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.inputs * self.outputs
    }

    /// Its values in a parameter vector.
    pub fn of<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.range()]
    }

    /// Its values in a parameter or gradient vector, to be written.
    pub fn of_mut<'a>(&self, parameters: &'a mut [f32]) -> &'a mut [f32] {
        &mut parameters[self.range()]
    }
}

/// A linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Inputs × outputs.
    pub weight: Tensor,
    /// One for each output.
    pub bias: Tensor,
}

/// Encoders and backbone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trunk {
    /// Learned phases of the time features.
    pub phase: Tensor,
    /// The two layers of the time encoder.
    pub time: [Dense; 2],
    /// The state encoder.
    pub state: Dense,
    /// The half of the first backbone layer that reads the state encoding.
    pub first_state: Tensor,
    /// The half that reads the time encoding, with the layer's bias.
    pub first_time: Dense,
    /// The backbone's further layers.
    pub hidden: Vec<Dense>,
    range: Range<usize>,
}

/// A head and the trunk it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The final linear layer.
    pub dense: Dense,
    /// Index into [`Layout::trunks`].
    pub trunk: usize,
}

/// The map of the parameter vector.
///
/// ```
/// use ebbtide::network::{Backbone, Head, Layout, Process, Shape, Trunk};
///
/// let outputs = 2 * 2; // of either head: a drift or a mean for each coordinate, and a variance
/// let backbone = Backbone::Shared;
/// let layout = Layout::new(Shape {
///     dim: 2, width: 4, depth: 1, generation_outputs: outputs, destruction_outputs: outputs, backbone,
/// });
/// let in_head = 4 * outputs + outputs;
/// let in_trunk = 4 + (8 * 4 + 4) + (4 * 4 + 4) + (2 * 4 + 4) + (8 * 4 + 4); // phases, time, state, backbone
/// assert_eq!(layout.parameters(), in_head + in_trunk + in_head);
/// // Both processes own the trunk that they share.
/// assert_eq!(layout.owned(Process::Generation), 0..in_head + in_trunk);
/// assert_eq!(layout.owned(Process::Destruction), in_head..in_head + in_trunk + in_head);
///
/// let weights = layout.initialise(0);
/// let Head { dense, trunk } = layout.head(Process::Destruction).unwrap();
/// assert_eq!(dense.weight.of(&weights), [0.0; 16]);
/// let Trunk { phase, hidden, .. } = &layout.trunks[trunk];
/// assert!(hidden.is_empty() && layout.tensors().any(|named| named == ("shared.time.phase", *phase)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sizes it was made for.
    pub shape: Shape,
    /// One trunk, or two.
    pub trunks: Vec<Trunk>,
    /// The generation head.
    pub generation: Head,
    /// The destruction head, if that process is learned.
    pub destruction: Option<Head>,
    names: Vec<(String, Tensor)>,
    len: usize,
}

/// Hands out consecutive places, remembering the names.
struct Allocator {
    next: usize,
    names: Vec<(String, Tensor)>,
}

impl Allocator {
    fn tensor(&mut self, name: String, inputs: usize, outputs: usize) -> Tensor {
        let tensor = Tensor { start: self.next, inputs, outputs };
        self.next += inputs * outputs;
        self.names.push((name, tensor));
        tensor
    }

    fn dense(&mut self, name: &str, inputs: usize, outputs: usize) -> Dense {
        Dense {
            weight: self.tensor(format!("{name}.weight"), inputs, outputs),
            bias: self.tensor(format!("{name}.bias"), 1, outputs),
        }
    }

    fn trunk(&mut self, prefix: &str, shape: &Shape) -> Trunk {
        let (start, h) = (self.next, shape.width);
        let phase = self.tensor(format!("{prefix}.time.phase"), 1, h);
        let time = [
            self.dense(&format!("{prefix}.time.0"), 2 * h, h),
            self.dense(&format!("{prefix}.time.1"), h, h),
        ];
        let state = self.dense(&format!("{prefix}.state"), shape.dim, h);
        let first_state = self.tensor(format!("{prefix}.backbone.0.state.weight"), h, h);
        let first_time = Dense {
            weight: self.tensor(format!("{prefix}.backbone.0.time.weight"), h, h),
            bias: self.tensor(format!("{prefix}.backbone.0.bias"), 1, h),
        };
        let hidden = (1..shape.depth).map(|k| self.dense(&format!("{prefix}.backbone.{k}"), h, h)).collect();
        Trunk { phase, time, state, first_state, first_time, hidden, range: start..self.next }
    }
}

impl Layout {
    /// Lays out a network of this shape.
    pub fn new(shape: Shape) -> Self {
        let mut places = Allocator { next: 0, names: Vec::new() };
        let learned = shape.destruction_outputs > 0;
        let head = places.dense("generation.head", shape.width, shape.generation_outputs);
        let generation = Head { dense: head, trunk: 0 };
        let trunks = match shape.backbone {
            Backbone::Shared => vec![places.trunk("shared", &shape)],
            Backbone::Separate if learned => {
                vec![places.trunk("generation", &shape), places.trunk("destruction", &shape)]
            }
            Backbone::Separate => vec![places.trunk("generation", &shape)],
        };
        let destruction = learned.then(|| Head {
            dense: places.dense("destruction.head", shape.width, shape.destruction_outputs),
            trunk: trunks.len() - 1,
        });
        Self { shape, trunks, generation, destruction, len: places.next, names: places.names }
    }

    /// The number of parameters.
    pub fn parameters(&self) -> usize {
        self.len
    }

    /// Every tensor with its name.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, Tensor)> {
        self.names.iter().map(|(name, tensor)| (name.as_str(), *tensor))
    }

    /// The head of a process, if it is learned.
    pub fn head(&self, process: Process) -> Option<Head> {
        match process {
            Process::Generation => Some(self.generation),
            Process::Destruction => self.destruction,
        }
    }

    /// The contiguous range of parameters that belongs to a process: its trunk and its head.
    pub fn owned(&self, process: Process) -> Range<usize> {
        match process {
            Process::Generation => 0..self.trunks[0].range.end,
            Process::Destruction => match self.destruction {
                Some(head) => self.trunks[head.trunk].range.start..self.len,
                None => self.len..self.len,
            },
        }
    }

    /// The parameters of a process whose gradient is gathered row by row: its head, and the state half of its trunk.
    /// Nothing if the process is not learned.
    pub(crate) fn gathered(&self, process: Process) -> [Range<usize>; 3] {
        self.head(process).map_or([0..0, 0..0, 0..0], |head| {
            let trunk = &self.trunks[head.trunk];
            [
                head.dense.weight.start..head.dense.bias.range().end,
                trunk.state.weight.start..trunk.first_time.weight.start,
                trunk.first_time.bias.range().end..trunk.range.end,
            ]
        })
    }

    /// The biases among them.
    pub(crate) fn gathered_biases(&self, process: Process) -> impl Iterator<Item = Tensor> {
        self.head(process).into_iter().flat_map(|head| {
            let trunk = &self.trunks[head.trunk];
            let hidden = trunk.hidden.iter().map(|dense| dense.bias);
            [head.dense.bias, trunk.state.bias].into_iter().chain(hidden)
        })
    }

    /// Fresh weights: uniform in ±1/√inputs, phases standard normal, heads zero.
    pub fn initialise(&self, seed: u64) -> Vec<f32> {
        let mut parameters = vec![0.0; self.len];
        let address = Address::new(seed, Purpose::Initialise, 0);
        let mut uniform = |tensor: Tensor, inputs: usize| {
            let mut stream = address.stream(tensor.start);
            let bound = 1.0 / (inputs as f64).sqrt();
            for value in tensor.of_mut(&mut parameters) {
                *value = (bound * (2.0 * stream.uniform() - 1.0)) as f32;
            }
        };
        let h = self.shape.width;
        for trunk in &self.trunks {
            for dense in trunk.time.iter().chain([&trunk.state]).chain(&trunk.hidden) {
                uniform(dense.weight, dense.weight.inputs);
                uniform(dense.bias, dense.weight.inputs);
            }
            for tensor in [trunk.first_state, trunk.first_time.weight, trunk.first_time.bias] {
                uniform(tensor, 2 * h);
            }
        }
        for trunk in &self.trunks {
            address.stream(trunk.phase.start).fill_normal(trunk.phase.of_mut(&mut parameters));
        }
        parameters
    }

    /// Prepares fresh weights for states of about this size: those that multiply a state are divided by it. What a layer of GELUs
    /// bends, it then bends all over the place where states are, and not only next to the origin.
    pub(crate) fn expect_states_of(&self, size: f32, parameters: &mut [f32]) {
        for trunk in &self.trunks {
            trunk.state.weight.of_mut(parameters).iter_mut().for_each(|weight| *weight /= size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(backbone: Backbone, destruction_outputs: usize) -> Shape {
        Shape { dim: 2, width: 4, depth: 2, generation_outputs: 4, destruction_outputs, backbone }
    }

    #[test]
    fn tensors_tile_the_vector_and_owners_cover_it() {
        for backbone in [Backbone::Shared, Backbone::Separate] {
            for outputs in [0, 4] {
                let layout = Layout::new(shape(backbone, outputs));
                let mut next = 0;
                for (name, tensor) in layout.tensors() {
                    assert_eq!(tensor.start, next, "{name}");
                    next = tensor.range().end;
                }
                assert_eq!(next, layout.parameters());
                let (generation, destruction) =
                    (layout.owned(Process::Generation), layout.owned(Process::Destruction));
                for process in [Process::Generation, Process::Destruction] {
                    let owned = layout.owned(process);
                    let gathered: usize = layout.gathered(process).iter().map(|part| part.len()).sum();
                    let timed = layout.tensors().filter(|(name, tensor)| {
                        let of_time = name.contains(".time.") || name.ends_with("backbone.0.bias");
                        of_time && owned.contains(&tensor.start)
                    });
                    let timed: usize = timed.map(|(_, tensor)| tensor.range().len()).sum();
                    assert_eq!(gathered + timed, owned.len());
                }
                assert_eq!(generation.start, 0);
                assert_eq!(destruction.end, layout.parameters());
                assert_eq!(generation.end.max(destruction.start), generation.end);
                assert_eq!(
                    generation.end == destruction.start,
                    backbone == Backbone::Separate || outputs == 0
                );
            }
        }
    }

    #[test]
    fn heads_start_at_zero_and_the_rest_does_not() {
        let layout = Layout::new(shape(Backbone::Shared, 4));
        let parameters = layout.initialise(0);
        for (name, tensor) in layout.tensors() {
            let zero = tensor.of(&parameters).iter().all(|&v| v == 0.0);
            assert_eq!(zero, name.contains("head"), "{name}");
        }
        assert_ne!(parameters, layout.initialise(1));
    }
}

//! What a network says that does not depend on where a trajectory is: time biases, and its word at the origin.

use super::Model;
use crate::network::{
    Activations, Descent, Direction, PackedNetwork, Packing, Part, Process, RowBlocks, Sink, TimeDescent,
    TimePass, Trace, Trunk, backward, forward, head_forward, head_scratch,
};
use crate::numeric::aligned::Aligned;

/// Weights, with the prelude computed from them.
#[derive(Clone, Copy)]
pub struct Network<'a> {
    /// The flat parameter vector.
    pub parameters: &'a [f32],
    /// Computed from the same parameters.
    pub prelude: &'a Prelude,
}

/// The part of an evaluation that is the same for all trajectories.
///
/// Time enters the network as a bias, one for each grid point. And all trajectories begin at x_0 = 0, so
/// the generation head is asked about the origin once. Weights are arranged for products here, once for all lanes.
pub struct Prelude {
    packed: PackedNetwork,
    time: Vec<TimePass>,
    origin_state: Vec<f32>,
    origin: Activations,
    origin_raw: Vec<f32>,
    origin_scratch: Aligned,
}

/// A part of a prelude that asks for no other.
pub(crate) enum PreludePart<'a> {
    Time(&'a mut TimePass, &'a Trunk, &'a [f32]),
    Packing(Packing<'a>),
}

impl PreludePart<'_> {
    /// Computes it.
    pub(crate) fn run(self) {
        match self {
            PreludePart::Time(time, trunk, parameters) => time.forward(trunk, parameters),
            PreludePart::Packing(packing) => packing.run(),
        }
    }
}

/// Scratch for completing a gradient.
pub(crate) struct PreludeDescent {
    origin: Descent,
    time: TimeDescent,
}

impl PreludeDescent {
    /// What the way down from the origin left behind.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.origin.trace()
    }

    /// Room for one process of a model.
    pub(crate) fn new(model: &Model) -> Self {
        let shape = model.layout.shape;
        Self { origin: Descent::new(&shape, 1), time: TimeDescent::new(model.steps() + 1, shape.width) }
    }
}

const ORIGIN: RowBlocks = RowBlocks { first_time: 0, times: 1, each: 1 };

impl Prelude {
    /// Room for the prelude of a model's network.
    pub fn new(model: &Model) -> Self {
        let shape = model.layout.shape;
        let times = model.grid.times();
        Self {
            packed: PackedNetwork::new(&model.layout),
            time: model.layout.trunks.iter().map(|_| TimePass::new(times, shape.width)).collect(),
            origin_state: vec![0.0; shape.dim],
            origin: Activations::new(shape.width, shape.depth, 1),
            origin_raw: vec![0.0; shape.generation_outputs],
            origin_scratch: Aligned::zeros(head_scratch(shape.generation_outputs)),
        }
    }

    /// Computes everything for these parameters, for passes in these directions.
    pub fn forward(&mut self, model: &Model, parameters: &[f32], direction: Direction) {
        self.parts(model, parameters, direction).for_each(PreludePart::run);
        self.at_origin(model, parameters);
    }

    /// All but the word at the origin, which needs the others.
    pub(crate) fn parts<'a>(
        &'a mut self,
        model: &'a Model,
        parameters: &'a [f32],
        direction: Direction,
    ) -> impl Iterator<Item = PreludePart<'a>> {
        let times = self.time.iter_mut().zip(&model.layout.trunks);
        let times = times.map(move |(time, trunk)| PreludePart::Time(time, trunk, parameters));
        let packing = self.packed.packing(&model.layout, parameters, direction);
        times.chain(packing.map(PreludePart::Packing))
    }

    /// What the generation head says at the origin, all else being there.
    pub(crate) fn at_origin(&mut self, model: &Model, parameters: &[f32]) {
        let head = model.layout.generation;
        let trunk = &model.layout.trunks[head.trunk];
        let biases = self.time[head.trunk].biases();
        let (packed, state) = (self.packed.trunk(head.trunk), &self.origin_state);
        forward(trunk, packed, parameters, biases, ORIGIN, state, &mut self.origin, true);
        let packed = self.packed.head(Process::Generation);
        let (scratch, raw) = (&mut self.origin_scratch, &mut self.origin_raw);
        head_forward(head, packed, parameters, 0..1, &self.origin, scratch, raw);
    }

    /// The weights, arranged for products.
    pub(crate) fn packed(&self) -> &PackedNetwork {
        &self.packed
    }

    /// The time biases of a trunk.
    pub(crate) fn biases(&self, trunk: usize) -> &[f32] {
        self.time[trunk].biases()
    }

    /// Raw outputs of the generation head at (x_0, t_0).
    pub(crate) fn origin_raw(&self) -> &[f32] {
        &self.origin_raw
    }

    /// Completes a process's gradient: what came to rest on the origin's outputs and on the time biases goes
    /// down to the parameters behind them.
    pub(crate) fn backward(
        &self,
        model: &Model,
        parameters: &[f32],
        process: Process,
        origin_gradient: &[f32],
        sink: &mut Sink,
        descent: &mut PreludeDescent,
    ) {
        let Some(head) = model.layout.head(process) else { return };
        let trunk = &model.layout.trunks[head.trunk];
        if process == Process::Generation {
            let packed = self.packed.head(process);
            let mut parts = [Part {
                process,
                head,
                packed,
                rows: 0..1,
                raw_gradient: origin_gradient,
                sink: Some(&mut *sink),
            }];
            let (packed, state, origin) = (self.packed.trunk(head.trunk), &self.origin_state, &self.origin);
            descent.origin.begin(state, origin, 1);
            backward(trunk, packed, ORIGIN, state, origin, &mut parts, &mut descent.origin, None);
        }
        let Sink { parameters: gradient, biases, .. } = sink;
        self.time[head.trunk].backward(trunk, parameters, biases, gradient, &mut descent.time);
    }
}

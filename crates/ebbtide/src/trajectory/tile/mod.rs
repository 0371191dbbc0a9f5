//! A tile: a few whole trajectories on their way through the network, small enough for the cache.

mod adjoint;
mod likelihood;

use std::ops::Range;

use super::{Model, Network};
use crate::network::{
    Activations, Descent, Glance, Process, Question, RowBlocks, States, Trace, forward, gathers_at_once,
    head_forward, head_scratch, heads_forward,
};
use crate::numeric::aligned::{Aligned, LINE};
use crate::numeric::product::transpose;

/// Which heads a pass needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The generation head, at times 0 … T−1.
    pub generation: bool,
    /// The destruction head, at times 2 … T.
    pub destruction: bool,
}

impl Wanted {
    /// Whether it is any at all.
    pub(crate) fn any(self) -> bool {
        self.generation || self.destruction
    }

    fn process(self, process: Process) -> bool {
        match process {
            Process::Generation => self.generation,
            Process::Destruction => self.destruction,
        }
    }
}

/// The workspace of one lane. Rows of a tile are ordered by time, then by trajectory.
///
/// Kernels run over the trajectories of one coordinate at one time, so what they see is stored `[coordinate][row]` and
/// `[output][row]`; the network sees `[row][coordinate]` and answers `[row][output]`.
///
/// ```
/// # use ebbtide::{objective::Method, target::{Formula, Target}, train::Config};
/// use ebbtide::network::{Direction, Process, Sink};
/// use ebbtide::trajectory::{Network, Prelude, Tile, Wanted};
///
/// # let target: std::sync::Arc<dyn Target> = std::sync::Arc::new(Formula::new("-x0^2/2", 1, &[])?);
/// # let valid = Config::new(Method::TbTb, 2).validate(target)?;
/// let (model, layout) = (valid.model(), &valid.model().layout);
/// let parameters = layout.initialise(0);
/// let mut prelude = Prelude::new(model);
/// prelude.forward(model, &parameters, Direction::Both);
/// let network = Network { parameters: &parameters, prelude: &prelude };
///
/// // Two trajectories, where there is room for 64.
/// let (mut tile, weights) = (Tile::new(model), [1.0; 2]);
/// assert_eq!(Tile::trajectories(model.steps(), layout.shape.width), 64);
/// tile.load(model, &[0.5, 2.0, -1.0, 1.5]);
/// tile.forward(model, network, Wanted { generation: true, destruction: true }, true);
/// let shape = layout.shape;
/// let sink = || Sink::new(layout.parameters(), model.steps() + 1, shape.width, shape.generation_outputs);
/// let (mut generation, mut destruction) = (sink(), sink());
/// generation.begin(layout, Process::Generation);
/// destruction.begin(layout, Process::Destruction);
/// tile.pull_generation(model, network, &weights, &mut generation.origin);
/// tile.pull_destruction(model, &weights);
/// tile.descend(model, &prelude, Some(&mut generation), Some(&mut destruction));
///
/// // While drifts are 0 and σ² is 1, ∂ log p→ / ∂ f is how far a step goes: first 0.5 − 1, then 1.5 + 2.5.
/// let bias = layout.generation.dense.bias.start;
/// assert!((generation.origin[0] + 0.5).abs() < 1e-5 && (generation.parameters[bias] - 4.0).abs() < 1e-5);
/// // ∂ log p← / ∂ a is C₂ (x₁ − ρ x₂) x₂ / (σ² Δ), with ρ = Δ = ½ and C₂ = 0.9: 0.9 (−2 − 5.25).
/// let bias = layout.destruction.expect("it is learned").dense.bias.start;
/// assert!((destruction.parameters[bias] + 6.525).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tile {
    count: usize,
    /// The heads that the last pass was run for.
    wanted: Wanted,
    /// x_1 … x_T of `count` trajectories.
    pub(crate) states: Vec<f32>,
    /// The same, `[row][coordinate]`.
    inputs: Vec<f32>,
    /// What the generation head says at times 1 … T−1; after [`Tile::pull_generation`], its gradient.
    pub(crate) generation_raw: Vec<f32>,
    /// What the destruction head says at times 2 … T; after [`Tile::pull_destruction`], its gradient.
    pub(crate) destruction_raw: Vec<f32>,
    activations: Vec<Activations>,
    /// For passes that no way back follows, unless the network is too wide.
    glance: Option<Glance>,
    /// One, or one for each trunk that leaves a trace.
    descents: Vec<Descent>,
    scratch: Scratch,
    walk: Walk,
}

/// What a simulation carries along: where each trajectory is, and one coordinate's noise.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) states: Vec<f32>,
    pub(crate) noise: Vec<f32>,
}

/// Places for one number of each trajectory, and for a copy of some states.
struct Scratch {
    zeros: Vec<f32>,
    drift: Vec<f32>,
    variance: Vec<f32>,
    sums: Vec<f32>,
    weights: Vec<f32>,
    /// Raw outputs of the heads, `[row][output]`, rows in whole lines.
    heads: Aligned,
    /// Gradients of raw outputs, `[row][output]`; one for each process.
    raw: [Vec<f32>; 2],
    /// A gradient with respect to the states, `[row][coordinate]`.
    rows: Vec<f32>,
    pulled: Vec<f32>,
}

/// Rows that make matrix products efficient while the activations of a tile fit the cache.
const ROWS: usize = 192;
/// The same for layers so wide that their weights fit no cache, and are best used by many rows.
const WIDE_ROWS: usize = 384;
const WIDE: usize = 512;
/// Steps × features of the largest tiles that are filled up to a vector's width.
const LARGEST: usize = 16_384;

impl Tile {
    /// How many trajectories share a tile: a function of the model alone, so that results do not
    /// depend on the machine.
    pub fn trajectories(steps: usize, width: usize) -> usize {
        let rows = if width < WIDE { ROWS } else { WIDE_ROWS };
        let most = (rows / steps).max(1);
        // Kernels run over the trajectories of a tile: fewer than a vector's worth of them waste it. Long paths of wide
        // networks would cost more memory than that is worth.
        let fewest = if steps.saturating_mul(width) <= LARGEST { LINE } else { 4 };
        (1 << most.ilog2()).clamp(fewest, 64)
    }

    /// Room for one tile of this model.
    pub fn new(model: &Model) -> Self {
        let (shape, steps) = (model.layout.shape, model.steps());
        let count = Self::trajectories(steps, shape.width);
        let (rows, capacity) = (count * steps, Self::capacity(model));
        Self {
            count: 0,
            wanted: Wanted { generation: false, destruction: false },
            states: vec![0.0; shape.dim * rows],
            inputs: vec![0.0; shape.dim * rows],
            generation_raw: vec![0.0; shape.generation_outputs * capacity],
            destruction_raw: vec![0.0; shape.destruction_outputs * capacity],
            activations: model
                .layout
                .trunks
                .iter()
                .map(|_| Activations::new(shape.width, shape.depth, rows))
                .collect(),
            glance: Glance::new(shape.dim, shape.width),
            descents: (0..Self::descents(model)).map(|_| Descent::new(&shape, rows)).collect(),
            scratch: Scratch {
                zeros: vec![0.0; rows],
                drift: vec![0.0; rows],
                variance: vec![0.0; rows],
                sums: vec![0.0; rows],
                weights: vec![0.0; rows],
                heads: Aligned::zeros(
                    head_scratch(shape.generation_outputs + shape.destruction_outputs) * rows,
                ),
                raw: [shape.generation_outputs, shape.destruction_outputs]
                    .map(|outputs| vec![0.0; outputs * rows]),
                rows: vec![0.0; shape.dim * rows],
                pulled: vec![0.0; shape.generation_outputs * count],
            },
            walk: Walk { states: vec![0.0; shape.dim * capacity], noise: vec![0.0; capacity] },
        }
    }

    fn descents(model: &Model) -> usize {
        if gathers_at_once(model.layout.shape.width) { model.layout.trunks.len() } else { 1 }
    }

    /// What the last way down left behind of a process.
    pub(crate) fn trace(&self, model: &Model, process: Process) -> Option<&Trace> {
        self.descents.get(model.layout.head(process)?.trunk)?.trace()
    }

    /// The most trajectories that fit when only one time is looked at.
    pub(crate) fn capacity(model: &Model) -> usize {
        let (steps, width) = (model.steps(), model.layout.shape.width);
        let rows = Self::trajectories(steps, width) * steps;
        if Glance::fits(width) { rows.next_multiple_of(Glance::BAND) } else { rows }
    }

    /// The number of trajectories in the tile.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Lends the simulation's buffers, so that the tile can be asked meanwhile.
    pub(crate) fn take_walk(&mut self) -> Walk {
        std::mem::take(&mut self.walk)
    }

    /// Takes them back.
    pub(crate) fn put_walk(&mut self, walk: Walk) {
        self.walk = walk;
    }

    /// Brings in whole trajectories, `[path][step][coordinate]`.
    pub fn load(&mut self, model: &Model, paths: &[f32]) {
        let (dim, steps) = (model.dim(), model.steps());
        self.count = paths.len() / (dim * steps);
        let rows = self.count * steps;
        for (trajectory, path) in paths.chunks_exact(dim * steps).enumerate() {
            for (step, state) in path.chunks_exact(dim).enumerate() {
                let row = step * self.count + trajectory;
                for (coordinate, &value) in state.iter().enumerate() {
                    self.states[coordinate * rows + row] = value;
                    self.inputs[row * dim + coordinate] = value;
                }
            }
        }
        model.view.apply(&mut self.inputs[..rows * dim]);
    }

    /// The rows of a coordinate at time `time` (0 … T) in an array that begins at `first_time`.
    fn at(&self, coordinate: usize, time: usize, first_time: usize, times: usize) -> Range<usize> {
        let start = coordinate * times * self.count + (time - first_time) * self.count;
        start..start + self.count
    }

    /// One coordinate of x_time.
    fn state(&self, model: &Model, coordinate: usize, time: usize) -> &[f32] {
        if time == 0 {
            return &self.scratch.zeros[..self.count];
        }
        &self.states[self.at(coordinate, time, 1, model.steps())]
    }

    /// Whether the generation head has variances to say.
    fn learns_variance(model: &Model) -> bool {
        model.layout.shape.generation_outputs > model.dim()
    }

    /// The times a trunk is run at.
    fn times(model: &Model, wanted: Wanted) -> Range<usize> {
        let steps = model.steps();
        match (wanted.generation, wanted.destruction) {
            (true, true) => 1..steps + 1,
            (true, false) => 1..steps,
            (false, true) => 2..steps + 1,
            (false, false) => 1..1,
        }
    }

    /// The times a head is asked about, the origin left out.
    fn head_times(model: &Model, process: Process) -> Range<usize> {
        match process {
            Process::Generation => 1..model.steps(),
            Process::Destruction => 2..model.steps() + 1,
        }
    }

    /// The heads wanted of one trunk.
    fn wanted_of(model: &Model, wanted: Wanted, trunk: usize) -> Wanted {
        let stands_here = |process| {
            wanted.process(process) && model.layout.head(process).is_some_and(|head| head.trunk == trunk)
        };
        Wanted {
            generation: stands_here(Process::Generation),
            destruction: stands_here(Process::Destruction),
        }
    }

    /// The rows of a pass that wants these heads of a trunk. A single step needs none: it begins at the origin and
    /// is destroyed for certain.
    fn blocks(model: &Model, wanted: Wanted, each: usize) -> RowBlocks {
        let times = if model.steps() < 2 { 1..1 } else { Self::times(model, wanted) };
        RowBlocks { first_time: times.start, times: times.len(), each }
    }

    /// What the network sees of the states of the times a trunk is run at, `[row][coordinate]`.
    fn inputs(inputs: &[f32], blocks: RowBlocks, dim: usize) -> &[f32] {
        let first = (blocks.first_time - 1) * blocks.each * dim;
        &inputs[first..first + blocks.rows() * dim]
    }

    /// Runs the network over all states and asks the wanted heads.
    pub fn forward(&mut self, model: &Model, network: Network, wanted: Wanted, slopes: bool) {
        self.wanted = wanted;
        for (index, trunk) in model.layout.trunks.iter().enumerate() {
            let here = Self::wanted_of(model, wanted, index);
            let blocks = Self::blocks(model, here, self.count);
            if blocks.rows() == 0 {
                continue;
            }
            if !slopes && self.glance_over(model, network, here, blocks, index) {
                continue;
            }
            let states = Self::inputs(&self.inputs, blocks, model.dim());
            let activations = &mut self.activations[index];
            let (packed, biases) = (network.prelude.packed().trunk(index), network.prelude.biases(index));
            forward(trunk, packed, network.parameters, biases, blocks, states, activations, slopes);
            let rows = |process| blocks.of_times(Self::head_times(model, process));
            if here.generation && here.destruction && self.ask_heads(model, network, rows) {
                continue;
            }
            for process in [Process::Generation, Process::Destruction] {
                if here.process(process) {
                    self.ask_head(model, network, process, rows(process));
                }
            }
        }
    }

    /// The same for one trunk, if no way back is to follow and it is narrow enough for that.
    fn glance_over(
        &mut self,
        model: &Model,
        network: Network,
        wanted: Wanted,
        blocks: RowBlocks,
        index: usize,
    ) -> bool {
        let Some(glance) = &mut self.glance else { return false };
        let first = (blocks.first_time - 1) * self.count;
        let stride = self.count * model.steps();
        let states = States { data: &self.states[first..], stride, view: model.view };
        let raws = [
            (Process::Generation, &mut self.generation_raw[..]),
            (Process::Destruction, &mut self.destruction_raw),
        ];
        let mut questions = raws.map(|(process, raw)| {
            let head = model.layout.head(process).filter(|_| wanted.process(process))?;
            Some(Question { head, rows: blocks.of_times(Self::head_times(model, process)), raw })
        });
        let (trunk, biases) = (&model.layout.trunks[index], network.prelude.biases(index));
        glance.run(trunk, network.parameters, biases, blocks, states, &mut questions);
        true
    }

    /// Raw outputs of one head for `states` (`[coordinate][row]`), all at one time, into the head's buffer.
    pub(crate) fn ask(
        &mut self,
        model: &Model,
        network: Network,
        process: Process,
        time: usize,
        states: &[f32],
    ) {
        let Some(head) = model.layout.head(process) else { return };
        let each = states.len() / model.dim();
        let blocks = RowBlocks { first_time: time, times: 1, each };
        if let Some(glance) = &mut self.glance {
            let raw = match process {
                Process::Generation => &mut self.generation_raw,
                Process::Destruction => &mut self.destruction_raw,
            };
            let states = States { data: states, stride: each, view: model.view };
            let question = Some(Question { head, rows: 0..each, raw });
            let (trunk, biases) = (&model.layout.trunks[head.trunk], network.prelude.biases(head.trunk));
            glance.run(trunk, network.parameters, biases, blocks, states, &mut [question]);
            return;
        }
        transpose(states, each, each, &mut self.inputs, model.dim());
        model.view.apply(&mut self.inputs[..states.len()]);
        let activations = &mut self.activations[head.trunk];
        let trunk = &model.layout.trunks[head.trunk];
        let (packed, biases) =
            (network.prelude.packed().trunk(head.trunk), network.prelude.biases(head.trunk));
        forward(trunk, packed, network.parameters, biases, blocks, &self.inputs, activations, false);
        self.ask_head(model, network, process, 0..each);
    }

    /// Raw outputs of one head for some rows of the last pass, into the head's buffer.
    fn ask_head(&mut self, model: &Model, network: Network, process: Process, rows: Range<usize>) {
        let Some(head) = model.layout.head(process) else { return };
        let raw = match process {
            Process::Generation => &mut self.generation_raw,
            Process::Destruction => &mut self.destruction_raw,
        };
        let (packed, activations) = (network.prelude.packed().head(process), &self.activations[head.trunk]);
        head_forward(head, packed, network.parameters, rows, activations, &mut self.scratch.heads, raw);
    }

    /// The same for both heads at once, if they stand side by side.
    fn ask_heads(&mut self, model: &Model, network: Network, rows: impl Fn(Process) -> Range<usize>) -> bool {
        let (generation, Some(destruction)) = (model.layout.generation, model.layout.destruction) else {
            return false;
        };
        let heads = [
            (generation, rows(Process::Generation), &mut self.generation_raw[..]),
            (destruction, rows(Process::Destruction), &mut self.destruction_raw[..]),
        ];
        let (packed, activations) = (network.prelude.packed(), &self.activations[generation.trunk]);
        heads_forward(heads, packed, network.parameters, activations, &mut self.scratch.heads)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::network::{Backbone, Direction, View};
    use crate::objective::Method;
    use crate::stream::{Address, Purpose};
    use crate::target::{NamedTarget, Target};
    use crate::train::Config;
    use crate::trajectory::Prelude;

    /// Passes with and without a way back to follow, and questions about one time: to the bit the same answers.
    #[test]
    fn a_glance_sees_what_a_pass_sees() {
        let both = Wanted { generation: true, destruction: true };
        for (named, steps, width, backbone, view) in [
            (NamedTarget::Gmm25, 5, 64, Backbone::Shared, View::Plain),
            (NamedTarget::Gmm25, 2, 1, Backbone::Shared, View::Logarithmic),
            (NamedTarget::HardFunnel, 20, 24, Backbone::Separate, View::Plain),
            (NamedTarget::Manywell, 3, 127, Backbone::Shared, View::Logarithmic),
            (NamedTarget::Gmm25, 4, 128, Backbone::Separate, View::Plain),
        ] {
            let mut config = Config::new(Method::TbTb, steps);
            (config.network.width, config.network.depth) = (width, 2);
            (config.network.backbone, config.network.view) = (backbone, view);
            let target: Arc<dyn Target> = Arc::from(named.build());
            let valid = config.validate(target).expect("a valid configuration");
            let (model, dim) = (valid.model(), valid.model().dim());
            // Fresh heads say nothing.
            let mut parameters = vec![0.0; model.layout.parameters()];
            let length = parameters.len();
            Address::new(1, Purpose::Sample, 0).fill_normals(0, length, &mut parameters);
            parameters.iter_mut().for_each(|weight| *weight *= 0.3);
            let mut prelude = Prelude::new(model);
            prelude.forward(model, &parameters, Direction::Both);
            let network = Network { parameters: &parameters, prelude: &prelude };
            let mut tile = Tile::new(model);
            for count in [1, 7, 16, 31, 64].map(|count| Tile::trajectories(steps, width).min(count)) {
                let path = dim * steps;
                let mut paths = vec![0.0; count * path];
                Address::new(2, Purpose::Sample, 0).fill_normals(0, path, &mut paths);
                tile.load(model, &paths);
                tile.forward(model, network, both, true);
                let passed = [tile.generation_raw.clone(), tile.destruction_raw.clone()];
                assert!(passed.iter().flatten().any(|&raw| raw != 0.0));
                tile.generation_raw.fill(f32::NAN);
                tile.destruction_raw.fill(f32::NAN);
                tile.forward(model, network, both, false);
                let (states, rows) = (tile.states.clone(), (steps - 1) * count);
                let glanced = [tile.generation_raw.clone(), tile.destruction_raw.clone()];
                for (index, process) in [Process::Generation, Process::Destruction].into_iter().enumerate() {
                    let outputs = model.layout.head(process).expect("both are learned").dense.weight.outputs;
                    let (passed, glanced) =
                        (&passed[index][..outputs * rows], &glanced[index][..outputs * rows]);
                    assert!(passed == glanced, "{process:?}: {count} paths of {named:?}, width {width}");
                    for time in Tile::head_times(model, process) {
                        let first = (time - 1) * count;
                        let now: Vec<f32> = states[..dim * steps * count]
                            .chunks_exact(steps * count)
                            .flat_map(|coordinate| coordinate[first..first + count].to_vec())
                            .collect();
                        tile.ask(model, network, process, time, &now);
                        let raw = [&tile.generation_raw, &tile.destruction_raw][index];
                        let first = (time - Tile::head_times(model, process).start) * count;
                        for (raw, passed) in raw.chunks_exact(count).zip(passed.chunks_exact(rows)) {
                            assert!(raw == &passed[first..first + count], "{process:?} at time {time}");
                        }
                    }
                }
            }
        }
    }
}

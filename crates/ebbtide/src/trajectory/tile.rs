//! A tile: a few whole trajectories on their way through the network, small enough for the cache.

use std::ops::Range;

use super::{Model, Network};
use crate::network::{
    Activations, Descent, Head, Part, Process, RowBlocks, Sink, backward, forward, head_forward,
};

/// Which heads a pass needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The generation head, at times 0 … T−1.
    pub generation: bool,
    /// The destruction head, at times 2 … T.
    pub destruction: bool,
}

impl Wanted {
    fn process(self, process: Process) -> bool {
        match process {
            Process::Generation => self.generation,
            Process::Destruction => self.destruction,
        }
    }
}

/// The workspace of one lane. Rows of a tile are ordered by time, then by trajectory, and everything is
/// stored `[feature][row]`.
pub struct Tile {
    /// The most rows a pass may have.
    capacity: usize,
    count: usize,
    /// The heads that the last pass was run for.
    wanted: Wanted,
    /// x_1 … x_T of `count` trajectories.
    pub(crate) states: Vec<f32>,
    /// What the generation head says at times 1 … T−1; after [`Tile::pull_generation`], its gradient.
    pub(crate) generation_raw: Vec<f32>,
    /// What the destruction head says at times 2 … T; after [`Tile::pull_destruction`], its gradient.
    pub(crate) destruction_raw: Vec<f32>,
    /// The gradient with respect to the origin's raw outputs, summed over trajectories and tiles.
    pub(crate) origin_gradient: Vec<f32>,
    activations: Vec<Activations>,
    descent: Descent,
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
    rows: Vec<f32>,
}

/// Rows that make matrix products efficient while the activations of a tile fit the cache.
const ROWS: usize = 192;

impl Tile {
    /// How many trajectories of T steps share a tile: a function of T alone, so that results do not
    /// depend on the machine.
    pub fn trajectories(steps: usize) -> usize {
        let most = (ROWS / steps).max(1);
        (1 << most.ilog2()).clamp(4, 64)
    }

    /// Room for one tile of this model.
    pub fn new(model: &Model) -> Self {
        let (shape, steps) = (model.layout.shape, model.steps());
        let count = Self::trajectories(steps);
        let rows = count * steps;
        Self {
            capacity: rows,
            count: 0,
            wanted: Wanted { generation: false, destruction: false },
            states: vec![0.0; shape.dim * rows],
            generation_raw: vec![0.0; shape.generation_outputs * rows],
            destruction_raw: vec![0.0; shape.destruction_outputs * rows],
            origin_gradient: vec![0.0; shape.generation_outputs],
            activations: model
                .layout
                .trunks
                .iter()
                .map(|_| Activations::new(shape.width, shape.depth, rows))
                .collect(),
            descent: Descent::new(shape.width, 2 * rows),
            scratch: Scratch {
                zeros: vec![0.0; rows],
                drift: vec![0.0; rows],
                variance: vec![0.0; rows],
                sums: vec![0.0; rows],
                weights: vec![0.0; rows],
                rows: vec![0.0; shape.dim * rows],
            },
            walk: Walk { states: vec![0.0; shape.dim * rows], noise: vec![0.0; rows] },
        }
    }

    /// The most trajectories that fit when only one time is looked at.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The number of trajectories in the tile.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the tile holds no trajectory.
    pub fn is_empty(&self) -> bool {
        self.count == 0
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
                for (coordinate, &value) in state.iter().enumerate() {
                    self.states[coordinate * rows + step * self.count + trajectory] = value;
                }
            }
        }
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

    /// The times a trunk is run at, and those of each head.
    fn times(model: &Model, wanted: Wanted) -> Range<usize> {
        let steps = model.steps();
        match (wanted.generation, wanted.destruction) {
            (true, true) => 1..steps + 1,
            (true, false) => 1..steps,
            (false, true) => 2..steps + 1,
            (false, false) => 1..1,
        }
    }

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

    fn blocks(&self, model: &Model, wanted: Wanted) -> RowBlocks {
        let times = if model.steps() < 2 { 1..1 } else { Self::times(model, wanted) };
        RowBlocks { first_time: times.start, times: times.len(), each: self.count }
    }

    /// The states of the times a trunk is run at, as the network wants them.
    fn inputs<'a>(
        states: &'a [f32],
        rows_buffer: &'a mut [f32],
        blocks: RowBlocks,
        steps: usize,
        dim: usize,
    ) -> &'a [f32] {
        let (all, rows) = (steps * blocks.each, blocks.rows());
        if rows == all {
            return &states[..dim * all];
        }
        let first = (blocks.first_time - 1) * blocks.each;
        for coordinate in 0..dim {
            rows_buffer[coordinate * rows..][..rows]
                .copy_from_slice(&states[coordinate * all + first..][..rows]);
        }
        &rows_buffer[..dim * rows]
    }

    /// Runs the network over all states and asks the wanted heads.
    pub fn forward(&mut self, model: &Model, network: Network, wanted: Wanted, slopes: bool) {
        self.wanted = wanted;
        for (index, trunk) in model.layout.trunks.iter().enumerate() {
            let here = Self::wanted_of(model, wanted, index);
            let blocks = self.blocks(model, here);
            if blocks.rows() == 0 {
                continue;
            }
            let states =
                Self::inputs(&self.states, &mut self.scratch.rows, blocks, model.steps(), model.dim());
            let activations = &mut self.activations[index];
            let biases = network.prelude.biases(index);
            forward(trunk, network.parameters, biases, blocks, states, activations, slopes);
            for (process, raw) in [
                (Process::Generation, &mut self.generation_raw),
                (Process::Destruction, &mut self.destruction_raw),
            ] {
                if let (true, Some(head)) = (here.process(process), model.layout.head(process)) {
                    let rows = blocks.of_times(Self::head_times(model, process));
                    let raw = &mut raw[..head.dense.weight.outputs * rows.len()];
                    head_forward(head, network.parameters, blocks, rows, activations, raw);
                }
            }
        }
    }

    /// One coordinate's f and v at a time, from the heads' outputs, or from the origin's.
    fn fill_origin(&mut self, model: &Model, network: Network, coordinate: usize) {
        let raw = network.prelude.origin_raw();
        self.scratch.drift[..self.count].fill(raw[coordinate]);
        if let Some(&variance) = raw.get(model.dim() + coordinate) {
            self.scratch.variance[..self.count].fill(variance);
        }
    }

    fn learns_variance(model: &Model) -> bool {
        model.layout.shape.generation_outputs > model.dim()
    }

    /// log p→ of each trajectory.
    pub fn log_generation(&mut self, model: &Model, network: Network, out: &mut [f64]) {
        out.fill(0.0);
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        let learned = Self::learns_variance(model);
        for i in 0..steps {
            self.scratch.sums[..n].fill(0.0);
            let mut sums = std::mem::take(&mut self.scratch.sums);
            for j in 0..dim {
                if i == 0 {
                    self.fill_origin(model, network, j);
                }
                let (f, v) = if i == 0 {
                    (&self.scratch.drift[..n], learned.then_some(&self.scratch.variance[..n]))
                } else {
                    let v = || &self.generation_raw[self.at(dim + j, i, 1, steps - 1)];
                    (&self.generation_raw[self.at(j, i, 1, steps - 1)], learned.then(v))
                };
                let (x, next) = (self.state(model, j, i), self.state(model, j, i + 1));
                model.generation.log_prob(model.grid.step(i), x, next, f, v, &mut sums[..n]);
            }
            add(out, &sums);
            self.scratch.sums = sums;
        }
    }

    /// log p← of each trajectory.
    pub fn log_destruction(&mut self, model: &Model, out: &mut [f64]) {
        out.fill(0.0);
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        for i in 1..steps {
            self.scratch.sums[..n].fill(0.0);
            let mut sums = std::mem::take(&mut self.scratch.sums);
            for j in 0..dim {
                let (x, next) = (self.state(model, j, i), self.state(model, j, i + 1));
                let raw = self.corrections(model, j, i + 1);
                model.destruction.log_prob(model.grid.step(i), x, next, raw, &mut sums[..n]);
            }
            add(out, &sums);
            self.scratch.sums = sums;
        }
    }

    /// One coordinate's a and b at a time.
    fn corrections(&self, model: &Model, coordinate: usize, time: usize) -> Option<(&[f32], &[f32])> {
        let (dim, times) = (model.dim(), model.steps() - 1);
        model.destruction.is_learned().then(|| {
            let a = &self.destruction_raw[self.at(coordinate, time, 2, times)];
            (a, &self.destruction_raw[self.at(dim + coordinate, time, 2, times)])
        })
    }

    /// Turns the generation head's outputs into the gradient of Σ weightᵢ log p→ᵢ; the origin's share is added to
    /// `origin_gradient`.
    pub fn pull_generation(&mut self, model: &Model, network: Network, weights: &[f32]) {
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        let learned = Self::learns_variance(model);
        for j in 0..dim {
            self.fill_origin(model, network, j);
            let (mut f, mut v) =
                (std::mem::take(&mut self.scratch.drift), std::mem::take(&mut self.scratch.variance));
            let (x, next) = (&self.scratch.zeros[..n], self.state(model, j, 1));
            let variance = learned.then_some(&mut v[..n]);
            model.generation.backward(model.grid.step(0), x, next, &mut f[..n], variance, weights);
            self.origin_gradient[j] += f[..n].iter().sum::<f32>();
            if learned {
                self.origin_gradient[dim + j] += v[..n].iter().sum::<f32>();
            }
            (self.scratch.drift, self.scratch.variance) = (f, v);
        }
        let mut raw = std::mem::take(&mut self.generation_raw);
        let (drifts, variances) = raw.split_at_mut(dim * (steps - 1) * n);
        for i in 1..steps {
            for j in 0..dim {
                let place = self.at(j, i, 1, steps - 1);
                let (x, next) = (self.state(model, j, i), self.state(model, j, i + 1));
                let variance = learned.then(|| &mut variances[place.clone()]);
                model.generation.backward(
                    model.grid.step(i),
                    x,
                    next,
                    &mut drifts[place.clone()],
                    variance,
                    weights,
                );
            }
        }
        self.generation_raw = raw;
    }

    /// Turns the destruction head's outputs into the gradient of Σ weightᵢ log p←ᵢ.
    pub fn pull_destruction(&mut self, model: &Model, weights: &[f32]) {
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        let mut raw = std::mem::take(&mut self.destruction_raw);
        let (means, variances) = raw.split_at_mut(dim * (steps - 1) * n);
        for i in 1..steps {
            for j in 0..dim {
                let place = self.at(j, i + 1, 2, steps - 1);
                let (x, next) = (self.state(model, j, i), self.state(model, j, i + 1));
                let step = model.grid.step(i);
                let (a, b) = (&mut means[place.clone()], &mut variances[place.clone()]);
                model.destruction.backward(step, x, next, a, b, weights);
            }
        }
        self.destruction_raw = raw;
    }

    /// Carries the heads' gradients down to the parameters, each process's into its own sink. To be called
    /// after a forward pass with slopes that wanted at least these heads.
    pub fn descend(
        &mut self,
        model: &Model,
        parameters: &[f32],
        generation: Option<&mut Sink>,
        destruction: Option<&mut Sink>,
    ) {
        let (mut generation, mut destruction) = (generation, destruction);
        for (index, trunk) in model.layout.trunks.iter().enumerate() {
            let here = Self::wanted_of(model, self.wanted, index);
            let blocks = self.blocks(model, here);
            if blocks.rows() == 0 {
                continue;
            }
            let states =
                Self::inputs(&self.states, &mut self.scratch.rows, blocks, model.steps(), model.dim());
            let part = |process, head: Head, raw, sink| {
                let rows = blocks.of_times(Self::head_times(model, process));
                Part {
                    head,
                    raw_gradient: &(raw as &[f32])[..head.dense.weight.outputs * rows.len()],
                    rows,
                    sink,
                }
            };
            let mut parts = Vec::with_capacity(2);
            if let Some(sink) = generation.take_if(|_| here.generation) {
                let head = model.layout.generation;
                parts.push(part(Process::Generation, head, &self.generation_raw, Some(sink)));
            }
            if let (Some(sink), Some(head)) =
                (destruction.take_if(|_| here.destruction), model.layout.destruction)
            {
                parts.push(part(Process::Destruction, head, &self.destruction_raw, Some(sink)));
            }
            let activations = &self.activations[index];
            backward(trunk, parameters, blocks, states, activations, &mut parts, &mut self.descent, None);
        }
    }

    /// Adds to `gradient` (`[coordinate][row]`, as the states) the gradient of `weight` Σ log p← with respect to
    /// the states, both directly and through the destruction network `parameters`. To be called after a forward
    /// pass with slopes that wanted the destruction head alone; its outputs are used up.
    pub fn destruction_state_gradient(
        &mut self,
        model: &Model,
        parameters: &[f32],
        weight: f32,
        gradient: &mut [f32],
    ) {
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        for j in 0..dim {
            let column = &mut gradient[j * steps * n..][..steps * n];
            for i in 1..steps {
                let (x, next) = (self.state(model, j, i), self.state(model, j, i + 1));
                let (here, above) = column[(i - 1) * n..(i + 1) * n].split_at_mut(n);
                let raw = self.corrections(model, j, i + 1);
                model.destruction.backward_states(model.grid.step(i), x, next, raw, weight, here, above);
            }
        }
        let Some(head) = model.layout.destruction else { return };
        if steps < 2 {
            return;
        }
        let mut weights = std::mem::take(&mut self.scratch.weights);
        weights[..n].fill(weight);
        self.pull_destruction(model, &weights[..n]);
        self.scratch.weights = weights;
        let wanted = Wanted { generation: false, destruction: true };
        let blocks = self.blocks(model, wanted);
        let rows = blocks.rows();
        let trunk = &model.layout.trunks[head.trunk];
        let raw_gradient = &self.destruction_raw[..head.dense.weight.outputs * rows];
        let mut parts = [Part { head, rows: 0..rows, raw_gradient, sink: None }];
        let activations = &self.activations[head.trunk];
        let through = &mut self.scratch.rows[..dim * rows];
        // Without a sink, the states of the forward pass are not looked at.
        backward(trunk, parameters, blocks, &[], activations, &mut parts, &mut self.descent, Some(through));
        for j in 0..dim {
            let column = &mut gradient[j * steps * n + n..][..rows];
            for (sum, value) in column.iter_mut().zip(&through[j * rows..]) {
                *sum += value;
            }
        }
    }

    /// Carries a gradient with respect to the states back in time, through the simulation that made them.
    ///
    /// `adjoint` holds the direct gradient of a loss with respect to x_1 … x_T, `[coordinate][row]`; `noise` is
    /// what the simulation used, laid out alike, and `weight` the loss's coefficient of log p→. To be
    /// called after a forward pass with slopes that wanted the generation head alone.
    pub fn descend_simulation(
        &mut self,
        model: &Model,
        network: Network,
        noise: &[f32],
        weight: f32,
        adjoint: &mut [f32],
        sink: &mut Sink,
    ) {
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        let (learned, head) = (Self::learns_variance(model), model.layout.generation);
        let outputs = head.dense.weight.outputs;
        let wanted = Wanted { generation: true, destruction: false };
        let blocks = self.blocks(model, wanted);
        let mut pulled = vec![0.0; outputs * n];
        let mut through = vec![0.0; dim * n];
        for i in (0..steps).rev() {
            for (output, column) in pulled.chunks_exact_mut(n).enumerate() {
                match i {
                    0 => column.fill(network.prelude.origin_raw()[output]),
                    _ => column.copy_from_slice(&self.generation_raw[self.at(output, i, 1, steps - 1)]),
                }
            }
            let (drifts, variances) = pulled.split_at_mut(dim * n);
            for j in 0..dim {
                let place = j * n..(j + 1) * n;
                let (f, v) = (&mut drifts[place.clone()], learned.then(|| &mut variances[place.clone()]));
                let next = self.at(j, i + 1, 1, steps);
                model.generation.backward_draw(
                    model.grid.step(i),
                    f,
                    v,
                    &noise[next.clone()],
                    &adjoint[next],
                    weight,
                );
            }
            if i == 0 {
                for (sum, column) in self.origin_gradient.iter_mut().zip(pulled.chunks_exact(n)) {
                    *sum += column.iter().sum::<f32>();
                }
                break;
            }
            let states = Self::inputs(&self.states, &mut self.scratch.rows, blocks, steps, dim);
            let rows = blocks.of_times(i..i + 1);
            let mut parts = [Part { head, rows, raw_gradient: &pulled, sink: Some(sink) }];
            let trunk = &model.layout.trunks[head.trunk];
            let activations = &self.activations[head.trunk];
            let descent = &mut self.descent;
            backward(
                trunk,
                network.parameters,
                blocks,
                states,
                activations,
                &mut parts,
                descent,
                Some(&mut through),
            );
            for j in 0..dim {
                let (here, next) = (self.at(j, i, 1, steps), self.at(j, i + 1, 1, steps));
                let column = &mut adjoint[here.start..next.end];
                let (here, next) = column.split_at_mut(n);
                for ((sum, value), next) in here.iter_mut().zip(&through[j * n..]).zip(next) {
                    *sum += *value + *next;
                }
            }
        }
    }

    /// Raw outputs of one head for `states` (`[coordinate][row]`), all at one time, into the head's buffer.
    pub fn ask(&mut self, model: &Model, network: Network, process: Process, time: usize, states: &[f32]) {
        let Some(head) = model.layout.head(process) else { return };
        let each = states.len() / model.dim();
        let blocks = RowBlocks { first_time: time, times: 1, each };
        let activations = &mut self.activations[head.trunk];
        let trunk = &model.layout.trunks[head.trunk];
        let biases = network.prelude.biases(head.trunk);
        forward(trunk, network.parameters, biases, blocks, states, activations, false);
        let raw = match process {
            Process::Generation => &mut self.generation_raw,
            Process::Destruction => &mut self.destruction_raw,
        };
        let raw = &mut raw[..head.dense.weight.outputs * each];
        head_forward(head, network.parameters, blocks, 0..each, activations, raw);
    }
}

fn add(out: &mut [f64], sums: &[f32]) {
    for (total, &sum) in out.iter_mut().zip(sums) {
        *total += f64::from(sum);
    }
}

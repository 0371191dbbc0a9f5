//! A tile's log-probabilities, and their gradient down to the parameters.

use super::Tile;
use crate::network::{Part, Process, Sink, backward};
use crate::numeric::product::transpose;
use crate::trajectory::{Model, Network, Prelude};

impl Tile {
    /// Fills the scratch with what the generation head says at the origin about one coordinate.
    fn fill_origin(&mut self, model: &Model, network: Network, coordinate: usize) {
        let raw = network.prelude.origin_raw();
        self.scratch.drift[..self.count].fill(raw[coordinate]);
        if let Some(&variance) = raw.get(model.dim() + coordinate) {
            self.scratch.variance[..self.count].fill(variance);
        }
    }

    /// log p→ of each trajectory.
    pub(crate) fn log_generation(&mut self, model: &Model, network: Network, out: &mut [f64]) {
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
    pub(crate) fn log_destruction(&mut self, model: &Model, out: &mut [f64]) {
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

    /// One coordinate's v at a time 0 … T−1, for each trajectory; none where the variance is fixed.
    pub(in crate::trajectory) fn variances(
        &self,
        model: &Model,
        network: Network,
        coordinate: usize,
        time: usize,
    ) -> Option<impl Iterator<Item = f32>> {
        let output = model.dim() + coordinate;
        let origin = network.prelude.origin_raw().get(output).copied()?;
        let rest = if time == 0 { 0..0 } else { self.at(output, time, 1, model.steps() - 1) };
        let origins = std::iter::repeat_n(origin, if time == 0 { self.count } else { 0 });
        Some(origins.chain(self.generation_raw[rest].iter().copied()))
    }

    /// One coordinate's a and b at a time 2 … T; none where they are fixed.
    pub(in crate::trajectory) fn corrections(
        &self,
        model: &Model,
        coordinate: usize,
        time: usize,
    ) -> Option<(&[f32], &[f32])> {
        let (dim, times) = (model.dim(), model.steps() - 1);
        model.destruction.is_learned().then(|| {
            let a = &self.destruction_raw[self.at(coordinate, time, 2, times)];
            (a, &self.destruction_raw[self.at(dim + coordinate, time, 2, times)])
        })
    }

    /// Turns the generation head's outputs into the gradient of Σ weightᵢ log p→ᵢ; the origin's share is added to
    /// `origin`.
    pub fn pull_generation(&mut self, model: &Model, network: Network, weights: &[f32], origin: &mut [f32]) {
        let (dim, steps, n) = (model.dim(), model.steps(), self.count);
        let learned = Self::learns_variance(model);
        for j in 0..dim {
            self.fill_origin(model, network, j);
            let (mut f, mut v) =
                (std::mem::take(&mut self.scratch.drift), std::mem::take(&mut self.scratch.variance));
            let (x, next) = (&self.scratch.zeros[..n], self.state(model, j, 1));
            let variance = learned.then_some(&mut v[..n]);
            model.generation.backward(model.grid.step(0), x, next, &mut f[..n], variance, weights);
            origin[j] += f[..n].iter().sum::<f32>();
            if learned {
                origin[dim + j] += v[..n].iter().sum::<f32>();
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
    /// after a forward pass with slopes that wanted at least these heads. What is gathered at once is left behind.
    pub fn descend(
        &mut self,
        model: &Model,
        prelude: &Prelude,
        generation: Option<&mut Sink>,
        destruction: Option<&mut Sink>,
    ) {
        let (each, last) = (self.count, self.descents.len() - 1);
        let [generation_rows, destruction_rows] = &mut self.scratch.raw;
        let mut losses = [
            (Process::Generation, generation, &self.generation_raw, generation_rows),
            (Process::Destruction, destruction, &self.destruction_raw, destruction_rows),
        ];
        for (index, trunk) in model.layout.trunks.iter().enumerate() {
            let here = Self::wanted_of(model, self.wanted, index);
            let blocks = Self::blocks(model, here, each);
            if blocks.rows() == 0 {
                continue;
            }
            let mut parts = losses.iter_mut().filter_map(|(process, sink, columns, raw_gradient)| {
                let head = model.layout.head(*process).filter(|_| here.process(*process))?;
                let (sink, rows) = (sink.as_deref_mut()?, blocks.of_times(Self::head_times(model, *process)));
                let (count, outputs) = (rows.len(), head.dense.weight.outputs);
                transpose(&columns[..outputs * count], count, count, raw_gradient, outputs);
                let packed = prelude.packed().head(*process);
                Some(Part { process: *process, head, packed, rows, raw_gradient, sink: Some(sink) })
            });
            let activations = &self.activations[index];
            let descent = &mut self.descents[index.min(last)];
            let (packed, states) =
                (prelude.packed().trunk(index), Self::inputs(&self.inputs, blocks, model.dim()));
            descent.begin(states, activations, blocks.rows());
            let mut down = |parts: &mut [Part]| {
                backward(trunk, packed, blocks, states, activations, parts, descent, None);
            };
            match (parts.next(), parts.next()) {
                (Some(first), Some(second)) => down(&mut [first, second]),
                (Some(part), None) => down(&mut [part]),
                (None, _) => {}
            }
        }
    }
}

fn add(out: &mut [f64], sums: &[f32]) {
    for (total, &sum) in out.iter_mut().zip(sums) {
        *total += f64::from(sum);
    }
}

//! A tile's gradient with respect to its states, back in time through the simulation: what reverse KL needs.

use super::{Tile, Wanted};
use crate::network::{Part, Process, Sink, backward};
use crate::numeric::product::transpose;
use crate::trajectory::{Model, Network, Prelude};

impl Tile {
    /// Adds to `gradient` (`[coordinate][row]`, as the states) the gradient of `weight` Σ log p← with respect to
    /// the states, both directly and through the destruction network. To be called after a forward
    /// pass with slopes that wanted the destruction head alone; its outputs are used up.
    pub(crate) fn destruction_state_gradient(
        &mut self,
        model: &Model,
        prelude: &Prelude,
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
        let blocks = Self::blocks(model, wanted, n);
        let rows = blocks.rows();
        let trunk = &model.layout.trunks[head.trunk];
        let (outputs, [_, raw_gradient]) = (head.dense.weight.outputs, &mut self.scratch.raw);
        transpose(&self.destruction_raw[..outputs * rows], rows, rows, raw_gradient, outputs);
        let packed = prelude.packed().head(Process::Destruction);
        let mut parts =
            [Part { process: Process::Destruction, head, packed, rows: 0..rows, raw_gradient, sink: None }];
        let (packed, activations) = (prelude.packed().trunk(head.trunk), &self.activations[head.trunk]);
        let through = &mut self.scratch.rows[..dim * rows];
        // Without a sink, the states of the forward pass are not looked at.
        let descent = &mut self.descents[0];
        backward(trunk, packed, blocks, &[], activations, &mut parts, descent, Some(through));
        model.view.pull_back(Self::inputs(&self.inputs, blocks, dim), through);
        for j in 0..dim {
            let column = &mut gradient[j * steps * n + n..][..rows];
            for (sum, through) in column.iter_mut().zip(self.scratch.rows.chunks_exact(dim)) {
                *sum += through[j];
            }
        }
    }

    /// Carries a gradient with respect to the states back in time, through the simulation that made them.
    ///
    /// `adjoint` holds the direct gradient of a loss with respect to x_1 … x_T, `[coordinate][row]`; `noise` is
    /// what the simulation used, laid out alike, and `weight` the loss's coefficient of log p→. To be
    /// called after a forward pass with slopes that wanted the generation head alone.
    pub(crate) fn descend_simulation(
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
        let wanted = Wanted { generation: true, destruction: false };
        let blocks = Self::blocks(model, wanted, n);
        if blocks.rows() > 0 {
            let states = Self::inputs(&self.inputs, blocks, dim);
            self.descents[head.trunk].begin(states, &self.activations[head.trunk], blocks.rows());
        }
        let mut pulled = std::mem::take(&mut self.scratch.pulled);
        let pulled_now = &mut pulled[..head.dense.weight.outputs * n];
        for i in (0..steps).rev() {
            for (output, column) in pulled_now.chunks_exact_mut(n).enumerate() {
                match i {
                    0 => column.fill(network.prelude.origin_raw()[output]),
                    _ => column.copy_from_slice(&self.generation_raw[self.at(output, i, 1, steps - 1)]),
                }
            }
            let (drifts, variances) = pulled_now.split_at_mut(dim * n);
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
                for (sum, column) in sink.origin.iter_mut().zip(pulled_now.chunks_exact(n)) {
                    *sum += column.iter().sum::<f32>();
                }
                break;
            }
            let states = Self::inputs(&self.inputs, blocks, dim);
            let (rows, [raw_gradient, _]) = (blocks.of_times(i..i + 1), &mut self.scratch.raw);
            transpose(pulled_now, n, n, raw_gradient, head.dense.weight.outputs);
            let packed = network.prelude.packed().head(Process::Generation);
            let seen = &states[rows.start * dim..rows.end * dim];
            let mut parts =
                [Part { process: Process::Generation, head, packed, rows, raw_gradient, sink: Some(sink) }];
            let trunk = &model.layout.trunks[head.trunk];
            let (packed, activations) =
                (network.prelude.packed().trunk(head.trunk), &self.activations[head.trunk]);
            let (descent, through) = (&mut self.descents[head.trunk], &mut self.scratch.rows[..dim * n]);
            backward(trunk, packed, blocks, states, activations, &mut parts, descent, Some(through));
            model.view.pull_back(seen, through);
            for j in 0..dim {
                let (here, next) = (self.at(j, i, 1, steps), self.at(j, i + 1, 1, steps));
                let column = &mut adjoint[here.start..next.end];
                let (here, next) = column.split_at_mut(n);
                for ((sum, through), next) in
                    here.iter_mut().zip(self.scratch.rows.chunks_exact(dim)).zip(next)
                {
                    *sum += through[j] + *next;
                }
            }
        }
        self.scratch.pulled = pulled;
    }
}

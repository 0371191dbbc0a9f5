//! Reverse KL: the loss that is differentiated through the simulation.

use super::{Batch, Differentiator, Losses, Outcome, Used, Weights, wanted};
use crate::network::Direction;
use crate::objective::Logs;
use crate::trajectory::{Network, Noise, Wanted};

impl Differentiator {
    /// The gradient of the reverse KL divergence of simulated trajectories, through their simulation:
    /// L = mean (log p→ − log p← − log density) / dim. `log_density_gradient` is that of the end points.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use ebbtide::{objective::Method, target::{Formula, Target}, train::Config, trajectory::Threads};
    /// use ebbtide::train::{Batch, Differentiator, Weights};
    /// use ebbtide::trajectory::{Network, Noise, Trajectories, simulate_forward};
    ///
    /// # let target: Arc<dyn Target> = Arc::new(Formula::new("-x0^2/2", 1, &[])?);
    /// # let model = Config::new(Method::PisFixed, 2).validate(target)?.model().clone();
    /// # let parameters = model.layout.initialise(0);
    /// # let mut differentiator = Differentiator::new(model, &Threads::new(1)?);
    /// let noise: Noise = vec![0.3, -1.0, 0.8, 0.4];
    /// let (mut trajectories, mut ends) = (Trajectories::new(2, 2, 1), Vec::new());
    /// let (lanes, model, prelude) = differentiator.ready(&parameters);
    /// let network = Network { parameters: &parameters, prelude };
    /// simulate_forward(lanes, model, network, &noise, &[], &mut trajectories);
    /// trajectories.copy_ends(&mut ends);
    ///
    /// // The target, exp(−x² / 2), is what Brownian motion ends in: no divergence is left, and L = −log Z.
    /// let log_density: Vec<f64> = ends.iter().map(|&x| -0.5 * f64::from(x).powi(2)).collect();
    /// let slopes: Vec<f32> = ends.iter().map(|x| -x).collect();
    /// let batch = Batch { trajectories: &trajectories, log_density: &log_density, importance: None };
    /// let weights = Weights { live: &parameters, lagging: None };
    /// let losses = differentiator.reverse_kl(weights, batch, &noise, &slopes);
    /// let log_z = 0.5 * std::f64::consts::TAU.ln();
    /// assert!((losses.generation.expect("its only loss") + log_z).abs() < 1e-5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reverse_kl(
        &mut self,
        weights: Weights,
        batch: Batch,
        noise: &Noise,
        log_density_gradient: &[f32],
    ) -> Losses {
        let (count, dim, steps) = (batch.trajectories.len(), self.model.dim(), self.model.steps());
        self.prepare(weights.live, weights.lagging, Direction::Both);
        let live = Network { parameters: weights.live, prelude: &self.live };
        let other = weights.lagging.map_or(live, |parameters| Network { parameters, prelude: &self.lagging });
        let (wave, tile, path) = (self.lanes.wave(count), self.lanes.tile(), batch.trajectories.path_len());
        let (share, wanted) = (self.lanes.share(wave.min(count)), wanted(true, false));
        self.outcomes.clear();
        self.outcomes.resize(count, Outcome::default());
        let (model, states) = (&self.model, batch.trajectories.states());
        let scale = 1.0 / (count * dim) as f64;
        let weight = scale as f32;
        let mut used = Used::default();
        let inputs = states
            .chunks(wave * path)
            .zip(noise.chunks(wave * path))
            .zip(log_density_gradient.chunks(wave * dim));
        let waves = (0..).step_by(wave).zip(self.outcomes.chunks_mut(wave).zip(inputs));
        for (start, (outcomes, ((states, noise), gradient))) in waves {
            used.pass(&mut self.lanes, model, wanted, outcomes.len().div_ceil(share));
            let inputs =
                states.chunks(share * path).zip(noise.chunks(share * path)).zip(gradient.chunks(share * dim));
            let chunks = outcomes.chunks_mut(share).zip(inputs).enumerate();
            self.lanes.run(chunks, |desk, lane, (index, (outcomes, ((states, noise), gradient)))| {
                if start == 0 {
                    lane.begin(model, wanted);
                }
                let inputs = states
                    .chunks(tile * path)
                    .zip(noise.chunks(tile * path))
                    .zip(gradient.chunks(tile * dim));
                for (place, (outcomes, ((states, noise), gradient))) in
                    outcomes.chunks_mut(tile).zip(inputs).enumerate()
                {
                    let (first, n) = (start + index * share + place * tile, outcomes.len());
                    desk.tile.load(model, noise);
                    std::mem::swap(&mut desk.tile.states, &mut desk.noise);
                    desk.tile.load(model, states);
                    let adjoint = &mut desk.adjoint[..dim * steps * n];
                    adjoint.fill(0.0);
                    for (i, gradient) in gradient.chunks_exact(dim).enumerate() {
                        for (j, value) in gradient.iter().enumerate() {
                            adjoint[j * steps * n + (steps - 1) * n + i] = -weight * value;
                        }
                    }
                    if model.destruction.is_learned() {
                        desk.tile.forward(
                            model,
                            other,
                            Wanted { generation: false, destruction: true },
                            true,
                        );
                    }
                    desk.tile.log_destruction(model, &mut desk.logs.destruction[..n]);
                    desk.tile.destruction_state_gradient(model, other.prelude, -weight, adjoint);
                    desk.tile.forward(model, live, Wanted { generation: true, destruction: false }, true);
                    desk.tile.log_generation(model, live, &mut desk.logs.generation[..n]);
                    let sink = &mut lane.generation;
                    desk.tile.descend_simulation(model, live, &desk.noise, weight, adjoint, sink);
                    for (i, outcome) in outcomes.iter_mut().enumerate() {
                        let logs = Logs {
                            generation: desk.logs.generation[i],
                            destruction: desk.logs.destruction[i],
                            density: batch.log_density[first + i],
                        };
                        outcome.generation_loss = logs.ratio();
                    }
                }
                lane.end(model);
            });
        }
        self.complete(weights.live, used, wanted);
        let sum: f64 = self.outcomes.iter().map(|outcome| outcome.generation_loss).sum();
        Losses { generation: Some(sum * scale), ..Losses::default() }
    }
}

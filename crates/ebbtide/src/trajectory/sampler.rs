//! A sampler: a model with weights, ready to draw.

use super::{Lanes, Model, Network, Noise, Prelude, ThreadsError, Trajectories};
use super::{draw_noise, log_probs, simulate_backward, simulate_forward};
use crate::stream::Address;

/// A model, its weights and workspaces: draws samples, destroys them again, and weighs trajectories.
pub struct Sampler {
    model: Model,
    parameters: Vec<f32>,
    lanes: Lanes,
    prelude: Prelude,
    noise: Noise,
}

/// log p→ and log p← of trajectories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogProbs {
    /// log p→
    pub generation: Vec<f64>,
    /// log p←
    pub destruction: Vec<f64>,
}

impl Sampler {
    /// Makes a sampler ready. `threads` of 0 means all cores.
    ///
    /// # Panics
    /// If there are not as many parameters as the model has places.
    pub fn new(model: Model, parameters: Vec<f32>, threads: usize) -> Result<Self, ThreadsError> {
        assert_eq!(
            parameters.len(),
            model.layout.parameters(),
            "a model takes as many parameters as it has places"
        );
        let mut prelude = Prelude::new(&model);
        prelude.forward(&model, &parameters);
        let lanes = Lanes::for_simulation(&model, threads)?;
        Ok(Self { model, parameters, lanes, prelude, noise: Noise::new() })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The weights.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Draws `count` trajectories from the generation process; their ends are the samples.
    pub fn generate(&mut self, count: usize, address: Address) -> Trajectories {
        let mut trajectories = Trajectories::new(count, self.model.steps(), self.model.dim());
        draw_noise(&mut self.lanes, &self.model, address, 0, count, &mut self.noise);
        let network = Network { parameters: &self.parameters, prelude: &self.prelude };
        simulate_forward(&mut self.lanes, &self.model, network, &self.noise, &[], &mut trajectories);
        trajectories
    }

    /// Destroys end points (n × dim by rows) into whole trajectories.
    pub fn destroy(&mut self, ends: &[f32], address: Address) -> Trajectories {
        let count = ends.len() / self.model.dim();
        let mut trajectories = Trajectories::new(count, self.model.steps(), self.model.dim());
        trajectories.set_ends(ends);
        draw_noise(&mut self.lanes, &self.model, address, 0, count, &mut self.noise);
        let network = Network { parameters: &self.parameters, prelude: &self.prelude };
        simulate_backward(&mut self.lanes, &self.model, network, &self.noise, &mut trajectories);
        trajectories
    }

    /// Log-probabilities of trajectories under both processes.
    pub fn log_probs(&mut self, trajectories: &Trajectories) -> LogProbs {
        let mut logs = LogProbs::default();
        let network = Network { parameters: &self.parameters, prelude: &self.prelude };
        let (generation, destruction) = (&mut logs.generation, &mut logs.destruction);
        log_probs(&mut self.lanes, &self.model, network, trajectories, generation, destruction);
        logs
    }
}

//! A sampler: a model with weights, ready to draw.

use std::ops::Range;

use super::{Lanes, Model, Multipliers, Network, Noise, Prelude, Threads, Trajectories};
use super::{draw_noise, log_probs, simulate_backward, simulate_ends, simulate_forward};
use crate::network::Direction;
use crate::stream::{Address, Purpose};

/// A model, its weights and workspaces: draws samples, destroys them again, and weighs trajectories.
///
/// ```
/// use ebbtide::objective::Method;
/// use ebbtide::stream::{Address, Purpose};
/// use ebbtide::target::NamedTarget;
/// use ebbtide::train::Config;
/// use ebbtide::trajectory::{LogProbs, Multipliers, Sampler, Threads};
///
/// let valid = Config::new(Method::TbTb, 3).validate(NamedTarget::Gmm25.build().into())?;
/// let weights = valid.model().layout.initialise(0);
/// let mut sampler = Sampler::new(valid.model().clone(), weights, &Threads::new(1)?)?;
/// assert_eq!(sampler.parameters().len(), sampler.model().layout.parameters());
///
/// // Destroyed and not generated, paths have the same ends and other ways to them.
/// let generated = sampler.generate(5, Address::new(0, Purpose::EvaluateGenerate, 0));
/// let (mut ends, mut same) = (Vec::new(), Vec::new());
/// generated.copy_ends(&mut ends);
/// let destroyed = sampler.destroy(&ends, Address::new(0, Purpose::EvaluateDestroy, 0));
/// destroyed.copy_ends(&mut same);
/// assert!(ends == same && generated != destroyed);
///
/// // Without training nothing is corrected, and both processes together leave the density of the end, N(0, 1).
/// let Multipliers { gamma, alpha, beta } = sampler.multipliers(&destroyed);
/// assert!([gamma, alpha, beta].concat().iter().all(|multiplier| (multiplier - 1.0).abs() < 1e-6));
/// let LogProbs { generation, destruction } = sampler.log_probs(&destroyed);
/// for (i, end) in ends.chunks(2).enumerate() {
///     let square = end.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
///     let log_normal = -0.5 * square - std::f64::consts::TAU.ln();
///     assert!((generation[i] - destruction[i] - log_normal).abs() < 1e-4);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// Why weights make no sampler.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, train::Config};
/// use ebbtide::trajectory::{Sampler, SamplerError, Threads};
///
/// # let valid = Config::new(Method::TbTb, 3).validate(NamedTarget::Gmm25.build().into())?;
/// # let (model, threads) = (valid.model().clone(), Threads::new(1)?);
/// let mut weights = model.layout.initialise(0);
/// weights[4] = f32::NAN;
/// let error = Sampler::new(model, weights, &threads).err();
/// assert_eq!(error, Some(SamplerError::NotFinite { index: 4 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// Too many, or too few.
    #[error("the model has {expected} parameters, but {given} were given")]
    Count {
        /// What the model asks for.
        expected: usize,
        /// What there is.
        given: usize,
    },
    /// NaN or infinite.
    #[error("parameter {index} is not finite")]
    NotFinite {
        /// Its place in the vector.
        index: usize,
    },
}

impl Sampler {
    /// Makes a sampler ready.
    pub fn new(model: Model, parameters: Vec<f32>, threads: &Threads) -> Result<Self, SamplerError> {
        let (expected, given) = (model.layout.parameters(), parameters.len());
        if given != expected {
            return Err(SamplerError::Count { expected, given });
        }
        if let Some(index) = parameters.iter().position(|parameter| !parameter.is_finite()) {
            return Err(SamplerError::NotFinite { index });
        }
        Ok(Self::ready(model, parameters, threads))
    }

    /// As [`Sampler::new`], for weights known to be right.
    pub(crate) fn ready(model: Model, parameters: Vec<f32>, threads: &Threads) -> Self {
        let mut prelude = Prelude::new(&model);
        prelude.forward(&model, &parameters, Direction::Up);
        let lanes = Lanes::for_simulation(&model, threads);
        Self { model, parameters, lanes, prelude, noise: Noise::new() }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The weights.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Draws `count` samples, `[sample][coordinate]`. The same seed gives the same samples; more of them begin with
    /// the same.
    pub fn sample(&mut self, count: usize, seed: u64) -> Vec<f32> {
        let mut samples = vec![0.0; count * self.model.dim()];
        let (network, address) = (
            Network { parameters: &self.parameters, prelude: &self.prelude },
            Address::new(seed, Purpose::Sample, 0),
        );
        simulate_ends(&mut self.lanes, &self.model, network, address, 0, &mut self.noise, &mut samples);
        samples
    }

    /// Draws the trajectories of samples number `first` to `first + count − 1` of a seed: more samples than memory holds
    /// can be drawn portion by portion, and how they are cut changes no bit.
    ///
    /// ```
    /// # use ebbtide::{objective::Method, target::NamedTarget, train::{Config, Trainer}, trajectory::Threads};
    /// # let valid = Config::new(Method::TbTb, 2).validate(NamedTarget::EasyFunnel.build().into())?;
    /// # let mut sampler = Trainer::new(valid, &Threads::new(1)?).sampler();
    /// let (all, mut last) = (sampler.sample(100, 7), Vec::new());
    /// sampler.portion(90, 10, 7).copy_ends(&mut last);
    /// assert_eq!(last, all[90 * sampler.model().dim()..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn portion(&mut self, first: usize, count: usize, seed: u64) -> Trajectories {
        self.generate_numbers(first..first.saturating_add(count), Address::new(seed, Purpose::Sample, 0))
    }

    /// Draws `count` trajectories from the generation process; their ends are the samples.
    pub fn generate(&mut self, count: usize, address: Address) -> Trajectories {
        self.generate_numbers(0..count, address)
    }

    fn generate_numbers(&mut self, numbers: Range<usize>, address: Address) -> Trajectories {
        let mut trajectories = Trajectories::new(numbers.len(), self.model.steps(), self.model.dim());
        draw_noise(&mut self.lanes, &self.model, address, numbers, &mut self.noise);
        let network = Network { parameters: &self.parameters, prelude: &self.prelude };
        simulate_forward(&mut self.lanes, &self.model, network, &self.noise, &[], &mut trajectories);
        trajectories
    }

    /// Destroys end points (n × dim by rows) into whole trajectories.
    pub fn destroy(&mut self, ends: &[f32], address: Address) -> Trajectories {
        let count = ends.len() / self.model.dim();
        let mut trajectories = Trajectories::new(count, self.model.steps(), self.model.dim());
        trajectories.set_ends(ends);
        draw_noise(&mut self.lanes, &self.model, address, 0..count, &mut self.noise);
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
    /// What the network makes of both processes along trajectories: γ, α and β of each step.
    pub fn multipliers(&mut self, trajectories: &Trajectories) -> Multipliers {
        let network = Network { parameters: &self.parameters, prelude: &self.prelude };
        Multipliers::new(&mut self.lanes, &self.model, network, trajectories)
    }
}

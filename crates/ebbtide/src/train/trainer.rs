//! The training loop's body: one iteration, from state to report.

use std::sync::Arc;

use super::archive::Archive;
use super::config::{Config, LikelihoodSource, Schedule, ValidConfig};
use super::gradient::{Batch, Differentiator, Losses, Objectives};
use super::local_search::Chains;
use super::replay::Drawn;
use super::report::{Report, RestoreError, TrainError};
use super::state::State;
use crate::objective::{DestructionObjective, GenerationObjective};
use crate::stream::{Address, Purpose};
use crate::target::{Target, TargetError, evaluate, evaluate_with_gradient};
use crate::trajectory::{
    Model, Network, Noise, Sampler, Threads, Trajectories, draw_noise, simulate_backward, simulate_forward,
};

/// A training under way.
///
/// ```
/// use std::sync::Arc;
///
/// use ebbtide::objective::Method;
/// use ebbtide::target::{NamedTarget, Target};
/// use ebbtide::train::{Config, Trainer};
/// use ebbtide::trajectory::Threads;
///
/// let target: Arc<dyn Target> = NamedTarget::EasyFunnel.build().into();
/// let mut config = Config::new(Method::TbTb, 3);
/// config.batch = 16;
/// let mut trainer = Trainer::new(config.validate(target)?, &Threads::all()?);
/// let report = trainer.step()?;
/// assert_eq!(report.iteration, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Trainer {
    valid: ValidConfig,
    threads: Threads,
    differentiator: Differentiator,
    state: State,
    buffers: Buffers,
    failed: Option<TrainError>,
}

/// Places that are filled anew by every update.
struct Buffers {
    trajectories: Trajectories,
    noise: Noise,
    ends: Vec<f32>,
    log_density: Vec<f64>,
    gradient: Vec<f32>,
    added_variance: Vec<f32>,
    drawn: Drawn,
    chains: Chains,
}

impl Trainer {
    /// A training at its beginning. The results do not depend on the number of threads.
    pub fn new(config: ValidConfig, threads: &Threads) -> Self {
        let state = State::new(&config);
        Self::with_state(config, threads, state)
    }

    /// A training taken up where `state` was saved.
    ///
    /// ```
    /// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
    /// use ebbtide::train::{Config, RestoreError, Trainer};
    ///
    /// let config = Config { iterations: 4, batch: 16, local_search: None, ..Config::new(Method::TbTb, 2) };
    /// let valid = config.validate(NamedTarget::Gmm25.build().into())?;
    /// # let threads = Threads::new(1)?;
    /// let mut trainer = Trainer::new(valid.clone(), &threads);
    /// trainer.step()?;
    /// assert!(trainer.is_sound());
    /// let saved = trainer.state().clone();
    /// let mut restored = Trainer::restore(valid, &threads, saved.clone())?;
    /// while !trainer.is_finished() {
    ///     assert_eq!(trainer.step()?, restored.step()?);
    /// }
    /// assert!(trainer.state() == restored.state() && trainer.model() == restored.model());
    /// assert_eq!(trainer.sampler().sample(3, 0), restored.sampler().sample(3, 0));
    ///
    /// let other = Config::new(Method::TbFixed, 2).validate(NamedTarget::Gmm25.build().into())?;
    /// assert_eq!(Trainer::restore(other, &threads, saved).err(), Some(RestoreError::Mismatch));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(config: ValidConfig, threads: &Threads, state: State) -> Result<Self, RestoreError> {
        if !state.is_sound(&config) {
            return Err(RestoreError::Mismatch);
        }
        Ok(Self::with_state(config, threads, state))
    }

    fn with_state(valid: ValidConfig, threads: &Threads, mut state: State) -> Self {
        state.reserve();
        let (model, batch) = (valid.model(), valid.config().batch);
        let search = valid.config().local_search;
        let buffers = Buffers {
            trajectories: Trajectories::new(batch, model.steps(), model.dim()),
            noise: Noise::with_capacity(batch * model.steps() * model.dim()),
            ends: Vec::with_capacity(batch * model.dim()),
            log_density: Vec::with_capacity(batch),
            gradient: Vec::with_capacity(batch * model.dim()),
            added_variance: Vec::with_capacity(model.steps()),
            drawn: Drawn::with_room(batch),
            chains: search.map_or_else(Chains::default, |search| search.chains(batch, model.dim())),
        };
        let differentiator = Differentiator::new(model.clone(), threads);
        let mut trainer =
            Self { valid, threads: threads.clone(), differentiator, state, buffers, failed: None };
        trainer.set_destruction_bound();
        trainer
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        self.valid.config()
    }

    /// The target.
    pub fn target(&self) -> &Arc<dyn Target> {
        self.valid.target()
    }

    /// The model as it is now.
    pub fn model(&self) -> &Model {
        self.differentiator.model()
    }

    /// Everything there is to save.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The sampler as it is now: averaged weights, where they are asked for, and no exploration.
    pub fn sampler(&self) -> Sampler {
        let parameters = self.state.learner.sampled().1.to_vec();
        Sampler::ready(self.model().clone(), parameters, &self.threads)
    }

    /// Whether the state can be taken up again. It cannot when the last update left a weight that is not finite: the next
    /// iteration will say so.
    pub fn is_sound(&self) -> bool {
        self.state.is_sound(&self.valid)
    }

    /// Whether all iterations are done.
    pub fn is_finished(&self) -> bool {
        self.state.iteration >= self.config().iterations
    }

    /// One iteration.
    ///
    /// An error ends the training: the iteration stays half done, and further calls answer with the same error. A
    /// state saved before it can be taken up again.
    pub fn step(&mut self) -> Result<Report, TrainError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.iterate().inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn iterate(&mut self) -> Result<Report, TrainError> {
        let iteration = self.state.iteration;
        let alternating = self.config().schedule == Schedule::Alternating;
        let forward = !alternating || iteration.is_multiple_of(2);
        let backward = !alternating || !forward;
        let mut report = Report { iteration: iteration + 1, ..Report::default() };
        if forward {
            self.fresh_update(&mut report)?;
            for round in 0..self.config().replay.ratio {
                self.replayed_update(round)?;
            }
            self.search(&mut report)?;
        }
        if backward && self.state.archive.as_ref().is_some_and(|archive| !archive.is_empty()) {
            self.destroyed_update(&mut report)?;
        }
        if let Some(tau) = self.config().target_network {
            self.state.learner.follow(&self.threads, tau);
        }
        self.state.iteration += 1;
        if let Some(rate) = self.config().averaging {
            self.state.learner.average(&self.threads, rate, self.state.iteration);
        }
        self.set_destruction_bound();
        report.log_z = self.state.learner.log_z();
        report.evaluations = self.state.evaluations;
        report.archived = self.state.archive.as_ref().map_or(0, Archive::len);
        Ok(report)
    }

    fn address(&self, purpose: Purpose) -> Address {
        Address::new(self.config().seed, purpose, self.state.iteration)
    }

    fn failed(&self, source: TargetError) -> TrainError {
        TrainError::Target { iteration: self.state.iteration + 1, source }
    }

    /// C₂ of the coming iteration, where it rises over the training. A function of the state alone, so that a
    /// restored training has the sampler that was saved.
    fn set_destruction_bound(&mut self) {
        let corrections = self.valid.corrections_at(self.state.iteration);
        self.differentiator.model_mut().destruction.corrections = corrections;
    }

    /// Draws a batch from the generation process, explores if asked, and learns from it.
    fn fresh_update(&mut self, report: &mut Report) -> Result<(), TrainError> {
        let address = self.address(Purpose::Generate);
        let (config, buffers) = (self.valid.config(), &mut self.buffers);
        let parameters = self.state.learner.parameters();
        let (lanes, model, prelude) = self.differentiator.ready(parameters);
        draw_noise(lanes, model, address, 0..config.batch, &mut buffers.noise);
        config.exploration.added_variance(self.state.iteration, &model.grid, &mut buffers.added_variance);
        let network = Network { parameters, prelude };
        let (noise, added) = (&buffers.noise, &buffers.added_variance);
        simulate_forward(lanes, model, network, noise, added, &mut buffers.trajectories);
        buffers.trajectories.copy_ends(&mut buffers.ends);
        // A density is never asked about a point that is none: it would be blamed for the answer.
        if let Some(&value) = buffers.trajectories.states().iter().find(|x| !x.is_finite()) {
            return Err(self.lost(value));
        }
        self.state.evaluations += config.batch as u64;
        let losses = match config.generation_objective {
            GenerationObjective::ReverseKl => self.reverse_kl()?,
            _ => {
                let buffers = &mut self.buffers;
                evaluate(&**self.valid.target(), &buffers.ends, &mut buffers.log_density)
                    .map_err(|e| self.failed(e))?;
                self.learn(None, self.config().destruction_objective)?
            }
        };
        let norms = self.descend(&losses)?;
        self.state.on_policy_updates += 1;
        report.generation_loss = losses.generation;
        report.destruction_loss = losses.destruction;
        report.generation_norm = norms;
        if let Some(replay) = &mut self.state.replay {
            let options = self.valid.config().replay;
            replay.insert(&self.buffers.trajectories, &self.buffers.log_density, &options);
        }
        Ok(())
    }

    /// Reverse KL for the generation process, and what the destruction process learns from the same batch.
    fn reverse_kl(&mut self) -> Result<Losses, TrainError> {
        let target = Arc::clone(self.valid.target());
        let differentiable =
            target.differentiable().expect("a valid configuration has a gradient for reverse KL");
        let buffers = &mut self.buffers;
        let (density, gradient) = (&mut buffers.log_density, &mut buffers.gradient);
        evaluate_with_gradient(differentiable, target.dim(), &buffers.ends, density, gradient)
            .map_err(|error| self.failed(error))?;
        let buffers = &self.buffers;
        let batch = Batch {
            trajectories: &buffers.trajectories,
            log_density: &buffers.log_density,
            importance: None,
        };
        let weights = self.state.learner.weights();
        let losses = self.differentiator.reverse_kl(weights, batch, &buffers.noise, &buffers.gradient);
        let losses = self.finite(losses)?;
        let destruction = match self.valid.config().destruction_objective {
            None => None,
            objective => {
                let residual_bound = self.valid.config().optimisation.residual_bound();
                let objectives =
                    Objectives { generation: None, destruction: objective, log_z: 0.0, residual_bound };
                self.differentiator.off_policy(weights, batch, objectives).destruction
            }
        };
        self.finite(Losses { destruction, ..losses })
    }

    /// Learns from trajectories drawn from the replay buffer.
    fn replayed_update(&mut self, round: usize) -> Result<(), TrainError> {
        let mut stream = self.address(Purpose::Replay).stream(round);
        let (options, buffers) = (self.valid.config().replay, &mut self.buffers);
        let Some(replay) = self.state.replay.as_ref().filter(|replay| !replay.is_empty()) else {
            return Ok(());
        };
        replay.draw(&mut stream, &options, &mut buffers.trajectories, &mut buffers.drawn);
        std::mem::swap(&mut buffers.log_density, &mut buffers.drawn.log_density);
        let importance = std::mem::take(&mut buffers.drawn.importance);
        let losses = self.learn(Some(&importance), self.replayed_objective())?;
        self.buffers.drawn.importance = importance;
        if let Some(replay) = &mut self.state.replay {
            let priorities = self.differentiator.residuals().map(|residual| 0.5 * residual * residual);
            replay.refresh(&self.buffers.drawn.places, priorities, &options);
        }
        self.descend(&losses)?;
        Ok(())
    }

    /// Learns from paths destroyed from end points that local search found.
    fn destroyed_update(&mut self, report: &mut Report) -> Result<(), TrainError> {
        let mut recall = self.address(Purpose::Recall).stream(0);
        let address = self.address(Purpose::Destroy);
        let (config, buffers) = (self.valid.config(), &mut self.buffers);
        let (Some(search), Some(archive)) = (&config.local_search, &self.state.archive) else {
            return Ok(());
        };
        let batch = config.batch;
        buffers.ends.clear();
        buffers.log_density.clear();
        for _ in 0..batch {
            let (point, density) = archive.draw(search.recall, &mut recall);
            buffers.ends.extend_from_slice(point);
            buffers.log_density.push(density);
        }
        buffers.trajectories.set_ends(&buffers.ends);
        let parameters = self.state.learner.parameters();
        let (lanes, model, prelude) = self.differentiator.ready(parameters);
        draw_noise(lanes, model, address, 0..batch, &mut buffers.noise);
        let network = Network { parameters, prelude };
        simulate_backward(lanes, model, network, &buffers.noise, &mut buffers.trajectories);
        let losses = self.learn(None, self.destroyed_objective())?;
        let norm = self.descend(&losses)?;
        if self.valid.config().schedule == Schedule::Alternating {
            report.generation_loss = losses.generation;
            report.destruction_loss = losses.destruction;
            report.generation_norm = norm;
        }
        Ok(())
    }

    /// What the destruction process learns from replayed trajectories.
    fn replayed_objective(&self) -> Option<DestructionObjective> {
        let sees = self.config().likelihood_source == LikelihoodSource::Generated;
        self.config()
            .destruction_objective
            .filter(|objective| sees || *objective != DestructionObjective::TrajectoryLikelihood)
    }

    /// What the destruction process learns from paths that it made itself: their likelihood tells it nothing.
    fn destroyed_objective(&self) -> Option<DestructionObjective> {
        self.config()
            .destruction_objective
            .filter(|objective| *objective != DestructionObjective::TrajectoryLikelihood)
    }

    /// Gradients of the off-policy losses on the trajectories in the buffers.
    fn learn(
        &mut self,
        importance: Option<&[f32]>,
        destruction: Option<DestructionObjective>,
    ) -> Result<Losses, TrainError> {
        let batch = Batch {
            trajectories: &self.buffers.trajectories,
            log_density: &self.buffers.log_density,
            importance,
        };
        let objectives = Objectives {
            generation: self.valid.config().generation_objective.off_policy(),
            destruction,
            log_z: self.state.learner.log_z(),
            residual_bound: self.valid.config().optimisation.residual_bound(),
        };
        let losses = self.differentiator.off_policy(self.state.learner.weights(), batch, objectives);
        self.finite(losses)
    }

    /// Takes the step that the gradients ask for; answers with the norm of the generation gradient.
    fn descend(&mut self, losses: &Losses) -> Result<f64, TrainError> {
        let config = self.valid.config();
        let factor = config.optimisation.decay.powf(self.state.on_policy_updates as f64);
        let learns_log_z = config.generation_objective == GenerationObjective::TrajectoryBalance;
        let learner = &mut self.state.learner;
        let norms =
            learner.step(&mut self.differentiator, losses, &config.optimisation, factor, learns_log_z);
        for (what, norm) in [
            ("norm of the generation gradient", norms.generation),
            ("norm of the destruction gradient", norms.destruction),
        ] {
            if !norm.is_finite() {
                return Err(self.diverged(what, norm));
            }
        }
        Ok(norms.generation)
    }

    fn finite(&self, losses: Losses) -> Result<Losses, TrainError> {
        for (what, loss) in [("generation loss", losses.generation), ("destruction loss", losses.destruction)]
        {
            if let Some(value) = loss.filter(|loss| !loss.is_finite()) {
                return Err(self.diverged(what, value));
            }
        }
        Ok(losses)
    }

    fn diverged(&self, what: &'static str, value: f64) -> TrainError {
        let row = self.differentiator.worst().unwrap_or(0);
        let path = self.buffers.trajectories.path(row);
        let point = path[path.len() - self.buffers.trajectories.dim()..].to_vec();
        TrainError::Diverged { iteration: self.state.iteration + 1, what, value, point }
    }

    /// A generated trajectory left the numbers, at `value`.
    fn lost(&self, value: f32) -> TrainError {
        let trajectories = &self.buffers.trajectories;
        let paths = trajectories.states().chunks_exact(trajectories.path_len());
        let path = paths.into_iter().find(|path| path.iter().any(|x| !x.is_finite())).unwrap_or_default();
        let point = path[path.len().saturating_sub(trajectories.dim())..].to_vec();
        let iteration = self.state.iteration + 1;
        TrainError::Diverged {
            iteration,
            what: "state of a generated trajectory",
            value: value.into(),
            point,
        }
    }

    /// Local search from the end points of the fresh batch, where it is due.
    fn search(&mut self, report: &mut Report) -> Result<(), TrainError> {
        let config = self.valid.config();
        let Some(search) = config.local_search else { return Ok(()) };
        // An alternating schedule comes here in even iterations only.
        let window = if config.schedule == Schedule::Alternating { 2 } else { 1 };
        if self.state.iteration % search.every as u64 >= window {
            return Ok(());
        }
        let target = Arc::clone(self.valid.target());
        let differentiable =
            target.differentiable().expect("a valid configuration has a gradient for local search");
        let address = self.address(Purpose::LocalSearch);
        let Buffers { ends, chains, .. } = &mut self.buffers;
        if let Err(error) = search.run(differentiable, target.dim(), ends, address, chains) {
            return Err(self.failed(error));
        }
        let mut stream = self.address(Purpose::Keep).stream(0);
        let finds = self.buffers.chains.finds();
        self.state.evaluations += finds.evaluations;
        report.acceptance = Some(finds.acceptance);
        if let Some(archive) = &mut self.state.archive {
            archive.insert(&finds.points, &finds.log_density, search.keep, &mut stream);
        }
        Ok(())
    }
}

//! From a batch of trajectories to the gradients of both losses.

use rayon::prelude::*;

use crate::network::{Process, Sink};
use crate::objective::{
    DestructionObjective, GenerationObjective, Logs, SecondMoment, TrajectoryLikelihood, weighted_mean,
};
use crate::trajectory::{
    Lane, Lanes, Model, Network, Noise, Prelude, ThreadsError, Trajectories, Wanted, log_probs,
};

/// What is learned from: paths, the log density of their ends, and how much each counts.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The paths.
    pub trajectories: &'a Trajectories,
    /// Log density of each end point.
    pub log_density: &'a [f32],
    /// Importance weight of each path; all 1 if absent.
    pub importance: Option<&'a [f32]>,
}

impl Batch<'_> {
    fn importance(&self, index: usize) -> f64 {
        self.importance.map_or(1.0, |weights| f64::from(weights[index]))
    }
}

/// The live weights, and the lagging copy that each process sees of the other.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// What is being learned.
    pub live: &'a [f32],
    /// The target network; the live one stands in where there is none.
    pub lagging: Option<&'a [f32]>,
}

/// Which losses an off-policy gradient is wanted of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objectives {
    /// The generation loss. Reverse KL has no place here: see [`Differentiator::reverse_kl`].
    pub generation: Option<GenerationObjective>,
    /// The destruction loss.
    pub destruction: Option<DestructionObjective>,
    /// The current log Ẑ.
    pub log_z: f64,
}

/// The losses of a batch; `None` for what was not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Mean generation loss.
    pub generation: Option<f64>,
    /// Mean destruction loss.
    pub destruction: Option<f64>,
    /// Derivative of the generation loss with respect to log Ẑ.
    pub log_z_gradient: f64,
}

/// The machinery that differentiates: workspaces made once, for one model.
pub struct Differentiator {
    model: Model,
    lanes: Lanes,
    live: Prelude,
    lagging: Prelude,
    origin_gradient: Vec<f32>,
    outcomes: Vec<Outcome>,
    log_probs: [Vec<f64>; 4],
}

/// What became of one trajectory.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    generation_loss: f64,
    destruction_loss: f64,
    residual: f64,
}

impl Differentiator {
    /// Makes the workspaces. `threads` of 0 means all cores; the results are the same for any number.
    pub fn new(model: Model, threads: usize) -> Result<Self, ThreadsError> {
        Ok(Self {
            lanes: Lanes::new(&model, threads)?,
            live: Prelude::new(&model),
            lagging: Prelude::new(&model),
            origin_gradient: vec![0.0; model.layout.shape.generation_outputs],
            outcomes: Vec::new(),
            log_probs: Default::default(),
            model,
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model, for what changes over training (C₂).
    pub(crate) fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Model, lanes and a network ready for simulation with these weights.
    pub fn ready(&mut self, parameters: &[f32]) -> (&mut Lanes, &Model, &Prelude) {
        self.live.forward(&self.model, parameters);
        (&mut self.lanes, &self.model, &self.live)
    }

    /// The gradient of the last loss of a process, over the parameters it owns. Undefined before the first.
    pub fn gradient(&mut self, process: Process) -> &[f32] {
        let owned = self.model.layout.owned(process);
        let lane = &self.lanes.all()[0];
        match process {
            Process::Generation => &lane.generation.parameters[owned],
            Process::Destruction => &lane.destruction.parameters[owned],
        }
    }

    /// δ of each trajectory in the last batch that had a second-moment generation loss.
    pub fn residuals(&self) -> impl Iterator<Item = f64> {
        self.outcomes.iter().map(|outcome| outcome.residual)
    }

    /// The worst trajectory of the last batch: the first whose loss is not finite, or else the first with the
    /// largest.
    pub fn worst(&self) -> Option<usize> {
        let size = |outcome: &Outcome| {
            let loss = outcome.generation_loss.abs() + outcome.destruction_loss.abs();
            if loss.is_finite() { loss } else { f64::INFINITY }
        };
        let rows = self.outcomes.iter().map(size).enumerate();
        rows.reduce(|worst, row| if row.1 > worst.1 { row } else { worst }).map(|(row, _)| row)
    }

    /// Gradients of second-moment and likelihood losses, which do not ask where trajectories came from.
    pub fn off_policy(&mut self, weights: Weights, batch: Batch, objectives: Objectives) -> Losses {
        let count = batch.trajectories.len();
        let (generation, destruction) = self.second_moments(weights, batch, objectives);
        self.live.forward(&self.model, weights.live);
        let needs = Needs::of(&self.model, weights, objectives);
        if let (true, Some(parameters)) =
            (needs.lagging.generation || needs.lagging.destruction, weights.lagging)
        {
            self.lagging.forward(&self.model, parameters);
        }
        let live = Network { parameters: weights.live, prelude: &self.live };
        let lagging = weights.lagging.map(|parameters| Network { parameters, prelude: &self.lagging });
        let (share, tile, path) = (self.lanes.share(count), self.lanes.tile(), batch.trajectories.path_len());
        self.outcomes.clear();
        self.outcomes.resize(count, Outcome::default());
        let (model, states) = (&self.model, batch.trajectories.states());
        let chunks = self.outcomes.par_chunks_mut(share).zip(states.par_chunks(share * path)).enumerate();
        let scale = 1.0 / count as f64;
        self.lanes.run(chunks, |lane, (index, (outcomes, states))| {
            lane.clear(objectives.generation.is_some(), objectives.destruction.is_some());
            let tiles = outcomes.chunks_mut(tile).zip(states.chunks(tile * path)).enumerate();
            for (place, (outcomes, states)) in tiles {
                let first = index * share + place * tile;
                lane.tile.load(model, states);
                lane.evaluate(model, live, lagging, needs);
                if let Some(moment) = generation {
                    for (i, outcome) in outcomes.iter_mut().enumerate() {
                        let logs = Logs {
                            generation: lane.logs.generation[i],
                            destruction: lane.logs.lagging_destruction[i],
                            density: f64::from(batch.log_density[first + i]),
                        };
                        let pull = moment.generation(&logs, batch.importance(first + i));
                        (outcome.generation_loss, outcome.residual) = (pull.loss, moment.residual(&logs));
                        lane.weights[i] = (scale * pull.weight) as f32;
                    }
                    lane.tile.pull_generation(model, live, &lane.weights[..outcomes.len()]);
                }
                if let Some(objective) = destruction {
                    for (i, outcome) in outcomes.iter_mut().enumerate() {
                        let logs = Logs {
                            generation: lane.logs.lagging_generation[i],
                            destruction: lane.logs.destruction[i],
                            density: f64::from(batch.log_density[first + i]),
                        };
                        let importance = batch.importance(first + i);
                        let pull = match objective {
                            DestructionPull::Moment(moment) => moment.destruction(&logs, importance),
                            DestructionPull::Likelihood(likelihood) => {
                                likelihood.destruction(&logs, importance)
                            }
                        };
                        outcome.destruction_loss = pull.loss;
                        lane.weights[i] = (scale * pull.weight) as f32;
                    }
                    lane.tile.pull_destruction(model, &lane.weights[..outcomes.len()]);
                }
                let Lane { tile, generation: generation_sink, destruction: destruction_sink, .. } = lane;
                tile.descend(
                    model,
                    live.parameters,
                    generation.is_some().then_some(generation_sink),
                    destruction.is_some().then_some(destruction_sink),
                );
            }
        });
        self.complete(weights.live, count.div_ceil(share), objectives);
        let mean = |pick: fn(&Outcome) -> f64| self.outcomes.iter().map(pick).sum::<f64>() * scale;
        let pulled = |(i, outcome): (usize, &Outcome)| batch.importance(i) * outcome.residual;
        Losses {
            generation: generation.map(|_| mean(|outcome| outcome.generation_loss)),
            destruction: destruction.map(|_| mean(|outcome| outcome.destruction_loss)),
            log_z_gradient: self.outcomes.iter().enumerate().map(pulled).sum::<f64>() * scale,
        }
    }

    /// The gradient of the reverse KL divergence of simulated trajectories, through their simulation:
    /// L = mean (log p→ − log p← − log density) / dim. `log_density_gradient` is that of the end points.
    pub fn reverse_kl(
        &mut self,
        weights: Weights,
        batch: Batch,
        noise: &Noise,
        log_density_gradient: &[f32],
    ) -> Losses {
        let (count, dim, steps) = (batch.trajectories.len(), self.model.dim(), self.model.steps());
        self.live.forward(&self.model, weights.live);
        if let Some(parameters) = weights.lagging {
            self.lagging.forward(&self.model, parameters);
        }
        let live = Network { parameters: weights.live, prelude: &self.live };
        let other = weights.lagging.map_or(live, |parameters| Network { parameters, prelude: &self.lagging });
        let (share, tile, path) = (self.lanes.share(count), self.lanes.tile(), batch.trajectories.path_len());
        self.outcomes.clear();
        self.outcomes.resize(count, Outcome::default());
        let (model, states) = (&self.model, batch.trajectories.states());
        let scale = 1.0 / (count * dim) as f64;
        let weight = scale as f32;
        let inputs = states
            .par_chunks(share * path)
            .zip(noise.par_chunks(share * path))
            .zip(log_density_gradient.par_chunks(share * dim));
        let chunks = self.outcomes.par_chunks_mut(share).zip(inputs).enumerate();
        self.lanes.run(chunks, |lane, (index, (outcomes, ((states, noise), gradient)))| {
            lane.clear(true, false);
            let inputs =
                states.chunks(tile * path).zip(noise.chunks(tile * path)).zip(gradient.chunks(tile * dim));
            for (place, (outcomes, ((states, noise), gradient))) in
                outcomes.chunks_mut(tile).zip(inputs).enumerate()
            {
                let (first, n) = (index * share + place * tile, outcomes.len());
                lane.tile.load(model, noise);
                std::mem::swap(&mut lane.tile.states, &mut lane.noise);
                lane.tile.load(model, states);
                let adjoint = &mut lane.adjoint[..dim * steps * n];
                adjoint.fill(0.0);
                for (i, gradient) in gradient.chunks_exact(dim).enumerate() {
                    for (j, value) in gradient.iter().enumerate() {
                        adjoint[j * steps * n + (steps - 1) * n + i] = -weight * value;
                    }
                }
                if model.destruction.is_learned() {
                    lane.tile.forward(model, other, Wanted { generation: false, destruction: true }, true);
                }
                lane.tile.log_destruction(model, &mut lane.logs.destruction[..n]);
                lane.tile.destruction_state_gradient(model, other.parameters, -weight, adjoint);
                lane.tile.forward(model, live, Wanted { generation: true, destruction: false }, true);
                lane.tile.log_generation(model, live, &mut lane.logs.generation[..n]);
                let sink = &mut lane.generation;
                lane.tile.descend_simulation(model, live, &lane.noise, weight, adjoint, sink);
                for (i, outcome) in outcomes.iter_mut().enumerate() {
                    let logs = Logs {
                        generation: lane.logs.generation[i],
                        destruction: lane.logs.destruction[i],
                        density: f64::from(batch.log_density[first + i]),
                    };
                    outcome.generation_loss = logs.ratio();
                }
            }
        });
        let objectives =
            Objectives { generation: Some(GenerationObjective::ReverseKl), destruction: None, log_z: 0.0 };
        self.complete(weights.live, count.div_ceil(share), objectives);
        let sum: f64 = self.outcomes.iter().map(|outcome| outcome.generation_loss).sum();
        Losses { generation: Some(sum * scale), ..Losses::default() }
    }

    /// The offsets of the second moments: log Ẑ, or for VarGrad the batch's own mean, which takes a pass of its own.
    fn second_moments(
        &mut self,
        weights: Weights,
        batch: Batch,
        objectives: Objectives,
    ) -> (Option<SecondMoment>, Option<DestructionPull>) {
        let balance = SecondMoment { offset: objectives.log_z };
        let by_generation = objectives.generation == Some(GenerationObjective::VarGrad);
        let by_destruction = objectives.destruction == Some(DestructionObjective::VarGrad);
        let (mut centred_generation, mut centred_destruction) = (balance, balance);
        if by_generation || by_destruction {
            let [generation, destruction, lagging_generation, lagging_destruction] = &mut self.log_probs;
            self.live.forward(&self.model, weights.live);
            let live = Network { parameters: weights.live, prelude: &self.live };
            log_probs(&mut self.lanes, &self.model, live, batch.trajectories, generation, destruction);
            let other = weights.lagging.unwrap_or(weights.live);
            self.lagging.forward(&self.model, other);
            let other = Network { parameters: other, prelude: &self.lagging };
            let lanes = &mut self.lanes;
            log_probs(lanes, &self.model, other, batch.trajectories, lagging_generation, lagging_destruction);
            let centre = |generation: &[f64], destruction: &[f64]| {
                let ratios = generation.iter().zip(destruction).zip(batch.log_density);
                let ratios = ratios.map(|((g, d), &density)| g - d - f64::from(density));
                let importance = (0..batch.trajectories.len()).map(|i| batch.importance(i));
                SecondMoment { offset: -weighted_mean(ratios, importance) }
            };
            if by_generation {
                centred_generation = centre(generation, lagging_destruction);
            }
            if by_destruction {
                centred_destruction = centre(lagging_generation, destruction);
            }
        }
        let generation = objectives.generation.map(|_| centred_generation);
        let destruction = objectives.destruction.map(|objective| match objective {
            DestructionObjective::TrajectoryLikelihood => DestructionPull::Likelihood(TrajectoryLikelihood),
            _ => DestructionPull::Moment(centred_destruction),
        });
        (generation, destruction)
    }

    /// Adds up what the lanes gathered, in their order, and takes it through the prelude.
    fn complete(&mut self, parameters: &[f32], used: usize, objectives: Objectives) {
        let (first, others) =
            self.lanes.all()[..used].split_first_mut().expect("a batch has at least one lane");
        self.origin_gradient.copy_from_slice(&first.tile.origin_gradient);
        for lane in others {
            add(&mut self.origin_gradient, &lane.tile.origin_gradient);
            if objectives.generation.is_some() {
                add_sink(&mut first.generation, &lane.generation);
            }
            if objectives.destruction.is_some() {
                add_sink(&mut first.destruction, &lane.destruction);
            }
        }
        if objectives.generation.is_some() {
            let (origin, sink) = (&self.origin_gradient, &mut first.generation);
            self.live.backward(&self.model, parameters, Process::Generation, origin, sink);
        }
        if objectives.destruction.is_some() {
            self.live.backward(&self.model, parameters, Process::Destruction, &[], &mut first.destruction);
        }
    }
}

/// How the destruction process is pulled.
#[derive(Clone, Copy)]
enum DestructionPull {
    Moment(SecondMoment),
    Likelihood(TrajectoryLikelihood),
}

/// Which heads of which network an update looks at.
#[derive(Clone, Copy)]
struct Needs {
    live: Wanted,
    lagging: Wanted,
}

impl Needs {
    fn of(model: &Model, weights: Weights, objectives: Objectives) -> Self {
        // Each loss looks at its own process live, and at the other one lagging, unless that one is not a network
        // or the loss does not ask for it.
        let learned = model.destruction.is_learned();
        let other_destruction = learned && objectives.generation.is_some();
        let other_generation = objectives
            .destruction
            .is_some_and(|objective| objective != DestructionObjective::TrajectoryLikelihood);
        let lags = weights.lagging.is_some();
        Self {
            live: Wanted {
                generation: objectives.generation.is_some() || (!lags && other_generation),
                destruction: objectives.destruction.is_some() || (!lags && other_destruction),
            },
            lagging: Wanted { generation: lags && other_generation, destruction: lags && other_destruction },
        }
    }
}

impl Lane {
    fn clear(&mut self, generation: bool, destruction: bool) {
        self.tile.origin_gradient.fill(0.0);
        if generation {
            self.generation.clear();
        }
        if destruction {
            self.destruction.clear();
        }
    }

    /// Log-probabilities of the tile's trajectories by both networks; the live pass keeps its slopes.
    fn evaluate(&mut self, model: &Model, live: Network, lagging: Option<Network>, needs: Needs) {
        let n = self.tile.len();
        let logs = &mut self.logs;
        if let Some(network) = lagging {
            if needs.lagging.generation || needs.lagging.destruction {
                self.tile.forward(model, network, needs.lagging, false);
            }
            if needs.lagging.generation {
                self.tile.log_generation(model, network, &mut logs.lagging_generation[..n]);
            }
            if needs.lagging.destruction {
                self.tile.log_destruction(model, &mut logs.lagging_destruction[..n]);
            }
        }
        self.tile.forward(model, live, needs.live, true);
        if needs.live.generation {
            self.tile.log_generation(model, live, &mut logs.generation[..n]);
        }
        if needs.live.destruction || !model.destruction.is_learned() {
            self.tile.log_destruction(model, &mut logs.destruction[..n]);
        }
        if !needs.lagging.generation {
            logs.lagging_generation[..n].copy_from_slice(&logs.generation[..n]);
        }
        if !needs.lagging.destruction {
            logs.lagging_destruction[..n].copy_from_slice(&logs.destruction[..n]);
        }
    }
}

fn add(total: &mut [f32], values: &[f32]) {
    for (total, value) in total.iter_mut().zip(values) {
        *total += value;
    }
}

fn add_sink(total: &mut Sink, sink: &Sink) {
    add(&mut total.parameters, &sink.parameters);
    add(&mut total.biases, &sink.biases);
}

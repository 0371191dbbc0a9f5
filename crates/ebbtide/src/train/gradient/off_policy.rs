//! Losses that do not ask where trajectories came from: second moments and trajectory likelihood.

use super::{Batch, Differentiator, Losses, Objectives, Outcome, Used, Weights, wanted};
use crate::network::Direction;
use crate::objective::{
    DestructionObjective, Logs, OffPolicy, Pull, SecondMoment, TrajectoryLikelihood, weighted_mean,
};
use crate::target::NOWHERE;
use crate::trajectory::{Desk, Lane, Model, Network, Wanted, log_probs};

impl Differentiator {
    /// Gradients of second-moment and likelihood losses, which do not ask where trajectories came from.
    pub fn off_policy(&mut self, weights: Weights, batch: Batch, objectives: Objectives) -> Losses {
        let count = batch.trajectories.len();
        let needs = Needs::of(&self.model, weights, objectives);
        let lags = needs.lagging.any() || objectives.centred() != (false, false);
        self.prepare(weights.live, weights.lagging.filter(|_| lags), Direction::Up);
        let (generation, destruction) = self.second_moments(weights, batch, objectives);
        let scale = 1.0 / count as f64;
        let lesson = Lesson {
            model: &self.model,
            live: Network { parameters: weights.live, prelude: &self.live },
            lagging: weights.lagging.map(|parameters| Network { parameters, prelude: &self.lagging }),
            needs,
            batch,
            generation,
            destruction,
            scale,
        };
        let (wave, tile, path) = (self.lanes.wave(count), self.lanes.tile(), batch.trajectories.path_len());
        let share = self.lanes.share(wave.min(count));
        let wanted = wanted(generation.is_some(), destruction.is_some());
        self.outcomes.clear();
        self.outcomes.resize(count, Outcome::default());
        let mut used = Used::default();
        let waves = self.outcomes.chunks_mut(wave).zip(batch.trajectories.states().chunks(wave * path));
        for (first, (outcomes, states)) in (0..).step_by(wave).zip(waves) {
            used.pass(&mut self.lanes, &self.model, wanted, outcomes.len().div_ceil(share));
            let chunks = outcomes.chunks_mut(share).zip(states.chunks(share * path)).enumerate();
            self.lanes.run(chunks, |desk, lane, (index, (outcomes, states))| {
                if first == 0 {
                    lane.begin(lesson.model, wanted);
                }
                let tiles = outcomes.chunks_mut(tile).zip(states.chunks(tile * path)).enumerate();
                for (place, (outcomes, states)) in tiles {
                    desk.tile.load(lesson.model, states);
                    lesson.teach(desk, lane, first + index * share + place * tile, outcomes);
                }
                lane.end(lesson.model);
            });
        }
        self.complete(weights.live, used, wanted);
        let mean = |pick: fn(&Outcome) -> f64| self.outcomes.iter().map(pick).sum::<f64>() * scale;
        // A trajectory that ends where the density is zero says nothing about log Z. A bound on residuals is none for log Ẑ: by the whole
        // residuals of the first batches it goes far below, so that all trajectories are pulled in at first, and is where it belongs soon.
        let pulled = |(i, outcome): (usize, &Outcome)| match batch.log_density[i] > NOWHERE {
            true => batch.importance(i) * outcome.residual,
            false => 0.0,
        };
        Losses {
            generation: generation.map(|_| mean(|outcome| outcome.generation_loss)),
            destruction: destruction.map(|_| mean(|outcome| outcome.destruction_loss)),
            log_z_gradient: self.outcomes.iter().enumerate().map(pulled).sum::<f64>() * scale,
        }
    }

    /// The offsets of the second moments: log Ẑ, or for VarGrad the batch's own mean, which takes a pass of its own.
    fn second_moments(
        &mut self,
        weights: Weights,
        batch: Batch,
        objectives: Objectives,
    ) -> (Option<SecondMoment>, Option<DestructionPull>) {
        let balance = SecondMoment { offset: objectives.log_z, bound: objectives.residual_bound };
        let (by_generation, by_destruction) = objectives.centred();
        let (mut centred_generation, mut centred_destruction) = (balance, balance);
        if by_generation || by_destruction {
            let [generation, destruction, lagging_generation, lagging_destruction] = &mut self.log_probs;
            let live = Network { parameters: weights.live, prelude: &self.live };
            log_probs(&mut self.lanes, &self.model, live, batch.trajectories, generation, destruction);
            match weights.lagging {
                Some(parameters) => {
                    let lagging = Network { parameters, prelude: &self.lagging };
                    let (model, paths) = (&self.model, batch.trajectories);
                    log_probs(
                        &mut self.lanes,
                        model,
                        lagging,
                        paths,
                        lagging_generation,
                        lagging_destruction,
                    );
                }
                None => {
                    lagging_generation.clone_from(generation);
                    lagging_destruction.clone_from(destruction);
                }
            }
            let centre = |generation: &[f64], destruction: &[f64]| {
                let ratios = generation.iter().zip(destruction).zip(batch.log_density);
                let ratios = ratios.map(|((g, d), density)| g - d - density);
                let importance = (0..batch.trajectories.len()).map(|i| batch.importance(i));
                SecondMoment { offset: -weighted_mean(ratios, importance), bound: f64::INFINITY }
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
}

impl Objectives {
    /// Which of the two losses are centred by the batch itself.
    fn centred(&self) -> (bool, bool) {
        let generation = self.generation == Some(OffPolicy::VarGrad);
        (generation, self.destruction == Some(DestructionObjective::VarGrad))
    }
}

/// All that the lanes need to know to learn from a batch.
struct Lesson<'a> {
    model: &'a Model,
    live: Network<'a>,
    lagging: Option<Network<'a>>,
    needs: Needs,
    batch: Batch<'a>,
    generation: Option<SecondMoment>,
    destruction: Option<DestructionPull>,
    /// One over the number of trajectories.
    scale: f64,
}

impl Lesson<'_> {
    /// Adds the gradients of the trajectories in the lane's tile, the first of which is number `first` of the batch.
    fn teach(&self, desk: &mut Desk, lane: &mut Lane, first: usize, outcomes: &mut [Outcome]) {
        desk.evaluate(self.model, self.live, self.lagging, self.needs);
        let count = outcomes.len();
        let density = |i: usize| self.batch.log_density[first + i];
        if let Some(moment) = self.generation {
            for (i, outcome) in outcomes.iter_mut().enumerate() {
                let logs = Logs {
                    generation: desk.logs.generation[i],
                    destruction: desk.logs.lagging_destruction[i],
                    density: density(i),
                };
                let pull = moment.generation(&logs, self.batch.importance(first + i));
                (outcome.generation_loss, outcome.residual) = (pull.loss, moment.residual(&logs));
                desk.weights[i] = (self.scale * pull.weight) as f32;
            }
            let origin = &mut lane.generation.origin;
            desk.tile.pull_generation(self.model, self.live, &desk.weights[..count], origin);
        }
        if let Some(objective) = self.destruction {
            for (i, outcome) in outcomes.iter_mut().enumerate() {
                let logs = Logs {
                    generation: desk.logs.lagging_generation[i],
                    destruction: desk.logs.destruction[i],
                    density: density(i),
                };
                let pull = objective.pull(&logs, self.batch.importance(first + i));
                outcome.destruction_loss = pull.loss;
                desk.weights[i] = (self.scale * pull.weight) as f32;
            }
            desk.tile.pull_destruction(self.model, &desk.weights[..count]);
        }
        let generation = self.generation.is_some().then_some(&mut lane.generation);
        let destruction = self.destruction.is_some().then_some(&mut lane.destruction);
        desk.tile.descend(self.model, self.live.prelude, generation, destruction);
    }
}

/// How the destruction process is pulled.
#[derive(Clone, Copy)]
enum DestructionPull {
    Moment(SecondMoment),
    Likelihood(TrajectoryLikelihood),
}

impl DestructionPull {
    fn pull(self, logs: &Logs, importance: f64) -> Pull {
        match self {
            DestructionPull::Moment(moment) => moment.destruction(logs, importance),
            DestructionPull::Likelihood(likelihood) => likelihood.destruction(logs, importance),
        }
    }
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

impl Desk {
    /// Log-probabilities of the tile's trajectories by both networks; the live pass keeps its slopes.
    fn evaluate(&mut self, model: &Model, live: Network, lagging: Option<Network>, needs: Needs) {
        let n = self.tile.len();
        let logs = &mut self.logs;
        if let Some(network) = lagging {
            if needs.lagging.any() {
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

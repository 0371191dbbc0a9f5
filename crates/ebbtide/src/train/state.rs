//! The state of a training: one value, saved and restored whole.

use serde::{Deserialize, Serialize};

use super::archive::Archive;
use super::config::ValidConfig;
use super::learner::Learner;
use super::replay::Replay;

/// All that a training is at some moment. Saved and restored whole, it goes on as if nothing had happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) iteration: u64,
    pub(super) on_policy_updates: u64,
    pub(super) evaluations: u64,
    pub(super) learner: Learner,
    pub(super) replay: Option<Replay>,
    pub(super) archive: Option<Archive>,
}

impl State {
    /// How many iterations are done.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// How many times the target was evaluated.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// The learned part.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// The state before the first iteration.
    pub(super) fn new(valid: &ValidConfig) -> Self {
        let (config, model) = (valid.config(), valid.model());
        let parameters = model.layout.initialise(config.seed);
        let path = model.steps() * model.dim();
        let arrangement = config.optimisation.arrangement;
        Self {
            iteration: 0,
            on_policy_updates: 0,
            evaluations: 0,
            learner: Learner::new(&model.layout, parameters, lags(valid), 0.0, arrangement),
            replay: (config.replay.ratio > 0).then(|| Replay::new(config.replay.capacity, path)),
            archive: config.local_search.map(|search| Archive::new(search.capacity, model.dim())),
        }
    }

    /// Makes room for what the rings will hold, so that no iteration has to.
    pub(super) fn reserve(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.reserve();
        }
        if let Some(archive) = &mut self.archive {
            archive.reserve();
        }
    }

    /// Whether this state can belong to a training so configured.
    pub(super) fn is_sound(&self, valid: &ValidConfig) -> bool {
        let (config, model) = (valid.config(), valid.model());
        let path = model.steps() * model.dim();
        let capacity = config.local_search.map(|search| search.capacity);
        [self.iteration, self.on_policy_updates, self.evaluations].iter().all(|&count| count < COUNTABLE)
            && self.learner.is_sound(&model.layout, lags(valid), config.optimisation.arrangement)
            && self.replay.is_some() == (config.replay.ratio > 0)
            && self.replay.as_ref().is_none_or(|replay| replay.is_sound(config.replay.capacity, path))
            && self.archive.is_some() == capacity.is_some()
            && self.archive.as_ref().zip(capacity).is_none_or(|(archive, c)| archive.is_sound(c, model.dim()))
    }
}

/// More than any training counts to, and far enough from where counting ends.
pub(super) const COUNTABLE: u64 = 1 << 62;

/// A lagging copy is of use only where there are two learned processes to look at each other.
fn lags(valid: &ValidConfig) -> bool {
    valid.config().target_network.is_some() && valid.model().destruction.is_learned()
}

//! The state of a training: one value, saved and restored whole.

use std::collections::BTreeMap;

use super::archive::Archive;
use super::arrays::{Array, ArrayRef, Arrays, StateError};
use super::config::ValidConfig;
use super::learner::{Copies, Learner};
use super::replay::Replay;

/// All that a training is at some moment. Saved and restored whole, it goes on as if nothing had happened.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// use ebbtide::train::{Config, LocalSearch, State, Trainer};
///
/// let search = LocalSearch { steps: 4, burn_in: 2, capacity: 100, ..LocalSearch::default() };
/// let config = Config { batch: 16, local_search: Some(search), ..Config::new(Method::TbTb, 2) };
/// let valid = config.validate(NamedTarget::Gmm25.build().into())?;
/// let mut trainer = Trainer::new(valid, &Threads::new(1)?);
/// trainer.step()?;
///
/// let state: &State = trainer.state();
/// assert_eq!((state.iteration(), state.evaluations()), (1, 16 + 16 * (1 + 4)));
/// assert!(state.archived() <= 16 * 2, "two steps of each chain may be kept");
/// assert_eq!(state.learner().parameters().len(), trainer.model().layout.parameters());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
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

    /// How many end points local search has found and kept.
    pub fn archived(&self) -> usize {
        self.archive.as_ref().map_or(0, Archive::len)
    }

    /// The learned part.
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// All of it that is not a function of the rest, as arrays with names: what to save. Single numbers are arrays of
    /// one; what a training does not have is left out.
    ///
    /// ```
    /// # use std::{collections::BTreeMap, sync::Arc};
    /// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
    /// use ebbtide::train::{Array, Config, State, Trainer};
    ///
    /// # let valid = Config::new(Method::TbFixed, 2).validate(NamedTarget::EasyFunnel.build().into())?;
    /// # let trainer = Trainer::new(valid, &Threads::new(1)?);
    /// let named = trainer.state().arrays().into_iter();
    /// let saved: BTreeMap<String, Array> = named.map(|(name, array)| (name.into(), array.into())).collect();
    /// assert_eq!(saved["iteration"], Array::U64(vec![0]));
    /// assert!(State::from_arrays(saved)? == *trainer.state());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arrays(&self) -> Vec<(&'static str, ArrayRef<'_>)> {
        let mut arrays = vec![
            ("iteration", ArrayRef::U64(self.iteration)),
            ("on-policy-updates", ArrayRef::U64(self.on_policy_updates)),
            ("evaluations", ArrayRef::U64(self.evaluations)),
        ];
        self.learner.lay_out(&mut arrays);
        if let Some(replay) = &self.replay {
            replay.lay_out(&mut arrays);
        }
        if let Some(archive) = &self.archive {
            archive.lay_out(&mut arrays);
        }
        arrays
    }

    /// The state whose [`State::arrays`] these are, bit for bit. They may come from anywhere: what is taken up is a
    /// small multiple of what is given. Whether the state fits a configuration is for [`Trainer::restore`] to say.
    ///
    /// [`Trainer::restore`]: super::Trainer::restore
    pub fn from_arrays(arrays: BTreeMap<String, Array>) -> Result<Self, StateError> {
        let mut arrays = Arrays::new(arrays);
        let state = Self {
            iteration: arrays.whole("iteration")?,
            on_policy_updates: arrays.whole("on-policy-updates")?,
            evaluations: arrays.whole("evaluations")?,
            learner: Learner::take_up(&mut arrays)?,
            replay: arrays.has_any("replay.").then(|| Replay::take_up(&mut arrays)).transpose()?,
            archive: arrays.has_any("archive.").then(|| Archive::take_up(&mut arrays)).transpose()?,
        };
        arrays.end()?;
        Ok(state)
    }

    /// The state before the first iteration.
    pub(super) fn new(valid: &ValidConfig) -> Self {
        let (config, model) = (valid.config(), valid.model());
        let mut parameters = model.layout.initialise(config.seed);
        model.layout.expect_states_of(config.network.scale, &mut parameters);
        let path = model.steps() * model.dim();
        let arrangement = config.optimisation.arrangement;
        Self {
            iteration: 0,
            on_policy_updates: 0,
            evaluations: 0,
            learner: Learner::new(
                &model.layout,
                parameters,
                copies(valid),
                config.optimisation.log_z_start as f32,
                arrangement,
            ),
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
            && self.learner.is_sound(&model.layout, copies(valid), config.optimisation.arrangement)
            && self.replay.is_some() == (config.replay.ratio > 0)
            && self.replay.as_ref().is_none_or(|replay| replay.is_sound(config.replay.capacity, path))
            && self.archive.is_some() == capacity.is_some()
            && self.archive.as_ref().zip(capacity).is_none_or(|(archive, c)| archive.is_sound(c, model.dim()))
    }
}

/// More than any training counts to, and far enough from where counting ends.
pub(super) const COUNTABLE: u64 = 1 << 62;

/// A lagging copy is of use only where there are two learned processes to look at each other.
fn copies(valid: &ValidConfig) -> Copies {
    let lagging = valid.config().target_network.is_some() && valid.model().destruction.is_learned();
    Copies { lagging, averaged: valid.config().averaging.is_some() }
}

//! What is learned: weights, their lagging copy, log Ẑ, and the optimisers' moments.

use super::adam::{self, Adam, clip_scale, norm};
use super::arrays::{ArrayRef, Arrays, StateError};
use super::gradient::{Differentiator, Losses, Weights};
use crate::network::{Layout, Process};
use crate::trajectory::Threads;

/// Whether the two losses have an optimiser each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// One each, over trunk and own head.
    Separate,
    /// One for the sum of both losses.
    Single,
}

/// How gradients become steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimisation {
    /// One optimiser or two.
    pub arrangement: Arrangement,
    /// Learning rate of the generation process.
    pub generation_rate: f64,
    /// Learning rate of the destruction process; not used by a single optimiser.
    pub destruction_rate: f64,
    /// Learning rate of log Ẑ.
    pub log_z_rate: f64,
    /// Where log Ẑ begins.
    pub log_z_start: f64,
    /// All learning rates are multiplied by this after each on-policy update.
    pub decay: f64,
    /// L2 penalty, added to the gradient.
    pub weight_decay: f32,
    /// The largest norm of a gradient.
    pub clip: f64,
    /// Residuals of trajectory balance beyond this count in proportion, and not squared (Huber's loss); `None` if all count squared.
    pub residual_bound: Option<f32>,
}

impl Optimisation {
    /// The bound on residuals, infinite if there is none.
    pub(super) fn residual_bound(&self) -> f64 {
        self.residual_bound.map_or(f64::INFINITY, f64::from)
    }
}

impl Default for Optimisation {
    fn default() -> Self {
        Self {
            arrangement: Arrangement::Separate,
            generation_rate: 1e-3,
            destruction_rate: 1e-3,
            log_z_rate: 0.1,
            log_z_start: 0.0,
            decay: 0.9999,
            weight_decay: 1e-7,
            clip: 200.0,
            residual_bound: None,
        }
    }
}

/// Far beyond any residual of an ordinary trajectory. One that ends where the density is zero has a residual whose
/// square single precision cannot hold: the optimiser of log Ẑ would never move again.
const LARGEST_LOG_Z_GRADIENT: f64 = 1e6;

/// Names of the moments and of their count, for each optimiser.
const GENERATION: [&str; 3] = ["generation.first-moment", "generation.second-moment", "generation.steps"];
const DESTRUCTION: [&str; 3] = ["destruction.first-moment", "destruction.second-moment", "destruction.steps"];
const LOG_Z: [&str; 3] = ["log-z.first-moment", "log-z.second-moment", "log-z.steps"];

/// Names of the weights and of their copies.
const LIVE: &str = "parameters";
const LAGGING: &str = "lagging-parameters";
const AVERAGED: &str = "averaged-parameters";

/// Which copies of the weights there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// The one that each loss sees of the other process.
    pub lagging: bool,
    /// The one that samples are drawn with.
    pub averaged: bool,
}

/// The learned part of a training state.
///
/// ```
/// # use std::sync::Arc;
/// # use ebbtide::{objective::{Method, OffPolicy}, target::{Formula, Target}, trajectory::{Threads, Trajectories}};
/// # use ebbtide::train::{Batch, Config, Objectives};
/// use ebbtide::train::{Arrangement, Copies, Differentiator, Learner, Norms, Optimisation};
///
/// # let target: Arc<dyn Target> = Arc::new(Formula::new("-x0^2/2", 1, &[])?);
/// # let model = Config::new(Method::TbFixed, 2).validate(target)?.model().clone();
/// # let (layout, threads) = (model.layout.clone(), Threads::new(1)?);
/// # let mut trajectories = Trajectories::new(2, 2, 1);
/// # trajectories.states_mut().copy_from_slice(&[0.5, 1.0, -0.2, 3.0]);
/// # let batch = Batch { trajectories: &trajectories, log_density: &[-0.5, -4.5], importance: None };
/// let copies = Copies { lagging: true, averaged: false };
/// let mut learner = Learner::new(&layout, layout.initialise(0), copies, 3.0, Arrangement::Separate);
/// let before = learner.parameters().to_vec();
///
/// let mut differentiator = Differentiator::new(model, &threads);
/// # let generation = Some(OffPolicy::TrajectoryBalance);
/// let objectives = Objectives { generation, destruction: None, log_z: learner.log_z(), residual_bound: f64::INFINITY };
/// let losses = differentiator.off_policy(learner.weights(), batch, objectives);
/// let rates = Optimisation { log_z_rate: 0.25, ..Optimisation::default() };
/// let Norms { generation, destruction } = learner.step(&mut differentiator, &losses, &rates, 1.0, true);
/// assert!(generation > 0.0 && destruction == 0.0);
/// // log Ẑ was too high: log Z is 0.92 here. The first step of Adam is as long as the rate.
/// assert!((learner.log_z() - 2.75).abs() < 1e-4);
///
/// // Lagging weights go half of the way at τ = ½. Samples are drawn with the live ones, there being no average.
/// learner.follow(&threads, 0.5);
/// let halfway = before.iter().zip(learner.parameters()).map(|(before, now)| 0.5 * (before + now));
/// let lagging = learner.lagging().expect("it was asked for");
/// assert!(lagging.iter().zip(halfway).all(|(weight, halfway)| (weight - halfway).abs() < 1e-6));
/// assert_eq!(learner.sampled(), ("parameters", learner.parameters()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Learner {
    parameters: Vec<f32>,
    lagging: Option<Vec<f32>>,
    averaged: Option<Vec<f32>>,
    log_z: [f32; 1],
    generation: Adam,
    destruction: Adam,
    log_z_moments: Adam,
}

/// Norms of the two gradients of an update, before clipping. With a single optimiser both are the sum's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Norms {
    /// Of the generation loss.
    pub generation: f64,
    /// Of the destruction loss; 0 where that process is fixed.
    pub destruction: f64,
}

impl Norms {
    fn are_finite(&self) -> bool {
        self.generation.is_finite() && self.destruction.is_finite()
    }
}

impl Learner {
    /// Starts from these weights, lagging copy and average included if wanted.
    pub fn new(
        layout: &Layout,
        parameters: Vec<f32>,
        copies: Copies,
        log_z: f32,
        arrangement: Arrangement,
    ) -> Self {
        let (generation, destruction) = Self::lengths(layout, arrangement);
        Self {
            lagging: copies.lagging.then(|| parameters.clone()),
            averaged: copies.averaged.then(|| parameters.clone()),
            parameters,
            log_z: [log_z],
            generation: Adam::new(generation),
            destruction: Adam::new(destruction),
            log_z_moments: Adam::new(1),
        }
    }

    /// How many parameters each optimiser looks after. A single one looks after all.
    fn lengths(layout: &Layout, arrangement: Arrangement) -> (usize, usize) {
        match arrangement {
            Arrangement::Separate => {
                (layout.owned(Process::Generation).len(), layout.owned(Process::Destruction).len())
            }
            Arrangement::Single => (layout.parameters(), 0),
        }
    }

    /// Adds its arrays to those of a state.
    pub(super) fn lay_out<'a>(&'a self, arrays: &mut Vec<(&'static str, ArrayRef<'a>)>) {
        arrays.push((LIVE, ArrayRef::F32(&self.parameters)));
        if let Some(lagging) = &self.lagging {
            arrays.push((LAGGING, ArrayRef::F32(lagging)));
        }
        if let Some(averaged) = &self.averaged {
            arrays.push((AVERAGED, ArrayRef::F32(averaged)));
        }
        arrays.push(("log-z", ArrayRef::F32(&self.log_z)));
        self.generation.lay_out(GENERATION, arrays);
        self.destruction.lay_out(DESTRUCTION, arrays);
        self.log_z_moments.lay_out(LOG_Z, arrays);
    }

    /// Takes its arrays from those of a state.
    pub(super) fn take_up(arrays: &mut Arrays) -> Result<Self, StateError> {
        Ok(Self {
            parameters: arrays.singles(LIVE)?,
            lagging: arrays.has(LAGGING).then(|| arrays.singles(LAGGING)).transpose()?,
            averaged: arrays.has(AVERAGED).then(|| arrays.singles(AVERAGED)).transpose()?,
            log_z: [arrays.single("log-z")?],
            generation: Adam::take_up(GENERATION, arrays)?,
            destruction: Adam::take_up(DESTRUCTION, arrays)?,
            log_z_moments: Adam::take_up(LOG_Z, arrays)?,
        })
    }

    /// Whether all parts belong to such a network and are finite.
    pub(crate) fn is_sound(&self, layout: &Layout, copies: Copies, arrangement: Arrangement) -> bool {
        let fits = |values: &[f32]| {
            values.len() == layout.parameters() && values.iter().all(|value| value.is_finite())
        };
        let (generation, destruction) = Self::lengths(layout, arrangement);
        fits(&self.parameters)
            && self.lagging.is_some() == copies.lagging
            && self.lagging.as_deref().is_none_or(fits)
            && self.averaged.is_some() == copies.averaged
            && self.averaged.as_deref().is_none_or(fits)
            && self.log_z[0].is_finite()
            && self.generation.is_sound(generation)
            && self.destruction.is_sound(destruction)
            && self.log_z_moments.is_sound(1)
    }

    /// The live weights.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The weights that samples are drawn with, and the name of their array: the average, or the live ones where there is none.
    pub fn sampled(&self) -> (&'static str, &[f32]) {
        self.averaged.as_deref().map_or((LIVE, &self.parameters), |averaged| (AVERAGED, averaged))
    }

    /// The lagging weights, if there are any.
    pub fn lagging(&self) -> Option<&[f32]> {
        self.lagging.as_deref()
    }

    /// Both, as the losses want them.
    pub fn weights(&self) -> Weights<'_> {
        Weights { live: &self.parameters, lagging: self.lagging.as_deref() }
    }

    /// log Ẑ
    pub fn log_z(&self) -> f64 {
        f64::from(self.log_z[0])
    }

    /// Takes one step with the gradients that `differentiator` holds, learning rates multiplied by `factor`.
    /// `losses` tells which gradients there are; `learns_log_z` whether log Ẑ moves too. If a norm is not
    /// finite, nothing is changed.
    pub fn step(
        &mut self,
        differentiator: &mut Differentiator,
        losses: &Losses,
        optimisation: &Optimisation,
        factor: f64,
        learns_log_z: bool,
    ) -> Norms {
        let norms = match optimisation.arrangement {
            Arrangement::Separate => self.step_apart(differentiator, losses, optimisation, factor),
            Arrangement::Single => self.step_together(differentiator, losses, optimisation, factor),
        };
        if learns_log_z && norms.are_finite() {
            let gradient = losses.log_z_gradient.clamp(-LARGEST_LOG_Z_GRADIENT, LARGEST_LOG_Z_GRADIENT);
            let (gradient, rate) = ([gradient as f32], factor * optimisation.log_z_rate);
            let threads = differentiator.threads();
            self.log_z_moments.step(threads, &mut self.log_z, &gradient, 1.0, rate, 0.0);
        }
        norms
    }

    /// An optimiser for each loss, each over its own range; the generation process goes first.
    fn step_apart(
        &mut self,
        differentiator: &mut Differentiator,
        losses: &Losses,
        optimisation: &Optimisation,
        factor: f64,
    ) -> Norms {
        let threads = differentiator.threads().clone();
        let mut norm_of = |process, loss: Option<f64>| {
            loss.map_or(0.0, |_| norm(&threads, differentiator.gradient(process)))
        };
        let norms = Norms {
            generation: norm_of(Process::Generation, losses.generation),
            destruction: norm_of(Process::Destruction, losses.destruction),
        };
        if !norms.are_finite() {
            return norms;
        }
        let (clip, decay) = (optimisation.clip, optimisation.weight_decay);
        if losses.generation.is_some() {
            let owned = differentiator.model().layout.owned(Process::Generation);
            let (scale, rate) = (clip_scale(norms.generation, clip), factor * optimisation.generation_rate);
            let gradient = differentiator.gradient(Process::Generation);
            self.generation.step(&threads, &mut self.parameters[owned], gradient, scale, rate, decay);
        }
        if losses.destruction.is_some() {
            let owned = differentiator.model().layout.owned(Process::Destruction);
            let (scale, rate) = (clip_scale(norms.destruction, clip), factor * optimisation.destruction_rate);
            let gradient = differentiator.gradient(Process::Destruction);
            self.destruction.step(&threads, &mut self.parameters[owned], gradient, scale, rate, decay);
        }
        norms
    }

    /// One optimiser for the sum of both losses.
    fn step_together(
        &mut self,
        differentiator: &mut Differentiator,
        losses: &Losses,
        optimisation: &Optimisation,
        factor: f64,
    ) -> Norms {
        let threads = differentiator.threads().clone();
        let sum = differentiator.summed_gradient(losses);
        let norm = norm(&threads, sum);
        if norm.is_finite() {
            let (scale, rate) = (clip_scale(norm, optimisation.clip), factor * optimisation.generation_rate);
            self.generation.step(&threads, &mut self.parameters, sum, scale, rate, optimisation.weight_decay);
        }
        Norms { generation: norm, destruction: norm }
    }

    /// Lets the average follow, `steps` iterations after it began: by a share ρ, or more at first, when it is the mean of all so far.
    pub(super) fn average(&mut self, threads: &Threads, rate: f32, steps: u64) {
        if let Some(averaged) = &mut self.averaged {
            adam::follow(threads, averaged, &self.parameters, rate.max(1.0 / steps as f32));
        }
    }

    /// Lets the lagging weights follow: lagging ← lagging + τ (live − lagging).
    pub fn follow(&mut self, threads: &Threads, tau: f32) {
        if let Some(lagging) = &mut self.lagging {
            adam::follow(threads, lagging, &self.parameters, tau);
        }
    }
}

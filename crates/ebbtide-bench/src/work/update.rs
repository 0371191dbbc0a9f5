//! One update of both processes by trajectory balance, from given trajectories to new weights.

use ebbtide::objective::{DestructionObjective, OffPolicy};
use ebbtide::stream::{Address, Purpose};
use ebbtide::train::{Arrangement, Batch, Copies, Differentiator, Learner, Objectives, Optimisation};
use ebbtide::trajectory::{Threads, Trajectories};

use super::Work;
use crate::Failure;
use crate::arithmetic;
use crate::case::{Case, weights};

/// How fast the lagging network follows.
const TAU: f32 = 0.05;

/// Both losses with lagging networks, an optimiser each, clipping, log Ẑ, and the lagging network's step.
pub struct Update {
    case: Case,
    differentiator: Differentiator,
    learner: Learner,
    trajectories: Trajectories,
    log_density: Vec<f64>,
    optimisation: Optimisation,
    threads: Threads,
}

impl Update {
    /// Random walks to learn from, under a density that falls as the square of the distance.
    pub fn new(case: Case, threads: &Threads) -> Result<Self, Failure> {
        let model = case.model()?;
        let mut trajectories = Trajectories::new(case.batch, case.steps, case.d);
        for i in 0..case.batch {
            let path = trajectories.path_mut(i);
            Address::new(0, Purpose::Generate, 0).stream(i).fill_normal(path);
            for k in case.d..path.len() {
                path[k] += path[k - case.d];
            }
        }
        let mut ends = Vec::new();
        trajectories.copy_ends(&mut ends);
        let square = |end: &[f32]| end.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        let log_density = ends.chunks_exact(case.d).map(|end| -square(end)).collect();
        let parameters = weights(&model);
        Ok(Self {
            case,
            learner: Learner::new(
                &model.layout,
                parameters,
                Copies { lagging: true, averaged: false },
                0.0,
                Arrangement::Separate,
            ),
            differentiator: Differentiator::new(model, threads),
            trajectories,
            log_density,
            optimisation: Optimisation::default(),
            threads: threads.clone(),
        })
    }
}

impl Work for Update {
    fn call(&mut self) -> Result<(), Failure> {
        let objectives = Objectives {
            generation: Some(OffPolicy::TrajectoryBalance),
            destruction: Some(DestructionObjective::TrajectoryBalance),
            log_z: self.learner.log_z(),
            residual_bound: f64::INFINITY,
        };
        let batch =
            Batch { trajectories: &self.trajectories, log_density: &self.log_density, importance: None };
        let losses = self.differentiator.off_policy(self.learner.weights(), batch, objectives);
        self.learner.step(&mut self.differentiator, &losses, &self.optimisation, 1.0, true);
        self.learner.follow(&self.threads, TAU);
        Ok(())
    }

    fn flops(&self) -> f64 {
        arithmetic::update(&self.case)
    }
}

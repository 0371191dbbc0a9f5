//! One training iteration by reverse KL: what the paper calls PISθ + VarGradφ, on 25GMM.

use std::sync::Arc;

use ebbtide::objective::Method;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{NetworkOptions, Trainer};
use ebbtide::trajectory::Threads;
use ebbtide_run::settings::Preset;

use super::Work;
use crate::Failure;
use crate::arithmetic;
use crate::case::Case;

/// Simulation, the density's gradient at the ends, reverse KL through the simulation against the lagging
/// destruction process, VarGrad for the destruction process, and a step of everything.
///
/// There is no replay, no exploration and no search in this method, so an iteration is one update.
pub struct ReverseKl {
    case: Case,
    trainer: Trainer,
}

impl ReverseKl {
    /// A training with the paper's settings, but of this size.
    pub fn new(case: Case, threads: &Threads) -> Result<Self, Failure> {
        let target: Arc<dyn Target> = NamedTarget::Gmm25.build().into();
        if case.d != target.dim() {
            return Err(format!("reverse-kl is measured on 25GMM, where d is 2 and not {}", case.d).into());
        }
        case.check()?;
        let mut config =
            Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::PisVarGrad), case.steps).config;
        config.batch = case.batch;
        config.network = NetworkOptions { width: case.width, depth: case.depth, ..config.network };
        Ok(Self { case, trainer: Trainer::new(config.validate(target)?, threads) })
    }
}

impl Work for ReverseKl {
    fn call(&mut self) -> Result<(), Failure> {
        self.trainer.step()?;
        Ok(())
    }

    fn flops(&self) -> f64 {
        arithmetic::reverse_kl(&self.case)
    }
}

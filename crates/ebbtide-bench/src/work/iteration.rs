//! One whole training iteration: TBθ,φ on 25GMM in five steps, with replay and local search.

use std::sync::Arc;

use ebbtide::objective::Method;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{Config, LocalSearch, Trainer};
use ebbtide::trajectory::Threads;
use ebbtide_run::settings::Preset;
use serde::Deserialize;

use super::Work;
use crate::Failure;
use crate::arithmetic;
use crate::case::Case;

/// How much local search has put into the archive before anything is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// What it finds in the first two hundred iterations.
    Young,
    /// As much as fits: where a training is after its first two thousand iterations, and stays.
    #[default]
    Full,
}

/// Iterations before the clock starts. The replay buffer is full after ten.
const WARM_UP: usize = 200;

/// An iteration of the paper's training. One in a hundred searches, so a hundred are a fair average.
pub struct Iteration {
    trainer: Trainer,
    unit: usize,
    flops: f64,
}

impl Iteration {
    /// A training past its beginning.
    pub fn new(fill: Fill, threads: &Threads) -> Result<Self, Failure> {
        let target: Arc<dyn Target> = NamedTarget::Gmm25.build().into();
        let config = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbTb), 5).config;
        let search = config.local_search.ok_or("the preset of 25GMM has no local search any more")?;
        let valid = config.validate(Arc::clone(&target))?;
        let mut trainer = match fill {
            Fill::Young => Trainer::new(valid, threads),
            Fill::Full => {
                let state = filled(&config, search, target, threads)?.state().clone();
                Trainer::restore(valid, threads, state)?
            }
        };
        for _ in 0..WARM_UP {
            trainer.step()?;
        }
        let case = Case {
            d: trainer.target().dim(),
            width: config.network.width,
            depth: config.network.depth,
            steps: config.grid.steps(),
            batch: config.batch,
        };
        Ok(Self { trainer, unit: search.every, flops: arithmetic::iteration(&case, config.replay.ratio) })
    }
}

/// A training that searches in each iteration, until its archive is full. Its state is one that the real training
/// could have, two thousand iterations later.
fn filled(
    config: &Config,
    search: LocalSearch,
    target: Arc<dyn Target>,
    threads: &Threads,
) -> Result<Trainer, Failure> {
    let eager = Config { local_search: Some(LocalSearch { every: 1, ..search }), ..config.clone() };
    let mut trainer = Trainer::new(eager.validate(target)?, threads);
    while trainer.step()?.archived < search.capacity {}
    Ok(trainer)
}

impl Work for Iteration {
    fn call(&mut self) -> Result<(), Failure> {
        self.trainer.step()?;
        Ok(())
    }

    fn flops(&self) -> f64 {
        self.flops
    }

    fn unit(&self) -> usize {
        self.unit
    }
}

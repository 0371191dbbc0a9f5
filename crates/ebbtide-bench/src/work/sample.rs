//! Sampling: many draws from a sampler, start to end.

use ebbtide::trajectory::{Sampler, Threads};

use super::Work;
use crate::Failure;
use crate::arithmetic;
use crate::case::{Case, weights};

/// `batch` draws with fresh noise in each call.
pub struct Sample {
    case: Case,
    sampler: Sampler,
    seed: u64,
}

impl Sample {
    /// A sampler with random weights; what it draws does not matter.
    pub fn new(case: Case, threads: &Threads) -> Result<Self, Failure> {
        let model = case.model()?;
        let parameters = weights(&model);
        Ok(Self { case, sampler: Sampler::new(model, parameters, threads)?, seed: 0 })
    }
}

impl Work for Sample {
    fn call(&mut self) -> Result<(), Failure> {
        self.seed += 1;
        let samples = self.sampler.sample(self.case.batch, self.seed);
        std::hint::black_box(samples);
        Ok(())
    }

    fn flops(&self) -> f64 {
        arithmetic::sample(&self.case)
    }
}

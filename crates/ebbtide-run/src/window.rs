//! Means of what iterations report, from one line of metrics to the next.

use ebbtide::train::Report;
use serde::{Deserialize, Serialize};

use crate::Record;

/// Sums since the last line. Part of a checkpoint, so that a resumed run writes the same lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    generation: Sum,
    destruction: Sum,
    norm: Sum,
    acceptance: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sum {
    #[serde(with = "crate::record::number")]
    sum: f64,
    count: u64,
}

impl Sum {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Window {
    /// Takes note of an iteration.
    pub fn add(&mut self, report: &Report) {
        self.generation.add(report.generation_loss);
        self.destruction.add(report.destruction_loss);
        self.norm.add(report.generation_loss.map(|_| report.generation_norm));
        self.acceptance = report.acceptance.or(self.acceptance);
    }

    /// The line after this iteration; the next window begins.
    pub fn close(&mut self, report: &Report, seconds: f64) -> Record {
        let window = std::mem::take(self);
        Record {
            iteration: report.iteration,
            seconds,
            generation_loss: window.generation.mean(),
            destruction_loss: window.destruction.mean(),
            gradient_norm: window.norm.mean(),
            log_z_learned: report.log_z,
            evaluations: report.evaluations,
            archived: report.archived,
            acceptance: window.acceptance,
            figures: None,
        }
    }
}

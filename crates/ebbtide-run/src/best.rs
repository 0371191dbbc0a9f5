//! The best evaluation so far, and how far behind it a bound may fall.

use ebbtide::metric::Evaluation;
use serde::{Deserialize, Serialize};

use crate::Figures;

/// What was best so far. Part of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    score: Option<f64>,
    iteration: u64,
    elbo: Option<f64>,
    eubo: Option<f64>,
}

/// A bound has left all bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Explosion {
    /// What happened, in words.
    pub reason: String,
    /// The sample, or the exact draw, that weighs in most.
    pub point: Vec<f32>,
}

impl Best {
    /// The iteration of the best evaluation, if there was any.
    pub fn iteration(&self) -> Option<u64> {
        self.score.map(|_| self.iteration)
    }

    /// Takes note of what a sampler is worth that has not learned anything. Its weights are not worth keeping.
    pub fn begin(&mut self, figures: &Figures) {
        self.note(0, figures);
        self.score = None;
    }

    /// Takes note of an evaluation; answers whether it is the best.
    ///
    /// Where exact samples exist, the smallest EUBO − ELBO is best: the divergences of the two processes from each other, in both
    /// directions, so that neither a missing mode nor stray samples go unseen. Elsewhere it is the highest ELBO.
    pub fn note(&mut self, iteration: u64, figures: &Figures) -> bool {
        let better = |old: Option<f64>, new: f64, is_better: fn(f64, f64) -> bool| {
            if new.is_finite() && old.is_none_or(|old| is_better(new, old)) { Some(new) } else { old }
        };
        self.elbo = better(self.elbo, figures.elbo, |new, old| new > old);
        if let Some(eubo) = figures.eubo {
            self.eubo = better(self.eubo, eubo, |new, old| new < old);
        }
        let score = figures.eubo.map_or(figures.elbo, |eubo| figures.elbo - eubo);
        let is_best = score.is_finite() && self.score.is_none_or(|best| score > best);
        if is_best {
            (self.score, self.iteration) = (Some(score), iteration);
        }
        is_best
    }

    /// Whether a bound is worse than the best by more than `factor` · (1 + its size). An ELBO of −∞ is none: it is what a density
    /// that is zero somewhere gives to a sampler that goes there.
    pub fn exploded(&self, evaluation: &Evaluation, factor: f64) -> Option<Explosion> {
        let room = |best: f64| factor * (1.0 + best.abs());
        let elbo = evaluation.bounds.elbo.value;
        if let Some(best) = self.elbo
            && (elbo.is_nan() || elbo.is_finite() && elbo < best - room(best))
        {
            let reason = format!("the ELBO is {elbo:e}, and was {best} before");
            return Some(Explosion { reason, point: evaluation.worst_generated.point.clone() });
        }
        let eubo = evaluation.bounds.eubo?.value;
        let best = self.eubo?;
        if eubo.is_nan() || eubo > best + room(best) {
            let reason = format!("the EUBO is {eubo:e}, and was {best} before");
            let point =
                evaluation.worst_destroyed.as_ref().map_or_else(Vec::new, |worst| worst.point.clone());
            return Some(Explosion { reason, point });
        }
        None
    }
}

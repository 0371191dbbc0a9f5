//! What a training came to: a table for people, one line of JSON for programs.

use std::fmt;

use ebbtide::metric::Evaluation;
use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::train::Trainer;
use serde::Serialize;

/// The figures of a finished training.
#[derive(Serialize)]
pub struct Outcome {
    /// Name of the target.
    pub target: &'static str,
    /// Name of the method.
    pub method: &'static str,
    /// Steps of a trajectory.
    pub steps: usize,
    /// Trajectories of an update.
    pub batch: usize,
    /// The seed.
    pub seed: u64,
    /// Iterations done.
    pub iterations: u64,
    /// Seconds of training, evaluation not counted.
    pub seconds: f64,
    /// Evaluations of the target.
    pub evaluations: u64,
    /// Lower bound on log Z.
    pub elbo: f64,
    /// Its standard error.
    pub elbo_error: f64,
    /// Upper bound on log Z.
    pub eubo: Option<f64>,
    /// Its standard error.
    pub eubo_error: Option<f64>,
    /// Importance-weighted estimate of log Z.
    pub log_z: f64,
    /// Its standard error.
    pub log_z_error: f64,
    /// The true log Z, where known.
    pub log_z_true: Option<f64>,
    /// Effective sample size, as a share of the draws.
    pub ess: f64,
    /// 2-Wasserstein distance to exact draws.
    pub w2: Option<f64>,
    /// The same between two sets of exact draws.
    pub w2_floor: Option<f64>,
    /// Modes reached and modes there are.
    pub modes: Option<(usize, usize)>,
    /// Total variation of the mode frequencies from the true weights.
    pub modes_total_variation: Option<f64>,
}

impl Outcome {
    /// What a training, its length in seconds, and its evaluation come to.
    pub fn new(
        target: NamedTarget,
        method: Method,
        trainer: &Trainer,
        seconds: f64,
        evaluation: &Evaluation,
    ) -> Self {
        let (config, bounds, coverage) = (trainer.config(), &evaluation.bounds, evaluation.coverage.as_ref());
        Self {
            target: target.name(),
            method: method.name(),
            steps: config.grid.steps(),
            batch: config.batch,
            seed: config.seed,
            iterations: trainer.state().iteration(),
            seconds,
            evaluations: trainer.state().evaluations(),
            elbo: bounds.elbo.value,
            elbo_error: bounds.elbo.standard_error,
            eubo: bounds.eubo.map(|eubo| eubo.value),
            eubo_error: bounds.eubo.map(|eubo| eubo.standard_error),
            log_z: bounds.importance.log_z.value,
            log_z_error: bounds.importance.log_z.standard_error,
            log_z_true: trainer.target().log_z(),
            ess: bounds.importance.effective,
            w2: evaluation.wasserstein2,
            w2_floor: evaluation.wasserstein2_floor,
            modes: coverage.map(|coverage| (coverage.reached, coverage.frequencies.len())),
            modes_total_variation: coverage.map(|coverage| coverage.total_variation),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let row = |f: &mut fmt::Formatter, name: &str, value: String, about: &str| {
            writeln!(f, "  {name:<8}{value:<20}{about}")
        };
        let estimate = |value: f64, error: f64| format!("{value:.4} ± {error:.4}");
        writeln!(
            f,
            "{}, {}, T = {}, seed {}: {} iterations of {} in {:.0} s",
            self.target, self.method, self.steps, self.seed, self.iterations, self.batch, self.seconds
        )?;
        row(f, "ELBO", estimate(self.elbo, self.elbo_error), "lower bound on log Z")?;
        let about = match self.log_z_true {
            Some(truth) => format!("importance-weighted; the truth is {truth:.4}"),
            None => "importance-weighted".to_owned(),
        };
        row(f, "log Z", estimate(self.log_z, self.log_z_error), &about)?;
        if let (Some(eubo), Some(error)) = (self.eubo, self.eubo_error) {
            row(f, "EUBO", estimate(eubo, error), "upper bound on log Z")?;
        }
        row(f, "ESS", format!("{:.1} %", 100.0 * self.ess), "effective share of the samples")?;
        if let (Some(w2), Some(floor)) = (self.w2, self.w2_floor) {
            let about = format!("2-Wasserstein distance; exact samples get {floor:.4}");
            row(f, "W2", format!("{w2:.4}"), &about)?;
        }
        if let (Some((reached, all)), Some(variation)) = (self.modes, self.modes_total_variation) {
            let about = format!("reached; shares are off by {:.1} % in total variation", 100.0 * variation);
            row(f, "modes", format!("{reached} of {all}"), &about)?;
        }
        row(f, "E(x)", self.evaluations.to_string(), "evaluations of the density")
    }
}

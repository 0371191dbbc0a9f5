//! A line of `metrics.jsonl`.

use ebbtide::metric::Bounds;
use serde::{Deserialize, Serialize};

/// How a training stood after an iteration. Losses are means since the line before.
///
/// ```
/// use ebbtide_run::Record;
///
/// let record = Record { iteration: 500, generation_loss: Some(0.25), ..Record::default() };
/// let line = serde_json::to_string(&record)?;
/// assert!(line.starts_with(r#"{"iteration":500,"seconds":0.0,"generation_loss":0.25,"#));
/// assert_eq!(serde_json::from_str::<Record>(&line)?, record);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Iterations done.
    pub iteration: u64,
    /// Seconds of training, evaluations not counted.
    pub seconds: f64,
    /// Mean generation loss of fresh batches.
    pub generation_loss: Option<f64>,
    /// Mean destruction loss of fresh batches, if that process is learned.
    pub destruction_loss: Option<f64>,
    /// Mean norm of the generation gradient, before clipping.
    pub gradient_norm: Option<f64>,
    /// log Ẑ, as trajectory balance learns it.
    #[serde(with = "number")]
    pub log_z_learned: f64,
    /// Evaluations of the density.
    pub evaluations: u64,
    /// End points that local search has found and kept.
    pub archived: usize,
    /// Acceptance rate of the last local search since the line before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<f64>,
    /// What the sampler was worth, if it was evaluated.
    #[serde(flatten)]
    pub figures: Option<Figures>,
}

/// Bounds on log Z and what else the trajectories of an evaluation tell. What is not a finite number is written as null.
///
/// ```
/// use ebbtide::metric::Bounds;
/// use ebbtide_run::Figures;
///
/// // Log weights of two generated trajectories, and of two that were destroyed from exact samples.
/// let figures = Figures::from(&Bounds::new(&[-1.0, 1.0], Some(&[0.5, 1.5])));
/// assert_eq!((figures.elbo, figures.elbo_error, figures.eubo), (0.0, 1.0, Some(1.0)));
/// let cosh = 1.0_f64.cosh();
/// assert!((figures.log_z - cosh.ln()).abs() < 1e-12);
/// assert!((figures.ess - cosh.powi(2) / 2.0_f64.cosh()).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Lower bound on log Z.
    #[serde(with = "number")]
    pub elbo: f64,
    /// Its standard error.
    #[serde(with = "number")]
    pub elbo_error: f64,
    /// Upper bound on log Z, where exact samples exist.
    #[serde(default)]
    pub eubo: Option<f64>,
    /// Its standard error.
    #[serde(default)]
    pub eubo_error: Option<f64>,
    /// Importance-weighted estimate of log Z.
    #[serde(with = "number")]
    pub log_z: f64,
    /// Its standard error.
    #[serde(with = "number")]
    pub log_z_error: f64,
    /// Effective sample size, as a share of the draws.
    #[serde(with = "number")]
    pub ess: f64,
    /// Pareto k̂ of the weights, where there are enough of them to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pareto_k: Option<f64>,
}

impl From<&Bounds> for Figures {
    fn from(bounds: &Bounds) -> Self {
        Self {
            elbo: bounds.elbo.value,
            elbo_error: bounds.elbo.standard_error,
            eubo: bounds.eubo.map(|eubo| eubo.value),
            eubo_error: bounds.eubo.map(|eubo| eubo.standard_error),
            log_z: bounds.importance.log_z.value,
            log_z_error: bounds.importance.log_z.standard_error,
            ess: bounds.importance.effective,
            pareto_k: bounds.importance.tail,
        }
    }
}

/// JSON has no NaN and no infinities: they are null there, and NaN when read again.
pub(crate) mod number {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        let bare = Record { iteration: 100, generation_loss: Some(0.1 + 0.2), ..Record::default() };
        let figures = Figures {
            elbo: -1.5,
            elbo_error: 0.25,
            eubo: None,
            eubo_error: None,
            log_z: 1.0 / 3.0,
            log_z_error: 1e-300,
            ess: 0.5,
            pareto_k: None,
        };
        let evaluated = Record { figures: Some(figures), ..bare.clone() };
        for record in [bare, evaluated] {
            let line = serde_json::to_string(&record).expect("written");
            assert_eq!(serde_json::from_str::<Record>(&line).expect("read"), record, "{line}");
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_null() {
        let figures = Figures {
            elbo: f64::NEG_INFINITY,
            elbo_error: f64::NAN,
            eubo: None,
            eubo_error: None,
            log_z: 0.0,
            log_z_error: 0.0,
            ess: 0.0,
            pareto_k: None,
        };
        let line =
            serde_json::to_string(&Record { figures: Some(figures), ..Record::default() }).expect("written");
        assert!(line.contains("\"elbo\":null"), "{line}");
        let read: Record = serde_json::from_str(&line).expect("read");
        assert!(read.figures.expect("figures are there").elbo.is_nan());
    }
}

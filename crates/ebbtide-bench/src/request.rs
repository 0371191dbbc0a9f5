//! What can be asked, and what is answered: one line of JSON each.

use ebbtide::trajectory::Threads;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Failure;
use crate::case::Case;
use crate::work::{Fill, Iteration, ReverseKl, Sample, Sgemm, Transport, Update, Work};

/// A piece of work, named with its sizes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "work", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Asked {
    /// A large matrix product.
    Sgemm,
    /// A trajectory-balance update of both processes.
    Update(Case),
    /// A reverse-KL iteration on 25GMM.
    ReverseKl(Case),
    /// Draws from a sampler.
    Sample(Case),
    /// A whole training iteration on 25GMM.
    Iteration {
        /// The state of the archive.
        #[serde(default)]
        fill: Fill,
    },
    /// A 2-Wasserstein distance.
    Transport {
        /// Coordinates of a point.
        d: usize,
        /// Points of either set.
        #[serde(default = "paper_points")]
        points: usize,
    },
}

fn paper_points() -> usize {
    2048
}

impl Asked {
    /// Sets the work up.
    pub fn set_up(&self, threads: &Threads) -> Result<Box<dyn Work>, Failure> {
        Ok(match *self {
            Asked::Sgemm => Box::new(Sgemm::new(Sgemm::SIZE, threads.count())),
            Asked::Update(case) => Box::new(Update::new(case, threads)?),
            Asked::ReverseKl(case) => Box::new(ReverseKl::new(case, threads)?),
            Asked::Sample(case) => Box::new(Sample::new(case, threads)?),
            Asked::Iteration { fill } => Box::new(Iteration::new(fill, threads)?),
            Asked::Transport { d, points } => Box::new(Transport::new(d, points)?),
        })
    }
}

/// A piece of work, and for how long to do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to do.
    pub asked: Asked,
    /// How long to look for the best time.
    pub seconds: f64,
}

/// Where a request does not say.
const SECONDS: f64 = 1.0;

impl Request {
    /// Reads a line such as `{"work": "transport", "d": 2, "seconds": 0.5}`.
    pub fn read(line: &str) -> Result<Self, Failure> {
        let mut fields: Map<String, Value> = serde_json::from_str(line)?;
        let seconds = match fields.remove("seconds") {
            None => SECONDS,
            Some(value) => value
                .as_f64()
                .filter(|seconds| (0.0..=600.0).contains(seconds))
                .ok_or_else(|| format!("seconds is {value}, but must be a number from 0 to 600"))?,
        };
        Ok(Self { asked: serde_json::from_value(Value::Object(fields))?, seconds })
    }
}

/// What came of a request.
#[derive(Debug, Deserialize, Serialize)]
pub struct Answer {
    /// The best time of a call.
    pub ms: f64,
    /// Arithmetic that a call needs; 0 where that is not counted.
    pub flops: f64,
    /// Peak resident memory of the process so far, in MiB.
    pub peak_mb: Option<f64>,
    /// What the work found, where programs can be held against each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        Request::read(line).expect_err(line).to_string()
    }

    #[test]
    fn requests_are_read() {
        let line = r#"{"work": "update", "d": 2, "width": 64, "depth": 2, "steps": 5, "batch": 512, "seconds": 0.5}"#;
        let case = Case { d: 2, width: 64, depth: 2, steps: 5, batch: 512 };
        assert_eq!(Request::read(line).unwrap(), Request { asked: Asked::Update(case), seconds: 0.5 });
        let line = r#"{"work": "sample", "d": 2, "width": 64, "depth": 2, "steps": 5, "count": 512}"#;
        assert_eq!(Request::read(line).unwrap(), Request { asked: Asked::Sample(case), seconds: SECONDS });
        let line = r#"{"work": "iteration", "fill": "young"}"#;
        assert_eq!(Request::read(line).unwrap().asked, Asked::Iteration { fill: Fill::Young });
        let line = r#"{"work": "transport", "d": 10}"#;
        assert_eq!(Request::read(line).unwrap().asked, Asked::Transport { d: 10, points: 2048 });
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused(r#"{"work": "updat"}"#).contains("unknown variant `updat`"));
        assert!(refused(r#"{"work": "update", "d": 2}"#).contains("missing field `width`"));
        assert!(refused(r#"{"work": "transport", "d": 2, "dim": 2}"#).contains("unknown field `dim`"));
        assert!(refused(r#"{"work": "sgemm", "seconds": -1}"#).contains("from 0 to 600"));
        assert!(refused(r#"{"seconds": 1}"#).contains("missing field `work`"));
        assert!(refused("[]").contains("expected a map"));
        assert!(refused("nonsense").contains("line 1"));
    }
}

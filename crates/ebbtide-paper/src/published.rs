//! What the paper prints, as data.

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use serde::Deserialize;

use crate::Metric;

/// The tables of the appendix.
pub(crate) const RESULTS: &str = include_str!("../../../paper/published/results.csv");
/// The ablation table.
pub(crate) const ABLATION: &str = include_str!("../../../paper/published/ablation.csv");

/// A mean and a standard deviation over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The deviation from run to run.
    pub deviation: f64,
}

/// What the paper prints in a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Published {
    /// Figures.
    Figure(Estimate),
    /// That training diverged.
    Diverged,
}

impl Published {
    /// The figures, if there are any.
    pub fn figure(self) -> Option<Estimate> {
        match self {
            Published::Figure(estimate) => Some(estimate),
            Published::Diverged => None,
        }
    }
}

/// A line of the appendix' tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Printed {
    /// What was sampled.
    pub target: NamedTarget,
    /// By which method and in how many steps; `None` for exact draws.
    pub by: Option<(Method, usize)>,
    /// What was measured.
    pub metric: Metric,
    /// What came of it.
    pub published: Published,
}

/// A line of the ablation table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ablated {
    /// What was changed.
    pub group: String,
    /// To what.
    pub setting: String,
    /// What came of it, in the order of [`Metric::ALL`].
    pub published: [Published; 3],
}

/// Why figures cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PublishedError {
    /// It is not a table of these columns.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// It names something that there is not.
    #[error("line {line}: there is no {what} called `{given}`")]
    Unknown {
        /// Where, from 1.
        line: usize,
        /// A target, a method, a metric.
        what: &'static str,
        /// What is written.
        given: String,
    },
}

/// `results.csv` as it is written.
#[derive(Deserialize)]
struct Line {
    energy: String,
    method: String,
    #[serde(rename = "T")]
    steps: Option<usize>,
    metric: String,
    mean: String,
    std: Option<f64>,
}

/// Reads the tables of the appendix.
pub(crate) fn results(text: &str) -> Result<Vec<Printed>, PublishedError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let lines = reader.deserialize().enumerate();
    lines.map(|(place, line)| printed(place + 2, line?)).collect()
}

fn printed(place: usize, line: Line) -> Result<Printed, PublishedError> {
    let unknown = |what: &'static str, given: &str| PublishedError::Unknown {
        line: place,
        what,
        given: given.to_owned(),
    };
    let target = NamedTarget::PAPER.into_iter().find(|target| target.title() == line.energy);
    let target = target.ok_or_else(|| unknown("target", &line.energy))?;
    let metric = Metric::ALL.into_iter().find(|metric| metric.title() == line.metric);
    let metric = metric.ok_or_else(|| unknown("metric", &line.metric))?;
    let method = Method::ALL.into_iter().find(|method| method.title() == line.method);
    let by = match (line.steps, method) {
        (None, None) if line.method == "Ground truth" => None,
        (Some(steps), Some(method)) => Some((method, steps)),
        _ => return Err(unknown("method", &line.method)),
    };
    let published = match (line.mean.as_str(), line.mean.parse(), line.std) {
        ("diverged", _, _) => Published::Diverged,
        (_, Ok(mean), Some(deviation)) => Published::Figure(Estimate { mean, deviation }),
        _ => return Err(unknown("figure", &line.mean)),
    };
    Ok(Printed { target, by, metric, published })
}

/// Reads the ablation table.
pub(crate) fn ablation(text: &str) -> Result<Vec<Ablated>, PublishedError> {
    type Line = (String, String, f64, f64, f64, f64, f64, f64);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let ablated = |line: Result<Line, csv::Error>| {
        let (group, setting, elbo, elbo_std, eubo, eubo_std, w2, w2_std) = line?;
        let published = [(elbo, elbo_std), (eubo, eubo_std), (w2, w2_std)]
            .map(|(mean, deviation)| Published::Figure(Estimate { mean, deviation }));
        Ok(Ablated { group, setting, published })
    };
    reader.deserialize().map(ablated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let (results, ablation) =
            (results(RESULTS).expect("whole figures"), ablation(ABLATION).expect("whole figures"));
        assert_eq!((results.len(), ablation.len()), (993, 12));
        assert_eq!(results.iter().filter(|line| line.by.is_none()).count(), NamedTarget::PAPER.len());
        let diverged = results.iter().filter(|line| line.published == Published::Diverged).count();
        assert_eq!(diverged, RESULTS.matches("diverged").count());
        let optimal = Published::Figure(Estimate { mean: -1.89, deviation: 0.10 });
        assert_eq!(ablation[0].published[0], optimal);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = "energy,method,T,metric,mean,std\n";
        for (line, message) in [
            ("26GMM,\"TBθ,φ\",5,ELBO,-1,0.1", "line 2: there is no target called `26GMM`"),
            ("25GMM,TBφ,5,ELBO,-1,0.1", "line 2: there is no method called `TBφ`"),
            ("25GMM,Ground truth,5,W2,1,0.1", "line 2: there is no method called `Ground truth`"),
            ("25GMM,\"TBθ,φ\",5,ELBA,-1,0.1", "line 2: there is no metric called `ELBA`"),
            ("25GMM,\"TBθ,φ\",5,ELBO,soon,", "line 2: there is no figure called `soon`"),
        ] {
            let error = results(&format!("{head}{line}\n")).expect_err(line).to_string();
            assert_eq!(error, message);
        }
    }
}

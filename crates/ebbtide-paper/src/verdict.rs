//! The verdict on a cell: is the published figure reproduced?

use crate::Metric;
use crate::published::{Estimate, Published};

/// How our figure stands beside the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No further from it than two published deviations, or 0.05.
    Reproduced,
    /// Further away, on the good side; or there is one where the paper's training diverged.
    Better,
    /// Further away, on the bad side.
    Worse,
    /// All our trainings diverged.
    Diverged,
    /// Nothing was trained.
    NotRun,
}

/// A figure may be so far away, however small the published deviation.
const LEAST: f64 = 0.05;
/// So many published deviations are no difference.
const DEVIATIONS: f64 = 2.0;
/// Published figures have two decimals: a difference is not told from the tolerance by the error of binary fractions.
const ROUNDING: f64 = 1e-9;

impl Verdict {
    /// All of them, from the best news to none.
    pub const ALL: [Verdict; 5] =
        [Verdict::Reproduced, Verdict::Better, Verdict::Worse, Verdict::Diverged, Verdict::NotRun];

    /// What is to be said of a figure.
    pub(crate) fn on(metric: Metric, ours: f64, published: Published) -> Self {
        let Published::Figure(Estimate { mean, deviation }) = published else { return Verdict::Better };
        let tolerance = (DEVIATIONS * deviation).max(LEAST) + ROUNDING;
        match ours - mean {
            gap if gap.abs() <= tolerance => Verdict::Reproduced,
            gap if (gap > 0.0) == metric.is_better_higher() => Verdict::Better,
            _ => Verdict::Worse,
        }
    }

    /// In a word or two.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Diverged => "diverged",
            Verdict::NotRun => "not run",
        }
    }

    /// In a sign.
    pub(crate) fn mark(self) -> char {
        match self {
            Verdict::Reproduced => '=',
            Verdict::Better => '▲',
            Verdict::Worse => '▼',
            Verdict::Diverged => '×',
            Verdict::NotRun => '·',
        }
    }

    /// What the signs mean.
    pub(crate) fn legend() -> String {
        let entry = |verdict: &Verdict| format!("{} {}", verdict.mark(), verdict.name());
        Verdict::ALL.iter().map(entry).collect::<Vec<_>>().join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_holds_at_its_edges() {
        let published = |mean: f64, deviation: f64| Published::Figure(Estimate { mean, deviation });
        let (narrow, wide) = (published(-0.42, 0.01), published(-2.0, 0.3));
        for (metric, ours, figure, verdict) in [
            (Metric::Elbo, -0.37, narrow, Verdict::Reproduced),
            (Metric::Elbo, -0.47, narrow, Verdict::Reproduced),
            (Metric::Elbo, -0.369, narrow, Verdict::Better),
            (Metric::Elbo, -0.471, narrow, Verdict::Worse),
            (Metric::Eubo, -0.369, narrow, Verdict::Worse),
            (Metric::W2, -0.471, narrow, Verdict::Better),
            (Metric::Elbo, -1.4, wide, Verdict::Reproduced),
            (Metric::Elbo, -2.6, wide, Verdict::Reproduced),
            (Metric::Elbo, -2.61, wide, Verdict::Worse),
            (Metric::Elbo, -1.39, wide, Verdict::Better),
            (Metric::Eubo, -1.39, wide, Verdict::Worse),
            (Metric::Elbo, -9e9, Published::Diverged, Verdict::Better),
        ] {
            assert_eq!(Verdict::on(metric, ours, figure), verdict, "{metric:?} {ours} beside {figure:?}");
        }
    }
}

//! What the paper measures of a sampler.

use ebbtide_run::Outcome;

/// A column of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Lower bound on log Z.
    Elbo,
    /// Upper bound on log Z.
    Eubo,
    /// 2-Wasserstein distance between samples and exact draws.
    W2,
}

impl Metric {
    /// All three, in the order of the paper's tables.
    pub const ALL: [Metric; 3] = [Metric::Elbo, Metric::Eubo, Metric::W2];

    /// The name in data: `elbo`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Metric::Elbo => "elbo",
            Metric::Eubo => "eubo",
            Metric::W2 => "w2",
        }
    }

    /// The name in tables: `ELBO`.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Metric::Elbo => "ELBO",
            Metric::Eubo => "EUBO",
            Metric::W2 => "W2",
        }
    }

    /// Whether more of it is better.
    pub(crate) fn is_better_higher(self) -> bool {
        self == Metric::Elbo
    }

    /// Which way is better, in words.
    pub(crate) fn direction(self) -> &'static str {
        if self.is_better_higher() { "higher is better" } else { "lower is better" }
    }

    /// Its value for a run, if it has one that is finite. Bounds are measured from the true log Z, which is 0 for all but the
    /// wells: the paper's tables of those hold gaps.
    pub(crate) fn of(self, outcome: &Outcome) -> Option<f64> {
        let from = outcome.log_z_true.unwrap_or(0.0);
        let value = match self {
            Metric::Elbo => outcome.figures.map(|figures| figures.elbo - from),
            Metric::Eubo => outcome.figures.and_then(|figures| figures.eubo).map(|eubo| eubo - from),
            Metric::W2 => outcome.w2,
        };
        value.filter(|value| value.is_finite())
    }
}

//! The targets that have names: the paper's nine, and six posteriors.

mod reading;

use std::fmt;

pub use reading::UnknownTarget;

use super::{
    BrownianMotion, EightSchools, Funnel, Gmm40Deviation, LogisticRegression, Manywell, Mixture, Phi4Lattice,
    Reference, Target,
};

/// A target of the paper, or a posterior.
///
/// Names are read forgivingly: case, spaces, punctuation and the order of words do not matter.
///
/// ```
/// use ebbtide::target::{NamedTarget, UnknownTarget};
///
/// assert_eq!("funnel_easy".parse(), Ok(NamedTarget::EasyFunnel));
/// assert_eq!(NamedTarget::EasyFunnel.build().dim(), 10);
/// let UnknownTarget { nearest, .. } = "easy-tunnel".parse::<NamedTarget>().unwrap_err();
/// assert_eq!(nearest, Some(NamedTarget::EasyFunnel));
///
/// let target = NamedTarget::SlightlyDistortedGmm25;
/// assert_eq!((target.name(), target.title()), ("slightly-distorted-25gmm", "Slightly Distorted 25GMM"));
/// assert!(target.summary().ends_with("(d = 0.05)"));
///
/// // log Z is known exactly, or there is an estimate of it.
/// for target in NamedTarget::ALL {
///     assert_eq!(target.build().log_z().is_none(), target.reference().is_some());
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedTarget {
    /// 25 Gaussians on a square grid.
    Gmm25,
    /// 25GMM with covariances distorted by d = 0.05.
    SlightlyDistortedGmm25,
    /// 25GMM with covariances distorted by d = 0.1.
    DistortedGmm25,
    /// 125 Gaussians on a cubic grid.
    Gmm125,
    /// 40 Gaussians scattered over a wide square.
    Gmm40,
    /// The funnel whose first coordinate has variance 1.
    EasyFunnel,
    /// The funnel whose first coordinate has variance 9.
    HardFunnel,
    /// The product of 16 double wells.
    Manywell,
    /// The product of 16 different double wells.
    DistortedManywell,
    /// The weights of a logistic regression on 30 measures of tumours.
    BreastCancer,
    /// The weights of a logistic regression on 60 strengths of echoes.
    Sonar,
    /// The weights of a logistic regression on 34 measures of radar returns.
    Ionosphere,
    /// A random walk of 30 steps and its two scales, the middle unseen.
    Brownian,
    /// A φ⁴ field on an 8 × 8 lattice that prefers a sign.
    Phi4Lattice,
    /// The effects of eight experiments, their mean and their spread.
    EightSchools,
}

impl NamedTarget {
    /// All fifteen: [`PAPER`](Self::PAPER), then [`POSTERIORS`](Self::POSTERIORS).
    pub const ALL: [Self; 15] = {
        let mut all = [Self::Gmm25; 15];
        let (paper, posteriors) = all.split_at_mut(Self::PAPER.len());
        paper.copy_from_slice(&Self::PAPER);
        posteriors.copy_from_slice(&Self::POSTERIORS);
        all
    };

    /// The paper's nine, in the order of its appendix.
    pub const PAPER: [Self; 9] = [
        Self::Gmm25,
        Self::SlightlyDistortedGmm25,
        Self::DistortedGmm25,
        Self::Gmm125,
        Self::Gmm40,
        Self::EasyFunnel,
        Self::HardFunnel,
        Self::Manywell,
        Self::DistortedManywell,
    ];

    /// The six that the paper does not have.
    pub const POSTERIORS: [Self; 6] = [
        Self::BreastCancer,
        Self::Sonar,
        Self::Ionosphere,
        Self::Brownian,
        Self::Phi4Lattice,
        Self::EightSchools,
    ];

    /// The name to write in a configuration or on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gmm25 => "25gmm",
            Self::SlightlyDistortedGmm25 => "slightly-distorted-25gmm",
            Self::DistortedGmm25 => "distorted-25gmm",
            Self::Gmm125 => "125gmm",
            Self::Gmm40 => "40gmm",
            Self::EasyFunnel => "easy-funnel",
            Self::HardFunnel => "hard-funnel",
            Self::Manywell => "manywell",
            Self::DistortedManywell => "distorted-manywell",
            Self::BreastCancer => "breast-cancer",
            Self::Sonar => "sonar",
            Self::Ionosphere => "ionosphere",
            Self::Brownian => "brownian",
            Self::Phi4Lattice => "phi4-lattice",
            Self::EightSchools => "eight-schools",
        }
    }

    /// The name that tables print, as the paper's do.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gmm25 => "25GMM",
            Self::SlightlyDistortedGmm25 => "Slightly Distorted 25GMM",
            Self::DistortedGmm25 => "Distorted 25GMM",
            Self::Gmm125 => "125GMM",
            Self::Gmm40 => "40GMM",
            Self::EasyFunnel => "Easy Funnel",
            Self::HardFunnel => "Hard Funnel",
            Self::Manywell => "Manywell",
            Self::DistortedManywell => "Distorted Manywell",
            Self::BreastCancer => "Breast Cancer",
            Self::Sonar => "Sonar",
            Self::Ionosphere => "Ionosphere",
            Self::Brownian => "Brownian",
            Self::Phi4Lattice => "Phi4 Lattice",
            Self::EightSchools => "Eight Schools",
        }
    }

    /// One line for a listing.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Gmm25 => "25 equal Gaussians of variance 0.3 on a 5 × 5 grid, 5 apart",
            Self::SlightlyDistortedGmm25 => "25GMM, each covariance bent a little (d = 0.05)",
            Self::DistortedGmm25 => "25GMM, each covariance bent more (d = 0.1)",
            Self::Gmm125 => "125 equal Gaussians of variance 0.3 on a 5 × 5 × 5 grid, 5 apart",
            Self::Gmm40 => "40 equal Gaussians of variance 1 scattered over [−40, 40]²",
            Self::EasyFunnel => "nine Gaussians whose log variance is the first coordinate, of variance 1",
            Self::HardFunnel => "nine Gaussians whose log variance is the first coordinate, of variance 9",
            Self::Manywell => "16 equal double wells, 2¹⁶ modes; log Z = 164.695675",
            Self::DistortedManywell => "16 double wells, each of its own shape, 2¹⁶ modes",
            Self::BreastCancer => "logistic regression: benign tumours by 30 measures of their cells",
            Self::Sonar => "logistic regression: mines by their echoes at 60 frequencies",
            Self::Ionosphere => "logistic regression: good radar returns by 34 measures",
            Self::Brownian => "a random walk with unknown scales, its middle unseen",
            Self::Phi4Lattice => "a φ⁴ field on 8 × 8 sites, of either sign (m² = −4, λ = 4.25)",
            Self::EightSchools => "eight experiments with a common mean and spread, centred",
        }
    }

    /// The target itself.
    pub fn build(self) -> Box<dyn Target> {
        match self {
            Self::Gmm25 => Box::new(Mixture::gmm25()),
            Self::SlightlyDistortedGmm25 => Box::new(distorted_gmm25(0.05)),
            Self::DistortedGmm25 => Box::new(distorted_gmm25(0.1)),
            Self::Gmm125 => Box::new(Mixture::gmm125()),
            Self::Gmm40 => Box::new(Mixture::gmm40(Gmm40Deviation::Unit)),
            Self::EasyFunnel => Box::new(Funnel::easy()),
            Self::HardFunnel => Box::new(Funnel::hard()),
            Self::Manywell => Box::new(Manywell::default()),
            Self::DistortedManywell => Box::new(Manywell::distorted(32).expect("there are 16 wells")),
            Self::BreastCancer => Box::new(LogisticRegression::breast_cancer()),
            Self::Sonar => Box::new(LogisticRegression::sonar()),
            Self::Ionosphere => Box::new(LogisticRegression::ionosphere()),
            Self::Brownian => Box::new(BrownianMotion::new()),
            Self::Phi4Lattice => Box::new(Phi4Lattice::broken()),
            Self::EightSchools => Box::new(EightSchools::new()),
        }
    }

    /// An estimate of log Z, for those targets whose log Z is not known exactly. How each was found is
    /// in `data/posterior/README.md`.
    pub fn reference(self) -> Option<Reference> {
        let (log_z, error, source) = match self {
            Self::BreastCancer => (-55.22, 0.01, IMPORTANCE),
            Self::Sonar => (-108.38, 0.01, IMPORTANCE),
            Self::Ionosphere => (-111.61, 0.01, IMPORTANCE),
            Self::Phi4Lattice => (27.26, 0.04, "sequential Monte Carlo, ten runs"),
            _ => return None,
        };
        Some(Reference { log_z, error, source })
    }
}

const IMPORTANCE: &str = "importance sampling; sequential Monte Carlo is within 0.03 of it";

fn distorted_gmm25(d: f64) -> Mixture {
    Mixture::distorted_gmm25(d).expect("the paper's distortions leave every covariance positive definite")
}

impl fmt::Display for NamedTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

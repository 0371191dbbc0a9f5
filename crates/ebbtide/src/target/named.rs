//! The paper's nine targets, by name.

use std::fmt;
use std::str::FromStr;

use super::{Funnel, Gmm40Deviation, Manywell, Mixture, Target};

/// A target of the paper.
///
/// Names are read forgivingly: case, spaces, punctuation and the order of words do not matter.
///
/// ```
/// use ebbtide::target::NamedTarget;
///
/// assert_eq!("funnel_easy".parse(), Ok(NamedTarget::EasyFunnel));
/// assert_eq!(NamedTarget::EasyFunnel.build().dim(), 10);
/// let error = "easy-tunnel".parse::<NamedTarget>().unwrap_err();
/// assert_eq!(error.nearest, Some(NamedTarget::EasyFunnel));
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
}

impl NamedTarget {
    /// All nine, in the order of the paper's appendix.
    pub const ALL: [Self; 9] = [
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
        }
    }

    /// The name the paper's tables print.
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
            Self::EasyFunnel => "nine Gaussians whose log variance is the tenth coordinate, of variance 1",
            Self::HardFunnel => "nine Gaussians whose log variance is the tenth coordinate, of variance 9",
            Self::Manywell => "16 equal double wells, 2¹⁶ modes; log Z = 164.695675",
            Self::DistortedManywell => "16 double wells, each of its own shape, 2¹⁶ modes",
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
        }
    }

    /// The words of the name: each may be written anywhere in it.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Gmm25 => &["25", "gmm"],
            Self::SlightlyDistortedGmm25 => &["slightly", "distorted", "25", "gmm"],
            Self::DistortedGmm25 => &["distorted", "25", "gmm"],
            Self::Gmm125 => &["125", "gmm"],
            Self::Gmm40 => &["40", "gmm"],
            Self::EasyFunnel => &["easy", "funnel"],
            Self::HardFunnel => &["hard", "funnel"],
            Self::Manywell => &["manywell"],
            Self::DistortedManywell => &["distorted", "manywell"],
        }
    }
}

fn distorted_gmm25(d: f64) -> Mixture {
    Mixture::distorted_gmm25(d).expect("the paper's distortions leave every covariance positive definite")
}

impl fmt::Display for NamedTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for NamedTarget {
    type Err = UnknownTarget;

    fn from_str(given: &str) -> Result<Self, UnknownTarget> {
        let squeezed: String =
            given.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        (Self::ALL.into_iter().find(|target| is_arrangement(&squeezed, target.words())))
            .ok_or_else(|| UnknownTarget { given: given.to_owned(), nearest: nearest(&squeezed) })
    }
}

/// Whether `text` is all of `words`, once each, in any order.
fn is_arrangement(text: &str, words: &[&str]) -> bool {
    if words.is_empty() {
        return text.is_empty();
    }
    (0..words.len()).any(|first| {
        let others = [&words[..first], &words[first + 1..]].concat();
        text.strip_prefix(words[first]).is_some_and(|rest| is_arrangement(rest, &others))
    })
}

/// The target most like `squeezed`, if any is at all like it: by shared pairs of letters, which forgives
/// the order of words, or by the number of slips, which is fairer to short names.
fn nearest(squeezed: &str) -> Option<NamedTarget> {
    let likeness = |target: &NamedTarget| {
        let name = target.words().concat();
        let by_pairs = strsim::sorensen_dice(squeezed, &name);
        by_pairs.max(strsim::normalized_damerau_levenshtein(squeezed, &name))
    };
    let best = NamedTarget::ALL.into_iter().rev().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    best.filter(|target| likeness(target) >= 0.3)
}

/// A name that none of the nine targets has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTarget {
    /// What was written.
    pub given: String,
    /// What may have been meant.
    pub nearest: Option<NamedTarget>,
}

impl fmt::Display for UnknownTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no target named {:?}", self.given)?;
        if let Some(nearest) = self.nearest {
            write!(formatter, "; did you mean {nearest}?")?;
        } else {
            formatter.write_str(".")?;
        }
        write!(formatter, " The targets are {}", NamedTarget::ALL.map(NamedTarget::name).join(", "))
    }
}

impl std::error::Error for UnknownTarget {}

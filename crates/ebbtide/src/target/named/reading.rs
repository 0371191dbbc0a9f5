//! Names of targets as people write them.

use std::fmt;
use std::str::FromStr;

use super::NamedTarget;

impl NamedTarget {
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
            Self::BreastCancer => &["breast", "cancer"],
            Self::Sonar => &["sonar"],
            Self::Ionosphere => &["ionosphere"],
            Self::Brownian => &["brownian"],
            Self::Phi4Lattice => &["phi4", "lattice"],
            Self::EightSchools => &["eight", "schools"],
        }
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
    best.filter(|target| likeness(target) >= 0.4)
}

/// A name that no target has.
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

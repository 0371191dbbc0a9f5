//! What is wrong with a formula, and where.

use std::fmt;
use std::ops::Range;

/// Why a formula is none. Printed, it shows the place in the formula.
///
/// ```
/// use ebbtide::target::{Formula, FormulaError, FormulaProblem};
///
/// let error: FormulaError = Formula::new("-x0^2 - sine(x1)", 2, &[]).unwrap_err();
/// assert_eq!(error.place, 8..12);
/// assert!(matches!(&error.problem, FormulaProblem::Function { name, nearest: Some("sin") } if name == "sine"));
/// assert_eq!(
///     error.to_string(),
///     "there is no function `sine`; did you mean `sin`?\n  \
///      -x0^2 - sine(x1)\n          ^^^^"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    /// What is wrong.
    pub problem: FormulaProblem,
    /// Where, in bytes of the formula.
    pub place: Range<usize>,
    text: String,
}

/// What is wrong with a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaProblem {
    /// Nothing there, or only blanks.
    #[error("the formula is empty; it gives the log density, as in `-0.5*(x0^2 + x1^2)`")]
    Empty,
    /// Points without coordinates.
    #[error("points need at least one coordinate")]
    NoCoordinates,
    /// No part of any formula.
    #[error("`{0}` is no part of a formula")]
    Character(char),
    /// Digits that are no number.
    #[error("`{0}` is no number")]
    Number(String),
    /// Something stands where something else is needed.
    #[error("here {wanted} is missing")]
    Missing {
        /// What is needed.
        wanted: &'static str,
    },
    /// A bracket without its partner.
    #[error("this `{0}` is not closed")]
    Unclosed(char),
    /// Two values beside each other.
    #[error("an operator is missing before this; products are written `a*b`")]
    Operator,
    /// Nobody knows the name.
    #[error("there is no `{name}`{}", suggestion(.nearest, .dim))]
    Name {
        /// As it stands there.
        name: String,
        /// A name that is known and looks like it.
        nearest: Option<String>,
        /// How many coordinates there are.
        dim: usize,
    },
    /// Nobody knows the function.
    #[error("there is no function `{name}`{}", functions(.nearest))]
    Function {
        /// As it stands there.
        name: String,
        /// A function that looks like it.
        nearest: Option<&'static str>,
    },
    /// A function that is used like a number.
    #[error("`{0}` is a function: it needs parentheses, as in `{0}(x0)`")]
    Bare(&'static str),
    /// Too few or too many arguments.
    #[error("`{function}` takes {wanted}, not {given}")]
    Arguments {
        /// Whose.
        function: &'static str,
        /// What it takes, in words.
        wanted: &'static str,
        /// How many there are.
        given: usize,
    },
    /// A coordinate that there is not.
    #[error("there is no coordinate x{index}; {}", coordinates(*dim))]
    Coordinate {
        /// Its number.
        index: f64,
        /// How many there are.
        dim: usize,
    },
    /// An index or bound that is not the same for all points.
    #[error("this must be a whole number that does not depend on x")]
    Whole,
    /// The first argument of a sum with bounds is not a name.
    #[error("this must be a name for the index, as in `sum(i, 0, 3, x[i]^2)`")]
    Index,
    /// Brackets within brackets without end.
    #[error("this is nested more than {0} deep")]
    Depth(usize),
    /// Sums of sums of sums.
    #[error("written out, the formula has more than {0} operations")]
    Size(usize),
    /// The density does not fall off along a coordinate.
    #[error("x{0} does not occur in it, so that the density would not have a finite integral")]
    Unused(usize),
    /// A parameter that was given for nothing.
    #[error("the parameter `{0}` does not occur in it")]
    Idle(String),
    /// A parameter whose name means something else already.
    #[error("a parameter cannot be called `{0}`")]
    Reserved(String),
}

fn suggestion(nearest: &Option<String>, dim: &usize) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; {}, and parameters need a value", coordinates(*dim)),
    }
}

fn functions(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; there are {}", super::function::names().collect::<Vec<_>>().join(", ")),
    }
}

fn coordinates(dim: usize) -> String {
    match dim {
        1 => "the only coordinate is x0".to_owned(),
        2 => "coordinates are x0 and x1".to_owned(),
        _ => format!("coordinates are x0 to x{}", dim - 1),
    }
}

impl FormulaError {
    pub(super) fn new(problem: FormulaProblem, place: Range<usize>, text: &str) -> Self {
        Self { problem, place, text: text.to_owned() }
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.problem)?;
        let start = self.text[..self.place.start].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        if line.trim().is_empty() {
            return Ok(());
        }
        let before = self.text[start..self.place.start].chars().count();
        let end = self.place.end.min(start + line.len()).max(self.place.start);
        let length = self.text[self.place.start..end].chars().count().max(1);
        write!(f, "\n  {line}\n  {}{}", " ".repeat(before), "^".repeat(length))
    }
}

impl std::error::Error for FormulaError {}

//! The value of a setting, and what it may be read as.

use std::fmt;
use std::ops::Range;

use toml::de::DeValue;

/// A value as it was written, free of the text it came from.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `"harmonic"`
    Text(String),
    /// `512`
    Whole(i128),
    /// `0.9999`
    Number(f64),
    /// `[0.0, 0.5, 1.0]`, each with its place in the text.
    List(Vec<(Value, Range<usize>)>),
    /// What no setting can be; the word says what it is.
    Other(&'static str),
}

/// A value that is not of the kind wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// What is wanted: "a whole number, 0 or above".
    pub wanted: String,
    /// What may have been meant.
    pub nearest: Option<&'static str>,
}

impl Mismatch {
    fn wanted(what: impl Into<String>) -> Self {
        Self { wanted: what.into(), nearest: None }
    }
}

impl From<&DeValue<'_>> for Value {
    fn from(value: &DeValue) -> Self {
        match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map_or(Value::Other("a whole number beyond all bounds"), Value::Whole),
            DeValue::Float(number) => {
                number.as_str().parse().map_or(Value::Other("a number beyond all bounds"), Value::Number)
            }
            DeValue::Boolean(_) => Value::Other("true or false"),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Array(values) => {
                Value::List(values.iter().map(|value| (Value::from(value.get_ref()), value.span())).collect())
            }
            DeValue::Table(_) => Value::Other("a table"),
        }
    }
}

impl Value {
    /// A whole number that the type can hold.
    pub(crate) fn whole<T: TryFrom<i128>>(&self) -> Result<T, Mismatch> {
        let wanted = || Mismatch::wanted("a whole number, 0 or above");
        match *self {
            Value::Whole(number) => T::try_from(number).map_err(|_| match number {
                1.. => Mismatch::wanted("a whole number that a computer counts to"),
                _ => wanted(),
            }),
            // 25e3 is a whole number to anyone but a TOML parser.
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                T::try_from(number as i128).map_err(|_| wanted())
            }
            _ => Err(wanted()),
        }
    }

    /// Any number.
    pub(crate) fn number(&self) -> Result<f64, Mismatch> {
        match *self {
            Value::Whole(number) => Ok(number as f64),
            Value::Number(number) => Ok(number),
            _ => Err(Mismatch::wanted("a number")),
        }
    }

    /// Numbers in a list.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        match self {
            Value::List(values) => values.iter().map(|(value, _)| value.number().ok()).collect(),
            _ => None,
        }
    }

    /// Text.
    pub(crate) fn text(&self) -> Result<&str, Mismatch> {
        match self {
            Value::Text(text) => Ok(text),
            _ => Err(Mismatch::wanted("a text in quotes")),
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Result<T, Mismatch> {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let wanted = match names.as_slice() {
            [only] => only.clone(),
            [all @ .., last] => format!("{} or {last}", all.join(", ")),
            [] => String::new(),
        };
        let Value::Text(text) = self else { return Err(Mismatch::wanted(wanted)) };
        match choices.iter().find(|(name, _)| name == text) {
            Some((_, choice)) => Ok(*choice),
            None => Err(Mismatch { wanted, nearest: nearest(text, choices.iter().map(|(name, _)| *name)) }),
        }
    }
}

/// Longer texts are cut short in messages.
const LONGEST: usize = 60;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Text(text) if text.chars().count() > LONGEST => {
                write!(f, "\"{}…\"", text.chars().take(LONGEST).collect::<String>())
            }
            Value::Text(text) => write!(f, "\"{text}\""),
            Value::Whole(number) => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::List(_) => f.write_str("a list"),
            Value::Other(what) => f.write_str(what),
        }
    }
}

/// The candidate most like `text`, if any is at all like it.
///
/// ```
/// use ebbtide_run::settings::nearest;
///
/// assert_eq!(nearest("unifrom", ["harmonic", "uniform"]), Some("uniform"));
/// assert_eq!(nearest("banana", ["harmonic", "uniform"]), None);
/// ```
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |candidate: &str| strsim::normalized_damerau_levenshtein(text, candidate);
    let scored = candidates.into_iter().map(|candidate| (likeness(candidate), candidate));
    scored
        .filter(|(score, _)| *score >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

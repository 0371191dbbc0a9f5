//! A text in TOML, taken apart into settings with their places.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Place, Problem};
use super::value::{Mismatch, Value};

/// `path = value`, with where both were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Keys from the outermost table inwards, joined by dots.
    pub path: String,
    /// Where the last key stands.
    pub key: Place,
    /// Where the outermost key stands: the name of the table, if there is one.
    pub table: Place,
    /// Where the value stands.
    pub place: Place,
    /// The value.
    pub value: Value,
}

impl Entry {
    /// That the value is not of the kind wanted.
    pub(crate) fn mismatched(&self, mismatch: &Mismatch) -> Problem {
        let message = format!("{} is {}, but must be {}", self.path, self.value, mismatch.wanted);
        let problem = Problem::new(message).at(self.place.clone(), format!("not {}", mismatch.wanted));
        match mismatch.nearest {
            Some(nearest) => problem.help(format!("did you mean \"{nearest}\"?")),
            None => problem,
        }
    }
}

/// All entries of a document, tables taken apart.
///
/// ```
/// use ebbtide_run::settings::{Entry, Value, entries};
///
/// let text = "batch = 64\n[replay]\nreference = \"batch\"";
/// let found: Vec<Entry> = entries(0, text).expect("this is TOML");
/// let [batch, reference] = &found[..] else { panic!("there are two") };
/// assert_eq!((&batch.path[..], &batch.value), ("batch", &Value::Whole(64)));
/// assert_eq!((&reference.path[..], &reference.value), ("replay.reference", &Value::Text("batch".to_owned())));
/// assert_eq!((&text[reference.table.span.clone()], &text[reference.key.span.clone()]), ("replay", "reference"));
/// assert!(entries(0, "batch = ").is_err());
/// ```
pub fn entries(source: usize, text: &str) -> Result<Vec<Entry>, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let mut entries = Vec::new();
        flatten(source, None, table.get_ref(), &mut entries);
        return Ok(entries);
    }
    let problem = |error: &toml::de::Error| {
        let span = error.span().unwrap_or(text.len()..text.len());
        Problem::new("this is not TOML").at(Place { source, span }, error.message())
    };
    Err(errors.iter().map(problem).collect())
}

/// The entry of an argument `path=value`. A value that is no TOML is taken as text, so that words need no quotes.
pub fn argument(source: usize, text: &str) -> Result<Entry, Problem> {
    let place = |span: Range<usize>| Place { source, span };
    let Some((path, value)) = text.split_once('=') else {
        return Err(
            Problem::new("this is not of the form key=value").at(place(0..text.len()), "no `=` in here")
        );
    };
    let key = trimmed(text, 0..path.len());
    let value_span = trimmed(text, path.len() + 1..text.len());
    Ok(Entry {
        path: path.trim().to_owned(),
        key: place(key.clone()),
        table: place(key),
        place: place(value_span),
        value: value_of(value.trim()),
    })
}

/// A value on its own, as it stands in an argument.
pub fn value_of(text: &str) -> Value {
    match DeValue::parse(text) {
        Ok(value) if !text.is_empty() => Value::from(value.get_ref()),
        _ => Value::Text(text.to_owned()),
    }
}

fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

/// Adds the entries of a table; `outer` is its path and where its outermost key stands.
fn flatten(source: usize, outer: Option<(&str, &Place)>, table: &DeTable, entries: &mut Vec<Entry>) {
    for (key, value) in table {
        let place = Place { source, span: key.span() };
        let (path, table) = match outer {
            None => (key.get_ref().to_string(), &place),
            Some((path, table)) => (format!("{path}.{}", key.get_ref()), table),
        };
        match value.get_ref() {
            DeValue::Table(inner) => flatten(source, Some((&path, table)), inner, entries),
            inner => entries.push(Entry {
                path,
                table: table.clone(),
                key: place,
                place: Place { source, span: Spanned::span(value) },
                value: Value::from(inner),
            }),
        }
    }
}

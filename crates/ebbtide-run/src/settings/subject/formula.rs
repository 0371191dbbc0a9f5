//! A formula in settings.

use std::collections::BTreeMap;

use ebbtide::target::{Formula, FormulaError, Target};

use super::{Entry, Place, Problem, Source, quoted};

/// The settings that are a formula, but for its parameters' values.
pub const TEXT: &str = "formula.log-density";
pub const DIM: &str = "formula.dim";
pub const PARAMETERS: &str = "formula.parameters";

/// The setting that gives a parameter its value.
pub fn parameter(name: &str) -> String {
    format!("{PARAMETERS}.{name}")
}

/// Whether a setting belongs to a formula.
pub fn is_part(path: &str) -> bool {
    path == TEXT || path == DIM || path.starts_with("formula.parameters.")
}

/// The settings that are this formula, with their values in TOML.
pub fn entries(formula: &Formula) -> Vec<(&'static str, String)> {
    let pair = |(name, value): &(String, f64)| format!("{} = {value:?}", quoted(name));
    let pairs: Vec<String> = formula.parameters().iter().map(pair).collect();
    let mut entries = vec![(TEXT, quoted(formula.text())), (DIM, Target::dim(formula).to_string())];
    if !pairs.is_empty() {
        entries.push((PARAMETERS, format!("{{ {} }}", pairs.join(", "))));
    }
    entries
}

/// 24 bits that stay the same on all machines (FNV-1a, folded).
pub fn digest(formula: &Formula) -> u64 {
    let mut text = format!("{}\0{}", Target::dim(formula), formula.text());
    for (name, value) in formula.parameters() {
        text += &format!("\0{name}={value:?}");
    }
    let hash = crate::digest::digest(text.as_bytes()).0;
    (hash ^ (hash >> 24) ^ (hash >> 48)) & 0xff_ffff
}

/// The formula that is asked for, or all that is wrong with it.
pub fn read(given: &BTreeMap<String, Entry>, sources: &[Source]) -> Result<Formula, Vec<Problem>> {
    let mut problems = Vec::new();
    let text = given.get(TEXT);
    if text.is_none() {
        let help = "`--formula \"-x0^2/2\"`, or `formula.log-density = \"-x0^2/2\"`";
        problems.push(Problem::new("the formula itself is missing").help(help));
    }
    let mut mismatched = |entry: &Entry, mismatch| problems.push(entry.mismatched(&mismatch));
    let words = text.and_then(|entry| {
        entry.value.text().map_err(|mismatch| mismatched(entry, mismatch)).ok().map(|text| (entry, text))
    });
    let dim = given.get(DIM).map(|entry| entry.value.whole::<usize>().map_err(|m| mismatched(entry, m)).ok());
    let mut parameters = Vec::new();
    for (path, entry) in given.range(format!("{PARAMETERS}.")..) {
        let Some(name) = path.strip_prefix(PARAMETERS).and_then(|rest| rest.strip_prefix('.')) else { break };
        match entry.value.number() {
            Ok(value) => parameters.push((name, value)),
            Err(mismatch) => mismatched(entry, mismatch),
        }
    }
    if dim.is_none() {
        let help = "`--dim 2`, or `formula.dim = 2`";
        problems.push(Problem::new("nothing says how many coordinates the formula has").help(help));
    }
    let (Some((entry, words)), Some(Some(dim)), true) = (words, dim, problems.is_empty()) else {
        return Err(problems);
    };
    Formula::new(words, dim, &parameters).map_err(|error| vec![misread(&error, entry, words, sources)])
}

/// What is wrong with a formula, where it was written.
fn misread(error: &FormulaError, entry: &Entry, words: &str, sources: &[Source]) -> Problem {
    let Place { source, span } = entry.place.clone();
    let written = sources.get(source).and_then(|source| source.text.get(span.clone()));
    // A text with escapes is not what stands in the file.
    let span = match written.and_then(|written| written.find(words)) {
        Some(start) => {
            // What is missing at the end is shown at the last letter: there is nothing after it to point at.
            let last = words.get(..error.place.start).and_then(|before| before.char_indices().last());
            let begin = last.filter(|_| error.place.is_empty()).map_or(error.place.start, |(at, _)| at);
            span.start + start + begin..span.start + start + error.place.end
        }
        None => span,
    };
    Problem::new(error.problem.to_string()).at(Place { source, span }, "here")
}

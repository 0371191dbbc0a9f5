//! What a run samples: a target with a name, or a formula.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ebbtide::pilot::{self, Pilot, PilotError, PilotOptions};
use ebbtide::target::{Formula, FormulaError, NamedTarget, Placeable, Placement, Target};

use super::document::Entry;
use super::setting::quoted;
use super::value::Value;
use super::{Place, Problem, Source};

/// What a run samples.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A target that comes with the library.
    Named(NamedTarget),
    /// A log density in words.
    Formula(Formula),
}

/// What a target is called whose density is a formula.
pub const FORMULA: &str = "formula";

const TEXT: &str = "formula.log-density";
const DIM: &str = "formula.dim";
const PARAMETERS: &str = "formula.parameters";

/// All settings that say what is sampled.
pub const KEYS: [&str; 4] = ["target", TEXT, DIM, PARAMETERS];

impl Subject {
    /// The target itself.
    pub fn build(&self) -> Arc<dyn Target> {
        match self {
            Self::Named(target) => target.build().into(),
            Self::Formula(formula) => Arc::new(formula.clone()),
        }
    }

    /// The target in other coordinates. They must have its dimension, as those of valid settings do.
    pub(crate) fn placed(&self, placement: &Placement) -> Arc<dyn Target> {
        let placed = match self {
            Self::Named(_) => self.build().placed(placement),
            Self::Formula(formula) => formula.placed(placement),
        };
        placed.expect("settings are read with the target's dimension")
    }

    /// Where it is and how wide, from evaluations alone.
    pub(crate) fn find(&self, seed: u64) -> Result<Pilot, PilotError> {
        let options = PilotOptions { seed, ..PilotOptions::new(self.dim()) };
        match self {
            Self::Named(_) => pilot::find(&self.build(), &options),
            Self::Formula(formula) => pilot::find(formula, &options),
        }
    }

    /// How many coordinates it has.
    pub fn dim(&self) -> usize {
        match self {
            Self::Named(target) => target.build().dim(),
            Self::Formula(formula) => Target::dim(formula),
        }
    }

    /// The target's name, if it came with the library.
    pub fn named(&self) -> Option<NamedTarget> {
        match self {
            Self::Named(target) => Some(*target),
            Self::Formula(_) => None,
        }
    }

    /// The formula, if it is one.
    pub fn formula(&self) -> Option<&Formula> {
        match self {
            Self::Named(_) => None,
            Self::Formula(formula) => Some(formula),
        }
    }

    /// Where it stands among others: targets of the library in their order, formulas after them by name.
    pub fn rank(&self) -> (usize, String) {
        let place = NamedTarget::ALL.iter().position(|target| Some(*target) == self.named());
        (place.unwrap_or(NamedTarget::ALL.len()), self.to_string())
    }

    /// One of the settings that say what it is; nothing if it does without.
    pub(super) fn entry(&self, key: &str) -> String {
        let mut entries = self.entries().into_iter();
        entries.find(|(own, _)| *own == key).map_or_else(String::new, |(_, value)| value)
    }

    /// The settings that say what it is, with their values in TOML.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Named(target) => vec![("target", quoted(target.name()))],
            Self::Formula(formula) => {
                let pair = |(name, value): &(String, f64)| format!("{} = {value:?}", quoted(name));
                let pairs: Vec<String> = formula.parameters().iter().map(pair).collect();
                let parameters = (PARAMETERS, format!("{{ {} }}", pairs.join(", ")));
                let text = quoted(formula.text());
                let mut entries =
                    vec![("target", quoted(FORMULA)), (TEXT, text), (DIM, self.dim().to_string())];
                entries.extend((!pairs.is_empty()).then_some(parameters));
                entries
            }
        }
    }
}

/// `25gmm`, or `formula-1c3a5e`: other formulas have other digits.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(target) => f.pad(target.name()),
            Self::Formula(formula) => f.pad(&format!("{FORMULA}-{:06x}", digest(formula))),
        }
    }
}

impl From<NamedTarget> for Subject {
    fn from(target: NamedTarget) -> Self {
        Self::Named(target)
    }
}

impl PartialEq<NamedTarget> for Subject {
    fn eq(&self, other: &NamedTarget) -> bool {
        self.named() == Some(*other)
    }
}

/// 24 bits that stay the same on all machines (FNV-1a, folded).
fn digest(formula: &Formula) -> u64 {
    let mut text = format!("{}\0{}", Target::dim(formula), formula.text());
    for (name, value) in formula.parameters() {
        text += &format!("\0{name}={value:?}");
    }
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ (hash >> 24) ^ (hash >> 48)) & 0xff_ffff
}

/// Whether the value of a setting is text, whatever it looks like.
pub fn is_words(path: &str) -> bool {
    path == "target" || path == TEXT
}

/// The setting that gives a parameter its value.
pub fn parameter(name: &str) -> String {
    format!("{PARAMETERS}.{name}")
}

/// Whether a setting belongs to a formula.
pub fn is_of_formula(path: &str) -> bool {
    path == TEXT || path == DIM || path.starts_with("formula.parameters.")
}

/// The subject that is asked for, or all that is wrong with it.
pub fn read(given: &BTreeMap<String, Entry>, sources: &[Source]) -> Result<Subject, Vec<Problem>> {
    let of_formula = || given.values().filter(|entry| is_of_formula(&entry.path));
    let Some(entry) = given.get("target") else {
        return match of_formula().next() {
            Some(_) => formula(given, sources),
            None => {
                let help = "name one, as in `ebbtide train 25gmm` (`ebbtide targets` lists them), or give a log density, as in `ebbtide train --formula \"-x0^2/2\" --dim 1`";
                Err(vec![Problem::new("nothing says what to sample").help(help)])
            }
        };
    };
    let name = match &entry.value {
        Value::Text(name) => name.clone(),
        other => other.to_string(),
    };
    if name == FORMULA {
        return formula(given, sources);
    }
    let target = named(entry, &name)?;
    match of_formula().next() {
        None => Ok(Subject::Named(target)),
        Some(other) => {
            let problem = Problem::new(format!("the target is {target}, and there is a formula as well"));
            let problem = problem.at(entry.place.clone(), "the target");
            let help = "leave one of them out";
            Err(vec![problem.at(other.place.clone(), "part of a formula").help(help)])
        }
    }
}

fn named(entry: &Entry, name: &str) -> Result<NamedTarget, Vec<Problem>> {
    name.parse::<NamedTarget>().map_err(|unknown| {
        let problem = Problem::new(format!("there is no target named {}", Value::Text(unknown.given)));
        let all = NamedTarget::ALL.map(NamedTarget::name).join(", ");
        let all = format!("{all}, and {FORMULA} for a log density of your own");
        let help = match unknown.nearest {
            Some(nearest) => format!("did you mean `{nearest}`? The targets are {all}"),
            None => format!("the targets are {all}"),
        };
        vec![problem.at(entry.place.clone(), "unknown target").help(help)]
    })
}

fn formula(given: &BTreeMap<String, Entry>, sources: &[Source]) -> Result<Subject, Vec<Problem>> {
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
    Formula::new(words, dim, &parameters)
        .map(Subject::Formula)
        .map_err(|error| vec![misread(&error, entry, words, sources)])
}

/// What is wrong with a formula, where it was written.
fn misread(error: &FormulaError, entry: &Entry, words: &str, sources: &[Source]) -> Problem {
    let Place { source, span } = entry.place.clone();
    let written = sources.get(source).and_then(|source| source.text.get(span.clone()));
    // A text with escapes is not what stands in the file.
    let span = match written.and_then(|written| written.find(words)) {
        Some(start) => span.start + start + error.place.start..span.start + start + error.place.end,
        None => span,
    };
    Problem::new(error.problem.to_string()).at(Place { source, span }, "here")
}

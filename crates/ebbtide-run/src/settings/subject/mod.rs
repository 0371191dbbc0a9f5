//! What a run samples: a target with a name, a formula, a function in a Python file, networks in ONNX files, or a density that a program brings.

mod formula;
mod given;
mod latent;
mod onnx;
mod part;
mod python;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ebbtide::pilot::{self, Pilot, PilotError, PilotOptions};
use ebbtide::target::{Formula, NamedTarget, Oracle, Placeable, Placement, Target, TargetError};

use super::document::Entry;
use super::setting::quoted;
use super::value::Value;
use super::{Place, Problem, Source};

pub use formula::parameter;
pub use given::{BringError, Given};
pub use latent::LatentTarget;
pub use onnx::OnnxFile;
pub use python::PythonFile;

/// What a run samples.
///
/// ```
/// use ebbtide::target::{Formula, NamedTarget};
/// use ebbtide_run::settings::Subject;
///
/// let named = Subject::from(NamedTarget::Gmm25);
/// let formula = Subject::Formula(Formula::new("-x0^2/2", 1, &[])?);
/// assert_eq!((named.to_string(), named.dim(), named.has_gradient()), ("25gmm".to_owned(), 2, true));
/// assert_eq!(formula.formula().map(Formula::text), Some("-x0^2/2"));
/// assert!(named.formula().is_none() && formula.python().is_none());
/// // Targets of the library come before others.
/// assert!(named.rank() < formula.rank());
/// let mut value = [0.0];
/// formula.build().log_density(&[2.0], &mut value)?;
/// assert_eq!(value, [-2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A target that comes with the library.
    Named(NamedTarget),
    /// A log density in words.
    Formula(Formula),
    /// A function in a Python file.
    Python(PythonFile),
    /// A network that computes a log density.
    Onnx(OnnxFile),
    /// The latent space of a generator under a reward.
    Latent(LatentTarget),
    /// A density that the calling program brings.
    Given(Given),
}

/// What a target is called whose density is a formula, a function in Python, made of networks, and one that a program brings. So are the tables of
/// their settings.
const FORMULA: &str = "formula";
const PYTHON: &str = "python";
const ONNX: &str = "onnx";
pub(super) const LATENT: &str = "latent";
const GIVEN: &str = "given";

/// The section of presets for densities of one's own.
pub(super) const OWN: &str = "own";

/// The tables of settings that say what is sampled.
pub const TABLES: [&str; 5] = [FORMULA, PYTHON, ONNX, LATENT, GIVEN];

/// All settings that do.
pub const KEYS: [&str; 26] = [
    "target",
    formula::TEXT,
    formula::DIM,
    formula::PARAMETERS,
    python::FILE,
    python::FUNCTION,
    python::DIM,
    python::GRADIENT,
    python::DIGEST,
    onnx::FILE,
    onnx::DIM,
    onnx::GRADIENT,
    onnx::ENGINE,
    onnx::DIGEST,
    latent::GENERATOR,
    latent::REWARD,
    latent::EMBEDDING,
    latent::CONDITION,
    latent::BETA,
    latent::NAME,
    latent::DIM,
    latent::ENGINE,
    latent::DIGEST,
    given::NAME,
    given::DIM,
    given::GRADIENT,
];

impl Subject {
    /// The target itself.
    pub fn build(&self) -> Arc<dyn Target> {
        match self {
            Self::Named(target) => target.build().into(),
            Self::Formula(formula) => Arc::new(formula.clone()),
            Self::Python(file) => Arc::new(file.consulted()),
            Self::Onnx(file) => Arc::new(file.consulted()),
            Self::Latent(latent) => latent.build(),
            Self::Given(given) => Arc::new(given.consulted()),
        }
    }

    fn placeable(&self) -> Box<dyn Placeable> {
        match self {
            Self::Named(_) | Self::Latent(_) => Box::new(self.build()),
            Self::Formula(formula) => Box::new(formula.clone()),
            Self::Python(file) => Box::new(file.consulted()),
            Self::Onnx(file) => Box::new(file.consulted()),
            Self::Given(given) => Box::new(given.consulted()),
        }
    }

    /// The target in other coordinates. They must have its dimension, as those of valid settings do.
    pub(crate) fn placed(&self, placement: &Placement) -> Arc<dyn Target> {
        self.placeable().placed(placement).expect("settings are read with the target's dimension")
    }

    /// Where it is and how wide, from evaluations alone.
    pub(crate) fn find(&self, seed: u64) -> Result<Pilot, PilotError> {
        pilot::find(&*self.placeable(), &PilotOptions { seed, ..PilotOptions::new(self.dim()) })
    }

    /// How many coordinates it has.
    pub fn dim(&self) -> usize {
        self.build().dim()
    }

    /// Whether the gradient of its log density is known.
    pub fn has_gradient(&self) -> bool {
        self.build().differentiable().is_some()
    }

    /// Makes sure that it is there and stays what it is: a run that was begun does not become another one.
    pub(crate) fn fix(&mut self) -> Result<(), TargetError> {
        match self {
            Self::Python(file) => file.fix().map_err(TargetError::failed),
            Self::Onnx(file) => file.fix().map_err(TargetError::failed),
            Self::Latent(latent) => latent.fix().map_err(TargetError::failed),
            Self::Named(_) | Self::Formula(_) | Self::Given(_) => Ok(()),
        }
    }

    /// The setting that would say what is in its files, if nothing does yet: such a target may turn out to be any.
    pub(crate) fn open_digest(&self) -> Option<&'static str> {
        match self {
            Self::Python(file) => (!file.is_fixed()).then_some(python::DIGEST),
            Self::Onnx(file) => (!file.is_fixed()).then_some(onnx::DIGEST),
            Self::Latent(latent) => (!latent.is_fixed()).then_some(latent::DIGEST),
            Self::Named(_) | Self::Formula(_) | Self::Given(_) => None,
        }
    }

    /// Says on how many threads it may be evaluated, if it is one that does not leave that to others.
    pub fn employ(&self, threads: usize) {
        match self {
            Self::Onnx(file) => file.employ(threads),
            Self::Latent(latent) => latent.employ(threads),
            Self::Named(_) | Self::Formula(_) | Self::Python(_) | Self::Given(_) => (),
        }
    }

    /// Brings the density that settings read from a file can only name.
    pub fn bring(&mut self, oracle: Arc<dyn Oracle>) -> Result<(), BringError> {
        match self {
            Self::Given(given) => given.bring(oracle),
            _ => Err(BringError::Known { target: self.to_string() }),
        }
    }

    /// The target's name, if it came with the library.
    pub(crate) fn named(&self) -> Option<NamedTarget> {
        match self {
            Self::Named(target) => Some(*target),
            _ => None,
        }
    }

    /// The formula, if it is one.
    pub fn formula(&self) -> Option<&Formula> {
        match self {
            Self::Formula(formula) => Some(formula),
            _ => None,
        }
    }

    /// The function in a Python file, if it is one.
    pub fn python(&self) -> Option<&PythonFile> {
        match self {
            Self::Python(file) => Some(file),
            _ => None,
        }
    }

    /// The network that computes it, if it is one.
    pub fn onnx(&self) -> Option<&OnnxFile> {
        match self {
            Self::Onnx(file) => Some(file),
            _ => None,
        }
    }

    /// The latent space, if it is one.
    pub fn latent(&self) -> Option<&LatentTarget> {
        match self {
            Self::Latent(latent) => Some(latent),
            _ => None,
        }
    }

    /// The section of presets that is about it: its name, that of its kind, or that of all densities of one's own.
    pub(super) fn section(&self) -> &'static str {
        match self {
            Self::Named(target) => target.name(),
            Self::Latent(_) => LATENT,
            _ => OWN,
        }
    }

    /// Where it stands among others: targets of the library in their order, all others after them by name.
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
    pub(crate) fn entries(&self) -> Vec<(&'static str, String)> {
        let (name, rest) = match self {
            Self::Named(target) => (target.name(), Vec::new()),
            Self::Formula(formula) => (FORMULA, formula::entries(formula)),
            Self::Python(file) => (PYTHON, file.entries()),
            Self::Onnx(file) => (ONNX, file.entries()),
            Self::Latent(latent) => (LATENT, latent.entries()),
            Self::Given(given) => (GIVEN, given.entries()),
        };
        [("target", quoted(name))].into_iter().chain(rest).collect()
    }
}

/// `25gmm`, `formula-1c3a5e` (other formulas have other digits), `model-log_density`, or what a program calls its density.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(target) => f.pad(target.name()),
            Self::Formula(formula) => f.pad(&format!("{FORMULA}-{:06x}", formula::digest(formula))),
            Self::Python(file) => f.pad(&file.name()),
            Self::Onnx(file) => f.pad(&file.name()),
            Self::Latent(latent) => f.pad(&latent.name()),
            Self::Given(given) => f.pad(given.name()),
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

/// Whether the value of a setting is text, whatever it looks like.
pub fn is_words(path: &str) -> bool {
    let words = [
        "target",
        formula::TEXT,
        python::FILE,
        python::FUNCTION,
        python::GRADIENT,
        onnx::FILE,
        latent::GENERATOR,
        latent::REWARD,
        latent::EMBEDDING,
        latent::NAME,
        given::NAME,
    ];
    words.contains(&path)
}

/// Whether a setting says what is sampled, apart from `target` itself.
pub fn is_part(path: &str) -> bool {
    kind(path).is_some()
}

/// Which kind of target a setting describes.
fn kind(path: &str) -> Option<&'static str> {
    let kinds = [
        (FORMULA, formula::is_part(path)),
        (PYTHON, python::is_part(path)),
        (ONNX, onnx::KEYS.contains(&path)),
        (LATENT, latent::KEYS.contains(&path)),
        (GIVEN, given::is_part(path)),
    ];
    kinds.into_iter().find_map(|(kind, is_part)| is_part.then_some(kind))
}

/// A kind of target in a sentence.
fn words(kind: &str) -> &'static str {
    match kind {
        FORMULA => "a formula",
        PYTHON => "a Python file",
        ONNX => "an ONNX file",
        LATENT => "a latent space",
        _ => "a density that a program brings",
    }
}

/// The subject that is asked for, or all that is wrong with it.
pub fn read(given: &BTreeMap<String, Entry>, sources: &[Source]) -> Result<Subject, Vec<Problem>> {
    let parts = || given.values().filter_map(|entry| Some((kind(&entry.path)?, entry)));
    let name = match (given.get("target"), parts().next()) {
        (Some(entry), _) => match &entry.value {
            Value::Text(name) => name.clone(),
            other => other.to_string(),
        },
        (None, Some((kind, _))) => kind.to_owned(),
        (None, None) => {
            let help = "name one, as in `ebbtide train 25gmm` (`ebbtide targets` lists them), or give a log density, as in `ebbtide train --formula \"-x0^2/2\" --dim 1`, `ebbtide train --python model.py --dim 1` or `ebbtide train --onnx energy.onnx`";
            return Err(vec![Problem::new("nothing says what to sample").help(help)]);
        }
    };
    if let (Some(entry), Some((kind, other))) = (given.get("target"), parts().find(|(kind, _)| *kind != name))
    {
        let kind = words(kind);
        let problem = Problem::new(format!("the target is {name}, and there is {kind} as well"));
        let problem = problem.at(entry.place.clone(), "the target");
        let help = "leave one of them out";
        return Err(vec![problem.at(other.place.clone(), format!("part of {kind}")).help(help)]);
    }
    match (name.as_str(), given.get("target")) {
        (FORMULA, _) => formula::read(given, sources).map(Subject::Formula),
        (PYTHON, _) => python::read(given).map(Subject::Python),
        (ONNX, _) => onnx::read(given, sources).map(Subject::Onnx),
        (LATENT, _) => latent::read(given, sources).map(Subject::Latent),
        (GIVEN, _) => given::read(given).map(Subject::Given),
        (name, Some(entry)) => named(entry, name).map(Subject::Named),
        (_, None) => unreachable!("settings describe one of the kinds above"),
    }
}

fn named(entry: &Entry, name: &str) -> Result<NamedTarget, Vec<Problem>> {
    name.parse::<NamedTarget>().map_err(|unknown| {
        let problem = Problem::new(format!("there is no target named {}", Value::Text(unknown.given)));
        let all = NamedTarget::ALL.map(NamedTarget::name).join(", ");
        let all = format!("{all}, and {FORMULA}, {PYTHON}, {ONNX} or {LATENT} for a density of your own");
        let help = match unknown.nearest {
            Some(nearest) => format!("did you mean `{nearest}`? The targets are {all}"),
            None => format!("the targets are {all}"),
        };
        vec![problem.at(entry.place.clone(), "unknown target").help(help)]
    })
}

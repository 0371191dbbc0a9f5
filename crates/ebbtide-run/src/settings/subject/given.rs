//! A density that the calling program brings: files know what it is called, and nothing else of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ebbtide::target::{Consulted, Oracle, TargetError};

use super::{Entry, Problem, quoted};

/// The settings that describe it.
pub const NAME: &str = "given.name";
pub const DIM: &str = "given.dim";
pub const GRADIENT: &str = "given.gradient";

/// Whether there is a gradient.
const ANSWERS: &[(&str, bool)] = &[("yes", true), ("no", false)];

/// A density that the calling program brings.
///
/// ```
/// use std::sync::Arc;
/// use ebbtide::target::{Oracle, TargetError};
/// use ebbtide_run::settings::{BringError, Draft, Given, Strictness, Subject};
///
/// struct Hump(usize);
///
/// impl Oracle for Hump {
///     fn dim(&self) -> usize {
///         self.0
///     }
///     fn has_gradient(&self) -> bool {
///         false
///     }
///     fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
///         let rows = points.chunks_exact(self.0);
///         out.iter_mut().zip(rows).for_each(|(out, x)| *out = -x.iter().map(|x| x * x).sum::<f64>());
///         Ok(())
///     }
///     fn log_density_and_gradient(&self, _: Vec<f64>, _: &mut [f64], _: &mut [f64]) -> Result<(), TargetError> {
///         Err(TargetError::failed("it has no gradient"))
///     }
/// }
///
/// let ours = Subject::Given(Given::new("my hump!", Arc::new(Hump(2))));
/// assert_eq!(ours.to_string(), "myhump");
///
/// // A file knows what it is called, and cannot ask it anything.
/// let mut draft = Draft::new();
/// draft.document("run.toml", "[given]\nname = \"myhump\"\ndim = 2\ngradient = \"no\"");
/// let mut read = draft.resolve(Strictness::Strict)?.target;
/// assert_eq!(read, ours);
/// let mut value = [0.0];
/// assert!(read.build().log_density(&[3.0, 4.0], &mut value).is_err());
/// assert_eq!(read.bring(Arc::new(Hump(3))), Err(BringError::Dim { own: 2, brought: 3 }));
/// read.bring(Arc::new(Hump(2)))?;
/// read.build().log_density(&[3.0, 4.0], &mut value)?;
/// assert_eq!(value, [-25.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Given {
    name: String,
    oracle: Arc<dyn Oracle>,
}

/// Why a density is not the one that settings mean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BringError {
    /// Everything is known of the target already.
    #[error("the run samples {target}, which needs no density of yours")]
    Known {
        /// The target.
        target: String,
    },
    /// Of another dimension.
    #[error("the run's density has {own} coordinates, and the one that is brought has {brought}")]
    Dim {
        /// Of the run.
        own: usize,
        /// Of the density.
        brought: usize,
    },
    /// With a gradient where there was none, or the other way round.
    #[error("the run was begun {} a gradient, and the density is brought {} one", with(*.0), with(!*.0))]
    Gradient(bool),
}

fn with(gradient: bool) -> &'static str {
    if gradient { "with" } else { "without" }
}

impl Given {
    /// A density by the name of what computes it. Only letters, digits, `-` and `_` are kept of the name.
    pub fn new(name: &str, oracle: Arc<dyn Oracle>) -> Self {
        Self { name: plain(name), oracle }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn consulted(&self) -> Consulted {
        Consulted::new(Arc::clone(&self.oracle))
    }

    pub(super) fn bring(&mut self, oracle: Arc<dyn Oracle>) -> Result<(), BringError> {
        let (own, brought) = (self.oracle.dim(), oracle.dim());
        if own != brought {
            return Err(BringError::Dim { own, brought });
        }
        if self.oracle.has_gradient() != oracle.has_gradient() {
            return Err(BringError::Gradient(self.oracle.has_gradient()));
        }
        self.oracle = oracle;
        Ok(())
    }

    /// The settings that describe it, with their values in TOML.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let gradient = super::super::setting::name(ANSWERS, self.oracle.has_gradient());
        vec![(NAME, quoted(&self.name)), (DIM, self.oracle.dim().to_string()), (GRADIENT, gradient)]
    }
}

/// What can be said of a density, not what it is.
impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("name", &self.name).field("dim", &self.oracle.dim()).finish()
    }
}

/// By what can be said of them.
impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

/// Whether a setting describes one.
pub fn is_part(path: &str) -> bool {
    [NAME, DIM, GRADIENT].contains(&path)
}

/// The density that a file means: nobody can ask it anything until somebody brings it.
pub fn read(given: &BTreeMap<String, Entry>) -> Result<Given, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut entry = |key: &str| {
        let entry = given.get(key);
        if entry.is_none() {
            problems.push(Problem::new(format!(
                "`{key}` is missing: it describes a density that a program brings"
            )));
        }
        entry
    };
    let (name, dim, gradient) = (entry(NAME), entry(DIM), entry(GRADIENT));
    let (Some(name), Some(dim), Some(gradient)) = (name, dim, gradient) else { return Err(problems) };
    let read = (name.value.text(), dim.value.whole::<usize>(), gradient.value.choice(ANSWERS));
    let has_dim = read.1.as_ref().is_ok_and(|dim| *dim > 0);
    match read {
        (Ok(text), Ok(dim), Ok(has_gradient)) if has_dim => {
            let name = plain(text);
            let oracle = Arc::new(Absent { name: name.clone(), dim, has_gradient });
            Ok(Given { name, oracle })
        }
        (text, whole, answer) => {
            problems.extend(text.err().map(|mismatch| name.mismatched(&mismatch)));
            problems.extend(answer.err().map(|mismatch| gradient.mismatched(&mismatch)));
            match whole {
                Err(mismatch) => problems.push(dim.mismatched(&mismatch)),
                Ok(0) => {
                    let problem = Problem::new("a density needs at least one coordinate");
                    problems.push(problem.at(dim.place.clone(), "none"));
                }
                Ok(_) => {}
            }
            Err(problems)
        }
    }
}

/// Letters, digits, `-` and `_` of a name, as a folder may be called.
pub(super) fn plain(name: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_".contains(*letter);
    let plain: String = name.chars().filter(is_plain).take(40).collect();
    if plain.is_empty() { super::GIVEN.to_owned() } else { plain }
}

/// A density that nobody has brought yet.
struct Absent {
    name: String,
    dim: usize,
    has_gradient: bool,
}

impl Absent {
    fn refusal(&self) -> TargetError {
        let name = &self.name;
        TargetError::failed(format!(
            "`{name}` belongs to the program that began the run, and is not in its folder; in Python, \
             `ebbtide.load(folder, {name})` brings it along"
        ))
    }
}

impl Oracle for Absent {
    fn dim(&self) -> usize {
        self.dim
    }

    fn has_gradient(&self) -> bool {
        self.has_gradient
    }

    fn log_density(&self, _: Vec<f64>, _: &mut [f64]) -> Result<(), TargetError> {
        Err(self.refusal())
    }

    fn log_density_and_gradient(&self, _: Vec<f64>, _: &mut [f64], _: &mut [f64]) -> Result<(), TargetError> {
        Err(self.refusal())
    }
}

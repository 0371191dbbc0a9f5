//! Which Python.

use std::env;
use std::path::PathBuf;

/// The environment variable that names an interpreter.
pub const VARIABLE: &str = "EBBTIDE_PYTHON";

/// What is tried where nobody names one: that of an active environment, or the system's.
const USUAL: &str = if cfg!(windows) { "python" } else { "python3" };

/// A Python interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Its path, or a name that is looked for on the PATH.
    pub path: PathBuf,
    /// What to do if it does not start.
    pub(super) advice: &'static str,
}

impl Interpreter {
    /// The one that the environment variable names, or that of the PATH.
    pub(crate) fn active() -> Self {
        match env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
            Some(named) => Self {
                path: named.into(),
                advice: "the environment variable EBBTIDE_PYTHON names it, and must name one that does",
            },
            None => Self {
                path: USUAL.into(),
                advice: "activate an environment with Python and NumPy, or let the environment variable EBBTIDE_PYTHON name an interpreter",
            },
        }
    }

    /// This one.
    pub fn at(path: PathBuf) -> Self {
        Self { path, advice: "it must be a Python interpreter" }
    }
}

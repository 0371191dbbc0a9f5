//! Why a function in Python could not be asked.

use std::path::PathBuf;

use super::interpreter::{Interpreter, VARIABLE};
use crate::Digest;
use crate::durable::FileError;

/// Why a function in Python could not be asked, or did not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PythonError {
    /// The interpreter does not start.
    #[error("the Python interpreter `{}` does not start ({source}): {}", interpreter.path.display(), interpreter.advice)]
    Start {
        /// What was tried.
        interpreter: Interpreter,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is another one by now.
    #[error(
        "{} has changed since the run was begun (python.digest was \"{begun}\", and is \"{now}\" now), and a run cannot become another one: \
         put the file back as it was, or begin a new run, without a python.digest in its settings; samples without weights can still be drawn",
        file.display()
    )]
    Changed {
        /// The file.
        file: PathBuf,
        /// The digest of what it was.
        begun: Digest,
        /// The digest of what it is.
        now: Digest,
    },
    /// The interpreter is too old.
    #[error("{interpreter} is Python {version}, and 3.10 or later is needed; {VARIABLE} names another one")]
    Old {
        /// The interpreter.
        interpreter: String,
        /// Its version.
        version: String,
    },
    /// NumPy is missing.
    #[error(
        "{interpreter} has no NumPy ({reason}): `{interpreter} -m pip install numpy`, activate an environment that has it, or let {VARIABLE} \
         name its interpreter"
    )]
    NoNumpy {
        /// The interpreter.
        interpreter: String,
        /// What it said.
        reason: String,
    },
    /// The library that is to differentiate is missing.
    #[error(
        "the gradient is asked of {library}, which {interpreter} cannot import ({reason}): install it there, activate an environment that has it, \
         or let {VARIABLE} name its interpreter"
    )]
    NoLibrary {
        /// The interpreter.
        interpreter: String,
        /// `torch` or `jax`.
        library: String,
        /// What it said.
        reason: String,
    },
    /// The file cannot be imported.
    #[error("{} cannot be imported:\n{traceback}", file.display())]
    Import {
        /// The file.
        file: PathBuf,
        /// What Python says, from the file on.
        traceback: String,
    },
    /// The file has no such function.
    #[error("{}: {reason}{}", file.display(), meant(nearest.as_deref()))]
    NoFunction {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
        /// The function that may have been meant.
        nearest: Option<String>,
    },
    /// The function raised an exception.
    #[error("`{function}` in {} raised an exception:\n{traceback}", file.display())]
    Raised {
        /// The file.
        file: PathBuf,
        /// The function.
        function: String,
        /// What Python says, from the function on.
        traceback: String,
    },
    /// The function's answer is none.
    #[error("{}: {reason}", file.display())]
    Answer {
        /// The file.
        file: PathBuf,
        /// Which function, and what is wrong with its answer.
        reason: String,
    },
    /// The process ended.
    #[error("the Python process that evaluates the density ended by itself ({how}){}", last(said))]
    Died {
        /// Its exit code, or the signal that ended it.
        how: String,
        /// Its last words.
        said: String,
    },
    /// What came back is no answer.
    #[error(
        "the Python process that evaluates the density answered with something that is no answer ({0}); does the model write to other \
         processes' files?"
    )]
    Nonsense(String),
}

impl PythonError {
    /// Whether the process may be asked again.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Raised { .. } | Self::Answer { .. })
    }
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

fn last(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; the last that it said:\n{said}") }
}

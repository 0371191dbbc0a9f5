//! A log density that a function in a Python file computes, in a process of its own.
//!
//! A process, and not an interpreter within this one: the command links no Python, so that it runs where there is none, and whichever interpreter
//! is active is the one that has the model's libraries.

mod error;
mod interpreter;
mod process;

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use ebbtide::target::{Oracle, TargetError};

pub use error::PythonError;
pub use interpreter::Interpreter;

use crate::digest::{Digest, digest};
use crate::durable::FileError;
use process::{Complaint, Process};

/// What checks answers and differentiates: the same in this process's Python and in the package for Python.
const DENSITY: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../ebbtide-python/python/ebbtide/_density.py"));

/// A function in a Python file: (n, dim) points to n log densities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The file.
    pub file: PathBuf,
    /// What the function is called.
    pub name: String,
    /// The number of coordinates of a point.
    pub dim: usize,
    /// What has its gradient, if anything: `torch`, `jax`, or another function of the file.
    pub gradient: Option<String>,
}

/// A process that knows a function. It starts with the first question, and ends with this.
///
/// ```
/// use ebbtide::target::Oracle;
/// use ebbtide_run::Digest;
/// use ebbtide_run::python::{Function, Interpreter, PythonError, Worker};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("model.py");
/// std::fs::write(&file, "def log_density(x):\n    return -(x**2).sum(axis=1)\n")?;
/// let function = Function { file, name: "log_density".to_owned(), dim: 2, gradient: None };
///
/// let nowhere = Worker::new(Interpreter::at(folder.path().join("python3")), function.clone(), None);
/// assert!(matches!(nowhere.start(), Err(PythonError::Start { .. })));
/// let python = Interpreter::at("python3".into());
/// // A run that was begun with another text than this does not go on.
/// let changed = Worker::new(python.clone(), function.clone(), Some(Digest::default()));
/// assert!(matches!(changed.start(), Err(PythonError::Changed { begun, .. }) if begun == Digest::default()));
///
/// let worker = Worker::new(python, function, None);
/// match worker.start() {
///     Ok(_) => {
///         let mut values = [0.0; 2];
///         worker.log_density(vec![0.0, 0.0, 3.0, 4.0], &mut values)?;
///         assert_eq!(values, [0.0, -25.0]);
///     }
///     Err(error) => println!("there is no Python with NumPy here: {error}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Worker {
    interpreter: Interpreter,
    function: Function,
    /// Of the text that the process was started with, or must be.
    digest: OnceLock<Digest>,
    process: Mutex<Option<Process>>,
}

impl Worker {
    /// For a function, of a file that must have this digest if one is given.
    pub fn new(interpreter: Interpreter, function: Function, digest: Option<Digest>) -> Self {
        Self {
            interpreter,
            function,
            digest: digest.map_or_else(OnceLock::new, OnceLock::from),
            process: Mutex::new(None),
        }
    }

    /// What it evaluates.
    pub(crate) fn function(&self) -> &Function {
        &self.function
    }

    /// Starts the process, if it does not run yet; answers with the digest of the file. From now on it must not change.
    pub fn start(&self) -> Result<Digest, PythonError> {
        self.with(|_| Ok(()))?;
        Ok(*self.digest.get().expect("a process starts with the text of the file"))
    }

    /// One question at a time. A process that cannot be asked any more is given up, and the next question gets another.
    fn with(&self, ask: impl FnOnce(&mut Process) -> Result<(), PythonError>) -> Result<(), PythonError> {
        let mut place = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let process = match &mut *place {
            Some(process) => process,
            empty => empty.insert(self.started()?),
        };
        let asked = ask(process);
        if asked.as_ref().is_err_and(|error| !error.is_answer()) {
            *place = None;
        }
        asked
    }

    fn started(&self) -> Result<Process, PythonError> {
        let file = &self.function.file;
        // The process gets the text, not the file: what has this digest is what is evaluated.
        let text = fs::read(file).map_err(FileError::of("read", file))?;
        let now = digest(&text);
        let begun = *self.digest.get_or_init(|| now);
        if begun != now {
            return Err(PythonError::Changed { file: file.clone(), begun, now });
        }
        let mut process = Process::start(&self.interpreter)?;
        let setup = serde_json::json!({
            "density": DENSITY,
            "file": file.display().to_string(),
            "function": self.function.name,
            "gradient": self.function.gradient,
            "dim": self.function.dim,
        });
        process.introduce(setup.to_string().as_bytes(), &text).map_err(|error| self.named(error))?;
        Ok(process)
    }

    fn ask(&self, points: &[f64], out: &mut [f64], gradient: Option<&mut [f64]>) -> Result<(), TargetError> {
        if out.is_empty() {
            return Ok(());
        }
        let asked =
            self.with(|process| process.ask(points, out, gradient).map_err(|error| self.named(error)));
        asked.map_err(TargetError::failed)
    }

    /// A complaint with the names of what it is about.
    fn named(&self, error: process::Failure) -> PythonError {
        let Complaint { kind, text, nearest, interpreter } = match error {
            process::Failure::Complaint(complaint) => complaint,
            process::Failure::Lost(error) => return error,
        };
        let Function { file, name, .. } = self.function.clone();
        match kind.as_str() {
            "old" => PythonError::Old { interpreter, version: text },
            "numpy" => PythonError::NoNumpy { interpreter, reason: text },
            "library" => {
                let library = nearest.unwrap_or_default();
                PythonError::NoLibrary { interpreter, library, reason: text }
            }
            "import" => PythonError::Import { file, traceback: text },
            "no-function" => PythonError::NoFunction { file, reason: text, nearest },
            "raised" => PythonError::Raised { file, function: name, traceback: text },
            "answer" => PythonError::Answer { file, reason: text },
            _ => PythonError::Nonsense(format!("a complaint of the kind `{kind}`")),
        }
    }
}

impl Oracle for Worker {
    fn dim(&self) -> usize {
        self.function.dim
    }

    fn has_gradient(&self) -> bool {
        self.function.gradient.is_some()
    }

    fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
        self.ask(&points, out, None)
    }

    fn log_density_and_gradient(
        &self,
        points: Vec<f64>,
        out: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), TargetError> {
        self.ask(&points, out, Some(gradient))
    }
}

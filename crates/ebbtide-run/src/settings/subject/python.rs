//! A function in a Python file, in settings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ebbtide::target::Consulted;

use super::part::Parts;
use super::{Entry, Problem, quoted};
use crate::Digest;
use crate::python::{Function, Interpreter, PythonError, Worker};

/// The settings that say which.
pub const FILE: &str = "python.file";
pub const FUNCTION: &str = "python.function";
pub const DIM: &str = "python.dim";
pub const GRADIENT: &str = "python.gradient";
pub const DIGEST: &str = "python.digest";

/// What the function is called, unless somebody says so.
const USUAL: &str = "log_density";

/// The gradient of a density that has none.
const NONE: &str = "none";

/// A log density that a function in a Python file computes. Clones ask the same process.
///
/// ```
/// use ebbtide_run::python::{Function, Interpreter};
/// use ebbtide_run::settings::{Draft, PythonFile, Strictness, Subject};
///
/// let mut draft = Draft::new();
/// draft.document("run.toml", "[python]\nfile = \"/models/hump.py\"\ndim = 2\ngradient = \"slopes\"");
/// let read = draft.resolve(Strictness::Strict)?.target;
/// let function = Function {
///     file: "/models/hump.py".into(),
///     name: "log_density".to_owned(),
///     dim: 2,
///     gradient: Some("slopes".to_owned()),
/// };
/// assert_eq!(read.python().map(PythonFile::function), Some(&function));
/// assert!(read.has_gradient() && read.to_string() == "hump-log_density");
/// // The same function is the same density, whichever interpreter is asked.
/// let ours = PythonFile::new(Interpreter::at("/usr/bin/python3".into()), function);
/// assert_eq!(read, Subject::Python(ours));
/// # Ok::<(), ebbtide_run::settings::Problems>(())
/// ```
#[derive(Clone)]
pub struct PythonFile {
    worker: Arc<Worker>,
    /// Of the file's text, once a run has begun with it.
    digest: Option<Digest>,
}

impl PythonFile {
    /// A function, whatever the file says by the time that a run begins.
    pub fn new(interpreter: Interpreter, function: Function) -> Self {
        Self { worker: Arc::new(Worker::new(interpreter, function, None)), digest: None }
    }

    /// Which function.
    pub fn function(&self) -> &Function {
        self.worker.function()
    }

    /// Whether it is known what the file says.
    pub(crate) fn is_fixed(&self) -> bool {
        self.digest.is_some()
    }

    pub(super) fn consulted(&self) -> Consulted {
        Consulted::new(Arc::clone(&self.worker) as _)
    }

    pub(super) fn fix(&mut self) -> Result<(), PythonError> {
        self.digest = Some(self.worker.start()?);
        Ok(())
    }

    /// `model-log_density`.
    pub(super) fn name(&self) -> String {
        let Function { file, name, .. } = self.function();
        super::given::plain(&format!("{}-{name}", file.file_stem().unwrap_or_default().to_string_lossy()))
    }

    /// The settings that say what it is, with their values in TOML.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let Function { file, name, dim, gradient } = self.function();
        let mut entries = vec![
            (FILE, quoted(&file.to_string_lossy())),
            (FUNCTION, quoted(name)),
            (DIM, dim.to_string()),
            (GRADIENT, quoted(gradient.as_deref().unwrap_or(NONE))),
        ];
        entries.extend(self.digest.map(|digest| (DIGEST, quoted(&digest.to_string()))));
        entries
    }
}

impl fmt::Debug for PythonFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonFile").field("function", self.function()).field("digest", &self.digest).finish()
    }
}

/// By what can be said of them.
impl PartialEq for PythonFile {
    fn eq(&self, other: &Self) -> bool {
        (self.function(), self.digest) == (other.function(), other.digest)
    }
}

/// Whether a setting says what it is.
pub fn is_part(path: &str) -> bool {
    [FILE, FUNCTION, DIM, GRADIENT, DIGEST].contains(&path)
}

/// The function that is asked for, or all that is wrong with it. Whether it is there is seen when it is asked.
pub fn read(given: &BTreeMap<String, Entry>) -> Result<PythonFile, Vec<Problem>> {
    let mut parts = Parts::of(given);
    parts.need(
        FILE,
        "nothing says which Python file has the log density",
        "`--python model.py`, or `python.file = \"model.py\"`",
    );
    parts.need(
        DIM,
        "nothing says how many coordinates the log density has",
        "`--dim 2`, or `python.dim = 2`",
    );
    let file = parts.file(FILE);
    let name = parts.text(FUNCTION, "the name of a function, in quotes").unwrap_or(USUAL);
    let gradient =
        parts.text(GRADIENT, "\"none\", \"torch\", \"jax\" or the name of a function").unwrap_or(NONE);
    let (digest, dim) = (parts.digest(DIGEST), parts.dim(DIM));
    let (Some(file), Some(dim), true) = (file, dim, parts.problems.is_empty()) else {
        return Err(parts.problems);
    };
    let gradient = (gradient != NONE).then(|| gradient.to_owned());
    let function = Function { file, name: name.to_owned(), dim, gradient };
    Ok(PythonFile { worker: Arc::new(Worker::new(Interpreter::active(), function, digest)), digest })
}

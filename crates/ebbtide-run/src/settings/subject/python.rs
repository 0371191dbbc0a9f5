//! A function in a Python file, in settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{self, Path};
use std::sync::Arc;

use ebbtide::target::Consulted;

use super::{Entry, Problem, quoted};
use crate::python::{Digest, Function, Interpreter, PythonError, Worker};

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
    let mut problems = Vec::new();
    for (key, missing, help) in [
        (
            FILE,
            "nothing says which Python file has the log density",
            "`--python model.py`, or `python.file = \"model.py\"`",
        ),
        (DIM, "nothing says how many coordinates the log density has", "`--dim 2`, or `python.dim = 2`"),
    ] {
        if !given.contains_key(key) {
            problems.push(Problem::new(missing).help(help));
        }
    }
    let mut wrong = |entry: &Entry, wanted: &str| {
        let problem = Problem::new(format!("{} is {}, but must be {wanted}", entry.path, entry.value));
        problems.push(problem.at(entry.place.clone(), format!("not {wanted}")));
    };
    let mut text = |key: &str, wanted: &str| {
        let entry = given.get(key)?;
        let text = entry.value.text().ok().filter(|text| !text.trim().is_empty());
        if text.is_none() {
            wrong(entry, wanted);
        }
        text
    };
    let file = text(FILE, "the path of a file, in quotes");
    let name = text(FUNCTION, "the name of a function, in quotes").unwrap_or(USUAL);
    let gradient = text(GRADIENT, "\"none\", \"torch\", \"jax\" or the name of a function").unwrap_or(NONE);
    let digest = text(DIGEST, DIGITS).map(|digits| u64::from_str_radix(digits, 16));
    if let (Some(entry), Some(Err(_))) = (given.get(DIGEST), &digest) {
        wrong(entry, DIGITS);
    }
    let dim = given.get(DIM).map(|entry| (entry, entry.value.whole().ok().filter(|dim| *dim > 0)));
    if let Some((entry, None)) = dim {
        wrong(entry, "a whole number, 1 or above");
    }
    let file = file.map(|file| absolute(Path::new(file)));
    if let (Some(entry), Some(None)) = (given.get(FILE), &file) {
        wrong(entry, "a path that can be written in UTF-8, in a folder that is there");
    }
    let (Some(Some(file)), Some((_, Some(dim))), true) = (file, dim, problems.is_empty()) else {
        return Err(problems);
    };
    let gradient = (gradient != NONE).then(|| gradient.to_owned());
    let digest = digest.and_then(Result::ok).map(Digest);
    let function = Function { file, name: name.to_owned(), dim, gradient };
    Ok(PythonFile { worker: Arc::new(Worker::new(Interpreter::active(), function, digest)), digest })
}

/// What a digest looks like.
const DIGITS: &str = "the digest that Ebbtide wrote, in quotes";

/// A path that means the same from everywhere: runs are resumed from other folders than they were begun in.
fn absolute(file: &Path) -> Option<path::PathBuf> {
    path::absolute(file).ok().filter(|file| file.to_str().is_some())
}

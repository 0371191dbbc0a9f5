//! A log density that an ONNX network computes, in settings.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ebbtide::target::{Consulted, Oracle};
use ebbtide_onnx::{Engine, NetworkDensity};

use super::part::Parts;
use super::{Entry, Problem, Source, quoted};
use crate::Digest;
use crate::networks::{Computed, NetworkError, Networks};

/// The settings that say which.
pub const FILE: &str = "onnx.file";
pub const DIM: &str = "onnx.dim";
pub const GRADIENT: &str = "onnx.gradient";
pub const ENGINE: &str = "onnx.engine";
pub const DIGEST: &str = "onnx.digest";

pub const KEYS: [&str; 5] = [FILE, DIM, GRADIENT, ENGINE, DIGEST];

/// Whether there is a gradient.
const ANSWERS: &[(&str, bool)] = &[("yes", true), ("no", false)];

/// What evaluates networks, as settings name it.
pub(super) const ENGINES: &[(&str, Engine)] = &[("tract", Engine::Tract), ("ort", Engine::Ort)];

/// A log density that an ONNX network computes. Clones share it.
///
/// ```
/// use ebbtide_run::settings::{Draft, OnnxFile, Strictness, Subject};
///
/// let mut draft = Draft::new();
/// draft.flag("--onnx", "onnx.file", "../ebbtide-onnx/tests/fixtures/energy.onnx");
/// draft.flag("--engine", "onnx.engine", "tract");
/// let energy: Subject = draft.resolve(Strictness::Strict)?.target;
/// assert!(energy.onnx().map(OnnxFile::file).is_some_and(|file| file.is_absolute()));
/// assert_eq!((energy.to_string(), energy.dim(), energy.has_gradient()), ("energy".to_owned(), 2, true));
///
/// // −u²/2 − v² with u = x₁² − 2 and v = x₂ − x₁/2, on however many threads.
/// let mut values = [0.0; 2];
/// for threads in [1, 2] {
///     energy.employ(threads);
///     energy.build().log_density(&[2.0, 1.0, 0.0, 1.0], &mut values)?;
///     assert_eq!(values, [-2.0, -3.0]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct OnnxFile {
    networks: Arc<Networks<NetworkDensity>>,
    dim: usize,
    has_gradient: bool,
    digest: Option<Digest>,
}

impl OnnxFile {
    /// The file of the network.
    pub fn file(&self) -> &std::path::Path {
        &self.networks.plan().0
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.digest.is_some()
    }

    pub(super) fn consulted(&self) -> Consulted {
        let Self { networks, dim, has_gradient, .. } = self.clone();
        Consulted::new(Arc::new(Computed { networks, dim, has_gradient }))
    }

    pub(super) fn fix(&mut self) -> Result<(), NetworkError> {
        self.digest = Some(self.networks.fix()?);
        Ok(())
    }

    pub(super) fn employ(&self, threads: usize) {
        self.networks.employ(threads);
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        super::given::plain(&self.file().file_stem().unwrap_or_default().to_string_lossy())
    }

    /// The settings that say what it is, with their values in TOML.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            (FILE, quoted(&self.file().to_string_lossy())),
            (DIM, self.dim.to_string()),
            (GRADIENT, super::super::setting::name(ANSWERS, self.has_gradient)),
            (ENGINE, quoted(self.networks.engine().name())),
        ];
        entries.extend(self.digest.map(|digest| (DIGEST, quoted(&digest.to_string()))));
        entries
    }
}

impl fmt::Debug for OnnxFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnnxFile").field("entries", &self.entries()).finish()
    }
}

/// By what can be said of them.
impl PartialEq for OnnxFile {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

/// The network that is asked for, or all that is wrong with it. It is read here, unless these are the settings of a run, which know what it was.
pub fn read(given: &BTreeMap<String, Entry>, sources: &[Source]) -> Result<OnnxFile, Vec<Problem>> {
    let mut parts = Parts::of(given);
    parts.need(
        FILE,
        "nothing says which ONNX file has the log density",
        "`--onnx energy.onnx`, or `onnx.file = \"energy.onnx\"`",
    );
    let file = parts.file_beside(FILE, sources);
    let (dim, digest) = (parts.dim(DIM), parts.digest(DIGEST));
    let has_gradient = parts.read(GRADIENT, "\"yes\" or \"no\"", |entry| entry.value.choice(ANSWERS).ok());
    let engine = parts.read(ENGINE, "\"tract\" or \"ort\"", |entry| entry.value.choice(ENGINES).ok());
    let (Some(file), true) = (file, parts.problems.is_empty()) else { return Err(parts.problems) };
    let networks = Networks::new((file, dim), engine.unwrap_or_else(Engine::fastest), digest, dim);
    let (dim, has_gradient) = match (dim, has_gradient, digest) {
        (Some(dim), Some(has_gradient), Some(_)) => (dim, has_gradient),
        _ => {
            let density: &NetworkDensity = networks.made().map_err(|error| vec![refused(&parts, &error)])?;
            (density.dim(), density.has_gradient())
        }
    };
    Ok(OnnxFile { networks: Arc::new(networks), dim, has_gradient, digest })
}

fn refused(parts: &Parts, error: &NetworkError) -> Problem {
    let problem = Problem::new(error.to_string());
    match parts.entry(FILE) {
        Some(entry) => problem.at(entry.place.clone(), "this network"),
        None => problem,
    }
}

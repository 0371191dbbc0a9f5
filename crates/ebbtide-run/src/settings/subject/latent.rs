//! The latent space of a generator under a reward, in settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ebbtide::target::Target;
use ebbtide_onnx::{Engine, LatentFiles, LatentSpace, OnnxError};

use super::onnx::ENGINES;
use super::part::Parts;
use super::{Entry, Problem, Source, quoted};
use crate::Digest;
use crate::networks::{Latents, NetworkError, Networks};

/// The settings that say which.
pub const GENERATOR: &str = "latent.generator";
pub const REWARD: &str = "latent.reward";
pub const EMBEDDING: &str = "latent.embedding";
pub const CONDITION: &str = "latent.condition";
pub const BETA: &str = "latent.beta";
pub const NAME: &str = "latent.name";
pub const DIM: &str = "latent.dim";
pub const ENGINE: &str = "latent.engine";
pub const DIGEST: &str = "latent.digest";

pub const KEYS: [&str; 9] = [GENERATOR, REWARD, EMBEDDING, CONDITION, BETA, NAME, DIM, ENGINE, DIGEST];

/// The latent space of a generator under a reward. Clones share the networks.
///
/// ```
/// use ebbtide_run::settings::{Draft, LatentTarget, Strictness, Subject};
///
/// let text = "
/// [latent]
/// generator = \"plane.onnx\"
/// reward = \"reward.onnx\"
/// beta = 3.0
/// engine = \"tract\"";
/// let mut draft = Draft::new();
/// // Files are looked for beside the one that names them.
/// draft.document("../ebbtide-onnx/tests/fixtures/latent.toml", text);
/// let target: Subject = draft.resolve(Strictness::Strict)?.target;
/// let files = target.latent().map(LatentTarget::files).expect("a latent space");
/// assert!(files.generator.is_absolute() && files.generator.ends_with("tests/fixtures/plane.onnx"));
/// assert_eq!((target.dim(), files.beta, files.embedding.is_none()), (2, 3.0, true));
/// assert_eq!(target.to_string(), "latent-reward");
/// # Ok::<(), ebbtide_run::settings::Problems>(())
/// ```
#[derive(Clone)]
pub struct LatentTarget {
    networks: Arc<Networks<LatentSpace>>,
    name: Option<String>,
    dim: usize,
    digest: Option<Digest>,
}

impl LatentTarget {
    /// Which networks.
    pub fn files(&self) -> &LatentFiles {
        self.networks.plan()
    }

    pub(super) fn is_fixed(&self) -> bool {
        self.digest.is_some()
    }

    pub(super) fn build(&self) -> Arc<dyn Target> {
        let beta = self.files().beta;
        Arc::new(Latents { networks: Arc::clone(&self.networks), dim: self.dim, beta })
    }

    pub(super) fn fix(&mut self) -> Result<(), NetworkError> {
        self.digest = Some(self.networks.fix()?);
        Ok(())
    }

    pub(super) fn employ(&self, threads: usize) {
        self.networks.employ(threads);
    }

    /// What it is called, or `latent-` and the name of the reward's file.
    pub(super) fn name(&self) -> String {
        let reward = || self.files().reward.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        super::given::plain(&self.name.clone().unwrap_or_else(|| format!("{}-{}", super::LATENT, reward())))
    }

    /// The settings that say what it is, with their values in TOML.
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let LatentFiles { generator, reward, embedding, condition, beta } = self.files();
        let path = |file: &Path| quoted(&file.to_string_lossy());
        let mut entries = vec![(GENERATOR, path(generator)), (REWARD, path(reward))];
        entries.extend(embedding.as_deref().map(|file| (EMBEDDING, path(file))));
        entries.extend(condition.as_ref().map(|condition| {
            let numbers: Vec<String> = condition.iter().map(|number| format!("{number:?}")).collect();
            (CONDITION, format!("[{}]", numbers.join(", ")))
        }));
        entries.push((BETA, format!("{beta:?}")));
        entries.extend(self.name.as_ref().map(|name| (NAME, quoted(name))));
        entries.extend([(DIM, self.dim.to_string()), (ENGINE, quoted(self.networks.engine().name()))]);
        entries.extend(self.digest.map(|digest| (DIGEST, quoted(&digest.to_string()))));
        entries
    }
}

impl fmt::Debug for LatentTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatentTarget").field("entries", &self.entries()).finish()
    }
}

/// By what can be said of them.
impl PartialEq for LatentTarget {
    fn eq(&self, other: &Self) -> bool {
        self.entries() == other.entries()
    }
}

/// The networks that are asked for, or all that is wrong with them. They are read here, unless these are the settings of a run, which know what they were.
pub fn read(given: &BTreeMap<String, Entry>, sources: &[Source]) -> Result<LatentTarget, Vec<Problem>> {
    let mut parts = Parts::of(given);
    let help = "`latent.generator = \"generator.onnx\"`: one input [rows, latent], one output of data";
    parts.need(GENERATOR, "nothing says which network decodes latents", help);
    let help = "`latent.reward = \"reward.onnx\"`: an input of data, an output `log_reward` [rows]";
    parts.need(REWARD, "nothing says which network rewards what is decoded", help);
    let (generator, reward) = (parts.file_beside(GENERATOR, sources), parts.file_beside(REWARD, sources));
    let embedding = parts.file_beside(EMBEDDING, sources);
    let condition = parts.read(CONDITION, "a list of numbers", |entry| {
        let numbers = entry.value.numbers()?.into_iter().map(|number| number as f32).collect::<Vec<_>>();
        Some(numbers).filter(|numbers| !numbers.is_empty() && numbers.iter().all(|number| number.is_finite()))
    });
    let finite = |entry: &Entry| entry.value.number().ok().filter(|beta| beta.is_finite());
    let beta = parts.read(BETA, "a number", finite).unwrap_or(1.0);
    let name = parts.text(NAME, "a name, in quotes").map(ToOwned::to_owned);
    let (dim, digest) = (parts.dim(DIM), parts.digest(DIGEST));
    let engine = parts.read(ENGINE, "\"tract\" or \"ort\"", |entry| entry.value.choice(ENGINES).ok());
    let (Some(generator), Some(reward), true) = (generator, reward, parts.problems.is_empty()) else {
        return Err(parts.problems);
    };
    let files = LatentFiles { generator, reward, embedding, condition, beta };
    let networks = Networks::<LatentSpace>::new(files, engine.unwrap_or_else(Engine::fastest), digest, dim);
    let dim = match (dim, digest) {
        (Some(dim), Some(_)) => dim,
        _ => networks.made().map_err(|error| vec![refused(&parts, networks.plan(), &error)])?.dim(),
    };
    Ok(LatentTarget { networks: Arc::new(networks), name, dim, digest })
}

/// What is wrong, at the setting that names the file it is wrong with.
fn refused(parts: &Parts, files: &LatentFiles, error: &NetworkError) -> Problem {
    let problem = Problem::new(error.to_string());
    let NetworkError::Onnx(error) = error else { return problem };
    let key = match error {
        OnnxError::Condition { .. } if files.condition.is_some() => Some(CONDITION),
        error => error.file().and_then(|file| {
            let own = [
                (GENERATOR, Some(&files.generator)),
                (REWARD, Some(&files.reward)),
                (EMBEDDING, files.embedding.as_ref()),
            ];
            own.into_iter().find(|(_, own)| own.is_some_and(|own| own == file)).map(|(key, _)| key)
        }),
    };
    match key.and_then(|key| parts.entry(key)) {
        Some(entry) => problem.at(entry.place.clone(), "because of this"),
        None => problem,
    }
}

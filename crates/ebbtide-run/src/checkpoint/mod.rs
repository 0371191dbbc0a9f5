//! Checkpoints: all that a training is, as safetensors that any tool can open.
//!
//! A folder has the newest two, `000012500.safetensors` after 12,500 iterations, and `best-000012000.safetensors`, the weights of the best
//! evaluation. Weights are tensors by the names of their layers (`weights.generation.head.weight`), the rest by the names of
//! [`State::arrays`]. The header tells format, program, settings and a checksum.
//!
//! ```
//! # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
//! # use ebbtide_run::{Stop, run::Run, settings::Preset};
//! # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
//! # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
//! # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
//! # settings.keeping.evaluate_every = 2;
//! # let run = Run::begin(runs.path(), settings, &threads)?;
//! # let folder = run.folder().to_owned();
//! # run.go(&Stop::new(), &mut ())?;
//! use std::fs;
//!
//! use ebbtide_run::checkpoint::{CheckpointError, Damage, Progress, Stored, newest};
//! use ebbtide_run::{folder::Files, run::read_settings};
//!
//! // `folder` has a run of six iterations with a line of metrics for the last.
//! let (files, mut remarks) = (Files(&folder), Vec::new());
//! let stored: Stored = newest(&files.checkpoints(), &mut remarks)?.expect("a run that ended has one");
//! assert_eq!(stored.settings()?, fs::read_to_string(files.config())?);
//! let Progress { journal, recorded, .. } = stored.progress()?;
//! assert_eq!((journal, recorded), (fs::metadata(files.metrics())?.len(), Some(6)));
//! let state = stored.state(&read_settings(&folder)?.validate()?.model().layout)?;
//! assert_eq!(state.iteration(), 6);
//!
//! // One bit that is not what it was.
//! let path = files.checkpoints().join("000000006.safetensors");
//! let mut bytes = fs::read(&path)?;
//! *bytes.last_mut().expect("there are some") ^= 1;
//! fs::write(&path, bytes)?;
//! let found = newest(&files.checkpoints(), &mut remarks).err();
//! assert!(matches!(found, Some(CheckpointError::AllDamaged { newest: Damage::Checksum, .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod file;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::network::Layout;
use ebbtide::train::{Array, ArrayRef, State, StateError};
use serde::{Deserialize, Serialize};

use crate::Figures;
use crate::best::Best;
use crate::durable::{self, FileError};
use crate::window::Window;
use file::{Contents, Tensor};

/// What a run knows besides the state of its training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Seconds of training, evaluations not counted.
    pub seconds: f64,
    /// Sums since the last line of metrics.
    pub window: Window,
    /// The best evaluation.
    pub best: Best,
    /// The last one, and its iteration.
    pub evaluated: Option<(u64, Figures)>,
    /// How long the metrics are, in bytes.
    pub journal: u64,
    /// The iteration of the last line.
    pub recorded: Option<u64>,
}

/// A checkpoint as it was read: whole, and as it was written.
pub struct Stored {
    path: PathBuf,
    iteration: u64,
    contents: Contents,
}

/// Weights alone, as they were read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weights {
    /// All parameters, in the order of the layout.
    pub parameters: Vec<f32>,
    /// Iterations that made them.
    pub iteration: u64,
    /// log Ẑ, as it stood then. Best weights of older versions are without.
    pub log_z: Option<f64>,
}

/// Why a checkpoint cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not what it should be.
    #[error("{} cannot be used: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// There are checkpoints, but none that can be read.
    #[error("none of the checkpoints in {} can be used; the newest: {newest}", folder.display())]
    AllDamaged {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with the newest.
        newest: Damage,
    },
    /// There are none.
    #[error("{} has no checkpoint{}", folder.display(), other_weights(folder))]
    None {
        /// The folder.
        folder: PathBuf,
    },
    /// There was no evaluation.
    #[error("{} has no best weights: there was no evaluation yet", folder.display())]
    NoBest {
        /// The folder.
        folder: PathBuf,
    },
}

/// What is wrong with the contents of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The format of the file itself.
    #[error("it is not a whole safetensors file ({0})")]
    Format(#[from] safetensors::SafeTensorError),
    /// Another program's, or of another time.
    #[error(
        "it was not written by a version of this program that this one understands (its format is {0:?})"
    )]
    Version(String),
    /// The header lacks something.
    #[error("its header has no {0}")]
    Header(&'static str),
    /// The checksum differs.
    #[error("its checksum is wrong: the file was damaged after it was written")]
    Checksum,
    /// The file was given another name.
    #[error("it does not say that it is of the iteration in its name")]
    Name,
    /// A tensor has numbers of an unknown kind.
    #[error("its tensor `{0}` has numbers of a kind that no checkpoint has")]
    Kind(String),
    /// The weights belong to another network.
    #[error("its tensor `{name}` does not fit the network of the configuration")]
    Weights {
        /// The tensor.
        name: String,
    },
    /// The rest belongs to another training.
    #[error(transparent)]
    State(#[from] StateError),
}

/// That there are the best weights, where there are.
fn other_weights(folder: &Path) -> &'static str {
    if named(folder, BEST).is_ok_and(|best| !best.is_empty()) {
        ", but the weights of its best evaluation: `--checkpoint best`"
    } else {
        " yet"
    }
}

const WEIGHTS: &str = "weights.";
const LIVE: &str = "parameters";
const AVERAGED: &str = "averaged-parameters";
const ITERATION: &str = "iteration";
const LOG_Z: &str = "log-z";
const BEST: &str = "best-";
const ASIDE: &str = "aside-";
const SUFFIX: &str = ".safetensors";

/// How many checkpoints are kept: the newest, and the one before in case something happens to it.
const KEPT: usize = 2;

/// Writes a checkpoint, and removes those that are no longer needed.
pub(crate) fn save(
    folder: &Path,
    state: &State,
    layout: &Layout,
    progress: &Progress,
    settings: &str,
) -> Result<PathBuf, FileError> {
    let path = file_of(folder, state.iteration());
    let (sampled, parameters) = state.learner().sampled();
    let mut tensors = weights(parameters, layout);
    let rest = state.arrays().into_iter().filter(|(name, _)| *name != sampled);
    tensors.extend(rest.map(|(name, array)| (name.to_owned(), Tensor::flat(array))));
    let progress = serde_json::to_string(progress).expect("progress is JSON");
    file::write(&path, tensors, [("settings", settings), ("progress", &progress)])?;
    for (_, old) in numbered(folder)?.into_iter().rev().skip(KEPT) {
        fs::remove_file(&old).map_err(FileError::of("remove", &old))?;
    }
    durable::sync_folder(folder).map_err(FileError::of("make sure of", folder))?;
    Ok(path)
}

/// Writes the weights as the best so far.
pub(crate) fn save_best(
    folder: &Path,
    state: &State,
    layout: &Layout,
    settings: &str,
) -> Result<(), FileError> {
    let mut tensors = weights(state.learner().sampled().1, layout);
    let log_z = [state.learner().log_z() as f32];
    tensors.push((LOG_Z.to_owned(), Tensor::flat(ArrayRef::F32(&log_z))));
    tensors.push((ITERATION.to_owned(), Tensor::flat(ArrayRef::U64(state.iteration()))));
    file::write(
        &folder.join(format!("{BEST}{:09}{SUFFIX}", state.iteration())),
        tensors,
        [("settings", settings)],
    )
}

/// Removes best weights but those of this iteration. Others are of evaluations that are outdone, or that a run which was
/// killed made after its last checkpoint, and will make again. To be called when a checkpoint says which are the best.
pub(crate) fn keep_best(folder: &Path, iteration: Option<u64>) -> Result<(), FileError> {
    for (_, path) in named(folder, BEST)?.into_iter().filter(|(of, _)| Some(*of) != iteration) {
        fs::remove_file(&path).map_err(FileError::of("remove", &path))?;
    }
    Ok(())
}

/// Puts checkpoints of more iterations than these aside: those that were passed over, and would be taken for the newest ones as long as a run has not
/// got there again. They are another run's, perhaps, so that they are not removed.
pub(crate) fn put_aside(folder: &Path, iterations: u64, remarks: &mut Vec<String>) -> Result<(), FileError> {
    for (of, path) in numbered(folder)?.into_iter().filter(|(of, _)| *of > iterations) {
        let named = |copy: u64| folder.join(format!("{ASIDE}{copy}-{of:09}{SUFFIX}"));
        let mut copy = 1;
        while named(copy).exists() {
            copy += 1;
        }
        let place = named(copy);
        fs::rename(&path, &place).map_err(FileError::of("rename", &path))?;
        remarks.push(format!("{} is {} now", path.display(), place.display()));
    }
    Ok(())
}

/// Whether a checkpoint of this iteration is there, of whatever use it may be.
pub(crate) fn is_there(folder: &Path, iteration: u64) -> bool {
    file_of(folder, iteration).exists()
}

/// The file of a checkpoint.
fn file_of(folder: &Path, iteration: u64) -> PathBuf {
    folder.join(format!("{iteration:09}{SUFFIX}"))
}

/// The newest checkpoint that is whole, if there is any at all. A damaged one is passed over with a remark.
pub fn newest(folder: &Path, remarks: &mut Vec<String>) -> Result<Option<Stored>, CheckpointError> {
    newest_before(folder, u64::MAX, remarks)
}

/// The same among those of fewer iterations than `end`.
pub(crate) fn newest_before(
    folder: &Path,
    end: u64,
    remarks: &mut Vec<String>,
) -> Result<Option<Stored>, CheckpointError> {
    let mut first = None;
    let older = numbered(folder)?.into_iter().filter(|(iteration, _)| *iteration < end);
    for (iteration, path) in older.rev() {
        match open(&path).and_then(|contents| Stored::new(path.clone(), iteration, contents)) {
            Ok(stored) => return Ok(Some(stored)),
            // Whole, for all that anybody can tell, and newer than what this program could go on with.
            Err(error @ CheckpointError::Damaged { damage: Damage::Version(_), .. }) => return Err(error),
            Err(CheckpointError::Damaged { damage, path }) => {
                remarks.push(format!("{} cannot be used: {damage}; the one before is taken", path.display()));
                first.get_or_insert(damage);
            }
            Err(error) => return Err(error),
        }
    }
    match first {
        None => Ok(None),
        Some(newest) => Err(CheckpointError::AllDamaged { folder: folder.to_owned(), newest }),
    }
}

impl Stored {
    /// Makes sure that a file is what its name says.
    fn new(path: PathBuf, iteration: u64, contents: Contents) -> Result<Self, CheckpointError> {
        let stored = Self { path, iteration, contents };
        match stored.contents.arrays.get(ITERATION) {
            Some(Array::U64(written)) if *written == [iteration] => Ok(stored),
            _ => Err(stored.damaged(Damage::Name)),
        }
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Iterations that made it.
    pub(crate) fn iteration(&self) -> u64 {
        self.iteration
    }

    /// The settings it was made with, in TOML.
    pub fn settings(&self) -> Result<&str, CheckpointError> {
        self.contents.header("settings").map_err(|damage| self.damaged(damage))
    }

    /// What the run knew besides the training.
    pub fn progress(&self) -> Result<Progress, CheckpointError> {
        let text = self.contents.header("progress");
        let parsed = text.and_then(|text| serde_json::from_str(text).map_err(|_| Damage::Header("progress")));
        parsed.map_err(|damage| self.damaged(damage))
    }

    /// The weights alone.
    pub(crate) fn weights(mut self, layout: &Layout) -> Result<Weights, CheckpointError> {
        let parameters =
            take_weights(&mut self.contents.arrays, layout).map_err(|damage| self.damaged(damage))?;
        let log_z = match self.contents.arrays.get(LOG_Z) {
            Some(Array::F32(values)) => values.first().copied().map(f64::from),
            _ => None,
        };
        Ok(Weights { parameters, iteration: self.iteration, log_z })
    }

    /// The training.
    pub fn state(mut self, layout: &Layout) -> Result<State, CheckpointError> {
        let parameters =
            take_weights(&mut self.contents.arrays, layout).map_err(|damage| self.damaged(damage))?;
        let mut arrays = std::mem::take(&mut self.contents.arrays);
        // Those that learn are there too, if they are others than those that samples are drawn with.
        let name = if arrays.contains_key(LIVE) { AVERAGED } else { LIVE };
        arrays.insert(name.to_owned(), Array::F32(parameters));
        State::from_arrays(arrays).map_err(|error| self.damaged(error.into()))
    }

    fn damaged(&self, damage: Damage) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.clone(), damage }
    }
}

/// The weights of the best evaluation.
pub(crate) fn best(folder: &Path) -> Result<Stored, CheckpointError> {
    let newest = named(folder, BEST)?.pop();
    let (iteration, path) = newest.ok_or_else(|| CheckpointError::NoBest { folder: folder.to_owned() })?;
    let contents = open(&path)?;
    Stored::new(path, iteration, contents)
}

fn open(path: &Path) -> Result<Contents, CheckpointError> {
    let bytes = fs::read(path).map_err(FileError::of("read", path))?;
    file::parse(&bytes).map_err(|damage| CheckpointError::Damaged { path: path.to_owned(), damage })
}

/// The parameter vector as tensors by name.
fn weights<'a>(parameters: &'a [f32], layout: &Layout) -> Vec<(String, Tensor<'a>)> {
    let tensors = layout.tensors();
    tensors
        .map(|(name, tensor)| {
            (format!("{WEIGHTS}{name}"), Tensor::matrix(tensor.inputs, tensor.outputs, tensor.of(parameters)))
        })
        .collect()
}

/// Puts the parameter vector together again.
fn take_weights(arrays: &mut BTreeMap<String, Array>, layout: &Layout) -> Result<Vec<f32>, Damage> {
    let mut parameters = Vec::new();
    for (name, tensor) in layout.tensors() {
        let name = format!("{WEIGHTS}{name}");
        match arrays.remove(&name) {
            Some(Array::F32(values)) if values.len() == tensor.range().len() => parameters.extend(values),
            _ => return Err(Damage::Weights { name }),
        }
    }
    Ok(parameters)
}

/// Checkpoints in a folder, by rising iteration.
fn numbered(folder: &Path) -> Result<Vec<(u64, PathBuf)>, FileError> {
    named(folder, "")
}

/// Files in a folder named `<beginning><iteration>.safetensors`, by rising iteration.
fn named(folder: &Path, beginning: &str) -> Result<Vec<(u64, PathBuf)>, FileError> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map_err(FileError::of("list", folder))?;
    for entry in entries {
        let path = entry.map_err(FileError::of("list", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix(beginning)?.strip_suffix(SUFFIX)?.parse().ok());
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

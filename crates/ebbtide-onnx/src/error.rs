//! Why a file is no network that could be used, or could not be asked.

use std::io;
use std::path::{Path, PathBuf};

use crate::Engine;

/// Why a file is no network that could be used, or could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is not what an ONNX file looks like.
    #[error("{} is no ONNX file, or only a part of one: {reason}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Its inputs or outputs are not those of the network that is needed.
    #[error("{}: expected {expected}, found {found}", file.display())]
    Signature {
        /// The file.
        file: PathBuf,
        /// What the network must have.
        expected: String,
        /// What it has.
        found: String,
    },
    /// It asks for more memory than any network of its kind.
    #[error(
        "{}: {what} would take {size} bytes of memory, more than the {limit} that a network of its size may take",
        file.display()
    )]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// Which part of it.
        what: String,
        /// Bytes, as far as they can be counted.
        size: u128,
        /// The most that are allowed.
        limit: u128,
    },
    /// Nobody can tell how much memory it asks for.
    #[error(
        "{}: {what} is as large as the numbers say that it is computed from, which the engine tract does not take; onnxruntime may (`--engine ort`)",
        file.display()
    )]
    Unbounded {
        /// The file.
        file: PathBuf,
        /// Which part of it.
        what: String,
    },
    /// The engine does not know an operator.
    #[error(
        "{} needs the operator `{operator}`, which the engine tract does not have; onnxruntime may (`--engine ort`)",
        file.display()
    )]
    Operator {
        /// The file.
        file: PathBuf,
        /// The operator.
        operator: String,
    },
    /// The engine cannot make anything of it.
    #[error("{} cannot be used with the engine {engine}: {reason}", file.display())]
    Prepare {
        /// The file.
        file: PathBuf,
        /// The engine.
        engine: Engine,
        /// What it said.
        reason: String,
    },
    /// It could not be evaluated.
    #[error("{} could not be evaluated by the engine {engine}: {reason}", file.display())]
    Evaluate {
        /// The file.
        file: PathBuf,
        /// The engine.
        engine: Engine,
        /// What it said.
        reason: String,
    },
    /// The condition is not what the reward asks for.
    #[error("{}: {reason}", file.display())]
    Condition {
        /// The reward.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// onnxruntime is not there.
    #[error(
        "the engine ort needs the library of onnxruntime, 1.17 or later ({reason}): `pip install onnxruntime` in the active environment, or let \
         ORT_DYLIB_PATH say where libonnxruntime is; the engine tract needs nothing"
    )]
    NoRuntime {
        /// What was tried, and what came of it.
        reason: String,
    },
}

impl OnnxError {
    /// The file that something is wrong with.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Read { file, .. }
            | Self::Malformed { file, .. }
            | Self::Signature { file, .. }
            | Self::TooLarge { file, .. }
            | Self::Unbounded { file, .. }
            | Self::Operator { file, .. }
            | Self::Prepare { file, .. }
            | Self::Evaluate { file, .. }
            | Self::Condition { file, .. } => Some(file),
            Self::NoRuntime { .. } => None,
        }
    }
}

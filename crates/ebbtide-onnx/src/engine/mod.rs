//! What evaluates a network.

mod library;
mod memory;
mod ort;
mod tract;

use std::fmt;
use std::str::FromStr;

use crate::{Model, OnnxError};

pub use library::Library;

/// What evaluates networks.
///
/// ```
/// use ebbtide_onnx::{Engine, Library, OnnxError, UnknownEngine};
///
/// for engine in Engine::ALL {
///     assert_eq!(engine.name().parse::<Engine>(), Ok(engine));
/// }
/// assert_eq!("torch".parse::<Engine>(), Err(UnknownEngine("torch".to_owned())));
///
/// // onnxruntime is taken where its library is found.
/// match Library::load() {
///     Ok(library) => {
///         assert!(library.file.is_file());
///         assert_eq!(Engine::fastest(), Engine::Ort);
///     }
///     Err(error) => {
///         assert!(matches!(error, OnnxError::NoRuntime { .. }));
///         assert_eq!(Engine::fastest(), Engine::Tract);
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Part of this program.
    Tract,
    /// onnxruntime, whose library is looked for when it is needed.
    Ort,
}

impl Engine {
    /// Both.
    pub const ALL: [Engine; 2] = [Engine::Tract, Engine::Ort];

    /// The faster one that is there: onnxruntime, if its library is found.
    pub fn fastest() -> Self {
        if Library::load().is_ok() { Engine::Ort } else { Engine::Tract }
    }

    /// `tract` or `ort`.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Tract => "tract",
            Engine::Ort => "ort",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no engine has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no engine named `{0}`; there are tract and ort")]
pub struct UnknownEngine(pub String);

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        Engine::ALL
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

/// Numbers in some shape, the last axis the fastest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// A network that an engine has made ready for inputs of certain shapes.
pub(crate) trait Prepared: Send + Sync {
    /// The outputs that are wanted, for inputs of the shapes that it was made ready for. `threads` is how many the engine itself may use.
    fn run(&self, inputs: Vec<Tensor>, threads: usize) -> Result<Vec<Tensor>, OnnxError>;

    /// Whether the engine uses several threads itself: whoever asks then asks from one.
    fn is_threaded(&self) -> bool;
}

/// Makes a network ready for inputs of these shapes; of its outputs, those of these numbers are wanted.
pub(crate) fn prepare(
    engine: Engine,
    model: &Model,
    shapes: &[Vec<usize>],
    wanted: &[usize],
) -> Result<Box<dyn Prepared>, OnnxError> {
    match engine {
        Engine::Tract => Ok(Box::new(tract::Plan::new(model, shapes, wanted)?)),
        Engine::Ort => Ok(Box::new(ort::Session::new(model, wanted)?)),
    }
}

//! onnxruntime, if it is there.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use ort::session::SessionInputValue;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor as Value;

use super::library::Library;
use super::{Engine, Prepared, Tensor};
use crate::{Model, OnnxError};

/// A network in onnxruntime.
pub struct Session {
    file: PathBuf,
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// With how many threads, once it is known.
    session: Mutex<Option<(usize, ort::session::Session)>>,
}

impl Session {
    pub fn new(model: &Model, wanted: &[usize]) -> Result<Self, OnnxError> {
        let session = Self {
            file: model.file().to_owned(),
            inputs: model.inputs().iter().map(|port| port.name.clone()).collect(),
            outputs: wanted.iter().map(|output| model.outputs()[*output].name.clone()).collect(),
            session: Mutex::new(None),
        };
        *session.session.lock().unwrap_or_else(PoisonError::into_inner) = Some((1, session.open(1)?));
        Ok(session)
    }

    fn open(&self, threads: usize) -> Result<ort::session::Session, OnnxError> {
        let library = Library::load()?;
        let refused = |error: ort::Error| OnnxError::Prepare {
            file: self.file.clone(),
            engine: Engine::Ort,
            reason: error.to_string(),
        };
        let open = || -> ort::Result<_> {
            ort::session::Session::builder(&library.environment)?
                .with_optimization_level(GraphOptimizationLevel::All)?
                .with_intra_threads(threads)?
                // Its threads would wait awake while ours work.
                .with_intra_op_spinning(false)?
                .with_deterministic_compute(true)?
                .commit_from_file(&self.file)
        };
        open().map_err(refused)
    }
}

impl Prepared for Session {
    fn run(&self, inputs: Vec<Tensor>, threads: usize) -> Result<Vec<Tensor>, OnnxError> {
        let mut place = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &mut *place {
            Some((with, session)) if *with == threads => session,
            other => &mut other.insert((threads, self.open(threads)?)).1,
        };
        let mut ask = || -> ort::Result<Vec<Tensor>> {
            let mut named: Vec<(String, SessionInputValue)> = Vec::with_capacity(inputs.len());
            for (name, input) in self.inputs.iter().zip(&inputs) {
                let value = Value::from_array((input.shape.clone(), input.values.clone()))?;
                named.push((name.clone(), value.into()));
            }
            let answers = session.run(named)?;
            let read = |name: &String| {
                let (shape, values) = answers[name.as_str()].try_extract_tensor::<f32>()?;
                let shape = shape.iter().map(|length| *length as usize).collect();
                Ok(Tensor { shape, values: values.to_vec() })
            };
            self.outputs.iter().map(read).collect()
        };
        ask().map_err(|error| OnnxError::Evaluate {
            file: self.file.clone(),
            engine: Engine::Ort,
            reason: error.to_string(),
        })
    }

    fn is_threaded(&self) -> bool {
        true
    }
}

//! What went wrong, as Python's exceptions.

use std::error::Error;
use std::fmt;

use ebbtide::metric::EvaluationError;
use ebbtide::pilot::PilotError;
use ebbtide::target::TargetError;
use ebbtide::train::TrainError;
use ebbtide_run::durable::FileError;
use ebbtide_run::run::RunError;
use ebbtide_run::settings::Problems;
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;

/// An exception of the user's own, on its way through the engine.
#[derive(Debug)]
pub struct Raised(pub PyErr);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Raised {}

/// How to do without a pilot.
const WHERE: &str = "location= and scale=, or bounds=";

/// One of the package's own exceptions.
fn exception(py: Python<'_>, module: &str, name: &str, message: String) -> PyErr {
    let made = py.import(module).and_then(|module| module.getattr(name)?.call1((message,)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// All that is wrong with settings: what, where, and what to try.
pub fn settings(py: Python<'_>, problems: &Problems) -> PyErr {
    let mut text = Vec::new();
    for problem in &problems.problems {
        text.push(problem.message.clone());
        for (place, label) in &problem.places {
            let source = &problems.sources[place.source];
            text.push(format!("    {} = {}    ← {label}", source.name, source.text));
        }
        text.extend(problem.help.iter().map(|help| format!("    {help}")));
    }
    exception(py, "ebbtide._errors", "SettingsError", text.join("\n"))
}

/// Why a run could not begin or go on.
pub fn run(py: Python<'_>, error: &RunError) -> PyErr {
    match error {
        RunError::Train(TrainError::Target { iteration, source }) => density(py, source, Some(*iteration)),
        RunError::Evaluation { iteration, source: EvaluationError::Target(error) } => {
            density(py, error, Some(*iteration))
        }
        RunError::Target(error) => density(py, error, None),
        RunError::Pilot(PilotError::Target(error)) => {
            let raised = density(py, error, None);
            let note = format!("a pilot was looking for the density, near and far; {WHERE}, say where it is");
            let _ = raised.value(py).call_method1("add_note", (note,));
            raised
        }
        RunError::Pilot(nowhere) => {
            exception(py, "ebbtide._errors", "RunError", format!("{nowhere}: {WHERE}"))
        }
        RunError::Problems(problems) => settings(py, problems),
        RunError::File(error) => file(error),
        other => exception(py, "ebbtide._errors", "RunError", other.to_string()),
    }
}

/// Why a sampler could not be evaluated.
pub fn evaluation(py: Python<'_>, error: &EvaluationError) -> PyErr {
    match error {
        EvaluationError::Target(error) => density(py, error, None),
        other => exception(py, "ebbtide._errors", "RunError", other.to_string()),
    }
}

/// The system's own reason, as Python tells it.
pub fn file(error: &FileError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Any other error.
pub fn other(error: impl Error) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// What a density did: an exception of its own comes back as itself, with the iteration it was raised in, if in any.
pub fn density(py: Python<'_>, error: &TargetError, iteration: Option<u64>) -> PyErr {
    let (raised, about) = match error {
        TargetError::Failed(reason) => match reason.downcast_ref::<Raised>() {
            Some(Raised(raised)) => (raised.clone_ref(py), None),
            None => (exception(py, "ebbtide._density", "DensityError", reason.to_string()), None),
        },
        TargetError::Impossible { row, point, .. } => {
            (exception(py, "ebbtide._density", "DensityError", error.to_string()), Some((Some(*row), point)))
        }
        TargetError::Gradient { point, .. } => {
            (exception(py, "ebbtide._density", "DensityError", error.to_string()), Some((None, point)))
        }
        other => (exception(py, "ebbtide._density", "DensityError", other.to_string()), None),
    };
    let value = raised.value(py);
    // Exceptions that take no attributes, or no notes before Python 3.11, come back without.
    if let Some((row, point)) = about {
        let _ = value.setattr("row", row);
        let _ = value.setattr("point", PyArray1::from_slice(py, point));
    }
    let _ = value.setattr("iteration", iteration);
    if let Some(iteration) = iteration {
        let _ = value.call_method1("add_note", (format!("in iteration {iteration} of the training"),));
    }
    raised
}

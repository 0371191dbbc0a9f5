//! Trainings: from the beginning, or from where one was.

use std::path::PathBuf;

use ebbtide::trajectory::Threads;
use ebbtide_run::folder::{Folder, is_run};
use ebbtide_run::run::{Run, RunError, read_settings};
use pyo3::exceptions::PyFileExistsError;
use pyo3::prelude::*;

use crate::asked::{Entries, oracle, resolve};
use crate::failure;
use crate::watcher::{Stop, Watcher};

/// Trains a new sampler in a folder; the outcome in JSON.
#[pyfunction]
pub fn train(
    py: Python<'_>,
    entries: Entries,
    density: Option<Bound<'_, PyAny>>,
    folder: PathBuf,
    threads: usize,
    stop: &Stop,
    display: Option<Py<PyAny>>,
) -> PyResult<String> {
    if is_run(&folder) {
        let path = folder.display();
        let text = format!(
            "there is a run in {path} already; go on with it (ebbtide.resume), or choose another folder"
        );
        return Err(PyFileExistsError::new_err(text));
    }
    let mut settings = resolve(py, &entries)?;
    if let Some(oracle) = oracle(density, settings.target.dim())? {
        settings.target.bring(oracle).map_err(|error| failure::run(py, &error.into()))?;
    }
    go(py, stop, display, move || {
        let threads = Threads::new(threads)?;
        Run::begin_in(Folder::at(&folder)?, settings, &threads)
    })
}

/// Goes on with the training in a folder; the outcome in JSON.
#[pyfunction]
pub fn resume(
    py: Python<'_>,
    folder: PathBuf,
    density: Option<Bound<'_, PyAny>>,
    iterations: Option<u64>,
    threads: usize,
    stop: &Stop,
    display: Option<Py<PyAny>>,
) -> PyResult<String> {
    let settings = read_settings(&folder).map_err(|error| failure::run(py, &error))?;
    let oracle = oracle(density, settings.target.dim())?;
    go(py, stop, display, move || {
        Run::resume_in(Folder::open(&folder)?, iterations, oracle, &Threads::new(threads)?)
    })
}

/// Without the interpreter's lock, but for questions to the density and a display.
fn go(
    py: Python<'_>,
    stop: &Stop,
    display: Option<Py<PyAny>>,
    run: impl FnOnce() -> Result<Run, RunError> + Send,
) -> PyResult<String> {
    let mut watcher = Watcher::new(stop.0.clone(), display);
    let outcome = py.detach(|| run()?.go(&stop.0, &mut watcher));
    let outcome = outcome.map_err(|error| failure::run(py, &error))?;
    match watcher.interrupted() {
        Some(error) => Err(error),
        None => Ok(serde_json::to_string(&outcome).expect("outcomes are JSON")),
    }
}

/// Writes the page of a run.
#[pyfunction]
pub fn write_report(
    py: Python<'_>,
    folder: PathBuf,
    path: PathBuf,
    density: Option<Bound<'_, PyAny>>,
    threads: usize,
) -> PyResult<()> {
    let settings = read_settings(&folder).map_err(|error| failure::run(py, &error))?;
    let oracle = oracle(density, settings.target.dim())?;
    py.detach(|| {
        let threads = Threads::new(threads).map_err(failure::other)?;
        ebbtide_report::keep::write_report(&folder, &path, oracle, &threads).map_err(failure::other)
    })
}

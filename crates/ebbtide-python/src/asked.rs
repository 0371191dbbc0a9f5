//! What is asked of a training.

use std::sync::Arc;

use ebbtide::target::Oracle;
use ebbtide_run::settings::{Draft, Settings, Strictness};
use pyo3::prelude::*;

use crate::callable::Callable;
use crate::failure;

/// Settings by name, with values as TOML has them.
pub type Entries = Vec<(String, String)>;

/// Reads settings, checked as a whole.
pub fn resolve(py: Python<'_>, entries: &Entries) -> PyResult<Settings> {
    let mut draft = Draft::new();
    for (key, value) in entries {
        draft.flag(key, key, value);
    }
    draft.resolve(Strictness::Strict).map_err(|problems| failure::settings(py, &problems))
}

/// The density that somebody brings, if there is one.
pub fn oracle(density: Option<Bound<'_, PyAny>>, dim: usize) -> PyResult<Option<Arc<dyn Oracle>>> {
    let brought = density.map(|density| Callable::new(density, dim)).transpose()?;
    Ok(brought.map(|callable| Arc::new(callable) as Arc<dyn Oracle>))
}

/// Every setting with its value, those given and all others.
#[pyfunction]
pub fn configuration(py: Python<'_>, entries: Entries) -> PyResult<String> {
    Ok(resolve(py, &entries)?.to_toml())
}

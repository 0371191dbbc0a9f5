//! The compiled half of the `ebbtide` package for Python. The other half, in `python/ebbtide`, is what people see: this one has as few words as
//! will do, and speaks plain numbers, arrays and JSON.
//!
//! `callable` → `asked` → `training` → `trained`, with `watcher` looking on and `failure` telling what went wrong.

mod asked;
mod callable;
mod failure;
mod named;
mod trained;
mod training;
mod watcher;
mod witnessed;

use pyo3::prelude::*;

#[pymodule(name = "_ebbtide")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::asked::configuration;
    #[pymodule_export]
    use crate::named::{NamedDensity, methods, targets};
    #[pymodule_export]
    use crate::trained::Trained;
    #[pymodule_export]
    use crate::training::{resume, train, write_report};
    #[pymodule_export]
    use crate::watcher::Stop;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// An (n, dim) array that owns its numbers.
fn rows<'py, T: numpy::Element>(
    py: Python<'py>,
    numbers: Vec<T>,
    dim: usize,
) -> PyResult<Bound<'py, numpy::PyArray2<T>>> {
    use numpy::PyArrayMethods;

    let count = numbers.len() / dim;
    numpy::PyArray1::from_vec(py, numbers).reshape([count, dim])
}

//! The compiled half of the `ebbtide` package for Python; the other half is in `python/ebbtide`.

use pyo3::prelude::*;

#[pymodule(name = "_ebbtide")]
mod module {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

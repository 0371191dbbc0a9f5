//! A Python object that knows a log density.

use ebbtide::target::{Oracle, TargetError};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::failure::Raised;
use crate::rows;

/// A `Density` of the package's other half, which hands over arrays of the right shapes or raises.
pub struct Callable {
    density: Py<PyAny>,
    dim: usize,
    has_gradient: bool,
}

impl Callable {
    /// The density, of points with so many coordinates.
    pub fn new(density: Bound<'_, PyAny>, dim: usize) -> PyResult<Self> {
        let has_gradient = density.getattr("has_gradient")?.extract()?;
        Ok(Self { density: density.unbind(), dim, has_gradient })
    }

    /// Asks, with the interpreter's lock, which nobody holds while samplers train.
    fn ask(
        &self,
        points: Vec<f64>,
        answer: impl FnOnce(&Bound<'_, PyAny>, Bound<'_, PyArray2<f64>>) -> PyResult<()>,
    ) -> Result<(), TargetError> {
        Python::attach(|py| {
            let points = rows(py, points, self.dim)?;
            answer(self.density.bind(py), points)
        })
        .map_err(|error: PyErr| TargetError::failed(Raised(error)))
    }
}

impl Oracle for Callable {
    fn dim(&self) -> usize {
        self.dim
    }

    fn has_gradient(&self) -> bool {
        self.has_gradient
    }

    fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
        self.ask(points, |density, points| {
            let values = density.call_method1("value", (points,))?.cast_into::<PyArray1<f64>>()?;
            out.copy_from_slice(values.readonly().as_slice()?);
            Ok(())
        })
    }

    fn log_density_and_gradient(
        &self,
        points: Vec<f64>,
        out: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), TargetError> {
        self.ask(points, |density, points| {
            type Both<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);
            let (values, slopes): Both = density.call_method1("value_and_gradient", (points,))?.extract()?;
            out.copy_from_slice(values.readonly().as_slice()?);
            gradient.copy_from_slice(slopes.readonly().as_slice()?);
            Ok(())
        })
    }
}

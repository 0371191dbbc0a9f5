//! The targets that come along.

use ebbtide::objective::Method;
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::{NamedTarget, Target};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::{failure, rows};

/// Names of all targets.
#[pyfunction]
pub fn targets() -> Vec<&'static str> {
    NamedTarget::ALL.map(NamedTarget::name).to_vec()
}

/// Names of all methods.
#[pyfunction]
pub fn methods() -> Vec<&'static str> {
    Method::ALL.map(Method::name).to_vec()
}

/// A target that comes along.
#[pyclass(frozen)]
pub struct NamedDensity {
    name: NamedTarget,
    target: Box<dyn Target>,
}

#[pymethods]
impl NamedDensity {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        let name: NamedTarget = name.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
        Ok(Self { name, target: name.build() })
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.name.name()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.target.dim()
    }

    /// log Z, exactly or by a reference, with its standard error and where it comes from.
    #[getter]
    fn log_z(&self) -> Option<(f64, f64, String)> {
        let exact = self.target.log_z().map(|log_z| (log_z, 0.0, "exact".to_owned()));
        exact.or_else(|| {
            self.name.reference().map(|known| (known.log_z, known.error, known.source.to_owned()))
        })
    }

    /// Log densities of points.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (points, mut values) = (points.as_slice()?, vec![0.0; points.shape()[0]]);
        let asked = py.detach(|| self.target.log_density(points, &mut values));
        asked.map_err(|error| failure::density(py, &error, None))?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The gradient at points.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (points, count) = (points.as_slice()?, points.shape()[0]);
        let (mut values, mut slopes) = (vec![0.0; count], vec![0.0; points.len()]);
        let differentiable =
            self.target.differentiable().ok_or_else(|| PyValueError::new_err("it has no gradient"))?;
        let asked = py.detach(|| differentiable.log_density_and_gradient(points, &mut values, &mut slopes));
        asked.map_err(|error| failure::density(py, &error, None))?;
        rows(py, slopes, self.target.dim())
    }

    /// Exact draws, where they can be made.
    fn sample<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let drawable = self
            .target
            .drawable()
            .ok_or_else(|| PyValueError::new_err(format!("{} has no exact draws", self.name)))?;
        let mut draws = vec![0.0; count * self.target.dim()];
        let drawn = py.detach(|| drawable.draw(Address::new(seed, Purpose::ExactDraw, 0), &mut draws));
        drawn.map_err(|error| failure::density(py, &error, None))?;
        rows(py, draws, self.target.dim())
    }
}

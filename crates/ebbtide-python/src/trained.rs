//! A trained sampler.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ebbtide::metric::{EvaluationOptions, evaluate};
use ebbtide::target::Target;
use ebbtide::trajectory::Threads;
use ebbtide_run::draws::Choice;
use ebbtide_run::reading::Reading;
use ebbtide_run::run::{RunError, read_outcome, read_settings};
use ebbtide_run::trained::Which;
use ebbtide_run::{Outcome, Status, Stop};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::asked::oracle;
use crate::witnessed::Witnessed;
use crate::{failure, rows};

/// What draws are, and what they weigh.
type Points<'py> = Bound<'py, PyArray2<f32>>;
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// The weights of a run, in memory: its folder is not needed any more.
#[pyclass(frozen)]
pub struct Trained {
    inner: Mutex<ebbtide_run::trained::Trained>,
    dim: usize,
    /// How the run ended, as far as that is known.
    outcome: Option<Outcome>,
}

impl Trained {
    /// Works with the sampler, without the interpreter's lock. One at a time: a density that asks the sampler it is being asked by would wait
    /// for itself.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut ebbtide_run::trained::Trained) -> T + Send,
    ) -> PyResult<T> {
        let busy = "this sampler is at work already, in another thread or in its own density";
        py.detach(|| self.inner.try_lock().map(|mut inner| work(&mut inner)).map_err(|_| busy))
            .map_err(PyRuntimeError::new_err)
    }

    fn chosen(
        &self,
        py: Python<'_>,
        choice: Choice,
        count: usize,
        seed: u64,
    ) -> PyResult<ebbtide_run::draws::Chosen> {
        let proposals = choice.proposals(count);
        let drawn = self.with(py, |trained| trained.weighted(proposals, seed, &Stop::new()))?;
        let drawn = drawn.map_err(|error| failure::density(py, &error, None))?.expect("nobody asks to stop");
        choice.among(&drawn, count, seed).map_err(failure::other)
    }
}

#[pymethods]
impl Trained {
    /// Reads the `last` or the `best` weights of a run.
    #[new]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        which: &str,
        density: Option<Bound<'_, PyAny>>,
        threads: usize,
    ) -> PyResult<Self> {
        let which: Which = which.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
        let told = |error: RunError| failure::run(py, &error);
        let dim = read_settings(&folder).map_err(told)?.target.dim();
        let threads = Threads::new(threads).map_err(failure::other)?;
        let oracle = oracle(density, dim)?;
        let opened = ebbtide_run::trained::Trained::open_with(&folder, which, oracle, &threads);
        let outcome = read_outcome(&folder).ok().flatten();
        Ok(Self { inner: Mutex::new(opened.map_err(told)?), dim, outcome })
    }

    /// Settings by name, with values in TOML.
    fn settings(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        self.with(py, |trained| trained.settings.entries())
    }

    /// What is sampled, method, steps, seed and iterations.
    fn about(&self, py: Python<'_>) -> PyResult<(String, &'static str, usize, u64, u64)> {
        self.with(py, |trained| {
            let settings = &trained.settings;
            let name = settings.target.to_string();
            (name, settings.method_name(), settings.steps(), settings.config.seed, trained.iteration)
        })
    }

    #[getter]
    fn dim(&self) -> usize {
        self.dim
    }

    /// What a person should know about the files.
    fn remarks(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |trained| trained.remarks.clone())
    }

    /// Location and scale of the coordinates that were learned in, if they are not the density's own.
    fn placement(&self, py: Python<'_>) -> PyResult<Option<(Vec<f64>, Vec<f64>)>> {
        self.with(py, |trained| {
            trained.settings.placing.at().map(|at| (at.location().to_vec(), at.scale().to_vec()))
        })
    }

    /// Independent samples.
    fn sample<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Points<'py>> {
        let samples = self.with(py, |trained| {
            let mut samples = trained.sampler.sample(count, seed);
            trained.settings.placing.apply(&mut samples);
            samples
        })?;
        rows(py, samples, self.dim)
    }

    /// Samples and their log weights.
    fn weighted<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
    ) -> PyResult<(Points<'py>, Numbers<'py>)> {
        let drawn = self.with(py, |trained| trained.weighted(count, seed, &Stop::new()))?;
        let drawn = drawn.map_err(|error| failure::density(py, &error, None))?.expect("nobody asks to stop");
        Ok((rows(py, drawn.points, self.dim)?, PyArray1::from_vec(py, drawn.log_weights)))
    }

    /// Samples chosen by weight.
    fn resample<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Points<'py>> {
        rows(py, self.chosen(py, Choice::Resample, count, seed)?.points, self.dim)
    }

    /// A chain of samples, their log weights, and the share of proposals that were accepted.
    fn chain<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
    ) -> PyResult<(Points<'py>, Numbers<'py>, f64)> {
        let chosen = self.chosen(py, Choice::Chain, count, seed)?;
        let acceptance = chosen.acceptance.expect("chains have one");
        Ok((rows(py, chosen.points, self.dim)?, PyArray1::from_vec(py, chosen.log_weights), acceptance))
    }

    /// Whole paths, (n, steps + 1, dim), and their times.
    fn trajectories<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArray3<f32>>, Vec<f64>)> {
        let (states, times) = self.with(py, |trained| {
            let trajectories = trained.sampler.portion(0, count, seed);
            let mut states = Vec::new();
            trajectories.copy_with_origins(&mut states);
            trained.settings.placing.apply(&mut states);
            (states, trained.sampler.model().grid.times().to_vec())
        })?;
        let paths = PyArray1::from_vec(py, states).reshape([count, times.len(), self.dim])?;
        Ok((paths, times))
    }

    /// What the sampler is worth, in JSON: figures, a verdict, and what they mean. True samples, (n, dim), stand in for exact draws.
    fn evaluate(
        &self,
        py: Python<'_>,
        samples: usize,
        seed: u64,
        truth: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<String> {
        let count = truth.as_ref().map_or(samples, |truth| samples.min(truth.shape()[0]));
        let truth = truth.map(|truth| truth.as_slice().map(<[f64]>::to_vec)).transpose()?;
        let evaluated = self.with(py, |trained| {
            let target: Arc<dyn Target> = match truth {
                None => Arc::clone(&trained.target),
                Some(mut truth) => {
                    if let Some(at) = trained.settings.placing.at() {
                        truth.chunks_exact_mut(self.dim).for_each(|point| at.to_z(point));
                    }
                    let truth = truth.iter().map(|z| *z as f32).collect();
                    Arc::new(Witnessed::new(Arc::clone(&trained.target), truth))
                }
            };
            let transport = trained.target.drawable().is_some() && count <= MOST_TRANSPORT;
            let options = EvaluationOptions { samples: count, seed, iteration: trained.iteration, transport };
            let evaluation = evaluate(&*target, &mut trained.sampler, options)?;
            let status = self.outcome.as_ref().map_or(Status::Interrupted, |before| before.status.clone());
            let outcome = Outcome {
                samples: count,
                log_z_learned: trained.log_z_learned,
                ..Outcome::new(status, &trained.settings, &*target, trained.iteration)
            }
            .evaluated(&evaluation)
            .rewarded(&*trained.target, &evaluation, seed)?;
            let reading = Reading::of(&outcome, &*target);
            let words: Vec<&str> = reading.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
            Ok(json!({ "outcome": outcome, "verdict": reading.words(), "words": words }).to_string())
        })?;
        evaluated.map_err(|error| failure::evaluation(py, &error))
    }
}

/// More samples than this have no distance to exact draws: its cost grows as their cube.
const MOST_TRANSPORT: usize = 4096;

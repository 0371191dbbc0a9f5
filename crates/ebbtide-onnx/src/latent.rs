//! The latent space of a generator under a reward.

use std::f64::consts::PI;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use ebbtide::target::{Latent, Target, TargetError};

use crate::model::{FLOAT, Port, list};
use crate::network::{Input, Network};
use crate::spread::spread;
use crate::{Engine, Model, OnnxError};

/// Which networks, and how much the reward counts.
#[derive(Clone, Debug, PartialEq)]
pub struct LatentFiles {
    /// From a latent to data: one input, `[rows, latent]`, one output, `[rows, …]`.
    pub generator: PathBuf,
    /// From data to log r: one input of data, perhaps another one for the condition, one output, `[rows]` or `[rows, 1]`.
    pub reward: PathBuf,
    /// From data to numbers by which they are compared: one input, one output, `[rows, …]`.
    pub embedding: Option<PathBuf>,
    /// What the reward is conditioned on.
    pub condition: Option<Vec<f32>>,
    /// β, by which the log reward counts.
    pub beta: f64,
}

/// log p(z) = log N(z; 0, I) + β log r(g(z), y): latents whose decoded data follow prior × reward^β. Nothing is differentiated.
///
/// ```
/// use ebbtide::target::{Latent, Target};
/// use ebbtide_onnx::{Engine, LatentFiles, LatentSpace};
///
/// let files = LatentFiles {
///     generator: "tests/fixtures/plane.onnx".into(),
///     reward: "tests/fixtures/reward.onnx".into(),
///     embedding: None,
///     condition: None,
///     beta: 3.0,
/// };
/// let space = LatentSpace::load(&files, Engine::Tract)?;
/// space.employ(2);
/// assert_eq!(space.files(), [files.generator, files.reward]);
/// assert_eq!((space.dim(), space.shape()?), (2, &[3][..]));
///
/// let (z, mut log_density, mut log_reward) = ([0.6, -0.8], [0.0], [0.0]);
/// space.log_density(&z, &mut log_density)?;
/// space.log_reward(&z, &mut log_reward)?;
/// // This reward is −(x₀ − 0.8)² / 2 − (x₁ + 0.4)² − 0.75 (x₂ − 0.5)², and |z| is 1.
/// let x = space.decode(&z)?;
/// let by_hand = -0.5 * (x[0] - 0.8).powi(2) - (x[1] + 0.4).powi(2) - 0.75 * (x[2] - 0.5).powi(2);
/// assert!((log_reward[0] - f64::from(by_hand)).abs() < 1e-5);
/// let prior = -0.5 - (2.0 * std::f64::consts::PI).ln();
/// assert!((log_density[0] - (prior + 3.0 * log_reward[0])).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LatentSpace {
    generator: Network,
    reward: Network,
    embedding: Option<Network>,
    condition: Option<Vec<f32>>,
    /// Whether the condition is repeated for every row.
    repeats: bool,
    beta: f64,
    dim: usize,
    threads: AtomicUsize,
    files: Vec<PathBuf>,
}

impl LatentSpace {
    /// Reads and makes ready all networks, and sees that they go together.
    pub fn load(files: &LatentFiles, engine: Engine) -> Result<Self, OnnxError> {
        let model = Model::read(&files.generator)?;
        let mut all: Vec<PathBuf> = model.files().map(ToOwned::to_owned).collect();
        let dim = latent_dim(&model)?;
        let generator =
            Network::new(&model, engine, vec![Input::Rows(vec![dim])], &[only_output(&model, "data")?])?;
        let data = generator.outputs()[0].clone();

        let model = Model::read(&files.reward)?;
        all.extend(model.files().map(ToOwned::to_owned));
        let (mut inputs, condition) = (vec![data_input(&model, &data, 2)?], files.condition.as_deref());
        let whole = condition_input(&model, condition)?;
        let repeats = matches!(whole, Some(Input::Rows(_)));
        inputs.extend(whole);
        let reward = Network::new(&model, engine, inputs, &[named_output(&model, "log_reward")?])?;
        a_number(&model, &reward.outputs()[0], "log_reward")?;

        let embedding = match &files.embedding {
            None => None,
            Some(file) => {
                let model = Model::read(file)?;
                all.extend(model.files().map(ToOwned::to_owned));
                let input = data_input(&model, &data, 1)?;
                Some(Network::new(&model, engine, vec![input], &[only_output(&model, "embeddings")?])?)
            }
        };
        let (condition, beta) = (files.condition.clone(), files.beta);
        let threads = AtomicUsize::new(1);
        Ok(Self { generator, reward, embedding, condition, repeats, beta, dim, threads, files: all })
    }

    /// How many threads networks are evaluated on. What they answer does not depend on it.
    pub fn employ(&self, threads: usize) {
        self.threads.store(threads.max(1), Ordering::Relaxed);
    }

    /// All files that it consists of.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// What a function of decoded data says of points, one after the other.
    fn each<T: Send>(
        &self,
        points: &[f32],
        judge: impl Fn(usize, Vec<f32>, usize) -> Result<T, OnnxError> + Sync,
    ) -> Result<Vec<T>, TargetError> {
        let (rows, threads) = (points.len() / self.dim, self.threads.load(Ordering::Relaxed));
        let (block, ours, theirs) = self.generator.shares(threads);
        let answers = spread(rows, block, ours, |part| {
            let latents = &points[part.start * self.dim..part.end * self.dim];
            let data = self.generator.run(part.len(), &[latents], theirs)?.swap_remove(0);
            judge(part.len(), data, theirs)
        });
        answers.map_err(TargetError::failed)
    }

    fn rewards(&self, rows: usize, data: &[f32], threads: usize) -> Result<Vec<f32>, OnnxError> {
        let answers = match &self.condition {
            None => self.reward.run(rows, &[data], threads)?,
            Some(condition) => {
                let repeated = condition.repeat(if self.repeats { rows } else { 1 });
                self.reward.run(rows, &[data, &repeated], threads)?
            }
        };
        Ok(answers.into_iter().next().expect("one output is wanted"))
    }
}

impl Target for LatentSpace {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.log_reward(points, out)?;
        let constant = 0.5 * self.dim as f64 * (2.0 * PI).ln();
        for (point, value) in points.chunks_exact(self.dim).zip(out) {
            let square: f64 = point.iter().map(|z| f64::from(*z).powi(2)).sum();
            *value = self.beta * *value - 0.5 * square - constant;
        }
        Ok(())
    }

    fn latent(&self) -> Option<&dyn Latent> {
        Some(self)
    }
}

impl Latent for LatentSpace {
    fn beta(&self) -> f64 {
        self.beta
    }

    fn log_reward(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        let rewards = self.each(points, |rows, data, threads| self.rewards(rows, &data, threads))?;
        for (value, reward) in out.iter_mut().zip(rewards.into_iter().flatten()) {
            *value = f64::from(reward);
        }
        Ok(())
    }

    fn shape(&self) -> Result<&[usize], TargetError> {
        Ok(&self.generator.outputs()[0])
    }

    fn decode(&self, points: &[f32]) -> Result<Vec<f32>, TargetError> {
        Ok(self.each(points, |_, data, _| Ok(data))?.concat())
    }

    fn embed(&self, points: &[f32]) -> Result<Option<Vec<f32>>, TargetError> {
        let Some(embedding) = &self.embedding else { return Ok(None) };
        let embedded = self
            .each(points, |rows, data, threads| Ok(embedding.run(rows, &[&data], threads)?.swap_remove(0)))?;
        Ok(Some(embedded.concat()))
    }
}

/// The length of a latent: that of the only input's rows.
fn latent_dim(model: &Model) -> Result<usize, OnnxError> {
    let expected = "one input, float32 [rows, latent], with the length of a latent told";
    match model.inputs() {
        [input] if input.kind == FLOAT => match input.row().as_deref() {
            Some([dim]) if *dim > 0 => Ok(*dim),
            _ => Err(model.unlike(expected, input.to_string())),
        },
        inputs => Err(model.unlike(expected, list(inputs))),
    }
}

/// The input that takes what the generator makes. There may be others, up to so many in all.
fn data_input(model: &Model, data: &[usize], most: usize) -> Result<Input, OnnxError> {
    let expected = || {
        let rest = if most > 1 { ", and perhaps another one for a condition" } else { "" };
        format!("an input that takes what the generator makes, float32 {}{rest}", shown(data))
    };
    match model.inputs() {
        inputs @ [input, ..] if inputs.len() <= most && input.kind == FLOAT && input.takes(data) => {
            Ok(Input::Rows(data.to_vec()))
        }
        inputs => Err(model.unlike(expected(), list(inputs))),
    }
}

/// What the second input of a reward is given.
fn condition_input(model: &Model, condition: Option<&[f32]>) -> Result<Option<Input>, OnnxError> {
    let wrong = |reason: String| OnnxError::Condition { file: model.file().to_owned(), reason };
    match (model.inputs().get(1), condition) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(wrong("a condition is given, and the reward has no input for one".to_owned())),
        (Some(port), None) => {
            Err(wrong(format!("the reward asks for a condition, {port}, and none is given")))
        }
        (Some(port), Some(condition)) => {
            let length = condition.len();
            let is_whole = port.axes.as_ref().is_some_and(|axes| axes.len() == 1);
            let fits = match is_whole {
                true => port.rows().is_none_or(|own| own == length),
                false => port.takes(&[length]),
            };
            if port.kind != FLOAT || !fits {
                return Err(wrong(format!(
                    "the condition has {length} numbers, and the reward asks for {port}"
                )));
            }
            Ok(Some(if is_whole { Input::Whole(vec![length]) } else { Input::Rows(vec![length]) }))
        }
    }
}

/// The only output.
fn only_output(model: &Model, what: &str) -> Result<usize, OnnxError> {
    match model.outputs() {
        [output] if output.kind == FLOAT => Ok(0),
        outputs => Err(model.unlike(format!("one output with {what}, float32 [rows, …]"), list(outputs))),
    }
}

/// The output of this name, or the only one.
fn named_output(model: &Model, name: &str) -> Result<usize, OnnxError> {
    let is_float = |port: &Port| port.kind == FLOAT;
    match (model.outputs().iter().position(|port| port.name == name), model.outputs()) {
        (Some(output), outputs) if is_float(&outputs[output]) => Ok(output),
        (None, [output]) if is_float(output) => Ok(0),
        (_, outputs) => Err(model.unlike(format!("an output `{name}`, float32 [rows]"), list(outputs))),
    }
}

/// A row is one number.
pub(crate) fn a_number(model: &Model, row: &[usize], name: &str) -> Result<(), OnnxError> {
    match row {
        [] | [1] => Ok(()),
        row => Err(model.unlike(format!("a number for each row, `{name}` [rows]"), shown(row))),
    }
}

/// `[rows, 1, 8, 8]`.
pub(crate) fn shown(row: &[usize]) -> String {
    let axes: Vec<String> =
        ["rows".to_owned()].into_iter().chain(row.iter().map(ToString::to_string)).collect();
    format!("[{}]", axes.join(", "))
}

//! A log density that a network computes, and perhaps its gradient.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ebbtide::target::{Oracle, TargetError};

use crate::latent::{a_number, shown};
use crate::model::{FLOAT, list};
use crate::network::{Input, Network};
use crate::spread::spread;
use crate::{Engine, Model, OnnxError};

/// What outputs are called that are log densities, their negatives, and gradients.
const LOG_DENSITY: &str = "log_density";
const ENERGY: &str = "energy";
const GRADIENTS: [&str; 2] = ["grad", "gradient"];

/// A log density that a network computes.
///
/// Its input is a row of coordinates for each point. Its output is called `log_density`, or `energy` for the negative of one, or is the only one
/// but for a gradient; that is called `grad` or `gradient`, and is of whatever the other one is.
///
/// ```
/// use std::path::Path;
/// use ebbtide::target::Oracle;
/// use ebbtide_onnx::{Engine, NetworkDensity, OnnxError};
///
/// // −u² / 2 − v² with u = x₁² − 2 and v = x₂ − x₁ / 2, and its gradient
/// let file = Path::new("tests/fixtures/energy.onnx");
/// let density = NetworkDensity::load(file, None, Engine::Tract)?;
/// density.employ(2);
/// assert_eq!((density.dim(), density.files()), (2, &[file.to_owned()][..]));
///
/// let (mut value, mut gradient) = ([0.0], [0.0; 2]);
/// density.log_density_and_gradient(vec![1.0, 1.0], &mut value, &mut gradient)?;
/// assert_eq!((value, gradient), ([-0.75], [2.5, -1.0]));
///
/// let refused = NetworkDensity::load(file, Some(3), Engine::Tract);
/// assert!(matches!(refused, Err(OnnxError::Signature { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct NetworkDensity {
    network: Network,
    dim: usize,
    /// 1, or −1 for an energy.
    sign: f64,
    has_gradient: bool,
    threads: AtomicUsize,
    files: Vec<PathBuf>,
}

impl NetworkDensity {
    /// Reads a network and makes it ready. The number of coordinates is only needed where the file does not tell it.
    pub fn load(file: &Path, dim: Option<usize>, engine: Engine) -> Result<Self, OnnxError> {
        let model = Model::read(file)?;
        let dim = coordinates(&model, dim)?;
        let (value, sign) = value_output(&model)?;
        let gradient = gradient_output(&model);
        let wanted: Vec<usize> = [value].into_iter().chain(gradient).collect();
        let network = Network::new(&model, engine, vec![Input::Rows(vec![dim])], &wanted)?;
        a_number(&model, &network.outputs()[0], &model.outputs()[value].name)?;
        if let (Some(gradient), Some(row)) = (gradient, network.outputs().get(1))
            && *row != [dim]
        {
            let name = &model.outputs()[gradient].name;
            return Err(model.unlike(format!("a gradient `{name}` {}", shown(&[dim])), shown(row)));
        }
        let files = model.files().map(ToOwned::to_owned).collect();
        let (has_gradient, threads) = (gradient.is_some(), AtomicUsize::new(1));
        Ok(Self { network, dim, sign, has_gradient, threads, files })
    }

    /// How many threads the network is evaluated on. What it answers does not depend on it.
    pub fn employ(&self, threads: usize) {
        self.threads.store(threads.max(1), Ordering::Relaxed);
    }

    /// All files that it consists of.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    fn ask(&self, points: &[f64], out: &mut [f64], gradient: Option<&mut [f64]>) -> Result<(), TargetError> {
        let points: Vec<f32> = points.iter().map(|x| *x as f32).collect();
        let threads = self.threads.load(Ordering::Relaxed);
        let (block, ours, theirs) = self.network.shares(threads);
        let answers = spread(out.len(), block, ours, |part| {
            self.network.run(part.len(), &[&points[part.start * self.dim..part.end * self.dim]], theirs)
        });
        let answers = answers.map_err(TargetError::failed)?;
        let all = |output: usize| answers.iter().flat_map(move |answer| &answer[output]);
        out.iter_mut().zip(all(0)).for_each(|(out, value)| *out = self.sign * f64::from(*value));
        if let Some(gradient) = gradient {
            gradient.iter_mut().zip(all(1)).for_each(|(out, slope)| *out = self.sign * f64::from(*slope));
        }
        Ok(())
    }
}

impl Oracle for NetworkDensity {
    fn dim(&self) -> usize {
        self.dim
    }

    fn has_gradient(&self) -> bool {
        self.has_gradient
    }

    fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
        self.ask(&points, out, None)
    }

    fn log_density_and_gradient(
        &self,
        points: Vec<f64>,
        out: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), TargetError> {
        if !self.has_gradient {
            return Err(TargetError::failed("the network has no output for a gradient"));
        }
        self.ask(&points, out, Some(gradient))
    }
}

/// How many coordinates a point has: what the file says, which must be what is asked for, if anything is.
fn coordinates(model: &Model, asked: Option<usize>) -> Result<usize, OnnxError> {
    let expected = match asked {
        Some(dim) => format!("one input, float32 {}", shown(&[dim])),
        None => "one input, float32 [rows, coordinates]".to_owned(),
    };
    match model.inputs() {
        [input] if input.kind == FLOAT => match (input.row().as_deref(), asked) {
            (Some([dim]), None) if *dim > 0 => Ok(*dim),
            (_, Some(dim)) if dim > 0 && input.takes(&[dim]) => Ok(dim),
            (None, None) => {
                Err(model.unlike(format!("{expected}, or to be told how many (`--dim`)"), input.to_string()))
            }
            _ => Err(model.unlike(expected, input.to_string())),
        },
        inputs => Err(model.unlike(expected, list(inputs))),
    }
}

/// The output that is the log density, or its negative.
fn value_output(model: &Model) -> Result<(usize, f64), OnnxError> {
    let is_value = |name: &str| !GRADIENTS.contains(&name);
    let outputs = model.outputs();
    let mut values = (0..outputs.len()).filter(|output| is_value(&outputs[*output].name));
    let named = |name: &str| outputs.iter().position(|port| port.name == name);
    let found = match (named(LOG_DENSITY), named(ENERGY), values.next(), values.next()) {
        (Some(output), _, _, _) => Some((output, 1.0)),
        (None, Some(output), _, _) => Some((output, -1.0)),
        (None, None, Some(only), None) => Some((only, 1.0)),
        _ => None,
    };
    found.filter(|(output, _)| outputs[*output].kind == FLOAT).ok_or_else(|| {
        model.unlike("an output `log_density` (or `energy`, its negative), float32 [rows]", list(outputs))
    })
}

fn gradient_output(model: &Model) -> Option<usize> {
    model.outputs().iter().position(|port| GRADIENTS.contains(&&*port.name) && port.kind == FLOAT)
}

//! A method on a network of some shape, with random weights and trajectories, for the library and for the
//! reference alike.
//!
//! Everything is rounded to single precision when it is drawn, so that both see the same numbers.

use ebbtide::network::{Backbone, Layout, View};
use ebbtide::process::{Corrections, GenerationVariance, Multiplier};
use ebbtide::process::{Destruction, Generation, Grid, TimeGrid};
use ebbtide::train::{Batch, Weights};
use ebbtide::trajectory::{Model, Trajectories};
use proptest::prelude::*;

use crate::choice::Choice;
use crate::reference::draw::Draw;
use crate::reference::{self, Parameters, Settings, network};

/// The sizes and constants of a case.
#[derive(Clone, Debug)]
pub struct Shape {
    pub dim: usize,
    pub width: usize,
    pub depth: usize,
    /// Lengths of the steps, in proportion.
    pub gaps: Vec<f64>,
    pub batch: usize,
    pub sigma_squared: f32,
    pub c1: f32,
    pub c2: f32,
    /// How far the heads reach: about 1 keeps tanh bent, much more saturates it.
    pub head_gain: f64,
    pub drift_bound: f32,
    pub view: View,
    pub residual_bound: f64,
    /// Where weights and trajectories come from.
    pub seed: u64,
}

/// The largest of the small batches.
pub const SMALL: usize = 5;

/// Random shapes. Most batches are small, as the reference is slow; some are larger than a tile.
pub fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (1..=4_usize, 1..=12_usize, 1..=3_usize);
    let batch = prop_oneof![12 => 1..=SMALL, 1 => 33..=70_usize];
    let constants = (0.3..5.0_f32, 0.5..4.0_f32, 0.1..0.95_f32);
    let head_gain = prop_oneof![4 => Just(0.8), 1 => Just(5.0)];
    let gaps = prop::collection::vec(0.3..1.0, 1..=6);
    let view = prop_oneof![Just(View::Plain), Just(View::Logarithmic)];
    let residual_bound = prop_oneof![Just(f64::INFINITY), 0.5..8.0];
    let choices = (head_gain, view, residual_bound);
    (sizes, gaps, batch, constants, choices, any::<u64>()).prop_map(
        |((dim, width, depth), gaps, batch, (sigma_squared, c1, c2), choices, seed)| {
            let (head_gain, view, residual_bound) = choices;
            // A large batch of a large network would take the reference seconds.
            let width = if batch > SMALL { width.min(4) } else { width };
            let drift_bound = 1e4;
            Shape {
                dim,
                width,
                depth,
                gaps,
                batch,
                sigma_squared,
                c1,
                c2,
                head_gain,
                drift_bound,
                view,
                residual_bound,
                seed,
            }
        },
    )
}

/// A method with everything it is evaluated on.
pub struct Case {
    pub choice: Choice,
    pub settings: Settings,
    pub model: Model,
    pub live: Vec<f32>,
    pub lagging: Option<Vec<f32>>,
    pub log_z: f64,
    /// Brownian paths; a simulated method replaces them by its own.
    pub trajectories: Trajectories,
    pub noise: Vec<f32>,
    pub log_density: Vec<f64>,
    pub importance: Option<Vec<f32>>,
    /// Where directions and coordinates come from.
    pub seed: u64,
}

impl Case {
    pub fn new(choice: Choice, shape: &Shape) -> Self {
        let mut draw = Draw::new(shape.seed);
        let settings = settings(choice, shape);
        let model = model(choice, &settings);
        let (dim, steps, batch) = (shape.dim, shape.gaps.len(), shape.batch);
        let noise = rounded(draw.normals(batch * steps * dim));
        let mut trajectories = Trajectories::new(batch, steps, dim);
        for b in 0..batch {
            let mut x = vec![0.0; dim];
            for i in 0..steps {
                let deviation = (settings.sigma_squared * settings.delta(i)).sqrt();
                for j in 0..dim {
                    x[j] += deviation * draw.normal();
                    trajectories.path_mut(b)[i * dim + j] = x[j] as f32;
                }
            }
        }
        let live = random_weights(&model.layout, shape.head_gain, &mut draw);
        Self {
            lagging: choice.lags.then(|| random_weights(&model.layout, shape.head_gain, &mut draw)),
            live,
            log_z: draw.normal() as f32 as f64,
            trajectories,
            noise,
            log_density: draw.normals(batch).iter().map(|z| 2.0 * z - 1.0).collect(),
            importance: choice
                .weighted
                .then(|| rounded((0..batch).map(|_| 1.0 - 0.8 * draw.uniform()).collect())),
            seed: !shape.seed,
            choice,
            settings,
            model,
        }
    }

    /// The weights as the library takes them.
    pub fn weights(&self) -> Weights<'_> {
        Weights { live: &self.live, lagging: self.lagging.as_deref() }
    }

    /// The batch as the library takes it.
    pub fn batch(&self) -> Batch<'_> {
        Batch {
            trajectories: &self.trajectories,
            log_density: &self.log_density,
            importance: self.importance.as_deref(),
        }
    }

    /// The live weights by name.
    pub fn named_live(&self) -> Parameters {
        named(&self.model.layout, &self.live, &self.settings)
    }

    /// What each process sees of the other, by name: a copy that does not move.
    pub fn named_other(&self) -> Parameters {
        named(&self.model.layout, self.lagging.as_ref().unwrap_or(&self.live), &self.settings)
    }

    /// The trajectories as the reference takes them.
    pub fn paths(&self) -> Vec<Vec<f64>> {
        widened(self.trajectories.states())
            .chunks(self.trajectories.path_len())
            .map(<[f64]>::to_vec)
            .collect()
    }

    /// The importance weights as the reference takes them.
    pub fn importance(&self) -> Vec<f64> {
        self.importance.as_deref().map_or(vec![1.0; self.trajectories.len()], widened)
    }
}

pub fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

pub fn rounded(values: Vec<f64>) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// A flat vector by the names of its tensors, which must be those that the reference knows.
pub fn named(layout: &Layout, flat: &[f32], settings: &Settings) -> Parameters {
    let parameters: Parameters =
        layout.tensors().map(|(name, tensor)| (name.to_owned(), widened(tensor.of(flat)))).collect();
    let known = network::tensors(settings);
    assert_eq!(parameters.len(), known.len());
    for (name, length) in known {
        assert_eq!(parameters[&name].len(), length, "{name}");
    }
    parameters
}

/// Normal weights, scaled by the root of the inputs so that activations keep their size from layer to layer.
pub fn random_weights(layout: &Layout, head_gain: f64, draw: &mut Draw) -> Vec<f32> {
    let mut flat = vec![0.0; layout.parameters()];
    for (name, tensor) in layout.tensors() {
        let scale = match name {
            _ if name.contains("head") => head_gain / (tensor.inputs as f64).sqrt(),
            _ if name.ends_with("phase") => 1.0,
            _ if name.ends_with("bias") => 0.5,
            _ => 1.2 / (tensor.inputs as f64).sqrt(),
        };
        for value in tensor.of_mut(&mut flat) {
            *value = (scale * draw.normal()) as f32;
        }
    }
    flat
}

fn settings(choice: Choice, shape: &Shape) -> Settings {
    let total: f64 = shape.gaps.iter().sum();
    let mut times = vec![0.0];
    for gap in &shape.gaps {
        times.push(times[times.len() - 1] + gap / total);
    }
    times[shape.gaps.len()] = 1.0;
    Settings {
        dim: shape.dim,
        width: shape.width,
        depth: shape.depth,
        times,
        sigma_squared: f64::from(shape.sigma_squared),
        c1: f64::from(shape.c1),
        c2: f64::from(shape.c2),
        drift_bound: f64::from(shape.drift_bound),
        generation_variance: if choice.learns_variance {
            reference::GenerationVariance::Learned
        } else {
            reference::GenerationVariance::Fixed
        },
        destruction: match choice.destruction {
            None => reference::Destruction::Fixed,
            Some(_) => reference::Destruction::Learned(choice.multiplier),
        },
        backbone: match choice.backbone {
            Backbone::Shared => reference::Backbone::Shared,
            Backbone::Separate => reference::Backbone::Separate,
        },
        view: match shape.view {
            View::Plain => reference::View::Plain,
            View::Logarithmic => reference::View::Logarithmic,
        },
        residual_bound: shape.residual_bound,
    }
}

/// The library's model of the reference's settings.
fn model(choice: Choice, settings: &Settings) -> Model {
    let (c1, c2) = (settings.c1 as f32, settings.c2 as f32);
    let sigma_squared = settings.sigma_squared as f32;
    let multiplier = match choice.multiplier {
        reference::DestructionVariance::Bounded => Multiplier::Bounded,
        reference::DestructionVariance::Exponential => Multiplier::Exponential { bound: c1 },
    };
    let view = match settings.view {
        reference::View::Plain => View::Plain,
        reference::View::Logarithmic => View::Logarithmic,
    };
    let model = Model::new(
        settings.dim,
        TimeGrid::new(&Grid::Given(settings.times.clone())).expect("increasing times"),
        Generation {
            variance: if choice.learns_variance {
                GenerationVariance::Learned { bound: c1 }
            } else {
                GenerationVariance::Fixed
            },
            sigma_squared,
            drift_bound: settings.drift_bound as f32,
        },
        Destruction {
            corrections: match choice.destruction {
                None => Corrections::Fixed,
                Some(_) => Corrections::Learned { bound: c2, multiplier },
            },
            sigma_squared,
        },
        settings.width,
        settings.depth,
        choice.backbone,
    );
    Model { view, ..model }
}

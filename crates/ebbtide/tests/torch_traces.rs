//! Twenty updates of every method against PyTorch: log-probabilities, losses, gradients and final weights.
//!
//! `fixtures/torch_traces.py` made the traces, in double precision and with automatic differentiation.

use std::collections::HashMap;
use std::path::Path;

use ebbtide::network::{Backbone, Layout, Process};
use ebbtide::objective::{GenerationObjective, Method};
use ebbtide::process::{
    Corrections, Destruction, Generation, GenerationVariance, Grid, Multiplier, TimeGrid,
};
use ebbtide::train::{Arrangement, Batch, Copies, Differentiator, Learner, Losses, Objectives, Optimisation};
use ebbtide::trajectory::{Model, Network, Threads, Trajectories, log_probs, simulate_forward};
use safetensors::{Dtype, SafeTensors};

const RELATIVE: f64 = 1e-4;

struct Fixture {
    name: String,
    settings: HashMap<String, String>,
    arrays: HashMap<String, Vec<f64>>,
}

impl Fixture {
    fn read(path: &Path) -> Self {
        let bytes = std::fs::read(path).expect("the fixture can be read");
        let (_, metadata) = SafeTensors::read_metadata(&bytes).expect("a safetensors header");
        let tensors = SafeTensors::deserialize(&bytes).expect("a safetensors file");
        let arrays = tensors.iter().map(|(name, view)| {
            let values = match view.dtype() {
                Dtype::F32 => view
                    .data()
                    .chunks_exact(4)
                    .map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap())))
                    .collect(),
                Dtype::F64 => {
                    view.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
                }
                other => panic!("{name} is {other:?}"),
            };
            (name.to_owned(), values)
        });
        Self {
            name: path.file_stem().expect("a file").to_string_lossy().into_owned(),
            arrays: arrays.collect(),
            settings: metadata.metadata().clone().expect("settings"),
        }
    }

    fn number(&self, key: &str) -> f64 {
        self.settings[key].parse().expect("a number")
    }

    fn size(&self, key: &str) -> usize {
        self.number(key) as usize
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.settings[key] == value
    }

    fn floats(&self, key: &str) -> Vec<f32> {
        self.arrays[key].iter().map(|&v| v as f32).collect()
    }

    fn method(&self) -> Method {
        self.settings["method"].parse().expect("a method")
    }

    fn model(&self) -> Model {
        let (c1, c2) = (self.number("c1") as f32, self.number("c2") as f32);
        let sigma_squared = self.number("sigma_squared") as f32;
        let multiplier = if self.is("destruction_variance", "exponential") {
            Multiplier::Exponential { bound: c1 }
        } else {
            Multiplier::Bounded
        };
        Model::new(
            self.size("dim"),
            TimeGrid::new(&Grid::Given(self.arrays["times"].clone())).expect("a grid"),
            Generation {
                variance: if self.method().learns_variance() {
                    GenerationVariance::Learned { bound: c1 }
                } else {
                    GenerationVariance::Fixed
                },
                sigma_squared,
                drift_bound: 1e4,
            },
            Destruction {
                corrections: if self.method().destruction().is_some() {
                    Corrections::Learned { bound: c2, multiplier }
                } else {
                    Corrections::Fixed
                },
                sigma_squared,
            },
            self.size("width"),
            self.size("depth"),
            if self.is("backbone", "separate") { Backbone::Separate } else { Backbone::Shared },
        )
    }

    /// The named tensors under `group/` as one flat vector; names must match the layout's exactly.
    fn flat(&self, layout: &Layout, group: &str) -> Vec<f64> {
        let mut flat = vec![0.0; layout.parameters()];
        for (name, tensor) in layout.tensors() {
            let values = &self.arrays[&format!("{group}/{name}")];
            assert_eq!(values.len(), tensor.range().len(), "{}: {group}/{name}", self.name);
            flat[tensor.range()].copy_from_slice(values);
        }
        flat
    }

    fn close(&self, what: &str, ours: impl IntoIterator<Item = f64>, theirs: &[f64]) {
        let ours: Vec<f64> = ours.into_iter().collect();
        assert_eq!(ours.len(), theirs.len(), "{}: {what}", self.name);
        let scale = theirs.iter().fold(1e-6_f64, |most, v| most.max(v.abs()));
        for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
            let error = (a - b).abs() / scale;
            assert!(error < RELATIVE, "{}: {what}[{i}] is {a}, PyTorch has {b}: off by {error:e}", self.name);
        }
    }

    fn check_gradient(&self, differentiator: &mut Differentiator, process: Process, group: &str) {
        let layout = differentiator.model().layout.clone();
        let owned = layout.owned(process);
        let gradient = differentiator.gradient(process).to_vec();
        let mut seen = 0;
        for (name, tensor) in layout.tensors() {
            if owned.contains(&tensor.start) {
                let ours = &gradient[tensor.start - owned.start..tensor.range().end - owned.start];
                let theirs = &self.arrays[&format!("{group}/{name}")];
                self.close(&format!("{group}/{name}"), ours.iter().map(|&v| f64::from(v)), theirs);
                seen += tensor.range().len();
            }
        }
        assert_eq!(seen, owned.len());
    }
}

fn log_density_and_gradient(ends: &[f32], dim: usize) -> (Vec<f64>, Vec<f32>) {
    let density = |x: &f32| -0.5 * (x - 0.3) * (x - 0.3) - 0.05 * x.powi(4);
    let values = ends.chunks_exact(dim).map(|end| end.iter().map(density).map(f64::from).sum()).collect();
    let gradient = ends.iter().map(|x| -(x - 0.3) - 0.2 * x.powi(3)).collect();
    (values, gradient)
}

fn replay(fixture: &Fixture) {
    let (model, method) = (fixture.model(), fixture.method());
    let (dim, steps, batch, updates) =
        (model.dim(), model.steps(), fixture.size("batch"), fixture.size("updates"));
    let layout = model.layout.clone();
    let initial: Vec<f32> = fixture.flat(&layout, "initial").iter().map(|&v| v as f32).collect();
    let balances = method.generation() == GenerationObjective::TrajectoryBalance;
    let optimisation = Optimisation {
        arrangement: if fixture.is("optimiser", "single") {
            Arrangement::Single
        } else {
            Arrangement::Separate
        },
        generation_rate: fixture.number("lr_generation"),
        destruction_rate: fixture.number("lr_destruction"),
        log_z_rate: fixture.number("lr_log_z"),
        log_z_start: 0.0,
        decay: 1.0,
        weight_decay: fixture.number("weight_decay") as f32,
        clip: fixture.number("clip"),
        residual_bound: None,
    };
    let copies = Copies { lagging: fixture.is("target_network", "true"), averaged: false };
    let log_z = if balances { fixture.arrays["initial/log_z"][0] as f32 } else { 0.0 };
    let mut learner = Learner::new(&layout, initial, copies, log_z, optimisation.arrangement);
    let threads = Threads::new(2).expect("threads");
    let mut differentiator = Differentiator::new(model, &threads);
    let mut trajectories = Trajectories::new(batch, steps, dim);
    let path = steps * dim;
    let importance = fixture.floats("weights");
    for update in 0..updates {
        let range = update * batch * path..(update + 1) * batch * path;
        let mut ends = Vec::new();
        let losses = if balances {
            trajectories.states_mut().copy_from_slice(&fixture.floats("states")[range]);
            let log_density = &fixture.arrays["log_density"][update * batch..(update + 1) * batch];
            let batch = Batch {
                trajectories: &trajectories,
                log_density,
                importance: Some(&importance[update * batch..(update + 1) * batch]),
            };
            let objectives = Objectives {
                generation: method.generation().off_policy(),
                destruction: method.destruction(),
                log_z: learner.log_z(),
                residual_bound: f64::INFINITY,
            };
            differentiator.off_policy(learner.weights(), batch, objectives)
        } else {
            let noise = fixture.floats("noise")[range].to_vec();
            let (lanes, model, prelude) = differentiator.ready(learner.parameters());
            let network = Network { parameters: learner.parameters(), prelude };
            simulate_forward(lanes, model, network, &noise, &[], &mut trajectories);
            if update == 0 {
                let states = trajectories.states().iter().map(|&v| f64::from(v));
                fixture.close("states", states, &fixture.arrays["states"]);
            }
            trajectories.copy_ends(&mut ends);
            let (log_density, gradient) = log_density_and_gradient(&ends, dim);
            let batch = Batch { trajectories: &trajectories, log_density: &log_density, importance: None };
            let generation = differentiator.reverse_kl(learner.weights(), batch, &noise, &gradient);
            let (destruction, residual_bound) = (method.destruction(), f64::INFINITY);
            let objectives = Objectives { generation: None, destruction, log_z: 0.0, residual_bound };
            let destruction = method
                .destruction()
                .and_then(|_| differentiator.off_policy(learner.weights(), batch, objectives).destruction);
            Losses { destruction, ..generation }
        };
        let compare = |what: &str, ours: Option<f64>| {
            if let Some(ours) = ours {
                let theirs = fixture.arrays[what][update];
                let error = (ours - theirs).abs() / (1.0 + theirs.abs());
                assert!(
                    error < RELATIVE,
                    "{}: {what}[{update}] is {ours}, PyTorch has {theirs}",
                    fixture.name
                );
            }
        };
        compare("generation_loss", losses.generation);
        compare("destruction_loss", losses.destruction);
        assert_eq!(losses.destruction.is_some(), fixture.arrays.contains_key("destruction_loss"));
        if update == 0 {
            fixture.check_gradient(&mut differentiator, Process::Generation, "generation_gradient");
            if losses.destruction.is_some() {
                fixture.check_gradient(&mut differentiator, Process::Destruction, "destruction_gradient");
            }
            if balances {
                fixture.close("log_z_gradient", [losses.log_z_gradient], &fixture.arrays["log_z_gradient"]);
            }
            let (mut forward, mut backward) = (Vec::new(), Vec::new());
            let (lanes, model, prelude) = differentiator.ready(learner.parameters());
            let network = Network { parameters: learner.parameters(), prelude };
            log_probs(lanes, model, network, &trajectories, &mut forward, &mut backward);
            fixture.close("log_generation", forward, &fixture.arrays["log_generation"]);
            fixture.close("log_destruction", backward, &fixture.arrays["log_destruction"]);
        }
        let norms = learner.step(&mut differentiator, &losses, &optimisation, 1.0, balances);
        assert_eq!(norms.generation > optimisation.clip, fixture.name.ends_with("clipped"));
        learner.follow(&threads, fixture.number("tau") as f32);
    }
    let widen = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    fixture.close("final", widen(learner.parameters()), &fixture.flat(&layout, "final"));
    check_movement(fixture, &layout, learner.parameters());
    if let Some(lagging) = learner.lagging() {
        fixture.close("final_target", widen(lagging), &fixture.flat(&layout, "final_target"));
    }
    if balances {
        fixture.close("final/log_z", [learner.log_z()], &fixture.arrays["final/log_z"]);
    }
}

/// How far each tensor moved in all updates, which is little beside what it was: a rate or a weight decay that is
/// off by 1 % shows here.
fn check_movement(fixture: &Fixture, layout: &Layout, parameters: &[f32]) {
    let (before, after) = (fixture.flat(layout, "initial"), fixture.flat(layout, "final"));
    for (name, tensor) in layout.tensors() {
        let most = tensor.range().map(|i| (after[i] - before[i]).abs()).fold(0.0, f64::max);
        for i in tensor.range() {
            let (ours, theirs) = (f64::from(parameters[i]) - before[i], after[i] - before[i]);
            let error = (ours - theirs).abs() / most;
            assert!(error < 1e-3, "{}: {name} moved by {ours}, in PyTorch by {theirs}", fixture.name);
        }
    }
}

#[test]
fn every_trace_is_followed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/torch");
    let mut methods = std::collections::HashSet::new();
    for entry in std::fs::read_dir(folder).expect("the fixtures are there") {
        let fixture = Fixture::read(&entry.expect("an entry").path());
        methods.insert(fixture.method());
        replay(&fixture);
    }
    assert_eq!(methods.len(), Method::ALL.len(), "every method has a trace");
}

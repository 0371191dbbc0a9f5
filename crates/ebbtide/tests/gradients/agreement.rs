//! What it means that the library and the reference agree.
//!
//! *Scale of a gradient.* Along a unit direction u, a gradient g of n parameters has the slope g·u, and for a
//! direction without preference |g·u| is about ‖g‖/√n. Rounding errors of g are about as large along u as along any
//! other direction, so a slope that happens to be small cannot be known better than that. Errors are therefore
//! relative to max(|slope|, ‖g‖/√n), and to a tenth of that, or the size of the tensor's own gradient if it is more,
//! for a single coordinate.
//!
//! *Floor.* VarGrad of one trajectory has no gradient at all, so the scale is at least [`FLOOR`].

use ebbtide::network::Process;
use ebbtide::objective::{DestructionObjective, GenerationObjective};
use ebbtide::train::{Batch, Differentiator, Losses, Objectives};
use ebbtide::trajectory::{Network, Threads, log_probs, simulate_forward};

use crate::case::{Case, rounded, widened};
use crate::reference::difference::{Estimate, derivative, directional};
use crate::reference::draw::Draw;
use crate::reference::kernel::{log_destruction, log_generation};
use crate::reference::objective::{self, destruction_loss, generation_loss};
use crate::reference::{Parameters, Settings, network};

/// The largest relative error of a slope.
const SLOPE: f64 = 1e-4;

/// The largest relative error of a log-probability or a loss.
const VALUE: f64 = 1e-5;

/// The smallest scale of a slope.
const FLOOR: f64 = 1e-3;

/// Which slopes are compared.
#[derive(Clone, Copy, Debug)]
pub struct Probes {
    /// Random directions over everything that a process owns.
    pub directions: usize,
    /// How long each is. Differences are taken up to 1/16 of it away.
    pub length: f64,
    /// Whether a random coordinate of every other tensor, itself picked at random, is compared as well.
    pub coordinates: bool,
}

/// The largest relative errors met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worst {
    pub slope: f64,
    pub value: f64,
}

impl Worst {
    pub fn merge(&mut self, other: Worst) {
        self.slope = self.slope.max(other.slope);
        self.value = self.value.max(other.value);
    }

    fn slope(&mut self, what: &str, ours: f64, theirs: Estimate, scale: f64) {
        let scale = scale.max(theirs.value.abs()).max(FLOOR);
        assert!(theirs.error < 0.1 * SLOPE * scale, "{what}: the reference is unsure, {theirs:?}");
        let error = (ours - theirs.value).abs() / scale;
        assert!(error < SLOPE, "{what}: slope {ours}, by differences {}: off by {error:e}", theirs.value);
        self.slope = self.slope.max(error);
    }

    fn value(&mut self, what: &str, ours: f64, theirs: f64, scale: f64) {
        let error = (ours - theirs).abs() / scale.max(theirs.abs());
        assert!(error < VALUE, "{what}: {ours}, by the reference {theirs}: off by {error:e}");
        self.value = self.value.max(error);
    }

    /// Compares a process's gradient with differences of its loss.
    fn gradient(
        &mut self,
        case: &Case,
        process: Process,
        gradient: &[f32],
        loss: &dyn Fn(&Parameters) -> f64,
        probes: Probes,
    ) {
        let (layout, at) = (&case.model.layout, case.named_live());
        let owned = layout.owned(process);
        assert_eq!(gradient.len(), owned.len());
        let tensors: Vec<_> = layout.tensors().filter(|(_, tensor)| owned.contains(&tensor.start)).collect();
        let of = |tensor: &ebbtide::network::Tensor| {
            widened(&gradient[tensor.start - owned.start..tensor.range().end - owned.start])
        };
        let typical = root_mean_square(&widened(gradient));
        let mut draw = Draw::new(case.seed);
        for k in 0..probes.directions {
            let all = draw.normals(owned.len());
            let norm = all.iter().map(|z| z * z).sum::<f64>().sqrt() / probes.length;
            let mut direction = Parameters::new();
            let mut slope = 0.0;
            for (name, tensor) in &tensors {
                let start = tensor.start - owned.start;
                let along: Vec<f64> =
                    all[start..start + tensor.range().len()].iter().map(|z| z / norm).collect();
                slope += along.iter().zip(of(tensor)).map(|(u, g)| u * g).sum::<f64>();
                direction.insert((*name).to_owned(), along);
            }
            let theirs = slope_along(loss, &at, &direction, probes.length);
            self.slope(&format!("{process:?}, direction {k}"), slope / probes.length, theirs, typical);
        }
        if probes.coordinates {
            let mut picked = Draw::new(case.seed.rotate_left(32));
            for (name, tensor) in tensors.iter().filter(|_| picked.uniform() < 0.5) {
                let index = (draw.uniform() * tensor.range().len() as f64) as usize;
                let ours = of(tensor);
                let mut along = vec![0.0; ours.len()];
                along[index] = probes.length;
                let direction = Parameters::from([((*name).to_owned(), along)]);
                let theirs = slope_along(loss, &at, &direction, probes.length);
                let scale = root_mean_square(&ours).max(0.1 * typical);
                self.slope(&format!("{process:?}, {name}[{index}]"), ours[index], theirs, scale);
            }
        }
    }
}

/// The slope along a direction of this length, per unit.
fn slope_along(
    loss: &dyn Fn(&Parameters) -> f64,
    at: &Parameters,
    direction: &Parameters,
    length: f64,
) -> Estimate {
    let slope = directional(loss, at, direction);
    Estimate { value: slope.value / length, error: slope.error / length }
}

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt()
}

/// A log density with a slope that is not linear, and its gradient, of one coordinate.
fn density(x: f64) -> (f64, f64) {
    (-0.5 * (x - 0.3).powi(2) - 0.05 * x.powi(4), -(x - 0.3) - 0.2 * x.powi(3))
}

/// Compares everything that the library computes for a case with the reference.
pub fn check(case: &mut Case, probes: Probes) -> Worst {
    let mut differentiator = Differentiator::new(case.model.clone(), &Threads::new(2).expect("threads"));
    let mut worst = Worst::default();
    let losses = match case.choice.generation {
        GenerationObjective::ReverseKl => on_policy(case, &mut differentiator, &mut worst, probes),
        _ => off_policy(case, &mut differentiator, &mut worst, probes),
    };
    check_log_probs(case, &mut differentiator, &mut worst);
    if let Some(objective) = case.choice.destruction {
        check_destruction(case, &mut differentiator, objective, losses, &mut worst, probes);
    }
    assert_eq!(losses.destruction.is_some(), case.choice.destruction.is_some());
    worst
}

fn off_policy(case: &Case, differentiator: &mut Differentiator, worst: &mut Worst, probes: Probes) -> Losses {
    let objectives = Objectives {
        generation: case.choice.generation.off_policy(),
        destruction: case.choice.destruction,
        log_z: case.log_z,
        residual_bound: case.settings.residual_bound,
    };
    let losses = differentiator.off_policy(case.weights(), case.batch(), objectives);
    let (live, other) = (case.named_live(), case.named_other());
    let (paths, weights, log_density) = (case.paths(), case.importance(), case.log_density.clone());
    let batch = objective::Batch { trajectories: &paths, weights: &weights, log_density: &log_density };
    let balances = case.choice.generation == GenerationObjective::TrajectoryBalance;
    let theirs = |log_z: f64| match balances {
        true => objective::GenerationObjective::TrajectoryBalance { batch, log_z },
        false => objective::GenerationObjective::VarGrad { batch },
    };
    let loss = |p: &Parameters| generation_loss(&case.settings, theirs(case.log_z), p, &other);
    worst.value("generation loss", losses.generation.expect("asked for"), loss(&live), 1.0);
    if balances {
        let squared = Settings { residual_bound: f64::INFINITY, ..case.settings.clone() };
        let by_log_z = |log_z: f64| generation_loss(&squared, theirs(log_z), &live, &other);
        worst.slope("log Z", losses.log_z_gradient, derivative(&by_log_z, case.log_z), 1.0);
    }
    let gradient = differentiator.gradient(Process::Generation);
    worst.gradient(case, Process::Generation, gradient, &loss, probes);
    losses
}

/// Simulates, so that the case's trajectories become those of its own generation process.
fn on_policy(
    case: &mut Case,
    differentiator: &mut Differentiator,
    worst: &mut Worst,
    probes: Probes,
) -> Losses {
    let (lanes, model, prelude) = differentiator.ready(&case.live);
    let network = Network { parameters: &case.live, prelude };
    simulate_forward(lanes, model, network, &case.noise, &[], &mut case.trajectories);
    let mut ends = Vec::new();
    case.trajectories.copy_ends(&mut ends);
    let ends = widened(&ends);
    let total = |end: &[f64]| end.iter().map(|&x| density(x).0).sum::<f64>();
    case.log_density = ends.chunks(case.settings.dim).map(total).collect();
    let slopes = rounded(ends.iter().map(|&x| density(x).1).collect());
    let batch = Batch { importance: None, ..case.batch() };
    let generation = differentiator.reverse_kl(case.weights(), batch, &case.noise, &slopes);
    let destruction = case.choice.destruction.and_then(|objective| {
        let residual_bound = case.settings.residual_bound;
        let objectives =
            Objectives { generation: None, destruction: Some(objective), log_z: 0.0, residual_bound };
        differentiator.off_policy(case.weights(), batch, objectives).destruction
    });
    let (live, other) = (case.named_live(), case.named_other());
    let noise: Vec<Vec<f64>> =
        widened(&case.noise).chunks(case.trajectories.path_len()).map(<[f64]>::to_vec).collect();
    let theirs = objective::GenerationObjective::ReverseKl { noise: &noise, log_density: &total };
    let loss = |p: &Parameters| generation_loss(&case.settings, theirs, p, &other);
    worst.value("generation loss", generation.generation.expect("always"), loss(&live), 1.0);
    let gradient = differentiator.gradient(Process::Generation);
    worst.gradient(case, Process::Generation, gradient, &loss, probes);
    Losses { destruction, ..generation }
}

fn check_destruction(
    case: &Case,
    differentiator: &mut Differentiator,
    objective: DestructionObjective,
    losses: Losses,
    worst: &mut Worst,
    probes: Probes,
) {
    let (live, other) = (case.named_live(), case.named_other());
    let (paths, weights, log_density) = (case.paths(), case.importance(), case.log_density.clone());
    let batch = objective::Batch { trajectories: &paths, weights: &weights, log_density: &log_density };
    let theirs = match objective {
        DestructionObjective::TrajectoryBalance => {
            objective::DestructionObjective::TrajectoryBalance { batch, log_z: case.log_z }
        }
        DestructionObjective::VarGrad => objective::DestructionObjective::VarGrad { batch },
        DestructionObjective::TrajectoryLikelihood => {
            objective::DestructionObjective::TrajectoryLikelihood { batch }
        }
    };
    let loss = |p: &Parameters| destruction_loss(&case.settings, theirs, p, &other);
    worst.value("destruction loss", losses.destruction.expect("asked for"), loss(&live), 1.0);
    let gradient = differentiator.gradient(Process::Destruction);
    worst.gradient(case, Process::Destruction, gradient, &loss, probes);
}

/// log p→ and log p← of each trajectory, relative to the number of Gaussians in it where they cancel.
fn check_log_probs(case: &Case, differentiator: &mut Differentiator, worst: &mut Worst) {
    let (mut generation, mut destruction) = (Vec::new(), Vec::new());
    let live = case.named_live();
    let (lanes, model, prelude) = differentiator.ready(&case.live);
    let network = Network { parameters: &case.live, prelude };
    log_probs(lanes, model, network, &case.trajectories, &mut generation, &mut destruction);
    let scale = case.trajectories.path_len() as f64;
    for (b, path) in case.paths().iter().enumerate() {
        let theirs = log_generation(&case.settings, &live, path);
        worst.value(&format!("log p→ of {b}"), generation[b], theirs, scale);
        let theirs = log_destruction(&case.settings, &live, path);
        worst.value(&format!("log p← of {b}"), destruction[b], theirs, scale);
    }
}

/// Raw outputs of the reference's generation head along a case's trajectories, drifts only.
pub fn drifts(case: &Case) -> Vec<f64> {
    let (live, dim) = (case.named_live(), case.settings.dim);
    let mut drifts = Vec::new();
    for path in case.paths() {
        for i in 0..case.settings.steps() {
            let x = crate::reference::kernel::state(&case.settings, &path, i);
            let raw =
                network::output(&case.settings, &live, network::Head::Generation, &x, case.settings.times[i]);
            drifts.extend_from_slice(&raw[..dim]);
        }
    }
    drifts
}

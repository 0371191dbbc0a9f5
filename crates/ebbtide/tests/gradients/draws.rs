//! Draws have the density they claim: what the reference's kernels leave of each step is standard normal noise.

use ebbtide::network::{Backbone, View};
use ebbtide::objective::{DestructionObjective, GenerationObjective};
use ebbtide::stream::{Address, Purpose};
use ebbtide::train::Differentiator;
use ebbtide::trajectory::{Network, Sampler, Threads, Trajectories, draw_noise, simulate_forward};

use crate::case::{Case, Shape, rounded, widened};
use crate::choice::Choice;
use crate::reference::draw::Draw;
use crate::reference::error_function::erf;
use crate::reference::kernel::{Gaussian, destruction, generation, state};
use crate::reference::{DestructionVariance, Parameters};

const COUNT: usize = 4000;
const DIM: usize = 2;
const STEPS: usize = 3;

/// √n D exceeds this once in a thousand samples of the distribution asked about.
const KOLMOGOROV: f64 = 1.95;

fn cases() -> impl Iterator<Item = Case> {
    let choice = |learned: bool, multiplier, backbone| Choice {
        generation: GenerationObjective::TrajectoryBalance,
        destruction: learned.then_some(DestructionObjective::TrajectoryBalance),
        learns_variance: learned,
        multiplier,
        backbone,
        lags: false,
        weighted: false,
    };
    let choices = [
        choice(false, DestructionVariance::Bounded, Backbone::Shared),
        choice(true, DestructionVariance::Bounded, Backbone::Shared),
        choice(true, DestructionVariance::Exponential, Backbone::Separate),
    ];
    choices.into_iter().enumerate().map(|(index, choice)| {
        let shape = Shape {
            dim: DIM,
            width: 4,
            depth: 2,
            gaps: vec![0.7, 1.0, 0.4],
            batch: 1,
            sigma_squared: 1.6,
            c1: 1.5,
            c2: 0.8,
            head_gain: 1.0,
            drift_bound: 1e4,
            view: View::Plain,
            residual_bound: f64::INFINITY,
            seed: 70 + index as u64,
        };
        Case::new(choice, &shape)
    })
}

/// √n D of a sample, D the largest distance between its distribution function and the standard normal one.
fn kolmogorov_smirnov(mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let mut distance = 0.0_f64;
    for (i, z) in sample.iter().enumerate() {
        let probability = 0.5 * (1.0 + erf(z * std::f64::consts::FRAC_1_SQRT_2));
        distance = distance.max(probability - i as f64 / n).max((i + 1) as f64 / n - probability);
    }
    n.sqrt() * distance
}

/// Asserts that every column (step and coordinate) is standard normal, and that no two columns are correlated.
fn assert_standard_normal(columns: &[Vec<f64>], what: &str) {
    for (k, column) in columns.iter().enumerate() {
        let statistic = kolmogorov_smirnov(column.clone());
        assert!(statistic < KOLMOGOROV, "{what}: √n D of column {k} is {statistic}");
        for (other, earlier) in columns[..k].iter().enumerate() {
            let product: f64 = column.iter().zip(earlier).map(|(a, b)| a * b).sum();
            let correlation = product / (column.len() as f64).sqrt();
            assert!(correlation.abs() < 4.0, "{what}: columns {other} and {k} go together, {correlation} σ");
        }
    }
}

/// (x − mean) / √(variance + `added`) of each step, by column; `kernel` gives the Gaussian of a step and where it went.
fn residuals(
    case: &Case,
    trajectories: &Trajectories,
    steps: std::ops::Range<usize>,
    added: &[f64],
    kernel: impl Fn(&Parameters, usize, &[f64]) -> (Gaussian, Vec<f64>),
) -> Vec<Vec<f64>> {
    let live = case.named_live();
    let mut columns = vec![Vec::new(); steps.len() * DIM];
    for b in 0..trajectories.len() {
        let path = widened(trajectories.path(b));
        for (place, i) in steps.clone().enumerate() {
            let (gaussian, to) = kernel(&live, i, &path);
            for j in 0..DIM {
                let variance = gaussian.variance[j] + added[i];
                columns[place * DIM + j].push((to[j] - gaussian.mean[j]) / variance.sqrt());
            }
        }
    }
    columns
}

fn forward_residuals(case: &Case, trajectories: &Trajectories, added: &[f64]) -> Vec<Vec<f64>> {
    residuals(case, trajectories, 0..STEPS, added, |live, i, path| {
        let from = state(&case.settings, path, i);
        (generation(&case.settings, live, i, &from), state(&case.settings, path, i + 1))
    })
}

#[test]
fn generated_steps_have_the_density_of_the_generation_kernel() {
    for case in cases() {
        let mut sampler =
            Sampler::new(case.model.clone(), case.live.clone(), &Threads::new(1).expect("a thread"))
                .expect("weights");
        let trajectories = sampler.generate(COUNT, Address::new(3, Purpose::Sample, 0));
        let columns = forward_residuals(&case, &trajectories, &[0.0; STEPS]);
        assert_standard_normal(&columns, "generation");
    }
}

#[test]
fn destroyed_steps_have_the_density_of_the_destruction_kernel() {
    for case in cases() {
        let mut sampler =
            Sampler::new(case.model.clone(), case.live.clone(), &Threads::new(1).expect("a thread"))
                .expect("weights");
        let ends = rounded(Draw::new(9).normals(COUNT * DIM));
        let trajectories = sampler.destroy(&ends, Address::new(4, Purpose::Sample, 0));
        let mut kept = Vec::new();
        trajectories.copy_ends(&mut kept);
        assert_eq!(kept, ends, "destruction leaves the end points alone");
        let columns = residuals(&case, &trajectories, 1..STEPS, &[0.0; STEPS], |live, i, path| {
            let from = state(&case.settings, path, i + 1);
            (destruction(&case.settings, live, i, &from), state(&case.settings, path, i))
        });
        assert_standard_normal(&columns, "destruction");
    }
}

#[test]
fn added_variance_is_added_to_that_of_the_kernel() {
    let added = [0.5_f32, 0.25, 0.125];
    for case in cases() {
        let mut differentiator = Differentiator::new(case.model.clone(), &Threads::new(1).expect("threads"));
        let (lanes, model, prelude) = differentiator.ready(&case.live);
        let network = Network { parameters: &case.live, prelude };
        let (mut noise, mut trajectories) = (Vec::new(), Trajectories::new(COUNT, STEPS, DIM));
        draw_noise(lanes, model, Address::new(5, Purpose::Generate, 1), 0..COUNT, &mut noise);
        simulate_forward(lanes, model, network, &noise, &added, &mut trajectories);
        let columns = forward_residuals(&case, &trajectories, &widened(&added));
        assert_standard_normal(&columns, "generation with added variance");
        // The test could tell: without the added variance the same residuals are far too wide.
        let columns = forward_residuals(&case, &trajectories, &[0.0; STEPS]);
        assert!(kolmogorov_smirnov(columns[0].clone()) > KOLMOGOROV);
    }
}

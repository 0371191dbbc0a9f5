//! Every combination of objectives and options, each on a few random shapes.

use ebbtide::network::View;
use ebbtide::objective::GenerationObjective;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::agreement::{Probes, Worst, check};
use crate::case::{Case, SMALL, Shape, shapes};
use crate::choice::Choice;

/// Random shapes for each combination.
const SHAPES: u32 = 3;

/// Short enough for differences of a simulation whose variance reaches e⁴ σ².
const LENGTH: f64 = 1.0 / 8.0;

fn every_combination(generation: GenerationObjective) {
    let mut worst = Worst::default();
    for (index, choice) in Choice::all(generation).into_iter().enumerate() {
        let config =
            Config { cases: SHAPES, max_shrink_iters: 64, failure_persistence: None, ..Config::default() };
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[index as u8; 32]);
        let worst = std::cell::RefCell::new(&mut worst);
        let outcome = TestRunner::new_with_rng(config, random).run(&shapes(), |shape| {
            // A coordinate costs as much as a direction.
            let small = shape.batch <= SMALL;
            let probes = Probes { directions: 1 + usize::from(small), length: LENGTH, coordinates: small };
            worst.borrow_mut().merge(check(&mut Case::new(choice, &shape), probes));
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{choice:?}: {error}");
        }
    }
    println!("{generation:?}: {worst:?}");
}

#[test]
fn trajectory_balance_agrees_in_every_combination() {
    every_combination(GenerationObjective::TrajectoryBalance);
}

#[test]
fn vargrad_agrees_in_every_combination() {
    every_combination(GenerationObjective::VarGrad);
}

#[test]
fn reverse_kl_agrees_in_every_combination() {
    every_combination(GenerationObjective::ReverseKl);
}

/// Twenty-four steps make tiles of sixteen trajectories, so that seventy fill five lanes, the last in part.
#[test]
fn many_tiles_in_many_lanes_agree() {
    let shape = Shape {
        dim: 2,
        width: 3,
        depth: 1,
        gaps: (0..24).map(|i| 1.0 + 0.02 * f64::from(i)).collect(),
        batch: 70,
        sigma_squared: 1.5,
        c1: 1.0,
        c2: 0.7,
        head_gain: 0.8,
        drift_bound: 1e4,
        view: View::Plain,
        residual_bound: f64::INFINITY,
        seed: 5,
    };
    let mut worst = Worst::default();
    for generation in
        [GenerationObjective::TrajectoryBalance, GenerationObjective::VarGrad, GenerationObjective::ReverseKl]
    {
        for choice in Choice::all(generation) {
            let chosen = choice.destruction.is_some() && choice.learns_variance && choice.lags;
            if chosen && choice.weighted == (generation != GenerationObjective::ReverseKl) {
                let probes = Probes { directions: 1, length: LENGTH, coordinates: false };
                worst.merge(check(&mut Case::new(choice, &shape), probes));
            }
        }
    }
    println!("many tiles: {worst:?}");
}

/// Layers of 512 features leave what their weights' gradients are made of behind, for threads to gather from all lanes at once.
#[test]
fn very_wide_networks_agree() {
    let shape = Shape {
        dim: 3,
        width: 512,
        depth: 2,
        gaps: vec![1.0, 0.7, 1.2],
        batch: 3,
        sigma_squared: 1.5,
        c1: 1.0,
        c2: 0.7,
        head_gain: 0.8,
        drift_bound: 1e4,
        view: View::Logarithmic,
        residual_bound: f64::INFINITY,
        seed: 6,
    };
    let mut worst = Worst::default();
    for generation in
        [GenerationObjective::TrajectoryBalance, GenerationObjective::VarGrad, GenerationObjective::ReverseKl]
    {
        for choice in Choice::all(generation) {
            let chosen = choice.learns_variance && choice.lags && !choice.weighted;
            if chosen && choice.multiplier == Choice::all(generation)[0].multiplier {
                // A coordinate costs as much as a direction.
                let coordinates = generation == GenerationObjective::TrajectoryBalance;
                let probes = Probes { directions: 1, length: LENGTH, coordinates };
                worst.merge(check(&mut Case::new(choice, &shape), probes));
            }
        }
    }
    println!("very wide: {worst:?}");
}

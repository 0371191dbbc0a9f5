//! The clamp on the drift: beyond the bound the value stays and the gradient is zero.

use ebbtide::network::View;
use ebbtide::objective::GenerationObjective;

use crate::agreement::{Probes, Worst, check, drifts};
use crate::case::{Case, Shape};
use crate::choice::Choice;

const BOUND: f32 = 0.3;

/// Directions are short, so that no drift crosses the bound while differences are taken.
const LENGTH: f64 = 1.0 / 256.0;

#[test]
fn clamped_drifts_have_no_gradient() {
    let shape = Shape {
        dim: 2,
        width: 5,
        depth: 2,
        gaps: vec![1.0, 0.5, 0.8],
        batch: 4,
        sigma_squared: 1.5,
        c1: 1.0,
        c2: 0.7,
        head_gain: 0.8,
        drift_bound: BOUND,
        view: View::Plain,
        residual_bound: f64::INFINITY,
        seed: 11,
    };
    let mut worst = Worst::default();
    for generation in
        [GenerationObjective::TrajectoryBalance, GenerationObjective::VarGrad, GenerationObjective::ReverseKl]
    {
        for choice in Choice::all(generation) {
            let mut case = Case::new(choice, &shape);
            let probes = Probes { directions: 3, length: LENGTH, coordinates: false };
            worst.merge(check(&mut case, probes));
            let drifts = drifts(&case);
            let (inside, outside): (Vec<f64>, Vec<f64>) =
                drifts.iter().map(|f| f.abs() - f64::from(BOUND)).partition(|&beyond| beyond < 0.0);
            assert!(inside.len() > 1 && outside.len() > 1, "some drifts are clamped and some are not");
        }
    }
    println!("clamped: {worst:?}");
}

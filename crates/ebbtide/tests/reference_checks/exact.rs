//! The exact reversal balances every trajectory, as closed form and as a network.

use crate::reference::difference::gradient;
use crate::reference::draw::Draw;
use crate::reference::kernel::log_destruction;
use crate::reference::network::random_parameters;
use crate::reference::objective::{Batch, GenerationObjective, generation_loss, log_ratios};
use crate::reference::{Destruction, Parameters, Settings, exact};
use crate::{assert_close, every_choice, settings};

#[test]
fn exact_reversal_balances_every_trajectory() {
    let settings =
        Settings { destruction: Destruction::Fixed, ..settings(3, 1, 1, &[0.0, 0.1, 0.3, 0.35, 0.8, 1.0]) };
    let mut draw = Draw::new(21);
    for s_squared in [0.05, 1.0, 1.7, 40.0] {
        for _ in 0..20 {
            let states: Vec<f64> = draw.normals(15).iter().map(|x| 3.0 * x).collect();
            let target = exact::log_target(s_squared, &states[12..]);
            let backward = log_destruction(&settings, &Parameters::new(), &states);
            let forward = exact::log_generation(&settings, s_squared, &states);
            assert_close(target + backward, forward, 1e-12, "balance");
        }
    }
}

#[test]
fn exact_marginals_follow_the_recursion_of_the_destruction() {
    let settings = settings(1, 1, 1, &[0.0, 0.1, 0.3, 0.35, 0.8, 1.0]);
    let s_squared = 6.0;
    let mut marginal = [0.0; 6];
    marginal[5] = s_squared;
    for i in (1..5).rev() {
        let rho = settings.rho(i);
        marginal[i] = rho * rho * marginal[i + 1] + rho * 1.7 * settings.delta(i);
    }
    let mut forward = 0.0;
    for (i, step) in exact::reversal(&settings, s_squared).iter().enumerate() {
        forward = step.slope * step.slope * forward + step.variance;
        assert_close(forward, marginal[i + 1], 1e-13, "marginal variance");
    }
}

#[test]
fn untrained_network_is_exact_when_the_target_is_brownian() {
    let base = settings(3, 4, 2, &[0.0, 0.1, 0.45, 1.0]);
    for step in exact::reversal(&base, 1.7) {
        assert_close(step.slope, 1.0, 1e-15, "slope of Brownian motion");
    }
    for settings in every_choice(&base) {
        let mut draw = Draw::new(22);
        let mut p = random_parameters(&settings, 0.5, &mut draw);
        for (name, tensor) in &mut p {
            if name.contains("head") {
                tensor.fill(0.0);
            }
        }
        let states = draw.normals(9);
        let l = exact::log_target(1.7, &states[6..]);
        let batch = Batch { trajectories: &[states], weights: &[1.0], log_density: &[l] };
        let ratio = log_ratios(&settings, &p, &p, batch)[0];
        assert_close(ratio, 0.0, 1e-13, "log ratio");
    }
}

#[test]
fn exact_network_has_no_loss_and_no_gradient() {
    let settings = Settings { destruction: Destruction::Fixed, ..settings(2, 5, 1, &[0.0, 0.4, 1.0]) };
    let s_squared = 0.9;
    let p = exact::network(&settings, s_squared);
    let mut draw = Draw::new(24);
    let noise: Vec<Vec<f64>> = (0..3).map(|_| draw.normals(4)).collect();
    let trajectories: Vec<Vec<f64>> = (0..3).map(|_| draw.normals(4)).collect();
    let l: Vec<f64> = trajectories.iter().map(|x| exact::log_target(s_squared, &x[2..]) + 2.5).collect();
    let batch = Batch { trajectories: &trajectories, weights: &[1.0, 0.4, 0.7], log_density: &l };
    let balance = GenerationObjective::TrajectoryBalance { batch, log_z: 2.5 };
    for objective in [balance, GenerationObjective::VarGrad { batch }] {
        let loss = |q: &Parameters| generation_loss(&settings, objective, q, &p);
        assert!(loss(&p) < 1e-24, "loss {}", loss(&p));
        for (name, tensor) in gradient(&loss, &p) {
            assert!(tensor.iter().all(|g| g.abs() < 1e-9), "{name}: {tensor:?}");
        }
    }
    let reverse_kl = GenerationObjective::ReverseKl {
        noise: &noise,
        log_density: &|x| exact::log_target(s_squared, x) + 2.5,
    };
    let value = generation_loss(&settings, reverse_kl, &p, &p);
    assert_close(value, -2.5 / 2.0, 1e-12, "reverse KL is −log Z / d");
}

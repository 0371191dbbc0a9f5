//! The network and the kernels against their formulas written out.

use std::f64::consts::{E, TAU};

use crate::reference::difference::partial;
use crate::reference::draw::Draw;
use crate::reference::error_function::gelu;
use crate::reference::kernel::{self, log_generation, simulate};
use crate::reference::network::{self, Head, random_parameters};
use crate::reference::{
    Backbone, Destruction, DestructionVariance, GenerationVariance, Parameters, Settings,
};
use crate::{assert_close, every_choice, settings};

#[test]
fn network_of_width_one_is_the_formula_written_out() {
    let settings = settings(1, 1, 2, &[0.0, 0.4, 1.0]);
    let p = random_parameters(&settings, 0.8, &mut Draw::new(1));
    let w = |name: &str| p[&format!("shared.{name}")][0];
    let (x, t) = (0.6_f64, 0.4_f64);

    let angle = 0.1 * t + w("time.phase");
    let second = p["shared.time.0.weight"][1];
    let te = angle.sin() * w("time.0.weight") + angle.cos() * second + w("time.0.bias");
    let te = gelu(te) * w("time.1.weight") + w("time.1.bias");
    let se = x * w("state.weight") + w("state.bias");
    let hidden = gelu(se) * w("backbone.0.state.weight")
        + gelu(te) * w("backbone.0.time.weight")
        + w("backbone.0.bias");
    let hidden = gelu(gelu(hidden) * w("backbone.1.weight") + w("backbone.1.bias"));

    for (head, name) in [(Head::Generation, "generation"), (Head::Destruction, "destruction")] {
        let raw = network::output(&settings, &p, head, &[x], t);
        assert_eq!(raw.len(), 2);
        for k in 0..2 {
            let weight = p[&format!("{name}.head.weight")][k];
            let bias = p[&format!("{name}.head.bias")][k];
            assert_close(raw[k], hidden * weight + bias, 1e-15, name);
        }
    }
}

#[test]
fn tensors_are_those_the_choices_call_for() {
    let base = settings(2, 3, 2, &[0.0, 1.0]);
    for settings in every_choice(&base) {
        let learned = settings.destruction != Destruction::Fixed;
        let separate = settings.backbone == Backbone::Separate;
        let trunks = if learned && separate { 2 } else { 1 };
        let heads = if learned { 2 } else { 1 };
        let p = random_parameters(&settings, 1.0, &mut Draw::new(0));
        assert_eq!(p.len(), 12 * trunks + 2 * heads);
        let has = |name: &str| p.contains_key(name);
        assert_eq!(has("shared.time.0.weight"), !separate);
        assert_eq!(has("generation.backbone.1.bias"), separate);
        assert_eq!(has("destruction.backbone.1.bias"), separate && learned);
        assert_eq!(has("destruction.head.weight"), learned);
        let outputs = match settings.generation_variance {
            GenerationVariance::Fixed => 2,
            GenerationVariance::Learned => 4,
        };
        assert_eq!(p["generation.head.weight"].len(), 3 * outputs);
        assert_eq!(p["generation.head.bias"].len(), outputs);
    }
}

#[test]
fn time_features_run_from_a_tenth_to_a_hundred() {
    // All paths but one closed: the output is one time feature through the three activations.
    let settings = settings(1, 3, 1, &[0.0, 1.0]);
    let t = 0.37_f64;
    let c = [0.1, 50.05, 100.0];
    for k in 0..6 {
        let mut p = random_parameters(&settings, 0.0, &mut Draw::new(0));
        let one = |p: &mut Parameters, name: &str, index: usize| {
            p.get_mut(name).expect("a tensor of that name")[index] = 1.0;
        };
        one(&mut p, "shared.time.0.weight", k * 3);
        one(&mut p, "shared.time.1.weight", 0);
        one(&mut p, "shared.backbone.0.time.weight", 0);
        one(&mut p, "generation.head.weight", 0);
        p.get_mut("shared.time.phase").expect("phases")[k % 3] = 0.2;
        let angle = c[k % 3] * t + 0.2;
        let feature = if k < 3 { angle.sin() } else { angle.cos() };
        let raw = network::output(&settings, &p, Head::Generation, &[5.0], t);
        assert_close(raw[0], gelu(gelu(gelu(feature))), 1e-14, "feature");
    }
}

#[test]
fn drift_is_clamped_and_flat_outside_the_bound() {
    let settings = Settings { drift_bound: 0.5, ..settings(1, 2, 1, &[0.0, 0.5, 1.0]) };
    let mut p = random_parameters(&settings, 0.0, &mut Draw::new(0));
    p.insert("generation.head.bias".into(), vec![2.0, 0.0]);
    let step = kernel::generation(&settings, &p, 1, &[3.0]);
    assert_eq!(step.mean, [3.25]);
    let loss = |p: &Parameters| log_generation(&settings, p, &[0.3, -0.4]);
    assert_eq!(partial(&loss, &p, "generation.head.bias", 0).value, 0.0);
}

#[test]
fn kernels_bend_as_far_as_their_bounds() {
    let base = settings(1, 2, 1, &[0.0, 0.5, 1.0]);
    for settings in every_choice(&base) {
        let mut p = random_parameters(&settings, 0.0, &mut Draw::new(0));
        for (name, tensor) in &mut p {
            if name.ends_with("head.bias") {
                tensor.fill(50.0);
            }
        }
        let step = kernel::generation(&settings, &p, 1, &[3.0]);
        let gamma = match settings.generation_variance {
            GenerationVariance::Fixed => 1.0,
            GenerationVariance::Learned => E,
        };
        assert_close(step.mean[0], 3.0 + 50.0 * 0.5, 1e-14, "drift");
        assert_close(step.variance[0], gamma * 1.7 * 0.5, 1e-14, "γ");
        let step = kernel::destruction(&settings, &p, 1, &[3.0]);
        let (alpha, beta) = match settings.destruction {
            Destruction::Fixed => (1.0, 1.0),
            Destruction::Learned(DestructionVariance::Bounded) => (1.9, 1.9),
            Destruction::Learned(DestructionVariance::Exponential) => (1.9, E),
        };
        assert_close(step.mean[0], alpha * 0.5 * 3.0, 1e-14, "α");
        assert_close(step.variance[0], beta * 0.5 * 1.7 * 0.5, 1e-14, "β");
    }
}

#[test]
fn kernels_read_the_network_at_the_state_and_time_they_leave() {
    let settings = settings(1, 3, 2, &[0.0, 0.3, 0.5, 1.0]);
    let p = random_parameters(&settings, 0.7, &mut Draw::new(4));
    let (x, times) = (1.3, &settings.times);
    for i in 0..3 {
        let raw = network::output(&settings, &p, Head::Generation, &[x], times[i]);
        let step = kernel::generation(&settings, &p, i, &[x]);
        let delta = times[i + 1] - times[i];
        assert_close(step.mean[0], x + raw[0] * delta, 1e-14, "drift");
        let gamma = raw[1].tanh().exp();
        assert_close(step.variance[0], gamma * 1.7 * delta, 1e-14, "γ");
    }
    for i in 1..3 {
        let raw = network::output(&settings, &p, Head::Destruction, &[x], times[i + 1]);
        let step = kernel::destruction(&settings, &p, i, &[x]);
        let (rho, delta) = (times[i] / times[i + 1], times[i + 1] - times[i]);
        let (alpha, beta) = (1.0 + 0.9 * raw[0].tanh(), 1.0 + 0.9 * raw[1].tanh());
        assert_close(step.mean[0], alpha * rho * x, 1e-14, "α");
        assert_close(step.variance[0], beta * rho * 1.7 * delta, 1e-14, "β");
    }
}

#[test]
fn density_of_a_simulated_trajectory_is_that_of_its_noise() {
    let base = settings(2, 3, 2, &[0.0, 0.2, 0.5, 1.0]);
    for settings in every_choice(&base) {
        let mut draw = Draw::new(5);
        let p = random_parameters(&settings, 0.7, &mut draw);
        let noise = draw.normals(6);
        let states = simulate(&settings, &p, &noise);
        let mut log_noise = 0.0;
        for i in 0..3 {
            let x = kernel::state(&settings, &states, i);
            let variance = kernel::generation(&settings, &p, i, &x).variance;
            for k in 0..2 {
                log_noise -= 0.5 * noise[2 * i + k].powi(2) + 0.5 * (TAU * variance[k]).ln();
            }
        }
        let log_states = log_generation(&settings, &p, &states);
        assert_close(log_states, log_noise, 1e-12, "change of variables");
    }
}

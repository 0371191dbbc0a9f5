//! The kernels one by one: values, slopes and draws against the plain Gaussian density in double precision.
//!
//! Errors are relative to the terms that the formula adds up, as those are what is rounded: a residual of nearby
//! states is not known better than the states.

use ebbtide::process::{Corrections, Destruction, Generation, GenerationVariance, Multiplier, Step};
use proptest::prelude::*;

use crate::reference::difference::derivative;

const RELATIVE: f64 = 2e-6;

/// log N(x; mean, variance)
fn log_normal(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((x - mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln())
}

fn close(what: &str, ours: f32, theirs: f64, scale: f64) {
    let error = (f64::from(ours) - theirs).abs() / scale.max(theirs.abs());
    assert!(error < RELATIVE, "{what}: {ours} against {theirs}, off by {error:e}");
}

/// One coordinate of one step of a trajectory, with the outputs of a head for it.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Where the step starts: x_i for generation, x_{i+1} for destruction.
    from: f32,
    /// Where it ends, in standard deviations from the mean.
    z: f32,
    /// f or a.
    first: f32,
    /// v or b.
    second: f32,
    weight: f32,
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    // Raw outputs up to 5 saturate tanh to within 1e-4.
    let row = (-3.0..3.0_f32, -3.0..3.0_f32, -3.0..3.0_f32, -5.0..5.0_f32, -2.0..2.0_f32)
        .prop_map(|(from, z, first, second, weight)| Row { from, z, first, second, weight });
    prop::collection::vec(row, 1..40)
}

fn steps() -> impl Strategy<Value = Step> {
    (0.05..1.0_f32, 0.05..1.0_f32).prop_map(|(length, ratio)| Step { length, ratio })
}

fn columns<const N: usize>(rows: &[Row], pick: impl Fn(&Row) -> [f32; N]) -> [Vec<f32>; N] {
    std::array::from_fn(|k| rows.iter().map(|row| pick(row)[k]).collect())
}

/// γ, or β in its exponential form.
fn exponential(bound: f64, raw: f64) -> f64 {
    (bound * raw.tanh()).exp()
}

/// Mean and variance of a generation step, as a function of (x, f, v).
fn generation_moments(kernel: &Generation, step: Step, x: f64, f: f64, v: f64) -> (f64, f64) {
    let (bound, length) = (f64::from(kernel.drift_bound), f64::from(step.length));
    let gamma = match kernel.variance {
        GenerationVariance::Fixed => 1.0,
        GenerationVariance::Learned { bound } => exponential(f64::from(bound), v),
    };
    (x + f.clamp(-bound, bound) * length, gamma * f64::from(kernel.sigma_squared) * length)
}

/// Mean and variance of a destruction step, as a function of (x_{i+1}, a, b).
fn destruction_moments(kernel: &Destruction, step: Step, x: f64, a: f64, b: f64) -> (f64, f64) {
    let (alpha, beta) = match kernel.corrections {
        Corrections::Fixed => (1.0, 1.0),
        Corrections::Learned { bound, multiplier } => {
            let c2 = f64::from(bound);
            let beta = match multiplier {
                Multiplier::Bounded => 1.0 + c2 * b.tanh(),
                Multiplier::Exponential { bound } => exponential(f64::from(bound), b),
            };
            (1.0 + c2 * a.tanh(), beta)
        }
    };
    let rho = f64::from(step.ratio);
    (alpha * rho * x, beta * rho * f64::from(kernel.sigma_squared) * f64::from(step.length))
}

/// Whether a raw drift is far enough from the clamp's corner for differences to be taken.
fn away_from_the_corner(kernel: &Generation, f: f64) -> bool {
    (f.abs() - f64::from(kernel.drift_bound)).abs() > 0.07
}

fn check_generation(kernel: Generation, step: Step, rows: &[Row]) {
    let learned = kernel.variance != GenerationVariance::Fixed;
    let wide = |row: &Row| [row.from, row.first, row.second, row.z].map(f64::from);
    let [x, f, v, z, weight] = columns(rows, |r| [r.from, r.first, r.second, r.z, r.weight]);
    let variance = |v: &Vec<f32>| learned.then(|| v.clone());

    let mut next = x.clone();
    kernel.draw(step, &mut next, &f, variance(&v).as_deref(), &z, 0.0);
    let mut wider = x.clone();
    kernel.draw(step, &mut wider, &f, variance(&v).as_deref(), &z, 0.75);
    let mut log_prob = vec![0.5; rows.len()];
    kernel.log_prob(step, &x, &next, &f, variance(&v).as_deref(), &mut log_prob);
    let (mut by_f, mut by_v) = (f.clone(), v.clone());
    kernel.backward(step, &x, &next, &mut by_f, learned.then_some(&mut by_v[..]), &weight);
    let (mut draw_f, mut draw_v) = (f.clone(), v.clone());
    let share = 0.6;
    kernel.backward_draw(step, &mut draw_f, learned.then_some(&mut draw_v[..]), &z, &weight, share);

    for (i, row) in rows.iter().enumerate() {
        let [x, f, v, z] = wide(row);
        let (to, w) = (f64::from(next[i]), f64::from(row.weight));
        let (mean, variance) = generation_moments(&kernel, step, x, f, v);
        let terms = x.abs() + to.abs() + (mean - x).abs();
        close("draw", next[i], mean + variance.sqrt() * z, terms);
        close("wider draw", wider[i], mean + (variance + 0.75).sqrt() * z, terms);
        let square = 1.0 + (to - mean).abs() * terms / variance;
        close("log p", log_prob[i], 0.5 + log_normal(to, mean, variance), 2.0 + square);
        if !away_from_the_corner(&kernel, f) {
            continue;
        }
        let log = |f: f64, v: f64| {
            let (mean, variance) = generation_moments(&kernel, step, x, f, v);
            w * log_normal(to, mean, variance)
        };
        let scale = w.abs() * f64::from(step.length) / variance * terms;
        close("∂f", by_f[i], derivative(&|f| log(f, v), f).value, scale);
        // The loss w x_{i+1} + share · log p, along the draw.
        let drawn = |f: f64, v: f64| {
            let (mean, variance) = generation_moments(&kernel, step, x, f, v);
            let to = mean + variance.sqrt() * z;
            w * to + f64::from(share) * log_normal(to, mean, variance)
        };
        close("draw's ∂f", draw_f[i], derivative(&|f| drawn(f, v), f).value, w.abs());
        if let GenerationVariance::Learned { bound } = kernel.variance {
            let scale = 0.5 * f64::from(bound) * w.abs() * square;
            close("∂v", by_v[i], derivative(&|v| log(f, v), v).value, scale);
            let scale = 0.5 * f64::from(bound) * ((w * z).abs() * variance.sqrt() + f64::from(share));
            close("draw's ∂v", draw_v[i], derivative(&|v| drawn(f, v), v).value, scale);
        }
    }
}

fn check_destruction(kernel: Destruction, step: Step, rows: &[Row]) {
    let [next, a, b, z, weight] = columns(rows, |r| [r.from, r.first, r.second, r.z, r.weight]);
    let raw = kernel.is_learned().then_some((&a[..], &b[..]));

    let mut x = next.clone();
    kernel.draw(step, &mut x, raw, &z);
    let mut log_prob = vec![0.5; rows.len()];
    kernel.log_prob(step, &x, &next, raw, &mut log_prob);
    let (mut by_a, mut by_b) = (a.clone(), b.clone());
    if kernel.is_learned() {
        kernel.backward(step, &x, &next, &mut by_a, &mut by_b, &weight);
    }
    let share = 0.6;
    let (mut by_x, mut by_next) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
    kernel.backward_states(step, &x, &next, raw, share, &mut by_x, &mut by_next);

    for (i, row) in rows.iter().enumerate() {
        let [from, a, b, z, w] = [row.from, row.first, row.second, row.z, row.weight].map(f64::from);
        let (to, share) = (f64::from(x[i]), f64::from(share));
        let (mean, variance) = destruction_moments(&kernel, step, from, a, b);
        let terms = to.abs() + mean.abs();
        close("draw", x[i], mean + variance.sqrt() * z, terms);
        let square = 1.0 + (to - mean).abs() * terms / variance;
        close("log p", log_prob[i], 0.5 + log_normal(to, mean, variance), 2.0 + square);
        let log = |to: f64, from: f64, a: f64, b: f64| {
            let (mean, variance) = destruction_moments(&kernel, step, from, a, b);
            log_normal(to, mean, variance)
        };
        let scale = share * terms / variance;
        close("∂x", by_x[i], share * derivative(&|to| log(to, from, a, b), to).value, scale);
        let slope = share * derivative(&|from| log(to, from, a, b), from).value;
        close("∂next", by_next[i], slope, 2.0 * scale);
        if let Corrections::Learned { multiplier, .. } = kernel.corrections {
            let scale = w.abs() * terms / variance * from.abs();
            close("∂a", by_a[i], w * derivative(&|a| log(to, from, a, b), a).value, scale);
            let steepness = match multiplier {
                Multiplier::Bounded => {
                    1.0 / (variance / destruction_moments(&fixed(kernel), step, from, a, b).1)
                }
                Multiplier::Exponential { bound } => f64::from(bound),
            };
            let scale = 0.5 * w.abs() * square * steepness;
            close("∂b", by_b[i], w * derivative(&|b| log(to, from, a, b), b).value, scale);
        }
    }
}

fn fixed(kernel: Destruction) -> Destruction {
    Destruction { corrections: Corrections::Fixed, ..kernel }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn generation_steps_are_gaussian(
        rows in rows(), step in steps(), sigma_squared in 0.3..5.0_f32, c1 in 0.5..4.0_f32,
        drift_bound in prop_oneof![Just(1e4_f32), Just(0.9)],
    ) {
        for variance in [GenerationVariance::Fixed, GenerationVariance::Learned { bound: c1 }] {
            check_generation(Generation { variance, sigma_squared, drift_bound }, step, &rows);
        }
    }

    #[test]
    fn destruction_steps_are_gaussian(
        rows in rows(), step in steps(), sigma_squared in 0.3..5.0_f32, c1 in 0.5..4.0_f32, c2 in 0.1..0.95_f32,
    ) {
        for corrections in [
            Corrections::Fixed,
            Corrections::Learned { bound: c2, multiplier: Multiplier::Bounded },
            Corrections::Learned { bound: c2, multiplier: Multiplier::Exponential { bound: c1 } },
        ] {
            check_destruction(Destruction { corrections, sigma_squared }, step, &rows);
        }
    }
}

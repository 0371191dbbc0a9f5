//! The pilot finds densities wherever they are, and placements change nothing but coordinates.

use std::f64::consts::PI;
use std::sync::Arc;

use ebbtide::pilot::{Pilot, PilotError, PilotOptions, find};
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::{Formula, NamedTarget, Placeable, Placement, Target, TargetError};

fn formula(text: &str, dim: usize) -> Formula {
    Formula::new(text, dim, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn found(density: &dyn Placeable, seed: u64) -> Pilot {
    find(density, &PilotOptions { seed, ..PilotOptions::new(density.dim()) }).expect("something is found")
}

/// Whether the place is within `off` deviations and the width within a factor.
fn is_right(pilot: &Pilot, truth: &[(f64, f64)], off: f64, factor: f64) -> bool {
    let found = pilot.placement.location().iter().zip(pilot.placement.scale());
    found.zip(truth).all(|((location, scale), (mean, deviation))| {
        (location - mean).abs() < off * deviation && (factor.recip()..factor).contains(&(scale / deviation))
    })
}

#[test]
fn places_and_widths_of_all_sizes_are_found() {
    let cases = [
        ("-0.5*((x0 - 300)/0.01)^2 - 0.5*((x1 + 2)/50)^2", vec![(300.0, 0.01), (-2.0, 50.0)]),
        ("-0.5*((x0 - 1e5)/0.01)^2", vec![(1e5, 0.01)]),
        (
            "-0.5*((x0 + 1e-4)/1e-6)^2 - 0.5*(x1/1e6)^2 - 0.5*x2^2",
            vec![(-1e-4, 1e-6), (0.0, 1e6), (0.0, 1.0)],
        ),
        // Correlated, 0.95.
        ("-0.5*((x0 - 7)^2 - 1.9*(x0 - 7)*x1 + x1^2)/0.0975", vec![(7.0, 1.0), (0.0, 1.0)]),
        // Two modes, both in sight.
        ("logsumexp(-0.5*((x0 - 40)/2)^2, -0.5*((x0 + 40)/2)^2)", vec![(0.0, 40.0)]),
        // Half of a line has no density.
        ("log(max(x0, 0)) - x0/20", vec![(40.0, 28.0)]),
    ];
    for (text, truth) in cases {
        for seed in 0..3 {
            let pilot = found(&formula(text, truth.len()), seed);
            assert!(is_right(&pilot, &truth, 0.6, 1.8), "{text}, seed {seed}: {pilot:?}");
            assert!(pilot.evaluations < 1_000_000, "{text}: {}", pilot.evaluations);
        }
    }
}

#[test]
fn log_z_is_seen_roughly() {
    // A Gaussian exactly but for chance, and two modes as if they were one.
    for (text, dim, truth, room) in [
        ("-0.5*((x0 - 300)/0.01)^2 - 0.5*(x1/50)^2 - 275", 2, (PI).ln() - 275.0, 0.7),
        ("logsumexp(-0.5*((x0 - 40)/2)^2, -0.5*((x0 + 40)/2)^2)", 1, (4.0 * (2.0 * PI).sqrt()).ln(), 3.5),
    ] {
        let pilot = found(&formula(text, dim), 0);
        assert!((pilot.log_z - truth).abs() < room, "{text}: {} instead of {truth}", pilot.log_z);
    }
}

#[test]
fn coordinates_that_go_together_are_taken_apart() {
    // A walk: each coordinate is the one before and a little more. In z, its own precision matrix should be about the identity.
    for (dim, seed) in [(3, 0), (3, 1), (12, 0), (30, 0)] {
        let walk = formula("-0.5*(x0 - 5)^2 - 0.5*sum(i, 1, dim-1, ((x[i] - x[i-1])/0.2)^2)", dim);
        let pilot = found(&walk, seed);
        assert_eq!(pilot.placement.factor().len(), dim * (dim + 1) / 2);
        // Independent draws of the walk are 0 ± 1 in z, and independent there.
        let mut stream = Address::new(seed, Purpose::ExactDraw, 0).stream(0);
        let draws: Vec<Vec<f64>> = (0..4000)
            .map(|_| {
                let mut x = 5.0 + stream.normal_f64();
                let mut walk = vec![x];
                walk.extend((1..dim).map(|_| {
                    x += 0.2 * stream.normal_f64();
                    x
                }));
                pilot.placement.to_z(&mut walk);
                walk
            })
            .collect();
        for i in 0..dim {
            for j in 0..=i {
                let second = draws.iter().map(|z| z[i] * z[j]).sum::<f64>() / draws.len() as f64;
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((second - expected).abs() < 0.6, "{dim} coordinates, {i} with {j}: {second}");
            }
        }
        let log_z = 0.5 * dim as f64 * (2.0 * PI).ln() + (dim as f64 - 1.0) * 0.2f64.ln();
        assert!((pilot.log_z - log_z).abs() < 0.3 + 0.05 * dim as f64, "{} and {log_z}", pilot.log_z);
    }
}

#[test]
fn coordinates_that_do_not_are_left_alone() {
    for (text, dim) in [("sum(-0.5*((x - i)/(i + 1))^2)", 8), ("-(x0^2 - 4)^2 - 0.5*x1^2", 2)] {
        let pilot = found(&formula(text, dim), 0);
        assert!(pilot.placement.factor().is_empty(), "{text}: {pilot:?}");
    }
}

#[test]
fn many_dimensions_are_found_too() {
    let text = "sum(-0.5*((x - 10*i)/(i + 1))^2)";
    let truth: Vec<(f64, f64)> = (0..32).map(|i| (10.0 * f64::from(i), f64::from(i) + 1.0)).collect();
    let pilot = found(&formula(text, 32), 0);
    assert!(is_right(&pilot, &truth, 0.8, 2.0), "{pilot:?}");
}

#[test]
fn heavy_tails_have_a_width() {
    let funnel: Arc<dyn Target> = NamedTarget::HardFunnel.build().into();
    let pilot = found(&funnel, 0);
    assert!(pilot.placement.scale().iter().all(|scale| (0.3..300.0).contains(scale)), "{pilot:?}");
}

#[test]
fn a_placement_changes_coordinates_and_nothing_else() {
    let placement = Placement::new(vec![3.0, -1.0], vec![2.0, 0.25]).expect("a placement");
    let named: Arc<dyn Target> = NamedTarget::Gmm25.build().into();
    let own = formula("-0.5*(x0 - 3)^2 - x1^4 + sin(x0*x1)", 2);
    for density in [&named as &dyn Placeable, &own] {
        let (whole, placed) = (
            density.placed(&Placement::identity(2)).expect("it"),
            density.placed(&placement).expect("moved"),
        );
        let z = [0.5, -2.0, -1.25, 4.0];
        let mut x = z;
        placement.apply(&mut x);
        assert_eq!(x, [4.0, -1.5, 0.5, 0.0]);
        let (mut here, mut there, mut slopes, mut moved) = ([0.0; 2], [0.0; 2], [0.0; 4], [0.0; 4]);
        let gradient = |target: &Arc<dyn Target>, points: &[f32], out: &mut [f64], slopes: &mut [f32]| {
            target
                .differentiable()
                .expect("slopes")
                .log_density_and_gradient(points, out, slopes)
                .expect("values");
        };
        gradient(&whole, &x, &mut here, &mut slopes);
        gradient(&placed, &z, &mut there, &mut moved);
        for row in 0..2 {
            assert!((there[row] - here[row] - 0.5f64.ln()).abs() < 1e-5, "{here:?} {there:?}");
            for (coordinate, scale) in [2.0, 0.25].into_iter().enumerate() {
                let place = 2 * row + coordinate;
                assert!((moved[place] - scale * slopes[place]).abs() < 1e-4 * (1.0 + moved[place].abs()));
            }
        }
    }
    let placed = named.placed(&placement).expect("moved");
    assert_eq!(placed.log_z(), Some(0.0));
    let address = Address::new(0, Purpose::ExactDraw, 0);
    let (mut draws, mut moved) = (vec![0.0; 200], vec![0.0; 200]);
    named.drawable().expect("draws").draw(address, &mut draws).expect("draws");
    placed.drawable().expect("draws").draw(address, &mut moved).expect("draws");
    let modes = placed.modes().expect("modes");
    for (draw, z) in draws.chunks(2).zip(moved.chunks(2)) {
        assert_eq!(modes.mode_of(z), named.modes().expect("modes").mode_of(draw));
    }
}

#[test]
fn a_factor_changes_coordinates_and_nothing_else() {
    let placement = Placement::new(vec![3.0, -1.0, 0.5], vec![2.0, 0.25, 1.5])
        .and_then(|placement| placement.with_correlations(&[1.0, 0.8, -0.3, 0.8, 1.0, 0.1, -0.3, 0.1, 1.0]))
        .expect("a placement");
    let text = "-0.5*(x0 - 3)^2 - x1^4 + sin(x0*x1) - 0.5*(x2 - x0)^2";
    let own = formula(text, 3);
    let whole: Arc<dyn Target> = Arc::new(own.clone());
    let z = [0.5_f32, -2.0, 1.25];
    let mut x = z.map(f64::from);
    placement.to_x(&mut x);
    let mut back = x;
    placement.to_z(&mut back);
    assert!(back.iter().zip(&z).all(|(back, z)| (back - f64::from(*z)).abs() < 1e-12), "{back:?}");
    let volume =
        (2.0 * 0.25 * 1.5f64).ln() + 0.5 * (1.0 - 0.64 - 0.09 - 0.01 + 2.0 * 0.8 * -0.3 * 0.1f64).ln();
    assert!((placement.log_volume() - volume).abs() < 1e-12);
    let value = |x: &[f64]| {
        let [a, b, c] = [x[0], x[1], x[2]];
        -0.5 * (a - 3.0).powi(2) - b.powi(4) + (a * b).sin() - 0.5 * (c - a).powi(2)
    };
    for density in [&own as &dyn Placeable, &whole] {
        let placed = density.placed(&placement).expect("moved");
        let (mut out, mut slopes) = ([0.0], [0.0; 3]);
        let differentiable = placed.differentiable().expect("slopes");
        differentiable.log_density_and_gradient(&z, &mut out, &mut slopes).expect("values");
        assert!((out[0] - value(&x) - volume).abs() < 1e-5, "{out:?}");
        for coordinate in 0..3 {
            let at = |step: f64| {
                let mut moved = z.map(f64::from);
                moved[coordinate] += step;
                placement.to_x(&mut moved);
                value(&moved)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - f64::from(slopes[coordinate])).abs() < 1e-4 * (1.0 + slope.abs()), "{slopes:?}");
        }
    }
    assert!(placement.clone().with_factor(vec![1.0, 0.0]).is_err());
    assert!(placement.clone().with_factor(vec![1.0, 0.5, 0.0, 0.0, 0.0, 1.0]).is_err());
    assert!(placement.with_correlations(&[1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0]).is_err());
}

#[test]
fn what_cannot_be_is_told() {
    // The energy instead of the log density, and one that is flat.
    for endless in ["x0^2 + x1^2", "0*(x0 + x1)", "x0 - x1^2"] {
        let error = find(&formula(endless, 2), &PilotOptions::new(2)).expect_err(endless);
        assert!(matches!(error, PilotError::Endless), "{endless}: {error}");
    }
    let nowhere = formula("log(max(x0 - 1e9, 0)) - x0", 1);
    assert!(matches!(find(&nowhere, &PilotOptions::new(1)), Err(PilotError::Nowhere(64))));
    let hint = Placement::new(vec![1e9 + 1.0], vec![1.0]).expect("a hint");
    let pilot = find(&nowhere, &PilotOptions { seed: 0, start: hint }).expect("with a hint it is found");
    assert!((pilot.placement.location()[0] - 1e9 - 2.0).abs() < 1.0, "{pilot:?}");
    // Hardly any of the first points is where there is something.
    let narrow = formula("log(max(1 - 1e4*(x0 - 0.3)^2 - 1e4*x1^2, 0))", 2);
    let hint = PilotOptions { seed: 1, start: Placement::new(vec![0.3, 0.0], vec![0.1; 2]).expect("a hint") };
    let pilot = find(&narrow, &hint).expect("it is found");
    assert!(is_right(&pilot, &[(0.3, 0.0045), (0.0, 0.0045)], 0.6, 1.8), "{pilot:?}");
    let wrong = formula("log(x0)*0 + log(-x0)", 1);
    assert!(matches!(
        find(&wrong, &PilotOptions::new(1)),
        Err(PilotError::Target(TargetError::Impossible { .. }))
    ));
    // Mistakes are told in the density's own coordinates.
    let there = Placement::new(vec![100.0], vec![10.0]).expect("a placement");
    let error =
        formula("log(x0 - 95)", 1).placed(&there).expect("it").log_density(&[1.0, -1.0], &mut [0.0; 2]);
    assert!(matches!(error, Err(TargetError::Impossible { row: 1, point, .. }) if point == [90.0]));
    for (location, scale) in [(vec![0.0], vec![0.0]), (vec![f64::NAN], vec![1.0]), (vec![0.0], vec![])] {
        assert!(Placement::new(location, scale).is_err());
    }
}

//! What networks answer, beside what onnxruntime answered when the fixtures were made (`fixtures/make.py`).

use std::path::{Path, PathBuf};

use ebbtide::target::{Latent, Oracle, Target};
use ebbtide_onnx::{Engine, LatentFiles, LatentSpace, Library, NetworkDensity};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn expected() -> Value {
    let text = std::fs::read_to_string(fixture("expected.json")).expect("fixtures are committed");
    serde_json::from_str(&text).expect("they are JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter()
        .flat_map(|value| value.as_f64().map_or_else(|| numbers(value), |number| vec![number]))
        .collect()
}

fn points(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|number| number as f32).collect()
}

/// Those that are there: onnxruntime is an option; where `EBBTIDE_NEEDS_ORT` is set it has to be there.
fn engines() -> Vec<Engine> {
    let found = Library::load();
    assert!(found.is_ok() || std::env::var_os("EBBTIDE_NEEDS_ORT").is_none(), "{:?}", found.err());
    Engine::ALL.into_iter().filter(|engine| *engine == Engine::Tract || found.is_ok()).collect()
}

fn plane(reward: &str, condition: Option<Vec<f32>>) -> LatentFiles {
    LatentFiles {
        generator: fixture("plane.onnx"),
        reward: fixture(reward),
        embedding: None,
        condition,
        beta: 3.0,
    }
}

#[track_caller]
fn agree(ours: &[f64], theirs: &[f64], within: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (row, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert!((ours - theirs).abs() <= within * (1.0 + theirs.abs()), "row {row}: {ours} beside {theirs}");
    }
}

#[test]
fn latent_energies_are_those_of_onnxruntime() {
    let expected = &expected()["latent"];
    let z = points(&expected["z"]);
    let condition = Some(points(&expected["condition"]));
    for engine in engines() {
        for (reward, condition, name) in [
            ("reward.onnx", None, "energy"),
            ("fixed.onnx", None, "energy"),
            ("conditional.onnx", condition.clone(), "conditional_energy"),
        ] {
            let space = LatentSpace::load(&plane(reward, condition), engine).expect("usable");
            assert_eq!((space.dim(), space.shape().expect("known")), (2, &[3][..]));
            // More rows than a question has, and a last one that is not full.
            let many = z.repeat(5);
            for threads in [1, 3] {
                space.employ(threads);
                let mut ours = vec![0.0; many.len() / 2];
                space.log_density(&many, &mut ours).expect("finite");
                let theirs: Vec<f64> = numbers(&expected[name]).iter().map(|energy| -energy).collect();
                agree(&ours, &theirs.repeat(5), 1e-5);
            }
            let decoded: Vec<f64> = space.decode(&z).expect("finite").into_iter().map(f64::from).collect();
            agree(&decoded, &numbers(&expected["x"]), 1e-5);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let z: Vec<f32> = (0..2 * 333).map(|index| (index as f32 * 0.37).sin() * 2.0).collect();
    for engine in engines() {
        let space = LatentSpace::load(&plane("reward.onnx", None), engine).expect("usable");
        let mut answers = Vec::new();
        for threads in [1, 2, 5] {
            space.employ(threads);
            let mut values = vec![0.0; 333];
            space.log_density(&z, &mut values).expect("finite");
            answers.push(values);
        }
        assert!(answers.iter().all(|values| *values == answers[0]), "{engine}");
    }
}

#[test]
fn densities_and_gradients_are_those_of_onnxruntime() {
    let expected = &expected()["density"];
    let (x, theirs) = (numbers(&expected["x"]), numbers(&expected["log_density"]));
    for engine in engines() {
        let density = NetworkDensity::load(&fixture("energy.onnx"), None, engine).expect("usable");
        assert!(density.has_gradient() && density.dim() == 2);
        let (mut values, mut slopes) = (vec![0.0; theirs.len()], vec![0.0; x.len()]);
        density.log_density_and_gradient(x.clone(), &mut values, &mut slopes).expect("finite");
        agree(&values, &theirs, 1e-5);
        agree(&slopes, &numbers(&expected["grad"]), 1e-5);

        let energy = NetworkDensity::load(&fixture("energy-only.onnx"), Some(2), engine).expect("usable");
        assert!(!energy.has_gradient());
        energy.log_density(x.clone(), &mut values).expect("finite");
        agree(&values, &theirs, 1e-5);
        assert!(energy.log_density_and_gradient(x.clone(), &mut values, &mut slopes).is_err());
    }
}

#[test]
fn a_gradient_is_that_of_the_density() {
    let density = NetworkDensity::load(&fixture("energy.onnx"), None, Engine::Tract).expect("usable");
    let (point, step) = ([0.4, -0.9], 1e-2);
    let (mut value, mut slopes) = ([0.0], [0.0; 2]);
    density.log_density_and_gradient(point.to_vec(), &mut value, &mut slopes).expect("finite");
    for coordinate in 0..2 {
        let at = |sign: f64| {
            let (mut moved, mut value) = (point.to_vec(), [0.0]);
            moved[coordinate] += sign * step;
            density.log_density(moved, &mut value).expect("finite");
            value[0]
        };
        let slope = (at(1.0) - at(-1.0)) / (2.0 * step);
        assert!((slope - slopes[coordinate]).abs() < 2e-3 * (1.0 + slope.abs()), "{slope} {slopes:?}");
    }
}

//! Files that are no networks, or not those that are needed: a typed error that says what was expected and what was found.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::target::{Target, TargetError};
use ebbtide_onnx::{Engine, LatentFiles, LatentSpace, Model, NetworkDensity, OnnxError};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn plane() -> LatentFiles {
    let (generator, reward) = (fixture("plane.onnx"), fixture("reward.onnx"));
    LatentFiles { generator, reward, embedding: None, condition: None, beta: 3.0 }
}

fn with_reward(reward: &str) -> Result<LatentSpace, OnnxError> {
    LatentSpace::load(&LatentFiles { reward: fixture(reward), ..plane() }, Engine::Tract)
}

#[track_caller]
fn says<T>(result: Result<T, OnnxError>, words: &[&str]) {
    let Err(error) = result else { panic!("it was taken") };
    let said = error.to_string();
    for word in words {
        assert!(said.contains(word), "{said:?} does not say {word:?}");
    }
}

#[test]
fn inputs_and_outputs_must_be_those_that_are_needed() {
    let expects = "expected an input that takes what the generator makes, float32 [rows, 3], and perhaps another one for a condition, found";
    says(with_reward("wrong-width.onnx"), &["wrong-width.onnx", expects, ", 4]"]);
    says(with_reward("vector-output.onnx"), &["expected a number for each row", "found [rows, 5]"]);
    says(with_reward("int-input.onnx"), &["found", "int64"]);
    let generator =
        |name: &str| LatentSpace::load(&LatentFiles { generator: fixture(name), ..plane() }, Engine::Tract);
    says(generator("two-inputs.onnx"), &["expected one input, float32 [rows, latent]", " and "]);
    says(generator("int-input.onnx"), &["expected one input, float32 [rows, latent]", "int64"]);
    let embedding = LatentFiles { embedding: Some(fixture("wrong-width.onnx")), ..plane() };
    says(
        LatentSpace::load(&embedding, Engine::Tract),
        &["wrong-width.onnx", "expected an input that takes", ", 4]"],
    );
}

#[test]
fn conditions_must_be_those_that_the_reward_asks_for() {
    let with = |reward: &str, condition: Option<Vec<f32>>| {
        LatentSpace::load(&LatentFiles { reward: fixture(reward), condition, ..plane() }, Engine::Tract)
    };
    says(
        with("reward.onnx", Some(vec![1.0])),
        &["a condition is given, and the reward has no input for one"],
    );
    says(with("conditional.onnx", None), &["asks for a condition", "condition", "none is given"]);
    says(with("conditional.onnx", Some(vec![1.0; 3])), &["the condition has 3 numbers", ", 2]"]);
}

#[test]
fn densities_need_one_input_and_one_number() {
    let load = |name: &str, dim: Option<usize>| NetworkDensity::load(&fixture(name), dim, Engine::Tract);
    says(load("two-inputs.onnx", None), &["expected one input, float32 [rows, coordinates]"]);
    says(load("energy.onnx", Some(3)), &["expected one input, float32 [rows, 3]", ", 2]"]);
    says(load("plane.onnx", None), &["expected a number for each row", "found [rows, 3]"]);
}

#[test]
fn what_tract_does_not_know_is_named() {
    let error = with_reward("unknown-operator.onnx").err().expect("it is unknown");
    assert!(matches!(error, OnnxError::Operator { .. }), "{error}");
}

#[test]
fn nobody_gets_more_memory_than_a_network_needs() {
    let error = with_reward("huge-constant.onnx").err().expect("it is huge");
    assert!(matches!(error, OnnxError::TooLarge { .. }), "{error}");
}

#[test]
fn numbers_elsewhere_on_the_disk_are_not_read() {
    let error = with_reward("external.onnx").err().expect("it reaches out");
    assert!(matches!(error, OnnxError::Malformed { .. }), "{error}");
    assert!(error.to_string().contains("which is not a file beside it"), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Model::read(Path::new("nowhere.onnx")).err().expect("it is not there");
    assert!(error.to_string().starts_with("cannot read nowhere.onnx: "), "{error}");
}

#[test]
fn not_a_number_is_told_with_the_point() {
    let space = with_reward("nan.onnx").expect("usable");
    let target: std::sync::Arc<dyn Target> = std::sync::Arc::new(space);
    let identity = ebbtide::target::Placement::identity(2);
    let placed = ebbtide::target::Placeable::placed(&target, &identity).expect("of its dimension");
    let points: Vec<f32> = (0..200).map(|index| (index as f32 * 0.7).sin() * 3.0).collect();
    let error = placed.log_density(&points, &mut [0.0; 100]).expect_err("some are not numbers");
    assert!(matches!(error, TargetError::Impossible { .. }), "{error}");
}

/// Files that are cut off, and files with a byte changed: an answer or a typed error, and soon. (All places and bytes of five take three minutes.)
#[test]
fn damaged_files_are_errors_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("damaged.onnx");
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let (mut taken, mut refused) = (0, 0);
    for name in ["reward.onnx", "energy.onnx", "conditional.onnx"] {
        let whole = fs::read(fixture(name)).expect("fixtures are committed");
        let cut = (0..whole.len()).step_by(7).map(|length| whole[..length].to_vec());
        let changed = (0..whole.len()).step_by(3).map(|place| {
            let mut changed = whole.clone();
            changed[place] = [0x00, 0x01, 0x7f, 0x80, 0xff][place % 5];
            changed
        });
        for bytes in cut.chain(changed) {
            fs::write(&file, bytes).expect("room for a small file");
            match NetworkDensity::load(&file, Some(3), Engine::Tract) {
                Ok(_) => taken += 1,
                Err(_) => refused += 1,
            }
            let _ = LatentSpace::load(&LatentFiles { reward: file.clone(), ..plane() }, Engine::Tract);
        }
    }
    std::panic::set_hook(quiet);
    assert!(refused > 200 && taken > 0, "{refused} refused, {taken} taken");
}

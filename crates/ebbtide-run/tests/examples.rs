//! The networks of the examples: energies by every engine that is there, beside those of onnxruntime in Python (`expected.py`, `tiny.py`).

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::metric::mean_cosine_distance;
use ebbtide::target::Target;
use ebbtide_onnx::{Engine, Library};
use ebbtide_run::settings::{Draft, Strictness};
use serde_json::Value;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn expected(file: &str) -> Value {
    let text = fs::read_to_string(examples().join(file)).expect("committed");
    serde_json::from_str(&text).expect("JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter()
        .flat_map(|value| value.as_f64().map_or_else(|| numbers(value), |number| vec![number]))
        .collect()
}

fn target(file: &str, engine: Engine) -> std::sync::Arc<dyn Target> {
    let (path, mut draft) = (examples().join(file), Draft::new());
    draft.document(&path.display().to_string(), &fs::read_to_string(&path).expect("committed"));
    draft.flag("--engine", "latent.engine", engine.name());
    draft.resolve(Strictness::Strict).unwrap_or_else(|problems| panic!("{file}: {problems:?}")).built_target()
}

/// onnxruntime is an option; where `EBBTIDE_NEEDS_ORT` is set it has to be there.
fn engines() -> Vec<Engine> {
    let found = Library::load();
    assert!(found.is_ok() || std::env::var_os("EBBTIDE_NEEDS_ORT").is_none(), "{:?}", found.err());
    Engine::ALL.into_iter().filter(|engine| *engine == Engine::Tract || found.is_ok()).collect()
}

#[track_caller]
fn agree(target: &dyn Target, latents: &Value, energies: &Value, name: &str) {
    let points: Vec<f32> = numbers(latents).into_iter().map(|z| z as f32).collect();
    let theirs = numbers(energies);
    let mut ours = vec![0.0; theirs.len()];
    target.log_density(&points, &mut ours).expect("finite");
    for (row, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!(
            (ours + theirs).abs() <= 1e-4 * (1.0 + theirs.abs()),
            "{name}, row {row}: {} beside {theirs}",
            -ours
        );
    }
}

#[test]
fn energies_of_all_prompts_of_digits_are_those_of_onnxruntime() {
    let expected = expected("digits/models/expected.json");
    let energies = expected["energy"].as_object().expect("prompts");
    assert_eq!(energies.len(), 7);
    for engine in engines() {
        for (prompt, energies) in energies {
            let target = target(&format!("digits/prompts/{prompt}.toml"), engine);
            agree(&*target, &expected["z"], energies, &format!("{prompt} by {engine}"));
            assert_eq!(target.latent().expect("latents").shape().expect("known"), [1, 8, 8]);
        }
    }
}

#[test]
fn networks_of_the_full_size_recipe_are_those_of_onnxruntime() {
    let expected = expected("stylegan/tiny/expected.json");
    for engine in engines() {
        let target = target("stylegan/tiny/prompt.toml", engine);
        agree(&*target, &expected["z"], &expected["energy"], &format!("by {engine}"));
        let points: Vec<f32> = numbers(&expected["z"]).into_iter().map(|z| z as f32).collect();
        let (rows, latent) =
            (expected["z"].as_array().expect("rows").len(), target.latent().expect("latents"));
        let ours = latent.embed(&points).expect("finite").expect("there is a network for it");
        let theirs: Vec<f32> = numbers(&expected["embedding"]).into_iter().map(|x| x as f32).collect();
        let (ours, theirs) = (mean_cosine_distance(&ours, rows), mean_cosine_distance(&theirs, rows));
        assert!((ours - theirs).abs() < 1e-4, "{ours} beside {theirs}");
    }
}

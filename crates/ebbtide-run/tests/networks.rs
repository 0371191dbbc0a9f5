//! Runs whose density is made of ONNX networks, evaluated by the engine that is always there.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::metric::log_weights;
use ebbtide::objective::Method;
use ebbtide::stream::{Address, Purpose};
use ebbtide::trajectory::Threads;
use ebbtide_run::run::Run;
use ebbtide_run::settings::{Draft, Placing, Problems, Settings, Strictness};
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Event, Observer, Outcome, Stop};
use serde_json::Value;
use tempfile::TempDir;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ebbtide-onnx/tests/fixtures")
}

fn expected(part: &str) -> Value {
    let text = fs::read_to_string(fixtures().join("expected.json")).expect("fixtures are committed");
    serde_json::from_str::<Value>(&text).expect("they are JSON")[part].clone()
}

/// A folder with copies of the fixtures, and a file of settings in a folder beside them.
fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    fs::create_dir(place.path().join("models")).expect("a folder");
    fs::create_dir(place.path().join("prompts")).expect("a folder");
    for file in ["plane.onnx", "reward.onnx", "conditional.onnx", "wrong-width.onnx", "energy.onnx"] {
        fs::copy(fixtures().join(file), place.path().join("models").join(file)).expect("copied");
    }
    place
}

fn read(place: &Path, text: &str) -> Result<Settings, Problems> {
    let mut draft = Draft::new();
    draft.document(&place.join("prompts/prompt.toml").display().to_string(), text);
    draft.resolve(Strictness::Strict)
}

const PLANE: &str = "
target = \"latent\"
iterations = 600
[latent]
generator = \"../models/plane.onnx\"
reward = \"../models/reward.onnx\"
beta = 3.0
engine = \"tract\"
[network]
width = 32
depth = 2
";

struct Silence;

impl Observer for Silence {
    fn notice(&mut self, _: Event) {}
}

fn trained(settings: Settings, folder: &Path) -> (Outcome, PathBuf) {
    let run = Run::begin(folder, settings, &Threads::new(2).expect("threads")).expect("it begins");
    let place = run.folder().to_owned();
    (run.go(&Stop::default(), &mut Silence).expect("it ends"), place)
}

#[test]
fn a_latent_space_is_trained_as_in_the_paper() {
    let place = place();
    let text = PLANE.split("iterations").next().expect("a beginning").to_owned()
        + "[latent]\ngenerator = \"../models/plane.onnx\"\nreward = \"../models/conditional.onnx\"\ncondition = [1, 2]\nengine = \"tract\"";
    let settings = read(place.path(), &text).expect("usable");
    let config = &settings.config;
    assert_eq!((settings.method, settings.steps(), settings.target.dim()), (Some(Method::TbTb), 5, 2));
    assert_eq!(settings.target.to_string(), "latent-conditional");
    assert_eq!((config.iterations, config.batch, config.sigma_squared), (20_000, 128, 1.0));
    assert_eq!((config.network.width, config.network.depth, config.replay.ratio), (1024, 4, 5));
    assert_eq!((config.exploration.factor, config.optimisation.decay), (0.1, 0.9999));
    assert_eq!((config.optimisation.generation_rate, config.optimisation.destruction_rate), (1e-3, 2e-4));
    assert_eq!(config.target_network, Some(0.15));
    assert!(config.local_search.is_none() && settings.placing == Placing::AsIs);
    let written = settings.to_toml();
    for line in ["variance-bound = 1.0", "bound = 0.1", "latent.condition = [1.0, 2.0]", "latent.beta = 1.0"]
    {
        assert!(written.contains(line), "{line} in {written}");
    }
    // Whatever is printed can be read, from anywhere: paths are whole.
    let mut draft = Draft::new();
    draft.document("elsewhere.toml", &written);
    assert_eq!(draft.resolve(Strictness::Strict).expect("usable"), settings);
}

#[test]
fn what_is_wrong_is_told_where_it_stands() {
    let place = place();
    let said = |from: &str, to: &str| {
        let text = PLANE.replace(from, to);
        let problems = read(place.path(), &text).expect_err("something is wrong");
        let problem = problems.problems[0].clone();
        let at = problem.places.first().map(|(place, _)| text[place.span.clone()].to_owned());
        (problem.message, at)
    };
    let (message, at) = said("models/reward.onnx", "models/wrong-width.onnx");
    assert!(
        message.contains("expected an input that takes what the generator makes, float32 [rows, 3]"),
        "{message}"
    );
    assert_eq!(at.as_deref(), Some("\"../models/wrong-width.onnx\""));
    let (message, at) = said("models/plane.onnx", "models/plan.onnx");
    assert!(message.starts_with("cannot read ") && message.contains("plan.onnx"), "{message}");
    assert_eq!(at.as_deref(), Some("\"../models/plan.onnx\""));
    let (message, at) = said("beta = 3.0", "beta = 3.0\ncondition = [1]");
    assert!(message.contains("a condition is given, and the reward has no input for one"), "{message}");
    assert_eq!(at.as_deref(), Some("[1]"));
    assert!(said("generator = \"../models/plane.onnx\"", "").0.contains("which network decodes latents"));
    assert!(
        said("\"tract\"", "\"track\"")
            .0
            .contains("latent.engine is \"track\", but must be \"tract\" or \"ort\"")
    );
    assert!(said("beta = 3.0", "beta = \"much\"").0.contains("must be a number"));
    assert!(
        said("\"latent\"", "\"25gmm\"")
            .0
            .contains("the target is 25gmm, and there is a latent space as well")
    );
}

/// A plane is small enough for a grid: what is weighed agrees with it, and what is not is much better than the prior.
#[test]
fn latents_follow_prior_times_reward() {
    let place = place();
    let (outcome, folder) = trained(read(place.path(), PLANE).expect("usable"), place.path());
    let truth = &expected("latent")["posterior"];
    let number = |name: &str| truth[name].as_f64().expect("a number");
    let figures = outcome.figures.expect("evaluated");
    let off = figures.log_z - number("log_z");
    assert!(off.abs() < 4.0 * figures.log_z_error + 0.01, "{figures:?}");
    assert!(
        figures.elbo < number("log_z") + 4.0 * figures.elbo_error && figures.elbo > number("log_z") - 1.0,
        "{figures:?}"
    );
    let rewards = outcome.rewards.expect("a latent space has rewards");
    let prior = number("prior_mean_log_reward");
    assert!((rewards.prior_log_reward - prior).abs() < 5.0 * rewards.prior_log_reward_error, "{rewards:?}");
    assert!((rewards.prior_elbo - 3.0 * rewards.prior_log_reward).abs() < 1e-9);
    assert!(rewards.log_reward > prior + 2.0, "{rewards:?}");
    assert_eq!(rewards.diversity, None);

    let threads = Threads::new(2).expect("threads");
    let mut trained = Trained::open(&folder, Which::Last, &threads).expect("there is a checkpoint");
    let paths = trained.sampler.generate(8192, Address::new(7, Purpose::Sample, 0));
    let weights = log_weights(&*trained.target, &mut trained.sampler, &paths).expect("finite");
    let mut points = Vec::new();
    paths.copy_ends(&mut points);
    let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = weights.iter().map(|weight| (weight - most).exp()).collect();
    let data = trained.target.latent().expect("latents").decode(&points).expect("finite");
    for (values, width, name) in [(&points, 2, "mean_z"), (&data, 3, "mean_x")] {
        for coordinate in 0..width {
            let column = values.iter().skip(coordinate).step_by(width).map(|value| f64::from(*value));
            let mean = column.zip(&weights).map(|(value, weight)| value * weight).sum::<f64>()
                / weights.iter().sum::<f64>();
            let truth = truth[name][coordinate].as_f64().expect("a number");
            assert!((mean - truth).abs() < 0.06, "{name}[{coordinate}]: {mean} beside {truth}");
        }
    }
}

#[test]
fn a_run_does_not_become_one_of_other_networks() {
    let place = place();
    let text = PLANE.replace("600", "20");
    let (_, folder) = trained(read(place.path(), &text).expect("usable"), place.path());
    let reward = place.path().join("models/reward.onnx");
    let again = || Run::resume(&folder, Some(40), &Threads::new(1).expect("a thread"));

    fs::copy(fixtures().join("fixed.onnx"), &reward).expect("copied");
    let error = again().err().expect("another reward").to_string();
    assert!(error.contains("reward.onnx") && error.contains("changed since the run was begun"), "{error}");

    fs::remove_file(&reward).expect("removed");
    assert!(again().err().expect("no reward").to_string().contains("cannot read "));
    // Samples need no networks.
    let mut trained =
        Trained::open(&folder, Which::Last, &Threads::new(1).expect("a thread")).expect("weights are there");
    assert_eq!(trained.sampler.sample(3, 0).len(), 6);

    fs::copy(fixtures().join("reward.onnx"), &reward).expect("copied");
    let outcome = again().expect("as it was").go(&Stop::default(), &mut Silence).expect("it ends");
    assert_eq!(outcome.iterations, 40);
}

#[test]
fn a_network_is_a_density_of_ones_own() {
    let place = place();
    let text = "target = \"onnx\"\niterations = 400\nbatch = 128\nonnx.file = \"../models/energy.onnx\"\nonnx.engine = \"tract\"\nmethod = \"tb-tb\"\n[network]\nwidth = 32";
    let settings = read(place.path(), text).expect("usable");
    assert_eq!((settings.target.to_string(), settings.target.dim()), ("energy".to_owned(), 2));
    assert!(
        settings.target.has_gradient()
            && settings.config.local_search.is_some()
            && settings.placing == Placing::Pilot
    );
    let (outcome, _) = trained(settings, place.path());
    let (figures, truth) = (outcome.figures.expect("evaluated"), &expected("density")["integrals"]["log_z"]);
    let truth = truth.as_f64().expect("a number");
    assert!(figures.elbo < truth + 4.0 * figures.elbo_error, "{figures:?} beside {truth}");
    assert!((figures.log_z - truth).abs() < 5.0 * figures.log_z_error + 0.02, "{figures:?} beside {truth}");
}

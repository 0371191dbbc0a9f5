//! What a configuration may say, and what is answered when it says something else.

use ebbtide::objective::Method;
use ebbtide::process::{Corrections, GenerationVariance, Grid, Multiplier};
use ebbtide::target::NamedTarget;
use ebbtide::train::ExplorationForm;
use ebbtide_run::settings::{Draft, Placing, Preset, Problems, SETTINGS, Settings, Strictness};
use proptest::prelude::*;

fn resolve(text: &str, arguments: &[&str]) -> Result<Settings, Problems> {
    let mut draft = Draft::new();
    draft.document("mine.toml", text);
    for argument in arguments {
        draft.argument("--set", argument);
    }
    draft.resolve(Strictness::Strict)
}

/// Settings that must be right.
fn right(text: &str, arguments: &[&str]) -> Settings {
    resolve(text, arguments).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// What is answered to a wrong configuration, one line a problem.
fn wrong(text: &str, arguments: &[&str]) -> String {
    resolve(text, arguments).expect_err("something is wrong").to_string()
}

#[test]
fn a_target_alone_gives_the_presets() {
    for target in NamedTarget::PAPER {
        let usual = right(&format!("target = \"{target}\""), &[]);
        assert_eq!(usual, Preset::Recommended.settings(target, Some(Method::TbTb), 5));
        let paper = right(&format!("target = \"{target}\"\npreset = \"paper\""), &[]);
        assert_eq!(paper, Preset::Paper.settings(target, Some(Method::TbTb), 5));
    }
}

#[test]
fn a_posterior_alone_gives_a_method_and_steps_of_its_own() {
    for target in NamedTarget::POSTERIORS {
        let usual = right(&format!("target = \"{target}\""), &[]);
        assert_eq!(usual, Preset::Recommended.settings(target, usual.method, usual.steps()));
        let paper = right(&format!("target = \"{target}\"\npreset = \"paper\""), &[]);
        assert_eq!((paper.method, paper.config), (usual.method, usual.config), "{target}");
    }
    let sonar = right("target = \"sonar\"", &[]);
    assert_eq!((sonar.method, sonar.steps()), (Some(Method::PisVariance), 10));
    let asked = right("target = \"sonar\"\nmethod = \"tb-tb\"\nsteps = 5", &[]);
    assert_eq!((asked.method, asked.steps()), (Some(Method::TbTb), 5));
}

#[test]
fn what_is_printed_reads_back_the_same() {
    for target in NamedTarget::ALL {
        for method in Method::ALL {
            for steps in [1, 5, 20] {
                let mut settings = Preset::Paper.settings(target, Some(method), steps);
                settings.config.seed = u64::MAX;
                assert_eq!(right(&settings.to_toml(), &[]), settings);
            }
        }
    }
}

#[test]
fn a_formula_is_a_target() {
    let text = "target = \"formula\"\nformula.log-density = \"-a*x0^2 - x1^2\"\nformula.dim = 2\n[formula.parameters]\na = 3";
    let settings = right(text, &["steps=3"]);
    let formula = settings.target.formula().expect("a formula");
    assert_eq!((formula.text(), formula.parameters()), ("-a*x0^2 - x1^2", &[("a".to_owned(), 3.0)][..]));
    assert_eq!(right(&settings.to_toml(), &[]), settings);
    // Quotes, breaks and letters of all kinds come back as they were.
    let lines = "target = \"formula\"\nformula.dim = 1\nformula.log-density = '''\n-x0^2\n  * λ'''\nformula.parameters.\"λ\" = 0.1";
    let settings = right(lines, &[]);
    assert_eq!(right(&settings.to_toml(), &[]), settings);
    // Other words are other runs; the same words are the same on all machines.
    let name = |arguments: &[&str]| right(text, arguments).name();
    assert_eq!(name(&[]), "formula-0ad170-tb-tb-T5-s0");
    assert_ne!(name(&["formula.parameters.a=4"]), name(&[]));
    let difference = right(text, &[]).difference(&right(text, &["formula.parameters.a=4"]), &[]);
    assert_eq!(difference.expect("another parameter").key, "formula.parameters");
}

#[test]
fn a_short_training_of_a_density_of_ones_own_comes_to_rest_too() {
    let formula = "target = \"formula\"\nformula.log-density = \"-x0^2\"\nformula.dim = 1";
    let schedule = |settings: &Settings| {
        let config = &settings.config;
        (config.exploration.anneal, config.optimisation.decay, config.averaging)
    };
    let (usual, short) = (right(formula, &[]), right(formula, &["iterations=2500"]));
    assert_eq!(schedule(&usual), (10_000, 0.9999, Some(0.001)));
    assert_eq!(schedule(&short), (1000, 0.999, Some(0.01)));
    assert_eq!(right(&short.to_toml(), &[]), short);
    let own = right(
        formula,
        &["iterations=2500", "exploration.anneal=7", "optimisation.decay=0.5", "averaging=0.5"],
    );
    assert_eq!(schedule(&own), (7, 0.5, Some(0.5)));
    // A preset's schedule is the preset's.
    let named = |arguments: &[&str]| schedule(&right("target = \"25gmm\"", arguments));
    assert_eq!(named(&["iterations=2500"]), named(&[]));
}

#[test]
fn places_are_given_by_hand_or_found() {
    let formula = "target = \"formula\"\nformula.log-density = \"-x0^2 - x1^2\"\nformula.dim = 2";
    assert_eq!(right(formula, &[]).placing, Placing::Pilot);
    assert_eq!(right("target = \"25gmm\"", &[]).placing, Placing::AsIs);
    assert_eq!(right(formula, &["placement.by=none"]).placing, Placing::AsIs);
    let by_hand = right(formula, &["placement.by=hand", "placement.location=[3, 4]"]);
    let place = by_hand.placing.at().expect("a place");
    assert_eq!((place.location(), place.scale()), (&[3.0, 4.0][..], &[1.0, 1.0][..]));
    assert_eq!(right(&by_hand.to_toml(), &[]), by_hand);
    let cases = [
        (
            &["placement.location=[1, 2]"][..],
            "`placement.location` has no effect: placement.by is not \"hand\"",
        ),
        (
            &["placement.by=hand", "placement.scale=[1]"],
            "placement.scale is a list, but must be a list of 2 numbers",
        ),
        (
            &["placement.by=hand", "placement.factor=[1, 0.5, 0]"],
            "placement.factor is a list, but must be the 3 numbers of a lower triangle, those on the diagonal above 0",
        ),
        (
            &["placement.by=hand", "placement.scale=[1, 0]"],
            "must be a list of finite numbers, scales above 0",
        ),
        (&["placement.by=foot"], "placement.by is \"foot\", but must be \"none\", \"pilot\" or \"hand\""),
    ];
    for (arguments, message) in cases {
        let answer = wrong(formula, arguments);
        assert!(answer.contains(message), "{arguments:?}\n  answered: {answer}\n  wanted:   {message}");
    }
}

#[test]
fn mistakes_in_a_formula_are_told_with_their_place() {
    let formula = |rest: &str| format!("target = \"formula\"\n{rest}");
    let cases = [
        ("", "the formula itself is missing"),
        ("formula.log-density = \"-x0^2\"", "nothing says how many coordinates the formula has"),
        ("formula.dim = 2\nformula.log-density = \"-x0^2 - y\"", "mine.toml:3:32: there is no `y`"),
        ("formula.dim = 2\nformula.log-density = 3", "formula.log-density is 3, but must be a text"),
        ("formula.dim = -1\nformula.log-density = \"x0\"", "formula.dim is -1, but must be a whole number"),
        ("formula.dim = 1\nformula.log-density = \"x0\"\nformula.parameters.a = \"b\"", "must be a number"),
        ("formula.dim = 1\nformula.logdensity = \"x0\"", "there is no setting named `formula.logdensity`"),
    ];
    for (rest, message) in cases {
        let answer = wrong(&formula(rest), &[]);
        assert!(answer.contains(message), "{rest}\n  answered: {answer}\n  wanted:   {message}");
    }
    let both = wrong("target = \"25gmm\"\nformula.dim = 2", &[]);
    assert!(both.contains("the target is 25gmm, and there is a formula as well"), "{both}");
}

#[test]
fn every_setting_can_be_set_by_an_argument() {
    let settings = right(
        "target = \"25gmm\"\nmethod = \"custom\"",
        &[
            "grid=[0, 0.25, 1]",
            "iterations=1e3",
            "batch = 64",
            "seed=7",
            "sigma-squared=2.5",
            "drift-bound=100",
            "target-network=off",
            "averaging=0.01",
            "schedule=alternating",
            "placement.by=hand",
            "placement.location=[1, -2]",
            "placement.scale=[0.5, 3]",
            "placement.factor=[1, 0.6, 0.8]",
            "generation.objective=var-grad",
            "generation.variance=learned",
            "generation.variance-bound=3",
            "destruction.process=learned",
            "destruction.objective=trajectory-likelihood",
            "destruction.bound=0.5",
            "destruction.bound-schedule=rising",
            "destruction.multiplier=exponential",
            "destruction.multiplier-bound=2",
            "destruction.likelihood-source=generated",
            "network.width=32",
            "network.depth=3",
            "network.scale=5",
            "network.backbone=separate",
            "optimisation.arrangement=separate",
            "optimisation.generation-rate=1e-4",
            "optimisation.destruction-rate=1e-5",
            "optimisation.decay=0.5",
            "optimisation.weight-decay=0",
            "optimisation.clip=10",
            "network.view=logarithmic",
            "replay.ratio=3",
            "replay.capacity=100",
            "replay.priority-exponent=0.5",
            "replay.correction-exponent=0.4",
            "replay.reference=batch",
            "exploration.factor=0.7",
            "exploration.anneal=10",
            "exploration.form=variance-rate",
            "exploration.scale=50",
            "local-search.every=10",
            "local-search.steps=20",
            "local-search.burn-in=5",
            "local-search.step-size=0.01",
            "local-search.acceptance=0.6",
            "local-search.capacity=1000",
            "local-search.keep=sample",
            "local-search.recall=even",
            "evaluation.every=0",
            "evaluation.samples=100",
            "evaluation.explosion=1e3",
            "metrics.every=5",
            "checkpoint.seconds=0.5",
        ],
    );
    let usual = Preset::Paper.settings(NamedTarget::Gmm25, None, 2);
    let unchanged: Vec<&str> = SETTINGS
        .iter()
        .map(|setting| setting.key)
        .filter(|key| {
            let others: Vec<&str> =
                SETTINGS.iter().map(|setting| setting.key).filter(|other| other != key).collect();
            settings.difference(&usual, &others).is_none()
        })
        .collect();
    // These were set to what they were, or cannot be set with the rest.
    let excused = [
        "generation.variance",
        "destruction.process",
        "optimisation.arrangement",
        "optimisation.log-z-start",
        "optimisation.log-z-rate",
        "optimisation.residual-bound",
        "exploration.form",
    ];
    assert_eq!(unchanged, excused);
    assert_eq!(settings.config.grid, Grid::Given(vec![0.0, 0.25, 1.0]));
    assert_eq!(settings.config.iterations, 1000);
    assert_eq!(settings.placing.at().expect("a place").scale(), [0.5, 3.0]);
    assert_eq!(settings.placing.at().expect("a place").factor(), [1.0, 0.6, 0.8]);
    assert_eq!(settings.config.generation_variance, GenerationVariance::Learned { bound: 3.0 });
    let multiplier = Multiplier::Exponential { bound: 2.0 };
    assert_eq!(settings.config.destruction, Corrections::Learned { bound: 0.5, multiplier });
    assert_eq!(settings.config.exploration.form, ExplorationForm::VarianceRate { scale: 50.0 });
    assert_eq!(right(&settings.to_toml(), &[]), settings);
}

#[test]
fn arguments_go_before_files() {
    assert_eq!(right("target = \"25gmm\"\nbatch = 16", &["batch=32"]).config.batch, 32);
    assert_eq!(right("target = \"25gmm\"\nbatch = 16", &["batch=32", "batch=64"]).config.batch, 64);
    let answer = wrong("target = \"25gmm\"\n\"replay.capacity\" = 3\n[replay]\ncapacity = 4", &[]);
    assert!(answer.contains("`replay.capacity` is given twice"), "{answer}");
    let mut draft = Draft::new();
    draft.flag("TARGET", "target", "25gmm");
    draft.flag("--batch", "batch", "16");
    draft.argument("--set", "batch=32");
    let answer = draft.resolve(Strictness::Strict).expect_err("which of them?").to_string();
    assert!(answer.contains("`batch` is given twice"), "{answer}");
}

#[test]
fn evaluations_follow_the_number_of_iterations_unless_told() {
    let settings = right("target = \"25gmm\"\niterations = 2000", &[]);
    assert_eq!((settings.keeping.evaluate_every, settings.keeping.record_every), (40, 8));
    assert_eq!(
        right("target = \"25gmm\"\niterations = 2000", &["evaluation.every=7"]).keeping.evaluate_every,
        7
    );
}

#[test]
fn mistakes_are_told_with_their_place_and_what_was_meant() {
    let head = "target = \"25gmm\"\n";
    let cases: &[(&str, &[&str], &str)] = &[
        ("", &[], "nothing says what to sample"),
        (
            "target = \"26gmm\"",
            &[],
            "mine.toml:1:10: there is no target named \"26gmm\" (did you mean `25gmm`?",
        ),
        ("target = 25", &[], "there is no target named \"25\""),
        (
            "target = \"25gmm\"\nmethod = \"tb-tbb\"",
            &[],
            "mine.toml:2:10: there is no method named \"tb-tbb\" (did you mean `tb-tb`?",
        ),
        (head, &["btach=16"], "--set:1:1: there is no setting named `btach` (did you mean `batch`?)"),
        (head, &["clip=16"], "there is no setting named `clip` (did you mean `optimisation.clip`?)"),
        (head, &["optimisation.clpi=16"], "did you mean `optimisation.clip`?"),
        (
            "target = \"25gmm\"\n[optimization]\nclip = 1\ndecay = 1",
            &[],
            "mine.toml:2:2: there is no table named `optimization` (did you mean `optimisation`?)",
        ),
        (head, &["replay=4"], "`replay` is a table of settings"),
        (head, &["batch"], "--set:1:1: this is not of the form key=value"),
        (head, &["batch=many"], "--set:1:7: batch is \"many\", but must be a whole number, 0 or above"),
        (head, &["batch=-1"], "batch is -1, but must be a whole number, 0 or above"),
        (head, &["batch=1.5"], "batch is 1.5, but must be a whole number, 0 or above"),
        (head, &["batch=0"], "--set:1:7: batch is 0, but must be at least 1"),
        (head, &["batch=99999999999999999999999999999999999999999999"], "batch is"),
        (head, &["sigma-squared=wide"], "sigma-squared is \"wide\", but must be a number"),
        (head, &["sigma-squared=nan"], "sigma-squared is NaN, but must be a finite number above 0"),
        (head, &["sigma-squared=1e60"], "sigma-squared is inf, but must be a finite number above 0"),
        (
            head,
            &["grid=harmonious"],
            "grid is \"harmonious\", but must be \"uniform\" or \"harmonic\" (did you mean \"harmonic\"?)",
        ),
        (head, &["grid=[0, 0.5]"], "--set:1:6: a grid must run from 0 to 1"),
        (head, &["grid=[0, 0.5, 1]", "steps=5"], "a grid of 3 times has 2 steps, not 5"),
        (head, &["grid=[0, \"half\", 1]"], "grid is a list, but must be a list of numbers, or"),
        (head, &["steps=0"], "--set:1:7: a grid needs at least one step"),
        (head, &["steps=true"], "steps is true or false, but must be a whole number"),
        (head, &["target-network=none"], "target-network is \"none\", but must be a number, or \"off\""),
        (
            head,
            &["generation.objective=var-grad"],
            "the method is tb-tb, and with it generation.objective is \"trajectory-balance\" (leave `generation.objective` out, or set method = \"custom\"",
        ),
        (head, &["method=pis-tlm", "replay.ratio=2"], "reverse KL cannot learn from replayed trajectories"),
        (
            head,
            &["method=tb-fixed", "destruction.bound=0.5"],
            "`destruction.bound` has no effect: destruction.process = \"fixed\" (leave it out)",
        ),
        (
            head,
            &["local-search.every=0", "local-search.steps=9"],
            "`local-search.steps` has no effect: local-search.every = 0",
        ),
        (
            head,
            &["local-search.burn-in=500"],
            "local-search.burn-in is 500, but must be below local-search.steps",
        ),
        (head, &["evaluation.samples=1"], "evaluation.samples is 1, but must be at least 2"),
        (head, &["metrics.every=0"], "metrics.every is 0, but must be at least 1"),
        (head, &["checkpoint.seconds=-1"], "checkpoint.seconds is -1, but must be between 0 and 1e9"),
        (head, &["network.width=10000000"], "more than a tebibyte"),
        ("target = \"25gmm\"\nbatch = \n", &[], "mine.toml:2:"),
        ("target = \"25gmm\"\ntarget = \"40gmm\"", &[], "this is not TOML"),
    ];
    for (text, arguments, message) in cases {
        let answer = wrong(text, arguments);
        assert!(
            answer.contains(message),
            "{text} {arguments:?}\n  answered: {answer}\n  wanted:   {message}"
        );
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "target = \"25gmm\"\nbatch = 0\niterations = 0\n[network]\nwidth = 0\n";
    let answer = wrong(text, &["replay.capacity=0"]);
    assert_eq!(answer.lines().count(), 4, "{answer}");
    for place in ["mine.toml:2:9", "mine.toml:3:14", "mine.toml:5:9", "--set:1:17"] {
        assert!(answer.contains(place), "{place} in {answer}");
    }
}

#[test]
fn a_printed_file_takes_another_method() {
    let methods = [Method::TbFixed, Method::TbVariance, Method::TbTlm, Method::TbTb];
    let with = |method: Method| Preset::Paper.settings(NamedTarget::Gmm25, Some(method), 5);
    let named = |method: Method| format!("method = \"{method}\"");
    for (one, other) in methods.into_iter().flat_map(|one| methods.map(|other| (one, other))) {
        let changed = with(one).to_toml().replace(&named(one), &named(other));
        assert_eq!(right(&changed, &[]), with(other), "{one} to {other}");
    }
    let whole = with(Method::TbTb).to_toml();
    let custom = right(
        &whole.replace("method = \"tb-tb\"", "method = \"custom\""),
        &["destruction.objective=var-grad"],
    );
    assert_eq!(custom.method, None);
    assert_eq!(right(&custom.to_toml(), &[]), custom);
}

#[test]
fn what_cannot_be_read_is_the_only_problem() {
    let answer = wrong("target = \"25gmm\"\nbatch =", &[]);
    assert!(answer.lines().all(|line| line.contains("this is not TOML")), "{answer}");
}

#[test]
fn empty_tables_say_nothing() {
    let settings = right("target = \"25gmm\"\n[checkpoint]\n# seconds = 5\n[replay]\n", &[]);
    assert_eq!(settings, Preset::Recommended.settings(NamedTarget::Gmm25, Some(Method::TbTb), 5));
}

proptest! {
    /// Numbers come back as the same bits, also those of single precision.
    #[test]
    fn numbers_keep_their_bits(
        sigma in prop::num::f32::POSITIVE | prop::num::f32::NORMAL,
        rate in prop::num::f64::POSITIVE | prop::num::f64::NORMAL,
        seed in any::<u64>(),
    ) {
        let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTb), 5);
        settings.config.sigma_squared = sigma.abs();
        settings.config.optimisation.generation_rate = rate.abs();
        settings.config.seed = seed;
        prop_assume!(settings.validate().is_ok());
        prop_assert_eq!(right(&settings.to_toml(), &[]), settings);
    }

    /// Whatever the text, there is an answer.
    #[test]
    fn no_text_is_too_strange(text in "\\PC*", argument in "\\PC*") {
        let _ = resolve(&text, &[&argument]);
        let _ = resolve("target = \"25gmm\"", &[&argument]);
        let _ = resolve(&format!("target = \"25gmm\"\n{text}"), &[]);
    }
}

#[test]
fn what_has_no_effect_makes_no_difference() {
    let usual = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::PisTlm), 5);
    let mut other = usual.clone();
    other.config.replay.capacity = 7;
    assert_eq!(usual.difference(&other, &[]), None);
    assert_eq!(usual.to_toml(), other.to_toml());
    other.config.batch = 7;
    let difference = usual.difference(&other, &[]).expect("the batch");
    assert_eq!((difference.key, difference.ours.as_str(), difference.theirs.as_str()), ("batch", "512", "7"));
}

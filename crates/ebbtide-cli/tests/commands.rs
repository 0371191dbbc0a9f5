//! The command as its user meets it: what it prints, what it leaves, what it answers.

mod place;

use std::fs;

use place::{Place, last_checkpoint, told};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_training_leaves_a_folder_with_everything() {
    let place = Place::new();
    let run = told(place.train(&["25gmm", "--iterations=100"]));
    assert_eq!(run.code, 0, "{}", run.err);
    for word in ["ELBO", "EUBO", "log Z", "ESS", "W2", "modes", "kept in runs/"] {
        assert!(run.out.contains(word), "{word} in {}", run.out);
    }
    assert!(run.err.contains("100/100") && !run.err.contains('\u{1b}'), "{}", run.err);
    let folder = place.only_run("runs");
    let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.ends_with("-25gmm-tb-tb-T3-s0") && name.starts_with("20"), "{name}");
    let environment = json(&fs::read_to_string(folder.join("environment.json")).expect("environment"));
    for key in ["version", "commit", "cpu", "threads", "begun", "command"] {
        assert!(!environment[key].is_null(), "{key}");
    }
    let metrics = fs::read_to_string(folder.join("metrics.jsonl")).expect("metrics");
    let lines: Vec<Value> = metrics.lines().map(json).collect();
    let iterations: Vec<u64> =
        lines.iter().map(|line| line["iteration"].as_u64().expect("a number")).collect();
    let expected: Vec<u64> = (0..=100).filter(|n| n % 7 == 0 || n % 50 == 0).collect();
    assert_eq!(iterations, expected);
    assert!(lines.last().expect("lines")["elbo"].is_f64() && lines[1]["elbo"].is_null());
    assert!(last_checkpoint(&folder).expect("a checkpoint").ends_with("000000100.safetensors"));
    assert!(place::newest(&folder, "best-").is_some());
    assert_eq!(&fs::read(folder.join("samples.npy")).expect("samples")[..6], b"\x93NUMPY");
    assert!(fs::read_to_string(folder.join("report.html")).expect("report").contains("<svg"));
    assert!(
        fs::read_to_string(folder.join("log.txt")).expect("log").contains("finished after 100 iterations")
    );
    // The configuration of a run is the whole of it: fed back, it is the same run.
    let config = folder.join("config.toml");
    let again = told(place.command(&[
        "train",
        "--config",
        config.to_str().expect("UTF-8"),
        "-q",
        "--json",
        "--threads=2",
    ]));
    let result = json(&fs::read_to_string(folder.join("result.json")).expect("result"));
    assert_eq!(json(&again.out)["elbo"], result["elbo"]);
    assert!(place.path().join(format!("runs/{name}-2")).exists(), "nothing was overwritten");
}

#[test]
fn json_is_one_line_for_each_run_and_quiet_is_quiet() {
    let place = Place::new();
    let run = told(place.train(&["25gmm", "--iterations=3", "--seeds=7,8", "--json", "--quiet"]));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let lines: Vec<Value> = run.out.lines().map(json).collect();
    assert_eq!(lines.len(), 2);
    for (line, seed) in lines.iter().zip([7, 8]) {
        for key in ["elbo", "eubo", "log_z", "ess", "w2", "w2_floor", "seconds"] {
            assert!(line[key].is_f64(), "{key} in {line}");
        }
        assert_eq!(
            (&line["iterations"], &line["seed"], &line["status"]),
            (&3.into(), &seed.into(), &"finished".into())
        );
    }
    assert_ne!(lines[0]["elbo"], lines[1]["elbo"]);
}

#[test]
fn seeds_are_summed_up_and_compared() {
    let place = Place::new();
    let run = told(place.train(&["25gmm", "--iterations=3", "--seeds=0,1,2", "--quiet"]));
    assert_eq!(run.code, 0, "{}", run.err);
    let together = run.out.split_once("Together").expect("a table of all").1;
    let compared = told(place.command(&["compare", "runs"]));
    assert!(together.contains(compared.out.trim_end()), "{together}\n{}", compared.out);
    let group = json(&told(place.command(&["compare", "runs", "--json"])).out);
    assert_eq!((&group["elbo"]["runs"], &group["diverged"]), (&3.into(), &0.into()));
    assert!(group["elbo"]["deviation"].as_f64().expect("a deviation") > 0.0);
    let markdown =
        told(place.command(&["compare", "25gmm-tb-tb-T3-s0", "25gmm-tb-tb-T3-s1", "--form=markdown"])).out;
    assert!(markdown.starts_with("| target |") && markdown.contains(" ± "), "{markdown}");
}

#[test]
fn every_method_can_be_named() {
    let place = Place::new();
    for method in
        ["tb-fixed", "tb-variance", "tb-tlm", "tb-tb", "pis-fixed", "pis-variance", "pis-tlm", "pis-vargrad"]
    {
        let run = place.command(&[
            "train",
            "25gmm",
            "--iterations=2",
            "--batch=8",
            "-q",
            "--method",
            method,
            "--set=evaluation.samples=16",
        ]);
        assert_eq!(told(run).code, 0, "{method}");
    }
    let groups = told(place.command(&["compare", "runs", "--json"])).out;
    assert_eq!(groups.lines().count(), 8);
}

#[test]
fn a_diverged_training_ends_with_code_3_and_keeps_what_it_had() {
    let place = Place::new();
    let run = told(place.train(&[
        "25gmm",
        "--iterations=100",
        "--method=tb-variance",
        "--set=optimisation.generation-rate=1e30",
        "--set=optimisation.clip=1e30",
    ]));
    assert_eq!(run.code, 3, "{}", run.err);
    assert!(run.out.contains("diverged at iteration ") && run.out.contains("x = ["), "{}", run.out);
    let result = json(&place.read(&format!("{}/result.json", place.only_run("runs").display())));
    assert_eq!(result["status"], "diverged");
    let again = told(place.command(&["resume", "25gmm-tb-variance-T3-s0"]));
    assert_eq!(again.code, 1);
    assert!(again.err.contains("would again") && again.err.contains("another seed"), "{}", again.err);
    let compared = json(&told(place.command(&["compare", "runs", "--json"])).out);
    assert_eq!((&compared["diverged"], &compared["elbo"]), (&1.into(), &Value::Null));
}

#[test]
fn samples_go_where_they_are_told() {
    let place = Place::new();
    assert_eq!(told(place.train(&["25gmm", "--iterations=60", "-q"])).code, 0);
    let run = "25gmm-tb-tb-T3-s0";
    let plain = told(place.command(&["sample", run, "-n", "4"])).out;
    assert!(plain.starts_with("x0,x1\n") && plain.lines().count() == 5, "{plain}");
    let fewer = told(place.command(&["sample", run, "-n", "2", "--threads=2"])).out;
    assert!(plain.starts_with(&fewer), "more samples begin with the same");
    assert_ne!(told(place.command(&["sample", run, "-n", "4", "--seed=1"])).out, plain);
    let weighted = told(place.command(&["sample", run, "-n", "4", "--weights"])).out;
    assert!(weighted.starts_with("x0,x1,log_weight\n"));
    let paths = told(place.command(&["sample", run, "-n", "4", "--trajectories", "--weights"])).out;
    assert!(
        paths.starts_with("sample,step,time,x0,x1,log_weight\n0,0,0,0,0,")
            && paths.lines().count() == 1 + 4 * 4,
        "{paths}"
    );
    for name in ["a.npy", "a.csv", "a.parquet"] {
        let written = told(place.command(&["sample", run, "-n", "9", "--weights", "-o", name]));
        assert_eq!((written.code, written.out.as_str()), (0, ""), "{}", written.err);
    }
    let nine = told(place.command(&["sample", run, "-n", "9", "--weights"])).out;
    assert_eq!(place.read("a.csv"), nine);
    let (npy, parquet) = (
        fs::read(place.path().join("a.npy")).expect("npy"),
        fs::read(place.path().join("a.parquet")).expect("parquet"),
    );
    assert!(npy.starts_with(b"\x93NUMPY") && parquet.starts_with(b"PAR1"));
    let best = told(place.command(&["sample", run, "-n", "4", "--checkpoint=best"]));
    assert_eq!(best.code, 0, "{}", best.err);
    for (arguments, message) in [
        (["-o", "a.txt"], "does not tell a format"),
        (["-o", "nowhere/a.npy"], "could not write nowhere/a.npy"),
        (["--checkpoint", "worst"], "[possible values: last, best]"),
        (["-n", "-3"], "whole number, 0 or above"),
        (["-ob.npy", "--format=csv"], "says npy, and --format says csv"),
    ] {
        let answer = told(place.command(&[&["sample", run][..], &arguments].concat()));
        assert!(answer.code != 0 && answer.err.contains(message), "{}", answer.err);
    }
}

#[test]
fn an_evaluation_is_that_of_the_run_unless_told_otherwise() {
    let place = Place::new();
    let run = json(&told(place.train(&["25gmm", "--iterations=60", "-q", "--json"])).out);
    let name = "25gmm-tb-tb-T3-s0";
    let same = json(&told(place.command(&["eval", name, "--json"])).out);
    for key in ["elbo", "eubo", "log_z", "ess", "w2", "modes"] {
        assert_eq!(run[key], same[key], "{key}");
    }
    let other = json(
        &told(place.command(&["eval", name, "--json", "--seed=1", "--samples=128", "--no-transport"])).out,
    );
    assert!(other["elbo"] != run["elbo"] && other["w2"].is_null());
    assert_eq!(
        (&other["evaluation_seed"], &other["samples"], &other["checkpoint"]),
        (&1.into(), &128.into(), &"last".into())
    );
    for samples in ["1", "0", "18446744073709551615", "1e10"] {
        let refused = told(place.command(&["eval", name, "--samples", samples]));
        assert!(
            refused.code == 2 && refused.err.contains("between 2 and 1048576"),
            "{samples}: {}",
            refused.err
        );
    }
    assert!(told(place.command(&["eval", name])).out.contains("ELBO"));
}

#[test]
fn a_printed_configuration_is_right_and_says_what_it_costs() {
    let place = Place::new();
    for method in ["tb-tb", "pis-fixed"] {
        let config = told(place.command(&["config", "easy-funnel", "--method", method, "--set=batch=32"]));
        assert_eq!(config.code, 0, "{}", config.err);
        assert!(
            config.out.contains("batch = 32\n") && config.out.contains("[local-search]"),
            "{}",
            config.out
        );
        place.write("mine.toml", &config.out);
        let checked = told(place.command(&["check", "mine.toml"]));
        assert_eq!(checked.code, 0, "{}", checked.err);
        assert!(checked.out.contains("time ") && checked.out.contains("memory "), "{}", checked.out);
        assert_eq!(told(place.command(&["config", "--config", "mine.toml"])).out, config.out);
    }
    assert!(!place.path().join("runs").exists(), "checking leaves nothing");
}

#[test]
fn a_file_that_is_wrong_is_shown_with_a_caret() {
    let place = Place::new();
    place.write("mine.toml", "target = \"25gmm\"\n\n[optimisation]\nclpi = 100 # σ² before it\n");
    for command in [
        &["train", "--config", "mine.toml"][..],
        &["check", "mine.toml"],
        &["config", "--config", "mine.toml"],
    ] {
        let answer = told(place.command(command));
        assert_eq!((answer.code, answer.out.as_str()), (2, ""));
        for part in ["mine.toml:4:1", "4 │ clpi = 100", "──┬─", "did you mean `optimisation.clip`?"]
        {
            assert!(answer.err.contains(part), "{part} in\n{}", answer.err);
        }
    }
    assert!(!place.path().join("runs").exists(), "nothing was begun");
}

#[test]
fn the_folder_of_runs_can_be_chosen() {
    let place = Place::new();
    let mut command = place.train(&["25gmm", "--iterations=2", "-q"]);
    command.env("EBBTIDE_RUNS", "elsewhere");
    assert_eq!(told(command).code, 0);
    assert!(place.only_run("elsewhere").exists());
    let missing = told(place.command(&["eval", "25gmm-tb-tb-T3-s0"]));
    assert!(
        missing.code == 1 && missing.err.contains("does not exist, and no run has that name"),
        "{}",
        missing.err
    );
    assert_eq!(told(place.command(&["eval", "25gmm-tb-tb-T3-s0", "--runs=elsewhere"])).code, 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_that_names_it() {
    let place = Place::new();
    place.write("runs", "a file, where a folder should be");
    let answer = told(place.train(&["25gmm", "--iterations=2", "-q"]));
    assert_eq!(answer.code, 1);
    assert!(answer.err.contains("could not make runs"), "{}", answer.err);
}

#[test]
fn shells_and_manuals_are_served() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = told(place.command(&["completions", shell]));
        assert!(
            script.code == 0 && script.out.contains("ebbtide") && script.out.contains("sweep"),
            "{shell}"
        );
    }
    assert_eq!(told(place.command(&["man", "pages"])).code, 0);
    for page in ["ebbtide.1", "ebbtide-train.1", "ebbtide-sweep.1", "ebbtide-resume.1"] {
        assert!(place.read(&format!("pages/{page}")).contains(".TH"), "{page}");
    }
}

#[test]
fn configurations_come_from_pipes_and_sweeps_are_told_from_runs() {
    let place = Place::new();
    place.write("sweep.toml", "targets = [\"25gmm\"]");
    let answer = told(place.command(&["train", "--config", "sweep.toml"]));
    assert!(answer.code == 2 && answer.err.contains("`ebbtide sweep sweep.toml`"), "{}", answer.err);
    let mut shell = std::process::Command::new("sh");
    let binary = env!("CARGO_BIN_EXE_ebbtide");
    let line = format!("{binary} config 25gmm --set batch=3 | {binary} config --config - | grep batch");
    let piped = told({
        shell.args(["-c", &line]).current_dir(place.path());
        shell
    });
    assert!(piped.out.contains("batch = 3"), "{}{}", piped.out, piped.err);
    let mut shell = std::process::Command::new("sh");
    let line = format!(
        "{binary} config 25gmm --batch 3 --iterations 2 | {binary} train --config - --seeds 0,1 -q --json"
    );
    let piped = told({
        shell.args(["-c", &line]).current_dir(place.path());
        shell
    });
    assert_eq!(piped.out.lines().count(), 2, "{}", piped.err);
}

#[cfg(unix)]
#[test]
fn readers_who_leave_and_streams_that_are_full_are_no_crash() {
    let place = Place::new();
    assert_eq!(told(place.train(&["25gmm", "--iterations=5", "-q"])).code, 0);
    let binary = env!("CARGO_BIN_EXE_ebbtide");
    let lines = [
        (
            format!("({binary} sample 25gmm-tb-tb-T3-s0 -n 1e6 2>/dev/null; echo code $? >&2) | head -1"),
            "code 0",
        ),
        (format!("({binary} targets; echo code $? >&2) | true"), "code 0"),
        (format!("{binary} train 26gmm 2>/dev/full; echo code $? >&2"), "code 2"),
        (format!("{binary} eval 25gmm-tb-tb-T3-s0 2>/dev/full; echo code $? >&2"), "code 0"),
        (
            format!(
                "({binary} train 25gmm -q --batch 16 --set evaluation.every=5 --set evaluation.explosion=1e-9; echo code $? >&2) | true"
            ),
            "code 3",
        ),
        (format!("{binary} sample nothing 2>/dev/full; echo code $? >&2"), "code 1"),
        (format!("{binary} targets >/dev/full; echo code $? >&2"), "could not write the result"),
    ];
    for (line, expected) in lines {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line]).current_dir(place.path());
        let answer = told(shell);
        assert!(answer.err.contains(expected) && !answer.err.contains("panicked"), "{line}: {}", answer.err);
    }
}

#[test]
fn no_line_is_too_long_to_be_told_about() {
    let place = Place::new();
    place.write("mine.toml", &format!("target = \"25gmm\"\na={}", "[".repeat(100_000)));
    let answer = told(place.command(&["check", "mine.toml"]));
    assert!(
        answer.code == 2 && answer.err.contains("not TOML"),
        "{}",
        &answer.err[..answer.err.len().min(500)]
    );
}

#[test]
fn a_report_is_of_one_run_or_of_several() {
    let place = Place::new();
    for seed in ["--seed=0", "--seed=1"] {
        assert_eq!(told(place.train(&["25gmm", "--iterations=20", seed])).code, 0);
    }
    let several = told(place.command(&["report", "runs"]));
    assert_eq!((several.code, several.out.trim()), (0, "runs/report.html"), "{}", several.err);
    let page = fs::read_to_string(place.path().join("runs/report.html")).expect("a page");
    assert!(page.contains("2 runs") && page.contains("/report.html\""), "runs are linked");
    let both = told(place.command(&["report", "25gmm-tb-tb-T3-s0", "25gmm-tb-tb-T3-s1"]));
    assert_eq!((both.code, both.out.trim()), (0, "report.html"), "{}", both.err);
    let one = told(place.command(&[
        "report",
        "25gmm-tb-tb-T3-s1",
        "-o",
        "one.html",
        "--pair=1,0",
        "--plots=plots",
    ]));
    assert_eq!(one.code, 0, "{}", one.err);
    let page = fs::read_to_string(place.path().join("one.html")).expect("a page");
    assert!(page.contains("id=\"samples-1-0\"") && !page.contains("id=\"samples-0-1\""));
    assert!(
        place.path().join("plots/samples-1-0.png").exists()
            && place.path().join("plots/weights.svg").exists()
    );
    for (wrong, why) in [
        (vec!["report", "25gmm-tb-tb-T3-s0", "--pair=0,5"], "coordinates 0 to 1"),
        (vec!["report", "25gmm-tb-tb-T3-s0", "--pair=0"], "two different coordinates"),
        (vec!["report", "runs", "--pair=0,1"], "single run"),
        (vec!["report", "25gmm-tb-tb-T9-s0"], "did you mean"),
        (vec!["report", "25gmm-tb-tb-T3-s0", "-o", "nowhere/page.html"], "nowhere"),
    ] {
        let answer = told(place.command(&wrong));
        assert!(answer.code != 0 && answer.err.contains(why), "{wrong:?}: {} {}", answer.code, answer.err);
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let place = Place::new();
    assert_eq!(told(place.train(&["25gmm", "--iterations=20"])).code, 0);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let answer = told(place.command(&["watch", "25gmm-tb-tb-T3-s0", "--port", &port]));
    assert_eq!(answer.code, 1);
    assert!(
        answer.err.contains(&format!("port {port}")) && answer.err.contains("--port 0"),
        "{}",
        answer.err
    );
}

/// Python is asked where onnxruntime is, and finds modules in the working directory first if it may.
#[test]
fn nothing_in_the_working_directory_is_run() {
    let place = Place::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../ebbtide-onnx/tests/fixtures/reward.onnx");
    for module in ["glob", "importlib", "os", "onnxruntime", "site", "encodings"] {
        place.write(&format!("{module}.py"), "open('was-run', 'w').close()\n");
    }
    let mut command = place.command(&["config", "--onnx", fixture]);
    command.env_remove("ORT_DYLIB_PATH").env("EBBTIDE_PYTHON", "python3");
    told(command);
    assert!(!place.path().join("was-run").exists());
}

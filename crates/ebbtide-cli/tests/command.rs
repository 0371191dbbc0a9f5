//! The command as its user meets it.

use assert_cmd::Command;
use predicates::prelude::*;

fn ebbtide() -> Command {
    Command::cargo_bin("ebbtide").expect("the command is built")
}

fn small() -> Command {
    let mut command = ebbtide();
    command.args(["train", "25gmm", "--iterations", "3", "--batch", "16"]);
    command
}

#[test]
fn targets_are_listed() {
    let mut listing = ebbtide().arg("targets").assert().success();
    for name in ["25gmm", "slightly-distorted-25gmm", "40gmm", "easy-funnel", "distorted-manywell"] {
        listing = listing.stdout(predicate::str::contains(name));
    }
    listing.stdout(predicate::str::contains("164.6957"));
}

#[test]
fn a_training_ends_with_a_table() {
    let run = small().assert().success();
    run.stdout(predicate::str::contains("ELBO").and(predicate::str::contains("modes")))
        .stderr(predicate::str::contains("3/3"));
}

#[test]
fn json_is_one_line_with_all_figures() {
    let output = small().args(["--json", "--steps", "2", "--seed", "7"]).output().expect("it runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(text.lines().count(), 1);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for key in ["elbo", "eubo", "log_z", "ess", "w2", "w2_floor", "seconds"] {
        assert!(value[key].is_f64(), "{key} in {text}");
    }
    assert_eq!(value["iterations"], 3);
    assert_eq!((&value["seed"], &value["steps"]), (&7.into(), &2.into()));
    assert!(value["elbo"].as_f64() < value["eubo"].as_f64());
}

#[test]
fn the_seed_alone_decides_the_figures() {
    let figures = |seed: &str, threads: &str| {
        let output =
            small().args(["--json", "--quiet", "--seed", seed]).args(["--threads", threads]).output();
        let output = output.expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        value["seconds"] = 0.into();
        assert!(output.stderr.is_empty(), "--quiet is quiet");
        value
    };
    assert_eq!(figures("1", "1"), figures("1", "3"));
    assert_ne!(figures("1", "1")["elbo"], figures("2", "1")["elbo"]);
}

#[test]
fn every_method_can_be_named() {
    for method in
        ["tb-fixed", "tb-variance", "tb-tlm", "tb-tb", "pis-fixed", "pis-variance", "pis-tlm", "pis-vargrad"]
    {
        small().args(["--quiet", "--method", method]).assert().success();
    }
}

#[test]
fn wrong_names_are_answered_with_the_right_ones() {
    let unknown = ebbtide().args(["train", "26gmm"]).assert().code(2);
    unknown.stderr(
        predicate::str::contains("did you mean 25gmm").and(predicate::str::contains("distorted-manywell")),
    );
    let unknown = ebbtide().args(["train", "25gmm", "--method", "tb-tbb"]).assert().code(2);
    unknown.stderr(
        predicate::str::contains("did you mean `tb-tb`").and(predicate::str::contains("pis-vargrad")),
    );
}

#[test]
fn impossible_numbers_are_named() {
    for (argument, message) in
        [("--steps", "number of steps is 0"), ("--batch", "batch is 0"), ("--iterations", "iterations is 0")]
    {
        let run = ebbtide().args(["train", "25gmm", argument, "0"]).assert().code(1);
        run.stderr(predicate::str::contains(message)).stdout("");
    }
}

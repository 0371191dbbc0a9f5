//! `ebbtide paper`: runs that are trained once, recorded, and shown.

#![cfg(unix)]

mod place;

use std::fs;

use place::{Place, interrupt, told, wait_until};

const ROW: &[&str] = &["paper", "run", "funnel", "--targets=easy-funnel", "--methods=tb-fixed", "--steps=5"];

fn row(more: &[&'static str]) -> Vec<&'static str> {
    [ROW, more].concat()
}

#[test]
fn a_cell_is_trained_once_and_goes_on_when_more_is_asked_for() {
    let place = Place::new();
    let first = told(place.command(&row(&["--seeds=1", "--iterations=3", "-q"])));
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(first.out.contains("3 of 25,000 iterations"), "{}", first.out);
    let finding = place.read("paper/results/funnel/easy-funnel-tb-fixed-T5-s0.json");
    assert!(finding.contains("--seed 0 --threads 1 --iterations 3\""), "{finding}");
    let log = || place.read("runs/paper/easy-funnel-tb-fixed-T5-s0/log.txt");
    let before = log();
    let again = told(place.command(&row(&["--seeds=1", "--iterations=3", "-q"])));
    assert_eq!((again.code, again.out == first.out, log() == before), (0, true, true));
    // The run is there: it is only recorded.
    fs::remove_dir_all(place.path().join("paper")).expect("removed");
    let recorded = told(place.command(&row(&["--seeds=1", "--iterations=3", "-q"])));
    assert_eq!((recorded.code, recorded.out == first.out, log() == before), (0, true, true));
    let more = told(place.command(&row(&["--seeds=2", "--iterations=5", "-q", "--jobs=2"])));
    assert_eq!(more.code, 0, "{}", more.err);
    assert!(more.out.contains("5 of 25,000 iterations"), "{}", more.out);
    assert!(more.out.contains("means over 2 seeds"), "{}", more.out);
    assert!(log().contains("goes on after iteration 3"), "{}", log());
    let dry = told(place.command(&row(&["--seeds=4", "--iterations=5", "--dry-run"])));
    let expected =
        "funnel  easy-funnel-tb-fixed-T5-s2\nfunnel  easy-funnel-tb-fixed-T5-s3\n2 of 4 runs to train\n";
    assert_eq!((dry.code, dry.out.as_str()), (0, expected));
}

#[test]
fn runs_that_samples_are_shown_of_are_trained_again_where_they_are_not_there() {
    let place = Place::new();
    let of = |name, more: &[&'static str]| {
        let row =
            ["paper", "run", name, "--targets=hard-funnel", "--methods=tb-tb", "--steps=5", "--seeds=1"];
        told(place.command(&[&row[..], &["--iterations=2", "-q"], more].concat()))
    };
    assert_eq!(of("figure-3", &[]).code, 0);
    let finding = || place.read("paper/results/funnel/hard-funnel-tb-tb-T5-s0.json");
    let first = finding();
    assert_eq!(of("figure-3", &["--dry-run"]).out, "0 of 1 runs to train\n");
    fs::remove_dir_all(place.path().join("runs")).expect("removed");
    assert_eq!(of("funnel", &["--dry-run"]).out, "0 of 1 runs to train\n", "a table needs no samples");
    let missing = of("figure-3", &["--dry-run"]);
    assert_eq!(missing.out, "funnel  hard-funnel-tb-tb-T5-s0\n1 of 1 runs to train\n");
    assert_eq!(of("figure-3", &[]).code, 0);
    assert!(place.path().join("runs/paper/hard-funnel-tb-tb-T5-s0/result.json").exists());
    assert_eq!(finding(), first, "what was found before stays");
}

#[test]
fn an_interruption_loses_nothing() {
    let place = Place::new();
    let mut child = place.spawn(place.command(&row(&["--seeds=1", "-q"])));
    let run = place.path().join("runs/paper/easy-funnel-tb-fixed-T5-s0");
    wait_until("the beginning", || {
        fs::read_to_string(run.join("log.txt")).is_ok_and(|log| log.contains("begins:"))
    });
    interrupt(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(!place.path().join("paper/results").exists(), "what is not done is not recorded");
}

#[test]
fn runs_and_results_of_other_settings_are_named() {
    let place = Place::new();
    assert_eq!(told(place.command(&row(&["--seeds=1", "--iterations=2", "-q"]))).code, 0);
    let name = "paper/results/funnel/easy-funnel-tb-fixed-T5-s0.json";
    let other =
        place.read(name).replace("\"replay.reference\": \"buffer\"", "\"replay.reference\": \"batch\"");
    place.write(name, &other);
    let shown = told(place.command(&["paper", "show", "funnel"]));
    let reason = "trained with replay.reference = \"batch\"; the row asks for \"buffer\"";
    assert!(shown.code == 0 && shown.err.contains(reason), "{}", shown.err);
    assert!(shown.out.contains("not run 144"), "{}", shown.out);
    let config = "runs/paper/easy-funnel-tb-fixed-T5-s0/config.toml";
    place.write(config, &place.read(config).replace("reference = \"buffer\"", "reference = \"batch\""));
    let refused = told(place.command(&row(&["--seeds=1", "--iterations=2", "-q"])));
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("was begun with replay.reference = \"batch\""), "{}", refused.err);
}

#[test]
fn what_there_is_not_is_told_before_anything_begins() {
    let place = Place::new();
    for (arguments, message) in [
        (&["funel"][..], "no table or figure `funel`; did you mean `funnel`?"),
        (&["funnel", "--steps=7"], "funnel has no number of steps `7`; there are 5, 10, 15, 20, 25, 30"),
        (&["funnel", "--methods=pis-tlm"], "did you mean `tb-tlm`? There are tb-fixed"),
        (&["40gmm", "--targets=25gmm"], "`40gmm`"),
    ] {
        let answer = told(place.command(&[&["paper", "run"], arguments].concat()));
        assert_eq!(answer.code, 2, "{arguments:?}");
        assert!(answer.err.contains(message), "{arguments:?}\n{}", answer.err);
    }
    assert!(!place.path().join("runs").exists());
}

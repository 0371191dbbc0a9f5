//! What is said of which figures.

use ebbtide::target::NamedTarget;

use super::*;
use crate::settings::Preset;

fn outcome(elbo: f64, eubo: Option<f64>, ess: f64) -> Outcome {
    let settings = Preset::Paper.settings(NamedTarget::Gmm25, None, 5);
    let figures = Figures {
        elbo,
        elbo_error: 0.03,
        eubo,
        eubo_error: eubo.map(|_| 0.03),
        log_z: 0.0,
        log_z_error: 0.02,
        ess,
        pareto_k: None,
    };
    Outcome {
        figures: Some(figures),
        ..Outcome::new(Status::Finished, &settings, &*settings.built_target(), 25_000)
    }
}

fn verdict(outcome: &Outcome) -> Option<Verdict> {
    Reading::of(outcome, &*NamedTarget::Gmm25.build()).verdict
}

#[test]
fn a_heavy_tail_is_told() {
    let with = |k: f64| {
        let mut outcome = outcome(-0.2, Some(0.2), 0.8);
        outcome.figures = outcome.figures.map(|figures| Figures { pareto_k: Some(k), ..figures });
        verdict(&outcome)
    };
    assert_eq!(with(0.4), Some(Verdict::Good));
    assert_eq!(with(0.8), Some(Verdict::Weighted));
    assert_eq!(with(1.2), Some(Verdict::Untrustworthy));
}

#[test]
fn the_worst_figure_decides() {
    assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.8)), Some(Verdict::Good));
    assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.2)), Some(Verdict::Weighted));
    assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.01)), Some(Verdict::Untrustworthy));
    assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.09)), Some(Verdict::Untrustworthy));
    assert_eq!(verdict(&outcome(-3.0, Some(1.4), 0.4)), Some(Verdict::Weighted));
    assert_eq!(verdict(&outcome(-0.2, Some(1.6), 0.4)), Some(Verdict::Untrustworthy));
    assert_eq!(verdict(&outcome(-4.1, Some(0.4), 0.4)), Some(Verdict::Untrustworthy));
    let reached = |modes, variation| Outcome {
        modes: Some((modes, 25)),
        modes_total_variation: Some(variation),
        ..outcome(-0.2, Some(0.2), 0.8)
    };
    assert_eq!(verdict(&reached(25, 0.04)), Some(Verdict::Good));
    assert_eq!(verdict(&reached(25, 0.12)), Some(Verdict::Weighted));
    assert_eq!(verdict(&reached(20, 0.2)), Some(Verdict::Weighted));
    assert_eq!(verdict(&reached(9, 0.6)), Some(Verdict::Untrustworthy));
    let none = Outcome { figures: None, ..outcome(0.0, None, 0.0) };
    assert_eq!(verdict(&none), None);
}

#[test]
fn missing_modes_are_told_from_a_rough_fit() {
    let target = NamedTarget::Gmm25.build();
    let first = |outcome: &Outcome| Reading::of(outcome, &*target).sentences[0].text.clone();
    let missing = first(&outcome(-0.4, Some(21.1), 0.7));
    assert!(missing.contains("EUBO − ELBO = 21.50") && missing.contains("probably missing"), "{missing}");
    let rough = first(&outcome(-1.4, Some(1.2), 0.2));
    assert!(rough.contains("a rough fit"), "{rough}");
    let both = first(&outcome(-8.0, Some(40.0), 0.2));
    assert!(both.contains("far from being") && !both.contains("missing"), "{both}");
    let rarely = first(&outcome(-0.2, Some(1.3), 0.4));
    assert!(rarely.contains("too rarely"), "{rarely}");
    let lost = first(&outcome(-0.2, None, 0.8));
    assert!(lost.contains("not a number"), "{lost}");
}

/// A density and nothing else.
struct Bare;

impl Target for Bare {
    fn dim(&self) -> usize {
        2
    }

    fn log_density(&self, _: &[f32], out: &mut [f64]) -> Result<(), ebbtide::target::TargetError> {
        out.fill(0.0);
        Ok(())
    }
}

#[test]
fn what_cannot_be_known_is_said() {
    let blind = &Reading::of(&outcome(-0.2, None, 0.8), &Bare).sentences[0].text;
    assert!(blind.contains("log Z − ELBO = 0.20") && blind.contains("never visited"), "{blind}");
}

#[test]
fn what_is_good_without_exact_draws_is_good_only_where_samples_go() {
    let outcome = Outcome { log_z_true: None, searched: Some(true), ..outcome(-0.2, None, 0.8) };
    let words = |outcome: &Outcome| Reading::of(outcome, &Bare).words();
    assert_eq!(words(&outcome).as_deref(), Some("good where samples go"));
    let alone = Outcome { searched: Some(false), ..outcome.clone() };
    assert_eq!(words(&alone).as_deref(), Some("usable with weights where samples go"));
    let reading = Reading::of(&alone, &Bare);
    assert!(reading.deciding().is_some_and(|line| line.text.contains("its own samples")), "{reading:?}");
    let old = Outcome { searched: None, method: "pis-tlm".to_owned(), ..outcome };
    assert_eq!(words(&old).as_deref(), Some("usable with weights where samples go"));
    let known = Reading::of(&alone, &*NamedTarget::Gmm25.build());
    assert!(!known.sentences.iter().any(|line| line.text.contains("its own samples")), "{known:?}");
}

#[test]
fn a_learned_log_z_that_disagrees_is_told() {
    let learned = |log_z: f64, method: &str| {
        let outcome = Outcome {
            log_z_learned: Some(log_z),
            method: method.to_owned(),
            searched: Some(true),
            ..outcome(-0.2, Some(0.2), 0.8)
        };
        verdict(&outcome)
    };
    assert_eq!(learned(-0.1, "tb-tb"), Some(Verdict::Good));
    assert_eq!(learned(0.4, "tb-tb"), Some(Verdict::Good));
    assert_eq!(learned(0.6, "tb-tb"), Some(Verdict::Untrustworthy));
    assert_eq!(learned(-0.6, "tb-tb"), Some(Verdict::Good));
    assert_eq!(learned(-0.8, "tb-tb"), Some(Verdict::Weighted));
    assert_eq!(learned(9.0, "pis-tlm"), Some(Verdict::Good));
}

#[test]
fn the_first_of_the_worst_sentences_decides() {
    let reading = Reading::of(&outcome(-0.2, Some(0.2), 0.2), &*NamedTarget::Gmm25.build());
    let deciding = reading.deciding().expect("a sentence");
    assert!(deciding.text.starts_with("20.0 % of the samples count"), "{deciding}");
}

#[test]
fn advice_is_what_the_method_can_take() {
    let advice = |method: &str, elbo: f64, eubo: f64| {
        let outcome = Outcome { method: method.to_owned(), ..outcome(elbo, Some(eubo), 0.8) };
        Reading::of(&outcome, &*NamedTarget::Gmm25.build()).sentences[0].text.clone()
    };
    assert!(advice("tb-tb", -0.4, 20.0).contains("local search"));
    assert!(!advice("pis-tlm", -0.4, 20.0).contains("local search"));
    assert!(advice("tb-fixed", -1.4, 1.2).contains("learned variances"));
    assert!(!advice("tb-tb", -1.4, 1.2).contains("learned"));
}

#[test]
fn divergence_comes_first() {
    let status = Status::Diverged { at: 7, reason: "the loss is NaN".to_owned(), point: Vec::new() };
    let reading =
        Reading::of(&Outcome { status, ..outcome(-0.2, Some(0.2), 0.8) }, &*NamedTarget::Gmm25.build());
    assert_eq!(reading.verdict, Some(Verdict::Untrustworthy));
    assert!(reading.sentences[0].text.starts_with("Training diverged at iteration 7"), "{reading:?}");
}

#[test]
fn an_estimate_that_is_sure_of_the_wrong_value_is_called_out() {
    let mut wrong = outcome(-0.2, None, 0.8);
    wrong.figures.as_mut().expect("figures").log_z = -0.4;
    let reading = Reading::of(&wrong, &*NamedTarget::Gmm25.build());
    assert!(reading.sentences.iter().any(|line| line.text.contains("off by 0.40, 20 times")), "{reading:?}");
}

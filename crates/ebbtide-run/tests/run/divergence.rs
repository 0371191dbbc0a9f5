//! Trainings that leave all bounds: an outcome, and the same one however they got there.

use std::fs;

use ebbtide::objective::Method;
use ebbtide_run::compare::{gather, group};
use ebbtide_run::folder::Files;
use ebbtide_run::run::RunError;
use ebbtide_run::settings::Settings;
use ebbtide_run::{Status, journal};

use crate::small::{begin, folder, resume, small};

#[test]
fn divergence_is_an_outcome() {
    let parent = folder();
    let mut settings = small(Method::TbVariance, 0);
    settings.config.optimisation.generation_rate = 1e30;
    settings.config.optimisation.clip = 1e30;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    let Status::Diverged { at, reason, .. } = &outcome.status else { panic!("{:?}", outcome.status) };
    assert!(*at <= 40 && !reason.is_empty());
    let read = ebbtide_run::run::read_outcome(&folder).expect("it can be read").expect("it is there");
    assert!(matches!(&read.status, Status::Diverged { at: written, .. } if written == at));
    assert!(
        fs::read_to_string(Files(&folder).log())
            .expect("log")
            .contains(&format!("diverged at iteration {at}"))
    );
    let message = resume(&folder, None, u64::MAX).expect_err("it would again").to_string();
    assert!(message.contains(&format!("diverged at iteration {at}")), "{message}");
    let groups = group(&gather(&[folder]).found);
    assert_eq!((groups[0].diverged, groups[0].seeds.len(), groups[0].unfinished), (1, 0, 0));
}

#[test]
fn an_exploding_bound_is_divergence_too() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    // Any fall of a bound behind its best counts.
    settings.keeping.explosion = 1e-9;
    settings.keeping.evaluate_every = 1;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    let Status::Diverged { reason, point, .. } = &outcome.status else { panic!("{:?}", outcome.status) };
    assert!(reason.contains("BO is") && point.len() == 2, "{reason} {point:?}");
    assert!(outcome.figures.is_some(), "figures of the evaluation before");
    assert!(fs::read_to_string(Files(&folder).log()).expect("log").contains(reason));
}

#[test]
fn a_training_that_explodes_before_its_first_evaluation_has_diverged() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    settings.keeping.explosion = 0.1;
    settings.config.optimisation.generation_rate = 0.5;
    settings.config.optimisation.clip = 1e30;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert!(matches!(outcome.status, Status::Diverged { .. }), "{:?}", outcome.status);
    let first = &journal::read(&Files(&folder).metrics()).expect("metrics")[0];
    assert!(first.iteration == 0 && first.figures.is_some(), "what it was worth before it learned anything");
}

/// A training whose first update leaves weights that no number holds.
fn explosive(rate: f64, clip: f64) -> Settings {
    let mut settings = small(Method::TbVariance, 0);
    settings.config.replay.ratio = 0;
    settings.config.local_search = None;
    settings.config.optimisation.generation_rate = rate;
    settings.config.optimisation.clip = clip;
    settings.keeping.evaluate_every = 0;
    settings
}

#[test]
fn a_learned_constant_beyond_all_numbers_is_no_error_of_the_files() {
    let parent = folder();
    let mut settings = explosive(1e-3, 200.0);
    settings.config.optimisation.log_z_rate = 1e37;
    settings.keeping.record_every = 1;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert!(matches!(outcome.status, Status::Diverged { .. }), "{:?}", outcome.status);
    journal::read(&Files(&folder).metrics()).expect("metrics that can be read");
}

#[test]
fn an_interruption_does_not_change_how_a_training_ends() {
    for (rate, clip) in [(1e38, 1e30), (1e20, 200.0), (1e15, 1e30), (1e4, 1e30), (1e3, 1e30)] {
        let parent = folder();
        let (_, outcome) = begin(parent.path(), &explosive(rate, clip), u64::MAX);
        for stop in [1, 2, 5] {
            let (broken, first) = begin(parent.path(), &explosive(rate, clip), stop);
            if first.status == Status::Interrupted {
                let resumed = resume(&broken, None, u64::MAX).expect("it goes on");
                assert_eq!(
                    format!("{:?}", resumed.status),
                    format!("{:?}", outcome.status),
                    "{rate} {clip} {stop}"
                );
                assert_eq!(resumed.iterations, outcome.iterations);
            } else {
                assert_eq!(
                    format!("{:?}", first.status),
                    format!("{:?}", outcome.status),
                    "{rate} {clip} {stop}"
                );
            }
        }
    }
}

#[test]
fn a_bound_that_is_let_through_lets_a_run_go_on_as_often_as_it_takes() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 0);
    settings.keeping.explosion = 1e-9;
    settings.keeping.evaluate_every = 1;
    let (folder, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert!(matches!(outcome.status, Status::Diverged { .. }));
    assert!(matches!(resume(&folder, None, u64::MAX), Err(RunError::Diverged { .. })));
    let text = fs::read_to_string(Files(&folder).config()).expect("the configuration");
    fs::write(Files(&folder).config(), text.replace("explosion = 1e-9", "explosion = 1e6")).expect("changed");
    for stop in [15, 25, u64::MAX] {
        let status = resume(&folder, None, stop).expect("it goes on").status;
        assert_eq!(status, if stop == u64::MAX { Status::Finished } else { Status::Interrupted });
    }
}

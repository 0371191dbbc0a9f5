//! What one iteration consists of: how many updates, at which rates, from where, and what they leave behind.

mod open;
mod user;

use std::sync::Arc;

use ebbtide::objective::Method;
use ebbtide::train::{Config, LikelihoodSource, LocalSearch, Schedule, Trainer};
use open::{Open, open};
use user::Gaussian;

const BATCH: usize = 20;

fn config(method: Method) -> Config {
    let mut config = Config::new(method, 3);
    (config.batch, config.network.width) = (BATCH, 12);
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 4, steps: 10, burn_in: 2, ..*search };
    }
    config
}

fn trained(config: &Config, iterations: u64) -> Open {
    let target = Arc::new(Gaussian { dim: 2, variance: 0.7, log_z: 0.3 });
    let mut trainer = Trainer::new(config.validate(target).expect("valid"), &user::thread());
    for _ in 0..iterations {
        trainer.step().expect("an iteration");
    }
    open(trainer.state())
}

#[test]
fn updates_are_one_fresh_some_replayed_and_one_destroyed() {
    for ratio in [0, 1, 2, 5] {
        let mut config = config(Method::TbTb);
        config.replay.ratio = ratio;
        let mut state = trained(&config, 9);
        let updates = 9 * (1 + ratio as u64 + 1);
        assert_eq!(*state.whole("on-policy-updates"), 9);
        assert_eq!(*state.whole("generation.steps"), updates);
        assert_eq!(*state.whole("destruction.steps"), updates);
        assert_eq!(*state.whole("log-z.steps"), updates);
        // Searches at iterations 0, 4 and 8: a start and ten proposals for each chain.
        assert_eq!(*state.whole("evaluations"), (9 + 3 * 11) * BATCH as u64);
    }
}

#[test]
fn trajectory_likelihood_learns_from_generated_trajectories_alone() {
    for (source, updates) in [(LikelihoodSource::Fresh, 9), (LikelihoodSource::Generated, 9 * 3)] {
        let mut config = config(Method::TbTlm);
        config.likelihood_source = source;
        let mut state = trained(&config, 9);
        assert_eq!(*state.whole("generation.steps"), 9 * 4);
        assert_eq!(*state.whole("destruction.steps"), updates, "{source:?}");
    }
}

#[test]
fn reverse_kl_makes_one_update_and_leaves_log_z_alone() {
    for method in [Method::PisTlm, Method::PisVarGrad] {
        let mut state = trained(&config(method), 9);
        assert_eq!((*state.whole("generation.steps"), *state.whole("destruction.steps")), (9, 9));
        assert_eq!(*state.whole("log-z.steps"), 0);
        assert_eq!(*state.singles("log-z"), [0.0]);
        assert_eq!(*state.whole("evaluations"), 9 * BATCH as u64);
    }
}

#[test]
fn an_alternating_schedule_halves_the_updates() {
    let mut config = config(Method::TbTb);
    config.schedule = Schedule::Alternating;
    let mut state = trained(&config, 10);
    assert_eq!(*state.whole("on-policy-updates"), 5);
    assert_eq!(*state.whole("generation.steps"), 5 * 3 + 5);
    // Searches at iterations 0, 4 and 8.
    assert_eq!(*state.whole("evaluations"), (5 + 3 * 11) * BATCH as u64);
}

/// With rates that vanish at the first decay, only what comes before it can move a weight.
#[test]
fn rates_decay_after_the_fresh_update() {
    let mut fading = config(Method::TbTb);
    fading.optimisation.decay = 1e-30;
    let mut fresh_alone = config(Method::TbTb);
    (fresh_alone.replay.ratio, fresh_alone.local_search) = (0, None);
    let (mut fading, fresh_alone) = (trained(&fading, 3), trained(&fresh_alone, 1));
    assert_eq!(*fading.whole("generation.steps"), 3 * 4);
    for name in ["parameters", "log-z"] {
        assert_eq!(fading.0[name], fresh_alone.0[name]);
    }
}

#[test]
fn the_target_network_moves_once_an_iteration() {
    let config = config(Method::TbTb);
    let (mut before, mut after) = (trained(&config, 0), trained(&config, 1));
    let (start, live) = (before.singles("parameters"), after.singles("parameters"));
    assert_ne!(start, live);
    let moved: Vec<f32> =
        start.iter().zip(&*live).map(|(start, live)| start + 0.05 * (live - start)).collect();
    assert_eq!(*after.singles("lagging-parameters"), moved);
}

/// The mean of all iterations at first, then one that forgets; the training takes no notice of it.
#[test]
fn averaged_weights_follow_those_that_learn() {
    let plain = config(Method::TbTb);
    let averaging = Config { averaging: Some(0.4), ..plain.clone() };
    let live: Vec<Vec<f32>> =
        (1..=4).map(|iterations| trained(&plain, iterations).singles("parameters").clone()).collect();
    let mut expected = trained(&plain, 0).singles("parameters").clone();
    for (iterations, live) in (1..=4).zip(&live) {
        let rate = f32::max(0.4, 1.0 / iterations as f32);
        expected.iter_mut().zip(live).for_each(|(average, live)| *average += rate * (live - *average));
        let mut state = trained(&averaging, iterations);
        assert_eq!(state.singles("parameters"), live);
        assert_eq!(*state.singles("averaged-parameters"), expected);
    }
}

#[test]
fn fresh_trajectories_are_remembered_and_replayed_ones_get_their_loss_as_priority() {
    let mut config = config(Method::TbTb);
    config.replay.capacity = 50;
    config.local_search = None;
    let mut state = trained(&config, 1);
    assert_eq!(state.doubles("replay.log-density").len(), BATCH);
    // A new trajectory has the largest priority so far, 1 at the start, plus 1e-8.
    let replayed =
        state.doubles("replay.priorities")[..BATCH].iter().filter(|&&weight| weight != 1.0 + 1e-8).count();
    assert!((2..=BATCH).contains(&replayed), "{replayed} have been replayed");
    assert!(state.doubles("replay.priorities")[BATCH..].iter().all(|&weight| weight == 0.0));
    let largest = state.doubles("replay.priorities").iter().copied().fold(1.0, f64::max);
    assert!(state.doubles("replay.largest")[0] >= largest - 1e-7, "the largest so far is remembered");
    let mut state = trained(&config, 4);
    assert_eq!(
        (state.doubles("replay.log-density").len(), *state.whole("replay.next")),
        (50, 4 * BATCH as u64 - 50)
    );
}

#[test]
fn a_failed_training_keeps_failing_with_the_same_words() {
    let answer: user::Answer = |x, g| Ok(if x[0] > 0.5 { f32::NAN } else { user::bowl(x, g) });
    let target = Arc::new(user::Formula { dim: 2, answer });
    let mut trainer = Trainer::new(config(Method::TbTb).validate(target).expect("valid"), &user::thread());
    let first = loop {
        if let Err(error) = trainer.step() {
            break error.to_string();
        }
    };
    assert_eq!(trainer.step().expect_err("it has failed").to_string(), first);
}

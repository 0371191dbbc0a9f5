//! Files that were damaged or edited are noticed.

use std::fs;

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_run::folder::Files;
use ebbtide_run::run::{Run, RunError};
use ebbtide_run::settings::Preset;
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Status, Stop};

use crate::small::{begin, folder, resume, small, threads, traces};

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let parent = folder();
    let settings = small(Method::TbTb, 2);
    let (whole, _) = begin(parent.path(), &settings, u64::MAX);
    let (broken, _) = begin(parent.path(), &settings, 12);
    resume(&broken, None, 23).expect("it goes on");
    let checkpoints = Files(&broken).checkpoints();
    let (old, new) = (checkpoints.join("000000012.safetensors"), checkpoints.join("000000023.safetensors"));
    let good = fs::read(&new).expect("the newest");
    let mut flipped = good.clone();
    *flipped.last_mut().expect("not empty") ^= 1;
    for (damage, message) in [
        (&flipped[..], "checksum"),
        (&good[..good.len() / 2], "not a whole safetensors file"),
        (b"", "not a whole safetensors file"),
    ] {
        fs::write(&new, damage).expect("damaged");
        let trained = Trained::open(&broken, Which::Last, &threads()).expect("the one before");
        assert_eq!(trained.iteration, 12);
        assert!(trained.remarks[0].contains(message), "{}", trained.remarks[0]);
    }
    resume(&broken, None, u64::MAX).expect("it ends");
    assert!(traces(&whole) == traces(&broken));
    for path in fs::read_dir(&checkpoints).expect("listed").map(|entry| entry.expect("entry").path()) {
        fs::write(path, "rubbish").expect("damaged");
    }
    let message = resume(&broken, Some(50), u64::MAX).expect_err("all are damaged").to_string();
    assert!(message.contains("none of the checkpoints"), "{message}");
    assert!(old.exists(), "the newest two that can be used are kept, and a damaged one is not among them");
    assert!(checkpoints.join("aside-1-000000023.safetensors").exists());
}

#[test]
fn a_header_that_was_changed_and_a_name_that_lies_are_noticed() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 2), 12);
    resume(&folder, None, 23).expect("it goes on");
    let newest = Files(&folder).checkpoints().join("000000023.safetensors");
    let good = fs::read(&newest).expect("the newest");
    let text = String::from_utf8_lossy(&good[..4000]).into_owned();
    let place = text.find("\\\"iteration\\\":").expect("the best iteration is in the header") + 14;
    let mut changed = good.clone();
    changed[place] = if changed[place] == b'1' { b'2' } else { b'1' };
    fs::write(&newest, &changed).expect("changed");
    let trained = Trained::open(&folder, Which::Last, &threads()).expect("the one before");
    assert!(trained.iteration == 12 && trained.remarks[0].contains("checksum"), "{:?}", trained.remarks);
    fs::write(&newest, &good).expect("as it was");
    fs::rename(&newest, newest.with_file_name("000000099.safetensors")).expect("renamed");
    let trained = Trained::open(&folder, Which::Last, &threads()).expect("the one before");
    assert!(trained.iteration == 12 && trained.remarks[0].contains("its name"), "{:?}", trained.remarks);
}

/// Checkpoints of another target, of another dimension and of another seed, newer than those of the run.
#[test]
fn a_checkpoint_of_another_run_is_recognised() {
    let parent = folder();
    let settings = small(Method::TbTb, 2);
    let (whole, _) = begin(parent.path(), &settings, u64::MAX);
    let others = [
        (NamedTarget::Gmm40, 2, "target"),
        (NamedTarget::Manywell, 2, "target"),
        (NamedTarget::Gmm25, 3, "seed"),
    ];
    for (target, seed, key) in others {
        let mut other = Preset::Paper.settings(target, Some(Method::TbTb), 3);
        other.config = settings.config.clone();
        other.keeping = settings.keeping;
        other.config.seed = seed;
        let (other, _) = begin(parent.path(), &other, 23);
        let foreign = Files(&other).checkpoints().join("000000023.safetensors");
        let (run, _) = begin(parent.path(), &settings, 12);
        let place = Files(&run).checkpoints().join("000000023.safetensors");
        fs::copy(&foreign, &place).expect("copied");
        let trained = Trained::open(&run, Which::Last, &threads()).expect("its own is there");
        assert_eq!(trained.iteration, 12);
        let told = format!("000000023.safetensors is of another run, with {key} = ");
        assert!(trained.remarks[0].contains(&told), "{:?}", trained.remarks);
        resume(&run, None, u64::MAX).expect("it goes on with its own");
        assert!(fs::read_to_string(Files(&run).log()).expect("a log").contains(&told));
        assert!(traces(&whole) == traces(&run), "{key}");
        let aside = Files(&run).checkpoints().join("aside-1-000000023.safetensors");
        assert_eq!(fs::read(&aside).expect("it is somebody's"), fs::read(&foreign).expect("a checkpoint"));

        // With none of its own left, it may as well be the settings that have changed.
        let (run, _) = begin(parent.path(), &settings, 12);
        fs::remove_file(Files(&run).checkpoints().join("000000012.safetensors")).expect("removed");
        fs::copy(&foreign, Files(&run).checkpoints().join("000000023.safetensors")).expect("copied");
        let refused = resume(&run, None, u64::MAX).expect_err("it has none of its own");
        assert!(
            matches!(&refused, RunError::Changed { difference, .. } if difference.key == key),
            "{refused}"
        );
        assert!(refused.to_string().contains("copied there from another run"), "{refused}");
    }
}

#[test]
fn a_checkpoint_that_is_gone_is_missed() {
    let parent = folder();
    let settings = small(Method::TbTb, 2);
    let (whole, _) = begin(parent.path(), &settings, u64::MAX);
    let (run, _) = begin(parent.path(), &settings, 12);
    resume(&run, None, 23).expect("it goes on");
    let log = || fs::read_to_string(Files(&run).log()).expect("a log");
    assert!(!log().contains("is gone"), "{}", log());
    for (gone, before) in [("000000023", "goes on after iteration 12"), ("000000012", "begins: 40")] {
        fs::remove_file(Files(&run).checkpoints().join(format!("{gone}.safetensors"))).expect("removed");
        // It ends before there is another checkpoint, as if it had been killed.
        drop(Run::resume(&run, None, &threads()).expect("it could go on"));
        let stop = Stop::new();
        stop.ask();
        Run::resume(&run, None, &threads()).expect("it goes on").go(&stop, &mut ()).expect("it stops");
        assert!(
            log().contains(&format!(
                "the newest checkpoint, of iteration {}, is gone",
                gone.trim_start_matches('0')
            )),
            "{}",
            log()
        );
        assert!(log().contains(before), "{}", log());
        if gone == "000000023" {
            assert!(Files(&run).checkpoints().join("000000012.safetensors").exists());
        }
    }
    resume(&run, None, u64::MAX).expect("it ends");
    assert!(traces(&whole) == traces(&run));
}

#[test]
fn settings_changed_behind_its_back_are_refused() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 2), 12);
    let config = Files(&folder).config();
    let text = fs::read_to_string(&config).expect("the configuration");
    fs::write(&config, text.replace("batch = 16", "batch = 32")).expect("changed");
    let message = resume(&folder, None, u64::MAX).expect_err("another run").to_string();
    assert!(message.contains("batch = 16") && message.contains("says 32"), "{message}");
    // How closely it is watched may change.
    fs::write(&config, text.replace("samples = 64", "samples = 32")).expect("changed");
    assert_eq!(resume(&folder, None, u64::MAX).expect("it ends").status, Status::Finished);
}

#[test]
fn weights_are_not_used_in_another_sampler() {
    let parent = folder();
    let (folder, _) = begin(parent.path(), &small(Method::TbTb, 2), 12);
    let config = Files(&folder).config();
    let text = fs::read_to_string(&config).expect("the configuration");
    for (from, to) in [
        ("steps = 3", "steps = 4"),
        ("\"25gmm\"", "\"40gmm\""),
        ("width = 16", "width = 32"),
        ("squared = 5.0", "squared = 6.0"),
    ] {
        fs::write(&config, text.replace(from, to)).expect("changed");
        for which in [Which::Last, Which::Best] {
            let refused =
                Trained::open(&folder, which, &threads()).err().expect("another sampler").to_string();
            assert!(refused.contains("was begun with"), "{to}: {refused}");
        }
        assert!(matches!(resume(&folder, None, u64::MAX), Err(RunError::Changed { .. })), "{to}");
    }
}

#[test]
fn a_bound_that_rises_cannot_be_made_to_fall_back() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 2);
    settings.config.destruction_bound = ebbtide::train::BoundSchedule::Rising;
    let (folder, _) = begin(parent.path(), &settings, 12);
    assert!(matches!(resume(&folder, Some(50), u64::MAX), Err(RunError::Rising { .. })));
    let text = fs::read_to_string(Files(&folder).config()).expect("the configuration");
    fs::write(Files(&folder).config(), text.replace("iterations = 40", "iterations = 50")).expect("changed");
    assert!(matches!(resume(&folder, None, u64::MAX), Err(RunError::Rising { .. })));
}

#[test]
fn a_rising_bound_is_that_of_the_run_whatever_the_file_says_now() {
    let parent = folder();
    let mut settings = small(Method::TbTb, 2);
    settings.config.destruction_bound = ebbtide::train::BoundSchedule::Rising;
    let (folder, _) = begin(parent.path(), &settings, 12);
    let model = || Trained::open(&folder, Which::Last, &threads()).expect("weights").sampler.model().clone();
    let before = model();
    let text = fs::read_to_string(Files(&folder).config()).expect("the configuration");
    fs::write(Files(&folder).config(), text.replace("iterations = 40", "iterations = 4000"))
        .expect("changed");
    assert_eq!(model(), before);
}

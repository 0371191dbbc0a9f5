//! A checkpoint: a training that goes on, or a damage that is named. Its checksum is not looked at here, or nothing would get past it.
#![no_main]

use std::fs;
use std::sync::OnceLock;

use ebbtide::train::Trainer;
use ebbtide::trajectory::Threads;
use ebbtide_run::checkpoint;
use ebbtide_run::settings::{Draft, Settings, Strictness};
use ebbtide_fuzz::{Allowance, scratch};
use libfuzzer_sys::fuzz_target;

/// A training of the seed's size, and the file a few times over.
const ALLOWED: Allowance = Allowance { always: 8 << 20, for_each_byte: 64 };

/// The training that `corpus/checkpoint` is of.
fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let mut draft = Draft::new();
        draft.document("seed.toml", include_str!("../seeds/checkpoint.toml"));
        draft.resolve(Strictness::Strict).unwrap_or_else(|problems| panic!("{:?}", problems.problems))
    })
}

fuzz_target!(|bytes: &[u8]| {
    let folder = scratch();
    fs::write(folder.join("000000008.safetensors"), bytes).expect("written");
    let settings = settings();
    ALLOWED.hold(bytes.len(), || {
        let Ok(Some(stored)) = checkpoint::newest(folder, &mut Vec::new()) else { return };
        let _ = (stored.settings().is_ok(), stored.progress().is_ok());
        let valid = settings.validate().expect("valid settings");
        let Ok(state) = stored.state(&valid.model().layout) else { return };
        let threads = Threads::new(1).expect("a thread");
        if let Ok(mut trainer) = Trainer::restore(valid, &threads, state) {
            let _ = trainer.step().is_ok();
        }
    });
});

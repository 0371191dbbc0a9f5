//! What a run folder has besides checkpoints: metrics, a result, a configuration.
#![no_main]

use std::fs;

use ebbtide_run::{journal, run};
use ebbtide_fuzz::{Allowance, scratch};
use libfuzzer_sys::fuzz_target;

/// The settings in a configuration have a fixed cost; a line becomes a record of some hundred bytes.
const ALLOWED: Allowance = Allowance { always: 1 << 20, for_each_byte: 256 };

fuzz_target!(|bytes: &[u8]| {
    let folder = scratch();
    for name in ["metrics.jsonl", "result.json", "config.toml"] {
        fs::write(folder.join(name), bytes).expect("written");
    }
    ALLOWED.hold(bytes.len(), || {
        if let Ok(records) = journal::read(&folder.join("metrics.jsonl")) {
            assert!(records.len() <= bytes.len());
        }
        let _ = (run::read_outcome(folder).is_ok(), run::read_settings(folder).is_ok());
    });
});

//! A sweep: runs with names of their own, or problems that point into the text.
#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use ebbtide_fuzz::Allowance;
use ebbtide_run::sweep::Sweep;
use libfuzzer_sys::fuzz_target;

/// Lists multiply, so a sweep has more runs than bytes: up to ten thousand.
const ALLOWED: Allowance = Allowance { always: 32 << 20, for_each_byte: 256 };

fuzz_target!(|text: &str| match ALLOWED.hold(text.len(), || Sweep::read("fuzz.toml", text, Path::new("runs"))) {
    Ok(sweep) => {
        let folders: BTreeSet<_> = sweep.jobs.iter().map(|job| &job.folder).collect();
        assert_eq!(folders.len(), sweep.jobs.len());
    }
    Err(problems) => {
        assert!(!problems.problems.is_empty());
        for (place, _) in problems.problems.iter().flat_map(|problem| &problem.places) {
            assert!(problems.sources[place.source].text.get(place.span.clone()).is_some());
        }
    }
});

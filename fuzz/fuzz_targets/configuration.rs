//! A configuration: settings, or problems that point into the text. What was read is the same when it is printed and read again.
#![no_main]

use ebbtide_fuzz::Allowance;
use ebbtide_run::settings::{Draft, Problems, Settings, Strictness};
use libfuzzer_sys::fuzz_target;

/// A document is a tree of entries, each with its place.
const ALLOWED: Allowance = Allowance { always: 1 << 20, for_each_byte: 256 };

fn read(text: &str) -> Result<Settings, Problems> {
    ALLOWED.hold(text.len(), || {
        let mut draft = Draft::new();
        draft.document("fuzz.toml", text);
        draft.resolve(Strictness::Strict)
    })
}

fuzz_target!(|text: &str| match read(text) {
    Ok(settings) => {
        let printed = settings.to_toml();
        let again = read(&printed).unwrap_or_else(|problems| panic!("{:?} of\n{printed}", problems.problems));
        assert_eq!(settings.to_toml(), again.to_toml());
    }
    Err(problems) => {
        assert!(!problems.problems.is_empty());
        for (place, _) in problems.problems.iter().flat_map(|problem| &problem.places) {
            assert!(problems.sources[place.source].text.get(place.span.clone()).is_some());
        }
    }
});

//! Values of arguments: counts as people write them, lists of seeds, and names that a shell may complete.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ebbtide_run::trained::Which;

/// A count: `1000`, `1_000` or `1e3`.
pub fn count(text: &str) -> Result<usize, String> {
    let plain: String = text.chars().filter(|letter| *letter != '_').collect();
    let exponential =
        || plain.parse::<f64>().ok().filter(|value| value.fract() == 0.0 && (0.0..1e15).contains(value));
    let parsed = plain.parse().ok().or_else(|| exponential().map(|value| value as usize));
    parsed.ok_or_else(|| "it must be a whole number, 0 or above, as 1000 or 1e3".to_owned())
}

/// The same, for numbers of iterations.
pub fn iterations(text: &str) -> Result<u64, String> {
    count(text).map(|count| count as u64)
}

/// Most seeds that one command begins.
const MOST_SEEDS: u64 = 10_000;

/// Seeds: `0,1,2` or `0-2`.
pub fn seeds(text: &str) -> Result<Seeds, String> {
    let mut seeds = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u64>(), last.trim().parse::<u64>()) else {
            return Err("it must be seeds, as 0,1,2 or 0-2".to_owned());
        };
        if last.checked_sub(first).is_none_or(|more| more >= MOST_SEEDS) {
            return Err(format!("{part} must go from a smaller seed to a larger one, at most {MOST_SEEDS}"));
        }
        seeds.extend(first..=last);
    }
    match seeds.iter().enumerate().find(|(i, seed)| seeds[..*i].contains(seed)) {
        Some((_, twice)) => Err(format!("seed {twice} is there twice")),
        None => Ok(Seeds(seeds)),
    }
}

/// Different seeds, at least one.
#[derive(Clone)]
pub struct Seeds(pub Vec<u64>);

/// Two coordinates: `0,1`.
pub fn pair(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once(',').map(|(i, j)| (i.trim().parse(), j.trim().parse()));
    match parts {
        Some((Ok(i), Ok(j))) if i != j => Ok((i, j)),
        _ => Err("it must be two different coordinates, counted from 0, as 0,1".to_owned()),
    }
}

/// `last` or `best`.
pub fn which() -> impl TypedValueParser<Value = Which> {
    PossibleValuesParser::new(["last", "best"]).try_map(|name| name.parse())
}

/// Any text, with names that a shell may offer. What is wrong with others is told with all that is wrong with a
/// configuration.
#[derive(Clone)]
pub struct Suggested(pub Vec<&'static str>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        clap::builder::StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_may_be_written_in_several_ways() {
        for text in ["1000", "1_000", "1e3", "10e2"] {
            assert_eq!(count(text), Ok(1000), "{text}");
        }
        for text in ["-1", "1.5", "many", "", "1e30"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pairs_are_two_coordinates() {
        assert_eq!(pair("0,1"), Ok((0, 1)));
        assert_eq!(pair(" 3, 2"), Ok((3, 2)));
        for text in ["", "1", "1,1", "-1,2", "0,1,2", "a,b"] {
            assert!(pair(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seeds_are_listed_or_given_by_range() {
        let list = |text: &str| seeds(text).map(|seeds| seeds.0);
        assert_eq!(list("0,1,2"), Ok(vec![0, 1, 2]));
        assert_eq!(list("5-7, 9"), Ok(vec![5, 6, 7, 9]));
        for text in ["", "a", "3-1", "1,1", "0-3,2", "0-18446744073709551615"] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}

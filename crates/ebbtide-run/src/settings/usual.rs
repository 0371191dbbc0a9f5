//! What a target is learned with where nobody names a method or a number of steps.

use ebbtide::objective::Method;

use super::document::{Entry, entries};
use super::{Subject, Value};

/// Settings of the posteriors, a section for each: the paper does not have them, so that both presets are the same.
pub(super) const POSTERIORS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/presets/posteriors.toml"));

/// What a section may name beside settings.
pub(super) const KEYS: [&str; 2] = ["method", "steps"];

/// A method and a number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usual {
    pub method: Method,
    pub steps: usize,
}

impl Default for Usual {
    fn default() -> Self {
        Self { method: Method::TbTb, steps: 5 }
    }
}

impl Usual {
    /// Those that the target's section names.
    pub fn of(target: &Subject) -> Self {
        let mut usual = Self::default();
        let Some(target) = target.named() else { return usual };
        for Entry { path, value, .. } in entries(0, POSTERIORS).expect("presets are TOML, as the tests see") {
            match path.split_once('.') {
                Some((section, "method")) if section == target.name() => usual.method = method(&value),
                Some((section, "steps")) if section == target.name() => usual.steps = steps(&value),
                _ => (),
            }
        }
        usual
    }
}

fn method(value: &Value) -> Method {
    value.text().ok().and_then(|name| name.parse().ok()).expect("presets name methods, as the tests see")
}

fn steps(value: &Value) -> usize {
    value.whole().expect("presets count steps, as the tests see")
}

#[cfg(test)]
mod tests {
    use ebbtide::target::NamedTarget;

    use super::*;

    #[test]
    fn every_target_has_a_usual_method() {
        for target in NamedTarget::ALL {
            let usual = Usual::of(&target.into());
            let is_posterior = NamedTarget::POSTERIORS.contains(&target);
            assert_eq!(usual != Usual::default(), is_posterior, "{target}");
        }
    }
}

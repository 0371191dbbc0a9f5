//! A setting: its name, what it means, how it is read and written.

use super::Settings;
use super::value::{Mismatch, Value};

/// A setting: a row of the configuration.
///
/// ```
/// use ebbtide::target::NamedTarget;
/// use ebbtide_run::settings::{Preset, SETTINGS, Setting};
///
/// let ratio = SETTINGS.iter().find(|setting| setting.key == "replay.ratio");
/// let Some(Setting { about, .. }) = ratio else { panic!("there is such a setting") };
/// assert_eq!(*about, "Replayed batches for each fresh one; 0 turns replay off.");
/// // They are presets of a target, a preset, a method and a number of steps.
/// let entries = Preset::Paper.settings(NamedTarget::Gmm25, None, 5).entries();
/// assert_eq!(entries.len(), 4 + SETTINGS.len());
/// ```
pub struct Setting {
    /// Its name, tables joined by dots.
    pub key: &'static str,
    /// What it means, for a comment.
    pub about: &'static str,
    /// Takes a value over.
    pub(super) read: fn(&mut Settings, &Value) -> Result<(), Mismatch>,
    /// The value in TOML. Where the setting is idle, what it would be.
    pub(super) write: fn(&Settings) -> String,
    /// Why the setting has no effect, if it has none.
    pub(super) idle: fn(&Settings) -> Option<&'static str>,
}

impl Setting {
    pub(super) const fn new(
        key: &'static str,
        about: &'static str,
        read: fn(&mut Settings, &Value) -> Result<(), Mismatch>,
        write: fn(&Settings) -> String,
    ) -> Self {
        Self { key, about, read, write, idle: |_| None }
    }

    pub(super) const fn idle_if(mut self, idle: fn(&Settings) -> Option<&'static str>) -> Self {
        self.idle = idle;
        self
    }
}

pub(super) fn set<T>(place: &mut T, value: Result<T, Mismatch>) -> Result<(), Mismatch> {
    *place = value?;
    Ok(())
}

/// A number that single precision holds.
pub(super) fn single(value: &Value) -> Result<f32, Mismatch> {
    value.number().map(|number| number as f32)
}

/// A number that single precision holds, or nothing.
pub(super) fn single_or_off(value: &Value) -> Result<Option<f32>, Mismatch> {
    match value {
        Value::Text(text) if text == "off" => Ok(None),
        _ => {
            let wanted = "a number, or \"off\"".to_owned();
            single(value).map(Some).map_err(|_| Mismatch { wanted, nearest: None })
        }
    }
}

/// A number as TOML has it: shortest, and never mistaken for a whole one.
pub(super) fn float(value: impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

pub(super) fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
        .replace('\r', "\\r");
    format!("\"{escaped}\"")
}

pub(super) fn name<T: Copy + PartialEq>(choices: &[(&'static str, T)], value: T) -> String {
    let (name, _) = choices.iter().find(|(_, choice)| *choice == value).expect("every value has a name");
    quoted(name)
}

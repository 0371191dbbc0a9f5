//! What is wrong with a configuration, and where it says so.

use std::fmt;
use std::ops::Range;

/// A text that settings came from: a file, or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path of the file, or name of the argument.
    pub name: String,
    /// All of the text.
    pub text: String,
    /// Whether it is an argument, which goes before files.
    pub is_argument: bool,
}

impl Source {
    /// A file.
    pub(crate) fn file(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), is_argument: false }
    }
}

/// A part of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index into [`Problems::sources`].
    pub source: usize,
    /// Bytes of its text.
    pub span: Range<usize>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in a sentence.
    pub message: String,
    /// Where, each place with a few words for its caret. Empty if it is nowhere to be seen: something is missing.
    pub places: Vec<(Place, String)>,
    /// What to try.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without a place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), places: Vec::new(), help: None }
    }

    /// Points to a place.
    pub(crate) fn at(mut self, place: Place, label: impl Into<String>) -> Self {
        self.places.push((place, label.into()));
        self
    }

    /// Says what to try.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All that is wrong with a configuration.
///
/// ```
/// use ebbtide_run::settings::{Draft, Place, Problem, Problems, Source, Strictness};
///
/// let mut draft = Draft::new();
/// draft.document("run.toml", "target = \"25gmm\"\nreplay.ratoi = 4");
/// let all: Problems = draft.resolve(Strictness::Strict).expect_err("there is a mistake in it");
/// let help = "did you mean `replay.ratio`?";
/// assert_eq!(all.to_string(), format!("run.toml:2:8: there is no setting named `replay.ratoi` ({help})"));
///
/// let [Problem { places, help: Some(given), .. }] = &all.problems[..] else { panic!("there is one") };
/// let (place, label) = &places[0];
/// assert_eq!((given.as_str(), label.as_str(), all.line_and_column(place)), (help, "unknown setting", (2, 8)));
/// let Place { source, span } = place.clone();
/// let Source { name, text, is_argument } = &all.sources[source];
/// assert_eq!((name.as_str(), &text[span], *is_argument), ("run.toml", "ratoi", false));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The texts that it was made from.
    pub sources: Vec<Source>,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl Problems {
    /// Line and column of a place, from 1.
    pub fn line_and_column(&self, place: &Place) -> (usize, usize) {
        let text = self.sources.get(place.source).map_or("", |source| &source.text);
        let before = text.get(..place.span.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

impl fmt::Display for Problems {
    /// One line for each problem, as compilers write them: `file:line:column: message`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            if let Some((place, _)) = problem.places.first() {
                let (line, column) = self.line_and_column(place);
                write!(f, "{}:{line}:{column}: ", self.sources[place.source].name)?;
            }
            f.write_str(&problem.message)?;
            if let Some(help) = &problem.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

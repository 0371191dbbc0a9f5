//! A configuration in the making: settings from a file, and from arguments, which go before it.

use std::collections::{BTreeMap, BTreeSet};

use ebbtide::objective::Method;
use ebbtide::process::Grid;

use super::choices::PRESETS;
use super::document::{self, Entry};
use super::length;
use super::subject;
use super::usual::Usual;
use super::value::{Value, nearest};
use super::{
    CUSTOM, Keeping, Place, Preset, Problem, Problems, SETTINGS, Settings, Source, Subject, disagreements,
};

/// What is said of settings that have no effect.
///
/// ```
/// use ebbtide_run::settings::{Draft, Strictness};
///
/// // Without exploration, it does not matter when it ends.
/// let resolved = |strictness| {
///     let mut draft = Draft::new();
///     draft.document("run.toml", "target = \"25gmm\"\nexploration = { factor = 0, anneal = 5 }");
///     draft.resolve(strictness)
/// };
/// assert!(resolved(Strictness::Lenient).is_ok());
/// let told = resolved(Strictness::Strict).unwrap_err().to_string();
/// assert!(told.contains("`exploration.anneal` has no effect: exploration.factor = 0"), "{told}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// They are problems: somebody expects something of them.
    Strict,
    /// Nothing: what has none here may have one for the next method of a sweep.
    Lenient,
}

/// What a setting is a preset of. They are looked at first.
const HEADS: [&str; 4] = ["target", "preset", "method", "steps"];

/// More trajectories than any evaluation needs.
///
/// ```
/// use ebbtide_run::settings::{Draft, MOST_SAMPLES, Strictness};
///
/// let mut draft = Draft::new();
/// draft.flag("TARGET", "target", "25gmm");
/// draft.argument("--set", &format!("evaluation.samples={}", MOST_SAMPLES + 1));
/// let told = draft.resolve(Strictness::Strict).unwrap_err().to_string();
/// assert!(told.ends_with("evaluation.samples is 1048577, but must be at most 1048576"), "{told}");
/// ```
pub const MOST_SAMPLES: usize = 1 << 20;

/// Settings gathered so far.
///
/// ```
/// use ebbtide_run::settings::{Draft, Strictness};
///
/// let mut draft = Draft::new();
/// draft.document("hump.toml", "formula.log-density = \"-a*x0^2\"\nformula.dim = 1\nbatch = 64");
/// draft.parameter("--parameter", "a=0.5");
/// draft.flag("--steps", "steps", "3");
/// draft.argument("--set", "batch=32");
/// let settings = draft.resolve(Strictness::Strict)?;
/// // Arguments go before the file.
/// assert_eq!((settings.config.batch, settings.steps()), (32, 3));
/// let formula = settings.target.formula().expect("a formula");
/// assert_eq!((formula.text(), formula.parameters()), ("-a*x0^2", &[("a".to_owned(), 0.5)][..]));
/// # Ok::<(), ebbtide_run::settings::Problems>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Draft {
    preset: Preset,
    sources: Vec<Source>,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Draft {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet, and what is not given comes from this preset, unless another one is named.
    pub(crate) fn on(preset: Preset) -> Self {
        Self { preset, ..Self::default() }
    }

    /// Adds a whole text in TOML, by the name of its file.
    pub fn document(&mut self, name: &str, text: &str) {
        let source = self.source(name, text);
        match document::entries(source, text) {
            Ok(entries) => self.entries.extend(entries),
            Err(problems) => self.problems.extend(problems),
        }
    }

    /// Adds `key=value`, as an argument has it. Words need no quotes.
    pub fn argument(&mut self, name: &str, text: &str) {
        let source = self.source(name, text);
        self.sources[source].is_argument = true;
        match document::argument(source, text) {
            Ok(entry) => self.entries.push(entry),
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Adds `name=value`, a parameter of the formula, as an argument has it.
    pub fn parameter(&mut self, name: &str, text: &str) {
        let before = self.entries.len();
        self.argument(name, text);
        for entry in &mut self.entries[before..] {
            entry.path = subject::parameter(&entry.path);
        }
    }

    /// Adds the value of an argument of its own: `--steps 5`.
    pub fn flag(&mut self, name: &str, key: &str, value: &str) {
        let source = self.source(name, value);
        self.sources[source].is_argument = true;
        let place = Place { source, span: 0..value.len() };
        let is_words = subject::is_words(key);
        let value = if is_words { Value::Text(value.to_owned()) } else { document::value_of(value) };
        self.add(Entry { path: key.to_owned(), key: place.clone(), table: place.clone(), place, value });
    }

    /// Adds an entry whose source this draft knows.
    pub(crate) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Adds a text that entries may point into; answers with its number.
    pub(crate) fn source(&mut self, name: &str, text: &str) -> usize {
        self.sources.push(Source::file(name, text));
        self.sources.len() - 1
    }

    /// Looks at everything together. All that is wrong is told at once.
    pub fn resolve(self, strictness: Strictness) -> Result<Settings, Problems> {
        let Self { preset, sources, entries, mut problems } = self;
        // What cannot be read may have said anything.
        if !problems.is_empty() {
            return Err(Problems { sources, problems });
        }
        let mut given: BTreeMap<String, Entry> = BTreeMap::new();
        for entry in entries {
            if let Some(before) = given.insert(entry.path.clone(), entry.clone())
                && clash(&sources[before.place.source], &sources[entry.place.source])
            {
                let problem = Problem::new(format!("`{}` is given twice", entry.path));
                problems.push(problem.at(before.place, "once").at(entry.place, "and again"));
            }
        }
        let mut resolving = Resolving { preset, sources: &sources, given, problems, strictness };
        let settings = resolving.settings();
        let problems = resolving.problems;
        settings.filter(|_| problems.is_empty()).ok_or(Problems { sources, problems })
    }
}

struct Resolving<'a> {
    preset: Preset,
    sources: &'a [Source],
    given: BTreeMap<String, Entry>,
    problems: Vec<Problem>,
    strictness: Strictness,
}

impl Resolving<'_> {
    fn settings(&mut self) -> Option<Settings> {
        self.unknown();
        let target = self.target();
        let preset = self.preset();
        let usual = target.as_ref().map(Usual::of).unwrap_or_default();
        let method = self.method(usual);
        let steps = self.steps(usual);
        // Without these there are no presets, and without presets nothing to say about the rest.
        let mut settings = preset?.settings(target?, method?, steps?);
        if !self.fill(&mut settings) {
            return None;
        }
        self.grid(&settings);
        self.agreement(&settings);
        self.idle(&settings);
        self.keeping(&settings.keeping);
        self.training(&settings);
        Some(settings)
    }

    /// Names that no setting has. A table that does not exist is one problem, not one for each of its keys.
    fn unknown(&mut self) {
        let known = |path: &str| {
            HEADS.contains(&path)
                || subject::is_part(path)
                || SETTINGS.iter().any(|setting| setting.key == path)
        };
        let of_settings = SETTINGS.iter().filter_map(|setting| Some(setting.key.split_once('.')?.0));
        let tables: BTreeSet<&str> = of_settings.chain(subject::TABLES).collect();
        let mut told = BTreeSet::new();
        for entry in self.given.values().filter(|entry| !known(&entry.path)) {
            let outer = entry.path.split('.').next().unwrap_or_default();
            let is_table = entry.path != outer;
            if is_table && !tables.contains(outer) && !HEADS.contains(&outer) {
                if told.insert(outer.to_owned()) {
                    let problem = Problem::new(format!("there is no table named `{outer}`"));
                    self.problems.push(meant(
                        problem.at(entry.table.clone(), "unknown table"),
                        nearest(outer, tables.iter().copied()),
                    ));
                }
                continue;
            }
            if tables.contains(entry.path.as_str()) {
                let problem = Problem::new(format!("`{}` is a table of settings", entry.path));
                let help =
                    format!("write `{}.… = …`, or a line `[{}]` before its settings", entry.path, entry.path);
                self.problems.push(problem.at(entry.place.clone(), "not a table").help(help));
                continue;
            }
            let problem = Problem::new(format!("there is no setting named `{}`", entry.path));
            let problem = problem.at(entry.key.clone(), "unknown setting");
            self.problems.push(meant(problem, nearest_key(&entry.path)));
        }
    }

    fn target(&mut self) -> Option<Subject> {
        subject::read(&self.given, self.sources).map_err(|problems| self.problems.extend(problems)).ok()
    }

    /// Whose settings fill in what is not given.
    fn preset(&mut self) -> Option<Preset> {
        let Some(entry) = self.given.get("preset") else { return Some(self.preset) };
        let parsed = entry.value.choice(PRESETS);
        parsed.map_err(|mismatch| self.problems.push(entry.mismatched(&mismatch))).ok()
    }

    /// The method, `None` inside for a custom one.
    fn method(&mut self, usual: Usual) -> Option<Option<Method>> {
        let Some(entry) = self.given.get("method") else { return Some(Some(usual.method)) };
        let parsed = match &entry.value {
            Value::Text(name) if name == CUSTOM => return Some(None),
            Value::Text(name) => name.parse::<Method>(),
            other => other.to_string().parse(),
        };
        parsed
            .map(Some)
            .map_err(|_| {
                let names = Method::ALL.map(Method::name);
                let problem = Problem::new(format!("there is no method named {}", entry.value));
                let problem = problem.at(entry.place.clone(), "unknown method");
                let given = entry.value.text().unwrap_or_default().to_lowercase();
                let all =
                    format!("the methods are {}, and {CUSTOM} for any other combination", names.join(", "));
                let help = match nearest(&given, names) {
                    Some(nearest) => format!("did you mean `{nearest}`? {}", capitalised(&all)),
                    None => all,
                };
                self.problems.push(problem.help(help));
            })
            .ok()
    }

    /// The number of steps; that of the grid's times, if those are given.
    fn steps(&mut self, usual: Usual) -> Option<usize> {
        let times = match self.given.get("grid").map(|entry| &entry.value) {
            Some(Value::List(times)) => Some(times.len().saturating_sub(1)),
            _ => None,
        };
        let Some(entry) = self.given.get("steps") else { return Some(times.unwrap_or(usual.steps)) };
        entry
            .value
            .whole()
            .map_err(|mismatch| {
                let problem = entry.mismatched(&mismatch);
                self.problems.push(problem);
            })
            .ok()
    }

    /// Takes over what is given; answers whether all of it could be.
    fn fill(&mut self, settings: &mut Settings) -> bool {
        let (before, usual) = (self.problems.len(), settings.config.iterations);
        for setting in SETTINGS {
            let Some(entry) = self.given.get(setting.key) else { continue };
            if let Err(mismatch) = (setting.read)(settings, &entry.value) {
                let problem = entry.mismatched(&mismatch);
                self.problems.push(problem);
            }
        }
        length::stretch(settings, usual, |key| self.given.contains_key(key));
        let usual = Keeping::new(settings.config.iterations);
        if !self.given.contains_key("evaluation.every") {
            settings.keeping.evaluate_every = usual.evaluate_every;
        }
        if !self.given.contains_key("metrics.every") {
            settings.keeping.record_every = usual.record_every;
        }
        self.problems.len() == before
    }

    /// Times and number of steps must agree, where both are given.
    fn grid(&mut self, settings: &Settings) {
        let (Some(steps), Some(grid)) = (self.given.get("steps"), self.given.get("grid")) else { return };
        if let (Grid::Given(times), Ok(count)) = (&settings.config.grid, steps.value.whole::<usize>())
            && times.len().saturating_sub(1) != count
        {
            let message = format!(
                "a grid of {} times has {} steps, not {count}",
                times.len(),
                times.len().saturating_sub(1)
            );
            let problem = Problem::new(message).at(steps.place.clone(), "so many steps");
            self.problems.push(problem.at(grid.place.clone(), "so many times").help("leave `steps` out"));
        }
    }

    /// A method that is named must be the one that is set.
    fn agreement(&mut self, settings: &Settings) {
        let Some(method) = settings.method else { return };
        let usual = settings.preset.settings(settings.target.clone(), Some(method), settings.steps());
        for key in disagreements(method, &settings.config) {
            let setting =
                SETTINGS.iter().find(|setting| setting.key == key).expect("methods decide settings");
            let message = format!("the method is {method}, and with it {key} is {}", (setting.write)(&usual));
            let mut problem = Problem::new(message);
            if let Some(entry) = self.given.get(key) {
                problem = problem.at(entry.place.clone(), format!("and this says {}", entry.value));
            }
            if let Some(entry) = self.given.get("method") {
                problem = problem.at(entry.place.clone(), "the method");
            }
            let help = format!("leave `{key}` out, or set method = \"{CUSTOM}\" to combine as you like");
            self.problems.push(problem.help(help));
        }
    }

    /// Settings without an effect, unless they say what is usual: a printed file says that of everything.
    fn idle(&mut self, settings: &Settings) {
        if self.strictness == Strictness::Lenient {
            return;
        }
        let usual = settings.preset.settings(settings.target.clone(), settings.method, settings.steps());
        for setting in SETTINGS {
            let Some(entry) = self.given.get(setting.key) else { continue };
            let is_usual = || {
                let usual = document::value_of(&(setting.write)(&usual));
                usual == entry.value || usual.number().is_ok_and(|usual| entry.value.number() == Ok(usual))
            };
            if let Some(reason) = (setting.idle)(settings).filter(|_| !is_usual()) {
                let problem = Problem::new(format!("`{}` has no effect: {reason}", setting.key));
                self.problems.push(problem.at(entry.key.clone(), "no effect").help("leave it out"));
            }
        }
    }

    fn keeping(&mut self, keeping: &Keeping) {
        let wrong = [
            ("evaluation.samples", keeping.samples < 2, "at least 2"),
            ("evaluation.samples", keeping.samples > MOST_SAMPLES, "at most 1048576"),
            ("metrics.every", keeping.record_every == 0, "at least 1"),
            ("evaluation.explosion", keeping.explosion.is_nan() || keeping.explosion <= 0.0, "above 0"),
            (
                "checkpoint.seconds",
                !(keeping.save_seconds >= 0.0 && keeping.save_seconds <= 1e9),
                "between 0 and 1e9",
            ),
        ];
        for (key, is_wrong, range) in wrong {
            if let (true, Some(entry)) = (is_wrong, self.given.get(key)) {
                let message = format!("{key} is {}, but must be {range}", entry.value);
                self.problems.push(Problem::new(message).at(entry.place.clone(), format!("must be {range}")));
            }
        }
    }

    /// What the training itself has to say.
    fn training(&mut self, settings: &Settings) {
        for error in settings.config.check(&*settings.built_target()) {
            let mut problem = Problem::new(error.to_string());
            for key in error.settings() {
                if let Some(entry) = self.given.get(*key) {
                    problem = problem.at(entry.place.clone(), *key);
                }
            }
            if problem.places.is_empty()
                && let Some(entry) = self.given.get("method").or_else(|| self.given.get("target"))
            {
                let label = format!("this decides {}", error.settings().join(" and "));
                problem = problem.at(entry.place.clone(), label);
            }
            self.problems.push(problem);
        }
    }
}

/// Whether a setting must not come from both. A file says a thing once; of arguments of one name the last goes before the others, but
/// `--batch` does not go before `--set`, or the other way round.
fn clash(before: &Source, after: &Source) -> bool {
    match before.is_argument {
        true => before.name != after.name,
        false => !after.is_argument,
    }
}

fn meant(problem: Problem, nearest: Option<&str>) -> Problem {
    match nearest {
        Some(nearest) => problem.help(format!("did you mean `{nearest}`?")),
        None => problem.help("`ebbtide config TARGET` prints all settings"),
    }
}

/// The setting most like an unknown one: by its whole name, or by its last word alone where the table was left out.
fn nearest_key(path: &str) -> Option<&'static str> {
    let keys = || SETTINGS.iter().map(|setting| setting.key);
    if !path.contains('.')
        && let Some(key) = keys().find(|key| key.rsplit_once('.').is_some_and(|(_, last)| last == path))
    {
        return Some(key);
    }
    nearest(path, keys().chain(HEADS).chain(subject::KEYS))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

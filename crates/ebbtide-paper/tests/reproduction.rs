//! From rows to runs to findings to verdicts, with trainings far too short to be any good.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_paper::block::sections;
use ebbtide_paper::work::{Task, tasks};
use ebbtide_paper::write::{Form, write};
use ebbtide_paper::{Cell, Finding, Metric, Paper, Results, Row, Selection, Verdict};
use ebbtide_run::settings::{Preset, Settings};
use ebbtide_run::{Event, Observer, Status, Stop};
use serde_json::Value;
use tempfile::TempDir;

/// Trainings of a moment that use everything.
fn small(target: NamedTarget, method: Method, steps: usize) -> Settings {
    let mut settings = Preset::Paper.settings(target, Some(method), steps);
    (settings.config.iterations, settings.config.batch, settings.config.network.width) = (30, 8, 16);
    settings.config.replay.capacity = 100;
    if let Some(search) = &mut settings.config.local_search {
        (search.every, search.steps, search.burn_in, search.capacity) = (10, 10, 5, 300);
    }
    (settings.keeping.evaluate_every, settings.keeping.samples) = (10, 64);
    settings
}

fn paper() -> Paper {
    Paper::based_on(small)
}

fn rows<'a>(paper: &'a Paper, name: &str, methods: &[&str], steps: &[usize]) -> Vec<&'a Row> {
    let methods = methods.iter().map(|method| (*method).to_owned()).collect();
    let names = vec![name.to_owned()];
    let selection = Selection { names, methods, steps: steps.to_vec(), ..Selection::default() };
    selection.rows(paper).expect("rows")
}

/// A folder of runs and one of results.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().expect("a folder"))
    }

    fn runs(&self) -> PathBuf {
        self.0.path().join("runs")
    }

    fn results(&self) -> PathBuf {
        self.0.path().join("results")
    }

    fn file(&self, task: &Task) -> PathBuf {
        self.results().join(task.row.file(task.seed))
    }

    /// Trains a task and writes down what was found, as the command does.
    fn train(&self, task: &Task) -> Finding {
        task.job.run(&Stop::new(), &mut ()).expect("it runs");
        let finding = Finding::of_run(&task.job.folder).expect("it ended");
        finding.write(&self.file(task)).expect("written");
        finding
    }
}

/// Asks to stop after so many iterations.
struct Until<'a>(u64, &'a Stop);

impl Observer for Until<'_> {
    fn notice(&mut self, event: Event) {
        if let Event::Stepped(report) = event
            && report.iteration >= self.0
        {
            self.1.ask();
        }
    }
}

#[test]
fn only_what_is_missing_is_trained_and_what_was_stopped_goes_on() {
    let (paper, place) = (paper(), Place::new());
    let rows = rows(&paper, "25gmm", &["tb-tb"], &[2]);
    let asked = tasks(&paper, &rows, 2, None, &place.runs());
    assert_eq!(asked.len(), 6, "three targets, two seeds");
    let missing = || {
        let results = Results::read(&place.results(), &paper);
        let names = asked.iter().filter(|task| !task.is_done(&results)).map(|task| task.row.name(task.seed));
        names.collect::<Vec<_>>()
    };
    assert_eq!(missing().len(), 6);
    place.train(&asked[0]);
    assert_eq!(missing().len(), 5);
    // Stopped on the way, it is not written down, and goes on where it was.
    let stop = Stop::new();
    let stopped = asked[1].job.run(&stop, &mut Until(12, &stop)).expect("it runs").expect("an outcome");
    assert_eq!(stopped.status, Status::Interrupted);
    assert_eq!(missing().len(), 5);
    let finding = place.train(&asked[1]);
    assert_eq!((finding.outcome.iterations, missing().len()), (30, 4));
    let log = fs::read_to_string(asked[1].job.folder.join("log.txt")).expect("a log");
    assert!(log.contains("goes on after iteration"), "{log}");
    // Done, but not written down: it is not trained again.
    fs::remove_file(place.file(&asked[0])).expect("removed");
    assert!(asked[0].job.run(&Stop::new(), &mut ()).expect("it looks").is_none());
}

#[test]
fn a_finding_reads_back_as_it_was_written() {
    let (paper, place) = (paper(), Place::new());
    let rows = rows(&paper, "ablation", &["no-target-network"], &[]);
    let task = &tasks(&paper, &rows, 1, None, &place.runs())[0];
    let finding = place.train(task);
    assert_eq!(place.file(task), place.results().join("ablation/40gmm-no-target-network-T5-s0.json"));
    assert_eq!(task.job.folder, place.runs().join("paper/ablation/40gmm-no-target-network-T5-s0"));
    assert_eq!(Finding::read(&place.file(task)).expect("read"), finding);
    assert_eq!(finding.settings().expect("settings").difference(&task.job.settings, &[]), None);
    assert_eq!(finding.curve.iteration, [0, 10, 20, 30]);
    assert_eq!(finding.settings["target-network"], "off");
    assert!(
        finding
            .command
            .starts_with("ebbtide train 40gmm --preset paper --method tb-tb --steps 5 --seed 0 --threads 1")
    );
    assert!(finding.command.contains("--set target-network=off"), "{}", finding.command);
    let text = fs::read_to_string(place.file(task)).expect("a file");
    assert!(!text.contains(&place.0.path().display().to_string()), "no path of this machine");
}

#[test]
fn other_settings_do_not_count_and_shorter_runs_are_marked() {
    let (paper, place) = (paper(), Place::new());
    let rows = rows(&paper, "funnel", &["tb-tlm"], &[5]);
    let short = tasks(&paper, &rows, 1, Some(12), &place.runs());
    place.train(&short[0]);
    let results = Results::read(&place.results(), &paper);
    let cell = Cell::new(&paper, &results, rows[0], Metric::Elbo);
    assert_eq!((cell.seeds, cell.shorter), (1, Some((12, 30))));
    assert!(cell.notes().contains(&"12 of 30 iterations".to_owned()), "{:?}", cell.notes());
    assert!(short[0].is_done(&results), "as short as it was asked for");
    assert!(!tasks(&paper, &rows, 1, None, &place.runs())[0].is_done(&results), "not as long as the row");
    // The paper's own settings are not those of the small runs.
    let real = Paper::new();
    let results = Results::read(&place.results(), &real);
    assert_eq!(results.aside.len(), 1);
    assert_eq!(results.aside[0].reason, "trained with batch = 8; the row asks for 512");
    assert!(results.of(rows[0]).is_empty());
    // Nor are distances between fewer samples.
    let closer = Paper::based_on(|target, method, steps| {
        let mut settings = small(target, method, steps);
        settings.keeping.samples = 128;
        settings
    });
    let results = Results::read(&place.results(), &closer);
    assert_eq!(results.aside[0].reason, "measured with 64 samples; the row asks for 128");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_counts() {
    let (paper, place) = (paper(), Place::new());
    let rows = rows(&paper, "25gmm", &["tb-fixed"], &[2]);
    let asked = tasks(&paper, &rows, 1, None, &place.runs());
    place.train(&asked[0]);
    let table = place.results().join("25gmm");
    fs::write(table.join("25gmm-tb-tb-T2-s0.json"), "{").expect("written");
    fs::copy(place.file(&asked[0]), table.join("stranger-s0.json")).expect("copied");
    let results = Results::read(&place.results(), &paper);
    let names: Vec<&Path> = results.aside.iter().map(|aside| aside.file.as_path()).collect();
    assert_eq!(names, [Path::new("25gmm/25gmm-tb-tb-T2-s0.json"), Path::new("25gmm/stranger-s0.json")]);
    assert_eq!(results.of(rows[0]).len(), 1);
}

/// A finding with this end, without a training.
fn made_up(place: &Place, task: &Task, finding: &Finding, change: impl Fn(&mut Finding)) {
    let mut finding = finding.clone();
    finding.outcome.seed = task.seed;
    finding.settings.insert("seed".to_owned(), task.seed.into());
    change(&mut finding);
    finding.write(&place.file(task)).expect("written");
}

#[test]
fn diverged_seeds_are_counted_and_never_averaged() {
    let (paper, place) = (paper(), Place::new());
    let rows = rows(&paper, "funnel", &["tb-tlm"], &[15]);
    let asked: Vec<Task> = tasks(&paper, &rows[..1], 3, None, &place.runs());
    let first = place.train(&asked[0]);
    let diverge = |finding: &mut Finding| {
        finding.outcome.status =
            Status::Diverged { at: 3, reason: "the loss is NaN".to_owned(), point: vec![0.5] };
        finding.outcome.iterations = 2;
    };
    let set = |elbo: f64| {
        move |finding: &mut Finding| finding.outcome.figures.as_mut().expect("figures").elbo = elbo
    };
    made_up(&place, &asked[0], &first, set(-1.0));
    made_up(&place, &asked[1], &first, set(-3.0));
    made_up(&place, &asked[2], &first, diverge);
    let cell = |metric: Metric| Cell::new(&paper, &Results::read(&place.results(), &paper), rows[0], metric);
    let mixed = cell(Metric::Elbo);
    assert_eq!((mixed.seeds, mixed.diverged, mixed.shorter), (2, 1, None));
    assert_eq!(mixed.ours.expect("a mean").mean, -2.0);
    assert_eq!(mixed.verdict, Verdict::Better, "the paper's diverged");
    for task in &asked {
        made_up(&place, task, &first, diverge);
    }
    let all = cell(Metric::W2);
    assert_eq!((all.verdict, all.ours, all.seeds, all.diverged), (Verdict::Diverged, None, 0, 3));
    let value = serde_json::to_value(&all).expect("JSON");
    assert_eq!((&value["published_diverged"], &value["published"]), (&Value::Bool(true), &Value::Null));
    assert!(all.notes()[0].contains("3 of 3 seeds diverged; the paper's diverged too"), "{:?}", all.notes());
}

#[test]
fn wells_are_compared_by_their_gaps() {
    let (paper, place) = (paper(), Place::new());
    let rows = rows(&paper, "manywell", &["tb-fixed"], &[5]);
    let asked = tasks(&paper, &rows[..1], 1, None, &place.runs());
    let finding = place.train(&asked[0]);
    let results = Results::read(&place.results(), &paper);
    let cell = Cell::new(&paper, &results, rows[0], Metric::Eubo);
    let eubo = finding.outcome.figures.expect("figures").eubo.expect("exact draws");
    assert!((cell.ours.expect("a mean").mean - (eubo - 164.695_675)).abs() < 1e-3);
}

#[test]
fn json_has_these_keys_and_no_others() {
    let paper = paper();
    let (results, rows) = (Results::default(), paper.rows().collect::<Vec<_>>());
    let mut text = Vec::new();
    write(&mut text, &sections(&paper, &results, &rows), Form::Json).expect("written");
    let cells: Vec<serde_json::Map<String, Value>> =
        serde_json::from_slice(&text).expect("a list of objects");
    assert_eq!(cells.len(), 984 + 36 + 12);
    let mut expected = [
        "table",
        "target",
        "method",
        "steps",
        "metric",
        "published",
        "published_std",
        "ours",
        "ours_std",
        "seeds",
        "diverged",
        "status",
    ];
    expected.sort_unstable();
    for cell in &cells {
        assert_eq!(cell.keys().collect::<Vec<_>>(), expected);
        assert_eq!(cell["status"], "not run");
    }
}

#[test]
fn tables_fit_a_terminal() {
    let (paper, place) = (paper(), Place::new());
    let row = rows(&paper, "40gmm", &["tb-fixed"], &[2]);
    place.train(&tasks(&paper, &row, 1, None, &place.runs())[0]);
    let results = Results::read(&place.results(), &paper);
    let all: Vec<&Row> = paper.rows().collect();
    let mut text = Vec::new();
    write(&mut text, &sections(&paper, &results, &all), Form::Text).expect("written");
    let text = String::from_utf8(text).expect("text");
    for line in text.lines() {
        assert!(line.chars().count() <= 120, "{} columns: {line}", line.chars().count());
    }
    assert!(text.ends_with("not run 1029\n"), "{text}");
    assert!(text.contains("untrained sampler") && text.contains("24.24 ± 4.20"));
}

//! A small run, and what it leaves.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::train::Keep;
use ebbtide::trajectory::Threads;
use ebbtide_run::folder::Files;
use ebbtide_run::run::{Run, RunError};
use ebbtide_run::settings::{Preset, Settings};
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Event, Observer, Outcome, Record, Stop, journal};
use tempfile::TempDir;

/// A run that takes a moment: all buffers in use, every kind of line in the metrics.
pub fn small(method: Method, seed: u64) -> Settings {
    let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(method), 3);
    settings.config.iterations = 40;
    settings.config.batch = 16;
    settings.config.seed = seed;
    settings.config.network.width = 16;
    settings.config.replay.capacity = 100;
    // Some with averaged weights, and some without.
    settings.config.averaging = method.destruction().map(|_| 0.1);
    if let Some(search) = &mut settings.config.local_search {
        (search.every, search.steps, search.burn_in, search.capacity) = (10, 10, 5, 300);
        search.keep = Keep::Sample;
    }
    settings.keeping.evaluate_every = 10;
    settings.keeping.record_every = 3;
    settings.keeping.samples = 64;
    settings
}

pub fn threads() -> Threads {
    Threads::new(1).expect("a thread")
}

/// Asks to stop after some iterations.
struct StopAfter(u64, Stop);

impl Observer for StopAfter {
    fn notice(&mut self, event: Event) {
        if let Event::Stepped(report) = event
            && report.iteration == self.0
        {
            self.1.ask();
        }
    }
}

pub fn begin(parent: &Path, settings: &Settings, stop_after: u64) -> (PathBuf, Outcome) {
    let run = Run::begin(parent, settings.clone(), &threads()).expect("it begins");
    let folder = run.folder().to_owned();
    let stop = Stop::new();
    let outcome = run.go(&stop, &mut StopAfter(stop_after, stop.clone())).expect("it ends");
    (folder, outcome)
}

pub fn resume(folder: &Path, iterations: Option<u64>, stop_after: u64) -> Result<Outcome, RunError> {
    let stop = Stop::new();
    Run::resume(folder, iterations, &threads())?.go(&stop, &mut StopAfter(stop_after, stop.clone()))
}

/// Samples, lines of metrics, and the last and the best weights with their iterations.
pub type Traces = (Vec<u8>, Vec<Record>, [(u64, Vec<f32>); 2]);

/// Everything a run leaves that is not about time.
pub fn traces(folder: &Path) -> Traces {
    let mut records = journal::read(&Files(folder).metrics()).expect("metrics");
    records.iter_mut().for_each(|record| record.seconds = 0.0);
    let samples = fs::read(Files(folder).samples()).expect("samples");
    let weights = [Which::Last, Which::Best].map(|which| {
        let trained = Trained::open(folder, which, &threads()).expect("weights");
        (trained.iteration, trained.sampler.parameters().to_vec())
    });
    (samples, records, weights)
}

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The last line of the metrics.
pub fn last_line(folder: &Path) -> Record {
    journal::read(&Files(folder).metrics()).expect("metrics").pop().expect("a line")
}

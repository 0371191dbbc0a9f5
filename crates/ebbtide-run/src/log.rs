//! `log.txt`: what happened to a run, in words.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;

use crate::durable::FileError;
use crate::{Environment, Event, Observer, Status};

const BEGINS: &str = "begins: ";
const SAVED: &str = "checkpoint after iteration ";
const GOES_ON: &str = "goes on after iteration ";

/// The iteration of the last checkpoint that a log tells of: one that was written, or that the run went on with.
pub fn saved(path: &Path) -> Option<u64> {
    let text = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().find_map(|line| {
        let (_, words) = line.split_once(' ')?;
        if words.starts_with(BEGINS) {
            return Some(0);
        }
        let number = words.strip_prefix(SAVED).or_else(|| words.strip_prefix(GOES_ON))?;
        number.split(' ').next()?.parse().ok()
    })
}

/// A log that lines are added to.
pub struct Log {
    file: File,
}

impl Log {
    /// Opens a log, or goes on with one.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let file =
            OpenOptions::new().create(true).append(true).open(path).map_err(FileError::of("open", path))?;
        Ok(Self { file })
    }

    /// Says what the run goes on with.
    pub fn environment(&mut self, environment: &Environment) {
        let Environment { version, commit, cpu, threads, .. } = environment;
        self.line(&format!("ebbtide {version} ({commit}), {threads} threads on {cpu}"));
    }

    /// Adds a line. A log that cannot be written is no reason to stop a training: what matters is in other files, whose
    /// failures are told.
    fn line(&mut self, text: &str) {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let _ = self.file.write_all(format!("{now} {text}\n").as_bytes());
    }
}

impl Observer for Log {
    fn notice(&mut self, event: Event) {
        match event {
            Event::Begun { iteration: 0, iterations, .. } => {
                self.line(&format!("{BEGINS}{iterations} iterations"))
            }
            Event::Begun { iteration, iterations, .. } => {
                self.line(&format!("{GOES_ON}{iteration} of {iterations}"));
            }
            Event::Recorded(record) => {
                if let Some(figures) = &record.figures {
                    let eubo = figures.eubo.map_or_else(String::new, |eubo| format!(", EUBO {eubo:.4}"));
                    let (iteration, elbo, ess) = (record.iteration, figures.elbo, 100.0 * figures.ess);
                    self.line(&format!("iteration {iteration}: ELBO {elbo:.4}{eubo}, ESS {ess:.1} %"));
                }
            }
            Event::Saved { iteration, .. } => self.line(&format!("{SAVED}{iteration}")),
            Event::Remarked(text) => self.line(text),
            Event::Ended(outcome) => {
                let how = match &outcome.status {
                    Status::Finished => "finished".to_owned(),
                    Status::Interrupted => "interrupted".to_owned(),
                    Status::Diverged { at, reason, point } => {
                        format!("diverged at iteration {at}: {reason}; x = {point:?}")
                    }
                };
                let seconds = outcome.seconds.unwrap_or_default();
                self.line(&format!("{how} after {} iterations, {seconds:.1} s", outcome.iterations));
            }
            Event::Stepped(_) | Event::Evaluating => {}
        }
    }
}

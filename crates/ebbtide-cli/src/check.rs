//! `ebbtide check`: is a file right, and what would it cost?

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ebbtide::trajectory::Threads;
use ebbtide_run::durable::FileError;
use ebbtide_run::estimate::Estimate;
use ebbtide_run::settings::{Draft, Settings, Strictness, entries};
use ebbtide_run::sweep::Sweep;

use crate::failure::Failure;
use crate::words;

/// A file to look at.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Check {
    /// A configuration, or a sweep
    file: PathBuf,
    /// Threads that the run would have; 0 for all cores
    #[arg(long, value_name = "K", default_value_t = 0)]
    threads: usize,
    /// Only check; do not try how long an iteration takes
    #[arg(long)]
    no_estimate: bool,
}

const HELP: &str = "\
Nothing is written. Time is estimated from a few iterations of each different run, memory from the settings.

Examples:
  ebbtide check mine.toml
  ebbtide check sweep.toml --no-estimate";

/// How long iterations are tried.
const PATIENCE: Duration = Duration::from_millis(1500);

impl Check {
    /// Says what is wrong, or what it would cost.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let text = fs::read_to_string(&self.file).map_err(FileError::of("read", &self.file))?;
        let name = self.file.display().to_string();
        let is_sweep =
            entries(0, &text).is_ok_and(|entries| entries.iter().any(|entry| entry.path == "targets"));
        if is_sweep { self.sweep(&name, &text) } else { self.single(&name, &text) }
    }

    fn single(&self, name: &str, text: &str) -> Result<ExitCode, Failure> {
        let mut draft = Draft::new();
        draft.document(name, text);
        let settings = draft.resolve(Strictness::Strict)?;
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "{name} is a run: {}, {} iterations of {}",
            settings.name(),
            settings.config.iterations,
            settings.config.batch
        )?;
        if self.no_estimate {
            return Ok(ExitCode::SUCCESS);
        }
        let threads = Threads::new(self.threads)?;
        let estimate = Estimate::of(&settings, &threads, PATIENCE)?;
        let Estimate { iteration, evaluation, total, memory } = estimate;
        writeln!(
            out,
            "  time    {} on {} threads ({:.2} ms an iteration, {:.2} s an evaluation)",
            words::duration(Duration::from_secs_f64(total)),
            threads.count(),
            1e3 * iteration,
            evaluation
        )?;
        writeln!(out, "  memory  {}", words::bytes(memory))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Runs that differ in their seed alone cost the same, and are tried once.
    fn sweep(&self, name: &str, text: &str) -> Result<ExitCode, Failure> {
        let sweep = Sweep::read(name, text)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{name} is a sweep of {} runs in {}", sweep.jobs.len(), sweep.folder.display())?;
        if self.no_estimate {
            return Ok(ExitCode::SUCCESS);
        }
        let mut tried: Vec<(&Settings, Estimate)> = Vec::new();
        let (mut seconds, mut largest) = (0.0, 0);
        for job in &sweep.jobs {
            let known = tried.iter().find(|(other, _)| job.difference(other, &["seed"]).is_none());
            let estimate = match known {
                Some((_, estimate)) => *estimate,
                None => {
                    let estimate = Estimate::of(job, &Threads::new(1)?, PATIENCE / 3)?;
                    tried.push((job, estimate));
                    estimate
                }
            };
            seconds += estimate.total;
            largest = largest.max(estimate.memory);
        }
        let workers =
            sweep.workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let each = words::duration(Duration::from_secs_f64(seconds / workers as f64));
        writeln!(out, "  time    {each} on {workers} workers of one thread each")?;
        writeln!(out, "  memory  up to {} for each worker", words::bytes(largest))?;
        Ok(ExitCode::SUCCESS)
    }
}

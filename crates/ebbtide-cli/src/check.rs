//! `ebbtide check`: is a file right, and what would it cost?

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ebbtide::trajectory::Threads;
use ebbtide_run::estimate::Estimate;
use ebbtide_run::pool;
use ebbtide_run::settings::{Draft, Settings, Strictness};
use ebbtide_run::sweep::Sweep;

use crate::asked::{is_sweep, read};
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
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let text = read(&self.file)?;
        let name = self.file.display().to_string();
        if is_sweep(&text) { self.sweep(&name, &text, runs) } else { self.single(&name, &text) }
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
            words::duration(span(total)),
            threads.count(),
            1e3 * iteration,
            evaluation
        )?;
        writeln!(out, "  memory  {}", words::bytes(memory))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Runs that differ in their seed alone cost the same, and are tried once.
    fn sweep(&self, name: &str, text: &str, runs: &Path) -> Result<ExitCode, Failure> {
        let sweep = Sweep::read(name, text, runs)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{name} is a sweep of {} runs in {}", sweep.jobs.len(), sweep.folder.display())?;
        if self.no_estimate {
            return Ok(ExitCode::SUCCESS);
        }
        let mut tried: Vec<(&Settings, Estimate)> = Vec::new();
        let (mut seconds, mut largest) = (0.0, 0);
        for job in sweep.jobs.iter().map(|job| &job.settings) {
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
        let workers = sweep.workers.unwrap_or_else(pool::cores);
        let each = words::duration(span(seconds / workers as f64));
        writeln!(out, "  time    {each} on {workers} workers of one thread each")?;
        writeln!(out, "  memory  up to {} for each worker", words::bytes(largest))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Seconds as a span of time, as long as there is one.
fn span(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

//! `ebbtide sweep`: a grid of runs, several at a time.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide::trajectory::Threads;
use ebbtide_report::page::{self, Life};
use ebbtide_run::Status;
use ebbtide_run::compare::{Gathered, group};
use ebbtide_run::durable;
use ebbtide_run::folder::{Files, FolderError};
use ebbtide_run::pool;
use ebbtide_run::run::RunError;
use ebbtide_run::settings::Settings;
use ebbtide_run::sweep::{JobError, JobState, Shard, Sweep};

use crate::asked::read;
use crate::compare::{Form, tell_unreadable, write_groups, write_runs};
use crate::display::Display;
use crate::failure::{Failure, say, settle};
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::train::leave_report;

/// What to run.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct SweepCommand {
    /// The sweep, in TOML
    file: PathBuf,
    /// Runs at a time, of one thread each [default: the file's, or one for each core]
    #[arg(long, value_name = "K")]
    workers: Option<usize>,
    /// Only one of several parts: 2/8 is the second of eight
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Run nothing; only put together what there is
    #[arg(long)]
    merge: bool,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    form: Form,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

const HELP: &str = "\
A sweep is a file like this:

  targets = [\"25gmm\", \"easy-funnel\"]
  methods = [\"tb-variance\", \"tb-tb\"]
  steps = [5, 10]
  seeds = [0, 1, 2]
  # folder = \"runs/mixtures\"      the default is <name of this file> in runs/
  # workers = 2

  [set]                           # settings for all runs
  iterations = 5000
  replay.capacity = 10000

Every run has a folder of its own in the sweep's folder. Killed and started again, a sweep goes on where it was: runs that
are done are skipped, those that had begun are resumed. Shards may run at the same time on several machines that share the
folder; each puts all that is there into results.csv (means), runs.csv (single runs) and report.html (to look at), and --merge does only that.
With Slurm:

  #SBATCH --array=1-8
  srun ebbtide sweep sweep.toml --shard $SLURM_ARRAY_TASK_ID/8

A run that diverged is an outcome like any other: the code is 0 when all runs of the shard are done or at work
elsewhere, 130 when interrupted, 1 when some failed.";

/// What a job came to.
enum Done {
    Ended(Status),
    /// Done before or meanwhile, or at work elsewhere.
    Skipped,
    Failed(JobError),
}

impl SweepCommand {
    /// Runs what is not done yet, and prints a table of all.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let name = self.file.display().to_string();
        let sweep = Sweep::read(&name, &read(&self.file)?, runs)?;
        let worked = if self.merge { Ok(ExitCode::SUCCESS) } else { self.work(&sweep) };
        // Whatever became of some runs, the others are worth a table.
        let merged = self.merge(&sweep);
        match worked {
            Ok(code) => settle(code, merged),
            Err(failure) => {
                merged.unwrap_or_else(|failure| failure.tell());
                Err(failure)
            }
        }
    }

    fn work(&self, sweep: &Sweep) -> Result<ExitCode, Failure> {
        sweep.prepare()?;
        let shard = self.shard.unwrap_or(Shard::ALL);
        let display = Display::new(self.quiet);
        let interrupt = Interrupt::listen(&display)?;
        let (mut jobs, mut errors, mut all, mut done) = (Vec::new(), Vec::new(), 0, 0);
        for (_, job) in sweep.jobs.iter().enumerate().filter(|(place, _)| shard.has(*place)) {
            all += 1;
            match sweep.state(job) {
                Ok(JobState::Done) => done += 1,
                Ok(_) => jobs.push((display.observe(&job.name()), job)),
                Err(error) => errors.push(error),
            }
        }
        if done > 0 {
            display.remark(&format!("{done} of {all} runs are done already"));
        }
        let workers = self.workers.or(sweep.workers).unwrap_or_else(pool::cores);
        let results = pool::work(jobs, workers, |(mut observer, job): (_, &Settings)| {
            if interrupt.stop().asked() {
                return Done::Skipped;
            }
            match sweep.run(job, interrupt.stop(), &mut observer) {
                Ok(Some(outcome)) => {
                    if let Ok(threads) = Threads::new(1) {
                        leave_report(&sweep.place(job), &threads, &mut observer);
                    }
                    Done::Ended(outcome.status)
                }
                Ok(None) => Done::Skipped,
                Err(JobError::Run(RunError::Folder(FolderError::InUse { path }))) => {
                    display.remark(&format!("{} is at work elsewhere: left alone", path.display()));
                    Done::Skipped
                }
                Err(error) => Done::Failed(error),
            }
        });
        display.finish();
        let mut interrupted = interrupt.stop().asked();
        for result in results {
            match result {
                Done::Failed(error) => errors.push(error),
                Done::Ended(status) => interrupted |= status == Status::Interrupted,
                Done::Skipped => {}
            }
        }
        errors.iter().for_each(|error| say(&format!("error: {error}")));
        if interrupted {
            say("interrupted; to go on, the same command");
        }
        match (errors.len(), interrupted) {
            (0, false) => Ok(ExitCode::SUCCESS),
            (0, true) => Ok(ExitCode::from(INTERRUPTED)),
            (failed, _) => Err(Failure::Several { failed, all }),
        }
    }

    /// All runs of the sweep that there are, by whomever, into results.csv, runs.csv and report.html and onto standard output.
    fn merge(&self, sweep: &Sweep) -> Result<(), Failure> {
        let Gathered { found, unreadable } = sweep.gather();
        let groups = group(&found);
        if !found.is_empty() {
            durable::replace(&sweep.folder.join("results.csv"), |file| {
                write_groups(file, &groups, Form::Csv)
            })?;
            durable::replace(&sweep.folder.join("runs.csv"), |file| write_runs(file, &found))?;
            let name = sweep.folder.file_name().map_or("Sweep".into(), |name| name.to_string_lossy());
            let page = page::comparison(&name, &found, &sweep.folder).page.to_html(Life::Still);
            durable::replace_with(&Files(&sweep.folder).report(), page.as_bytes())?;
            write_groups(&mut io::stdout().lock(), &groups, self.form)?;
        }
        let left = sweep.jobs.iter().filter(|job| !matches!(sweep.state(job), Ok(JobState::Done))).count();
        if left > 0 {
            say(&format!("{left} of {} runs are not done", sweep.jobs.len()));
        }
        tell_unreadable(unreadable)
    }
}

//! `ebbtide sweep`: a grid of runs, several at a time.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ebbtide_run::Status;
use ebbtide_run::compare::group;
use ebbtide_run::durable::{self, FileError};
use ebbtide_run::folder::FolderError;
use ebbtide_run::pool;
use ebbtide_run::run::RunError;
use ebbtide_run::settings::Settings;
use ebbtide_run::sweep::{JobError, Shard, Sweep};

use crate::compare::{Form, write_groups};
use crate::display::Display;
use crate::failure::Failure;
use crate::interrupt::{INTERRUPTED, Interrupt};

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
  # folder = \"runs/mixtures\"      the default is runs/<name of this file>
  # workers = 2

  [set]                           # settings for all runs
  iterations = 5000
  replay.capacity = 10000

Every run has a folder of its own in the sweep's folder. Killed and started again, a sweep goes on where it was: runs that
are done are skipped, those that had begun are resumed. Shards may run at the same time on several machines that share the
folder; each puts all that is there into results.csv, and --merge does only that. With Slurm:

  #SBATCH --array=1-8
  srun ebbtide sweep sweep.toml --shard $SLURM_ARRAY_TASK_ID/8

A run that diverged is an outcome like any other: the code is 0 when all runs of the shard are done, 130 when
interrupted, 1 when some failed.";

/// What a job came to.
enum Done {
    Ended(Status),
    /// Done before, or at work elsewhere.
    Skipped,
    Failed(JobError),
}

impl SweepCommand {
    /// Runs what is not done yet, and prints a table of all.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let text = fs::read_to_string(&self.file).map_err(FileError::of("read", &self.file))?;
        let sweep = Sweep::read(&self.file.display().to_string(), &text)?;
        let code = if self.merge { ExitCode::SUCCESS } else { self.work(&sweep)? };
        self.merge(&sweep)?;
        Ok(code)
    }

    fn work(&self, sweep: &Sweep) -> Result<ExitCode, Failure> {
        sweep.prepare()?;
        let shard = self.shard.unwrap_or(Shard::ALL);
        let display = Display::new(self.quiet);
        let interrupt = Interrupt::listen(&display)?;
        let (mut jobs, mut done_before) = (Vec::new(), 0);
        for (_, job) in sweep.jobs.iter().enumerate().filter(|(place, _)| shard.has(*place)) {
            match sweep.is_done(job)? {
                true => done_before += 1,
                false => jobs.push((display.observe(&job.name()), job)),
            }
        }
        if done_before > 0 {
            display.remark(&format!("{done_before} runs are done already"));
        }
        let workers = self.workers.or(sweep.workers);
        let workers = workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let results = pool::work(jobs, workers, |(mut observer, job): (_, &Settings)| {
            if interrupt.stop().asked() {
                return Done::Skipped;
            }
            match sweep.run(job, interrupt.stop(), &mut observer) {
                Ok(outcome) => Done::Ended(outcome.status),
                Err(JobError::Run(RunError::Folder(FolderError::InUse { path }))) => {
                    display.remark(&format!("{} is at work elsewhere: left alone", path.display()));
                    Done::Skipped
                }
                Err(error) => Done::Failed(error),
            }
        });
        display.finish();
        let all = results.len();
        let mut failed = 0;
        let mut interrupted = interrupt.stop().asked();
        for result in results {
            match result {
                Done::Failed(error) => {
                    eprintln!("error: {error}");
                    failed += 1;
                }
                Done::Ended(status) => interrupted |= status == Status::Interrupted,
                Done::Skipped => {}
            }
        }
        match (failed, interrupted) {
            (0, false) => Ok(ExitCode::SUCCESS),
            (0, true) => Ok(ExitCode::from(INTERRUPTED)),
            (failed, _) => Err(Failure::Several { failed, all }),
        }
    }

    /// All runs of the sweep that there are, by whomever, into results.csv and onto standard output.
    fn merge(&self, sweep: &Sweep) -> Result<(), Failure> {
        let found = sweep.gather()?;
        let groups = group(&found);
        if !found.is_empty() {
            let path = sweep.folder.join("results.csv");
            durable::replace(&path, |file| write_groups(file, &groups, Form::Csv))?;
        }
        write_groups(&mut io::stdout().lock(), &groups, self.form)?;
        let mut left = 0;
        for job in &sweep.jobs {
            left += usize::from(!sweep.is_done(job)?);
        }
        if left > 0 {
            eprintln!("{left} of {} runs are not done", sweep.jobs.len());
        }
        Ok(())
    }
}

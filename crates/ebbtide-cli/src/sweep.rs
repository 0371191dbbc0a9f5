//! `ebbtide sweep`: a grid of runs, several at a time.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide_report::page::{self, Life};
use ebbtide_run::compare::{Gathered, group};
use ebbtide_run::durable;
use ebbtide_run::folder::Files;
use ebbtide_run::job::JobState;
use ebbtide_run::pool;
use ebbtide_run::sweep::{Shard, Sweep};

use crate::asked::read;
use crate::compare::{Form, tell_unreadable, write_groups, write_runs};
use crate::failure::{Failure, say, settle};
use crate::jobs::Jobs;

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
        let mine = sweep.jobs.iter().enumerate().filter(|(place, _)| shard.has(*place));
        let workers = self.workers.or(sweep.workers).unwrap_or_else(pool::cores);
        let jobs = Jobs { jobs: mine.map(|(_, job)| job).collect(), workers, quiet: self.quiet };
        jobs.work(|_| Ok(()))
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
        let left = sweep.jobs.iter().filter(|job| !matches!(job.state(), Ok(JobState::Done))).count();
        if left > 0 {
            say(&format!("{left} of {} runs are not done", sweep.jobs.len()));
        }
        tell_unreadable(unreadable)
    }
}

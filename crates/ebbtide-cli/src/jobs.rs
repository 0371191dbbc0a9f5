//! Jobs, several at a time: what is done is skipped, what had begun goes on, what is at work elsewhere is left alone.

use std::process::ExitCode;

use ebbtide::trajectory::Threads;
use ebbtide_run::folder::FolderError;
use ebbtide_run::job::{Job, JobError, JobState};
use ebbtide_run::run::RunError;
use ebbtide_run::{Observer, Status, Stop, pool};

use crate::display::Display;
use crate::failure::{Failure, say};
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::train::leave_report;

/// Runs to be there, and how they are done.
pub struct Jobs<'a> {
    /// Which, in order.
    pub jobs: Vec<&'a Job>,
    /// How many at a time.
    pub workers: usize,
    /// Whether nothing is shown meanwhile.
    pub quiet: bool,
}

/// What a job came to.
enum Done {
    Ended(Status),
    /// At work elsewhere, or not begun because somebody asked to stop.
    Skipped,
    Failed(Failure),
}

impl Jobs<'_> {
    /// Does what is not done yet. Every job that is over, now or before, is told to `over`, as soon as it is.
    pub fn work(&self, over: impl Fn(&Job) -> Result<(), Failure> + Sync) -> Result<ExitCode, Failure> {
        let display = Display::new(self.quiet);
        let interrupt = Interrupt::listen(&display)?;
        let (mut waiting, mut failures, mut done) = (Vec::new(), Vec::new(), 0);
        for job in &self.jobs {
            match job.state() {
                Ok(JobState::Done) => {
                    done += 1;
                    failures.extend(over(job).err());
                }
                Ok(_) => waiting.push((display.observe(&name(job)), *job)),
                Err(error) => failures.push(error.into()),
            }
        }
        if done > 0 {
            display.remark(&format!("{done} of {} runs are done already", self.jobs.len()));
        }
        let results = pool::work(waiting, self.workers, |(mut observer, job)| {
            match run(job, interrupt.stop(), &display, &mut *observer) {
                Ok(Done::Ended(Status::Interrupted)) => Done::Ended(Status::Interrupted),
                Ok(Done::Ended(status)) => over(job).map_or_else(Done::Failed, |()| Done::Ended(status)),
                Ok(other) => other,
                Err(error) => Done::Failed(error.into()),
            }
        });
        display.finish();
        let mut interrupted = interrupt.stop().asked();
        for result in results {
            match result {
                Done::Failed(failure) => failures.push(failure),
                Done::Ended(status) => interrupted |= status == Status::Interrupted,
                Done::Skipped => {}
            }
        }
        failures.iter().for_each(Failure::tell);
        if interrupted {
            say("interrupted; to go on, the same command");
        }
        match (failures.len(), interrupted) {
            (0, false) => Ok(ExitCode::SUCCESS),
            (0, true) => Ok(ExitCode::from(INTERRUPTED)),
            (failed, _) => Err(Failure::Several { failed, all: self.jobs.len() }),
        }
    }
}

/// A job is called like its folder: settings of two may have the same name.
fn name(job: &Job) -> String {
    job.folder.file_name().map_or_else(|| job.settings.name(), |name| name.to_string_lossy().into_owned())
}

/// One job, from where it is to its end.
fn run(job: &Job, stop: &Stop, display: &Display, observer: &mut dyn Observer) -> Result<Done, JobError> {
    if stop.asked() {
        return Ok(Done::Skipped);
    }
    match job.run(stop, observer) {
        Ok(Some(outcome)) => {
            if let Ok(threads) = Threads::new(1) {
                leave_report(&job.folder, &threads, observer);
            }
            Ok(Done::Ended(outcome.status))
        }
        // Done meanwhile: whoever did it has told.
        Ok(None) => Ok(Done::Ended(Status::Finished)),
        Err(JobError::Run(RunError::Folder(FolderError::InUse { path }))) => {
            display.remark(&format!("{} is at work elsewhere: left alone", path.display()));
            Ok(Done::Skipped)
        }
        Err(error) => Err(error),
    }
}

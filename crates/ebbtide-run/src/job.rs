//! A job: a run that is to be there, whoever does it, and however often it is begun.

use std::path::PathBuf;

use ebbtide::trajectory::Threads;

use crate::compare::is_over;
use crate::folder::{Folder, FolderError, is_run};
use crate::run::{Run, RunError, may_change, read_outcome, read_settings};
use crate::settings::{Difference, Settings};
use crate::{Observer, Outcome, Stop};

/// A run at a place of its own, done by one thread.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget};
/// # use ebbtide_run::{Stop, settings::Preset};
/// # let runs = tempfile::tempdir()?;
/// # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
/// use ebbtide_run::job::{Job, JobError, JobState};
///
/// // `settings` are those of a small run.
/// let job = Job { folder: runs.path().join("one"), settings };
/// assert_eq!(job.state()?, JobState::New);
/// let outcome = job.run(&Stop::new(), &mut ())?.expect("nobody else has done it");
/// assert_eq!((outcome.iterations, job.state()?), (6, JobState::Done));
/// assert_eq!(job.run(&Stop::new(), &mut ())?, None);
///
/// let mut other = job.clone();
/// other.settings.config.batch = 32;
/// match other.state() {
///     Err(JobError::Changed { difference, .. }) => {
///         assert_eq!((difference.key, difference.theirs.as_str()), ("batch", "16"));
///     }
///     state => unreachable!("{state:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Where it is kept.
    pub folder: PathBuf,
    /// What is asked of it.
    pub settings: Settings,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It has not begun.
    New,
    /// It has begun, and is not over.
    Begun,
    /// All its iterations are done, or it diverged.
    Done,
}

/// Why a job could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What is asked for was changed after the job began.
    #[error(
        "{} was begun with {} = {}, and is now asked for with {}; choose another folder, or remove that run",
        path.display(), difference.key, difference.theirs, difference.ours
    )]
    Changed {
        /// The job's folder.
        path: PathBuf,
        /// The setting.
        difference: Difference,
    },
}

impl From<FolderError> for JobError {
    fn from(error: FolderError) -> Self {
        JobError::Run(error.into())
    }
}

impl Job {
    /// How far it is, and that it is still the one that was begun. A longer one is the same; how closely a run is
    /// watched stays as it was when it began.
    pub fn state(&self) -> Result<JobState, JobError> {
        if !is_run(&self.folder) {
            return Ok(JobState::New);
        }
        let begun = read_settings(&self.folder)?;
        if let Some(difference) = self.settings.difference(&begun, &may_change(&self.settings)) {
            return Err(JobError::Changed { path: self.folder.clone(), difference });
        }
        let outcome = read_outcome(&self.folder).map_err(RunError::from)?;
        let done = outcome.is_some_and(|outcome| is_over(&self.settings, &outcome));
        Ok(if done { JobState::Done } else { JobState::Begun })
    }

    /// Does it from its beginning, or from where it was; `None` if it was done meanwhile.
    pub fn run(&self, stop: &Stop, observer: &mut dyn Observer) -> Result<Option<Outcome>, JobError> {
        let threads = Threads::new(1).map_err(RunError::from)?;
        // Only who has the folder can tell how far the job is.
        let folder = Folder::at(&self.folder)?;
        let run = match self.state()? {
            JobState::Done => return Ok(None),
            JobState::New => Run::begin_in(folder, self.settings.clone(), &threads)?,
            JobState::Begun => Run::resume_in(folder, Some(self.settings.config.iterations), None, &threads)?,
        };
        Ok(Some(run.go(stop, observer)?))
    }
}

//! Somebody who looks at a run's folder again and again, and says what has changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ebbtide::trajectory::Threads;
use ebbtide_run::folder::{Files, is_at_work};
use ebbtide_run::trained::Which;

use super::Current;
use crate::page;
use crate::portrait::{Portrait, PortraitError};

/// Remembers what the folder looked like.
pub struct Looker {
    folder: PathBuf,
    threads: Threads,
    progress: Option<Progress>,
    weights: Option<Stamp>,
    /// Looks since something changed.
    idle: u32,
}

/// Looks from one attempt to the next, where the last one failed.
const PATIENCE: u32 = 10;

/// What changes often: curves and how the run stands.
#[derive(Clone, Debug, PartialEq)]
struct Progress {
    metrics: Option<(u64, SystemTime)>,
    result: Option<(u64, SystemTime)>,
    config: Option<(u64, SystemTime)>,
    at_work: bool,
}

/// The names of the checkpoints there are, and how old they are.
type Stamp = Vec<(PathBuf, Option<SystemTime>)>;

impl Looker {
    /// The first look.
    pub fn new(folder: &Path, threads: &Threads) -> Result<(Self, Current), PortraitError> {
        let mut looker = Self {
            folder: folder.to_owned(),
            threads: threads.clone(),
            progress: None,
            weights: None,
            idle: 0,
        };
        let (progress, weights) = (looker.see_progress(), looker.see_weights());
        let current = looker.all()?;
        (looker.progress, looker.weights) = (Some(progress), Some(weights));
        Ok((looker, current))
    }

    /// What there is to see now, if it is something else than before.
    pub fn look(&mut self, before: &Current) -> Option<Current> {
        // What is remembered is older than what is read: what changes meanwhile is seen the next time.
        let (progress, weights) = (self.see_progress(), self.see_weights());
        let (same_progress, same_weights) =
            (self.progress.as_ref() == Some(&progress), self.weights.as_ref() == Some(&weights));
        self.idle = if same_progress && same_weights { self.idle + 1 } else { 0 };
        // A file may have been gone for a moment only: trouble is looked into again, from time to time.
        let again = before.trouble.is_some() && self.idle.is_multiple_of(PATIENCE);
        let ended = self.progress.as_ref().is_some_and(|before| before.at_work && !progress.at_work);
        let seen = match (same_weights, same_progress) {
            (true, true) if !again => return None,
            (true, false) if !ended => self.some(before),
            _ => self.all(),
        };
        (self.progress, self.weights) = (Some(progress), Some(weights));
        match seen {
            Ok(current) => Some(current),
            // What was seen stays.
            Err(error) => {
                let trouble = Some(error.to_string());
                (trouble != before.trouble).then(|| Current { trouble, ..before.clone() })
            }
        }
    }

    fn all(&self) -> Result<Current, PortraitError> {
        let portrait = Portrait::read(&self.folder, Which::Last, &self.threads)?;
        let shown = page::run(&portrait, &[])?;
        Ok(Current {
            title: shown.page.title,
            sections: shown.page.sections,
            stage: portrait.stage,
            trouble: None,
        })
    }

    /// New curves beside the old pictures.
    fn some(&self, before: &Current) -> Result<Current, PortraitError> {
        let portrait = Portrait::sketch(&self.folder)?;
        let mut sections = before.sections.clone();
        for new in page::sections(&portrait) {
            if let Some(old) = sections.iter_mut().find(|old| old.id == new.id) {
                *old = new;
            }
        }
        Ok(Current { title: before.title.clone(), sections, stage: portrait.stage, trouble: None })
    }

    fn see_progress(&self) -> Progress {
        let files = Files(&self.folder);
        let stamp = |path: PathBuf| {
            fs::metadata(path).ok().and_then(|data| Some((data.len(), data.modified().ok()?)))
        };
        Progress {
            metrics: stamp(files.metrics()),
            result: stamp(files.result()),
            config: stamp(files.config()),
            at_work: is_at_work(&self.folder),
        }
    }

    fn see_weights(&self) -> Stamp {
        let entries = fs::read_dir(Files(&self.folder).checkpoints()).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        // The best weights are not what is shown.
        let is_state = |path: &PathBuf| {
            let name = path.file_name().map_or_else(Default::default, |name| name.to_string_lossy());
            name.ends_with(".safetensors") && !name.starts_with("best-")
        };
        let finished = paths.filter(is_state);
        let stamp = |path: PathBuf| {
            let modified = fs::metadata(&path).ok().and_then(|data| data.modified().ok());
            (path, modified)
        };
        let mut stamps: Stamp = finished.map(stamp).collect();
        stamps.sort();
        stamps
    }
}

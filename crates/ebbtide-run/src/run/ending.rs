//! The end of a run: final figures, samples, and what became of it.

use ebbtide::metric::{Evaluation, EvaluationError};
use ebbtide::train::Report;

use super::{Halt, Run, RunError};
use crate::durable::{self, FileError};
use crate::export::{Export, Format, Shape};
use crate::{Event, Figures, Observer, Outcome, Status};

impl Run {
    /// Checkpoint, final figures, samples.
    pub(super) fn conclude(
        mut self,
        status: Status,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        self.save(observer)?;
        self.tell(observer, Event::Evaluating);
        match self.last_evaluation(&status, observer) {
            Ok(evaluation) => {
                self.last_line(&evaluation, observer)?;
                self.write_samples(&evaluation)?;
                let outcome = self.outcome(status).evaluated(&evaluation);
                let (target, seed) = (self.trainer.target(), self.settings.config.seed);
                let outcome = outcome.rewarded(&**target, &evaluation, seed)?;
                self.end(outcome, observer)
            }
            // Whatever an evaluation finds that nobody would have made but for the interruption, a resumed run will find in its own time.
            Err(Halt::Diverged { reason, .. }) if status == Status::Interrupted => {
                self.remark(observer, &format!("no figures: {reason}"));
                self.remove_samples()?;
                let outcome = self.outcome(status);
                self.end(outcome, observer)
            }
            Err(Halt::Diverged { at, reason, point }) => {
                self.diverged(Status::Diverged { at, reason, point }, observer)
            }
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    /// All that can be said. A distance that is too much for the machine is left out.
    fn last_evaluation(&mut self, status: &Status, observer: &mut dyn Observer) -> Result<Evaluation, Halt> {
        let at = self.trainer.state().iteration();
        if !self.trainer.is_sound() {
            let reason = "a weight is not finite after the last iteration".to_owned();
            return Err(Halt::Diverged { at, reason, point: Vec::new() });
        }
        let evaluation = match self.measure(at, true) {
            Err(Halt::Failed(RunError::Evaluation {
                source: error @ EvaluationError::Transport(_), ..
            })) => {
                self.remark(observer, &format!("no 2-Wasserstein distance: {error}"));
                self.measure(at, false)?
            }
            other => other?,
        };
        match self.progress.best.exploded(&evaluation, self.settings.keeping.explosion) {
            Some(explosion) if *status == Status::Finished => Err(explosion.at(at)),
            _ => Ok(evaluation),
        }
    }

    /// A line for the last iteration, if it has none yet. It comes after the checkpoint, so that a run that is made longer takes it back.
    fn last_line(&mut self, evaluation: &Evaluation, observer: &mut dyn Observer) -> Result<(), RunError> {
        let state = self.trainer.state();
        if self.progress.recorded != Some(state.iteration()) {
            let report = Report {
                iteration: state.iteration(),
                log_z: state.learner().log_z(),
                evaluations: state.evaluations(),
                archived: state.archived(),
                ..Report::default()
            };
            let mut window = self.progress.window;
            let mut record = window.close(&report, self.progress.seconds);
            record.figures = Some(Figures::from(&evaluation.bounds));
            // The checkpoint is written: a resumed run knows nothing of this line.
            self.record(&record, observer)?;
        }
        Ok(())
    }

    /// The last good checkpoint and the metrics stay as they are; the figures are those of the last evaluation.
    pub(super) fn diverged(
        mut self,
        status: Status,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        self.journal.sync()?;
        self.remove_samples()?;
        let mut status = status;
        if let Status::Diverged { point, .. } = &mut status {
            self.settings.placing.apply(point);
        }
        let (evaluated_at, figures) = self.progress.evaluated.unzip();
        let outcome = Outcome { evaluated_at, figures, ..self.outcome(status) };
        self.end(outcome, observer)
    }

    /// Samples of an interruption before are not what a run came to.
    fn remove_samples(&self) -> Result<(), FileError> {
        let samples = self.folder.files().samples();
        match samples.exists() {
            true => std::fs::remove_file(&samples).map_err(FileError::of("remove", &samples)),
            false => Ok(()),
        }
    }

    fn end(mut self, outcome: Outcome, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        let mut described = serde_json::to_vec_pretty(&outcome).expect("an outcome is JSON");
        described.push(b'\n');
        durable::replace_with(&self.folder.files().result(), &described)?;
        self.tell(observer, Event::Ended(&outcome));
        Ok(outcome)
    }

    /// All of an outcome but what an evaluation tells.
    fn outcome(&self, status: Status) -> Outcome {
        let state = self.trainer.state();
        Outcome {
            seconds: Some(self.progress.seconds),
            evaluations: Some(state.evaluations()),
            log_z_learned: Some(state.learner().log_z())
                .filter(|log_z| log_z.is_finite() && self.settings.learns_log_z()),
            best_iteration: self.progress.best.iteration(),
            ..Outcome::new(status, &self.settings, &**self.trainer.target(), state.iteration())
        }
    }

    fn write_samples(&self, evaluation: &Evaluation) -> Result<(), RunError> {
        let dim = self.trainer.target().dim();
        let shape = Shape { dim, weights: false, times: None };
        let count = evaluation.samples.len() / dim;
        let mut file = Export::to_file(&self.folder.files().samples(), Format::Npy, shape, count)?;
        let mut samples = evaluation.samples.clone();
        self.settings.placing.apply(&mut samples);
        file.write(&samples, None)?;
        Ok(file.finish()?)
    }
}

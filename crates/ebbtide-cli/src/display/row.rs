//! Where a run stands: what its events said, and what a glance at it shows.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ebbtide::train::Report;
use ebbtide_run::{Event, Figures, Outcome, Status};

use super::alarm::{FiguresAlarm, LossAlarm};
use super::pace::Pace;

/// What a run is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Its turn has not come.
    #[default]
    Waiting,
    /// It trains.
    Training,
    /// It is evaluated for the last time.
    Evaluating,
    /// All iterations are done.
    Done,
    /// Somebody stopped it.
    Interrupted,
    /// A number left all bounds.
    Diverged,
    /// It ended without an outcome: an error is on its way to the user.
    Failed,
    /// It will not begin any more.
    Dropped,
}

impl Phase {
    /// All there are, in the order in which they are counted up.
    pub const ALL: [Self; 8] = [
        Self::Training,
        Self::Evaluating,
        Self::Waiting,
        Self::Done,
        Self::Interrupted,
        Self::Diverged,
        Self::Failed,
        Self::Dropped,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Training => "training",
            Self::Evaluating => "evaluating",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Diverged => "diverged",
            Self::Failed => "failed",
            Self::Dropped => "not begun",
        }
    }

    /// Whether something is going on.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Training | Self::Evaluating)
    }
}

/// A run as it looks at a moment. All that is ever drawn comes from here.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is kept, if anywhere.
    pub folder: Option<Arc<PathBuf>>,
    /// What it is at.
    pub phase: Phase,
    /// What was said of its end, if it diverged.
    pub reason: Option<Arc<str>>,
    /// Iterations done.
    pub iteration: u64,
    /// Iterations there will be.
    pub iterations: u64,
    /// Mean generation loss of the last moment.
    pub generation_loss: Option<f64>,
    /// Mean destruction loss of the last moment.
    pub destruction_loss: Option<f64>,
    /// log Ẑ as it is learned, once there was an iteration.
    pub log_z: Option<f64>,
    /// Evaluations of the density.
    pub evaluations: u64,
    /// What the last evaluation found.
    pub figures: Option<Figures>,
    /// Iterations per second.
    pub rate: Option<f64>,
    /// Time since it began, with that before it was taken up.
    pub elapsed: Option<Duration>,
    /// Time until all iterations are done.
    pub left: Option<Duration>,
    /// What deserves a second look.
    pub alarms: Alarms,
}

/// Which numbers of a run deserve a second look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alarms {
    /// The generation loss grew a hundredfold.
    pub generation_loss: bool,
    /// The destruction loss did.
    pub destruction_loss: bool,
    /// The ELBO is clearly below its best.
    pub elbo: bool,
    /// The effective sample size fell below one per cent.
    pub ess: bool,
}

/// A mean that is taken since the last look.
#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    /// The mean, which begins anew.
    fn take(&mut self) -> Option<f64> {
        let Self { sum, count } = std::mem::take(self);
        (count > 0).then(|| sum / f64::from(count))
    }
}

/// A run and all that its events said.
#[derive(Debug)]
pub struct Row {
    view: View,
    report: Option<Report>,
    generation_loss: Mean,
    destruction_loss: Mean,
    loss_alarms: [LossAlarm; 2],
    figures_alarm: FiguresAlarm,
    pace: Option<Pace>,
    begun: Option<Instant>,
    before: Duration,
}

impl Row {
    /// A run that waits for its turn.
    pub fn new(name: &str) -> Self {
        Self {
            view: View { name: name.into(), ..View::default() },
            report: None,
            generation_loss: Mean::default(),
            destruction_loss: Mean::default(),
            loss_alarms: Default::default(),
            figures_alarm: FiguresAlarm::default(),
            pace: None,
            begun: None,
            before: Duration::ZERO,
        }
    }

    /// Takes note of an iteration: a few additions, for there may be thousands in a second.
    #[inline]
    pub fn step(&mut self, report: &Report) {
        self.generation_loss.add(report.generation_loss);
        self.destruction_loss.add(report.destruction_loss);
        self.report = Some(*report);
    }

    /// Takes note of anything else.
    pub fn notice(&mut self, event: Event, now: Instant) {
        match event {
            Event::Begun { folder, iteration, iterations, seconds } => {
                *self = Self::new(&self.view.name);
                let kept = !folder.as_os_str().is_empty();
                self.view.folder = kept.then(|| Arc::new(folder.to_path_buf()));
                self.view.phase = Phase::Training;
                (self.view.iteration, self.view.iterations) = (iteration, iterations);
                self.pace = Some(Pace::new(now, iteration));
                self.begun = Some(now);
                self.before = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            }
            Event::Stepped(report) => self.step(report),
            Event::Recorded(record) => self.evaluated(record.figures),
            Event::Evaluating => {
                // The time of the evaluation is none of the last iteration's.
                self.look(now);
                self.view.phase = Phase::Evaluating;
            }
            Event::Ended(outcome) => self.end(outcome, now),
            Event::Saved { .. } | Event::Remarked(_) => {}
        }
    }

    /// Takes note that nobody will tell of it any more.
    pub fn abandon(&mut self, now: Instant) {
        let phase = match self.view.phase {
            Phase::Waiting => Phase::Dropped,
            Phase::Training | Phase::Evaluating => Phase::Failed,
            ended => ended,
        };
        self.look(now);
        self.view.phase = phase;
    }

    /// How it looks now.
    pub fn look(&mut self, now: Instant) -> View {
        if !self.view.phase.is_active() {
            return self.view.clone();
        }
        if let Some(report) = self.report {
            self.view.iteration = report.iteration;
            self.view.log_z = Some(report.log_z);
            self.view.evaluations = report.evaluations;
        }
        let losses = [
            (&mut self.generation_loss, &mut self.view.generation_loss),
            (&mut self.destruction_loss, &mut self.view.destruction_loss),
        ];
        for ((mean, shown), alarm) in losses.into_iter().zip(&mut self.loss_alarms) {
            if let Some(loss) = mean.take() {
                alarm.observe(loss, now);
                *shown = Some(loss);
            }
        }
        if let Some(pace) = &mut self.pace {
            pace.advance(now, self.view.iteration, self.view.iterations);
            (self.view.rate, self.view.left) = (pace.rate(), pace.left());
        }
        self.view.elapsed = self.begun.map(|begun| self.before + now.saturating_duration_since(begun));
        self.view.alarms = Alarms {
            generation_loss: self.loss_alarms[0].stands(now),
            destruction_loss: self.loss_alarms[1].stands(now),
            elbo: self.figures_alarm.elbo,
            ess: self.figures_alarm.ess,
        };
        self.view.clone()
    }

    fn evaluated(&mut self, figures: Option<Figures>) {
        if let Some(figures) = figures {
            self.figures_alarm.observe(&figures);
            self.view.figures = Some(figures);
        }
    }

    fn end(&mut self, outcome: &Outcome, now: Instant) {
        self.evaluated(outcome.figures);
        self.look(now);
        self.view.iteration = outcome.iterations;
        self.view.evaluations = outcome.evaluations.unwrap_or(self.view.evaluations);
        self.view.left = None;
        self.view.phase = match &outcome.status {
            Status::Finished => Phase::Done,
            Status::Interrupted => Phase::Interrupted,
            Status::Diverged { at, reason, .. } => {
                self.view.reason = Some(format!("at iteration {at}: {reason}").into());
                Phase::Diverged
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ebbtide_run::Record;

    use super::*;

    fn begun(now: Instant) -> Row {
        let mut row = Row::new("a");
        row.notice(
            Event::Begun { folder: Path::new("runs/a"), iteration: 100, iterations: 200, seconds: 60.0 },
            now,
        );
        row
    }

    fn report(iteration: u64, loss: f64) -> Report {
        Report { iteration, generation_loss: Some(loss), log_z: 0.5, evaluations: 7, ..Report::default() }
    }

    #[test]
    fn a_run_waits_until_it_begins() {
        let now = Instant::now();
        assert_eq!(Row::new("a").look(now).phase, Phase::Waiting);
        let view = begun(now).look(now + Duration::from_secs(1));
        assert_eq!((view.phase, view.iteration, view.log_z), (Phase::Training, 100, None));
        assert_eq!(view.elapsed, Some(Duration::from_secs(61)));
        assert_eq!(view.rate, None);
    }

    #[test]
    fn losses_are_means_since_the_last_look() {
        let now = Instant::now();
        let mut row = begun(now);
        row.step(&report(101, 1.0));
        row.step(&report(102, 2.0));
        let view = row.look(now + Duration::from_secs(1));
        assert_eq!((view.generation_loss, view.destruction_loss), (Some(1.5), None));
        assert_eq!((view.iteration, view.rate, view.log_z), (102, Some(2.0), Some(0.5)));
        let later = row.look(now + Duration::from_secs(2));
        assert_eq!(later.generation_loss, Some(1.5), "it keeps standing");
    }

    #[test]
    fn figures_keep_standing() {
        let now = Instant::now();
        let mut row = begun(now);
        let figures = Figures {
            elbo: -1.0,
            elbo_error: 0.1,
            eubo: None,
            eubo_error: None,
            log_z: 0.0,
            log_z_error: 0.1,
            ess: 0.5,
            pareto_k: None,
        };
        row.notice(Event::Recorded(&Record { figures: Some(figures), ..Record::default() }), now);
        row.notice(Event::Recorded(&Record::default()), now);
        assert_eq!(row.look(now).figures, Some(figures));
    }

    #[test]
    fn a_run_that_nobody_tells_of_has_failed() {
        let now = Instant::now();
        let mut row = begun(now);
        row.abandon(now);
        row.abandon(now);
        assert_eq!(row.look(now).phase, Phase::Failed);
        let mut waiting = Row::new("b");
        waiting.abandon(now);
        assert_eq!(waiting.look(now).phase, Phase::Dropped);
    }
}

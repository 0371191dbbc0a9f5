//! Who looks on while a sampler trains: the display of the package's other half, and whoever presses Ctrl-C.

use std::time::{Duration, Instant};

use ebbtide_run::{Event, Observer};
use pyo3::prelude::*;

/// A wish to stop.
#[pyclass(frozen)]
pub struct Stop(pub ebbtide_run::Stop);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self(ebbtide_run::Stop::new())
    }

    /// Asks to stop; answers whether somebody had asked before.
    fn ask(&self) -> bool {
        self.0.ask()
    }
}

/// Tells Python what happens, and lets it see to its signals.
pub struct Watcher {
    stop: ebbtide_run::Stop,
    display: Option<Py<PyAny>>,
    shown: Instant,
    interrupted: Option<PyErr>,
}

/// From one number of iterations on a display to the next.
const PAUSE: Duration = Duration::from_millis(200);

impl Watcher {
    /// Whoever looks on has methods for the events there are.
    pub fn new(stop: ebbtide_run::Stop, display: Option<Py<PyAny>>) -> Self {
        Self { stop, display, shown: Instant::now(), interrupted: None }
    }

    /// What was raised by a signal that is not ours, to be raised once the run is in its folder.
    pub fn interrupted(self) -> Option<PyErr> {
        self.interrupted
    }

    /// A display that fails is told of, and not asked again: it must not end a training.
    fn show(&mut self, py: Python<'_>, event: &str, arguments: impl for<'py> pyo3::call::PyCallArgs<'py>) {
        if let Some(display) = &self.display
            && let Err(error) = display.bind(py).call_method1(event, arguments)
        {
            error.write_unraisable(py, Some(display.bind(py)));
            self.display = None;
        }
    }
}

impl Observer for Watcher {
    fn notice(&mut self, event: Event) {
        let is_step = matches!(event, Event::Stepped(_));
        Python::attach(|py| {
            if let Err(error) = py.check_signals() {
                self.stop.ask();
                self.interrupted.get_or_insert(error);
            }
            if is_step && self.shown.elapsed() < PAUSE {
                return;
            }
            match event {
                Event::Begun { iteration, iterations, seconds, .. } => {
                    self.show(py, "begun", (iteration, iterations, seconds));
                }
                Event::Stepped(report) => {
                    self.shown = Instant::now();
                    self.show(py, "stepped", (report.iteration,));
                }
                Event::Recorded(record) => {
                    let record = serde_json::to_string(record).expect("records are JSON");
                    self.show(py, "recorded", (record,));
                }
                Event::Evaluating => self.show(py, "evaluating", ()),
                Event::Remarked(text) => self.show(py, "remarked", (text,)),
                Event::Ended(_) => self.show(py, "ended", ()),
                Event::Saved { .. } => {}
            }
        });
    }
}

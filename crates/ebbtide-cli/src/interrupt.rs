//! Ctrl-C: once to stop and keep what was learned, twice to leave at once.

use ebbtide_run::Stop;

use crate::display::Display;

/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// Listens for Ctrl-C, and for what a batch system sends before it takes a machine away.
pub struct Interrupt {
    stop: Stop,
}

impl Interrupt {
    /// Listens from now on, for a training. Whatever was saved is whole at any moment, so leaving at once loses nothing but time.
    pub fn listen(display: &Display) -> Result<Self, ctrlc::Error> {
        let remarks = display.remarks();
        Self::telling(move || {
            remarks.remark("stopping: a checkpoint and the figures so far; once more to leave at once");
        })
    }

    /// Listens from now on, for work that is over in a moment anyway.
    pub fn silent() -> Result<Self, ctrlc::Error> {
        Self::telling(|| ())
    }

    fn telling(tell: impl Fn() + Send + 'static) -> Result<Self, ctrlc::Error> {
        let stop = Stop::new();
        let wish = stop.clone();
        ctrlc::set_handler(move || {
            if wish.ask() {
                std::process::exit(INTERRUPTED.into());
            }
            tell();
        })?;
        Ok(Self { stop })
    }

    /// The wish to stop.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }
}

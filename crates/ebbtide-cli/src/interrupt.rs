//! Ctrl-C: once to stop and keep what was learned, twice to leave at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// Whether somebody asked to stop.
#[derive(Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen() -> Result<Self, ctrlc::Error> {
        let asked = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&asked);
        ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::SeqCst) {
                std::process::exit(INTERRUPTED.into());
            }
        })?;
        Ok(Self { asked })
    }

    /// Whether Ctrl-C was pressed.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }
}

//! A wish to stop, shared by whoever may have it and whoever heeds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked to stop. Clones share the answer.
///
/// ```
/// use ebbtide_run::Stop;
///
/// let stop = Stop::new();
/// let heeded = stop.clone();
/// assert!(!heeded.asked());
/// let before = stop.ask();
/// assert!(!before && heeded.asked());
/// assert!(stop.ask(), "somebody had asked before");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Nobody did so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop; answers whether somebody had asked before.
    pub fn ask(&self) -> bool {
        self.0.swap(true, Ordering::SeqCst)
    }

    /// Whether somebody asked.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

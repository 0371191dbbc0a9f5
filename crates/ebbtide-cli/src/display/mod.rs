//! How trainings are shown while they go on: a live table on a terminal, plain lines elsewhere. All on standard error.
//!
//! Training threads only add up what happened; a thread of its own looks at all runs some times a second and draws.
//! A terminal that is stopped or slow therefore never holds up an iteration.

mod alarm;
mod board;
mod column;
mod lines;
mod pace;
mod row;
mod screen;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ebbtide_run::{Event, Observer};

use board::{Board, hold};
use row::Row;

/// How often runs are looked at, and a table drawn.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The way in which trainings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// A table that is drawn anew in place.
    Live,
    /// A line now and then.
    Lines,
    /// Nothing at all.
    Silent,
}

impl Manner {
    /// The manner for what standard error is connected to.
    pub fn choose(quiet: bool) -> Self {
        let able = io::stderr().is_terminal() && !console::is_dumb();
        match (quiet, able) {
            (true, _) => Self::Silent,
            (false, true) => Self::Live,
            (false, false) => Self::Lines,
        }
    }
}

/// How trainings are shown while they go on.
pub struct Display {
    board: Arc<Board>,
    looking: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Display {
    /// Shows what goes on in the manner that fits standard error, or nothing if `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self::in_manner(Manner::choose(quiet))
    }

    /// Shows what goes on in this manner.
    pub fn in_manner(manner: Manner) -> Self {
        let board = Arc::new(Board::new(manner));
        let looking = if manner == Manner::Silent { None } else { look(&board) };
        Self { board, looking }
    }

    /// An observer for one run. Rows appear in the order in which they are asked for, also those that wait their turn;
    /// a run whose observer is dropped before its end counts as failed.
    pub fn observe(&self, name: &str) -> Box<dyn Observer> {
        if self.board.manner() == Manner::Silent {
            return Box::new(());
        }
        let row = Arc::new(Mutex::new(Row::new(name)));
        self.board.add(Arc::clone(&row));
        Box::new(Watch { row, board: Arc::clone(&self.board) })
    }

    /// A remark above the table, or a line.
    pub fn remark(&self, text: &str) {
        self.board.remark(text);
    }

    /// Somebody on another thread who may have something to say.
    pub fn remarks(&self) -> Remarks {
        Remarks(Arc::clone(&self.board))
    }

    /// Ends the showing before final figures are printed. The table of several runs stays as it stood last; that of a
    /// single run is taken away if its figures follow on the same terminal.
    pub fn finish(mut self) {
        self.stop_looking();
        self.board.finish(!io::stdout().is_terminal());
    }

    fn stop_looking(&mut self) {
        if let Some((stop, thread)) = self.looking.take() {
            drop(stop);
            // A thread that panicked has nothing more to draw.
            let _ = thread.join();
        }
    }
}

/// A place for remarks, for as long as anything is shown.
pub struct Remarks(Arc<Board>);

impl Remarks {
    /// A remark above the table, or a line.
    pub fn remark(&self, text: &str) {
        self.0.remark(text);
    }
}

/// Without [`Display::finish`], what stood last stays: an error message is about to follow.
impl Drop for Display {
    fn drop(&mut self) {
        if self.looking.is_some() {
            self.stop_looking();
            self.board.finish(true);
        }
    }
}

/// Begins to look at all runs now and then, until the sender is dropped. No thread, no progress: nothing worse.
fn look(board: &Arc<Board>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = mpsc::channel();
    let board = Arc::clone(board);
    let looking = move || {
        while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            board.refresh(Instant::now());
        }
    };
    let thread = thread::Builder::new().name("display".to_owned()).spawn(looking).ok()?;
    Some((stop, thread))
}

/// The observer of a run.
struct Watch {
    row: Arc<Mutex<Row>>,
    board: Arc<Board>,
}

impl Observer for Watch {
    fn notice(&mut self, event: Event) {
        if let Event::Stepped(report) = event {
            return hold(&self.row).step(report);
        }
        let now = Instant::now();
        hold(&self.row).notice(event, now);
        let look = || hold(&self.row).look(now);
        match event {
            Event::Begun { .. } => self.board.begun(&look()),
            Event::Ended(_) => self.board.ended(&look()),
            Event::Remarked(text) => self.board.remark_on(&look(), text),
            _ => {}
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let now = Instant::now();
        let was_active = hold(&self.row).look(now).phase.is_active();
        hold(&self.row).abandon(now);
        if was_active {
            self.board.failed(&hold(&self.row).look(now));
        }
    }
}

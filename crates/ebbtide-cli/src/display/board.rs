//! All runs that are shown, and the one place from which anything is written.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::Term;

use super::Manner;
use super::lines;
use super::row::{Phase, Row, View};
use super::screen::Screen;
use super::table::{Room, table};
use crate::words::printable;

/// How often a run gets a line.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The runs, and what of them is written.
///
/// Whoever holds both locks took that of the output first; no row is held while something is written.
pub struct Board {
    manner: Manner,
    colour: bool,
    terminal: Term,
    output: Mutex<Output>,
}

#[derive(Default)]
struct Output {
    rows: Vec<Entry>,
    screen: Screen,
}

/// A run, and what its last line was about.
struct Entry {
    row: Arc<Mutex<Row>>,
    told: Option<(Instant, u64)>,
}

impl Board {
    /// A board without runs.
    pub fn new(manner: Manner) -> Self {
        // Asked of standard error: `console` decides on colours by standard output unless told.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = manner == Manner::Live && console::colors_enabled_stderr() && !refused;
        Self { manner, colour, terminal: Term::stderr(), output: Mutex::default() }
    }

    /// How it shows them.
    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// Another run, below the others.
    pub fn add(&self, row: Arc<Mutex<Row>>) {
        hold(&self.output).rows.push(Entry { row, told: None });
    }

    /// Draws the table, or writes the lines that are due.
    pub fn refresh(&self, now: Instant) {
        let mut output = hold(&self.output);
        match self.manner {
            Manner::Live => {
                let (lines, columns) = self.terminal.size();
                let room = Room { columns: columns.into(), lines: Some(lines.into()) };
                self.draw(&mut output, now, room);
            }
            Manner::Lines => self.write_lines(&due(&mut output, now)),
            Manner::Silent => {}
        }
    }

    /// Says that a run has begun.
    pub fn begun(&self, view: &View) {
        self.tell(|several| lines::begin(view, several));
    }

    /// Says that a run is over.
    pub fn ended(&self, view: &View) {
        self.tell(|several| lines::progress(view, several));
        if self.manner == Manner::Live && view.phase == Phase::Diverged && self.is_shared() {
            let reason = view.reason.as_deref().unwrap_or_default();
            self.remark_on(view, &format!("diverged {reason}"));
        }
    }

    /// Says that a run ended without an outcome.
    pub fn failed(&self, view: &View) {
        self.tell(|several| lines::progress(view, several));
    }

    /// Says something of a run.
    pub fn remark_on(&self, view: &View, text: &str) {
        self.remark(&lines::remark(view, text, self.is_shared()));
    }

    /// Says something.
    pub fn remark(&self, text: &str) {
        let text = printable(text);
        let mut output = hold(&self.output);
        match self.manner {
            Manner::Live => {
                let columns = self.terminal.size().1.into();
                self.write(&output.screen.insert(&text, columns));
            }
            Manner::Lines => self.write_lines(&[text]),
            Manner::Silent => {}
        }
    }

    /// Draws for the last time: all runs, however many; or takes the table away, if it is of one run and not kept.
    pub fn finish(&self, keep: bool) {
        if self.manner != Manner::Live {
            return;
        }
        let mut output = hold(&self.output);
        let columns = self.terminal.size().1.into();
        if keep || output.rows.len() > 1 {
            self.draw(&mut output, Instant::now(), Room { columns, lines: None });
        } else {
            self.write(&output.screen.clear(columns));
        }
    }

    /// The lines that would be written now.
    #[cfg(test)]
    pub fn due(&self, now: Instant) -> Vec<String> {
        due(&mut hold(&self.output), now)
    }

    fn is_shared(&self) -> bool {
        hold(&self.output).rows.len() > 1
    }

    fn draw(&self, output: &mut Output, now: Instant, room: Room) {
        if output.rows.is_empty() {
            return;
        }
        let views: Vec<View> = output.rows.iter().map(|entry| hold(&entry.row).look(now)).collect();
        let lines = table(&views, room, self.colour);
        self.write(&output.screen.draw(lines, room.columns));
    }

    /// Writes a line, where lines are written.
    fn tell(&self, line: impl FnOnce(bool) -> String) {
        if self.manner == Manner::Lines {
            let output = hold(&self.output);
            self.write_lines(&[line(output.rows.len() > 1)]);
        }
    }

    fn write_lines(&self, lines: &[String]) {
        self.write(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }

    /// Writes at once. A terminal that is gone is no reason to end a training.
    fn write(&self, text: &str) {
        if !text.is_empty() {
            let mut out = io::stderr().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    }
}

/// The lines that are due.
fn due(output: &mut Output, now: Instant) -> Vec<String> {
    let several = output.rows.len() > 1;
    let views = output.rows.iter_mut().filter_map(|entry| entry.due(now));
    views.map(|view| lines::progress(&view, several)).collect()
}

impl Entry {
    /// The run, if it is time for a line and there is something new to say.
    fn due(&mut self, now: Instant) -> Option<View> {
        let view = hold(&self.row).look(now);
        if view.phase != Phase::Training {
            return None;
        }
        // The first line comes as long after the beginning as the second after the first.
        let (last, iteration) = *self.told.get_or_insert((now, view.iteration));
        if now.saturating_duration_since(last) < LINE_EVERY || iteration == view.iteration {
            return None;
        }
        self.told = Some((now, view.iteration));
        Some(view)
    }
}

/// The lock, also if somebody panicked who held it: what is shown is never worth another panic.
pub fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

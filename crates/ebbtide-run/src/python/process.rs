//! The process: how it is started, asked, and ended.
//!
//! A question is a byte that says whether gradients are wanted, the number of points (8 bytes), and the points; it is read whole before it is
//! answered, so that neither side waits for the other to read. An answer is `=` with the length of what follows (8 bytes) and the numbers, all
//! values before all gradients, or `!` with a complaint in JSON. Numbers are as the machine has them: both ends are on the same one.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Interpreter, PythonError};

/// The program that answers.
const WORKER: &str = include_str!("worker.py");

/// How long a process may take to end, once there is nothing left to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of the longest complaint.
const LONGEST: u64 = 1 << 20;

/// A Python process that answers questions.
pub struct Process {
    child: Child,
    /// `None` once there are no more questions.
    questions: Option<ChildStdin>,
    answers: ChildStdout,
    said: Said,
}

/// Why there is no answer.
pub enum Failure {
    /// The process says what is wrong.
    Complaint(Complaint),
    /// The process is not there any more, or makes no sense.
    Lost(PythonError),
}

/// What the process says is wrong.
#[derive(serde::Deserialize)]
pub struct Complaint {
    /// In one word.
    pub kind: String,
    /// In more of them.
    pub text: String,
    /// A name that belongs to it.
    pub nearest: Option<String>,
    /// The interpreter's path.
    pub interpreter: String,
}

impl Process {
    /// Starts an interpreter.
    pub fn start(interpreter: &Interpreter) -> Result<Self, PythonError> {
        let mut command = Command::new(&interpreter.path);
        command.args(["-c", WORKER]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C is for us: whoever stops a training wants its figures, and those need the density.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .spawn()
            .map_err(|source| PythonError::Start { interpreter: interpreter.clone(), source })?;
        let questions = child.stdin.take();
        let answers = child.stdout.take().expect("its output is piped");
        let said = Said::listen(child.stderr.take().expect("its errors are piped"));
        Ok(Self { child, questions, answers, said })
    }

    /// Says what there will be to answer; it is ready when this returns.
    pub fn introduce(&mut self, setup: &[u8], text: &[u8]) -> Result<(), Failure> {
        let length = |part: &[u8]| (part.len() as u64).to_ne_bytes();
        self.send(&[&length(setup), setup, &length(text), text])?;
        self.receive(&mut [])
    }

    /// Asks for the log density of points, and for its gradient where there is room for it.
    pub fn ask(
        &mut self,
        points: &[f64],
        out: &mut [f64],
        gradient: Option<&mut [f64]>,
    ) -> Result<(), Failure> {
        let mut header = [u8::from(gradient.is_some()); 9];
        header[1..].copy_from_slice(&(out.len() as u64).to_ne_bytes());
        self.send(&[&header, bytemuck::cast_slice(points)])?;
        let gradient = gradient.unwrap_or_default();
        self.receive(&mut [bytemuck::cast_slice_mut(out), bytemuck::cast_slice_mut(gradient)])
    }

    fn send(&mut self, parts: &[&[u8]]) -> Result<(), Failure> {
        let questions = self.questions.as_mut().expect("there are questions until the end");
        match parts.iter().try_for_each(|part| questions.write_all(part)) {
            Ok(()) => Ok(()),
            // It may have said why before it went away.
            Err(_) => self.receive(&mut []).and_then(|()| Err(nonsense("an early answer"))),
        }
    }

    /// Fills all of `places` with an answer.
    fn receive(&mut self, places: &mut [&mut [u8]]) -> Result<(), Failure> {
        let mut header = [0; 9];
        self.read(&mut header)?;
        let (kind, length) = (header[0], u64::from_ne_bytes(header[1..].try_into().expect("eight bytes")));
        let wanted: usize = places.iter().map(|place| place.len()).sum();
        match kind {
            b'=' if length == wanted as u64 => places.iter_mut().try_for_each(|place| self.read(place)),
            b'!' if length <= LONGEST => {
                let mut complaint = vec![0; length as usize];
                self.read(&mut complaint)?;
                Err(match serde_json::from_slice(&complaint) {
                    Ok(complaint) => Failure::Complaint(complaint),
                    Err(error) => nonsense(format!("a complaint that is none: {error}")),
                })
            }
            b'=' => Err(nonsense(format!("{length} bytes instead of {wanted}"))),
            _ => Err(nonsense(format!("it begins with {header:?}"))),
        }
    }

    fn read(&mut self, place: &mut [u8]) -> Result<(), Failure> {
        self.answers.read_exact(place).map_err(|error| {
            let how = match self.end() {
                Some(status) => words(status),
                None => format!("it closed its output: {error}"),
            };
            Failure::Lost(PythonError::Died { how, said: self.said.last_lines() })
        })
    }

    /// Waits for the end that must come when there are no more questions; `None` if it had to be brought about.
    fn end(&mut self) -> Option<ExitStatus> {
        self.questions = None;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        // It may have ended just now, and then there is nothing to be done.
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn nonsense(what: impl Into<String>) -> Failure {
    Failure::Lost(PythonError::Nonsense(what.into()))
}

/// How a process ended.
fn words(status: ExitStatus) -> String {
    let words = status.to_string();
    let is_killed = words.contains("SIGKILL");
    if is_killed { format!("{words}, which is what happens when memory runs out") } else { words }
}

/// What a process says on standard error: passed on, and the last of it remembered.
struct Said {
    last: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl Said {
    /// Bytes and lines that are remembered.
    const BYTES: usize = 4096;
    const LINES: usize = 20;

    fn listen(mut from: ChildStderr) -> Self {
        let last = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&last);
        let listener = thread::spawn(move || {
            let mut heard = [0; Self::BYTES];
            while let Ok(count @ 1..) = from.read(&mut heard) {
                // There is nobody to tell that standard error is closed.
                let _ = io::stderr().write_all(&heard[..count]);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&heard[..count]);
                let surplus = kept.len().saturating_sub(Self::BYTES);
                kept.drain(..surplus);
            }
        });
        Self { last, listener }
    }

    /// The last lines of a process that has ended. Another one that it started may go on talking, which nobody waits for.
    fn last_lines(&self) -> String {
        let begun = Instant::now();
        while !self.listener.is_finished() && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(2));
        }
        let kept = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines[lines.len().saturating_sub(Self::LINES)..].join("\n")
    }
}

//! `ebbtide-bench serve`: a worker that stays, so that all programs can be asked in turn while warm.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::mem::{Discriminant, discriminant};

use clap::Args;
use ebbtide::trajectory::Threads;
use serde_json::json;

use crate::request::{Answer, Asked, Request};
use crate::work::Work;
use crate::{Failure, ThreadCount, memory, timing};

/// A worker for requests.
#[derive(Args)]
#[command(after_help = REQUESTS)]
pub struct Serve {
    #[command(flatten)]
    threads: ThreadCount,
}

const REQUESTS: &str = "\
Requests, one line each; `seconds` says how long to look for the best time (1 where it is left out):
  {\"work\": \"sgemm\", \"seconds\": 0.5}
  {\"work\": \"update\", \"d\": 2, \"width\": 64, \"depth\": 2, \"steps\": 5, \"batch\": 512}
  {\"work\": \"reverse-kl\", \"d\": 2, \"width\": 64, \"depth\": 2, \"steps\": 5, \"batch\": 512}
  {\"work\": \"sample\", \"d\": 2, \"width\": 64, \"depth\": 2, \"steps\": 5, \"count\": 100000}
  {\"work\": \"iteration\", \"fill\": \"full\"}      or \"young\": how much the archive holds
  {\"work\": \"transport\", \"d\": 2, \"points\": 2048}

Answers, one line each: {\"ms\": …, \"flops\": …, \"peak_mb\": …} or {\"error\": …}.";

impl Serve {
    /// Answers until there is nothing more to read.
    pub fn run(&self) -> Result<(), Failure> {
        let mut bench = Bench { threads: self.threads.start()?, ready: HashMap::new() };
        let mut out = io::stdout().lock();
        for line in io::stdin().lock().lines() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let answer = match bench.answer(&line) {
                Ok(answer) => json!(answer),
                Err(error) => json!({ "error": error.to_string() }),
            };
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
        Ok(())
    }
}

/// What has been set up: the last of each kind of work, since requests for one size come together.
struct Bench {
    threads: Threads,
    ready: HashMap<Discriminant<Asked>, (Asked, Box<dyn Work>)>,
}

impl Bench {
    fn answer(&mut self, line: &str) -> Result<Answer, Failure> {
        let Request { asked, seconds } = Request::read(line)?;
        let kind = discriminant(&asked);
        if self.ready.get(&kind).is_none_or(|(before, _)| *before != asked) {
            self.ready.remove(&kind);
            let mut work = asked.set_up(&self.threads)?;
            timing::warm_up(&mut *work)?;
            self.ready.insert(kind, (asked, work));
        }
        let (_, work) = self.ready.get_mut(&kind).expect("it has just been seen to be there");
        let ms = timing::best(&mut **work, seconds)?;
        Ok(Answer { ms, flops: work.flops(), peak_mb: memory::peak_mb(), value: work.value() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_and_mistakes_are_answered() {
        let mut bench = Bench { threads: Threads::new(1).expect("a thread"), ready: HashMap::new() };
        let sizes = r#""d": 2, "width": 4, "depth": 1, "steps": 2, "batch": 3, "seconds": 0"#;
        for work in ["update", "reverse-kl", "sample"] {
            let answer = bench.answer(&format!(r#"{{"work": "{work}", {sizes}}}"#)).expect(work);
            assert!(answer.ms > 0.0 && answer.flops > 0.0, "{work}: {answer:?}");
        }
        let answer = bench.answer(r#"{"work": "transport", "d": 2, "points": 16, "seconds": 0}"#);
        assert!(answer.expect("a distance").value.expect("a distance") > 0.0);
        for (line, words) in [
            (r#"{"work": "reverse-kl", "d": 3, "width": 4, "depth": 1, "steps": 2, "batch": 3}"#, "25GMM"),
            (r#"{"work": "update", "d": 2, "width": 0, "depth": 1, "steps": 2, "batch": 3}"#, "width is 0"),
            (r#"{"work": "transport", "d": 1}"#, "at least 2"),
            (r#"{"work": "transport", "d": 2, "points": 0}"#, "between 1 and"),
        ] {
            let error = bench.answer(line).map(|answer| answer.ms).expect_err(line).to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

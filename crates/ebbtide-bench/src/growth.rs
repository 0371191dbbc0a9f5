//! `ebbtide-bench growth`: how time and memory of an update grow with one size at a time.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use crate::case::{CASES, Case};
use crate::request::Answer;
use crate::{Failure, ThreadCount};

/// Updates of many sizes, each in a process of its own, so that its peak of memory is its own.
#[derive(Args)]
pub struct Growth {
    #[command(flatten)]
    threads: ThreadCount,
    /// How long to look for the best time of each
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    seconds: f64,
}

/// A size that is varied, all others those of the smallest case, and its values.
struct Axis {
    name: &'static str,
    values: &'static [usize],
    set: fn(&mut Case, usize),
}

const AXES: [Axis; 3] = [
    Axis { name: "steps", values: &[2, 5, 10, 20, 50, 100], set: |case, steps| case.steps = steps },
    Axis {
        name: "batch",
        values: &[64, 128, 256, 512, 1024, 2048, 4096, 8192],
        set: |case, batch| case.batch = batch,
    },
    Axis { name: "width", values: &[32, 64, 128, 256, 512, 1024], set: |case, width| case.width = width },
];

impl Growth {
    /// Measures and prints, a line as soon as it is known.
    pub fn run(&self) -> Result<(), Failure> {
        println!("axis,steps,batch,width,update_ms,peak_mb");
        for axis in AXES {
            for &value in axis.values {
                let mut case = CASES[0];
                (axis.set)(&mut case, value);
                let Answer { ms, peak_mb, .. } = self.apart(case)?;
                let peak = peak_mb.map_or(String::new(), |mb| format!("{mb:.1}"));
                println!("{},{},{},{},{ms:.4},{peak}", axis.name, case.steps, case.batch, case.width);
            }
        }
        Ok(())
    }

    /// Asks a child process, a worker that is given a single request.
    fn apart(&self, case: Case) -> Result<Answer, Failure> {
        let mut child = Command::new(env::current_exe()?)
            .args(["serve", "--threads", &self.threads.threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let Case { d, width, depth, steps, batch } = case;
        let request = json!({
            "work": "update", "d": d, "width": width, "depth": depth, "steps": steps, "batch": batch,
            "seconds": self.seconds,
        });
        // Dropped at the end of the statement, the pipe closes and the worker ends after its answer.
        writeln!(child.stdin.take().ok_or("the worker has no standard input")?, "{request}")?;
        let output = child.wait_with_output()?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("the worker for {request} ended without an answer"))?;
        match answer.get("error") {
            Some(error) => Err(format!("{request}: {error}").into()),
            None => Ok(serde_json::from_value(answer)?),
        }
    }
}

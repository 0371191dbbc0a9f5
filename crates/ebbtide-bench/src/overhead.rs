//! `ebbtide-bench overhead`: what it costs to keep a training in a folder.

use std::time::Instant;

use clap::Args;
use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::train::Trainer;
use ebbtide::trajectory::Threads;
use ebbtide_run::run::Run;
use ebbtide_run::settings::{Preset, Settings};
use ebbtide_run::{Event, Observer, Stop};

use crate::{Failure, ThreadCount};

/// The bare training loop and a kept run, in turn, evaluations aside; the best of each counts. What checkpoints take is measured on its own
/// and counted as often as a run writes them.
#[derive(Args)]
pub struct Overhead {
    #[command(flatten)]
    threads: ThreadCount,
    /// How many times each
    #[arg(long, value_name = "N", default_value_t = 10)]
    rounds: usize,
}

/// A training to keep: one whose iterations are so short that what is added shows, the paper's, and one whose state is large.
struct Case {
    name: &'static str,
    target: NamedTarget,
    iterations: u64,
    change: fn(&mut Settings),
}

const CASES: [Case; 3] = [
    Case {
        name: "the smallest there is",
        target: NamedTarget::Gmm25,
        iterations: 50_000,
        change: |settings| {
            settings.config.batch = 1;
            settings.config.network.width = 1;
            settings.config.replay.ratio = 0;
            settings.config.local_search = None;
        },
    },
    Case { name: "25gmm as in the paper", target: NamedTarget::Gmm25, iterations: 100, change: |_| () },
    Case {
        name: "a state of 80 MB",
        target: NamedTarget::Manywell,
        iterations: 12,
        // As much as the archive of a long training holds, in its first iteration.
        change: |settings| {
            if let Some(search) = &mut settings.config.local_search {
                (search.every, search.steps, search.burn_in) = (1_000_000, 2000, 0);
            }
        },
    },
];

impl Overhead {
    /// Measures and prints CSV, a line as soon as it is known.
    pub fn run(&self) -> Result<(), Failure> {
        let threads = self.threads.start()?;
        println!(
            "case,iterations,bare_s,kept_s,added_us,best_percent,median_percent,checkpoint_mb,checkpoint_s,checkpoint_percent"
        );
        for case in &CASES {
            let mut settings = Preset::Paper.settings(case.target, Some(Method::TbTb), 5);
            settings.config.iterations = case.iterations;
            settings.keeping.evaluate_every = 0;
            settings.keeping.samples = 16;
            (case.change)(&mut settings);
            let interval = settings.keeping.save_seconds;
            settings.keeping.save_seconds = 1e9;
            let (mut bare, mut kept, mut checkpoint) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
            let (mut ratios, mut bytes) = (Vec::new(), 0);
            for _ in 0..self.rounds.max(1) {
                let alone = loop_alone(&settings, &threads)?;
                let watch = kept_run(&settings, &threads)?;
                ratios.push(watch.seconds / alone);
                (bare, kept) = (bare.min(alone), kept.min(watch.seconds));
                (checkpoint, bytes) = (checkpoint.min(watch.checkpoint), watch.bytes);
            }
            ratios.sort_by(f64::total_cmp);
            let percent = |ratio: f64| 100.0 * (ratio - 1.0);
            let (best, median) = (percent(kept / bare), percent(ratios[ratios.len() / 2]));
            let added = 1e6 * (kept - bare) / case.iterations as f64;
            // From one to the next it takes a run its interval, or a hundred times as long as the writing.
            let saving = 100.0 * checkpoint / interval.max(100.0 * checkpoint);
            let (name, iterations, megabytes) = (case.name, case.iterations, bytes as f64 / 1e6);
            println!(
                "{name},{iterations},{bare:.4},{kept:.4},{added:.2},{best:.2},{median:.2},{megabytes:.1},{checkpoint:.4},{saving:.2}"
            );
        }
        Ok(())
    }
}

/// Seconds of all iterations but the first, which fills the archive.
fn loop_alone(settings: &Settings, threads: &Threads) -> Result<f64, Failure> {
    let mut trainer = Trainer::new(settings.validate()?, threads);
    trainer.step()?;
    let begun = Instant::now();
    while !trainer.is_finished() {
        trainer.step()?;
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// The same of a run in a folder, and what its one checkpoint takes, at the end.
fn kept_run(settings: &Settings, threads: &Threads) -> Result<Watch, Failure> {
    let folder = tempfile::tempdir()?;
    let mut watch = Watch::default();
    Run::begin(folder.path(), settings.clone(), threads)?.go(&Stop::new(), &mut watch)?;
    Ok(watch)
}

/// Watches the clock.
#[derive(Default)]
struct Watch {
    iterations: u64,
    begun: Option<Instant>,
    ended: Option<Instant>,
    seconds: f64,
    checkpoint: f64,
    bytes: u64,
}

impl Observer for Watch {
    fn notice(&mut self, event: Event) {
        let since = |moment: Option<Instant>| moment.map_or(0.0, |moment| moment.elapsed().as_secs_f64());
        match event {
            Event::Begun { iterations, .. } => self.iterations = iterations,
            Event::Stepped(report) if report.iteration == 1 => self.begun = Some(Instant::now()),
            Event::Stepped(report) if report.iteration == self.iterations => {
                self.seconds = since(self.begun);
                self.ended = Some(Instant::now());
            }
            Event::Saved { path, .. } => {
                self.checkpoint = since(self.ended);
                self.bytes = path.metadata().map_or(0, |file| file.len());
            }
            _ => {}
        }
    }
}

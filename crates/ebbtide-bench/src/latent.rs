//! `ebbtide-bench latent`: how the time of a training iteration is split between networks and sampler.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use ebbtide::target::{Target, TargetError};
use ebbtide::train::Trainer;
use ebbtide_run::settings::{Draft, Strictness};

use crate::{Failure, ThreadCount};

/// Iterations of a training whose density is made of networks, by each engine in turn, round after round; the best round of each counts.
#[derive(Args)]
pub struct Latent {
    /// Configurations, as for `ebbtide train --config`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Engines to compare
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "tract")]
    engines: Vec<String>,
    #[command(flatten)]
    threads: ThreadCount,
    /// Iterations of a round
    #[arg(long, value_name = "N", default_value_t = 100)]
    iterations: u64,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
}

/// A target that notes how long it takes to answer.
struct Timed {
    inner: Arc<dyn Target>,
    nanoseconds: AtomicU64,
    points: AtomicU64,
}

impl Target for Timed {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        let begun = Instant::now();
        let answer = self.inner.log_density(points, out);
        self.nanoseconds.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.points.fetch_add(out.len() as u64, Ordering::Relaxed);
        answer
    }
}

/// What a round took.
#[derive(Clone, Copy)]
struct Split {
    iteration: f64,
    energy: f64,
    points: f64,
}

impl Latent {
    /// Measures and prints CSV.
    pub fn run(&self) -> Result<(), Failure> {
        let threads = self.threads.start()?;
        println!(
            "file,engine,threads,batch,width,iteration_ms,energy_ms,sampler_percent,energies_per_second"
        );
        for file in &self.files {
            let mut trainings = Vec::new();
            for engine in &self.engines {
                let mut draft = Draft::new();
                draft.document(&file.display().to_string(), &fs::read_to_string(file)?);
                draft.flag("--engines", "latent.engine", engine);
                let settings = draft.resolve(Strictness::Lenient)?;
                settings.target.employ(threads.count());
                let (nanoseconds, points) = (AtomicU64::new(0), AtomicU64::new(0));
                let timed = Arc::new(Timed { inner: settings.built_target(), nanoseconds, points });
                let valid = settings.config.validate(Arc::clone(&timed) as Arc<dyn Target>)?;
                let mut trainer = Trainer::new(valid, &threads);
                // Until replay has something to replay.
                (0..20).try_for_each(|_| trainer.step().map(drop))?;
                trainings.push((engine, settings, timed, trainer, Vec::new()));
            }
            for _ in 0..self.rounds.max(1) {
                for (_, _, timed, trainer, splits) in &mut trainings {
                    timed.nanoseconds.store(0, Ordering::Relaxed);
                    timed.points.store(0, Ordering::Relaxed);
                    let begun = Instant::now();
                    (0..self.iterations).try_for_each(|_| trainer.step().map(drop))?;
                    let each = |total: f64| total / self.iterations as f64;
                    splits.push(Split {
                        iteration: each(begun.elapsed().as_secs_f64()),
                        energy: each(timed.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9),
                        points: each(timed.points.load(Ordering::Relaxed) as f64),
                    });
                }
            }
            for (engine, settings, _, _, splits) in trainings {
                let best = splits.into_iter().min_by(|a, b| a.iteration.total_cmp(&b.iteration));
                let Split { iteration, energy, points } = best.expect("at least one round");
                println!(
                    "{},{engine},{},{},{},{:.3},{:.3},{:.1},{:.0}",
                    file.display(),
                    threads.count(),
                    settings.config.batch,
                    settings.config.network.width,
                    1e3 * iteration,
                    1e3 * energy,
                    100.0 * (1.0 - energy / iteration),
                    points / energy
                );
            }
        }
        Ok(())
    }
}

//! `ebbtide sample`: draws from a trained sampler into a file or a pipe.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ebbtide::metric::log_weights;
use ebbtide::stream::{Address, Purpose};
use ebbtide::trajectory::{Threads, Trajectories};
use ebbtide::weighted::{independence_chain, resample};
use ebbtide_run::export::{Export, Format, Shape};
use ebbtide_run::number::thousands;
use ebbtide_run::trained::{Trained, Which};

use crate::failure::{Failure, say};
use crate::find::meant;
use crate::interrupt::{INTERRUPTED, Interrupt};
use crate::parse;

/// What to draw, and where to.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Sample {
    /// The run's folder, or its name (the date may be left out)
    run: PathBuf,
    /// How many samples
    #[arg(short = 'n', long, value_name = "N", default_value = "1000", value_parser = parse::count, allow_negative_numbers = true)]
    count: usize,
    /// The file: .npy, .csv or .parquet; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// npy, csv or parquet, where the file's name does not tell [default: csv]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["npy", "csv", "parquet"]).try_map(|name| name.parse::<Format>()), hide_possible_values = true)]
    format: Option<Format>,
    /// With importance weights: log w = log density + log p← − log p→ of the trajectory
    #[arg(long)]
    weights: bool,
    /// Chosen by importance weight among four times as many: exact as N grows
    #[arg(long, conflicts_with_all = ["weights", "trajectories", "chain"])]
    resample: bool,
    /// A Markov chain that goes along with samples or stays (independence Metropolis): exact as N grows
    #[arg(long, conflicts_with_all = ["weights", "trajectories"])]
    chain: bool,
    /// Whole paths from the origin to the sample, both included
    #[arg(long)]
    trajectories: bool,
    /// Seed of the draws; more samples of the same seed begin with the same ones
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Weights of the newest checkpoint (last) or of the best evaluation (best)
    #[arg(long, value_name = "WHICH", default_value = "last", value_parser = parse::which(), hide_possible_values = true)]
    checkpoint: Which,
    /// Threads; 0 takes all cores. How many never changes the samples
    #[arg(long, value_name = "K", default_value_t = 0)]
    threads: usize,
}

const HELP: &str = "\
Normalised, the weights exp(log w) make expectations under the target consistent, and their mean is an estimate of Z.
In npy files weights and samples are fields of one array: a[\"x\"], a[\"log_weight\"]. Trajectories are (N, T + 1, d) there; csv and
parquet have a row for each state, with its time.
Where the sampler reaches all of the target, --resample and --chain draw from it exactly as N grows; they repeat samples of large weight.

Examples:
  ebbtide sample runs/2026-11-16-25gmm-tb-tb-T5-s0 -n 100000 -o samples.npy
  ebbtide sample runs/2026-11-16-25gmm-tb-tb-T5-s0 -n 10000 --weights -o samples.parquet
  ebbtide sample runs/2026-11-16-25gmm-tb-tb-T5-s0 -n 10000 --resample -o exact.npy
  ebbtide sample runs/2026-11-16-25gmm-tb-tb-T5-s0 -n 5 --trajectories";

/// Samples that one is chosen from.
const PROPOSALS: usize = 4;

/// Numbers of a portion: what is in memory at once.
const PORTION: usize = 1 << 22;

impl Sample {
    /// Draws, portion by portion.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let mut trained =
            Trained::open(&meant(&self.run, runs)?, self.checkpoint, &Threads::new(self.threads)?)?;
        trained.remarks.iter().for_each(|remark| say(remark));
        if self.resample || self.chain {
            return self.chosen(&mut trained);
        }
        let model = trained.sampler.model();
        let (dim, path) = (model.dim(), model.dim() * model.steps());
        let times = self.trajectories.then(|| model.grid.times().to_vec());
        let interrupt = Interrupt::silent()?;
        let mut export = self.open(Shape { dim, weights: self.weights, times })?;
        let most = (PORTION / path).max(1);
        let (mut states, mut first) = (Vec::new(), 0);
        while first < self.count {
            if interrupt.stop().asked() {
                // What is not whole does not appear.
                return Ok(ExitCode::from(INTERRUPTED));
            }
            let count = most.min(self.count - first);
            let trajectories = trained.sampler.portion(first, count, self.seed);
            let weights = match self.weights {
                true => Some(log_weights(&*trained.target, &mut trained.sampler, &trajectories)?),
                false => None,
            };
            if self.trajectories {
                with_origins(&trajectories, &mut states);
            } else {
                trajectories.copy_ends(&mut states);
            }
            trained.settings.placing.apply(&mut states);
            export.write(&states, weights.as_deref())?;
            first += count;
        }
        export.finish()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Draws, and writes those that their weights choose.
    fn chosen(&self, trained: &mut Trained) -> Result<ExitCode, Failure> {
        let model = trained.sampler.model();
        let (dim, path) = (model.dim(), model.dim() * model.steps());
        let interrupt = Interrupt::silent()?;
        let mut export = self.open(Shape { dim, weights: false, times: None })?;
        let all = if self.chain { self.count } else { self.count.saturating_mul(PROPOSALS) };
        let most = (PORTION / path).max(1);
        let (mut ends, mut portion, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        while weights.len() < all {
            if interrupt.stop().asked() {
                return Ok(ExitCode::from(INTERRUPTED));
            }
            let trajectories =
                trained.sampler.portion(weights.len(), most.min(all - weights.len()), self.seed);
            weights.extend(log_weights(&*trained.target, &mut trained.sampler, &trajectories)?);
            trajectories.copy_ends(&mut portion);
            ends.extend_from_slice(&portion);
        }
        let address = Address::new(self.seed, Purpose::Resample, 0);
        let chosen = match self.chain {
            true => independence_chain(&weights, address).map(|chain| {
                let share = 100.0 * chain.accepted as f64 / all as f64;
                say(&format!("{share:.1} % of the proposals were accepted"));
                chain.states
            }),
            false => resample(&weights, self.count, address),
        };
        let chosen = chosen.ok_or(Failure::Weightless)?;
        let mut points = Vec::with_capacity(chosen.len() * dim);
        for place in &chosen {
            points.extend_from_slice(&ends[place * dim..][..dim]);
        }
        trained.settings.placing.apply(&mut points);
        let mut distinct = chosen;
        distinct.sort_unstable();
        distinct.dedup();
        say(&format!(
            "{} different samples among {}",
            thousands(distinct.len() as u64),
            thousands(self.count as u64)
        ));
        export.write(&points, None)?;
        export.finish()?;
        Ok(ExitCode::SUCCESS)
    }

    fn open(&self, shape: Shape) -> Result<Export, Failure> {
        if self.output == Path::new("-") {
            let format = self.format.unwrap_or(Format::Csv);
            return Ok(Export::to_writer(Box::new(io::stdout()), format, shape, self.count)?);
        }
        let told = Format::of_path(&self.output);
        if let (Some(told), Some(format)) = (told, self.format)
            && told != format
        {
            let path = self.output.display();
            return Err(Failure::Usage(format!("the name {path} says {told}, and --format says {format}")));
        }
        let format = self.format.or(told).ok_or_else(|| {
            let path = self.output.display();
            Failure::Usage(format!(
                "the name {path} does not tell a format: end it in .npy, .csv or .parquet, or give --format"
            ))
        })?;
        Ok(Export::to_file(&self.output, format, shape, self.count)?)
    }
}

/// Whole paths, each beginning at the origin.
fn with_origins(trajectories: &Trajectories, states: &mut Vec<f32>) {
    states.clear();
    for path in trajectories.states().chunks_exact(trajectories.path_len()) {
        states.extend(std::iter::repeat_n(0.0, trajectories.dim()));
        states.extend_from_slice(path);
    }
}

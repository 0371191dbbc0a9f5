//! `ebbtide sample`: draws from a trained sampler into a file or a pipe.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ebbtide::metric::log_weights;
use ebbtide::trajectory::Threads;
use ebbtide_run::draws::Choice;
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

impl Sample {
    /// Draws, portion by portion.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let mut trained =
            Trained::open(&meant(&self.run, runs)?, self.checkpoint, &Threads::new(self.threads)?)?;
        trained.remarks.iter().for_each(|remark| say(remark));
        match (self.resample, self.chain) {
            (true, _) => return self.chosen(Choice::Resample, &mut trained),
            (_, true) => return self.chosen(Choice::Chain, &mut trained),
            (false, false) => {}
        }
        let (model, most) = (trained.sampler.model(), trained.portion());
        let dim = model.dim();
        let times = self.trajectories.then(|| model.grid.times().to_vec());
        let interrupt = Interrupt::silent()?;
        let mut export = self.open(Shape { dim, weights: self.weights, times })?;
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
                trajectories.copy_with_origins(&mut states);
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
    fn chosen(&self, choice: Choice, trained: &mut Trained) -> Result<ExitCode, Failure> {
        let interrupt = Interrupt::silent()?;
        let dim = trained.sampler.model().dim();
        let mut export = self.open(Shape { dim, weights: false, times: None })?;
        let all = choice.proposals(self.count);
        let Some(proposals) = trained.weighted(all, self.seed, interrupt.stop())? else {
            return Ok(ExitCode::from(INTERRUPTED));
        };
        let chosen = choice.among(&proposals, self.count, self.seed)?;
        if let Some(acceptance) = chosen.acceptance {
            say(&format!("{:.1} % of the proposals were accepted", 100.0 * acceptance));
        }
        let count = |number: usize| thousands(number as u64);
        say(&format!("{} different samples among {}", count(chosen.distinct), count(self.count)));
        export.write(&chosen.points, None)?;
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

//! Measures how far verdicts can be trusted.
//!
//!     cargo run --release -p ebbtide-run --example calibrate -- measure runs/paper runs/calibration-short > cases.jsonl
//!     cargo run --release -p ebbtide-run --example calibrate -- count cases.jsonl
//!
//! `measure` writes a line for the last and the best weights of every run that ended; `count` tells how often each verdict is right, by the rules of today.

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::{env, fs};

use ebbtide::trajectory::Threads;
use ebbtide_run::calibration::{Case, Tally};
use ebbtide_run::compare::gather;
use ebbtide_run::reading::Sight;
use ebbtide_run::trained::{Trained, Which};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.split_first() {
        Some((verb, places)) if verb == "measure" && !places.is_empty() => measure(places),
        Some((verb, [file])) if verb == "count" => count(&fs::read_to_string(file)?),
        _ => Err("either `measure RUNS…` or `count CASES`".into()),
    }
}

fn measure(places: &[String]) -> Result<(), Box<dyn Error>> {
    let threads = Threads::new(1)?;
    let places: Vec<PathBuf> = places.iter().map(PathBuf::from).collect();
    let mut known = HashSet::new();
    let mut out = io::stdout().lock();
    for run in gather(&places).found.into_iter().filter(|run| run.outcome.is_some()) {
        for (which, checkpoint) in [(Which::Last, "last"), (Which::Best, "best")] {
            let case = Trained::open(&run.folder, which, &threads)
                .map_err(Box::<dyn Error>::from)
                .and_then(|mut trained| Ok(Case::measure(&mut trained, checkpoint)?));
            match case {
                // The same weights have the same figures, wherever they are found.
                Ok(Some(case)) => {
                    if known.insert(case.outcome.figures.map(|figures| figures.elbo.to_bits())) {
                        serde_json::to_writer(&mut out, &case)?;
                        writeln!(out)?;
                    }
                }
                Ok(None) => {}
                Err(error) => eprintln!("{} ({checkpoint}) is left out: {error}", run.folder.display()),
            }
        }
    }
    Ok(())
}

fn count(text: &str) -> Result<(), Box<dyn Error>> {
    let cases = text.lines().map(serde_json::from_str).collect::<Result<Vec<Case>, _>>()?;
    println!("With exact draws, modes and log Z:\n\n{}", Tally::of(&cases, Sight::Target));
    println!("With the density alone:\n\n{}", Tally::of(&cases, Sight::Samples));
    let searched = cases.iter().filter(|case| case.outcome.searched == Some(true));
    println!("With the density alone, where training searched:\n\n{}", Tally::of(searched, Sight::Samples));
    Ok(())
}

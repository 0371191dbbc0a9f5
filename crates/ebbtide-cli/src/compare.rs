//! `ebbtide compare`: runs side by side, mean ± deviation over seeds.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ebbtide_run::compare::{Found, Gathered, Group, Mean, gather, group};
use ebbtide_run::run::RunError;
use ebbtide_run::{Outcome, Status};

use crate::failure::Failure;
use crate::find::places;

/// Which runs.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Compare {
    /// Run folders or their names, or folders of run folders
    #[arg(required = true, value_name = "RUN")]
    names: Vec<PathBuf>,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = Form::Text, value_name = "FORM")]
    form: Form,
    /// The same as `--form json`: one line for each group
    #[arg(long, conflicts_with = "form")]
    json: bool,
}

/// How a table is written.
#[derive(Clone, Copy, ValueEnum)]
pub enum Form {
    /// Columns, for people
    Text,
    /// For documents
    Markdown,
    /// For spreadsheets; mean and deviation are columns of their own
    Csv,
    /// One object on a line for each group
    Json,
}

const HELP: &str = "\
Runs are grouped by target, method and number of steps. Means are over runs that finished; those that diverged are
counted and never left out of the count.

Examples:
  ebbtide compare runs/
  ebbtide compare runs/2026-11-16-25gmm-* --form markdown";

impl Compare {
    /// Prints a row for each group.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let places = places(&self.names, runs)?;
        let Gathered { found, unreadable } = gather(&places);
        let groups = group(&found);
        let form = if self.json { Form::Json } else { self.form };
        if !groups.is_empty() {
            write_groups(&mut io::stdout().lock(), &groups, form)?;
        }
        tell_unreadable(unreadable)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Says of each run why it is not in the table.
pub fn tell_unreadable(unreadable: Vec<RunError>) -> Result<(), Failure> {
    let count = unreadable.len();
    match <[RunError; 1]>::try_from(unreadable) {
        Ok([error]) => Err(error.into()),
        Err(none) if none.is_empty() => Ok(()),
        Err(several) => {
            several.into_iter().for_each(|error| Failure::from(error).tell());
            Err(Failure::Unreadable(count))
        }
    }
}

/// Writes groups as a table.
pub fn write_groups(out: &mut dyn Write, groups: &[Group], form: Form) -> io::Result<()> {
    match form {
        Form::Json => {
            for group in groups {
                writeln!(out, "{}", serde_json::to_string(group)?)?;
            }
            Ok(())
        }
        Form::Csv => csv(out, groups),
        Form::Text => text(out, groups),
        Form::Markdown => markdown(out, groups),
    }
}

const HEADINGS: [&str; 11] =
    ["target", "method", "T", "finished", "diverged", "ELBO", "EUBO", "log Z", "ESS %", "W2", "seconds"];

/// Columns that hold words, and stand to the left.
const WORDS: usize = 2;

fn cells(group: &Group) -> [String; 11] {
    let runs = match group.unfinished {
        0 => group.seeds.len().to_string(),
        more => format!("{} (+{more} unfinished)", group.seeds.len()),
    };
    [
        group.target.clone(),
        group.method.clone(),
        group.steps.to_string(),
        runs,
        group.diverged.to_string(),
        estimate(group.elbo, 3),
        estimate(group.eubo, 3),
        estimate(group.log_z, 3),
        estimate(group.ess.map(Mean::percent), 1),
        estimate(group.w2, 3),
        estimate(group.seconds, 0),
    ]
}

fn estimate(mean: Option<Mean>, decimals: usize) -> String {
    match mean {
        None => "–".to_owned(),
        Some(Mean { mean, deviation: None, .. }) => format!("{mean:.decimals$}"),
        Some(Mean { mean, deviation: Some(deviation), .. }) => {
            format!("{mean:.decimals$} ± {deviation:.decimals$}")
        }
    }
}

fn text(out: &mut dyn Write, groups: &[Group]) -> io::Result<()> {
    let rows: Vec<[String; 11]> = groups.iter().map(cells).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEADINGS[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; 11] = std::array::from_fn(width);
    let mut line = |cells: &[String; 11]| {
        let padded =
            cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column < WORDS {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
        writeln!(out, "{}", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    line(&HEADINGS.map(str::to_owned))?;
    rows.iter().try_for_each(&mut line)?;
    notes(out, groups, "")
}

fn markdown(out: &mut dyn Write, groups: &[Group]) -> io::Result<()> {
    writeln!(out, "| {} |", HEADINGS.join(" | "))?;
    let rules: Vec<&str> =
        (0..HEADINGS.len()).map(|column| if column < WORDS { "---" } else { "---:" }).collect();
    writeln!(out, "|{}|", rules.join("|"))?;
    for group in groups {
        writeln!(out, "| {} |", cells(group).join(" | "))?;
    }
    if groups.iter().any(|group| !group.notes.is_empty()) {
        writeln!(out)?;
    }
    notes(out, groups, "- ")
}

fn notes(out: &mut dyn Write, groups: &[Group], bullet: &str) -> io::Result<()> {
    for group in groups {
        for note in &group.notes {
            writeln!(out, "{bullet}{} {} T = {}: {note}", group.target, group.method, group.steps)?;
        }
    }
    Ok(())
}

fn csv(out: &mut dyn Write, groups: &[Group]) -> io::Result<()> {
    let figures = ["elbo", "eubo", "log_z", "ess", "w2", "w2_floor", "modes", "seconds"];
    let columns: Vec<String> = figures.iter().map(|name| format!("{name},{name}_std")).collect();
    writeln!(out, "target,method,steps,finished,diverged,unfinished,{}", columns.join(","))?;
    for group in groups {
        let Group { target, method, steps, seeds, diverged, unfinished, .. } = group;
        write!(out, "{target},{method},{steps},{},{diverged},{unfinished}", seeds.len())?;
        let means = [
            group.elbo,
            group.eubo,
            group.log_z,
            group.ess,
            group.w2,
            group.w2_floor,
            group.modes,
            group.seconds,
        ];
        for mean in means {
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let deviation = mean.and_then(|mean| mean.deviation);
            write!(out, ",{},{}", number(mean.map(|mean| mean.mean)), number(deviation))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes a line for each run.
pub fn write_runs(out: &mut dyn Write, found: &[Found]) -> io::Result<()> {
    writeln!(
        out,
        "target,method,steps,seed,status,iterations,seconds,elbo,eubo,log_z,ess,w2,w2_floor,modes,folder"
    )?;
    for Found { folder, settings, outcome } in found {
        let (target, method, steps) = (&settings.target, settings.method_name(), settings.steps());
        write!(out, "{target},{method},{steps},{}", settings.config.seed)?;
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        let figures = outcome.as_ref().and_then(|outcome| outcome.figures);
        let of = |value: fn(&Outcome) -> Option<f64>| number(outcome.as_ref().and_then(value));
        let status = match outcome.as_ref().map(|outcome| &outcome.status) {
            Some(Status::Finished) => "finished",
            Some(Status::Diverged { .. }) => "diverged",
            Some(Status::Interrupted) | None => "unfinished",
        };
        let iterations = outcome.as_ref().map_or_else(String::new, |outcome| outcome.iterations.to_string());
        write!(out, ",{status},{iterations},{}", of(|outcome| outcome.seconds))?;
        write!(out, ",{},{}", number(figures.map(|f| f.elbo)), number(figures.and_then(|f| f.eubo)))?;
        write!(out, ",{},{}", number(figures.map(|f| f.log_z)), number(figures.map(|f| f.ess)))?;
        let modes = of(|outcome| outcome.modes.map(|(reached, _)| reached as f64));
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        writeln!(out, ",{},{},{modes},{name}", of(|outcome| outcome.w2), of(|outcome| outcome.w2_floor))?;
    }
    Ok(())
}

//! `ebbtide paper list`: what there is to reproduce.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use ebbtide_paper::{FIGURES, Paper, Results, Row};

use super::Place;
use crate::failure::Failure;

/// Nothing but where to look.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct List {
    #[command(flatten)]
    place: Place,
}

/// Seeds of each row, as in the paper.
const SEEDS: u64 = 3;

const HELP: &str = "\
Cells are published figures; runs are those that are there, of those that three seeds ask for. A figure is drawn from rows of
the tables.

Example:
  ebbtide paper list";

impl List {
    /// Prints a line for each.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let paper = Paper::new();
        let results = self.place.read(&paper);
        let mut lines =
            vec![["name", "cells", "runs", "in the paper", "to train what is missing"].map(str::to_owned)];
        for table in &paper.tables {
            let rows: Vec<&Row> = table.rows.iter().collect();
            lines.push(line(table.name, table.title(), &rows, table.cells(), &paper, &results));
        }
        for figure in FIGURES {
            let rows: Vec<&Row> = paper.rows().filter(|row| figure.has(row)).collect();
            let cells = figure.cells(paper.rows());
            lines.push(line(figure.name, figure.title(), &rows, cells, &paper, &results));
        }
        print(&mut io::stdout().lock(), &lines)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn line(
    name: &str,
    title: String,
    rows: &[&Row],
    cells: usize,
    paper: &Paper,
    results: &Results,
) -> [String; 5] {
    let has = |row: &Row, seed: u64| results.has(row, seed, paper.settings(row, seed).config.iterations);
    let done: usize = rows.iter().map(|row| (0..SEEDS).filter(|seed| has(row, *seed)).count()).sum();
    let asked = rows.len() * SEEDS as usize;
    let command = match rows.is_empty() {
        true => "ebbtide paper show --into DIR draws it".to_owned(),
        false => format!("ebbtide paper run {name}"),
    };
    [name.to_owned(), cells.to_string(), format!("{done}/{asked}"), title, command]
}

/// Columns as wide as they need to be; numbers stand to the right.
fn print(out: &mut dyn Write, lines: &[[String; 5]]) -> io::Result<()> {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    for line in lines {
        let cells = line.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            1 | 2 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

//! Tables as text: for a terminal, for documents, for spreadsheets and for programs.
//!
//! ```
//! use ebbtide_paper::write::{Form, write};
//! use ebbtide_paper::{Paper, Results, Selection, block::sections};
//!
//! let paper = Paper::new();
//! let wells = Selection { names: vec!["manywell".to_owned()], ..Selection::default() };
//! let sections = sections(&paper, &Results::default(), &wells.rows(&paper)?);
//! let written = |form: Form| {
//!     let mut text = Vec::new();
//!     write(&mut text, &sections, form).map(|()| String::from_utf8_lossy(&text).into_owned())
//! };
//! // A heading, and a line for each of 72 figures.
//! assert_eq!(written(Form::Csv)?.lines().count(), 1 + 72);
//! assert!(written(Form::Markdown)?.contains("| tb-tb | · (−2.22 ± 0.05) |"));
//! assert!(written(Form::Text)?.ends_with("reproduced 0, better 0, worse 0, diverged 0, not run 72\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Write};

use serde_json::Value;

use crate::amount::with_deviation;
use crate::block::{Block, Line, Section, cells, summary};
use crate::published::Published;
use crate::{Cell, Verdict};

/// How tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Columns, for people.
    Text,
    /// For documents.
    Markdown,
    /// For spreadsheets: a line for each cell.
    Csv,
    /// For programs: a list of cells.
    Json,
}

/// Writes sections in a form.
pub fn write(out: &mut dyn Write, sections: &[Section], form: Form) -> io::Result<()> {
    match form {
        Form::Text => text(out, sections),
        Form::Markdown => markdown(out, sections),
        Form::Csv => csv(out, sections),
        Form::Json => {
            serde_json::to_writer_pretty(&mut *out, &cells(sections).collect::<Vec<_>>())?;
            writeln!(out)
        }
    }
}

/// Our figure, with a space on both sides of ± or not.
pub(crate) fn ours(cell: &Cell, between: &str) -> String {
    match cell.ours {
        Some(ours) => with_deviation(ours.mean, ours.deviation, between),
        None if cell.seeds > 0 => "–".to_owned(),
        None => cell.verdict.name().to_owned(),
    }
}

/// The published figure.
pub(crate) fn published(cell: &Cell, between: &str) -> String {
    match cell.published() {
        Published::Figure(figure) => with_deviation(figure.mean, Some(figure.deviation), between),
        Published::Diverged => "diverged".to_owned(),
    }
}

/// What is to be said below a block.
pub(crate) fn remarks(block: &Block) -> impl Iterator<Item = String> {
    floor(block).into_iter().chain(block.notes()).chain(block.remark.map(str::to_owned))
}

/// What exact draws have.
fn floor(block: &Block) -> Option<String> {
    let (theirs, ours) = block.floor?;
    let theirs = with_deviation(theirs.mean, Some(theirs.deviation), " ± ");
    let ours = ours.map(|ours| with_deviation(ours.mean, ours.deviation, " ± "));
    Some(match ours {
        Some(ours) => format!("exact draws against exact draws: {ours} (published {theirs})"),
        None => format!("exact draws against exact draws: published {theirs}"),
    })
}

fn text(out: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    for section in sections {
        writeln!(out, "{}: {}\n", section.table.name, section.table.title())?;
        for block in &section.blocks {
            text_block(out, block)?;
        }
    }
    writeln!(out, "ours, and below it (published); {}", Verdict::legend())?;
    writeln!(out, "{}", summary(sections))
}

fn text_block(out: &mut dyn Write, block: &Block) -> io::Result<()> {
    writeln!(out, "  {}", block.heading)?;
    let rows: Vec<(String, [Vec<String>; 2])> = block.lines.iter().map(text_lines).collect();
    let label = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    // A place beyond the numbers is for marks and parentheses.
    let headings: Vec<String> = block.columns.iter().map(|heading| format!("{heading} ")).collect();
    let width = |column: usize| {
        let own = rows.iter().flat_map(|(_, lines)| lines).filter_map(|line| line.get(column));
        own.chain([&headings[column]]).map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let mut line = |first: &str, texts: &[String]| {
        let joined: String =
            texts.iter().zip(&widths).map(|(text, width)| format!(" {text:>width$}")).collect();
        writeln!(out, "{}", format!("  {first:<label$}{joined}").trim_end())
    };
    line("", &headings)?;
    for (label, [first, second]) in &rows {
        line(label, first)?;
        if !second.is_empty() {
            line("", second)?;
        }
    }
    for note in remarks(block) {
        wrapped(out, &note)?;
    }
    writeln!(out)
}

/// Ours and the published ones below; where nothing was run, the published ones alone and one mark for all.
fn text_lines((label, cells): &Line) -> (String, [Vec<String>; 2]) {
    let each = |of: &dyn Fn(&Cell) -> String| -> Vec<String> {
        cells.iter().map(|cell| cell.as_ref().map_or_else(String::new, of)).collect()
    };
    let below = each(&|cell| format!("({})", published(cell, "±")));
    if cells.iter().flatten().all(|cell| cell.verdict == Verdict::NotRun) {
        return (format!("{label} {}", Verdict::NotRun.mark()), [below, Vec::new()]);
    }
    let above = each(&|cell| match cell.verdict {
        Verdict::NotRun | Verdict::Diverged => cell.verdict.mark().to_string(),
        verdict => format!("{}{}", ours(cell, "±"), verdict.mark()),
    });
    (label.clone(), [above, below])
}

/// As wide as a note may be.
const WIDTH: usize = 112;

fn wrapped(out: &mut dyn Write, note: &str) -> io::Result<()> {
    let mut line = String::new();
    for word in note.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "    {line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "    {line}")
}

/// Tables for documents, without a heading of their own.
pub(crate) fn markdown_section(out: &mut dyn Write, section: &Section) -> io::Result<()> {
    for block in &section.blocks {
        writeln!(out, "\n**{}**\n", block.heading)?;
        writeln!(out, "| | {} |", block.columns.join(" | "))?;
        writeln!(out, "|---|{}", "--:|".repeat(block.columns.len()))?;
        for (label, cells) in &block.lines {
            let texts: Vec<String> =
                cells.iter().map(|cell| cell.as_ref().map_or_else(String::new, markdown_cell)).collect();
            writeln!(out, "| {label} | {} |", texts.join(" | "))?;
        }
        for (i, note) in remarks(block).enumerate() {
            let above = if i == 0 { "\n" } else { "" };
            writeln!(out, "{above}- {note}")?;
        }
    }
    Ok(())
}

fn markdown_cell(cell: &Cell) -> String {
    match cell.verdict {
        Verdict::NotRun => format!("{} ({})", cell.verdict.mark(), published(cell, " ± ")),
        verdict => format!("**{}** {}<br>({})", ours(cell, " ± "), verdict.mark(), published(cell, " ± ")),
    }
}

fn markdown(out: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    for section in sections {
        writeln!(out, "## {}", section.table.title())?;
        markdown_section(out, section)?;
        writeln!(out)?;
    }
    writeln!(out, "Ours, and (published); {}.", Verdict::legend().replace("  ", ", "))?;
    writeln!(out, "\n{}", summary(sections))
}

fn csv(out: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for (i, cell) in cells(sections).enumerate() {
        let fields = cell.fields();
        if i == 0 {
            writer.write_record(fields.iter().map(|(name, _)| name))?;
        }
        writer.write_record(fields.iter().map(|(_, value)| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }))?;
    }
    writer.flush()
}

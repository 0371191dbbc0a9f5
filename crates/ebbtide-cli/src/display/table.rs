//! The live table: a header and a line for each run, never wider than the terminal.

use console::{measure_text_width, style, truncate_str};

use super::column::{Cell, Column, Tone};
use super::row::{Phase, View};
use crate::words::{printable, shorten};

/// Blanks between columns.
const GAP: usize = 2;

/// The room for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Columns of the terminal.
    pub columns: usize,
    /// Its lines; `None` if the table may be as long as it likes.
    pub lines: Option<usize>,
}

/// The table's lines, without trailing blanks or line ends. They leave the last column free, where terminals
/// disagree on what a full line does.
pub fn table(views: &[View], room: Room, colour: bool) -> Vec<String> {
    let width = room.columns.saturating_sub(1);
    let several = views.len() > 1;
    // Lines that are not rows: header, heading, that of the cursor; and the summary, should it be needed.
    let others = if several { 2 } else { 3 };
    let fits = room.lines.is_none_or(|lines| views.len() + others <= lines);
    let shown: Vec<&View> = if fits {
        views.iter().collect()
    } else {
        let most = room.lines.unwrap_or(usize::MAX).saturating_sub(others + 1).max(1);
        views.iter().filter(|view| view.phase.is_active()).take(most).collect()
    };
    let mut lines = Vec::with_capacity(shown.len() + 2);
    if let (false, Some(view)) = (several, views.first()) {
        lines.push(heading(view, width, colour));
    }
    lines.extend(body(&shown, several, width, colour));
    if !fits && shown.len() < views.len() {
        lines.push(summary(views, &shown, colour));
    }
    lines.truncate(room.lines.map_or(usize::MAX, |lines| lines.saturating_sub(1)));
    for line in &mut lines {
        if measure_text_width(line) > width {
            *line = truncate_str(line, width, if width > 0 { "…" } else { "" }).into_owned();
        }
    }
    lines
}

/// The header and the rows.
fn body(views: &[&View], several: bool, width: usize, colour: bool) -> Vec<String> {
    let mut cells: Vec<(Column, Vec<Cell>)> = Vec::new();
    for column in Column::ALL {
        if (column == Column::Name && !several) || column.is_pointless(views) {
            continue;
        }
        let mut column_cells = vec![Cell::new(column.header(), Tone::Faint)];
        column_cells.extend(views.iter().map(|view| column.cell(view)));
        if column == Column::Name {
            for cell in &mut column_cells {
                cell.text = shorten(&cell.text, (2 * width / 5).max(8));
            }
        }
        cells.push((column, column_cells));
    }
    let mut widths: Vec<usize> = cells
        .iter()
        .map(|(column, cells)| {
            let widest = cells.iter().map(|cell| measure_text_width(&cell.text)).max().unwrap_or(0);
            widest.max(column.least_width())
        })
        .collect();
    drop_columns(&mut cells, &mut widths, width);
    (0..=views.len())
        .map(|line| {
            let mut text = String::new();
            for ((column, cells), &width) in cells.iter().zip(&widths) {
                if !text.is_empty() {
                    text.push_str(&" ".repeat(GAP));
                }
                let cell = &cells[line];
                let blanks = " ".repeat(width.saturating_sub(measure_text_width(&cell.text)));
                let (before, after) = if column.is_text() { ("", &*blanks) } else { (&*blanks, "") };
                text.push_str(before);
                text.push_str(&cell.paint(colour));
                text.push_str(after);
            }
            text.truncate(text.trim_end().len());
            text
        })
        .collect()
}

/// Leaves out the least important columns until a line fits.
fn drop_columns(cells: &mut Vec<(Column, Vec<Cell>)>, widths: &mut Vec<usize>, width: usize) {
    while cells.len() > 1 && widths.iter().sum::<usize>() + GAP * (widths.len() - 1) > width {
        let least = (0..cells.len()).max_by_key(|&index| cells[index].0.rank()).unwrap_or(0);
        cells.remove(least);
        widths.remove(least);
    }
}

/// The name of the only run, and where it is kept.
fn heading(view: &View, width: usize, colour: bool) -> String {
    let name = printable(&view.name);
    let mut text = style(&name).bold().force_styling(colour).to_string();
    let room = width.saturating_sub(measure_text_width(&name) + GAP + 3);
    // A folder of which only a few letters are seen says nothing.
    if let Some(folder) = view.folder.as_ref().filter(|_| room >= 8) {
        text += &format!("  in {}", shorten(&printable(&folder.display().to_string()), room));
    }
    text
}

/// What the runs that are not shown are at: `14 waiting, 3 done`.
fn summary(views: &[View], shown: &[&View], colour: bool) -> String {
    let hidden = |phase: Phase| {
        let all = views.iter().filter(|view| view.phase == phase).count();
        all - shown.iter().filter(|view| view.phase == phase).count()
    };
    let parts = Phase::ALL.into_iter().filter_map(|phase| {
        let (count, more) = (hidden(phase), if phase.is_active() { "more " } else { "" });
        let text = format!("{count} {more}{}", phase.word());
        (count > 0).then(|| Cell::new(text, Tone::of(phase)).paint(colour))
    });
    parts.collect::<Vec<_>>().join(", ")
}

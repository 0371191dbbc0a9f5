//! The same page for a browser: one file, in the look of the reports.

use ebbtide_report::page::{Page, section};
use maud::{Markup, PreEscaped, html};

use crate::block::{Block, Section, cells};
use crate::draw::{Drawing, Picture};
use crate::readme::{Contents, INTRODUCTION, REPEATABLE};
use crate::write::{ours, published, remarks};
use crate::{Cell, Verdict};

/// The page.
pub fn page(contents: &Contents) -> Page {
    let mut sections = vec![section("overview", Some(overview(contents)))];
    for table in contents.sections {
        sections.push(section(table.table.name, Some(tables(table))));
    }
    for drawing in contents.drawings {
        sections.push(section(drawing.figure.name, Some(figure(drawing))));
    }
    sections.push(section("commands", Some(commands(contents))));
    Page { title: "The paper, reproduced – Ebbtide".to_owned(), sections }
}

/// How the page's style shows a verdict.
fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced | Verdict::Better => "good",
        Verdict::Worse => "poor",
        Verdict::Diverged => "fair",
        Verdict::NotRun => "plain",
    }
}

fn overview(contents: &Contents) -> Markup {
    let count = |verdict: Verdict| cells(contents.sections).filter(|cell| cell.verdict == verdict).count();
    html! {
        header {
            h1 { "The paper, reproduced" }
            @for verdict in Verdict::ALL {
                span class={ "badge " (class(verdict)) } { (verdict.mark()) " " (count(verdict)) " " (verdict.name()) }
            }
        }
        // Stars and backticks are for Markdown.
        @for paragraph in INTRODUCTION { p { (paragraph.replace(['*', '`'], "")) } }
        p.about { (contents.runs()) "." }
        nav { p {
            @for table in contents.sections { a href={ "#" (table.table.name) } { (table.table.title()) } br; }
            @for drawing in contents.drawings { a href={ "#" (drawing.figure.name) } { (drawing.figure.title()) } br; }
        } }
    }
}

fn tables(section: &Section) -> Markup {
    html! {
        h2 { (section.table.title()) }
        pre { "ebbtide paper run " (section.table.name) }
        @for block in &section.blocks { (table(block)) }
    }
}

fn table(block: &Block) -> Markup {
    html! {
        h3 { (block.heading) }
        div.table {
            table {
                thead { tr { th.word { "" } @for column in &block.columns { th { (column) } } } }
                tbody {
                    @for (label, cells) in &block.lines {
                        tr {
                            td.word { (label) }
                            @for cell in cells { td { @if let Some(cell) = cell { (figures(cell)) } } }
                        }
                    }
                }
            }
        }
        @let remarks: Vec<String> = remarks(block).collect();
        @if !remarks.is_empty() { ul class="reading about" { @for remark in &remarks { li { (remark) } } } }
    }
}

/// Ours, the published one, and what to say of the two.
fn figures(cell: &Cell) -> Markup {
    html! {
        @if cell.ours.is_some() || cell.seeds > 0 { (ours(cell, " ± ")) br; }
        span.about { "(" (published(cell, " ± ")) ")" }
        br;
        small class=(class(cell.verdict)) { (cell.verdict.mark()) " " (cell.verdict.name()) }
    }
}

fn figure(drawing: &Drawing) -> Markup {
    let strips = drawing.strips.len() > 1;
    html! {
        h2 { (drawing.figure.title()) }
        p.about { (drawing.note.replace('`', "")) }
        @for strip in &drawing.strips {
            div class=(if strips { "strip" } else { "charts" }) {
                @for picture in strip { (shown(picture)) }
            }
        }
    }
}

fn shown(picture: &Picture) -> Markup {
    html! {
        figure id=(picture.name) {
            (PreEscaped(&picture.inline))
            figcaption { (picture.caption) }
        }
    }
}

fn commands(contents: &Contents) -> Markup {
    let (commands, aside) = (contents.commands(), &contents.results.aside);
    html! {
        h2 { "Commands and commits" }
        @if commands.is_empty() {
            p.about { "Nothing was run yet." }
        } @else {
            p.about { (REPEATABLE.replace('`', "")) }
            details { summary { (commands.len()) " runs" } pre { (commands.join("\n")) } }
        }
        h2 { "Results that do not count" }
        @if aside.is_empty() { p.about { "None." } }
        @else { ul.reading { @for one in aside { li { "results/" (one.file.display()) ": " (one.reason) } } } }
    }
}

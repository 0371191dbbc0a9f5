//! The page in Markdown: all tables, figures and commands.

use std::io::{self, Write};

use crate::block::{Section, cells, summary};
use crate::draw::Drawing;
use crate::results::{Aside, Results};
use crate::write::markdown_section;
use crate::{Paper, Verdict};

/// What a command of the list promises.
pub const REPEATABLE: &str = "Each line gives the same bits again with the program of the commit that stands beside it; `-dirty` means that files had been changed since, and then it may not.";

/// What the page says of itself, in paragraphs without line breaks.
pub const INTRODUCTION: [&str; 3] = [
    "Every table and figure of *Adaptive Destruction Processes for Diffusion Samplers* (Gritsaev et al., 2025) that Ebbtide has runs for, with our figures beside the published ones. A cell has our mean ± standard deviation over seeds, a mark, and in parentheses what the paper prints.",
    "A figure is *reproduced* if it is no further from the published mean than two published deviations or 0.05, whichever is more; otherwise it is *better* or *worse* (ELBO: higher is better; EUBO and W2: lower). Means are over seeds that finished; those that diverged are counted below the tables, never left out of the count. Where runs were stopped early, a note says after how many iterations.",
    "This page is written by `ebbtide paper show --into paper` from the files in `results/`, one for each run; `ebbtide paper run TABLE` trains what is missing.",
];

/// All there is to put on a page.
pub struct Contents<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What was found.
    pub results: &'a Results,
    /// All tables.
    pub sections: &'a [Section<'a>],
    /// All figures.
    pub drawings: &'a [Drawing],
}

impl Contents<'_> {
    /// Commands of all runs, with the commits that ran them, in the order of the tables.
    pub fn commands(&self) -> Vec<String> {
        let findings = self.paper.rows().flat_map(|row| self.results.of(row));
        findings.map(|finding| format!("{}    # {}", finding.command, finding.commit)).collect()
    }

    /// How many runs there are, and how many of them diverged.
    pub fn runs(&self) -> String {
        let count = self.commands().len();
        let rows = self.paper.rows();
        let diverged: usize = rows
            .map(|row| self.results.of(row).iter().filter(|finding| finding.has_diverged()).count())
            .sum();
        format!("{count} runs, of which {diverged} diverged")
    }

    /// How many cells got each verdict.
    pub fn summary(&self) -> String {
        format!("Of {} cells: {}", cells(self.sections).count(), summary(self.sections))
    }
}

/// The whole page.
pub fn markdown(out: &mut dyn Write, contents: &Contents) -> io::Result<()> {
    writeln!(out, "# The paper, reproduced\n")?;
    for paragraph in INTRODUCTION {
        writeln!(out, "{paragraph}\n")?;
    }
    writeln!(out, "Marks: {}.\n", Verdict::legend().replace("  ", ", "))?;
    writeln!(out, "{}; {}.", contents.summary(), contents.runs())?;
    for section in contents.sections {
        writeln!(out, "\n## {}\n", section.table.title())?;
        writeln!(out, "`ebbtide paper run {}`", section.table.name)?;
        markdown_section(out, section)?;
    }
    for drawing in contents.drawings {
        figure(out, drawing)?;
    }
    commands(out, &contents.commands())?;
    aside(out, &contents.results.aside)
}

fn figure(out: &mut dyn Write, drawing: &Drawing) -> io::Result<()> {
    writeln!(out, "\n## {}\n", drawing.figure.title())?;
    writeln!(out, "{}", drawing.note)?;
    for strip in &drawing.strips {
        writeln!(out)?;
        for picture in strip {
            writeln!(out, "![{}](figures/{}.svg)", plain(&picture.caption), picture.name)?;
        }
    }
    Ok(())
}

/// A caption without what ends a Markdown link's text.
fn plain(text: &str) -> String {
    text.replace(['[', ']'], "")
}

fn commands(out: &mut dyn Write, commands: &[String]) -> io::Result<()> {
    writeln!(out, "\n## Commands and commits\n")?;
    if commands.is_empty() {
        return writeln!(out, "Nothing was run yet.");
    }
    writeln!(out, "{REPEATABLE}\n")?;
    writeln!(out, "<details><summary>{} runs</summary>\n\n```", commands.len())?;
    for command in commands {
        writeln!(out, "{command}")?;
    }
    writeln!(out, "```\n\n</details>")
}

fn aside(out: &mut dyn Write, aside: &[Aside]) -> io::Result<()> {
    writeln!(out, "\n## Results that do not count\n")?;
    if aside.is_empty() {
        return writeln!(out, "None.");
    }
    for Aside { file, reason } in aside {
        writeln!(out, "- `results/{}`: {reason}", file.display())?;
    }
    Ok(())
}

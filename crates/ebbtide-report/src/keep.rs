//! Pages and plots on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ebbtide::target::Oracle;
use ebbtide::trajectory::Threads;
use ebbtide_run::durable::{FileError, replace_with};
use ebbtide_run::folder::Files;
use ebbtide_run::trained::Which;

use crate::page::{self, Life, Shown};
use crate::portrait::{Portrait, PortraitError};
use crate::raster::Painter;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The run cannot be looked at.
    #[error(transparent)]
    Portrait(#[from] PortraitError),
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes `report.html` into a run's folder, and says where it is.
pub fn leave_report(folder: &Path, threads: &Threads) -> Result<PathBuf, ReportError> {
    let path = Files(folder).report();
    write_report(folder, &path, None, threads)?;
    Ok(path)
}

/// Writes the report of a run wherever it is wanted, with the density that the run's files can only name.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{Stop, run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTlm), 3);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 100);
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// # let folder = run.folder().to_owned();
/// # run.go(&Stop::new(), &mut ())?;
/// use ebbtide_report::keep::{ReportError, write_report};
///
/// let page = runs.path().join("funnel.html");
/// write_report(&folder, &page, None, &threads)?;
/// assert!(std::fs::read_to_string(&page)?.contains("<h1>easy-funnel</h1>"));
///
/// // The folder of all runs is no run.
/// let refused = write_report(runs.path(), &page, None, &threads);
/// assert!(matches!(refused, Err(ReportError::Portrait(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_report(
    folder: &Path,
    path: &Path,
    oracle: Option<Arc<dyn Oracle>>,
    threads: &Threads,
) -> Result<(), ReportError> {
    let portrait = Portrait::read_with(folder, Which::Last, oracle, threads)?;
    let shown = page::run(&portrait, &[]).map_err(PortraitError::from)?;
    Ok(replace_with(path, shown.page.to_html(Life::Still).as_bytes())?)
}

/// Writes every chart as SVG and as PNG, and every other picture as PNG.
///
/// ```
/// use ebbtide_report::chart::{Chart, Colour, Form, Mark};
/// use ebbtide_report::keep::plots;
/// use ebbtide_report::page::{Page, Shown};
/// use ebbtide_report::picture::Picture;
///
/// let folder = tempfile::tempdir()?;
/// let line = Mark::line([(0.0, 0.0), (1.0, 1.0)], Colour::BLUE);
/// let chart = Chart::new("line", Form::Stamp, "A line.").mark(line);
/// let page = Page { title: "Plots".to_owned(), sections: Vec::new() };
/// let mut shown = Shown { page, charts: vec![chart], pictures: Vec::new() };
/// plots(folder.path(), &shown)?;
/// assert!(std::fs::read_to_string(folder.path().join("line.svg"))?.starts_with("<svg"));
/// let png = std::fs::read(folder.path().join("line.png"))?;
/// assert!(png.starts_with(b"\x89PNG"));
///
/// // What is PNG already stays as it is.
/// let (name, words, caption) = ("again".to_owned(), "A line.".to_owned(), String::new());
/// shown.pictures.push(Picture { name, words, caption, png: png.clone() });
/// plots(folder.path(), &shown)?;
/// assert_eq!(std::fs::read(folder.path().join("again.png"))?, png);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plots(folder: &Path, shown: &Shown) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(FileError::of("make", folder))?;
    let painter = Painter::default();
    for chart in &shown.charts {
        replace_with(&folder.join(format!("{}.svg", chart.name)), chart.for_file().as_bytes())?;
        replace_with(&folder.join(format!("{}.png", chart.name)), &painter.paint(chart))?;
    }
    for picture in &shown.pictures {
        replace_with(&folder.join(format!("{}.png", picture.name)), &picture.png)?;
    }
    Ok(())
}

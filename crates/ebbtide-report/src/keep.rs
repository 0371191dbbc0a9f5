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

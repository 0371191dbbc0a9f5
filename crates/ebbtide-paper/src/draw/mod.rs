//! The paper's figures, drawn from what was found.

mod contours;
mod curves;
mod samples;

use std::path::Path;

use ebbtide::stream::{Address, Purpose};
use ebbtide::target::{NamedTarget, TargetError};
use ebbtide_report::chart::Chart;
use ebbtide_report::portrait::PortraitError;

use crate::figure::{FIGURES, Figure, Shows};
use crate::results::Results;
use crate::{Paper, Row};

/// A figure and its pictures.
pub struct Drawing {
    /// Which figure.
    pub figure: Figure,
    /// Its pictures; those of one strip belong together.
    pub strips: Vec<Vec<Picture>>,
    /// What there is to say of it.
    pub note: String,
}

/// A picture: a chart, or a file that was drawn before.
pub struct Picture {
    /// Its name, and that of its file.
    pub name: String,
    /// What stands beneath it.
    pub caption: String,
    /// As part of a page.
    pub inline: String,
    /// As a file; `None` for one that stays as it is.
    pub file: Option<String>,
}

/// Why a figure cannot be drawn.
///
/// ```
/// use ebbtide_paper::keep::{KeepError, leave};
/// use ebbtide_paper::{DrawingError, FIGURES, Paper, Results};
///
/// // The runs that Figure 3 is drawn from, with settings that are none.
/// let (paper, place) = (Paper::new(), tempfile::tempdir()?);
/// for row in paper.rows().filter(|row| FIGURES[2].has(row)) {
///     let folder = Paper::runs(place.path()).join(row.name(0));
///     std::fs::create_dir_all(&folder)?;
///     std::fs::write(folder.join("config.toml"), "rubbish")?;
/// }
/// let refused = leave(&paper, &Results::default(), place.path(), &place.path().join("pages"));
/// assert!(matches!(refused, Err(KeepError::Drawing(DrawingError::Portrait(_)))));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DrawingError {
    /// A run cannot be looked at.
    #[error(transparent)]
    Portrait(#[from] PortraitError),
    /// A target cannot be evaluated.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl From<Chart> for Picture {
    fn from(chart: Chart) -> Self {
        Self {
            inline: chart.for_page(),
            file: Some(chart.for_file()),
            name: chart.name,
            caption: chart.caption,
        }
    }
}

/// All figures. Samples are of runs in `runs`, or where those are not, pictures of them that were drawn before are taken from `before`.
pub fn drawings(
    paper: &Paper,
    results: &Results,
    runs: &Path,
    before: &Path,
) -> Result<Vec<Drawing>, DrawingError> {
    let draw = |figure: &Figure| {
        let (strips, note) = match figure.shows {
            Shows::Curves(panels) => {
                (vec![curves::pictures(figure, panels, paper, results)], curves::NOTE.to_owned())
            }
            Shows::Contours(targets) => (vec![contours::pictures(targets)?], contours::NOTE.to_owned()),
            Shows::Samples { target, .. } => {
                let rows: Vec<&Row> = paper.rows().filter(|row| figure.has(row)).collect();
                let strips = samples::strips(figure, target, &rows, runs, before)?;
                (strips, samples::note(figure, &rows))
            }
        };
        Ok(Drawing { figure: *figure, strips, note })
    };
    FIGURES.iter().map(draw).collect()
}

/// Exact draws of the first two coordinates.
fn exact_draws(target: NamedTarget, seed: u64, count: usize) -> Result<(Vec<f64>, Vec<f64>), TargetError> {
    let built = target.build();
    let dim = built.dim();
    let mut points = vec![0.0; dim * count];
    let drawable = built.drawable().ok_or_else(|| TargetError::failed("it has no exact draws"))?;
    drawable.draw(Address::new(seed, Purpose::ExactDraw, 0), &mut points)?;
    Ok(points.chunks_exact(dim).map(|point| (f64::from(point[0]), f64::from(point[1]))).unzip())
}

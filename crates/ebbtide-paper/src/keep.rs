//! Pages and figures on disk.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide_report::page::Life;
use ebbtide_run::durable::{FileError, replace, replace_with};

use crate::block::sections;
use crate::draw::{DrawingError, drawings};
use crate::page::page;
use crate::readme::{Contents, markdown};
use crate::results::Results;
use crate::{Paper, Row};

/// Why there are no pages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Drawing(#[from] DrawingError),
}

/// Writes `README.md`, `index.html` and `figures/` into a folder, and says what it wrote. Samples are of runs in `runs`; where those are
/// not there, pictures of samples stay as they are.
///
/// ```
/// use std::path::Path;
/// use ebbtide_paper::keep::{KeepError, leave};
/// use ebbtide_paper::{Paper, Results};
///
/// let (paper, place) = (Paper::new(), tempfile::tempdir()?);
/// let written = leave(&paper, &Results::default(), Path::new("runs"), place.path())?;
/// assert!(written.contains(&place.path().join("figures/contours-40gmm.svg")));
/// let readme = place.path().join("README.md");
/// assert!(std::fs::read_to_string(&readme)?.contains("0 runs, of which 0 diverged"));
///
/// // A page is no folder.
/// match leave(&paper, &Results::default(), Path::new("runs"), &readme) {
///     Err(KeepError::File(error)) => assert_eq!(error.path, readme.join("figures")),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn leave(
    paper: &Paper,
    results: &Results,
    runs: &Path,
    folder: &Path,
) -> Result<Vec<PathBuf>, KeepError> {
    let figures = folder.join("figures");
    fs::create_dir_all(&figures).map_err(FileError::of("make", &figures))?;
    let rows: Vec<&Row> = paper.rows().collect();
    let (sections, drawings) = (sections(paper, results, &rows), drawings(paper, results, runs, &figures)?);
    let mut written = Vec::new();
    for picture in drawings.iter().flat_map(|drawing| &drawing.strips).flatten() {
        if let Some(file) = &picture.file {
            let path = figures.join(format!("{}.svg", picture.name));
            replace_with(&path, file.as_bytes())?;
            written.push(path);
        }
    }
    let contents = Contents { paper, results, sections: &sections, drawings: &drawings };
    let (readme, index) = (folder.join("README.md"), folder.join("index.html"));
    replace(&readme, |file| markdown(file, &contents))?;
    replace_with(&index, page(&contents).to_html(Life::Still).as_bytes())?;
    written.extend([readme, index]);
    Ok(written)
}

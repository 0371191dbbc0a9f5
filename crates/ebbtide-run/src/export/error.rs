//! The ways in which an export can fail.

use std::io;

use crate::durable::FileError;

/// Samples could not be written.
///
/// ```
/// use ebbtide_run::export::{Export, ExportError, Format, Shape};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("samples.npy");
/// let shape = Shape { dim: 2, weights: false, times: None };
/// let mut export = Export::to_file(&path, Format::Npy, shape, 2)?;
/// let uneven = export.write(&[0.5, -1.0, 3.0], None);
/// assert!(matches!(uneven, Err(ExportError::States { sample: 2, given: 3 })));
/// export.write(&[0.5, -1.0], None)?;
/// assert!(matches!(export.finish(), Err(ExportError::Count { announced: 2, given: 1 })));
/// assert!(!path.exists(), "what is not whole does not appear");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Whoever was reading has read enough. A command in the middle of a pipe ends without a word.
    #[error("nobody reads the samples any more")]
    Closed,
    /// The output could not be written to, for another reason.
    #[error("could not write the samples: {0}")]
    Output(#[source] io::Error),
    /// The Parquet encoder gave up, as it does beyond 2³¹ row groups.
    #[error("could not arrange the samples in row groups: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// More or fewer samples came than were announced.
    #[error("{announced} samples were announced, {given} came")]
    Count {
        /// How many there should be.
        announced: usize,
        /// How many there were, those refused included.
        given: usize,
    },
    /// Samples of which nothing could be written, or more than there can be.
    #[error("samples of {states} states with {dim} coordinates cannot be written")]
    Shape {
        /// Coordinates of a state.
        dim: usize,
        /// States of a sample.
        states: usize,
    },
    /// The states are not a whole number of samples.
    #[error("{given} numbers are not a whole number of samples, which have {sample} each")]
    States {
        /// Numbers in a sample.
        sample: usize,
        /// Numbers that came.
        given: usize,
    },
    /// Log weights are missing, or there are too many.
    #[error("{expected} log weights belong to these samples, {given} came")]
    Weights {
        /// One for each sample, or none at all.
        expected: usize,
        /// How many came.
        given: usize,
    },
    /// A write failed before, and what was written since would have a hole.
    #[error("an earlier portion of the samples could not be written")]
    Torn,
}

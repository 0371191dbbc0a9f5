//! Samples in files that other programs read, written portion by portion.

mod csv;
mod error;
mod format;
mod npy;
mod parquet;
mod shape;
#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::durable::{FileError, Pending};

pub use error::ExportError;
pub use format::{Format, UnknownFormat};
pub use shape::Shape;

/// Encoded bytes are handed on when there are this many.
const BUFFER: usize = 1 << 16;

/// Numbers that are encoded before looking at the buffer.
const PIECE: usize = 1 << 12;

/// Samples on their way to a file or a stream. Memory does not grow with their number.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use ebbtide_run::export::{Export, Format, Shape};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("samples.csv");
/// let shape = Shape { dim: 2, weights: true, times: None };
/// let mut export = Export::to_file(&path, Format::Csv, shape, 2)?;
/// export.write(&[0.5, -1.0], Some(&[-0.25]))?;
/// export.write(&[1e-9, 3.0], Some(&[f64::NEG_INFINITY]))?;
/// export.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "x0,x1,log_weight\n0.5,-1,-0.25\n1e-9,3,-inf\n");
/// # Ok(())
/// # }
/// ```
pub struct Export {
    sink: Sink,
    encoder: Box<dyn Encoder>,
    /// Encoded, not yet written.
    buffer: Vec<u8>,
    weights: bool,
    /// Numbers in the states of a sample.
    sample: usize,
    announced: usize,
    given: usize,
    torn: bool,
}

impl Export {
    /// Begins a file of `count` samples. Until [`Export::finish`], what was at `path` stays there.
    ///
    /// A pipe or a device at `path` is written to as it stands.
    pub fn to_file(path: &Path, format: Format, shape: Shape, count: usize) -> Result<Self, ExportError> {
        let is_special = fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
        let sink = if is_special {
            let writer = OpenOptions::new().write(true).open(path).map_err(FileError::of("open", path))?;
            Sink::Stream { writer: Box::new(writer), path: Some(path.to_owned()) }
        } else {
            Sink::File { pending: Pending::create(path)?, path: path.to_owned() }
        };
        Self::begin(sink, format, shape, count)
    }

    /// Begins a stream of `count` samples, to standard output for example.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io::{self, Read};
    ///
    /// use ebbtide_run::export::{Export, Format, Shape};
    ///
    /// let (mut reader, writer) = io::pipe()?;
    /// let shape = Shape { dim: 2, weights: false, times: Some(vec![0.0, 0.5, 1.0]) };
    /// let mut export = Export::to_writer(Box::new(writer), Format::Csv, shape, 1)?;
    /// export.write(&[0.0, 0.0, 1.0, -0.25, 2.0, -1.0], None)?;
    /// export.finish()?;
    /// let mut text = String::new();
    /// reader.read_to_string(&mut text)?;
    /// assert_eq!(text, "sample,step,time,x0,x1\n0,0,0,0,0\n0,1,0.5,1,-0.25\n0,2,1,2,-1\n");
    /// # Ok(())
    /// # }
    /// ```
    pub fn to_writer(
        writer: Box<dyn Write + Send>,
        format: Format,
        shape: Shape,
        count: usize,
    ) -> Result<Self, ExportError> {
        Self::begin(Sink::Stream { writer, path: None }, format, shape, count)
    }

    fn begin(sink: Sink, format: Format, shape: Shape, count: usize) -> Result<Self, ExportError> {
        let sample = shape.values()?;
        let weights = shape.weights;
        let mut buffer = Vec::with_capacity(2 * BUFFER);
        let encoder: Box<dyn Encoder> = match format {
            Format::Npy => Box::new(npy::Npy::begin(shape, count, &mut buffer)),
            Format::Csv => Box::new(csv::Csv::begin(shape, &mut buffer)),
            Format::Parquet => Box::new(parquet::Parquet::begin(shape)?),
        };
        Ok(Self { sink, encoder, buffer, weights, sample, announced: count, given: 0, torn: false })
    }

    /// Adds samples. `states` has n × dim numbers, or n × (T + 1) × dim with times; `log_weights` has n, if the shape has
    /// weights.
    ///
    /// What does not fit is refused whole and may be followed by what does. After a failure to write, all else fails.
    pub fn write(&mut self, states: &[f32], log_weights: Option<&[f64]>) -> Result<(), ExportError> {
        if self.torn {
            return Err(ExportError::Torn);
        }
        if !states.len().is_multiple_of(self.sample) {
            return Err(ExportError::States { sample: self.sample, given: states.len() });
        }
        let count = states.len() / self.sample;
        let expected = if self.weights { count } else { 0 };
        let log_weights = log_weights.unwrap_or_default();
        if log_weights.len() != expected {
            return Err(ExportError::Weights { expected, given: log_weights.len() });
        }
        if count > self.announced - self.given {
            let given = self.given.saturating_add(count);
            return Err(ExportError::Count { announced: self.announced, given });
        }
        self.torn = true;
        self.encode(states, log_weights)?;
        self.torn = false;
        Ok(())
    }

    fn encode(&mut self, states: &[f32], log_weights: &[f64]) -> Result<(), ExportError> {
        let piece = (PIECE / self.sample).max(1);
        let mut log_weights = log_weights.chunks(piece);
        for states in states.chunks(piece * self.sample) {
            let log_weights = log_weights.next().unwrap_or_default();
            self.encoder.add(&Portion { first: self.given, states, log_weights }, &mut self.buffer)?;
            self.given += states.len() / self.sample;
            if self.buffer.len() >= BUFFER {
                self.sink.take(&mut self.buffer)?;
            }
        }
        Ok(())
    }

    /// All samples are there: makes sure of the file and moves it to its place. Without this, nothing appears there.
    pub fn finish(mut self) -> Result<(), ExportError> {
        if self.torn {
            return Err(ExportError::Torn);
        }
        if self.given != self.announced {
            return Err(ExportError::Count { announced: self.announced, given: self.given });
        }
        self.encoder.end(&mut self.buffer)?;
        self.sink.take(&mut self.buffer)?;
        self.sink.finish()
    }
}

/// A few whole samples, known to fit the shape.
struct Portion<'a> {
    /// How many samples came before.
    first: usize,
    states: &'a [f32],
    /// One for each sample, or empty.
    log_weights: &'a [f64],
}

/// Turns samples into bytes and knows nothing of where they go.
trait Encoder: Send {
    /// Appends to `bytes` what can be said so far.
    fn add(&mut self, portion: &Portion, bytes: &mut Vec<u8>) -> Result<(), ExportError>;

    /// Appends what remains to be said.
    fn end(self: Box<Self>, bytes: &mut Vec<u8>) -> Result<(), ExportError>;
}

/// Where bytes go.
enum Sink {
    File { pending: Pending, path: PathBuf },
    Stream { writer: Box<dyn Write + Send>, path: Option<PathBuf> },
}

impl Sink {
    /// Writes all bytes and leaves the buffer empty.
    fn take(&mut self, bytes: &mut Vec<u8>) -> Result<(), ExportError> {
        match self {
            Self::File { pending, path } => pending.write_all(bytes).map_err(FileError::of("write", path))?,
            Self::Stream { writer, path } => writer.write_all(bytes).map_err(|error| failed(error, path))?,
        }
        bytes.clear();
        Ok(())
    }

    fn finish(self) -> Result<(), ExportError> {
        match self {
            Self::File { pending, .. } => Ok(pending.commit()?),
            Self::Stream { mut writer, path } => writer.flush().map_err(|error| failed(error, &path)),
        }
    }
}

/// Says why a stream, with a name or without, took no more.
fn failed(error: io::Error, path: &Option<PathBuf>) -> ExportError {
    match path {
        _ if error.kind() == io::ErrorKind::BrokenPipe => ExportError::Closed,
        Some(path) => FileError::of("write", path)(error).into(),
        None => ExportError::Output(error),
    }
}

//! What was written is read back, by readers that share no code with the writers wherever there are any.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use npyz::{DType, NpyFile};
use parquet::basic::Type as Kind;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};

use super::{BUFFER, Export, ExportError, Format, Shape};

/// Samples with numbers of every size.
struct Samples {
    shape: Shape,
    states: Vec<f32>,
    log_weights: Vec<f64>,
}

impl Samples {
    fn new(shape: Shape, count: usize) -> Self {
        let mut seed = 1_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let share = (seed >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            share * 10_f64.powi((seed >> 5) as i32 % 30)
        };
        let states = (0..count * shape.states() * shape.dim).map(|_| next() as f32).collect();
        let mut log_weights: Vec<_> = (0..if shape.weights { count } else { 0 }).map(|_| next()).collect();
        log_weights.iter_mut().skip(3).step_by(7).for_each(|weight| *weight = f64::NEG_INFINITY);
        Self { shape, states, log_weights }
    }

    fn count(&self) -> usize {
        self.states.len() / self.shape.states() / self.shape.dim
    }

    /// Adds samples in portions of 1, 4, 7, … samples, and an empty one now and then.
    fn write(&self, export: &mut Export) {
        let sample = self.shape.states() * self.shape.dim;
        let (mut from, mut size) = (0, 1);
        while from < self.count() {
            let to = (from + size).min(self.count());
            let weights = self.shape.weights.then(|| &self.log_weights[from..to]);
            export.write(&self.states[from * sample..to * sample], weights).expect("written");
            export.write(&[], None).expect("nothing is fine too");
            (from, size) = (to, size + 3);
        }
    }

    fn write_file(&self, path: &Path, format: Format) {
        let mut export = Export::to_file(path, format, self.shape.clone(), self.count()).expect("begun");
        self.write(&mut export);
        export.finish().expect("finished");
    }

    /// The rows of the columnar formats, as bits: sample, step, time, coordinates, log weight.
    fn rows(&self) -> Vec<Vec<u64>> {
        let states = self.shape.states();
        let row = |(index, state): (usize, &[f32])| {
            let mut row = Vec::new();
            if let Some(times) = &self.shape.times {
                let step = index % states;
                row.extend([(index / states) as u64, step as u64, times[step].to_bits()]);
            }
            row.extend(state.iter().map(|value| u64::from(value.to_bits())));
            row.extend(self.log_weights.get(index / states).map(|weight| weight.to_bits()));
            row
        };
        self.states.chunks(self.shape.dim).enumerate().map(row).collect()
    }
}

/// Every combination of weights and paths, with none, few and many samples.
fn for_each_case(check: impl Fn(&Samples)) {
    for weights in [false, true] {
        for times in [None, Some(vec![0.0, 0.1, 0.30000000000000004, 1.0])] {
            for (dim, count) in [(1, 0), (3, 1), (1, 57), (2, 5003)] {
                check(&Samples::new(Shape { dim, weights, times: times.clone() }, count));
            }
        }
    }
}

#[test]
fn npy_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.npy");
    for_each_case(|samples| {
        samples.write_file(&path, Format::Npy);
        let file = NpyFile::new(File::open(&path).expect("there")).expect("a header");
        let data_begin = fs::metadata(&path).expect("there").len() - body(samples).len() as u64;
        assert_eq!(data_begin % 64, 0);
        let mut sizes = vec![samples.shape.dim as u64];
        sizes.splice(..0, samples.shape.times.iter().map(|times| times.len() as u64));
        let plain = DType::Plain("<f4".parse().expect("a type"));
        if samples.shape.weights {
            assert_eq!(file.shape(), [samples.count() as u64]);
            let DType::Record(fields) = file.dtype() else { panic!("not a record") };
            let states = sizes.iter().rev().fold(plain, |inner, &size| DType::Array(size, Box::new(inner)));
            assert_eq!(fields[0].name, "x");
            assert_eq!(fields[0].dtype, states);
            assert_eq!(fields[1].name, "log_weight");
            assert_eq!(fields[1].dtype, DType::Plain("<f8".parse().expect("a type")));
        } else {
            sizes.insert(0, samples.count() as u64);
            assert_eq!(file.shape(), sizes);
            assert_eq!(file.dtype(), plain);
        }
        let mut bytes = Vec::new();
        file.into_inner().read_to_end(&mut bytes).expect("read");
        assert!(bytes == body(samples));
        if !samples.shape.weights {
            let file = NpyFile::new(File::open(&path).expect("there")).expect("a header");
            assert_eq!(file.into_vec::<f32>().expect("numbers"), samples.states);
        }
    });
}

/// The numbers of an array in npy's order.
fn body(samples: &Samples) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, states) in samples.states.chunks(samples.shape.states() * samples.shape.dim).enumerate() {
        states.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        samples.log_weights.get(index).inspect(|weight| bytes.extend(weight.to_le_bytes()));
    }
    bytes
}

#[test]
fn csv_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.csv");
    for_each_case(|samples| {
        samples.write_file(&path, Format::Csv);
        let text = fs::read_to_string(&path).expect("there");
        let mut lines = text.lines();
        let names: Vec<_> = lines.next().expect("a header").split(',').collect();
        assert_eq!(names, samples.shape.columns());
        let cell = |(name, text): (&&str, &str)| match *name {
            "sample" | "step" => text.parse().expect("a whole number"),
            "time" | "log_weight" => text.parse::<f64>().expect("a number").to_bits(),
            _ => u64::from(text.parse::<f32>().expect("a number").to_bits()),
        };
        let rows: Vec<Vec<_>> =
            lines.map(|line| names.iter().zip(line.split(',')).map(cell).collect()).collect();
        assert!(rows == samples.rows());
        assert!(text.ends_with('\n'));
    });
}

#[test]
fn parquet_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.parquet");
    for_each_case(|samples| {
        samples.write_file(&path, Format::Parquet);
        assert!(read_parquet(&path, &samples.shape) == samples.rows());
    });
}

#[test]
fn parquet_of_several_row_groups_reads_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples.parquet");
    let shape = Shape { dim: 70, weights: true, times: Some(vec![0.0, 0.5, 1.0]) };
    let samples = Samples::new(shape, 11_000);
    samples.write_file(&path, Format::Parquet);
    let reader = SerializedFileReader::new(File::open(&path).expect("there")).expect("parquet");
    assert_eq!(reader.num_row_groups(), 3);
    assert!(read_parquet(&path, &samples.shape) == samples.rows());
}

fn read_parquet(path: &Path, shape: &Shape) -> Vec<Vec<u64>> {
    let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("parquet");
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let columns: Vec<_> =
        schema.columns().iter().map(|column| (column.name(), column.physical_type())).collect();
    assert!(columns.iter().map(|column| column.0).eq(shape.columns()));
    assert!(schema.columns().iter().all(|column| column.max_def_level() == 0));
    let cell = |row: &Row, (index, &(name, kind)): (usize, &(&str, Kind))| match (name, kind) {
        ("sample", Kind::INT64) => row.get_long(index).expect("there") as u64,
        ("step", Kind::INT32) => row.get_int(index).expect("there") as u64,
        ("time" | "log_weight", Kind::DOUBLE) => row.get_double(index).expect("there").to_bits(),
        (_, Kind::FLOAT) => u64::from(row.get_float(index).expect("there").to_bits()),
        _ => panic!("{name} is of type {kind}"),
    };
    let row = |row: Row| columns.iter().enumerate().map(|column| cell(&row, column)).collect();
    reader.into_iter().map(|read| row(read.expect("a row"))).collect()
}

/// A stream that others can look into, and that breaks after some bytes.
#[derive(Clone)]
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
    error: io::ErrorKind,
}

impl Stream {
    fn new(room: usize, error: io::ErrorKind) -> Self {
        Self { bytes: Arc::default(), room, error }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = self.bytes.lock().expect("no one panicked");
        if taken.len() + bytes.len() > self.room {
            return Err(self.error.into());
        }
        taken.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn streams_get_the_same_bytes_as_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples");
    for format in Format::ALL {
        for_each_case(|samples| {
            samples.write_file(&path, format);
            let stream = Stream::new(usize::MAX, io::ErrorKind::Other);
            let shape = samples.shape.clone();
            let mut export =
                Export::to_writer(Box::new(stream.clone()), format, shape, samples.count()).expect("begun");
            samples.write(&mut export);
            export.finish().expect("finished");
            assert!(*stream.bytes.lock().expect("no one panicked") == fs::read(&path).expect("there"));
        });
    }
}

#[test]
fn a_broken_stream_is_told_apart_and_stays_broken() {
    let shape = Shape { dim: 1, weights: false, times: None };
    for format in Format::ALL {
        // Room for the buffer's first contents, not for the second.
        let begin = |error| {
            let stream = Box::new(Stream::new(2 * BUFFER, error));
            Export::to_writer(stream, format, shape.clone(), 3_000_000).expect("begun")
        };
        let states = vec![0.5; 2_900_000];
        let mut export = begin(io::ErrorKind::BrokenPipe);
        assert!(matches!(export.write(&states, None), Err(ExportError::Closed)));
        assert!(matches!(export.write(&[1.0], None), Err(ExportError::Torn)));
        assert!(matches!(export.finish(), Err(ExportError::Torn)));
        assert!(matches!(begin(io::ErrorKind::Other).write(&states, None), Err(ExportError::Output(_))));
    }
}

#[test]
fn without_finish_the_old_file_stays_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("samples");
    fs::write(&path, "old").expect("written");
    let samples = Samples::new(Shape { dim: 2, weights: true, times: None }, 30_000);
    for format in Format::ALL {
        let mut export =
            Export::to_file(&path, format, samples.shape.clone(), samples.count()).expect("begun");
        samples.write(&mut export);
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        drop(export);
        assert_eq!(fs::read(&path).expect("still there"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1);
    }
}

#[test]
fn wrong_counts_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let shape = Shape { dim: 2, weights: false, times: None };
    for format in Format::ALL {
        let path = folder.path().join("samples");
        let mut export = Export::to_file(&path, format, shape.clone(), 3).expect("begun");
        export.write(&[0.0; 4], None).expect("two of three");
        let more = export.write(&[0.0; 4], None);
        assert!(matches!(more, Err(ExportError::Count { announced: 3, given: 4 })));
        assert!(matches!(export.finish(), Err(ExportError::Count { announced: 3, given: 2 })));
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 0);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_the_rest_goes_on() {
    let stream = Box::new(Stream::new(usize::MAX, io::ErrorKind::Other));
    let shape = Shape { dim: 2, weights: true, times: Some(vec![0.0, 1.0]) };
    let mut export = Export::to_writer(stream, Format::Csv, shape.clone(), 1).expect("begun");
    let odd = export.write(&[0.0; 6], Some(&[0.0]));
    assert!(matches!(odd, Err(ExportError::States { sample: 4, given: 6 })));
    let unweighted = export.write(&[0.0; 4], None);
    assert!(matches!(unweighted, Err(ExportError::Weights { expected: 1, given: 0 })));
    export.write(&[0.0; 4], Some(&[0.0])).expect("fits");
    export.finish().expect("finished");

    for bad in [Shape { dim: 0, ..shape.clone() }, Shape { times: Some(vec![]), ..shape }] {
        let begun = Export::to_writer(Box::new(io::sink()), Format::Npy, bad, 0);
        assert!(matches!(begun, Err(ExportError::Shape { .. })));
    }
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    let samples = Samples::new(Shape { dim: 2, weights: false, times: None }, 100);
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &link).expect("linked");
    samples.write_file(&link, Format::Csv);
    assert!(link.is_symlink());
    assert!(!fs::metadata("/dev/null").expect("there").is_file());
}

#[test]
fn exports_can_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Export>();
}

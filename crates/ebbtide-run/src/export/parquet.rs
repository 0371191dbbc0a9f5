//! Apache Parquet: the columns of the text format, in row groups of about a million numbers.

use std::sync::Arc;

use parquet::basic::{Encoding, Repetition, Type as Kind};
use parquet::data_type::{DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::{Encoder, ExportError, Portion, Shape};

/// Numbers in a row group, over all columns.
const GROUP: usize = 1 << 20;

/// Rows in a group even where they are long: the description of each column of each group is kept until the file ends.
const FEWEST_ROWS: usize = 1 << 14;

/// Gathers a row group, column by column, and encodes it when it is full.
pub(super) struct Parquet {
    /// What it encodes is taken out of its vector as it appears.
    file: SerializedFileWriter<Vec<u8>>,
    group: Group,
    /// Rows of a full group.
    room: usize,
    times: Option<Vec<f64>>,
    dim: usize,
}

/// Rows that are not encoded yet; columns that the shape lacks stay empty.
struct Group {
    rows: usize,
    samples: Vec<i64>,
    steps: Vec<i32>,
    times: Vec<f64>,
    coordinates: Vec<Vec<f32>>,
    log_weights: Vec<f64>,
}

impl Parquet {
    pub(super) fn begin(shape: Shape) -> Result<Self> {
        let file = SerializedFileWriter::new(Vec::new(), schema(&shape)?, Arc::new(properties(&shape)))?;
        let group = Group {
            rows: 0,
            samples: Vec::new(),
            steps: Vec::new(),
            times: Vec::new(),
            coordinates: vec![Vec::new(); shape.dim],
            log_weights: Vec::new(),
        };
        let room = (GROUP / shape.columns().len()).max(FEWEST_ROWS);
        Ok(Self { file, group, room, times: shape.times, dim: shape.dim })
    }

    fn encode_group(&mut self) -> Result<()> {
        let mut writer = self.file.next_row_group()?;
        self.group.encode(&mut writer)?;
        writer.close()?;
        self.group.clear();
        Ok(())
    }
}

impl Encoder for Parquet {
    fn add(&mut self, portion: &Portion, bytes: &mut Vec<u8>) -> std::result::Result<(), ExportError> {
        let states = self.times.as_ref().map_or(1, Vec::len);
        for (index, state) in portion.states.chunks_exact(self.dim).enumerate() {
            let (sample, step) = (index / states, index % states);
            if let Some(times) = &self.times {
                self.group.samples.push((portion.first + sample) as i64);
                self.group.steps.push(step as i32);
                self.group.times.push(times[step]);
            }
            for (column, &coordinate) in self.group.coordinates.iter_mut().zip(state) {
                column.push(coordinate);
            }
            self.group.log_weights.extend(portion.log_weights.get(sample));
            self.group.rows += 1;
            if self.group.rows == self.room {
                self.encode_group()?;
            }
        }
        bytes.append(self.file.inner_mut());
        Ok(())
    }

    fn end(mut self: Box<Self>, bytes: &mut Vec<u8>) -> std::result::Result<(), ExportError> {
        if self.group.rows > 0 {
            self.encode_group()?;
        }
        bytes.append(&mut self.file.into_inner()?);
        Ok(())
    }
}

impl Group {
    /// Columns in the order of the schema.
    fn encode(&self, writer: &mut SerializedRowGroupWriter<Vec<u8>>) -> Result<()> {
        if !self.samples.is_empty() {
            encode::<Int64Type>(&self.samples, writer)?;
            encode::<Int32Type>(&self.steps, writer)?;
            encode::<DoubleType>(&self.times, writer)?;
        }
        for column in &self.coordinates {
            encode::<FloatType>(column, writer)?;
        }
        if !self.log_weights.is_empty() {
            encode::<DoubleType>(&self.log_weights, writer)?;
        }
        Ok(())
    }

    /// Forgets the rows and keeps the room.
    fn clear(&mut self) {
        self.rows = 0;
        self.samples.clear();
        self.steps.clear();
        self.times.clear();
        self.coordinates.iter_mut().for_each(Vec::clear);
        self.log_weights.clear();
    }
}

fn encode<T: DataType>(column: &[T::T], writer: &mut SerializedRowGroupWriter<Vec<u8>>) -> Result<()> {
    let mut writer = writer.next_column()?.expect("the schema has a column for each that is written");
    writer.typed::<T>().write_batch(column, None, None)?;
    writer.close()
}

fn schema(shape: &Shape) -> Result<TypePtr> {
    let column = |name: String| {
        let kind = match name.as_str() {
            "sample" => Kind::INT64,
            "step" => Kind::INT32,
            "time" | "log_weight" => Kind::DOUBLE,
            _ => Kind::FLOAT,
        };
        Ok(Arc::new(Type::primitive_type_builder(&name, kind).with_repetition(Repetition::REQUIRED).build()?))
    };
    let columns = shape.columns().into_iter().map(column).collect::<Result<_>>()?;
    Ok(Arc::new(Type::group_type_builder("samples").with_fields(columns).build()?))
}

/// Nothing is compressed: the digits of a random draw have no pattern to find (snappy leaves a million normal draws as long
/// as they were, zstd saves 6 %). What does repeat along a path has encodings of its own, which leave little of it.
fn properties(shape: &Shape) -> WriterProperties {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // An index of pages would have to be kept until the end, and nobody looks for single samples.
        .set_offset_index_disabled(true);
    if shape.times.is_none() {
        return properties.build();
    }
    properties
        .set_column_encoding(ColumnPath::from("sample"), Encoding::DELTA_BINARY_PACKED)
        .set_column_dictionary_enabled(ColumnPath::from("step"), true)
        .set_column_dictionary_enabled(ColumnPath::from("time"), true)
        .set_column_dictionary_enabled(ColumnPath::from("log_weight"), true)
        .build()
}

//! NumPy's format: a line that describes the array, then its numbers, little endian.

use super::{Encoder, ExportError, Portion, Shape};

/// Magic, version 1.0, and two bytes for the length of what follows.
const PREAMBLE: usize = 10;

/// Numbers begin at a multiple of this, so that the file can be mapped into memory.
const ALIGNMENT: usize = 64;

/// Without weights an array of `<f4`; with them one of records, `x` and `log_weight`.
pub(super) struct Npy {
    /// Numbers in the states of a sample.
    sample: usize,
}

impl Npy {
    pub(super) fn begin(shape: Shape, count: usize, bytes: &mut Vec<u8>) -> Self {
        header(&shape, count, bytes);
        Self { sample: shape.states() * shape.dim }
    }
}

impl Encoder for Npy {
    fn add(&mut self, portion: &Portion, bytes: &mut Vec<u8>) -> Result<(), ExportError> {
        if portion.log_weights.is_empty() {
            append(portion.states, bytes);
        } else {
            for (states, weight) in portion.states.chunks_exact(self.sample).zip(portion.log_weights) {
                append(states, bytes);
                bytes.extend_from_slice(&weight.to_le_bytes());
            }
        }
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut Vec<u8>) -> Result<(), ExportError> {
        Ok(())
    }
}

fn append(numbers: &[f32], bytes: &mut Vec<u8>) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// A Python dictionary, filled up with spaces to the next multiple of [`ALIGNMENT`] and ended by a line feed.
fn header(shape: &Shape, count: usize, bytes: &mut Vec<u8>) {
    let sample = match &shape.times {
        Some(times) => format!("{}, {}", times.len(), shape.dim),
        None => format!("{},", shape.dim),
    };
    let (kind, shape) = if shape.weights {
        (format!("[('x', '<f4', ({sample})), ('log_weight', '<f8')]"), format!("{count},"))
    } else {
        ("'<f4'".to_owned(), format!("{count}, {}", sample.trim_end_matches(',')))
    };
    let mut text = format!("{{'descr': {kind}, 'fortran_order': False, 'shape': ({shape}), }}");
    let length = (PREAMBLE + text.len() + 1).next_multiple_of(ALIGNMENT) - PREAMBLE;
    text.push_str(&" ".repeat(length - 1 - text.len()));
    text.push('\n');
    let length = u16::try_from(length).expect("a line with three numbers is short");
    bytes.extend_from_slice(b"\x93NUMPY\x01\x00");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

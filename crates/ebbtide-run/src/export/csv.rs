//! Comma-separated text whose numbers read back to the same bits.

use std::fmt::{Display, LowerExp};
use std::io::Write;

use super::{Encoder, ExportError, Portion, Shape};

/// A line for each state: its sample, step and time where there are paths, its coordinates, its sample's log weight.
pub(super) struct Csv {
    dim: usize,
    /// `,step,time,` for each state of a path; empty where there are end points only.
    moments: Vec<String>,
}

impl Csv {
    pub(super) fn begin(shape: Shape, bytes: &mut Vec<u8>) -> Self {
        bytes.extend_from_slice(shape.columns().join(",").as_bytes());
        bytes.push(b'\n');
        let times = shape.times.unwrap_or_default();
        let moment = |(step, &time)| {
            let mut text = format!(",{step},").into_bytes();
            append(time, &mut text);
            text.push(b',');
            String::from_utf8(text).expect("numbers are text")
        };
        Self { dim: shape.dim, moments: times.iter().enumerate().map(moment).collect() }
    }
}

impl Encoder for Csv {
    fn add(&mut self, portion: &Portion, bytes: &mut Vec<u8>) -> Result<(), ExportError> {
        let states = self.moments.len().max(1);
        for (index, state) in portion.states.chunks_exact(self.dim).enumerate() {
            let sample = index / states;
            if let Some(moment) = self.moments.get(index % states) {
                write!(bytes, "{}{moment}", portion.first + sample).expect("memory takes every byte");
            }
            for &coordinate in state {
                append(coordinate, bytes);
                bytes.push(b',');
            }
            if let Some(&weight) = portion.log_weights.get(sample) {
                append(weight, bytes);
                bytes.push(b',');
            }
            bytes.pop();
            bytes.push(b'\n');
        }
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut Vec<u8>) -> Result<(), ExportError> {
        Ok(())
    }
}

/// Appends the shortest digits that read back to the same number, with an exponent where it saves a row of zeros.
fn append<N: Into<f64> + Copy + Display + LowerExp>(number: N, bytes: &mut Vec<u8>) {
    let size = number.into().abs();
    let is_plain = size == 0.0 || (1e-5..1e16).contains(&size);
    if is_plain { write!(bytes, "{number}") } else { write!(bytes, "{number:e}") }
        .expect("memory takes every byte");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<N: Into<f64> + Copy + Display + LowerExp>(number: N) -> String {
        let mut bytes = Vec::new();
        append(number, &mut bytes);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        assert_eq!(text(0.1_f32), "0.1");
        assert_eq!(text(-0.0_f32), "-0");
        assert_eq!(text(1e-5_f64), "0.00001");
        assert_eq!(text(1.5e-6_f32), "1.5e-6");
        assert_eq!(text(1e16_f64), "1e16");
        assert_eq!(text(f32::MAX), "3.4028235e38");
        assert_eq!(text(f64::NEG_INFINITY), "-inf");
    }

    proptest::proptest! {
        #[test]
        fn single_numbers_read_back_to_the_same_bits(bits: u32) {
            let number = f32::from_bits(bits);
            let read: f32 = text(number).parse().expect("a number");
            proptest::prop_assert!(read.to_bits() == bits || (read.is_nan() && number.is_nan()));
        }

        #[test]
        fn double_numbers_read_back_to_the_same_bits(bits: u64) {
            let number = f64::from_bits(bits);
            let read: f64 = text(number).parse().expect("a number");
            proptest::prop_assert!(read.to_bits() == bits || (read.is_nan() && number.is_nan()));
        }
    }
}

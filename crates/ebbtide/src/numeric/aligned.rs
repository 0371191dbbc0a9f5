//! Arrays that begin at a cache line.

use std::ops::{Deref, DerefMut};

/// Numbers to a cache line, and to the widest vector.
pub(crate) const LINE: usize = 16;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// A fixed number of `f32`, the first at the beginning of a cache line: a vector load that straddles two lines
/// takes twice as long.
#[derive(Clone)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([0.0; LINE]); len.div_ceil(LINE)], len }
    }
}

impl Deref for Aligned {
    type Target = [f32];

    #[allow(unsafe_code)]
    fn deref(&self) -> &[f32] {
        // SAFETY: `lines` holds at least `len` initialised numbers without gaps: a line is 16 of them and as large.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Aligned {
    #[allow(unsafe_code)]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as for `deref`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

/// How far apart rows of `columns` numbers are stored: whole lines, and never a multiple of 512 bytes, which would
/// send one column of all rows to the same few places of the cache.
///
/// ```
/// use ebbtide::numeric::aligned::row_stride;
///
/// assert_eq!(row_stride(20), 32);
/// // 128 numbers are 512 bytes, so there is a line between one row and the next.
/// assert_eq!(row_stride(128), 144);
/// ```
pub fn row_stride(columns: usize) -> usize {
    let lines = columns.div_ceil(LINE);
    LINE * if lines.is_multiple_of(8) { lines + 1 } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_at_a_line_and_hold_what_is_put_there() {
        for len in [0, 1, 15, 16, 17, 100] {
            let mut array = Aligned::zeros(len);
            assert_eq!(array.len(), len);
            assert_eq!(array.as_ptr() as usize % 64, 0);
            array.iter_mut().enumerate().for_each(|(i, value)| *value = i as f32);
            assert!(array.clone().iter().enumerate().all(|(i, &value)| value == i as f32));
        }
    }

    #[test]
    fn strides_hold_a_row_and_avoid_powers_of_two() {
        for columns in 1..2000 {
            let stride = row_stride(columns);
            assert!(
                stride >= columns
                    && stride < columns + 2 * LINE
                    && stride.is_multiple_of(LINE)
                    && !stride.is_multiple_of(128)
            );
        }
    }
}

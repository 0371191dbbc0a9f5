//! A matrix turned on its side.

use crate::numeric::aligned::LINE;
use crate::numeric::vectors;

/// Writes the transpose of a matrix of so many columns, whose rows are `stride` apart, with its own rows
/// `transposed_stride` apart.
///
/// A few lines are read at a time and all of what they hold is written, so that both stay in the cache.
pub(crate) fn transpose(
    matrix: &[f32],
    stride: usize,
    columns: usize,
    transposed: &mut [f32],
    transposed_stride: usize,
) {
    turn_over::<false>(matrix, stride, columns, transposed, transposed_stride);
}

/// The same for a transpose that is too large for the caches.
pub(super) fn transpose_past(
    matrix: &[f32],
    stride: usize,
    columns: usize,
    transposed: &mut [f32],
    transposed_stride: usize,
) {
    turn_over::<true>(matrix, stride, columns, transposed, transposed_stride);
}

fn turn_over<const PAST: bool>(
    matrix: &[f32],
    stride: usize,
    columns: usize,
    transposed: &mut [f32],
    transposed_stride: usize,
) {
    let rows = matrix.len().div_ceil(stride);
    let whole = squares::<PAST>(matrix, stride, [rows, columns], transposed, transposed_stride);
    for first in (0..columns).step_by(LINE) {
        // Above whole rows, squares have been there already.
        let above = if first < whole[1] { whole[0] } else { 0 };
        let width = (columns - first).min(LINE);
        for (row, from) in matrix.chunks(stride).enumerate().skip(above) {
            for (column, &value) in from[first..first + width].iter().enumerate() {
                transposed[(first + column) * transposed_stride + row] = value;
            }
        }
    }
}

/// Turns squares of 16 × 16 numbers in registers, on 512-bit vectors, and tells how many rows and columns of the matrix they are.
#[cfg(target_arch = "x86_64")]
fn squares<const PAST: bool>(
    matrix: &[f32],
    stride: usize,
    shape: [usize; 2],
    transposed: &mut [f32],
    transposed_stride: usize,
) -> [usize; 2] {
    let whole = shape.map(|length| length - length % LINE);
    match vectors() {
        pulp::Arch::V4(simd) if !whole.contains(&0) => {
            simd.vectorize(wide::Squares::<PAST> {
                simd,
                matrix,
                stride,
                whole,
                transposed,
                transposed_stride,
            });
            whole
        }
        _ => [0, 0],
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn squares<const PAST: bool>(_: &[f32], _: usize, _: [usize; 2], _: &mut [f32], _: usize) -> [usize; 2] {
    [0, 0]
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::__m512;

    use pulp::bytemuck::cast;
    use pulp::x86::V4;

    use crate::numeric::Vectorised;
    use crate::numeric::aligned::LINE;
    use crate::numeric::product::past::Past;
    use crate::numeric::product::prefetch::prefetch;

    /// Columns that are asked for before it is their turn.
    const AHEAD: usize = 8 * LINE;

    pub(super) struct Squares<'a, const PAST: bool> {
        pub(super) simd: V4,
        pub(super) matrix: &'a [f32],
        pub(super) stride: usize,
        /// Rows and columns that are in squares.
        pub(super) whole: [usize; 2],
        pub(super) transposed: &'a mut [f32],
        pub(super) transposed_stride: usize,
    }

    impl<const PAST: bool> Vectorised for Squares<'_, PAST> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let [rows, columns] = self.whole;
            let past = PAST.then(Past::new);
            for column in (0..columns).step_by(LINE) {
                for row in (0..rows).step_by(LINE) {
                    let mut square = [cast([0.0_f32; LINE]); LINE];
                    for (i, vector) in square.iter_mut().enumerate() {
                        let from = &self.matrix[(row + i) * self.stride + column..];
                        let ahead = (row + i) * self.stride + column + AHEAD;
                        prefetch(self.matrix.as_ptr().wrapping_add(ahead));
                        *vector = cast(*from.first_chunk::<LINE>().expect("a square lies inside the matrix"));
                    }
                    for (i, vector) in turn(self.simd, square).iter().enumerate() {
                        let place = &mut self.transposed[(column + i) * self.transposed_stride + row..];
                        let place = place.first_chunk_mut().expect("and inside its transpose");
                        match &past {
                            Some(past) => past.write(place, &cast(*vector)),
                            None => *place = cast(*vector),
                        }
                    }
                }
            }
        }
    }

    /// Numbers change places in pairs of rows, then pairs change places, then fours, then eights.
    #[inline(always)]
    fn turn(simd: V4, rows: [__m512; LINE]) -> [__m512; LINE] {
        let v = simd.avx512f;
        let (mut ones, mut twos, mut fours, mut eights) = (rows, rows, rows, rows);
        for i in 0..8 {
            let (a, b) = (rows[2 * i], rows[2 * i + 1]);
            (ones[2 * i], ones[2 * i + 1]) = (v._mm512_unpacklo_ps(a, b), v._mm512_unpackhi_ps(a, b));
        }
        for i in (0..16).step_by(4) {
            let (a, b) = (v._mm512_castps_pd(ones[i]), v._mm512_castps_pd(ones[i + 1]));
            let (c, d) = (v._mm512_castps_pd(ones[i + 2]), v._mm512_castps_pd(ones[i + 3]));
            twos[i] = v._mm512_castpd_ps(v._mm512_unpacklo_pd(a, c));
            twos[i + 1] = v._mm512_castpd_ps(v._mm512_unpackhi_pd(a, c));
            twos[i + 2] = v._mm512_castpd_ps(v._mm512_unpacklo_pd(b, d));
            twos[i + 3] = v._mm512_castpd_ps(v._mm512_unpackhi_pd(b, d));
        }
        // Of the four quarters of a vector: the even ones of two vectors, then the odd ones.
        for i in [0, 8] {
            for j in 0..4 {
                let (a, b) = (twos[i + j], twos[i + 4 + j]);
                fours[i + j] = v._mm512_shuffle_f32x4::<0x88>(a, b);
                fours[i + 4 + j] = v._mm512_shuffle_f32x4::<0xdd>(a, b);
            }
        }
        for j in 0..8 {
            let (a, b) = (fours[j], fours[8 + j]);
            eights[j] = v._mm512_shuffle_f32x4::<0x88>(a, b);
            eights[8 + j] = v._mm512_shuffle_f32x4::<0xdd>(a, b);
        }
        eights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::widths::{all_vectors, with_vectors};

    /// Squares, what is left beside and below them, and what lies between rows, on all vectors there are.
    #[test]
    fn every_number_finds_its_place_and_nothing_else_changes() {
        for (rows, columns) in [(1, 1), (3, 20), (16, 16), (33, 47), (32, 64), (17, 15), (48, 16)] {
            let (stride, transposed_stride) = (columns + 3, rows + 5);
            let matrix: Vec<f32> = (0..(rows - 1) * stride + columns).map(|i| i as f32).collect();
            for (width, vectors) in all_vectors() {
                let mut transposed = vec![-1.0; columns * transposed_stride];
                let mut past = transposed.clone();
                with_vectors(vectors, || {
                    transpose(&matrix, stride, columns, &mut transposed, transposed_stride);
                    transpose_past(&matrix, stride, columns, &mut past, transposed_stride);
                });
                assert_eq!(past, transposed);
                for (place, &value) in transposed.iter().enumerate() {
                    let (column, row) = (place / transposed_stride, place % transposed_stride);
                    let expected = if row < rows { matrix[row * stride + column] } else { -1.0 };
                    assert_eq!(value, expected, "{rows} × {columns} by {width}: row {row}, column {column}");
                }
            }
        }
    }
}

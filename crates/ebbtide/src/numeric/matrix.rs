//! Views of matrices inside flat arrays, and their products.

/// A matrix whose element (i, j) stands at `i · row_stride + j · column_stride` of a slice.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    data: &'a [f32],
    extent: Extent,
}

/// As [`Matrix`], to be written.
pub struct MatrixMut<'a> {
    data: &'a mut [f32],
    extent: Extent,
}

#[derive(Clone, Copy)]
struct Extent {
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl Extent {
    /// Panics unless every element lies inside a slice of `length`: the check that makes products safe.
    fn checked(self, length: usize) -> Self {
        if self.rows > 0 && self.columns > 0 {
            let down = (self.rows - 1).checked_mul(self.row_stride);
            let across = (self.columns - 1).checked_mul(self.column_stride);
            let last = down.zip(across).and_then(|(down, across)| down.checked_add(across));
            assert!(last.is_some_and(|last| last < length), "a matrix must lie inside its slice");
        }
        self
    }

    fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }
}

impl<'a> Matrix<'a> {
    /// Rows are contiguous: how weights are stored (inputs × outputs).
    pub fn by_rows(data: &'a [f32], rows: usize, columns: usize) -> Self {
        let extent = Extent { rows, columns, row_stride: columns, column_stride: 1 };
        Self { data, extent: extent.checked(data.len()) }
    }

    /// Columns are contiguous, each `stride` apart: how activations are stored (rows × features).
    pub fn by_columns(data: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        let extent = Extent { rows, columns, row_stride: 1, column_stride: stride };
        Self { data, extent: extent.checked(data.len()) }
    }

    /// The transpose, without moving anything.
    pub fn transposed(self) -> Self {
        Self { extent: self.extent.transposed(), ..self }
    }
}

impl<'a> MatrixMut<'a> {
    /// See [`Matrix::by_rows`].
    pub fn by_rows(data: &'a mut [f32], rows: usize, columns: usize) -> Self {
        let extent = Extent { rows, columns, row_stride: columns, column_stride: 1 };
        let extent = extent.checked(data.len());
        assert!(columns > 0 || rows == 0, "rows of nothing would alias");
        Self { data, extent }
    }

    /// See [`Matrix::by_columns`]; columns may not overlap.
    pub fn by_columns(data: &'a mut [f32], rows: usize, columns: usize, stride: usize) -> Self {
        let extent = Extent { rows, columns, row_stride: 1, column_stride: stride };
        let extent = extent.checked(data.len());
        assert!(stride >= rows || columns <= 1, "columns may not overlap");
        Self { data, extent }
    }
}

/// Whether a product replaces what its destination holds or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// c ← a b
    Replace,
    /// c ← c + a b
    Add,
}

/// c ← a b, or c ← c + a b, on the calling thread.
///
/// Panics if the shapes do not fit, which is a mistake in this crate and never in its input.
#[allow(unsafe_code)]
pub fn multiply(c: MatrixMut, write: Write, a: Matrix, b: Matrix) {
    let (rows, columns, inner) = (c.extent.rows, c.extent.columns, a.extent.columns);
    assert!(
        a.extent.rows == rows && b.extent.columns == columns && b.extent.rows == inner,
        "shapes must fit"
    );
    if rows == 0 || columns == 0 {
        return;
    }
    // SAFETY: the constructors checked that each matrix lies inside its slice and that the elements of `c`
    // do not alias one another; `c` is borrowed mutably, so it shares no memory with `a` or `b`.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            c.data.as_mut_ptr(),
            c.extent.column_stride as isize,
            c.extent.row_stride as isize,
            write == Write::Add,
            a.data.as_ptr(),
            a.extent.column_stride as isize,
            a.extent.row_stride as isize,
            b.data.as_ptr(),
            b.extent.column_stride as isize,
            b.extent.row_stride as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_match_the_definition() {
        let (m, n, k) = (5, 3, 7);
        let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.71).cos()).collect();
        let mut c = vec![1.0; m * n];
        let product = |i: usize, j: usize| (0..k).map(|l| a[l * m + i] * b[l * n + j]).sum::<f32>();
        let (left, right) = (Matrix::by_columns(&a, m, k, m), Matrix::by_rows(&b, k, n));
        multiply(MatrixMut::by_rows(&mut c, m, n), Write::Add, left, right);
        for i in 0..m {
            for j in 0..n {
                assert!((c[i * n + j] - 1.0 - product(i, j)).abs() < 1e-5);
            }
        }
        let mut d = vec![f32::NAN; m * n];
        multiply(
            MatrixMut::by_columns(&mut d, n, m, n),
            Write::Replace,
            right.transposed(),
            left.transposed(),
        );
        for i in 0..m {
            for j in 0..n {
                assert!((d[i * n + j] - product(i, j)).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn an_inner_dimension_of_zero_writes_zeros() {
        let mut c = vec![3.0; 4];
        multiply(
            MatrixMut::by_rows(&mut c, 2, 2),
            Write::Replace,
            Matrix::by_rows(&[], 2, 0),
            Matrix::by_rows(&[], 0, 2),
        );
        assert_eq!(c, [0.0; 4]);
    }
}

//! The right-hand side of products, arranged once and used by many rows.

use super::transpose;
use crate::numeric::aligned::{Aligned, LINE};

/// Columns of a panel: two of the widest vectors.
pub(super) const PANEL: usize = 2 * LINE;

/// The right-hand side of products, an inner × columns matrix cut into panels of 32 columns (16 where that is enough
/// for the last), each by rows and padded with zeros.
#[derive(Clone)]
pub struct Panels {
    pub(super) inner: usize,
    pub(super) columns: usize,
    pub(super) data: Aligned,
}

impl Panels {
    /// Room for an inner × columns matrix, filled with zeros.
    pub fn new(inner: usize, columns: usize) -> Self {
        Self { inner, columns, data: Aligned::zeros(inner * columns.next_multiple_of(LINE)) }
    }

    /// Takes the columns from `first` on from a matrix by rows.
    pub fn pack(&mut self, first: usize, matrix: &[f32]) {
        let columns = matrix.len() / self.inner.max(1);
        assert!(matrix.len() == self.inner * columns && first + columns <= self.columns, "shapes must fit");
        for index in 0..self.columns.div_ceil(PANEL) {
            let (start, width) = self.panel(index);
            let (from, to) = ((index * PANEL).max(first), (index * PANEL + width).min(first + columns));
            if from < to {
                let place = from - index * PANEL..to - index * PANEL;
                let panel = &mut self.data[start..start + self.inner * width];
                for (panel, row) in panel.chunks_exact_mut(width).zip(matrix.chunks_exact(columns)) {
                    panel[place.clone()].copy_from_slice(&row[from - first..to - first]);
                }
            }
        }
    }

    /// Takes the matrix from its transpose, by rows.
    pub(crate) fn pack_transposed(&mut self, matrix: &[f32]) {
        assert!(matrix.len() == self.inner * self.columns, "shapes must fit");
        for index in 0..self.columns.div_ceil(PANEL) {
            let (start, width) = self.panel(index);
            let columns = (self.columns - index * PANEL).min(width);
            let from = &matrix[index * PANEL * self.inner..][..columns * self.inner];
            let panel = &mut self.data[start..start + self.inner * width];
            transpose(from, self.inner, self.inner, panel, width);
        }
    }

    /// Where a panel begins, and how wide it is.
    pub(super) fn panel(&self, index: usize) -> (usize, usize) {
        let width = (self.columns.next_multiple_of(LINE) - index * PANEL).min(PANEL);
        (index * PANEL * self.inner, width)
    }
}

//! The right-hand side of products, arranged once and used by many rows.

use std::ops::Range;

use super::past::Past;
use super::{MANY, transpose, transpose_past};
use crate::numeric::aligned::{Aligned, LINE};
use crate::numeric::{Vectorised, dispatch};

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
        let past = self.is_large().then(Past::new);
        for row in (0..self.inner).step_by(TOGETHER) {
            let rows = row..(row + TOGETHER).min(self.inner);
            for index in 0..self.columns.div_ceil(PANEL) {
                let (start, width) = self.panel(index);
                let (from, to) = ((index * PANEL).max(first), (index * PANEL + width).min(first + columns));
                if from < to {
                    let place = from - index * PANEL..to - index * PANEL;
                    let panel = &mut self.data[start..][rows.start * width..rows.end * width];
                    let from = &matrix[rows.start * columns + from - first..];
                    dispatch(Take { panel, width, place, from, columns, past: past.as_ref() });
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
            let large = self.is_large();
            let panel = &mut self.data[start..start + self.inner * width];
            match large {
                true => transpose_past(from, self.inner, self.inner, panel, width),
                false => transpose(from, self.inner, self.inner, panel, width),
            }
        }
    }

    /// Whether what is written first has left the second cache when the last is.
    fn is_large(&self) -> bool {
        self.data.len() > MANY
    }

    /// Where a panel begins, and how wide it is.
    pub(super) fn panel(&self, index: usize) -> (usize, usize) {
        let width = (self.columns.next_multiple_of(LINE) - index * PANEL).min(PANEL);
        (index * PANEL * self.inner, width)
    }
}

/// A panel's share of a matrix by rows.
struct Take<'a> {
    panel: &'a mut [f32],
    width: usize,
    place: Range<usize>,
    /// From the first of the columns on.
    from: &'a [f32],
    columns: usize,
    /// If it is written past the caches.
    past: Option<&'a Past>,
}

/// Rows that are taken together: each is on a page of its own where there are many columns, and of columns that are a power of two no more than
/// eight have a place in the nearest cache.
const TOGETHER: usize = 8;

impl Vectorised for Take<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { panel, width, place, from, columns, past } = self;
        let wanted = place.len();
        for (row, panel) in panel.chunks_exact_mut(width).enumerate() {
            let (panel, from) = (&mut panel[place.clone()], &from[row * columns..][..wanted]);
            match (panel.first_chunk_mut::<PANEL>(), from.first_chunk::<PANEL>()) {
                (Some(panel), Some(from)) => match past {
                    Some(past) => {
                        let (panel, from) = (panel.as_chunks_mut().0, from.as_chunks().0);
                        panel.iter_mut().zip(from).for_each(|(place, from)| past.write(place, from));
                    }
                    None => *panel = *from,
                },
                _ => panel.copy_from_slice(from),
            }
        }
    }
}

//! The matrix whose columns are multiplied when gradients are gathered: as it stands, or rearranged.

use super::Rows;
use super::strip::{BLOCK, Left};
use crate::numeric::aligned::{Aligned, LINE};
use crate::numeric::{Vectorised, dispatch};

/// The matrix whose columns are multiplied.
///
/// ```
/// use ebbtide::numeric::product::{Blocks, Columns, FAR, Rows, RowsMut, Write, accumulate, scratch};
///
/// let (rows, columns) = (2, FAR);
/// let matrix: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
/// let left = Rows::new(&matrix, rows, columns, columns);
/// let mut blocks = Blocks::new(rows, columns);
/// blocks.pack(left);
/// // Once as it stands and once, taken away again, rearranged.
/// let (mut sums, mut space) = (vec![0.0; columns], vec![0.0; scratch(rows)]);
/// for (left, sign) in [(Columns::Rows(left), 1.0), (Columns::Blocks(&blocks, 0, rows), -1.0)] {
///     let right = [sign; 2];
///     let place = RowsMut::new(&mut sums, columns, 1, 1);
///     accumulate(place, Write::Add, left, Rows::new(&right, rows, 1, 1), &mut space);
///     assert_eq!(sums[3], if sign > 0.0 { 3.0 + (FAR + 3) as f32 } else { 0.0 });
/// }
/// ```
#[derive(Clone, Copy)]
pub enum Columns<'a> {
    /// As it stands.
    Rows(Rows<'a>),
    /// So many rows, from the first number on, of a matrix rearranged before.
    Blocks(&'a Blocks, usize, usize),
}

impl<'a> Columns<'a> {
    pub(super) fn shape(&self) -> (usize, usize) {
        match self {
            Columns::Rows(rows) => (rows.rows, rows.columns),
            Columns::Blocks(blocks, _, count) => (*count, blocks.columns),
        }
    }

    pub(super) fn left(self) -> Left<'a> {
        match self {
            Columns::Rows(rows) => Left { data: rows.data, block: BLOCK, row: 1, step: rows.stride },
            Columns::Blocks(blocks, first, count) => {
                assert!(first + count <= blocks.rows, "the rows must be there");
                let data = &blocks.data[first * BLOCK..];
                Left { data, block: BLOCK * blocks.rows, row: 1, step: BLOCK }
            }
        }
    }
}

/// From this many columns on, walking down the rows of a matrix touches so many pages that rearranging it pays.
pub const FAR: usize = 128;

/// A matrix with its columns in blocks of 12, each by rows.
pub struct Blocks {
    data: Aligned,
    rows: usize,
    columns: usize,
}

impl Blocks {
    /// Room for so many numbers of rows and columns.
    pub fn new(rows: usize, columns: usize) -> Self {
        let data = Aligned::zeros(rows * columns.next_multiple_of(BLOCK) + LINE - BLOCK);
        Self { data, rows: 0, columns }
    }

    /// Takes a matrix of as many columns as there is room for, and no more rows.
    pub fn pack(&mut self, a: Rows) {
        assert!(a.columns == self.columns, "shapes must fit");
        self.rows = a.rows;
        if a.rows == 0 {
            return;
        }
        dispatch(Pack { data: &mut self.data, a });
    }
}

struct Pack<'a> {
    data: &'a mut [f32],
    a: Rows<'a>,
}

impl Vectorised for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { data, a } = self;
        for (index, column) in (0..a.columns).step_by(BLOCK).enumerate() {
            let block = &mut data[index * BLOCK * a.rows..][..BLOCK * a.rows + LINE - BLOCK];
            for row in 0..a.rows {
                let from = &a.data[row * a.stride + column..];
                let place = &mut block[row * BLOCK..][..LINE];
                match from.first_chunk::<LINE>() {
                    // A vector at a time. What is too much of it, the next writes over.
                    Some(line) => place.copy_from_slice(line),
                    None => place[..from.len()].copy_from_slice(from),
                }
            }
        }
    }
}

//! Both sides of the gradient of a wide layer's weights, arranged where they were made, for whoever gathers it.

use super::panels::PANEL;
use super::strip::{BLOCK, FETCH_GATHER, FETCH_RESUME, Left, Result, Right, Term, strip};
use super::{Rows, RowsMut, Write};
use crate::numeric::aligned::{Aligned, LINE};
use crate::numeric::{Vectorised, dispatch};
use pulp::{Simd, WithSimd};

/// From this many columns on, walking down the rows of a matrix touches so many pages that rearranging it pays.
pub const FAR: usize = 128;

/// A matrix with its columns in blocks of so many, each by rows.
pub struct Blocks<const WIDTH: usize> {
    data: Aligned,
    rows: usize,
    columns: usize,
    /// How many rows a block has place for: one more, for what is too much of the last.
    places: usize,
}

/// What is multiplied with weights: the left-hand side of their gradient.
pub type Below = Blocks<BLOCK>;
/// A gradient on its way down: the right-hand side.
pub type Above = Blocks<PANEL>;

impl<const WIDTH: usize> Blocks<WIDTH> {
    /// Columns of a block; the last one has as much room.
    pub const WIDTH: usize = WIDTH;

    /// What is copied at once: whole lines. What is too much of them, the next row writes over.
    const COPIED: usize = WIDTH.next_multiple_of(LINE);

    /// Room for so many numbers of rows and columns.
    pub fn new(rows: usize, columns: usize) -> Self {
        let places = rows + 1;
        Self { data: Aligned::zeros(places * columns.next_multiple_of(WIDTH)), rows, columns, places }
    }

    /// Takes rows, from the first on, and as many columns as they have. The next rows may be lost by that, if blocks are no whole lines.
    pub fn pack(&mut self, first: usize, a: Rows) {
        assert!(a.columns <= self.columns && first + a.rows <= self.rows, "shapes must fit");
        if a.rows > 0 {
            dispatch(Pack { blocks: self, first, a });
        }
    }

    /// Writes 1 in one column of the first rows.
    pub fn set_ones(&mut self, column: usize, rows: usize) {
        assert!(column < self.columns && rows <= self.rows, "shapes must fit");
        let block = &mut self.data[column / WIDTH * WIDTH * self.places..];
        block.iter_mut().skip(column % WIDTH).step_by(WIDTH).take(rows).for_each(|place| *place = 1.0);
    }

    /// A block of columns, from a row on.
    fn block(&self, index: usize, first: usize) -> &[f32] {
        self.data.get((index * self.places + first) * WIDTH..).unwrap_or_default()
    }
}

/// The matrix whose columns are multiplied.
///
/// ```
/// use ebbtide::numeric::product::{Below, Columns, FAR, Rows, RowsMut, Write, accumulate, scratch};
///
/// let (rows, columns) = (2, FAR);
/// let matrix: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
/// let matrix = Rows::new(&matrix, rows, columns, columns);
/// let mut below = Below::new(rows, columns);
/// below.pack(0, matrix);
/// // Once as it stands and once, taken away again, rearranged.
/// let (mut sums, mut space) = (vec![0.0; columns], vec![0.0; scratch(rows)]);
/// for (left, sign) in [(Columns::Rows(matrix), 1.0), (Columns::Blocks(&below, 0, rows), -1.0)] {
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
    /// So many rows, from the first number on, of a matrix rearranged before, and as many of its columns as are asked for.
    Blocks(&'a Below, usize, usize),
}

impl<'a> From<Rows<'a>> for Columns<'a> {
    fn from(rows: Rows<'a>) -> Self {
        Columns::Rows(rows)
    }
}

impl<'a> Columns<'a> {
    /// Whether there are so many rows and columns.
    pub(super) fn have(&self, rows: usize, columns: usize) -> bool {
        match self {
            Columns::Rows(matrix) => matrix.rows == rows && matrix.columns == columns,
            Columns::Blocks(blocks, first, count) => {
                *count == rows && columns <= blocks.columns && first + count <= blocks.rows
            }
        }
    }

    pub(super) fn left(self) -> Left<'a> {
        match self {
            Columns::Rows(rows) => Left { data: rows.data, block: BLOCK, row: 1, step: rows.stride },
            Columns::Blocks(blocks, first, _) => blocks.left(0, first),
        }
    }
}

impl Below {
    /// The left-hand side from a block and a row on.
    fn left(&self, index: usize, first: usize) -> Left<'_> {
        Left { data: self.block(index, first), block: BLOCK * self.places, row: 1, step: BLOCK }
    }
}

struct Pack<'a, const WIDTH: usize> {
    blocks: &'a mut Blocks<WIDTH>,
    first: usize,
    a: Rows<'a>,
}

/// Rows that are taken together: each is on a page of its own.
const TOGETHER: usize = 16;

impl<const WIDTH: usize> Vectorised for Pack<'_, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { blocks, first, a } = self;
        let copied = Blocks::<WIDTH>::COPIED;
        for start in (0..a.rows).step_by(TOGETHER) {
            for (index, column) in (0..a.columns).step_by(WIDTH).enumerate() {
                for row in start..(start + TOGETHER).min(a.rows) {
                    let from = &a.data[row * a.stride + column..];
                    let place = &mut blocks.data[(index * blocks.places + first + row) * WIDTH..][..copied];
                    match from.len() >= copied {
                        true => place.copy_from_slice(&from[..copied]),
                        false => place[..from.len()].copy_from_slice(from),
                    }
                }
            }
        }
    }
}

/// Rows of a gradient that are gathered at once, all but the last: blocks of them with what they are made of stay in the second cache.
pub const BANDS: usize = 10 * BLOCK;

/// Some rows of what weights were multiplied with, and what comes back through them.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The one, and its first row.
    pub below: (&'a Below, usize),
    /// The other, and its first row.
    pub above: (&'a Above, usize),
    /// How many rows.
    pub rows: usize,
}

/// The most pairs there may be.
const MOST: usize = 16;

/// gradient ← Σ belowᵀ above, or gradient ← gradient + Σ belowᵀ above, over all rows of all pairs in their order; of `below` the columns from
/// `first` on, a multiple of 12.
///
/// ```
/// use ebbtide::numeric::product::{Above, BANDS, Below, Pair, Rows, RowsMut, Write, gather};
///
/// // Two rows of one input and a 1, which is what a bias is multiplied with; and the gradient of one output.
/// let (mut below, mut above) = (Below::new(2, 1 + 1), Above::new(2, 1));
/// below.pack(0, Rows::new(&[2.0, 3.0], 2, 1, 1));
/// below.set_ones(1, 2);
/// above.pack(0, Rows::new(&[10.0, 100.0], 2, 1, 1));
/// let pair = Pair { below: (&below, 0), above: (&above, 0), rows: 2 };
/// let mut gradient = [0.0; 2];
/// // A band at a time, of which there is one here; any thread may take any of them.
/// for (band, place) in gradient.chunks_mut(BANDS).enumerate() {
///     gather(RowsMut::new(place, place.len(), 1, 1), band * BANDS, Write::Replace, [pair].into_iter());
/// }
/// assert_eq!(gradient, [320.0, 110.0]);
/// // Rows that come later go on from there.
/// let second = Pair { below: (&below, 1), above: (&above, 1), rows: 1 };
/// gather(RowsMut::new(&mut gradient, 2, 1, 1), 0, Write::Add, [second].into_iter());
/// assert_eq!(gradient, [620.0, 210.0]);
/// ```
pub fn gather<'a>(
    gradient: RowsMut,
    first: usize,
    write: Write,
    pairs: impl Iterator<Item = Pair<'a>> + Clone,
) {
    assert!(first.is_multiple_of(BLOCK), "blocks are not cut");
    for pair in pairs.clone() {
        let (below, above) = (pair.below.0, pair.above.0);
        assert!(
            first + gradient.rows <= below.columns && gradient.columns == above.columns,
            "shapes must fit"
        );
        assert!(
            pair.below.1 + pair.rows <= below.rows && pair.above.1 + pair.rows <= above.rows,
            "rows must be there"
        );
    }
    let pairs = pairs.filter(|pair| pair.rows > 0);
    assert!(pairs.clone().count() <= MOST, "not so many pairs");
    if pairs.clone().next().is_none() {
        if write == Write::Replace {
            let rows = gradient.data.chunks_mut(gradient.stride.max(1)).take(gradient.rows);
            rows.for_each(|row| row[..gradient.columns].fill(0.0));
        }
        return;
    }
    crate::numeric::vectors().dispatch(Gather { gradient, first, write, pairs });
}

struct Gather<'a, Pairs> {
    gradient: RowsMut<'a>,
    first: usize,
    write: Write,
    pairs: Pairs,
}

impl<'a, Pairs: Iterator<Item = Pair<'a>> + Clone> WithSimd for Gather<'_, Pairs> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { gradient, first, write, pairs } = self;
        let count = pairs.clone().count();
        // All blocks of what is below stay in the second cache while a panel of what is above passes by, and meanwhile the next one is brought near.
        let mut column = 0;
        while column < gradient.columns {
            let vectors = (gradient.columns - column).div_ceil(S::F32_LANES).min(2);
            let columns = (gradient.columns - column).min(vectors * S::F32_LANES);
            let mut terms = [Term::NONE; MOST];
            for (term, Pair { below, above, rows }) in terms.iter_mut().zip(pairs.clone()) {
                let left = below.0.left(first / BLOCK, below.1);
                let data = &above.0.block(column / PANEL, above.1)[column % PANEL..];
                let next = above.0.block(column / PANEL + 1, above.1);
                *term = Term { inner: rows, left, right: Right { data, step: PANEL, next } };
            }
            let (terms, data) = (&terms[..count], &mut gradient.data[column..]);
            let result =
                Result { data, rows: gradient.rows, stride: gradient.stride, columns, distant: true };
            match (vectors, write) {
                (2, Write::Replace) => strip::<S, 2, FETCH_GATHER>(simd, terms, result),
                (2, Write::Add) => strip::<S, 2, FETCH_RESUME>(simd, terms, result),
                (_, Write::Replace) => strip::<S, 1, FETCH_GATHER>(simd, terms, result),
                (_, Write::Add) => strip::<S, 1, FETCH_RESUME>(simd, terms, result),
            }
            column += columns;
        }
    }
}

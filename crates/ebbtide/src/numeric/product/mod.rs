//! Matrix products for the network: tall, thin activations times weights that were arranged once per update.
//!
//! Every element of a product is one chain of fused multiply-adds in the order of the inner index, whatever the
//! vectors' width: results are the same on every machine.
//!
//! ```
//! use ebbtide::numeric::product::{Panels, Rows, RowsMut, Write, accumulate, multiply, scratch};
//!
//! // Two rows of three inputs, and weights from three inputs to two outputs.
//! let inputs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
//! let inputs = Rows::new(&inputs, 2, 3, 3);
//! let mut weights = Panels::new(3, 2);
//! weights.pack(0, &[1.0, 0.0, 0.0, 1.0, 2.0, -1.0]);
//! let mut outputs = [0.0; 4];
//! multiply(RowsMut::new(&mut outputs, 2, 2, 2), inputs, &weights);
//! assert_eq!(outputs, [7.0, -1.0, 16.0, -1.0]);
//!
//! // The way back: each weight gets the sum over rows of its input times the gradient of its output.
//! let above = [1.0, 0.0, 0.0, 10.0];
//! let (mut gradient, mut space) = ([0.0; 6], vec![0.0; scratch(2)]);
//! let (place, above) = (RowsMut::new(&mut gradient, 3, 2, 2), Rows::new(&above, 2, 2, 2));
//! accumulate(place, Write::Replace, inputs, above, &mut space);
//! assert_eq!(gradient, [1.0, 40.0, 2.0, 50.0, 3.0, 60.0]);
//! ```

mod columns;
mod panels;
mod past;
mod prefetch;
mod strip;
#[cfg(test)]
mod tests;
mod transpose;

use pulp::{Simd, WithSimd};

pub use self::columns::{Above, BANDS, Below, Columns, FAR, Pair, gather};
use self::panels::PANEL;
pub use self::panels::Panels;
use self::strip::{ADD, BLOCK, FETCH, GATHER, Left, REPLACE, RESUME, Result, Right, Term, strip};
pub(crate) use self::transpose::transpose;
use self::transpose::transpose_past;
use super::aligned::LINE;

/// A matrix by rows, `stride` apart.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    stride: usize,
}

/// As [`Rows`], to be written.
pub struct RowsMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
    stride: usize,
}

/// Panics unless all rows lie inside a slice of `length` and none overlap: what makes products safe.
fn check(length: usize, rows: usize, columns: usize, stride: usize) {
    assert!(stride >= columns, "rows may not overlap");
    if rows > 0 {
        let last = (rows - 1).checked_mul(stride).and_then(|start| start.checked_add(columns));
        assert!(last.is_some_and(|end| end <= length), "a matrix must lie inside its slice");
    }
}

impl<'a> Rows<'a> {
    /// `rows` rows of `columns` numbers, `stride` apart.
    pub fn new(data: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        check(data.len(), rows, columns, stride);
        Self { data, rows, columns, stride }
    }
}

impl<'a> RowsMut<'a> {
    /// See [`Rows::new`].
    pub fn new(data: &'a mut [f32], rows: usize, columns: usize, stride: usize) -> Self {
        check(data.len(), rows, columns, stride);
        Self { data, rows, columns, stride }
    }
}

/// Columns that gradients are gathered in together.
const BAND: usize = 4 * PANEL;

/// More numbers than this do not stay in the second cache beside what else is needed there.
const MANY: usize = 1 << 17;

/// c ← a b. Where the stride of `c` has room for them, columns up to the next whole line become zero.
pub fn multiply(c: RowsMut, a: Rows, b: &Panels) {
    assert!(a.rows == c.rows && a.columns == b.inner && c.columns == b.columns, "shapes must fit");
    super::vectors().dispatch(Multiply { c, a, b });
}

struct Multiply<'a> {
    c: RowsMut<'a>,
    a: Rows<'a>,
    b: &'a Panels,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { c, a, b } = self;
        let written = c.stride.min(c.columns.next_multiple_of(LINE));
        let panels = b.columns.div_ceil(PANEL);
        // Rows that stay in the second cache while the panels pass by; each has the next one brought near.
        let together = (MANY / a.columns.max(1) / BLOCK).max(1) * BLOCK;
        let wide = a.rows > together;
        for row in (0..a.rows).step_by(together) {
            let rows = (a.rows - row).min(together);
            let left =
                Left { data: &a.data[row * a.stride..], block: BLOCK * a.stride, row: a.stride, step: 1 };
            for index in 0..panels {
                let (start, width) = b.panel(index);
                let (data, next) = b.data[start..].split_at(b.inner * width);
                let next = if index + 1 < panels { next } else { &b.data };
                // No vector that is all padding.
                let wanted = width.min(written - (index * PANEL).min(written));
                let mut offset = 0;
                while offset < wanted {
                    let vectors = (wanted - offset).div_ceil(S::F32_LANES).min(2);
                    let (first, columns) = (index * PANEL + offset, vectors * S::F32_LANES);
                    let right = Right { data: data.get(offset..).unwrap_or_default(), step: width, next };
                    let (data, columns) =
                        (&mut c.data[row * c.stride + first..], columns.min(written - first));
                    let result = Result { data, rows, stride: c.stride, columns, distant: false };
                    let term = &Term { inner: b.inner, left, right };
                    match (vectors, wide) {
                        (2, true) => strip::<S, 2, FETCH>(simd, term, result),
                        (2, false) => strip::<S, 2, REPLACE>(simd, term, result),
                        _ => strip::<S, 1, REPLACE>(simd, term, result),
                    }
                    offset += vectors * S::F32_LANES;
                }
            }
        }
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

/// gradient ← aᵀ b, or gradient ← gradient + aᵀ b: how the gradient of a layer's weights is gathered over rows. Needs
/// [`scratch`] numbers to work with.
pub fn accumulate<'a>(
    gradient: RowsMut,
    write: Write,
    a: impl Into<Columns<'a>>,
    b: Rows,
    scratch: &mut [f32],
) {
    let a = a.into();
    assert!(a.have(b.rows, gradient.rows) && gradient.columns == b.columns, "shapes must fit");
    if b.rows > 0 && gradient.rows > 0 {
        super::vectors().dispatch(Accumulate { gradient, write, a, b, scratch });
    }
}

/// How many numbers of scratch [`accumulate`] needs for so many rows.
pub fn scratch(rows: usize) -> usize {
    rows * BAND
}

/// Fewer columns on the left-hand side than this, or fewer rows, would not be worth a copy of the right-hand side.
const OFTEN: usize = 24;
/// So few rows of a right-hand side stay in the nearest cache, four vectors of each.
const SHORT: usize = 64;

/// Results of more numbers are not at hand when they are written.
const DISTANT: usize = 1 << 15;

struct Accumulate<'a> {
    gradient: RowsMut<'a>,
    write: Write,
    a: Columns<'a>,
    b: Rows<'a>,
    scratch: &'a mut [f32],
}

impl WithSimd for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { gradient, write, a, b, scratch } = self;
        let left = a.left();
        // What is walked down together: all columns, or only those that stay in the nearest cache while a band passes by.
        let near = gradient.rows * b.rows.max(b.columns) <= MANY;
        let together = if near { gradient.rows } else { BLOCK };
        // Few columns are near as they stand; few rows or results are not worth the copy. A vector may not read beyond the last row, where
        // there is no padding.
        let last = (b.rows - 1) * b.stride + b.columns.next_multiple_of(S::F32_LANES);
        let worth = b.columns >= FAR && gradient.rows.min(b.rows) >= OFTEN;
        let stands = !worth && last <= b.data.len();
        let band = if stands { b.columns.max(1) } else { BAND };
        let distant = gradient.data.len() > DISTANT;
        // Long rows are gone along, not down: some of them at a time, whose pages are at hand.
        let long = !worth && b.columns >= FAR && write == Write::Replace;
        let deep = if long { SHORT } else { b.rows };
        let most = if stands && S::REGISTER_COUNT >= 32 && b.rows.min(deep) <= SHORT { 4 } else { 2 };
        for first in (0..b.columns).step_by(band) {
            let band = (b.columns - first).min(band);
            if !stands {
                rearrange::<S>(b, first, band, scratch);
            }
            for top in (0..b.rows).step_by(deep) {
                let inner = (b.rows - top).min(deep);
                for row in (0..gradient.rows).step_by(together) {
                    let rows = (gradient.rows - row).min(together);
                    let left =
                        Left { data: &left.data[row / BLOCK * left.block + top * left.step..], ..left };
                    let mut offset = 0;
                    while offset < band {
                        let vectors = (band - offset).div_ceil(S::F32_LANES);
                        let vectors = if vectors >= most { most } else { vectors.min(2) };
                        let columns = (band - offset).min(vectors * S::F32_LANES);
                        let (data, step) = match stands {
                            true => (&b.data[top * b.stride + first + offset..], b.stride),
                            false => (
                                &scratch[offset / PANEL * PANEL * b.rows + top * PANEL + offset % PANEL..],
                                PANEL,
                            ),
                        };
                        let right = Right { data, step, next: &[] };
                        let data = &mut gradient.data[row * gradient.stride + first + offset..];
                        let result = Result { data, rows, stride: gradient.stride, columns, distant };
                        let term = &Term { inner, left, right };
                        match (vectors, write) {
                            (4, _) if top > 0 => strip::<S, 4, RESUME>(simd, term, result),
                            (2, _) if top > 0 => strip::<S, 2, RESUME>(simd, term, result),
                            (_, _) if top > 0 => strip::<S, 1, RESUME>(simd, term, result),
                            (4, Write::Add) => strip::<S, 4, ADD>(simd, term, result),
                            (4, Write::Replace) => strip::<S, 4, GATHER>(simd, term, result),
                            (2, Write::Add) => strip::<S, 2, ADD>(simd, term, result),
                            (2, Write::Replace) => strip::<S, 2, GATHER>(simd, term, result),
                            (_, Write::Add) => strip::<S, 1, ADD>(simd, term, result),
                            (_, Write::Replace) => strip::<S, 1, GATHER>(simd, term, result),
                        }
                        offset += columns;
                    }
                }
            }
        }
    }
}

/// Copies a band of columns to `scratch` as a panel after the other, each by rows.
#[inline(always)]
fn rearrange<S: Simd>(b: Rows, first: usize, band: usize, scratch: &mut [f32]) {
    for (offset, panel) in (0..band).step_by(PANEL).zip(scratch.chunks_exact_mut(PANEL * b.rows)) {
        let columns = (band - offset).min(PANEL);
        for (row, place) in panel.chunks_exact_mut(PANEL).enumerate() {
            let from = &b.data[row * b.stride + first + offset..][..columns];
            if columns == PANEL {
                // By vectors: a call for so few numbers takes longer than to copy them.
                let vectors = S::as_mut_simd_f32s(place).0.iter_mut().zip(S::as_simd_f32s(from).0);
                vectors.for_each(|(place, from)| *place = *from);
            } else {
                place[..columns].copy_from_slice(from);
            }
        }
    }
}

//! Matrix products for the network: tall, thin activations times weights that were arranged once per update.
//!
//! Every element of a product is one chain of fused multiply-adds in the order of the inner index, whatever the
//! vectors' width: results are the same on every machine.

use pulp::{Simd, WithSimd};

use super::aligned::{Aligned, LINE};

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

/// Columns of a panel: two of the widest vectors.
const PANEL: usize = 2 * LINE;

/// Columns that gradients are gathered in together: four of the widest vectors.
const BAND: usize = 4 * LINE;

/// Rows of a panel that fit the nearest cache, with what else is needed there.
const DEEP: usize = 256;

// What becomes of what a result holds, and which numbers of the left-hand side are adjacent.

/// The sum replaces it; those of successive inner indices are.
const REPLACE: u8 = 0;
/// It is the beginning of the sum; as for `REPLACE`.
const CONTINUE: u8 = 1;
/// The sum is added to it; those of successive rows are.
const ADD: u8 = 2;
/// The sum replaces it; as for `ADD`.
const GATHER: u8 = 3;

/// The right-hand side of products, an inner × columns matrix cut into panels of 32 columns (16 where that is enough
/// for the last), each by rows and padded with zeros.
#[derive(Clone)]
pub struct Panels {
    inner: usize,
    columns: usize,
    data: Aligned,
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
    pub fn pack_transposed(&mut self, matrix: &[f32]) {
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
    fn panel(&self, index: usize) -> (usize, usize) {
        let width = (self.columns.next_multiple_of(LINE) - index * PANEL).min(PANEL);
        (index * PANEL * self.inner, width)
    }
}

/// Writes the transpose of a matrix of so many columns, whose rows are `stride` apart, with its own rows
/// `transposed_stride` apart.
///
/// A few lines are read at a time and all of what they hold is written, so that both stay in the cache.
pub fn transpose(
    matrix: &[f32],
    stride: usize,
    columns: usize,
    transposed: &mut [f32],
    transposed_stride: usize,
) {
    for first in (0..columns).step_by(LINE) {
        let width = (columns - first).min(LINE);
        for (row, from) in matrix.chunks(stride).enumerate() {
            for (column, &value) in from[first..first + width].iter().enumerate() {
                transposed[(first + column) * transposed_stride + row] = value;
            }
        }
    }
}

/// c ← a b. Where the stride of `c` has room for them, columns up to the next whole line become zero.
pub fn multiply(c: RowsMut, a: Rows, b: &Panels) {
    assert!(a.rows == c.rows && a.columns == b.inner && c.columns == b.columns, "shapes must fit");
    pulp::Arch::new().dispatch(Multiply { c, a, b });
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
        // At least once, so that a product over nothing is zero.
        for deep in (0..b.inner.max(1)).step_by(DEEP) {
            let inner = (b.inner - deep).min(DEEP);
            let data = a.data.get(deep..).unwrap_or_default();
            let left = Left { data, block: BLOCK * a.stride, row: a.stride, step: 1 };
            for index in 0..b.columns.div_ceil(PANEL) {
                let (start, width) = b.panel(index);
                let panel = &b.data[start + deep * width..start + (deep + inner) * width];
                let mut offset = 0;
                while offset < width && index * PANEL + offset < written {
                    let vectors = (width - offset).div_ceil(S::F32_LANES).min(2);
                    let (first, columns) = (index * PANEL + offset, vectors * S::F32_LANES);
                    let right = Right { data: panel.get(offset..).unwrap_or_default(), step: width };
                    let (data, columns) = (&mut c.data[first..], columns.min(written - first));
                    let result = Result { data, rows: c.rows, stride: c.stride, columns };
                    match (vectors, deep) {
                        (2, 0) => strip::<S, 2, REPLACE>(simd, inner, left, right, result),
                        (2, _) => strip::<S, 2, CONTINUE>(simd, inner, left, right, result),
                        (_, 0) => strip::<S, 1, REPLACE>(simd, inner, left, right, result),
                        (_, _) => strip::<S, 1, CONTINUE>(simd, inner, left, right, result),
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
pub fn accumulate(gradient: RowsMut, write: Write, a: Columns, b: Rows, scratch: &mut [f32]) {
    let (rows, columns) = a.shape();
    assert!(rows == b.rows && gradient.rows == columns && gradient.columns == b.columns, "shapes must fit");
    if rows > 0 && columns > 0 {
        pulp::Arch::new().dispatch(Accumulate { gradient, write, a, b, scratch });
    }
}

/// How many numbers of scratch [`accumulate`] needs for so many rows.
pub fn scratch(rows: usize) -> usize {
    rows * BAND
}

/// The matrix whose columns are multiplied.
#[derive(Clone, Copy)]
pub enum Columns<'a> {
    /// As it stands.
    Rows(Rows<'a>),
    /// So many rows, from the first number on, of a matrix rearranged before.
    Blocks(&'a Blocks, usize, usize),
}

impl<'a> Columns<'a> {
    fn shape(&self) -> (usize, usize) {
        match self {
            Columns::Rows(rows) => (rows.rows, rows.columns),
            Columns::Blocks(blocks, _, count) => (*count, blocks.columns),
        }
    }

    fn left(self) -> Left<'a> {
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
/// The same for the right-hand side, which is walked down less often.
const FAR_RIGHT: usize = 512;
/// Fewer columns on the left-hand side than this would not be worth the copy.
const OFTEN: usize = 24;

/// A matrix with its columns in blocks of 12, each by rows.
pub struct Blocks {
    data: Aligned,
    rows: usize,
    columns: usize,
}

impl Blocks {
    /// Room for so many numbers of rows and columns.
    pub fn new(rows: usize, columns: usize) -> Self {
        let data = Aligned::zeros(rows * columns.next_multiple_of(BLOCK));
        Self { data, rows: 0, columns }
    }

    /// Takes a matrix of as many columns as there is room for, and no more rows.
    pub fn pack(&mut self, a: Rows) {
        assert!(a.columns == self.columns, "shapes must fit");
        self.rows = a.rows;
        if a.rows == 0 {
            return;
        }
        for (index, block) in self.data.chunks_exact_mut(BLOCK * a.rows).enumerate() {
            let first = (index * BLOCK).min(a.columns);
            let columns = (a.columns - first).min(BLOCK);
            for (row, place) in block.chunks_exact_mut(BLOCK).enumerate() {
                let from = &a.data[row * a.stride + first..][..columns];
                match columns {
                    BLOCK => place.copy_from_slice(&from[..BLOCK]),
                    _ => place[..columns].copy_from_slice(from),
                }
            }
        }
    }
}

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
        let near = b.columns < FAR_RIGHT || gradient.rows < OFTEN;
        let mut first = 0;
        while first < b.columns {
            let remaining = b.columns - first;
            let most = if S::REGISTER_COUNT >= 32 { 4 } else { 2 };
            let vectors =
                if remaining >= most * S::F32_LANES { most } else { remaining.div_ceil(S::F32_LANES).min(2) };
            let (width, columns) = (vectors * S::F32_LANES, remaining.min(vectors * S::F32_LANES));
            // A vector may not read beyond the last row, where there is no padding.
            let right = if near && (b.rows - 1) * b.stride + first + width <= b.data.len() {
                Right { data: &b.data[first..], step: b.stride }
            } else {
                for (row, place) in scratch.chunks_exact_mut(width).take(b.rows).enumerate() {
                    place[..columns].copy_from_slice(&b.data[row * b.stride + first..][..columns]);
                }
                Right { data: scratch, step: width }
            };
            let data = &mut gradient.data[first..];
            let result = Result { data, rows: gradient.rows, stride: gradient.stride, columns };
            match (vectors, write) {
                (4, Write::Add) => strip::<S, 4, ADD>(simd, b.rows, left, right, result),
                (4, Write::Replace) => strip::<S, 4, GATHER>(simd, b.rows, left, right, result),
                (2, Write::Add) => strip::<S, 2, ADD>(simd, b.rows, left, right, result),
                (2, Write::Replace) => strip::<S, 2, GATHER>(simd, b.rows, left, right, result),
                (_, Write::Add) => strip::<S, 1, ADD>(simd, b.rows, left, right, result),
                (_, Write::Replace) => strip::<S, 1, GATHER>(simd, b.rows, left, right, result),
            }
            first += width;
        }
    }
}

/// Rows of a result that are computed together, where registers allow.
const BLOCK: usize = 12;

/// A left-hand side: rows in blocks of 12, `block` apart, `row` apart inside; `step` from one inner index to the next.
#[derive(Clone, Copy)]
struct Left<'a> {
    data: &'a [f32],
    block: usize,
    row: usize,
    step: usize,
}

/// A right-hand side of one or two vectors for each inner index, `step` apart.
#[derive(Clone, Copy)]
struct Right<'a> {
    data: &'a [f32],
    step: usize,
}

/// Where a strip of a product goes: as many columns as there are, at most the strip's vectors.
struct Result<'a> {
    data: &'a mut [f32],
    rows: usize,
    stride: usize,
    columns: usize,
}

/// A product whose right-hand side is V vectors wide. As many rows at a time as accumulators fit the registers.
#[inline(always)]
#[allow(unsafe_code)]
fn strip<S: Simd, const V: usize, const MODE: u8>(
    simd: S,
    inner: usize,
    left: Left,
    right: Right,
    result: Result,
) {
    let (rows, stride, columns) = (result.rows, result.stride, result.columns);
    if rows == 0 {
        return;
    }
    // What the blocks below may touch, checked once for all of them.
    assert!((rows - 1) * stride + columns <= result.data.len() && columns <= V * S::F32_LANES);
    if inner > 0 {
        let last = (rows - 1) / BLOCK * left.block + (rows - 1) % BLOCK * left.row;
        assert!(last + (inner - 1) * left.step < left.data.len() && left.block >= (BLOCK - 1) * left.row);
        assert!((inner - 1) * right.step + V * S::F32_LANES <= right.data.len());
    }
    let (a, b, c) = (left.data.as_ptr(), right.data.as_ptr(), result.data.as_mut_ptr());
    let many = S::REGISTER_COUNT >= 32;
    let mut row = 0;
    while row < rows {
        // Blocks of fewer rows come last and never reach into the next twelve.
        let block = Block {
            inner,
            a: a.wrapping_add(row / BLOCK * left.block + row % BLOCK * left.row),
            a_row: if MODE >= ADD { 1 } else { left.row },
            a_step: if MODE >= ADD { left.step } else { 1 },
            b,
            b_step: right.step,
            c: c.wrapping_add(row * stride),
            c_row: stride,
            columns,
        };
        // SAFETY: the assertions above hold for the last row and column, and so for all before them; `c` is borrowed
        // mutably and shares nothing with `a` and `b`.
        row += unsafe {
            match rows - row {
                12.. if many && V < 4 => block.run::<S, V, 12, MODE>(simd),
                8.. if many && V < 4 => block.run::<S, V, 8, MODE>(simd),
                6.. if !many || V == 4 => block.run::<S, V, 6, MODE>(simd),
                4.. => block.run::<S, V, 4, MODE>(simd),
                2.. => block.run::<S, V, 2, MODE>(simd),
                _ => block.run::<S, V, 1, MODE>(simd),
            }
        };
    }
}

/// Some rows of a strip. One of `a_row` and `a_step` is 1, by MODE: as a constant it becomes part of the instructions.
struct Block {
    inner: usize,
    a: *const f32,
    a_row: usize,
    a_step: usize,
    b: *const f32,
    b_step: usize,
    c: *mut f32,
    c_row: usize,
    columns: usize,
}

impl Block {
    /// M rows, held in registers while the inner index runs. Answers with M.
    ///
    /// SAFETY: all three pointers are good for M rows, `inner` steps and V vectors; of the last vector of `c` only what
    /// is within `columns` is touched.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn run<S: Simd, const V: usize, const M: usize, const MODE: u8>(self, simd: S) -> usize {
        let lanes = S::F32_LANES;
        let whole = self.columns == V * lanes;
        let mut sums = [[simd.splat_f32s(0.0); V]; M];
        if MODE == CONTINUE {
            let mut before = sums;
            for (m, before) in before.iter_mut().enumerate() {
                let before = pulp::bytemuck::cast_slice_mut::<_, f32>(before);
                // SAFETY: row m of the result.
                let place = unsafe { std::slice::from_raw_parts(self.c.add(m * self.c_row), self.columns) };
                before[..self.columns].copy_from_slice(place);
            }
            sums = before;
        }
        // Every third row has a pointer of its own, and the two after it are reached by the processor's own addressing.
        let mut a = [self.a; BLOCK / 3];
        for (group, a) in a.iter_mut().enumerate() {
            *a = a.wrapping_add(3 * group * self.a_row);
        }
        // Without the compiler knowing how they are related: it would find them one from the other, in as many additions.
        a = std::hint::black_box(a);
        let mut b = self.b;
        // SAFETY: at inner index k < inner, `a` and `b` stand k steps from where they began.
        unsafe {
            // Four at a time: a loop of 64 turns is too long for its end to be foreseen, one of 16 is not.
            for _ in 0..self.inner / 4 {
                for k in 0..4 {
                    let here = a.map(|a| a.wrapping_add(k * self.a_step));
                    step(simd, &mut sums, here, self.a_row, b.wrapping_add(k * self.b_step));
                }
                a = a.map(|a| a.wrapping_add(4 * self.a_step));
                b = b.wrapping_add(4 * self.b_step);
            }
            for k in 0..self.inner % 4 {
                let here = a.map(|a| a.wrapping_add(k * self.a_step));
                step(simd, &mut sums, here, self.a_row, b.wrapping_add(k * self.b_step));
            }
        }
        if whole {
            for m in 0..M {
                for v in 0..V {
                    // SAFETY: row m of the result, which has V vectors.
                    unsafe {
                        let place = self.c.add(m * self.c_row + v * lanes).cast::<S::f32s>();
                        let sum = sums[m][v];
                        let sum = if MODE == ADD { simd.add_f32s(place.read_unaligned(), sum) } else { sum };
                        place.write_unaligned(sum);
                    }
                }
            }
        } else {
            // A copy, so that the sums themselves are never indexed at run time and stay in registers.
            let sums = sums;
            for (m, sums) in sums.iter().enumerate() {
                // SAFETY: row m of the result, and no more of it than there is.
                let place =
                    unsafe { std::slice::from_raw_parts_mut(self.c.add(m * self.c_row), self.columns) };
                let sums: &[f32] = pulp::bytemuck::cast_slice(sums);
                for (place, sum) in place.iter_mut().zip(sums) {
                    *place = if MODE == ADD { *place + sum } else { *sum };
                }
            }
        }
        M
    }
}

/// sums ← sums + one number of each of M rows · V vectors. Every third row begins at a pointer of its own.
///
/// SAFETY: the pointers are good for rows `row` apart, and `b` for V vectors.
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn step<S: Simd, const V: usize, const M: usize>(
    simd: S,
    sums: &mut [[S::f32s; V]; M],
    a: [*const f32; BLOCK / 3],
    row: usize,
    b: *const f32,
) {
    let mut vectors = [simd.splat_f32s(0.0); V];
    for v in 0..V {
        // SAFETY: as promised.
        vectors[v] = unsafe { b.add(v * S::F32_LANES).cast::<S::f32s>().read_unaligned() };
    }
    for m in 0..M {
        // SAFETY: as promised.
        let factor = simd.splat_f32s(unsafe { *a[m / 3].add(m % 3 * row) });
        for v in 0..V {
            sums[m][v] = simd.mul_add_f32s(factor, vectors[v], sums[m][v]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::aligned::row_stride;

    fn numbers(count: usize, pace: f32) -> Vec<f32> {
        (0..count).map(|i| (i as f32 * pace).sin()).collect()
    }

    /// A matrix with rows `stride` apart and something that must not be read between them.
    fn spread(values: &[f32], columns: usize, stride: usize) -> Vec<f32> {
        let rows = values.chunks_exact(columns);
        rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(f32::NAN, stride - columns)))
            .collect()
    }

    /// Shapes on both sides of every edge: blocks of rows, vectors, panels, deep sums.
    fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
        let rows = [1, 2, 3, 5, 6, 7, 11, 12, 13, 25, 37];
        let inner = [1, 2, 5, 12, 64, 255, 256, 257, 600];
        let columns = [1, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100];
        rows.into_iter().flat_map(move |m| inner.into_iter().flat_map(move |k| columns.map(|n| (m, k, n))))
    }

    /// Σ_k a(k) b(k) as one chain of fused multiply-adds: what every element of a product must be, to the bit.
    fn chain(inner: usize, a: impl Fn(usize) -> f32, b: impl Fn(usize) -> f32) -> f32 {
        (0..inner).fold(0.0, |sum, k| a(k).mul_add(b(k), sum))
    }

    #[test]
    fn products_are_chains_of_multiply_adds() {
        for (m, k, n) in shapes() {
            let (a, b) = (numbers(m * k, 0.37), numbers(k * n, 0.71));
            let stride = row_stride(k);
            let spread_a = spread(&a, k, stride);
            let left = Rows::new(&spread_a, m, k, stride);
            let transposed: Vec<f32> = (0..n * k).map(|i| b[i % k * n + i / k]).collect();
            let (mut panels, mut from_transposed) = (Panels::new(k, n), Panels::new(k, n));
            panels.pack(0, &b);
            from_transposed.pack_transposed(&transposed);
            assert_eq!(panels.data[..], from_transposed.data[..]);
            let mut c = vec![f32::NAN; m * n];
            multiply(RowsMut::new(&mut c, m, n, n), left, &panels);
            let mut padded = vec![f32::NAN; m * row_stride(n)];
            multiply(RowsMut::new(&mut padded, m, n, row_stride(n)), left, &panels);
            for i in 0..m {
                for j in 0..n {
                    let expected = chain(k, |l| a[i * k + l], |l| b[l * n + j]);
                    assert_eq!(c[i * n + j], expected, "{m} × {k} × {n}");
                    assert_eq!(padded[i * row_stride(n) + j], expected);
                }
                let padding = &padded[i * row_stride(n)..][n..n.next_multiple_of(LINE)];
                assert!(padding.iter().all(|&value| value == 0.0));
            }
        }
    }

    #[test]
    fn gradients_are_chains_added_to_what_there_was() {
        for (i, r, o) in shapes() {
            let (a, b) = (numbers(r * i, 0.37), numbers(r * o, 0.71));
            let (spread_a, spread_b) = (spread(&a, i, i + 3), spread(&b, o, o + 5));
            let right = Rows::new(&spread_b, r, o, o + 5);
            let mut room = vec![f32::NAN; scratch(r)];
            let mut blocks = Blocks::new(r, i);
            blocks.pack(Rows::new(&spread_a, r, i, i + 3));
            for left in [Columns::Rows(Rows::new(&spread_a, r, i, i + 3)), Columns::Blocks(&blocks, 0, r)] {
                let mut gradient = vec![1.5; i * o];
                accumulate(RowsMut::new(&mut gradient, i, o, o), Write::Add, left, right, &mut room);
                let mut fresh = vec![f32::NAN; i * o];
                accumulate(RowsMut::new(&mut fresh, i, o, o), Write::Replace, left, right, &mut room);
                for x in 0..i {
                    for y in 0..o {
                        let expected = chain(r, |row| a[row * i + x], |row| b[row * o + y]);
                        assert_eq!(gradient[x * o + y], 1.5 + expected, "{i} × {r} × {o}");
                        assert_eq!(fresh[x * o + y], expected, "{i} × {r} × {o}");
                    }
                }
            }
        }
    }

    #[test]
    fn some_rows_of_a_rearranged_matrix_are_those_rows() {
        let (rows, columns, outputs) = (20, 130, 600);
        let (a, b) = (numbers(rows * columns, 0.37), numbers(rows * outputs, 0.71));
        let mut blocks = Blocks::new(rows + 7, columns);
        blocks.pack(Rows::new(&a, rows, columns, columns));
        let (first, count) = (3, 14);
        let right = Rows::new(&b[first * outputs..], count, outputs, outputs);
        let mut room = vec![0.0; scratch(count)];
        let mut gradients = [vec![0.0; columns * outputs], vec![0.0; columns * outputs]];
        let left = Rows::new(&a[first * columns..], count, columns, columns);
        let lefts = [Columns::Rows(left), Columns::Blocks(&blocks, first, count)];
        for (gradient, left) in gradients.iter_mut().zip(lefts) {
            accumulate(RowsMut::new(gradient, columns, outputs, outputs), Write::Add, left, right, &mut room);
        }
        assert_eq!(gradients[0], gradients[1]);
    }

    #[test]
    fn matrices_side_by_side_are_one_matrix() {
        let (inner, first, second) = (7, 30, 11);
        let (a, b) = (numbers(inner * first, 0.3), numbers(inner * second, 0.7));
        let joined: Vec<f32> = (0..inner)
            .flat_map(|k| a[k * first..(k + 1) * first].iter().chain(&b[k * second..(k + 1) * second]))
            .copied()
            .collect();
        let (mut apart, mut whole) = (Panels::new(inner, first + second), Panels::new(inner, first + second));
        apart.pack(0, &a);
        apart.pack(first, &b);
        whole.pack(0, &joined);
        assert_eq!(apart.data[..], whole.data[..]);
    }

    #[test]
    fn a_product_over_nothing_is_zero() {
        let mut c = vec![3.0; 4];
        multiply(RowsMut::new(&mut c, 2, 2, 2), Rows::new(&[], 2, 0, 0), &Panels::new(0, 2));
        assert_eq!(c, [0.0; 4]);
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let (m, k, n) = (29, 300, 77);
        let (a, b) = (numbers(m * k, 0.37), numbers(k * n, 0.71));
        let mut panels = Panels::new(k, n);
        panels.pack(0, &b);
        let product = |simd: &dyn Fn(Multiply)| {
            let mut c = vec![0.0; m * n];
            simd(Multiply { c: RowsMut::new(&mut c, m, n, n), a: Rows::new(&a, m, k, k), b: &panels });
            c
        };
        let gradient = |simd: &dyn Fn(Accumulate)| {
            let (mut gradient, mut scratch) = (vec![0.5; k * n], vec![0.0; scratch(m)]);
            simd(Accumulate {
                gradient: RowsMut::new(&mut gradient, k, n, n),
                write: Write::Add,
                a: Columns::Rows(Rows::new(&a, m, k, k)),
                b: Rows::new(&b, m, n, n),
                scratch: &mut scratch,
            });
            gradient
        };
        let scalar = (
            product(&|work| work.with_simd(pulp::Scalar::new())),
            gradient(&|work| work.with_simd(pulp::Scalar::new())),
        );
        let best = pulp::Arch::new();
        assert!((product(&|work| best.dispatch(work)), gradient(&|work| best.dispatch(work))) == scalar);
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            let v3 =
                (product(&|work| Simd::vectorize(simd, work)), gradient(&|work| Simd::vectorize(simd, work)));
            assert!(v3 == scalar);
        }
    }
}

//! The innermost loops: a strip of a product, as many rows at a time as accumulators fit the registers.

use pulp::Simd;

// What becomes of what a result holds, and which numbers of the left-hand side are adjacent.

/// The sum replaces it; those of successive inner indices are.
pub(super) const REPLACE: u8 = 0;
/// The sum is added to it; those of successive rows are.
pub(super) const ADD: u8 = 1;
/// The sum replaces it; as for `ADD`.
pub(super) const GATHER: u8 = 2;

/// Rows of a result that are computed together, where registers allow.
pub(super) const BLOCK: usize = 12;

/// A left-hand side: rows in blocks of 12, `block` apart, `row` apart inside; `step` from one inner index to the next.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub(super) data: &'a [f32],
    pub(super) block: usize,
    pub(super) row: usize,
    pub(super) step: usize,
}

/// A right-hand side of one or two vectors for each inner index, `step` apart.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub(super) data: &'a [f32],
    pub(super) step: usize,
}

/// Where a strip of a product goes: as many columns as there are, at most the strip's vectors.
pub(super) struct Result<'a> {
    pub(super) data: &'a mut [f32],
    pub(super) rows: usize,
    pub(super) stride: usize,
    pub(super) columns: usize,
}

/// A product whose right-hand side is V vectors wide. As many rows at a time as accumulators fit the registers.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn strip<S: Simd, const V: usize, const MODE: u8>(
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
                12.. if (many && V < 4) || V == 1 => block.run::<S, V, 12, MODE>(simd),
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

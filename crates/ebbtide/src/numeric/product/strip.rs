//! The innermost loops: a strip of a product, as many rows at a time as accumulators fit the registers.

use pulp::Simd;

use super::prefetch::{prefetch, prefetch_far};
use crate::numeric::aligned::LINE;

// What becomes of what a result holds, and which numbers of the left-hand side are adjacent.

/// The sum replaces it; those of successive inner indices are.
pub(super) const REPLACE: u8 = 0;
/// The same, and meanwhile the panel that comes next is brought near.
pub(super) const FETCH: u8 = 1;
/// The sum is added to it; those of successive rows are.
pub(super) const ADD: u8 = 2;
/// The sum replaces it; as for `ADD`.
pub(super) const GATHER: u8 = 3;
/// The sum goes on from it; as for `ADD`.
pub(super) const RESUME: u8 = 4;

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

/// A right-hand side of one or two vectors for each inner index, `step` apart, and the one that comes next.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub(super) data: &'a [f32],
    pub(super) step: usize,
    pub(super) next: &'a [f32],
}

/// Results of more numbers are not at hand when they are written.
const DISTANT: usize = 1 << 15;

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
        debug_assert_eq!(1, if MODE >= ADD { left.row } else { left.step });
        let last = (rows - 1) / BLOCK * left.block + (rows - 1) % BLOCK * left.row;
        assert!(last + (inner - 1) * left.step < left.data.len() && left.block >= (BLOCK - 1) * left.row);
        assert!((inner - 1) * right.step + V * S::F32_LANES <= right.data.len());
    }
    let (a, b, c) = (left.data.as_ptr(), right.data.as_ptr(), result.data.as_mut_ptr());
    let (many, distant) = (S::REGISTER_COUNT >= 32, result.data.len() > DISTANT);
    let mut row = 0;
    while row < rows {
        // Blocks of fewer rows come last and never reach into the next twelve.
        let block = Block {
            inner,
            a: a.wrapping_add(row / BLOCK * left.block + row % BLOCK * left.row),
            a_row: left.row,
            a_step: left.step,
            b,
            b_step: right.step,
            next: right.next.as_ptr().wrapping_add(row / BLOCK * (inner / TURN) * LINE),
            c: c.wrapping_add(row * stride),
            c_row: stride,
            distant,
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

/// Some rows of a strip. One of `a_row` and `a_step` is 1, by MODE, and not looked at: as a constant it becomes part of the instructions.
struct Block {
    inner: usize,
    a: *const f32,
    a_row: usize,
    a_step: usize,
    b: *const f32,
    b_step: usize,
    next: *const f32,
    c: *mut f32,
    c_row: usize,
    distant: bool,
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
        if MODE >= ADD && self.distant {
            for m in 0..M {
                (0..V).for_each(|v| prefetch(self.c.wrapping_add(m * self.c_row + v * lanes)));
            }
        }
        // SAFETY: as promised.
        let sums = unsafe {
            match MODE {
                RESUME => self.down_columns::<S, V, M>(simd, self.before::<S, V, M>(simd)),
                ADD | GATHER => self.down_columns::<S, V, M>(simd, [[simd.splat_f32s(0.0); V]; M]),
                _ => self.along_rows::<S, V, M, MODE>(simd),
            }
        };
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

    /// What the result holds.
    ///
    /// SAFETY: as for [`Block::run`].
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn before<S: Simd, const V: usize, const M: usize>(&self, simd: S) -> [[S::f32s; V]; M] {
        let lanes = S::F32_LANES;
        let mut sums = [[simd.splat_f32s(0.0); V]; M];
        for m in 0..M {
            for v in 0..V {
                let place = self.c.wrapping_add(m * self.c_row + v * lanes);
                let columns = self.columns.saturating_sub(v * lanes).min(lanes);
                // SAFETY: row m of the result, and no more of it than there is.
                sums[m][v] = unsafe {
                    match columns == lanes {
                        true => place.cast::<S::f32s>().read_unaligned(),
                        false => simd.partial_load_f32s(std::slice::from_raw_parts(place, columns)),
                    }
                };
            }
        }
        sums
    }

    /// Sums whose rows have their numbers side by side: one pointer reaches them all.
    ///
    /// SAFETY: as for [`Block::run`].
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn down_columns<S: Simd, const V: usize, const M: usize>(
        &self,
        simd: S,
        mut sums: [[S::f32s; V]; M],
    ) -> [[S::f32s; V]; M] {
        let (mut a, mut b) = (self.a, self.b);
        for _ in 0..self.inner / TURN {
            for _ in 0..TURN {
                forget(&mut a);
                forget(&mut b);
                // SAFETY: at inner index k, both stand k steps from where they began.
                unsafe { step(simd, &mut sums, starts(a, 1), 1, b) };
                (a, b) = (a.wrapping_add(self.a_step), b.wrapping_add(self.b_step));
            }
        }
        for _ in 0..self.inner % TURN {
            // SAFETY: as above.
            unsafe { step(simd, &mut sums, starts(a, 1), 1, b) };
            (a, b) = (a.wrapping_add(self.a_step), b.wrapping_add(self.b_step));
        }
        sums
    }

    /// Sums whose rows stand apart: every third has a pointer of its own, and the two after it are reached by the processor's own
    /// addressing.
    ///
    /// SAFETY: as for [`Block::run`].
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn along_rows<S: Simd, const V: usize, const M: usize, const MODE: u8>(
        &self,
        simd: S,
    ) -> [[S::f32s; V]; M] {
        let mut sums = [[simd.splat_f32s(0.0); V]; M];
        let (mut a, mut b, mut next) = (starts(self.a, self.a_row), self.b, self.next);
        for _ in 0..self.inner / TURN {
            a[..M.div_ceil(3)].iter_mut().for_each(forget);
            if MODE == FETCH {
                prefetch_far(next);
                next = next.wrapping_add(LINE);
            }
            for k in 0..TURN {
                // SAFETY: at inner index k, all stand k steps from where they began.
                unsafe { step(simd, &mut sums, a.map(|a| a.wrapping_add(k)), self.a_row, b) };
                b = b.wrapping_add(self.b_step);
            }
            a = a.map(|a| a.wrapping_add(TURN));
        }
        for k in 0..self.inner % TURN {
            // SAFETY: as above.
            unsafe { step(simd, &mut sums, a.map(|a| a.wrapping_add(k)), self.a_row, b) };
            b = b.wrapping_add(self.b_step);
        }
        sums
    }
}

/// Inner indices that are gone through between one look at the loop's end and the next: a loop of 64 turns is too long for its end
/// to be foreseen, one of 16 is not.
const TURN: usize = 4;

/// Where every third row begins.
#[inline(always)]
fn starts(first: *const f32, row: usize) -> [*const f32; BLOCK / 3] {
    let mut starts = [first; BLOCK / 3];
    for (group, start) in starts.iter_mut().enumerate() {
        *start = start.wrapping_add(3 * group * row);
    }
    starts
}

/// Keeps a compiler from knowing where a pointer came from, so that it stays in a register of its own. Otherwise pointers are kept in memory
/// and fetched as often as what they point to: a tenth of the time of a product.
#[inline(always)]
fn forget(pointer: &mut *const f32) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[allow(unsafe_code, clippy::pointers_in_nomem_asm_block)]
    // SAFETY: no instruction at all, so nothing is read or written.
    unsafe {
        let mut address = *pointer;
        std::arch::asm!("/* {0} */", inout(reg) address, options(nomem, nostack, preserves_flags));
        *pointer = address;
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = pointer;
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

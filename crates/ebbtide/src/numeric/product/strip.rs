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
/// As `GATHER`, and as for `FETCH`.
pub(super) const FETCH_GATHER: u8 = 5;
/// As `RESUME`, and as for `FETCH`.
pub(super) const FETCH_RESUME: u8 = 6;

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

/// Where a strip of a product goes: as many columns as there are, at most the strip's vectors.
pub(super) struct Result<'a> {
    pub(super) data: &'a mut [f32],
    pub(super) rows: usize,
    pub(super) stride: usize,
    pub(super) columns: usize,
    /// Whether it is so large that it has to be brought near before it is written.
    pub(super) distant: bool,
}

/// A product: so many inner indices of two sides.
#[derive(Clone, Copy)]
pub(super) struct Term<'a> {
    pub(super) inner: usize,
    pub(super) left: Left<'a>,
    pub(super) right: Right<'a>,
}

impl Term<'_> {
    /// None at all.
    pub(super) const NONE: Self = Self {
        inner: 0,
        left: Left { data: &[], block: 0, row: 0, step: 0 },
        right: Right { data: &[], step: 0, next: &[] },
    };
}

/// A product, or a sum of products.
pub(super) trait Terms {
    /// Panics unless there is all that a strip of so many rows and `width` columns looks at, of rows or columns that are adjacent as MODE wants them.
    fn check<const MODE: u8>(&self, rows: usize, width: usize);

    /// Adds it to sums, term by term, for M rows from `row` on.
    ///
    /// SAFETY: what is looked at must have been checked.
    #[allow(unsafe_code)]
    unsafe fn add<S: Simd, const V: usize, const M: usize, const MODE: u8>(
        &self,
        simd: S,
        row: usize,
        sums: [[S::f32s; V]; M],
    ) -> [[S::f32s; V]; M];
}

impl Terms for Term<'_> {
    #[inline(always)]
    fn check<const MODE: u8>(&self, rows: usize, width: usize) {
        let Term { inner, left, right } = self;
        if *inner > 0 {
            debug_assert_eq!(1, if MODE >= ADD { left.row } else { left.step });
            let last = (rows - 1) / BLOCK * left.block + (rows - 1) % BLOCK * left.row;
            assert!(last + (inner - 1) * left.step < left.data.len() && left.block >= (BLOCK - 1) * left.row);
            assert!((inner - 1) * right.step + width <= right.data.len());
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn add<S: Simd, const V: usize, const M: usize, const MODE: u8>(
        &self,
        simd: S,
        row: usize,
        sums: [[S::f32s; V]; M],
    ) -> [[S::f32s; V]; M] {
        let &Term { inner, left, right } = self;
        let sides = Sides {
            inner,
            a: left.data.as_ptr().wrapping_add(row / BLOCK * left.block + row % BLOCK * left.row),
            a_row: left.row,
            a_step: left.step,
            b: right.data.as_ptr(),
            b_step: right.step,
            next: right.next.as_ptr().wrapping_add(row / BLOCK * (inner / TURN) * LINE),
        };
        // SAFETY: as promised.
        unsafe {
            match MODE >= ADD {
                true => sides.down_columns::<S, V, M, MODE>(simd, sums),
                false => sides.along_rows::<S, V, M, MODE>(simd, sums),
            }
        }
    }
}

impl Terms for [Term<'_>] {
    #[inline(always)]
    fn check<const MODE: u8>(&self, rows: usize, width: usize) {
        self.iter().for_each(|term| term.check::<MODE>(rows, width));
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn add<S: Simd, const V: usize, const M: usize, const MODE: u8>(
        &self,
        simd: S,
        row: usize,
        mut sums: [[S::f32s; V]; M],
    ) -> [[S::f32s; V]; M] {
        for term in self {
            // SAFETY: as promised.
            sums = unsafe { term.add::<S, V, M, MODE>(simd, row, sums) };
        }
        sums
    }
}

/// A product whose right-hand side is V vectors wide, or a sum of such. As many rows at a time as accumulators fit the registers.
#[inline(always)]
#[allow(unsafe_code)]
pub(super) fn strip<S: Simd, const V: usize, const MODE: u8>(
    simd: S,
    terms: &(impl Terms + ?Sized),
    result: Result,
) {
    let (rows, stride, columns) = (result.rows, result.stride, result.columns);
    if rows == 0 {
        return;
    }
    // What the blocks below may touch, checked once for all of them.
    assert!((rows - 1) * stride + columns <= result.data.len() && columns <= V * S::F32_LANES);
    terms.check::<MODE>(rows, V * S::F32_LANES);
    let c = result.data.as_mut_ptr();
    let (many, distant) = (S::REGISTER_COUNT >= 32, result.distant);
    let mut row = 0;
    while row < rows {
        // Blocks of fewer rows come last and never reach into the next twelve.
        let block = Block { row, c: c.wrapping_add(row * stride), c_row: stride, distant, columns };
        // SAFETY: the assertions above hold for the last row and column, and so for all before them; `c` is borrowed
        // mutably and shares nothing with what is looked at.
        row += unsafe {
            match rows - row {
                12.. if (many && V < 4) || V == 1 => block.run::<S, V, 12, MODE>(simd, terms),
                8.. if many && V < 4 => block.run::<S, V, 8, MODE>(simd, terms),
                6.. if !many || V == 4 => block.run::<S, V, 6, MODE>(simd, terms),
                4.. => block.run::<S, V, 4, MODE>(simd, terms),
                2.. => block.run::<S, V, 2, MODE>(simd, terms),
                _ => block.run::<S, V, 1, MODE>(simd, terms),
            }
        };
    }
}

/// Where some rows of a term stand. One of `a_row` and `a_step` is 1, by MODE, and not looked at: as a constant it becomes part of the instructions.
struct Sides {
    inner: usize,
    a: *const f32,
    a_row: usize,
    a_step: usize,
    b: *const f32,
    b_step: usize,
    next: *const f32,
}

/// Some rows of a strip.
struct Block {
    row: usize,
    c: *mut f32,
    c_row: usize,
    distant: bool,
    columns: usize,
}

impl Block {
    /// M rows, held in registers while the inner index runs, term by term. Answers with M.
    ///
    /// SAFETY: the terms must have been checked for these rows, and `c` must be good for M rows and V vectors; of the last vector only
    /// what is within `columns` is touched.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn run<S: Simd, const V: usize, const M: usize, const MODE: u8>(
        self,
        simd: S,
        terms: &(impl Terms + ?Sized),
    ) -> usize {
        let lanes = S::F32_LANES;
        let whole = self.columns == V * lanes;
        if MODE >= ADD && self.distant {
            for m in 0..M {
                (0..V).for_each(|v| prefetch(self.c.wrapping_add(m * self.c_row + v * lanes)));
            }
        }
        // SAFETY: as promised.
        let sums = unsafe {
            let before = match MODE {
                RESUME | FETCH_RESUME => self.before::<S, V, M>(),
                _ => [[simd.splat_f32s(0.0); V]; M],
            };
            terms.add::<S, V, M, MODE>(simd, self.row, before)
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
            // Vector by vector: sums that are indexed at run time leave their registers for memory, whole or not, and from there go to the
            // result, a twenty-fifth of a product of width 64.
            for m in 0..M {
                for v in 0..V {
                    let columns = self.columns.saturating_sub(v * lanes).min(lanes);
                    // SAFETY: row m of the result, and no more of it than there is.
                    let place = unsafe {
                        let start = self.c.wrapping_add(m * self.c_row + v * lanes);
                        std::slice::from_raw_parts_mut(start, columns)
                    };
                    let sum = sums[m][v];
                    let sum =
                        if MODE == ADD { simd.add_f32s(simd.partial_load_f32s(place), sum) } else { sum };
                    simd.partial_store_f32s(place, sum);
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
    unsafe fn before<S: Simd, const V: usize, const M: usize>(&self) -> [[S::f32s; V]; M] {
        let lanes = S::F32_LANES;
        let mut room;
        let (from, row) = match self.columns == V * lanes {
            true => (self.c.cast_const(), self.c_row),
            false => {
                room = [[0.0_f32; 4 * LINE]; BLOCK];
                for (m, room) in room[..M].iter_mut().enumerate() {
                    // SAFETY: row m of the result, and no more of it than there is.
                    let row = unsafe { std::slice::from_raw_parts(self.c.add(m * self.c_row), self.columns) };
                    room[..self.columns].copy_from_slice(row);
                }
                (room.as_ptr().cast(), 4 * LINE)
            }
        };
        // Nothing but loads, so that the sums are in registers from here on.
        let mut sums = [[pulp::bytemuck::Zeroable::zeroed(); V]; M];
        for m in 0..M {
            for v in 0..V {
                // SAFETY: row m of the result, which has V vectors, or of the copy, which has room for four of the widest.
                sums[m][v] = unsafe { from.add(m * row + v * lanes).cast::<S::f32s>().read_unaligned() };
            }
        }
        sums
    }
}

impl Sides {
    /// Sums whose rows have their numbers side by side: one pointer reaches them all.
    ///
    /// SAFETY: as for [`Block::run`].
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn down_columns<S: Simd, const V: usize, const M: usize, const MODE: u8>(
        &self,
        simd: S,
        mut sums: [[S::f32s; V]; M],
    ) -> [[S::f32s; V]; M] {
        let (mut a, mut b) = (self.a, self.b);
        let mut next = self.next;
        for _ in 0..self.inner / TURN {
            if MODE >= FETCH_GATHER {
                prefetch_far(next);
                next = next.wrapping_add(LINE);
            }
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
        mut sums: [[S::f32s; V]; M],
    ) -> [[S::f32s; V]; M] {
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

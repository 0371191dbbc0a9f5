use super::*;
use crate::numeric::aligned::row_stride;
use crate::numeric::widths::{all_vectors, with_vectors};

fn numbers(count: usize, pace: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * pace).sin()).collect()
}

/// A matrix with rows `stride` apart and something that must not be read between them.
fn spread(values: &[f32], columns: usize, stride: usize) -> Vec<f32> {
    let rows = values.chunks_exact(columns);
    rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(f32::NAN, stride - columns))).collect()
}

/// Shapes on both sides of every edge: blocks of rows, vectors, panels, deep sums. An interpreter is given a few of each.
fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    let (rows, inner, columns): (&[usize], &[usize], &[usize]) = if cfg!(miri) {
        (&[1, 7, 13], &[1, 6], &[1, 16, 33])
    } else {
        (
            &[1, 2, 3, 5, 6, 7, 11, 12, 13, 25, 37],
            &[1, 2, 5, 12, 64, 255, 256, 257, 600],
            &[1, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100],
        )
    };
    let shapes = rows
        .iter()
        .flat_map(move |&m| inner.iter().flat_map(move |&k| columns.iter().map(move |&n| (m, k, n))));
    shapes.chain([LARGE, LONG, FLAT].into_iter().filter(|_| !cfg!(miri)))
}

/// So large that products go over it piece by piece, and not all at once.
const LARGE: (usize, usize, usize) = (230, 580, 140);
/// Many long rows and few results, which are gone through some rows at a time.
const LONG: (usize, usize, usize) = (7, 150, 201);
/// A large result of few rows.
const FLAT: (usize, usize, usize) = (230, 5, 700);

#[test]
fn shapes_are_what_they_are_called() {
    let (m, k, n) = LARGE;
    assert!(m * k > MANY && m > MANY / k / BLOCK * BLOCK && n > BAND && k > SHORT && m >= OFTEN);
    let (m, k, n) = LONG;
    assert!(m < OFTEN && k > 2 * SHORT && n >= FAR && !n.is_multiple_of(LINE));
    let (m, k, n) = FLAT;
    assert!(m * n > MANY && k < OFTEN && n >= FAR);
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
        let left = Rows::new(&spread_a, r, i, i + 3);
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

/// A band of a gradient, from two pairs that stand somewhere among other rows: one chain over all their rows, the ones of a bias among them.
#[test]
fn bands_are_chains_over_all_pairs() {
    for (i, r, o) in shapes() {
        let (a, b) = (numbers(r * i, 0.37), numbers(r * o, 0.71));
        let (spread_a, spread_b) = (spread(&a, i, i + 3), spread(&b, o, o + 5));
        let (mut below, mut above) = (Below::new(r, i + 1), Above::new(r + 7, o));
        below.pack(0, Rows::new(&spread_a, r, i, i + 3));
        below.set_ones(i, r);
        // Upper rows last, as they come back in time.
        let cut = r / 3;
        above.pack(7 + cut, Rows::new(&spread_b[cut * (o + 5)..], r - cut, o, o + 5));
        above.pack(7, Rows::new(&spread_b, cut, o, o + 5));
        let pair = |first: usize, rows| Pair { below: (&below, first), above: (&above, 7 + first), rows };
        let pairs = [pair(0, cut), pair(cut, 0), pair(cut, r - cut)];
        let with_ones = |row: usize, x: usize| if x < i { a[row * i + x] } else { 1.0 };
        for first in (0..=i).step_by(2 * BLOCK) {
            let rows = (i + 1 - first).min(2 * BLOCK);
            for (write, before) in [(Write::Replace, f32::NAN), (Write::Add, 1.5)] {
                let mut gradient = vec![before; rows * o];
                gather(RowsMut::new(&mut gradient, rows, o, o), first, write, pairs.into_iter());
                for (place, value) in gradient.into_iter().enumerate() {
                    let (x, y) = (first + place / o, place % o);
                    let start = if write == Write::Add { before } else { 0.0 };
                    let term = |sum, row: usize| with_ones(row, x).mul_add(b[row * o + y], sum);
                    assert_eq!(value, (0..r).fold(start, term), "{i} × {r} × {o}");
                }
            }
        }
    }
}

#[test]
fn nothing_to_gather_is_zero_or_what_there_was() {
    let (mut gradient, before) = (vec![2.0; 12], vec![2.0; 12]);
    gather(RowsMut::new(&mut gradient, 3, 4, 4), 0, Write::Add, [].into_iter());
    assert_eq!(gradient, before);
    gather(RowsMut::new(&mut gradient, 3, 3, 4), 0, Write::Replace, [].into_iter());
    assert_eq!(gradient[..8], [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]);
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
    let shapes = if cfg!(miri) { vec![(14, 15, 18)] } else { vec![(29, 300, 77), LARGE] };
    shapes.into_iter().for_each(every_instruction_set_agrees);
}

fn every_instruction_set_agrees((m, k, n): (usize, usize, usize)) {
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
            a: Rows::new(&a, m, k, k).into(),
            b: Rows::new(&b, m, n, n),
            scratch: &mut scratch,
        });
        gradient
    };
    let scalar = (
        product(&|work| work.with_simd(pulp::Scalar::new())),
        gradient(&|work| work.with_simd(pulp::Scalar::new())),
    );
    let (mut below, mut above) = (Below::new(m, k), Above::new(m, n));
    below.pack(0, Rows::new(&a, m, k, k));
    above.pack(0, Rows::new(&b, m, n, n));
    let gathered = || {
        let mut gradient = vec![0.0; k * n];
        let pair = |first, rows| Pair { below: (&below, first), above: (&above, first), rows };
        let pairs = [pair(0, m / 2), pair(m / 2, m - m / 2)].into_iter();
        gather(RowsMut::new(&mut gradient, k, n, n), 0, Write::Replace, pairs);
        gradient
    };
    let at_once = gathered();
    for (width, vectors) in all_vectors() {
        assert!(with_vectors(vectors, gathered) == at_once, "{width}");
        let same =
            (product(&|work| vectors.dispatch(work)), gradient(&|work| vectors.dispatch(work))) == scalar;
        assert!(same, "{width}");
    }
}

/// Weights that are written past the caches end up where others do: some columns after others, and from their transpose, on all vectors.
#[test]
fn large_weights_are_arranged_like_small_ones() {
    let (inner, columns, first) = (403, 401, 130);
    let weights = numbers(inner * columns, 0.37);
    let some = |from: usize, to: usize| -> Vec<f32> {
        weights.chunks_exact(columns).flat_map(|row| row[from..to].to_vec()).collect()
    };
    let turned: Vec<f32> = (0..columns * inner).map(|i| weights[i % inner * columns + i / inner]).collect();
    for (width, vectors) in all_vectors() {
        let (mut upright, mut turned_back) = (Panels::new(inner, columns), Panels::new(inner, columns));
        assert!(upright.data.len() > MANY);
        with_vectors(vectors, || {
            upright.pack(0, &some(0, first));
            upright.pack(first, &some(first, columns));
            turned_back.pack_transposed(&turned);
        });
        for (row, column) in (0..inner).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let (start, panel_width) = upright.panel(column / PANEL);
            let place = start + row * panel_width + column % PANEL;
            let expected = weights[row * columns + column];
            assert_eq!(upright.data[place], expected, "{width}: row {row}, column {column}");
            assert_eq!(turned_back.data[place], expected, "{width}, turned: row {row}, column {column}");
        }
    }
}

//! The 2-Wasserstein distance against an independent exact solver, and against what must be true of it.

use ebbtide::metric::assignment::{Assignment, CostMatrix};
use ebbtide::metric::transport::wasserstein2;
use ebbtide::stream::{Address, Purpose, Stream};
use proptest::prelude::*;
use safetensors::SafeTensors;

fn numbers<const BYTES: usize, T>(data: &[u8], read: fn([u8; BYTES]) -> T) -> Vec<T> {
    let (values, rest) = data.as_chunks();
    assert!(rest.is_empty());
    values.iter().copied().map(read).collect()
}

#[test]
fn fifty_cases_agree_with_scipy() {
    let file = SafeTensors::deserialize(include_bytes!("fixtures/transport.safetensors")).unwrap();
    for case in 0..50 {
        let tensor = |name| file.tensor(&format!("{case}.{name}")).unwrap();
        let a = numbers(tensor("a").data(), f32::from_le_bytes);
        let b = numbers(tensor("b").data(), f32::from_le_bytes);
        let expected = numbers(tensor("w2").data(), f64::from_le_bytes)[0];
        let shape = tensor("a").shape().to_vec();
        let distance = wasserstein2(&a, &b, shape[1]).unwrap();
        let error = (distance - expected).abs();
        assert!(error <= 1e-9 * expected, "case {case}, {shape:?}: {distance} for {expected}");
    }
}

fn stream(seed: u64) -> Stream {
    Address::new(seed, Purpose::ExactDraw, 0).stream(0)
}

/// n points by rows: some spread out, some repeated, some with many equal distances.
fn draw(n: usize, dim: usize, stream: &mut Stream) -> Vec<f32> {
    let scale = (4.0 * stream.normal()).exp();
    let rounded = stream.below(3) == 0;
    let distinct = if stream.below(3) == 0 { n.div_ceil(7) } else { n };
    let points: Vec<f32> = (0..distinct * dim)
        .map(|_| {
            let x = stream.normal();
            scale * if rounded { x.round() } else { x }
        })
        .collect();
    points.into_iter().cycle().take(n * dim).collect()
}

fn shuffled(points: &[f32], dim: usize, stream: &mut Stream) -> Vec<f32> {
    let mut rows: Vec<&[f32]> = points.chunks_exact(dim).collect();
    for i in (1..rows.len()).rev() {
        rows.swap(i, stream.below(i + 1));
    }
    rows.concat()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn the_distance_is_symmetric(n in 1usize..400, dim in 1usize..12, seed: u64) {
        let mut stream = stream(seed);
        let (a, b) = (draw(n, dim, &mut stream), draw(n, dim, &mut stream));
        let there = wasserstein2(&a, &b, dim).unwrap();
        let back = wasserstein2(&b, &a, dim).unwrap();
        prop_assert!(close(there, back, 1e-9), "{there} {back}");
    }

    #[test]
    fn the_order_of_points_does_not_matter(n in 1usize..400, dim in 1usize..12, seed: u64) {
        let mut stream = stream(seed);
        let a = draw(n, dim, &mut stream);
        let same = shuffled(&a, dim, &mut stream);
        prop_assert_eq!(wasserstein2(&a, &same, dim), Ok(0.0));
    }

    /// Whole numbers, so that moving the points is free of rounding.
    #[test]
    fn moved_points_are_as_far_as_they_were_moved(n in 1usize..400, dim in 1usize..12, seed: u64) {
        let mut stream = stream(seed);
        let a: Vec<f32> = (0..n * dim).map(|_| stream.below(1000) as f32).collect();
        let v: Vec<f32> = (0..dim).map(|_| stream.below(1000) as f32).collect();
        let b: Vec<f32> = shuffled(&a, dim, &mut stream).iter().zip(v.iter().cycle()).map(|(x, v)| x + v).collect();
        let length = v.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
        let distance = wasserstein2(&a, &b, dim).unwrap();
        prop_assert!(close(distance, length, 1e-12), "{distance} {length}");
    }

    /// Feasible potentials, tight on a matching, prove that it is the best.
    #[test]
    fn potentials_prove_the_matching(n in 1usize..400, seed: u64, levels in 1usize..1000) {
        let mut stream = stream(seed);
        let values = (0..n * n).map(|_| stream.below(levels) as f64 / 7.0 - 20.0).collect();
        let costs = CostMatrix::new(n, values).unwrap();
        let best = Assignment::solve(&costs);
        let rounding = 1e-10 * levels as f64;
        for row in 0..n {
            for column in 0..n {
                let reduced = costs.row(row)[column] - best.row_potentials()[row] - best.column_potentials()[column];
                prop_assert!(reduced >= -rounding, "({row}, {column}): {reduced}");
                prop_assert!(best.columns()[row] != column || reduced <= rounding, "({row}, {column}): {reduced}");
            }
        }
        let mut columns = best.columns().to_vec();
        columns.sort();
        prop_assert!(columns.into_iter().eq(0..n));
    }
}

/// On a line the best matching is in order.
#[test]
fn on_a_line_points_keep_their_order() {
    let n = 2048;
    let mut stream = stream(1);
    let cube = |x: f32| x * x * x;
    let mut a: Vec<f32> = (0..n).map(|_| stream.normal()).collect();
    let mut b: Vec<f32> = (0..n).map(|_| 2.0 + cube(stream.normal())).collect();
    let distance = wasserstein2(&a, &b, 1).unwrap();
    a.sort_by(f32::total_cmp);
    b.sort_by(f32::total_cmp);
    let squares = a.iter().zip(&b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
    let expected = (squares.sum::<f64>() / n as f64).sqrt();
    assert!(close(distance, expected, 1e-10), "{distance} {expected}");
}

//! Points for optimal transport: drawn the same way, number for number, by every program that is measured.
//!
//! The first two coordinates are 25GMM, all others standard normal. Randomness is SplitMix64 (Steele, Lea and
//! Flood, 2014) of a counter, with Box and Muller's transform: a few lines in any language (`benches/peers/points.py`),
//! so that nobody gets an easier problem, and the distances found can be compared.

use std::f64::consts::TAU;

/// Coordinates of the means of 25GMM, and the deviation of its components.
const GRID: [f64; 5] = [-10.0, -5.0, 0.0, 5.0, 10.0];
const VARIANCE: f64 = 0.3;

/// `count` points of dimension `d` ≥ 2, by rows; every `set` is independent of the others.
pub fn points(set: usize, count: usize, d: usize) -> Vec<f32> {
    let mut points = Vec::with_capacity(count * d);
    for row in 0..count {
        let place = (set * count + row) * (d + 1);
        let component = (25.0 * uniform(2 * (place + d))) as usize;
        let means = [GRID[component / 5], GRID[component % 5]];
        points.extend((0..d).map(|j| match means.get(j) {
            Some(mean) => (mean + VARIANCE.sqrt() * normal(place + j)) as f32,
            None => normal(place + j) as f32,
        }));
    }
    points
}

/// N(0, 1)
fn normal(place: usize) -> f64 {
    (-2.0 * uniform(2 * place).ln()).sqrt() * (TAU * uniform(2 * place + 1)).cos()
}

/// Uniform between 0 and 1, neither included.
fn uniform(place: usize) -> f64 {
    ((mix(place as u64) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Output number `place` of SplitMix64 with seed 0, counted from 0.
fn mix(place: u64) -> u64 {
    let z = place.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first outputs for seed 0, as its authors' program prints them.
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(1), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn moments_are_those_of_the_mixture() {
        let (count, d) = (20_000, 3);
        let points = points(1, count, d);
        for (j, (variance, tolerance)) in [(50.3, 1.0), (50.3, 1.0), (1.0, 0.05)].into_iter().enumerate() {
            let column: Vec<f64> = points.chunks_exact(d).map(|point| f64::from(point[j])).collect();
            let mean = column.iter().sum::<f64>() / count as f64;
            let second = column.iter().map(|x| x * x).sum::<f64>() / count as f64;
            assert!(mean.abs() < 0.2 && (second - variance).abs() < tolerance, "{j}: {mean} {second}");
        }
    }
}

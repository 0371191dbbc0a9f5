//! GELU over rows of features: Φ − ½ is a quotient of two short polynomials, and its slope takes one power of two more.
//!
//! By one formula on all machines: the same bits come of vectors of any width. (On 512-bit vectors a table of short polynomials was up to a tenth faster for
//! a whole update at width 64, and trainings parted from those of other machines within fifty iterations.)
//!
//! Four vectors go through the formula side by side, from the sum with the bias to the result, without leaving the registers: a term of one is computed
//! while those of the others are waited for.
//!
//! ```
//! use ebbtide::numeric::gelu::{activate, activate_with_slope};
//!
//! // Two rows of two features, three numbers apart. With the bias they are 0, 1 and 8, −8.
//! let (mut z, bias) = ([0.0, 0.0, 9.0, 8.0, -9.0, 9.0], [0.0, 1.0]);
//! let (mut alone, mut slope) = (z, [0.0; 6]);
//! activate_with_slope(&mut z, &mut slope, &bias, 3);
//! // GELU(1) = Φ(1), and far out it is the number itself or nothing. What stands between rows stays.
//! assert!((z[1] - 0.841_344_7).abs() < 1e-6);
//! assert_eq!([z[0], z[2], z[3], z[4], z[5]], [0.0, 9.0, 8.0, 0.0, 9.0]);
//! assert_eq!([slope[0], slope[3], slope[4]], [0.5, 1.0, 0.0]);
//!
//! activate(&mut alone, &bias, 3);
//! assert_eq!(alone, z);
//! ```

use pulp::{Simd, WithSimd, bytemuck};

use super::aligned::LINE;
use super::vector::ROUND;
use super::vectors;

/// z ← GELU(z + bias) for rows of features, `stride` apart.
pub fn activate(z: &mut [f32], bias: &[f32], stride: usize) {
    vectors().dispatch(Activate { z, bias, stride });
}

/// As [`activate`], with the derivative at z + bias written beside.
pub fn activate_with_slope(z: &mut [f32], slope: &mut [f32], bias: &[f32], stride: usize) {
    vectors().dispatch(ActivateWithSlope { z, slope, bias, stride });
}

/// Biases of features over rows that stand in blocks: `first` rows have the first bias of each feature, the next `each` the second, and so on.
#[derive(Clone, Copy)]
pub(crate) struct BlockBiases<'a> {
    /// `[block][feature]`
    pub biases: &'a [f32],
    pub first: usize,
    pub each: usize,
}

impl<'a> BlockBiases<'a> {
    /// One block of all rows.
    pub fn alike(biases: &'a [f32]) -> Self {
        Self { biases, first: usize::MAX, each: usize::MAX }
    }
}

/// Rows that [`activate_features`] takes at most.
pub(crate) const MOST_ROWS: usize = 64;

/// z ← GELU(z + bias) for numbers `[feature][row]`, features `stride` apart: whole lines, as the number of rows is.
pub(crate) fn activate_features(z: &mut [f32], stride: usize, rows: usize, biases: BlockBiases) {
    assert!(rows <= stride.min(MOST_ROWS) && rows.is_multiple_of(LINE) && stride.is_multiple_of(LINE));
    if rows > 0 {
        vectors().dispatch(ActivateFeatures { z, stride, rows, biases });
    }
}

struct ActivateFeatures<'a> {
    z: &'a mut [f32],
    stride: usize,
    rows: usize,
    biases: BlockBiases<'a>,
}

impl WithSimd for ActivateFeatures<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let BlockBiases { biases, first, each } = self.biases;
        let (z, lanes) = (S::as_mut_simd_f32s(self.z).0, S::F32_LANES);
        let (step, vectors) = (self.stride / lanes, self.rows / lanes);
        let features = z.len() / step;
        // Where the biases of each row begin. Rows that only fill up a line may lie beyond the last block.
        let mut begin = [0; MOST_ROWS];
        for (row, begin) in begin[..self.rows].iter_mut().enumerate() {
            let block = if row < first { 0 } else { 1 + (row - first) / each };
            *begin = (features * block).min(biases.len() - features);
        }
        let whole = begin[..self.rows].chunks_exact(lanes).all(|begin| begin[0] == begin[lanes - 1]);
        let bias = |feature: usize, vector: usize| {
            if whole {
                return simd.splat_f32s(biases[begin[vector * lanes] + feature]);
            }
            let mut bias = simd.splat_f32s(0.0);
            let places: &mut [f32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut bias));
            for (place, begin) in places.iter_mut().zip(&begin[vector * lanes..]) {
                *place = biases[begin + feature];
            }
            bias
        };
        if whole && vectors.is_multiple_of(WAYS) {
            for (feature, z) in z.chunks_exact_mut(step).enumerate() {
                for (index, z) in z[..vectors].as_chunks_mut().0.iter_mut().enumerate() {
                    let mut added = [simd.splat_f32s(0.0); WAYS];
                    for i in 0..WAYS {
                        added[i] = simd.splat_f32s(biases[begin[(index * WAYS + i) * lanes] + feature]);
                    }
                    *z = values(simd, sum(simd, z, &added));
                }
            }
            return;
        }
        // Groups that go on from one feature to the next.
        let (mut feature, mut vector) = (0, 0);
        while feature < features {
            let mut places = [feature * step + vector; WAYS];
            let (mut group, mut added) = ([z[places[0]]; WAYS], [bias(feature, vector); WAYS]);
            for i in 0..WAYS {
                // Once there are no more, the first of the group is computed several times over.
                if feature < features {
                    places[i] = feature * step + vector;
                    (group[i], added[i]) = (z[places[i]], bias(feature, vector));
                    vector += 1;
                    if vector == vectors {
                        (feature, vector) = (feature + 1, 0);
                    }
                }
            }
            let group = values(simd, sum(simd, &group, &added));
            for (place, value) in places.into_iter().zip(group) {
                z[place] = value;
            }
        }
    }
}

struct Activate<'a> {
    z: &'a mut [f32],
    bias: &'a [f32],
    stride: usize,
}

impl WithSimd for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let features = self.bias.len();
        for z in self.z.chunks_mut(self.stride) {
            let (whole, rest) = groups_mut::<S>(&mut z[..features]);
            let (biases, last_biases) = groups::<S>(self.bias);
            for (z, bias) in whole.iter_mut().zip(biases) {
                *z = values(simd, sum(simd, z, bias));
            }
            if !rest.is_empty() {
                let z = sum(simd, &padded::<S>(rest), &padded::<S>(last_biases));
                store::<S>(values(simd, z), rest);
            }
        }
    }
}

pub(super) struct ActivateWithSlope<'a> {
    pub(super) z: &'a mut [f32],
    pub(super) slope: &'a mut [f32],
    pub(super) bias: &'a [f32],
    pub(super) stride: usize,
}

impl WithSimd for ActivateWithSlope<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let features = self.bias.len();
        for (z, slope) in self.z.chunks_mut(self.stride).zip(self.slope.chunks_mut(self.stride)) {
            let (whole, rest) = groups_mut::<S>(&mut z[..features]);
            let (slopes, last_slopes) = groups_mut::<S>(&mut slope[..features]);
            let (biases, last_biases) = groups::<S>(self.bias);
            for ((z, slope), bias) in whole.iter_mut().zip(slopes).zip(biases) {
                (*z, *slope) = values_and_slopes(simd, sum(simd, z, bias));
            }
            if !rest.is_empty() {
                let z = sum(simd, &padded::<S>(rest), &padded::<S>(last_biases));
                let (values, slopes) = values_and_slopes(simd, z);
                store::<S>(values, rest);
                store::<S>(slopes, last_slopes);
            }
        }
    }
}

/// Vectors that go through the formula side by side.
const WAYS: usize = 4;

type Group<S> = [<S as Simd>::f32s; WAYS];

/// Whole groups, and the numbers that are too few for another.
#[inline(always)]
fn groups<S: Simd>(numbers: &[f32]) -> (&[Group<S>], &[f32]) {
    let (whole, rest) = numbers.split_at(numbers.len() - numbers.len() % (WAYS * S::F32_LANES));
    (S::as_simd_f32s(whole).0.as_chunks().0, rest)
}

#[inline(always)]
fn groups_mut<S: Simd>(numbers: &mut [f32]) -> (&mut [Group<S>], &mut [f32]) {
    let (whole, rest) = numbers.split_at_mut(numbers.len() - numbers.len() % (WAYS * S::F32_LANES));
    (S::as_mut_simd_f32s(whole).0.as_chunks_mut().0, rest)
}

/// Fewer numbers than a group holds, then zeros.
#[inline(always)]
fn padded<S: Simd>(numbers: &[f32]) -> Group<S> {
    let mut group = [bytemuck::Zeroable::zeroed(); WAYS];
    bytemuck::cast_slice_mut(&mut group)[..numbers.len()].copy_from_slice(numbers);
    group
}

/// As many of a group's numbers as there is room for.
#[inline(always)]
fn store<S: Simd>(group: Group<S>, place: &mut [f32]) {
    place.copy_from_slice(&bytemuck::cast_slice(&group)[..place.len()]);
}

#[inline(always)]
fn sum<S: Simd>(simd: S, a: &Group<S>, b: &Group<S>) -> Group<S> {
    let mut sum = *a;
    for i in 0..WAYS {
        sum[i] = simd.add_f32s(a[i], b[i]);
    }
    sum
}

/// GELU(x)
#[inline(always)]
fn values<S: Simd>(simd: S, x: Group<S>) -> Group<S> {
    let mut values = distribution(simd, within_the_edge(simd, x));
    for i in 0..WAYS {
        values[i] = simd.mul_f32s(x[i], values[i]);
    }
    values
}

/// GELU(x), GELU′(x)
#[inline(always)]
fn values_and_slopes<S: Simd>(simd: S, x: Group<S>) -> (Group<S>, Group<S>) {
    let inside = within_the_edge(simd, x);
    let (mut values, mut slopes) = (distribution(simd, inside), bell(simd, inside));
    for i in 0..WAYS {
        slopes[i] = simd.mul_add_f32s(x[i], slopes[i], values[i]);
        values[i] = simd.mul_f32s(x[i], values[i]);
    }
    (values, slopes)
}

/// Beyond this distance from the origin GELU counts as 0 or x, and its slope as 0 or 1: by then they differ from that by less than 7e-7.
const EDGE: f32 = 5.5;

/// x, or the edge where that is nearer.
#[inline(always)]
fn within_the_edge<S: Simd>(simd: S, mut x: Group<S>) -> Group<S> {
    for x in &mut x {
        *x = simd.max_f32s(simd.splat_f32s(-EDGE), simd.min_f32s(simd.splat_f32s(EDGE), *x));
    }
    x
}

/// Of Φ(x) − ½ = x N(x²) / D(x²), |x| ≤ 5.5: minimax of the error, 7e-9, by Lawson's iteration. Of all roundings to single precision that were tried, this one
/// comes with the smallest error of GELU, and at the edge it is ½ exactly.
const NUMERATOR: [f32; 6] =
    [3.565_770_4e-1, 3.025_781_2e-2, 4.180_571_5e-3, 1.508_985_3e-4, 5.677_572_5e-6, 2.033_349_5e-8];
const DENOMINATOR: [f32; 6] =
    [8.938_062e-1, 2.248_121_2e-1, 2.560_392e-2, 1.684_334_7e-3, 6.582_696e-5, 1.070_336_3e-6];

/// Φ(x) within the edge.
#[inline(always)]
fn distribution<S: Simd>(simd: S, x: Group<S>) -> Group<S> {
    let mut n = [simd.splat_f32s(NUMERATOR[5]); WAYS];
    let mut d = [simd.splat_f32s(DENOMINATOR[5]); WAYS];
    for power in (0..5).rev() {
        let (of_n, of_d) = (simd.splat_f32s(NUMERATOR[power]), simd.splat_f32s(DENOMINATOR[power]));
        for i in 0..WAYS {
            let square = simd.mul_f32s(x[i], x[i]);
            n[i] = simd.mul_add_f32s(n[i], square, of_n);
            d[i] = simd.mul_add_f32s(d[i], square, of_d);
        }
    }
    for i in 0..WAYS {
        let quotient = divide(simd, simd.mul_f32s(x[i], n[i]), d[i]);
        n[i] = simd.add_f32s(quotient, simd.splat_f32s(0.5));
    }
    n
}

/// a / b, number by number, which compilers turn into one instruction.
#[inline(always)]
fn divide<S: Simd>(_: S, mut a: S::f32s, b: S::f32s) -> S::f32s {
    let divisors: &[f32] = bytemuck::cast_slice(std::slice::from_ref(&b));
    let numbers: &mut [f32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut a));
    for (number, divisor) in numbers.iter_mut().zip(divisors) {
        *number /= divisor;
    }
    a
}

const LOG2_INVERSE_SQRT_TAU: f32 = -1.325_748_1;

/// e^(−x²/2) / √2π, and 0 at the edge.
#[inline(always)]
fn bell<S: Simd>(simd: S, x: Group<S>) -> Group<S> {
    let mut bell = x;
    for i in 0..WAYS {
        let square = simd.mul_f32s(x[i], x[i]);
        let half = simd.splat_f32s(-0.5 * std::f32::consts::LOG2_E);
        let exponent = simd.mul_add_f32s(square, half, simd.splat_f32s(LOG2_INVERSE_SQRT_TAU));
        let inside = simd.less_than_f32s(square, simd.splat_f32s(EDGE * EDGE));
        bell[i] = simd.select_f32s(inside, power_of_two(simd, exponent), simd.splat_f32s(0.0));
    }
    bell
}

/// 2ʸ for y from −120 to 120; outside it may be anything. Relative error below 2e-7.
#[inline(always)]
fn power_of_two<S: Simd>(simd: S, y: S::f32s) -> S::f32s {
    let line = |x, slope, offset| simd.mul_add_f32s(x, simd.splat_f32s(slope), simd.splat_f32s(offset));
    let round = simd.splat_f32s(ROUND);
    let whole = simd.add_f32s(y, round);
    let part = simd.sub_f32s(y, simd.sub_f32s(whole, round));
    // minimax on |part| ≤ ½ of its error, 1e-7, by exchange in 40 digits; 2⁰ is 1 exactly
    let square = simd.mul_f32s(part, part);
    let high = line(part, 1.340_686_9e-3, 9.671_602e-3);
    let high = simd.mul_add_f32s(square, high, line(part, 5.550_31e-2, 2.402_224e-1));
    let p = simd.mul_add_f32s(square, high, line(part, 6.931_472e-1, 1.0));
    let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(whole), simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(p), exponent))
}

#[cfg(test)]
mod tests {
    use super::super::reference::{normal_distribution, sweep};
    use super::super::widths::{all_vectors, with_vectors};
    use super::*;

    /// Rows of 149 features with a stride of 160: whole groups of vectors of any width, a part of one, and padding.
    const FEATURES: usize = 149;
    const STRIDE: usize = 160;

    fn rows() -> (Vec<f32>, Vec<f32>) {
        let bias: Vec<f32> = (0..FEATURES).map(|i| 0.01 * i as f32).collect();
        let rows = if cfg!(miri) { 3 } else { 600 };
        let z = (0..rows * STRIDE).map(|i| 28.0 * (i as f32 / (rows * STRIDE) as f32 - 0.5)).collect();
        (z, bias)
    }

    #[test]
    fn rows_are_activated_alike_with_and_without_slopes_and_nothing_between_them() {
        let (z, bias) = rows();
        let (mut values, mut slopes, mut alone) = (z.clone(), vec![7.0; z.len()], z.clone());
        activate_with_slope(&mut values, &mut slopes, &bias, STRIDE);
        activate(&mut alone, &bias, STRIDE);
        assert_eq!(values, alone);
        for (i, &before) in z.iter().enumerate() {
            let (value, slope) = (values[i], slopes[i]);
            if i % STRIDE >= FEATURES {
                assert_eq!((value, slope), (before, 7.0), "padding must not be touched");
                continue;
            }
            let x = f64::from(before + bias[i % STRIDE]);
            assert!(
                (f64::from(value) - x * normal_distribution(x)).abs() <= 2e-7 * x.abs().max(1.0),
                "GELU {x}: {value}"
            );
        }
    }

    /// Blocks of rows that begin and end anywhere, among them those that are whole vectors.
    #[test]
    fn features_are_activated_as_rows_are() {
        for (rows, first, each) in
            [(64, 64, 64), (64, 16, 32), (48, 16, 16), (32, 5, 7), (16, 1, 1), (64, 90, 3)]
        {
            let (features, blocks) = (11, 65);
            let biases: Vec<f32> = (0..features * blocks).map(|i| (0.7 * i as f32).sin()).collect();
            let number = |feature: usize, row: usize| 0.1 * (feature as f32 - 5.0) * (row as f32 - 20.0);
            for (width, vectors) in all_vectors() {
                let mut z = vec![7.0; features * MOST_ROWS];
                for (feature, z) in z.chunks_exact_mut(MOST_ROWS).enumerate() {
                    z[..rows].iter_mut().enumerate().for_each(|(row, z)| *z = number(feature, row));
                }
                let blocks = BlockBiases { biases: &biases, first, each };
                with_vectors(vectors, || activate_features(&mut z, MOST_ROWS, rows, blocks));
                for row in 0..rows {
                    let block = if row < first { 0 } else { 1 + (row - first) / each };
                    let mut expected: Vec<f32> = (0..features).map(|feature| number(feature, row)).collect();
                    activate(&mut expected, &biases[block * features..][..features], features);
                    let found: Vec<f32> = z.chunks_exact(MOST_ROWS).map(|z| z[row]).collect();
                    assert_eq!(
                        found, expected,
                        "row {row} of {rows}, {first} and {each} to a block, {width}"
                    );
                }
                assert!(z.chunks_exact(MOST_ROWS).all(|z| z[rows..].iter().all(|&z| z == 7.0)));
            }
        }
    }

    #[test]
    fn values_and_slopes_are_accurate() {
        let z: Vec<f32> = sweep(-14.0, 14.0).collect();
        let (mut values, mut slopes) = (z.clone(), z.clone());
        activate_with_slope(&mut values, &mut slopes, &vec![0.0; z.len()], z.len());
        for (i, x) in z.iter().map(|&x| f64::from(x)).enumerate() {
            let (phi, bell) = (normal_distribution(x), (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt());
            let allowed = 2e-7 * x.abs().max(1.0);
            assert!((f64::from(values[i]) - x * phi).abs() <= allowed, "GELU {x}: {}", values[i]);
            assert!((f64::from(slopes[i]) - phi - x * bell).abs() <= allowed, "GELU′ {x}: {}", slopes[i]);
            // Φ itself, and with it erf(x / √2) = 2 Φ(x) − 1, but for the rounding of the product.
            let (found, rounded) = (f64::from(values[i]) / x, f64::from(f32::EPSILON) / 2.0);
            assert!(x.abs() < 1e-30 || (found - phi).abs() <= 2e-7 + rounded, "Φ {x}: {found}, not {phi}");
        }
    }

    #[test]
    fn tails_are_exact_and_nan_stays() {
        let mut z = [-1e30, -40.0, -7.5, 0.0, 7.5, 40.0, 1e30, f32::NAN];
        let mut slope = [9.0; 8];
        activate_with_slope(&mut z, &mut slope, &[0.0; 8], 8);
        assert_eq!(z[..7], [0.0, 0.0, 0.0, 0.0, 7.5, 40.0, 1e30]);
        assert_eq!(slope[..7], [0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0]);
        assert!(z[7].is_nan() && slope[7].is_nan());
    }
}

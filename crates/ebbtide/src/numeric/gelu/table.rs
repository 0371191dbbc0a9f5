//! Φ − ½ by 32 polynomials of degree 5.
//!
//! With s = 31 x / 7, k = round |s| and u = |s| − k, Φ(|x|) − ½ is the k-th polynomial at u, and its derivative the
//! k-th polynomial's. Coefficients of one degree fill two vectors, and picking from two vectors is one instruction.

use std::arch::x86_64::{__m512, __m512i};

use pulp::x86::V4;

use crate::numeric::Vectorised;

const PIECES: usize = 32;
const DEGREE: usize = 5;
/// Where Φ counts as 1, and its derivative as 0: the last polynomial is the constant ½.
const END: f64 = 7.0;
const PER_UNIT: f64 = (PIECES - 1) as f64 / END;

/// Coefficients by degree, then by piece.
static COEFFICIENTS: [[f32; PIECES]; DEGREE + 1] = coefficients();

const fn coefficients() -> [[f32; PIECES]; DEGREE + 1] {
    let mut table = [[0.0; PIECES]; DEGREE + 1];
    let mut piece = 0;
    while piece < PIECES - 1 {
        let polynomial = interpolate(piece as f64);
        let mut degree = 0;
        while degree <= DEGREE {
            table[degree][piece] = polynomial[degree] as f32;
            degree += 1;
        }
        piece += 1;
    }
    table[0][PIECES - 1] = 0.5;
    table
}

/// The polynomial in u ∈ [−½, ½] that meets Φ((centre + u) / PER_UNIT) − ½ at six Chebyshev points.
const fn interpolate(centre: f64) -> [f64; DEGREE + 1] {
    const POINTS: [f64; DEGREE + 1] = [
        -0.482_962_913_144_534_16,
        -0.353_553_390_593_273_8,
        -0.129_409_522_551_260_37,
        0.129_409_522_551_260_37,
        0.353_553_390_593_273_8,
        0.482_962_913_144_534_16,
    ];
    // Divided differences, then the Newton form multiplied out.
    let mut differences = [0.0; DEGREE + 1];
    let mut i = 0;
    while i <= DEGREE {
        differences[i] = half_normal((centre + POINTS[i]) / PER_UNIT);
        i += 1;
    }
    let mut order = 1;
    while order <= DEGREE {
        let mut i = DEGREE;
        while i >= order {
            differences[i] = (differences[i] - differences[i - 1]) / (POINTS[i] - POINTS[i - order]);
            i -= 1;
        }
        order += 1;
    }
    let mut polynomial = [0.0; DEGREE + 1];
    polynomial[0] = differences[DEGREE];
    let mut i = DEGREE;
    while i > 0 {
        i -= 1;
        let mut degree = DEGREE;
        while degree > 0 {
            polynomial[degree] = polynomial[degree - 1] - POINTS[i] * polynomial[degree];
            degree -= 1;
        }
        polynomial[0] = differences[i] - POINTS[i] * polynomial[0];
    }
    polynomial
}

/// Φ(x) − ½ = φ(x) (x + x³/3 + x⁵/15 + …)
const fn half_normal(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (x, x, 1);
    while k < 200 {
        term *= x * x / (2 * k + 1) as f64;
        sum += term;
        k += 1;
    }
    // e^(−x²/2) as the 64th power of a short series.
    let step = -x * x / 128.0;
    let (mut power, mut bell, mut k) = (1.0, 1.0, 1);
    while k < 20 {
        power *= step / k as f64;
        bell += power;
        k += 1;
    }
    let mut k = 0;
    while k < 6 {
        bell *= bell;
        k += 1;
    }
    sum * bell / 2.506_628_274_631_000_7
}

pub(super) struct Activate<'a> {
    pub(super) simd: V4,
    pub(super) z: &'a mut [f32],
    pub(super) slope: Option<&'a mut [f32]>,
    pub(super) bias: &'a [f32],
    pub(super) stride: usize,
}

const LANES: usize = 16;
/// Adding 1.5 · 2²³ rounds to a whole number, which then stands in the low bits.
const ROUND: f32 = 12_582_912.0;

impl Vectorised for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, z, slope, bias, stride } = self;
        let table = Table::new(simd);
        let mut slope = slope;
        // Down the rows, one vector of features after the other.
        let (biases, rest) = bias.as_chunks::<LANES>();
        for (index, bias) in biases.iter().enumerate() {
            let first = index * LANES;
            match &mut slope {
                Some(slope) => {
                    for (z, slope) in z.chunks_mut(stride).zip(slope.chunks_mut(stride)) {
                        let (z, slope) = (&mut z[first..first + LANES], &mut slope[first..first + LANES]);
                        let (value, derivative) = table.value_and_slope(padded(z), *bias);
                        z.copy_from_slice(&value);
                        slope.copy_from_slice(&derivative);
                    }
                }
                None => {
                    for z in z.chunks_mut(stride) {
                        let z = &mut z[first..first + LANES];
                        z.copy_from_slice(&table.value(padded(z), *bias));
                    }
                }
            }
        }
        if rest.is_empty() {
            return;
        }
        let (first, width) = (LANES * biases.len(), rest.len());
        let mut slopes = slope.map(|slope| slope.chunks_mut(stride));
        for z in z.chunks_mut(stride) {
            let z = &mut z[first..first + width];
            let (value, derivative) = table.value_and_slope(padded(z), padded(rest));
            z.copy_from_slice(&value[..width]);
            if let Some(slope) = slopes.as_mut().and_then(Iterator::next) {
                slope[first..first + width].copy_from_slice(&derivative[..width]);
            }
        }
    }
}

/// At most a vector of numbers, then zeros.
#[inline(always)]
fn padded(values: &[f32]) -> [f32; LANES] {
    let mut padded = [0.0; LANES];
    padded[..values.len()].copy_from_slice(values);
    padded
}

/// The coefficients in registers.
#[derive(Clone, Copy)]
struct Table {
    simd: V4,
    coefficients: [[__m512; 2]; DEGREE + 1],
}

impl Table {
    #[inline(always)]
    fn new(simd: V4) -> Self {
        let mut coefficients = [[simd.avx512f._mm512_setzero_ps(); 2]; DEGREE + 1];
        for degree in 0..=DEGREE {
            let (halves, _) = COEFFICIENTS[degree].as_chunks::<LANES>();
            coefficients[degree] = [pulp::cast(halves[0]), pulp::cast(halves[1])];
        }
        Self { simd, coefficients }
    }

    #[inline(always)]
    fn pick(&self, degree: usize, piece: __m512i) -> __m512 {
        let [low, high] = self.coefficients[degree];
        self.simd.avx512f._mm512_permutex2var_ps(low, piece, high)
    }

    /// x, s, u and the piece.
    #[inline(always)]
    fn locate(&self, z: [f32; LANES], bias: [f32; LANES]) -> (__m512, __m512, __m512, __m512i) {
        let f = self.simd.avx512f;
        let x = f._mm512_add_ps(pulp::cast(z), pulp::cast(bias));
        let s = f._mm512_mul_ps(x, f._mm512_set1_ps(PER_UNIT as f32));
        let distance = f._mm512_min_ps(f._mm512_abs_ps(s), f._mm512_set1_ps((PIECES - 1) as f32));
        let rounded = f._mm512_add_ps(distance, f._mm512_set1_ps(ROUND));
        let u = f._mm512_sub_ps(distance, f._mm512_sub_ps(rounded, f._mm512_set1_ps(ROUND)));
        (x, s, u, f._mm512_castps_si512(rounded))
    }

    /// Φ(x) from |Φ(x) − ½|.
    #[inline(always)]
    fn phi(&self, x: __m512, half: __m512) -> __m512 {
        let f = self.simd.avx512f;
        let sign = f._mm512_and_si512(f._mm512_castps_si512(x), f._mm512_set1_epi32(i32::MIN));
        let signed = f._mm512_or_si512(f._mm512_castps_si512(half), sign);
        f._mm512_add_ps(f._mm512_set1_ps(0.5), f._mm512_castsi512_ps(signed))
    }

    #[inline(always)]
    fn value(&self, z: [f32; LANES], bias: [f32; LANES]) -> [f32; LANES] {
        let f = self.simd.avx512f;
        let (x, _, u, piece) = self.locate(z, bias);
        let mut p = self.pick(DEGREE, piece);
        for degree in (0..DEGREE).rev() {
            p = f._mm512_fmadd_ps(p, u, self.pick(degree, piece));
        }
        pulp::cast(f._mm512_mul_ps(x, self.phi(x, p)))
    }

    #[inline(always)]
    fn value_and_slope(&self, z: [f32; LANES], bias: [f32; LANES]) -> ([f32; LANES], [f32; LANES]) {
        let f = self.simd.avx512f;
        let (x, s, u, piece) = self.locate(z, bias);
        let mut slope = self.pick(DEGREE, piece);
        let mut p = f._mm512_fmadd_ps(slope, u, self.pick(DEGREE - 1, piece));
        for degree in (0..DEGREE - 1).rev() {
            slope = f._mm512_fmadd_ps(slope, u, p);
            p = f._mm512_fmadd_ps(p, u, self.pick(degree, piece));
        }
        let phi = self.phi(x, p);
        let slope = f._mm512_fmadd_ps(s, slope, phi);
        (pulp::cast(f._mm512_mul_ps(x, phi)), pulp::cast(slope))
    }
}

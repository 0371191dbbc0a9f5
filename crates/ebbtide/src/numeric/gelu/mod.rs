//! GELU over rows of features.
//!
//! On machines with 512-bit vectors Φ comes from a table of short polynomials that fits their registers; elsewhere, where
//! looking up a table is slow, from powers of two.
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

pub(super) mod powers;
#[cfg(target_arch = "x86_64")]
mod table;

use super::vectors;

/// z ← GELU(z + bias) for rows of features, `stride` apart.
pub fn activate(z: &mut [f32], bias: &[f32], stride: usize) {
    match vectors() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(simd) => simd.vectorize(table::Activate { simd, z, slope: None, bias, stride }),
        others => others.dispatch(powers::Activate { z, bias, stride }),
    }
}

/// As [`activate`], with the derivative at z + bias written beside.
pub fn activate_with_slope(z: &mut [f32], slope: &mut [f32], bias: &[f32], stride: usize) {
    match vectors() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(simd) => {
            simd.vectorize(table::Activate { simd, z, slope: Some(slope), bias, stride });
        }
        others => others.dispatch(powers::ActivateWithSlope { z, slope, bias, stride }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::dispatch;
    use super::super::reference::{normal_distribution, sweep};
    use super::*;

    /// Rows of 21 features with a stride of 24: a whole vector, a part of one, and padding.
    const FEATURES: usize = 21;
    const STRIDE: usize = 24;

    fn rows() -> (Vec<f32>, Vec<f32>) {
        let bias: Vec<f32> = (0..FEATURES).map(|i| 0.01 * i as f32).collect();
        let rows = if cfg!(miri) { 10 } else { 4000 };
        let z = (0..rows * STRIDE).map(|i| 28.0 * (i as f32 / (rows * STRIDE) as f32 - 0.5)).collect();
        (z, bias)
    }

    #[test]
    fn every_path_agrees_with_powers_of_two() {
        let (z, bias) = rows();
        let (mut values, mut slopes, mut alone) = (z.clone(), vec![7.0; z.len()], z.clone());
        activate_with_slope(&mut values, &mut slopes, &bias, STRIDE);
        activate(&mut alone, &bias, STRIDE);
        let (mut plain, mut plain_slopes) = (z.clone(), vec![7.0; z.len()]);
        let (z_plain, plain_slope) = (&mut plain, &mut plain_slopes);
        dispatch(powers::ActivateWithSlope { z: z_plain, slope: plain_slope, bias: &bias, stride: STRIDE });
        assert_eq!(values, alone);
        for (i, &before) in z.iter().enumerate() {
            if i % STRIDE >= FEATURES {
                assert_eq!((values[i], slopes[i]), (before, 7.0), "padding must not be touched");
                continue;
            }
            let x = before + bias[i % STRIDE];
            let allowed = 2e-7 * (1.0 + x.abs());
            assert!((values[i] - plain[i]).abs() < allowed, "GELU {x}: {} and {}", values[i], plain[i]);
            assert!((slopes[i] - plain_slopes[i]).abs() < allowed, "GELU′ {x}");
        }
    }

    /// By whichever path this machine takes, and by powers of two.
    #[test]
    fn values_and_slopes_are_accurate() {
        let z: Vec<f32> = sweep(-14.0, 14.0).collect();
        let bias = vec![0.0; z.len()];
        let (mut values, mut slopes) = ([z.clone(), z.clone()], [z.clone(), z.clone()]);
        let ([first, second], [first_slope, second_slope]) = (&mut values, &mut slopes);
        activate_with_slope(first, first_slope, &bias, z.len());
        dispatch(powers::ActivateWithSlope { z: second, slope: second_slope, bias: &bias, stride: z.len() });
        for (values, slopes) in values.iter().zip(&slopes) {
            for (i, x) in z.iter().map(|&x| f64::from(x)).enumerate() {
                let (phi, bell) =
                    (normal_distribution(x), (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt());
                let allowed = 2e-7 * x.abs().max(1.0);
                assert!((f64::from(values[i]) - x * phi).abs() <= allowed, "GELU {x}: {}", values[i]);
                assert!((f64::from(slopes[i]) - phi - x * bell).abs() <= allowed, "GELU′ {x}: {}", slopes[i]);
            }
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

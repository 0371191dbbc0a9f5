//! What tests compare with: double precision, by formulas of their own.

/// Evenly spaced numbers, both ends included. (An interpreter is given fewer: it looks for wrong memory, not for wrong digits.)
pub(super) fn sweep(low: f32, high: f32) -> impl Iterator<Item = f32> {
    let steps = if cfg!(miri) { 50 } else { 200_000 };
    (0..=steps).map(move |i| low + (high - low) * i as f32 / steps as f32)
}

/// Φ by a series near the origin and a continued fraction in the tails, in double precision.
pub(super) fn normal_distribution(x: f64) -> f64 {
    let z = x.abs();
    let bell = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let upper = if z < 3.0 {
        let (mut term, mut sum) = (z, z);
        for k in 1..200 {
            term *= z * z / (2 * k + 1) as f64;
            sum += term;
        }
        0.5 - bell * sum
    } else {
        bell / (1..200).rev().fold(z, |fraction, k| z + k as f64 / fraction)
    };
    if x < 0.0 { upper } else { 1.0 - upper }
}

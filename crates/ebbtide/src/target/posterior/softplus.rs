//! The logistic function and its integral, in double precision.

/// log(1 + eˣ), without overflow.
pub(super) fn softplus(x: f64) -> f64 {
    let hinge = if x > 0.0 { x } else { 0.0 };
    hinge + (-x.abs()).exp().ln_1p()
}

/// 1 / (1 + e⁻ˣ), the derivative of [`softplus`].
pub(super) fn sigmoid(x: f64) -> f64 {
    let small = (-x.abs()).exp();
    (if x < 0.0 { small } else { 1.0 }) / (1.0 + small)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_finite_and_the_middle_is_exact() {
        for x in [-3.0, -0.1, 0.0, 0.7, 5.0_f64] {
            assert!((softplus(x) - x.exp().ln_1p()).abs() < 1e-14);
            assert!((sigmoid(x) - 1.0 / (1.0 + (-x).exp())).abs() < 1e-15);
        }
        assert_eq!((softplus(1e5), softplus(-1e5)), (1e5, 0.0));
        assert_eq!((sigmoid(1e5), sigmoid(-1e5)), (1.0, 0.0));
        assert!(softplus(f64::NAN).is_nan() && sigmoid(f64::NAN).is_nan());
    }
}

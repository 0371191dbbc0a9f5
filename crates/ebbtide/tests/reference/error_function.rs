//! The error function to the last few bits, and the exact GELU made of it.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Up to here the power series converges fast; beyond it the continued fraction does.
const CROSSOVER: f64 = 3.0;

/// erf x = 2/√π ∫_0^x exp(−u²) du.
pub fn erf(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() <= CROSSOVER {
        erf_series(x)
    } else {
        (1.0 - erfc_fraction(x.abs())).copysign(x)
    }
}

/// x Φ(x), with Φ the standard normal distribution function.
pub fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x * FRAC_1_SQRT_2))
}

/// erf x = 2/√π exp(−x²) Σ_n 2ⁿ x^{2n+1} / (1·3·…·(2n+1)): every term has the sign of x, nothing cancels.
fn erf_series(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    let mut odd = 1.0;
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// erfc x = exp(−x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))) for x > 0, from the inside out.
fn erfc_fraction(x: f64) -> f64 {
    let mut tail = x;
    for k in (1..=80).rev() {
        tail = x + 0.5 * f64::from(k) / tail;
    }
    (-x * x).exp() / (PI.sqrt() * tail)
}

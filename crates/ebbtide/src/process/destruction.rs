//! The destruction kernel: one Gaussian step back towards the origin, its corrections learned.

use super::{LOG_TAU, Step};
use crate::numeric::vector::{exp, ln, tanh, tanh_and_slope};
use crate::numeric::{Vectorised, dispatch};

/// What is done about the mean and the variance of the destruction process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Corrections {
    /// α = β = 1: the Brownian bridge pinned at the origin.
    Fixed,
    /// α = 1 + C₂ tanh a, and β by a multiplier of its own.
    Learned {
        /// C₂
        bound: f32,
        /// What β is of b.
        multiplier: Multiplier,
    },
}

/// How the variance correction β depends on the raw output b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Multiplier {
    /// β = 1 + C₂ tanh b
    Bounded,
    /// β = exp(C₁ tanh b): the paper tried it and saw it fluctuate.
    Exponential {
        /// C₁
        bound: f32,
    },
}

/// x_{i+1} → x_i ~ N(α ρ x_{i+1}, β ρ σ² Δ_i) with ρ = t_i / t_{i+1} and a, b raw outputs of the network at
/// (x_{i+1}, t_{i+1}).
///
/// The base step is the Brownian bridge pinned at the origin, so the process always ends there; the last
/// step, to x_0 = 0, is certain and has no density.
///
/// ```
/// use ebbtide::process::{Corrections, Destruction, Multiplier, Step};
///
/// let corrections = Corrections::Learned { bound: 0.5, multiplier: Multiplier::Bounded };
/// let kernel = Destruction { corrections, sigma_squared: 4.0 };
/// // Where a and b are 0, α and β are 1: a step from 2 has mean ρ · 2 = 1 and variance ρ σ² Δ = 1.
/// let (step, next, a, b) = (Step { length: 0.5, ratio: 0.5 }, [2.0], [0.0], [0.0]);
/// let mut x = next;
/// kernel.draw(step, &mut x, Some((&a, &b)), &[0.5]);
/// assert_eq!(x, [1.5]);
/// // That is the bridge, which has nothing to learn.
/// let bridge = Destruction { corrections: Corrections::Fixed, ..kernel };
/// assert!(kernel.is_learned() && !bridge.is_learned());
/// let (mut log_prob, mut of_bridge) = ([0.0], [0.0]);
/// kernel.log_prob(step, &x, &next, Some((&a, &b)), &mut log_prob);
/// bridge.log_prob(step, &x, &next, None, &mut of_bridge);
/// assert_eq!(log_prob, of_bridge);
///
/// // ∂ log p / ∂ a = 0.5 · ρ · 2 · C₂ and ∂ log p / ∂ b = ½ (0.5² − 1) C₂
/// let (mut by_a, mut by_b) = (a, b);
/// kernel.backward(step, &x, &next, &mut by_a, &mut by_b, &[1.0]);
/// assert_eq!((by_a, by_b), ([0.25], [-0.1875]));
/// // By the states: −0.5, and ρ · 0.5
/// let (mut by_x, mut by_next) = ([0.0], [0.0]);
/// kernel.backward_states(step, &x, &next, Some((&a, &b)), 1.0, &mut by_x, &mut by_next);
/// assert_eq!((by_x, by_next), ([-0.5], [0.25]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Destruction {
    /// Fixed or learned corrections.
    pub corrections: Corrections,
    /// σ²
    pub sigma_squared: f32,
}

impl Destruction {
    /// How many raw outputs a step of `dim` coordinates needs: those of the means, then of the variances.
    pub(crate) fn outputs(&self, dim: usize) -> usize {
        match self.corrections {
            Corrections::Fixed => 0,
            Corrections::Learned { .. } => 2 * dim,
        }
    }

    /// Whether there is anything to learn.
    pub fn is_learned(&self) -> bool {
        self.corrections != Corrections::Fixed
    }

    /// α and β of raw outputs a and b.
    pub(crate) fn multipliers(&self, a: f32, b: f32) -> (f32, f32) {
        let constants = self.constants(Step { length: 1.0, ratio: 1.0 });
        (constants.shrink(a), constants.multiplier(b).0)
    }

    fn constants(&self, step: Step) -> Constants {
        let base = step.ratio * self.sigma_squared * step.length;
        let (bound, exponent) = match self.corrections {
            Corrections::Fixed => (0.0, None),
            Corrections::Learned { bound, multiplier: Multiplier::Bounded } => (bound, None),
            Corrections::Learned { bound, multiplier: Multiplier::Exponential { bound: exponent } } => {
                (bound, Some(exponent))
            }
        };
        Constants { ratio: step.ratio, bound, exponent, base, inverse: 1.0 / base, log_base: base.ln() }
    }

    /// Adds log p(x_i | x_{i+1}) of one coordinate to `out`. The corrections are absent where fixed.
    pub fn log_prob(
        &self,
        step: Step,
        x: &[f32],
        next: &[f32],
        raw: Option<(&[f32], &[f32])>,
        out: &mut [f32],
    ) {
        // With the corrections fixed C₂ is 0, and whatever stands in for a and b does not count.
        let (a, b) = raw.unwrap_or((next, next));
        dispatch(LogProb { k: self.constants(step), x, next, a, b, out });
    }

    /// Writes `weight` · ∂ log p / ∂ (a, b) over a and b.
    pub fn backward(
        &self,
        step: Step,
        x: &[f32],
        next: &[f32],
        a: &mut [f32],
        b: &mut [f32],
        weight: &[f32],
    ) {
        dispatch(Backward { k: self.constants(step), x, next, a, b, weight });
    }

    /// Adds `weight` · ∂ log p / ∂ (x_i, x_{i+1}), the raw outputs held constant, to the two gradients.
    #[allow(clippy::too_many_arguments)]
    pub fn backward_states(
        &self,
        step: Step,
        x: &[f32],
        next: &[f32],
        raw: Option<(&[f32], &[f32])>,
        weight: f32,
        x_gradient: &mut [f32],
        next_gradient: &mut [f32],
    ) {
        let (a, b) = raw.unwrap_or((next, next));
        dispatch(BackwardStates {
            k: self.constants(step),
            x,
            next,
            a,
            b,
            weight,
            x_gradient,
            next_gradient,
        });
    }

    /// Moves `x`, a state x_{i+1}, back to x_i: α ρ x + √(β ρ σ² Δ) · `noise`.
    pub fn draw(&self, step: Step, x: &mut [f32], raw: Option<(&[f32], &[f32])>, noise: &[f32]) {
        // Without corrections C₂ is 0, so the noise may stand in for them.
        let (a, b) = raw.unwrap_or((noise, noise));
        dispatch(Draw { k: self.constants(step), x, a, b, noise });
    }
}

#[derive(Clone, Copy)]
struct Constants {
    ratio: f32,
    bound: f32,
    /// C₁, if β is exponential.
    exponent: Option<f32>,
    base: f32,
    inverse: f32,
    log_base: f32,
}

impl Constants {
    /// α ρ
    #[inline(always)]
    fn shrink(&self, a: f32) -> f32 {
        self.bound.mul_add(tanh(a), 1.0) * self.ratio
    }

    /// (β, log β, ∂ log β / ∂ b)
    #[inline(always)]
    fn multiplier(&self, b: f32) -> (f32, f32, f32) {
        let (t, slope) = tanh_and_slope(b);
        match self.exponent {
            None => {
                let beta = self.bound.mul_add(t, 1.0);
                (beta, ln(beta), self.bound * slope / beta)
            }
            Some(exponent) => (exp(exponent * t), exponent * t, exponent * slope),
        }
    }
}

struct LogProb<'a> {
    k: Constants,
    x: &'a [f32],
    next: &'a [f32],
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
}

impl Vectorised for LogProb<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.out.len();
        let (x, next, a, b) = (&self.x[..n], &self.next[..n], &self.a[..n], &self.b[..n]);
        for i in 0..n {
            let (beta, log_beta, _) = self.k.multiplier(b[i]);
            let residual = self.k.shrink(a[i]).mul_add(-next[i], x[i]);
            let square = residual * residual * self.k.inverse / beta;
            self.out[i] -= 0.5 * (square + LOG_TAU + self.k.log_base + log_beta);
        }
    }
}

struct Backward<'a> {
    k: Constants,
    x: &'a [f32],
    next: &'a [f32],
    a: &'a mut [f32],
    b: &'a mut [f32],
    weight: &'a [f32],
}

impl Vectorised for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.weight.len();
        let (x, next, a, b) = (&self.x[..n], &self.next[..n], &mut self.a[..n], &mut self.b[..n]);
        for i in 0..n {
            let (t, slope) = tanh_and_slope(a[i]);
            let (beta, _, log_slope) = self.k.multiplier(b[i]);
            let pull = self.k.ratio * next[i];
            let residual = self.k.bound.mul_add(t, 1.0).mul_add(-pull, x[i]);
            let scaled = residual * self.k.inverse / beta;
            a[i] = self.weight[i] * scaled * pull * self.k.bound * slope;
            b[i] = 0.5 * self.weight[i] * (residual * scaled - 1.0) * log_slope;
        }
    }
}

struct BackwardStates<'a> {
    k: Constants,
    x: &'a [f32],
    next: &'a [f32],
    a: &'a [f32],
    b: &'a [f32],
    weight: f32,
    x_gradient: &'a mut [f32],
    next_gradient: &'a mut [f32],
}

impl Vectorised for BackwardStates<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.x.len();
        let (next, a, b) = (&self.next[..n], &self.a[..n], &self.b[..n]);
        for i in 0..n {
            let shrink = self.k.shrink(a[i]);
            let (beta, _, _) = self.k.multiplier(b[i]);
            let residual = shrink.mul_add(-next[i], self.x[i]);
            let pull = self.weight * residual * self.k.inverse / beta;
            self.x_gradient[i] -= pull;
            self.next_gradient[i] += shrink * pull;
        }
    }
}

struct Draw<'a> {
    k: Constants,
    x: &'a mut [f32],
    a: &'a [f32],
    b: &'a [f32],
    noise: &'a [f32],
}

impl Vectorised for Draw<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.x.len();
        let (a, b, noise) = (&self.a[..n], &self.b[..n], &self.noise[..n]);
        for i in 0..n {
            let (beta, _, _) = self.k.multiplier(b[i]);
            self.x[i] = (self.k.base * beta).sqrt().mul_add(noise[i], self.k.shrink(a[i]) * self.x[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(corrections: Corrections) -> Destruction {
        Destruction { corrections, sigma_squared: 2.0 }
    }

    #[test]
    fn corrections_need_an_output_each_and_the_bridge_needs_none() {
        let learned = kernel(Corrections::Learned { bound: 0.5, multiplier: Multiplier::Bounded });
        assert_eq!((learned.outputs(3), learned.is_learned()), (6, true));
        let fixed = kernel(Corrections::Fixed);
        assert_eq!((fixed.outputs(3), fixed.is_learned()), (0, false));
        assert_eq!(fixed.multipliers(0.7, -0.3), (1.0, 1.0));
    }

    /// tanh(½ ln 3) = ½
    #[test]
    fn multipliers_are_bounded_or_exponential() {
        let raw = 0.5 * 3.0_f32.ln();
        let close =
            |value: f32, expected: f32| assert!((value - expected).abs() < 1e-6, "{value}, {expected}");
        let learned = |multiplier| kernel(Corrections::Learned { bound: 0.8, multiplier });
        let (alpha, beta) = learned(Multiplier::Bounded).multipliers(-raw, raw);
        close(alpha, 0.6);
        close(beta, 1.4);
        let (alpha, beta) = learned(Multiplier::Exponential { bound: 2.0 }).multipliers(raw, -raw);
        close(alpha, 1.4);
        close(beta, (-1.0_f32).exp());
    }
}

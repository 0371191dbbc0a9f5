//! The generation kernel: one Gaussian step towards a sample, its drift and variance learned.

use super::{LOG_TAU, Step};
use crate::numeric::vector::{exp, tanh, tanh_and_slope};
use crate::numeric::{Vectorised, dispatch};

/// What is done about the variance of the generation process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GenerationVariance {
    /// γ = 1
    Fixed,
    /// γ = exp(C₁ tanh v), so between e^(−C₁) and e^C₁.
    Learned {
        /// C₁
        bound: f32,
    },
}

/// x_i → x_{i+1} ~ N(x_i + f Δ_i, γ σ² Δ_i), with f and v raw outputs of the network at (x_i, t_i).
///
/// The drift f is clamped to ± `drift_bound`; beyond it, its gradient is zero.
///
/// ```
/// use ebbtide::process::{Generation, GenerationVariance, Step};
///
/// let variance = GenerationVariance::Learned { bound: 4.0 };
/// let kernel = Generation { variance, sigma_squared: 2.0, drift_bound: 100.0 };
/// // Where v is 0, γ is 1: a step from x = 1 with f = 2 has mean x + f Δ = 2 and variance σ² Δ = 1.
/// let step = Step { length: 0.5, ratio: 0.5 };
/// let (x, f, v, noise) = ([1.0], [2.0], [0.0], [0.25]);
/// let mut next = x;
/// kernel.draw(step, &mut next, &f, Some(&v), &noise, 0.0);
/// assert_eq!(next, [2.25]);
/// let mut log_prob = [0.0];
/// kernel.log_prob(step, &x, &next, &f, Some(&v), &mut log_prob);
/// assert!((log_prob[0] + 0.5 * (0.25 * 0.25 + std::f32::consts::TAU.ln())).abs() < 1e-6);
///
/// // ∂ log p / ∂ f = Δ · 0.25 / 1 and ∂ log p / ∂ v = ½ (0.25² − 1) C₁
/// let (mut by_f, mut by_v) = (f, v);
/// kernel.backward(step, &x, &next, &mut by_f, Some(&mut by_v), &[1.0]);
/// assert_eq!((by_f, by_v), ([0.125], [-1.875]));
/// // Of the next state itself, with the noise held: Δ, and ½ C₁ · 0.25
/// let (mut by_f, mut by_v) = (f, v);
/// kernel.backward_draw(step, &mut by_f, Some(&mut by_v), &noise, &[1.0], 0.0);
/// assert_eq!((by_f, by_v), ([0.5], [0.5]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generation {
    /// Fixed or learned γ.
    pub variance: GenerationVariance,
    /// σ²
    pub sigma_squared: f32,
    /// The largest drift let through.
    pub drift_bound: f32,
}

impl Generation {
    /// How many raw outputs a step of `dim` coordinates needs: drifts, then variances if learned.
    pub(crate) fn outputs(&self, dim: usize) -> usize {
        match self.variance {
            GenerationVariance::Fixed => dim,
            GenerationVariance::Learned { .. } => 2 * dim,
        }
    }

    /// C₁, or 0 where γ is fixed: exp(0 tanh v) = 1.
    fn bound(&self) -> f32 {
        match self.variance {
            GenerationVariance::Fixed => 0.0,
            GenerationVariance::Learned { bound } => bound,
        }
    }

    /// γ of a raw output v.
    pub(crate) fn multiplier(&self, v: f32) -> f32 {
        exp(self.bound() * tanh(v))
    }

    fn constants(&self, step: Step) -> Constants {
        let base = self.sigma_squared * step.length;
        Constants {
            length: step.length,
            bound: self.bound(),
            drift_bound: self.drift_bound,
            base,
            inverse: 1.0 / base,
            log_base: base.ln(),
        }
    }

    /// Adds log p(x_{i+1} | x_i) of one coordinate to `out`. `v` is absent where γ is fixed.
    pub fn log_prob(
        &self,
        step: Step,
        x: &[f32],
        next: &[f32],
        f: &[f32],
        v: Option<&[f32]>,
        out: &mut [f32],
    ) {
        // With γ fixed C₁ is 0, and whatever stands in for v does not count.
        dispatch(LogProb { k: self.constants(step), x, next, f, v: v.unwrap_or(f), out });
    }

    /// Writes `weight` · ∂ log p / ∂ (f, v) over f and v.
    pub fn backward(
        &self,
        step: Step,
        x: &[f32],
        next: &[f32],
        f: &mut [f32],
        v: Option<&mut [f32]>,
        weight: &[f32],
    ) {
        let k = self.constants(step);
        match v {
            Some(v) => dispatch(Backward { k, x, next, f, v, weight }),
            None => dispatch(BackwardFixed { k, x, next, f, weight }),
        }
    }

    /// Moves `x` to the next state: x + f Δ + √(γ σ² Δ + `added_variance`) · `noise`.
    pub fn draw(
        &self,
        step: Step,
        x: &mut [f32],
        f: &[f32],
        v: Option<&[f32]>,
        noise: &[f32],
        added_variance: f32,
    ) {
        dispatch(Draw { k: self.constants(step), x, f, v: v.unwrap_or(f), noise, added_variance });
    }

    /// The derivative through a draw with fixed noise: given the gradient of a loss with respect to the next
    /// state in `adjoint`, and the loss's coefficient of log p of this step in `weight`, writes the
    /// gradient over f and v. With the noise ξ fixed, log p is −½ (ξ² + log 2πγσ²Δ), so only v enters it.
    pub fn backward_draw(
        &self,
        step: Step,
        f: &mut [f32],
        v: Option<&mut [f32]>,
        noise: &[f32],
        adjoint: &[f32],
        weight: f32,
    ) {
        let k = self.constants(step);
        if let Some(v) = v {
            dispatch(BackwardDraw { k, v, noise, adjoint, weight });
        }
        for (f, adjoint) in f.iter_mut().zip(adjoint) {
            *f = if f.abs() <= k.drift_bound { adjoint * k.length } else { 0.0 };
        }
    }
}

#[derive(Clone, Copy)]
struct Constants {
    length: f32,
    bound: f32,
    drift_bound: f32,
    base: f32,
    inverse: f32,
    log_base: f32,
}

impl Constants {
    /// x_{i+1} − x_i − f Δ
    #[inline(always)]
    fn residual(&self, x: f32, next: f32, f: f32) -> f32 {
        f.clamp(-self.drift_bound, self.drift_bound).mul_add(-self.length, next - x)
    }

    /// weight · ∂ log p / ∂ f
    #[inline(always)]
    fn drift_gradient(&self, residual: f32, f: f32, inverse: f32, weight: f32) -> f32 {
        if f.abs() <= self.drift_bound { weight * self.length * residual * inverse } else { 0.0 }
    }
}

struct LogProb<'a> {
    k: Constants,
    x: &'a [f32],
    next: &'a [f32],
    f: &'a [f32],
    v: &'a [f32],
    out: &'a mut [f32],
}

impl Vectorised for LogProb<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.out.len();
        let (x, next, f, v) = (&self.x[..n], &self.next[..n], &self.f[..n], &self.v[..n]);
        for i in 0..n {
            let log_gamma = self.k.bound * tanh(v[i]);
            let residual = self.k.residual(x[i], next[i], f[i]);
            let square = residual * residual * self.k.inverse * exp(-log_gamma);
            self.out[i] -= 0.5 * (square + LOG_TAU + self.k.log_base + log_gamma);
        }
    }
}

struct Backward<'a> {
    k: Constants,
    x: &'a [f32],
    next: &'a [f32],
    f: &'a mut [f32],
    v: &'a mut [f32],
    weight: &'a [f32],
}

impl Vectorised for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.weight.len();
        let (x, next, f, v) = (&self.x[..n], &self.next[..n], &mut self.f[..n], &mut self.v[..n]);
        for i in 0..n {
            let (t, slope) = tanh_and_slope(v[i]);
            let inverse = self.k.inverse * exp(-self.k.bound * t);
            let residual = self.k.residual(x[i], next[i], f[i]);
            let excess = residual * residual * inverse - 1.0;
            f[i] = self.k.drift_gradient(residual, f[i], inverse, self.weight[i]);
            v[i] = 0.5 * self.weight[i] * excess * self.k.bound * slope;
        }
    }
}

struct BackwardFixed<'a> {
    k: Constants,
    x: &'a [f32],
    next: &'a [f32],
    f: &'a mut [f32],
    weight: &'a [f32],
}

impl Vectorised for BackwardFixed<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.weight.len();
        let (x, next, f) = (&self.x[..n], &self.next[..n], &mut self.f[..n]);
        for i in 0..n {
            let residual = self.k.residual(x[i], next[i], f[i]);
            f[i] = self.k.drift_gradient(residual, f[i], self.k.inverse, self.weight[i]);
        }
    }
}

struct Draw<'a> {
    k: Constants,
    x: &'a mut [f32],
    f: &'a [f32],
    v: &'a [f32],
    noise: &'a [f32],
    added_variance: f32,
}

impl Vectorised for Draw<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.x.len();
        let (f, v, noise) = (&self.f[..n], &self.v[..n], &self.noise[..n]);
        for i in 0..n {
            let variance = self.k.base * exp(self.k.bound * tanh(v[i])) + self.added_variance;
            let drift = f[i].clamp(-self.k.drift_bound, self.k.drift_bound);
            self.x[i] = variance.sqrt().mul_add(noise[i], drift.mul_add(self.k.length, self.x[i]));
        }
    }
}

struct BackwardDraw<'a> {
    k: Constants,
    v: &'a mut [f32],
    noise: &'a [f32],
    adjoint: &'a [f32],
    weight: f32,
}

impl Vectorised for BackwardDraw<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.v.len();
        let (noise, adjoint) = (&self.noise[..n], &self.adjoint[..n]);
        for i in 0..n {
            let (t, slope) = tanh_and_slope(self.v[i]);
            let deviation = (self.k.base * exp(self.k.bound * t)).sqrt();
            let gradient = 0.5 * (adjoint[i] * deviation * noise[i] - self.weight);
            self.v[i] = gradient * self.k.bound * slope;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tanh(½ ln 3) = ½
    #[test]
    fn a_learned_variance_needs_an_output_and_a_fixed_one_does_not() {
        let kernel = |variance| Generation { variance, sigma_squared: 2.0, drift_bound: 1e4 };
        let learned = kernel(GenerationVariance::Learned { bound: 3.0 });
        assert_eq!(learned.outputs(3), 6);
        assert!((learned.multiplier(0.5 * 3.0_f32.ln()) - 1.5_f32.exp()).abs() < 1e-5);
        let fixed = kernel(GenerationVariance::Fixed);
        assert_eq!((fixed.outputs(3), fixed.multiplier(0.7)), (3, 1.0));
    }
}

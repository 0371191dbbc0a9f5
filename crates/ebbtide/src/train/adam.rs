//! Adam on a slice of the flat parameter vector.

use super::arrays::{ArrayRef, Arrays, StateError};
use super::state::COUNTABLE;
use crate::numeric::{Vectorised, dispatch};
use crate::trajectory::{PIECES, Threads, piece};

const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const EPSILON: f32 = 1e-8;
/// Moments this small do not move a parameter, and smaller ones would become denormal and slow.
const DUST: f32 = 1e-30;

/// The moments of Adam, and how many steps made them.
///
/// Weight decay is added to the gradient before the moments see it.
///
/// ```
/// use ebbtide::train::Adam;
/// use ebbtide::trajectory::Threads;
///
/// // Down to the bottom of |x − 3|² / 2. The first step has the size of the rate, however steep it is.
/// let (mut adam, mut x, threads) = (Adam::new(2), [1.0_f32, -2.0], Threads::new(1)?);
/// for step in 0..1000 {
///     let gradient = x.map(|x| x - 3.0);
///     adam.step(&threads, &mut x, &gradient, 1.0, 0.1, 0.0);
///     assert!(step > 0 || (x[0] - 1.1).abs() + (x[1] + 1.9).abs() < 1e-5);
/// }
/// assert!(x.iter().all(|x| (x - 3.0).abs() < 1e-2));
/// # Ok::<(), ebbtide::trajectory::ThreadsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: u64,
}

impl Adam {
    /// For `length` parameters.
    pub fn new(length: usize) -> Self {
        Self { first: vec![0.0; length], second: vec![0.0; length], steps: 0 }
    }

    /// Adds its arrays to those of a state: first moment, second moment, steps, by these names.
    pub(super) fn lay_out<'a>(
        &'a self,
        [first, second, steps]: [&'static str; 3],
        arrays: &mut Vec<(&'static str, ArrayRef<'a>)>,
    ) {
        arrays.push((first, ArrayRef::F32(&self.first)));
        arrays.push((second, ArrayRef::F32(&self.second)));
        arrays.push((steps, ArrayRef::U64(self.steps)));
    }

    /// Takes the arrays of these names from those of a state.
    pub(super) fn take_up(
        [first, second, steps]: [&'static str; 3],
        arrays: &mut Arrays,
    ) -> Result<Self, StateError> {
        Ok(Self {
            first: arrays.singles(first)?,
            second: arrays.singles(second)?,
            steps: arrays.whole(steps)?,
        })
    }

    /// Whether both moments have this length and possible values: what a restored optimiser must have.
    pub(crate) fn is_sound(&self, length: usize) -> bool {
        self.first.len() == length
            && self.second.len() == length
            && self.first.iter().all(|moment| moment.is_finite())
            // The square of a gradient may be more than single precision holds: such a parameter stays where it is.
            && self.second.iter().all(|&moment| moment >= 0.0)
            && self.steps < COUNTABLE
    }

    /// One step down `scale` · `gradient`.
    pub fn step(
        &mut self,
        threads: &Threads,
        parameters: &mut [f32],
        gradient: &[f32],
        scale: f32,
        rate: f64,
        decay: f32,
    ) {
        self.steps += 1;
        let power = self.steps.min(i32::MAX as u64) as i32;
        let size = (rate / (1.0 - FIRST.powi(power))) as f32;
        let correction = (1.0 / (1.0 - SECOND.powi(power)).sqrt()) as f32;
        let piece = piece(parameters.len());
        let moments = self.first.chunks_mut(piece).zip(self.second.chunks_mut(piece));
        let pieces = parameters.chunks_mut(piece).zip(gradient.chunks(piece)).zip(moments);
        threads.share(gradient.len(), pieces, |((parameters, gradient), (first, second))| {
            dispatch(Update { parameters, gradient, first, second, scale, size, correction, decay });
        });
    }
}

struct Update<'a> {
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
    scale: f32,
    size: f32,
    correction: f32,
    decay: f32,
}

impl Vectorised for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let n = self.parameters.len();
        let (gradient, first, second) = (&self.gradient[..n], &mut self.first[..n], &mut self.second[..n]);
        let (keep_first, keep_second) = (FIRST as f32, SECOND as f32);
        for i in 0..n {
            let gradient = self.scale * gradient[i] + self.decay * self.parameters[i];
            let moment = keep_first * first[i] + (1.0 - keep_first) * gradient;
            first[i] = if moment.abs() < DUST { 0.0 } else { moment };
            second[i] = (keep_second * second[i] + (1.0 - keep_second) * gradient * gradient).max(DUST);
            self.parameters[i] -= self.size * first[i] / (second[i].sqrt() * self.correction + EPSILON);
        }
    }
}

/// The factor that brings a gradient of this norm down to `limit`, or 1.
pub(super) fn clip_scale(norm: f64, limit: f64) -> f32 {
    if norm > limit { (limit / norm) as f32 } else { 1.0 }
}

/// The Euclidean norm, summed in double precision.
pub(super) fn norm(threads: &Threads, gradient: &[f32]) -> f64 {
    let mut sums = [0.0; PIECES];
    let pieces = gradient.chunks(piece(gradient.len())).zip(&mut sums);
    threads.share(gradient.len(), pieces, |(gradient, sum)| *sum = dispatch(SumOfSquares(gradient)));
    sums.iter().sum::<f64>().sqrt()
}

struct SumOfSquares<'a>(&'a [f32]);

const WAYS: usize = 32;

impl Vectorised for SumOfSquares<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut ways = [0.0_f64; WAYS];
        let (chunks, rest) = self.0.as_chunks::<WAYS>();
        for chunk in chunks {
            for (way, &value) in ways.iter_mut().zip(chunk) {
                *way = f64::from(value).mul_add(f64::from(value), *way);
            }
        }
        let rest: f64 = rest.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
        ways.iter().sum::<f64>() + rest
    }
}

/// follower ← follower + τ (leader − follower)
pub fn follow(threads: &Threads, follower: &mut [f32], leader: &[f32], tau: f32) {
    let piece = piece(follower.len());
    threads.share(
        leader.len(),
        follower.chunks_mut(piece).zip(leader.chunks(piece)),
        |(follower, leader)| {
            dispatch(Follow { follower, leader, tau });
        },
    );
}

struct Follow<'a> {
    follower: &'a mut [f32],
    leader: &'a [f32],
    tau: f32,
}

impl Vectorised for Follow<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (follower, leader) in self.follower.iter_mut().zip(self.leader) {
            *follower += self.tau * (leader - *follower);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_size_of_the_rate() {
        let mut parameters = [1.0, -2.0, 0.0];
        let threads = Threads::new(1).expect("one thread");
        Adam::new(3).step(&threads, &mut parameters, &[5.0, -0.01, 0.0], 1.0, 0.1, 0.0);
        assert!((parameters[0] - 0.9).abs() < 1e-6);
        assert!((parameters[1] + 1.9).abs() < 1e-5);
        assert_eq!(parameters[2], 0.0);
    }

    #[test]
    fn clipping_brings_the_norm_to_the_limit() {
        let gradient: Vec<f32> = (0..19).map(|i| i as f32).collect();
        let length = norm(&Threads::new(2).expect("two threads"), &gradient);
        assert!((length - (2109.0_f64).sqrt()).abs() < 1e-9);
        assert_eq!(clip_scale(length, 100.0), 1.0);
        assert!((f64::from(clip_scale(length, 2.0)) * length - 2.0).abs() < 1e-6);
    }
}

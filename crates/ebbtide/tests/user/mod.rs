//! Small targets, such as a user of the library would write.
#![allow(dead_code, reason = "every integration test compiles its own copy and uses only a part of it")]

use ebbtide::stream::Address;
use ebbtide::target::{Differentiable, Drawable, Modes, Target, TargetError};
use ebbtide::trajectory::Threads;

/// exp(log Z) · N(0, variance · I), with all that can be known about it.
#[derive(Clone, Copy)]
pub struct Gaussian {
    /// Coordinates.
    pub dim: usize,
    /// Of each coordinate.
    pub variance: f64,
    /// What the density integrates to, as a logarithm.
    pub log_z: f64,
}

impl Gaussian {
    fn log_density_of(&self, point: &[f32]) -> f64 {
        let squares: f64 = point.iter().map(|&x| f64::from(x).powi(2)).sum();
        let normaliser = 0.5 * self.dim as f64 * (std::f64::consts::TAU * self.variance).ln();
        self.log_z - normaliser - 0.5 * squares / self.variance
    }
}

impl Target for Gaussian {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        for (point, value) in points.chunks_exact(self.dim).zip(out) {
            *value = self.log_density_of(point);
        }
        Ok(())
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn drawable(&self) -> Option<&dyn Drawable> {
        Some(self)
    }

    fn log_z(&self) -> Option<f64> {
        Some(self.log_z)
    }

    fn modes(&self) -> Option<&dyn Modes> {
        Some(self)
    }
}

impl Differentiable for Gaussian {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        for (slope, &x) in gradient.iter_mut().zip(points) {
            *slope = -x / self.variance as f32;
        }
        self.log_density(points, out)
    }
}

impl Drawable for Gaussian {
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
        for (row, point) in points.chunks_exact_mut(self.dim).enumerate() {
            let mut stream = address.stream(row);
            point.fill_with(|| (self.variance.sqrt() * stream.normal_f64()) as f32);
        }
        Ok(())
    }
}

impl Modes for Gaussian {
    fn weights(&self) -> &[f64] {
        &[1.0]
    }

    /// Whatever lies within four deviations.
    fn mode_of(&self, point: &[f32]) -> Option<usize> {
        let reach = 4.0 * self.variance.sqrt();
        point.iter().all(|&x| f64::from(x).abs() < reach).then_some(0)
    }
}

/// The same density, by its values alone: no gradient, no draws, nothing known.
#[derive(Clone, Copy)]
pub struct BlackBox(pub Gaussian);

impl Target for BlackBox {
    fn dim(&self) -> usize {
        self.0.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.0.log_density(points, out)
    }

    fn log_z(&self) -> Option<f64> {
        self.0.log_z()
    }
}

/// What a [`Formula`] answers at a point: log density, and ∇ log density in the slice.
pub type Answer = fn(&[f32], &mut [f32]) -> Result<f32, TargetError>;

/// A density with gradient given by one function of a point.
#[derive(Clone, Copy)]
pub struct Formula {
    /// Coordinates.
    pub dim: usize,
    /// Density and gradient.
    pub answer: Answer,
}

impl Target for Formula {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        let mut gradient = vec![0.0; self.dim];
        for (point, value) in points.chunks_exact(self.dim).zip(out) {
            *value = (self.answer)(point, &mut gradient)?.into();
        }
        Ok(())
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl Differentiable for Formula {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        let rows = points.chunks_exact(self.dim).zip(gradient.chunks_exact_mut(self.dim));
        for ((point, slope), value) in rows.zip(out) {
            *value = (self.answer)(point, slope)?.into();
        }
        Ok(())
    }
}

/// A single thread.
pub fn thread() -> Threads {
    Threads::new(1).expect("a thread")
}

/// −½ |x|² and its gradient: what most formulas do where they do nothing else.
pub fn bowl(point: &[f32], gradient: &mut [f32]) -> f32 {
    for (slope, x) in gradient.iter_mut().zip(point) {
        *slope = -x;
    }
    -0.5 * point.iter().map(|x| x * x).sum::<f32>()
}

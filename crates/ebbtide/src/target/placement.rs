//! Where a density is and how wide: coordinates in which it has about the size that a sampler begins with.

use std::sync::Arc;

use super::{Differentiable, Drawable, Modes, NOWHERE, Target, TargetError, check_shape, saturate};
use crate::stream::Address;

/// x = location + scale · z, each coordinate for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    location: Vec<f64>,
    scale: Vec<f64>,
}

/// Why a placement is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// Not as many numbers as there are coordinates.
    #[error(
        "a placement of {dim} coordinates needs as many locations and scales, not {location} and {scale}"
    )]
    Length {
        /// Coordinates of the target.
        dim: usize,
        /// Locations given.
        location: usize,
        /// Scales given.
        scale: usize,
    },
    /// A location that is not finite, or a scale that is not positive and finite.
    #[error(
        "coordinate {coordinate} is placed at {location} ± {scale}; both must be finite, and the scale above 0"
    )]
    Number {
        /// Which.
        coordinate: usize,
        /// Its location.
        location: f64,
        /// Its scale.
        scale: f64,
    },
}

impl Placement {
    /// Checks that all numbers are usable.
    pub fn new(location: Vec<f64>, scale: Vec<f64>) -> Result<Self, PlacementError> {
        if location.len() != scale.len() {
            let dim = location.len().max(scale.len());
            return Err(PlacementError::Length { dim, location: location.len(), scale: scale.len() });
        }
        for (coordinate, (&location, &scale)) in location.iter().zip(&scale).enumerate() {
            if !(location.is_finite() && scale.is_normal() && scale > 0.0) {
                return Err(PlacementError::Number { coordinate, location, scale });
            }
        }
        Ok(Self { location, scale })
    }

    /// z is x.
    pub fn identity(dim: usize) -> Self {
        Self { location: vec![0.0; dim], scale: vec![1.0; dim] }
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.location.len()
    }

    /// The locations.
    pub fn location(&self) -> &[f64] {
        &self.location
    }

    /// The scales.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// log |dx/dz|, by which the log density of z is larger than that of x.
    pub fn log_volume(&self) -> f64 {
        self.scale.iter().map(|scale| scale.ln()).sum()
    }

    /// x of one coordinate.
    pub fn x(&self, coordinate: usize, z: f64) -> f64 {
        self.location[coordinate] + self.scale[coordinate] * z
    }

    /// z of one coordinate.
    pub fn z(&self, coordinate: usize, x: f64) -> f64 {
        (x - self.location[coordinate]) / self.scale[coordinate]
    }

    /// Points (n × dim by rows) from z to x, in place.
    pub fn apply(&self, points: &mut [f32]) {
        for point in points.chunks_exact_mut(self.dim()) {
            for (coordinate, value) in point.iter_mut().enumerate() {
                *value = saturate(self.x(coordinate, f64::from(*value)));
            }
        }
    }

    /// Tells of values that no density can have, where they are in x: whoever looks next sees z alone. Empty `gradient`s are not looked at.
    pub(super) fn check(&self, points: &[f32], out: &[f64], gradient: &[f32]) -> Result<(), TargetError> {
        let (dim, x) = (self.dim(), |row: usize| {
            let mut point = points[row * self.dim()..][..self.dim()].to_vec();
            self.apply(&mut point);
            point
        });
        if let Some(row) = out.iter().position(|value| value.is_nan() || *value == f64::INFINITY) {
            return Err(TargetError::Impossible { value: out[row], row, point: x(row) });
        }
        let is_wrong = |(place, slope): (usize, &f32)| !slope.is_finite() && out[place / dim] > NOWHERE;
        match gradient.iter().enumerate().position(is_wrong) {
            None => Ok(()),
            Some(place) => Err(TargetError::Gradient {
                value: gradient[place],
                coordinate: place % dim,
                point: x(place / dim),
            }),
        }
    }

    /// This placement, and within its coordinates another one.
    pub(crate) fn then(&self, inner: &Self) -> Self {
        let location = (0..self.dim()).map(|coordinate| self.x(coordinate, inner.location[coordinate]));
        let scale = self.scale.iter().zip(&inner.scale).map(|(outer, inner)| outer * inner);
        Self { location: location.collect(), scale: scale.collect() }
    }
}

/// A density that can be looked at in other coordinates.
pub trait Placeable {
    /// Number of coordinates.
    fn dim(&self) -> usize;

    /// The density of z, where x = location + scale · z has this one. Its integral is the same.
    fn placed(&self, placement: &Placement) -> Result<Arc<dyn Target>, TargetError>;
}

/// Any target can be placed, as precisely as single precision holds its points.
impl Placeable for Arc<dyn Target> {
    fn dim(&self) -> usize {
        Target::dim(&**self)
    }

    fn placed(&self, placement: &Placement) -> Result<Arc<dyn Target>, TargetError> {
        if placement.dim() != Target::dim(&**self) {
            let dim = Target::dim(&**self);
            let (location, scale) = (placement.location.len(), placement.scale.len());
            return Err(TargetError::failed(PlacementError::Length { dim, location, scale }));
        }
        Ok(Arc::new(Placed { inner: Arc::clone(self), placement: placement.clone() }))
    }
}

/// A target in other coordinates.
struct Placed {
    inner: Arc<dyn Target>,
    placement: Placement,
}

impl Placed {
    fn x(&self, points: &[f32]) -> Vec<f32> {
        let mut x = points.to_vec();
        self.placement.apply(&mut x);
        x
    }
}

impl Target for Placed {
    fn dim(&self) -> usize {
        self.placement.dim()
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.dim(), points, out, None)?;
        self.inner.log_density(&self.x(points), out)?;
        let volume = self.placement.log_volume();
        out.iter_mut().for_each(|value| *value += volume);
        self.placement.check(points, out, &[])
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        self.inner.differentiable().map(|_| self as &dyn Differentiable)
    }

    fn drawable(&self) -> Option<&dyn Drawable> {
        self.inner.drawable().map(|_| self as &dyn Drawable)
    }

    fn log_z(&self) -> Option<f64> {
        self.inner.log_z()
    }

    fn modes(&self) -> Option<&dyn Modes> {
        self.inner.modes().map(|_| self as &dyn Modes)
    }
}

impl Differentiable for Placed {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        check_shape(self.dim(), points, out, Some(gradient))?;
        let inner = self.inner.differentiable().ok_or_else(|| TargetError::failed("it has no gradient"))?;
        inner.log_density_and_gradient(&self.x(points), out, gradient)?;
        let volume = self.placement.log_volume();
        out.iter_mut().for_each(|value| *value += volume);
        for slope in gradient.chunks_exact_mut(self.dim()) {
            for (slope, scale) in slope.iter_mut().zip(self.placement.scale()) {
                *slope = saturate(f64::from(*slope) * scale);
            }
        }
        self.placement.check(points, out, gradient)
    }
}

impl Drawable for Placed {
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
        let inner = self.inner.drawable().ok_or_else(|| TargetError::failed("it has no exact draws"))?;
        inner.draw(address, points)?;
        for point in points.chunks_exact_mut(self.dim()) {
            for (coordinate, value) in point.iter_mut().enumerate() {
                *value = saturate(self.placement.z(coordinate, f64::from(*value)));
            }
        }
        Ok(())
    }
}

impl Modes for Placed {
    fn weights(&self) -> &[f64] {
        self.inner.modes().map_or(&[], Modes::weights)
    }

    fn mode_of(&self, point: &[f32]) -> Option<usize> {
        self.inner.modes()?.mode_of(&self.x(point))
    }
}

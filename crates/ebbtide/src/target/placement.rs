//! Where a density is and how wide: coordinates in which it has about the size that a sampler begins with.

use std::sync::Arc;

use super::cholesky::factorise;
use super::{Differentiable, Drawable, Latent, Modes, NOWHERE, Target, TargetError, check_shape, saturate};
use crate::stream::Address;

/// x = location + scale · F z, where scale goes coordinate by coordinate, and F is lower triangular: the Cholesky factor of how
/// coordinates are correlated, or the identity.
///
/// ```
/// use ebbtide::target::{Placement, PlacementError};
///
/// let upright = Placement::new(vec![300.0, -2.0], vec![0.5, 4.0])?;
/// let there = upright.clone().with_correlations(&[1.0, 0.6, 0.6, 1.0])?;
/// assert_eq!((there.location(), there.scale()), (upright.location(), upright.scale()));
/// assert_eq!(there, upright.with_factor(vec![1.0, 0.6, 0.8])?);
/// assert_eq!(there.factor(), [1.0, 0.6, 0.8]); // rows of a lower triangle
///
/// let mut point = [1.0, -2.0];
/// there.to_x(&mut point);
/// assert_eq!(point, [300.5, -2.0 + 4.0 * (0.6 - 1.6)]);
/// there.to_z(&mut point);
/// assert!((point[0] - 1.0).abs() < 1e-12 && (point[1] + 2.0).abs() < 1e-12);
/// assert!((there.log_volume() - (0.5 * 4.0 * 0.8_f64).ln()).abs() < 1e-12);
///
/// let mut samples = [0.0, 0.0, 2.0, 0.0]; // of a sampler, which knows z alone
/// there.apply(&mut samples);
/// assert_eq!(samples, [300.0, -2.0, 301.0, 2.8]);
///
/// assert!(Placement::identity(2).factor().is_empty());
/// let refused = Placement::new(vec![0.0], vec![0.0]).unwrap_err();
/// assert_eq!(refused, PlacementError::Number { coordinate: 0, location: 0.0, scale: 0.0 });
/// # Ok::<(), PlacementError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    location: Vec<f64>,
    scale: Vec<f64>,
    /// Rows of F, 1 + 2 + … + dim numbers; empty for the identity.
    factor: Vec<f64>,
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
    /// A factor that is not dim rows of a lower triangle, all finite and above 0 on the diagonal.
    #[error(
        "a factor of {dim} coordinates is a lower triangle of {} finite numbers by rows, those on the diagonal above 0",
        triangle(*.dim)
    )]
    Factor {
        /// Coordinates of the target.
        dim: usize,
    },
    /// Correlations that cannot be.
    #[error("what is given as correlations of {dim} coordinates is not symmetric and positive definite")]
    Correlation {
        /// Coordinates of the target.
        dim: usize,
    },
}

/// Numbers in a lower triangle.
fn triangle(dim: usize) -> usize {
    dim * (dim + 1) / 2
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
        Ok(Self { location, scale, factor: Vec::new() })
    }

    /// With another factor: a lower triangle by rows, or nothing for the identity.
    pub fn with_factor(self, factor: Vec<f64>) -> Result<Self, PlacementError> {
        let dim = self.dim();
        let is_usable = factor.is_empty()
            || factor.len() == triangle(dim)
                && factor.iter().all(|number| number.is_finite())
                && (0..dim)
                    .all(|row| factor[triangle(row) + row].is_normal() && factor[triangle(row) + row] > 0.0);
        if is_usable { Ok(Self { factor, ..self }) } else { Err(PlacementError::Factor { dim }) }
    }

    /// With the factor of these correlations, dim × dim by rows.
    pub fn with_correlations(self, correlations: &[f64]) -> Result<Self, PlacementError> {
        let dim = self.dim();
        let factor =
            Some(correlations).filter(|all| all.len() == dim * dim).and_then(|all| factorise(dim, all));
        let Some(factor) = factor else { return Err(PlacementError::Correlation { dim }) };
        self.with_factor((0..dim).flat_map(|row| factor[row * dim..][..=row].to_vec()).collect())
    }

    /// z is x.
    pub fn identity(dim: usize) -> Self {
        Self { location: vec![0.0; dim], scale: vec![1.0; dim], factor: Vec::new() }
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

    /// The rows of F, one number more each; empty for the identity.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// A row of F up to its diagonal, if F is not the identity.
    pub(super) fn row(&self, row: usize) -> Option<&[f64]> {
        self.factor.get(triangle(row)..triangle(row + 1))
    }

    /// log |dx/dz|, by which the log density of z is larger than that of x.
    pub fn log_volume(&self) -> f64 {
        let diagonal = (0..self.dim()).filter_map(|row| self.row(row)?.last());
        self.scale.iter().chain(diagonal).map(|width| width.ln()).sum()
    }

    /// One point from z to x, in place.
    pub fn to_x(&self, point: &mut [f64]) {
        // From the last on: a coordinate needs those before it as they were.
        for coordinate in (0..self.dim()).rev() {
            if let Some(row) = self.row(coordinate) {
                point[coordinate] = row.iter().zip(&*point).map(|(factor, z)| factor * z).sum();
            }
            point[coordinate] = self.location[coordinate] + self.scale[coordinate] * point[coordinate];
        }
    }

    /// One point from x to z, in place.
    pub fn to_z(&self, point: &mut [f64]) {
        for coordinate in 0..self.dim() {
            let (before, rest) = point.split_at_mut(coordinate);
            rest[0] = (rest[0] - self.location[coordinate]) / self.scale[coordinate];
            if let Some((diagonal, row)) = self.row(coordinate).and_then(<[f64]>::split_last) {
                let known: f64 = row.iter().zip(before).map(|(factor, z)| factor * *z).sum();
                rest[0] = (rest[0] - known) / diagonal;
            }
        }
    }

    /// A gradient with respect to x to that with respect to z, in place.
    pub(super) fn to_slope(&self, gradient: &mut [f64]) {
        gradient.iter_mut().zip(&self.scale).for_each(|(slope, scale)| *slope *= scale);
        if !self.factor.is_empty() {
            for column in 0..self.dim() {
                let below =
                    (column..self.dim()).map(|row| self.factor[triangle(row) + column] * gradient[row]);
                gradient[column] = below.sum();
            }
        }
    }

    /// Points (n × dim by rows) from z to x, in place.
    pub fn apply(&self, points: &mut [f32]) {
        self.each(points, Self::to_x);
    }

    /// Changes points, or their gradients, in double precision.
    fn each(&self, points: &mut [f32], change: fn(&Self, &mut [f64])) {
        let mut room = vec![0.0; self.dim()];
        for point in points.chunks_exact_mut(self.dim()) {
            room.iter_mut().zip(&*point).for_each(|(room, value)| *room = f64::from(*value));
            change(self, &mut room);
            point.iter_mut().zip(&room).for_each(|(value, room)| *value = saturate(*room));
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
        let dim = self.dim();
        let mut location = inner.location.clone();
        self.to_x(&mut location);
        if self.factor.is_empty() && inner.factor.is_empty() {
            let scale = self.scale.iter().zip(&inner.scale).map(|(outer, inner)| outer * inner).collect();
            return Self { location, scale, factor: Vec::new() };
        }
        // Column by column, where a unit of z goes; then rows of length 1, and their lengths belong to the scale.
        let (mut scale, mut factor) = (self.scale.clone(), vec![0.0; triangle(dim)]);
        let (outer, inner) = (self.centred(), inner.centred());
        for column in 0..dim {
            let mut unit = vec![0.0; dim];
            unit[column] = 1.0;
            inner.to_x(&mut unit);
            outer.to_x(&mut unit);
            (column..dim).for_each(|row| factor[triangle(row) + column] = unit[row] / self.scale[row]);
        }
        for row in 0..dim {
            let row_of = &mut factor[triangle(row)..triangle(row + 1)];
            let length = row_of.iter().map(|number| number * number).sum::<f64>().sqrt();
            row_of.iter_mut().for_each(|number| *number /= length);
            scale[row] *= length;
        }
        Self { location, scale, factor }
    }

    /// The same around the origin.
    fn centred(&self) -> Self {
        Self { location: vec![0.0; self.dim()], ..self.clone() }
    }
}

/// A density that can be looked at in other coordinates.
pub trait Placeable {
    /// Number of coordinates.
    fn dim(&self) -> usize;

    /// The density of z, where x = location + scale · F z has this one. Its integral is the same.
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

    fn latent(&self) -> Option<&dyn Latent> {
        self.inner.latent().map(|_| self as &dyn Latent)
    }
}

impl Placed {
    fn inner_latent(&self) -> Result<&dyn Latent, TargetError> {
        self.inner.latent().ok_or_else(|| TargetError::failed("it has no latents"))
    }
}

/// Latents are decoded where they really are.
impl Latent for Placed {
    fn beta(&self) -> f64 {
        self.inner.latent().map_or(0.0, Latent::beta)
    }

    fn log_reward(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.inner_latent()?.log_reward(&self.x(points), out)
    }

    fn shape(&self) -> Result<&[usize], TargetError> {
        self.inner_latent()?.shape()
    }

    fn decode(&self, points: &[f32]) -> Result<Vec<f32>, TargetError> {
        self.inner_latent()?.decode(&self.x(points))
    }

    fn embed(&self, points: &[f32]) -> Result<Option<Vec<f32>>, TargetError> {
        self.inner_latent()?.embed(&self.x(points))
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
        self.placement.each(gradient, Placement::to_slope);
        self.placement.check(points, out, gradient)
    }
}

impl Drawable for Placed {
    fn draw(&self, address: Address, points: &mut [f32]) -> Result<(), TargetError> {
        let inner = self.inner.drawable().ok_or_else(|| TargetError::failed("it has no exact draws"))?;
        inner.draw(address, points)?;
        self.placement.each(points, Placement::to_z);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_placement_in_another_is_both_in_turn() {
        let placement = |location: f64, scale: f64, factor: &[f64]| {
            let placed =
                Placement::new(vec![location, -location], vec![scale, 2.0 * scale]).expect("a placement");
            placed.with_factor(factor.to_vec()).expect("a factor")
        };
        let (plain, sheared) = (placement(1.0, 0.5, &[]), placement(-3.0, 2.0, &[1.0, 0.6, 0.8]));
        for (outer, inner) in [(&plain, &sheared), (&sheared, &plain), (&sheared, &sheared), (&plain, &plain)]
        {
            let both = outer.then(inner);
            let (mut in_turn, mut at_once) = ([0.7, -1.3], [0.7, -1.3]);
            inner.to_x(&mut in_turn);
            outer.to_x(&mut in_turn);
            both.to_x(&mut at_once);
            assert!(
                in_turn.iter().zip(&at_once).all(|(a, b)| (a - b).abs() < 1e-12),
                "{in_turn:?} {at_once:?}"
            );
            assert!((both.log_volume() - outer.log_volume() - inner.log_volume()).abs() < 1e-12);
        }
    }
}

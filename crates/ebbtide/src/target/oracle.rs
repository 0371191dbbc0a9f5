//! A density that is computed elsewhere: by another process, or in another language.

use std::sync::Arc;

use super::{
    Differentiable, Placeable, Placement, PlacementError, Target, TargetError, check_shape, saturate,
};

/// Somebody who can be asked for a log density, and perhaps for its gradient, a whole batch at a time.
///
/// Points are double precision: an oracle is asked in a density's own coordinates, which may be far from the origin and narrow.
pub trait Oracle: Send + Sync {
    /// The number of coordinates of a point.
    fn dim(&self) -> usize;

    /// Whether it knows the gradient. The answer never changes.
    fn has_gradient(&self) -> bool;

    /// log density, up to a constant, of n points (n × dim by rows, the oracle's to keep); `out` has n places.
    fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError>;

    /// As [`Oracle::log_density`], with the gradient at each point in `gradient` (n × dim by rows).
    fn log_density_and_gradient(
        &self,
        points: Vec<f64>,
        out: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), TargetError>;
}

/// The density that an oracle knows, in some coordinates.
///
/// ```
/// use std::sync::Arc;
/// use ebbtide::target::{Consulted, Oracle, Placeable, Placement, Target, TargetError};
///
/// struct Far;
///
/// impl Oracle for Far {
///     fn dim(&self) -> usize {
///         1
///     }
///     fn has_gradient(&self) -> bool {
///         false
///     }
///     fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
///         out.iter_mut().zip(points).for_each(|(out, x)| *out = -0.5 * ((x - 1e9) / 0.25).powi(2));
///         Ok(())
///     }
///     fn log_density_and_gradient(&self, _: Vec<f64>, _: &mut [f64], _: &mut [f64]) -> Result<(), TargetError> {
///         Err(TargetError::failed("it has no gradient"))
///     }
/// }
///
/// let there = Placement::new(vec![1e9], vec![0.25])?;
/// let target = Consulted::new(Arc::new(Far)).placed(&there)?;
/// let mut value = [0.0];
/// target.log_density(&[2.0], &mut value)?;
/// assert_eq!(value, [-2.0 + 0.25_f64.ln()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Consulted {
    oracle: Arc<dyn Oracle>,
    placement: Placement,
}

impl Consulted {
    /// In the density's own coordinates.
    pub fn new(oracle: Arc<dyn Oracle>) -> Self {
        let placement = Placement::identity(oracle.dim());
        Self { oracle, placement }
    }

    /// Points in the density's own coordinates.
    fn x(&self, points: &[f32]) -> Vec<f64> {
        let mut x: Vec<f64> = points.iter().map(|z| f64::from(*z)).collect();
        x.chunks_exact_mut(self.placement.dim()).for_each(|point| self.placement.to_x(point));
        x
    }

    fn add_volume(&self, out: &mut [f64]) {
        let volume = self.placement.log_volume();
        out.iter_mut().for_each(|value| *value += volume);
    }
}

impl Placeable for Consulted {
    fn dim(&self) -> usize {
        self.placement.dim()
    }

    fn placed(&self, placement: &Placement) -> Result<Arc<dyn Target>, TargetError> {
        let (dim, given) = (self.placement.dim(), placement.dim());
        if dim != given {
            return Err(TargetError::failed(PlacementError::Length { dim, location: given, scale: given }));
        }
        let placement = self.placement.then(placement);
        Ok(Arc::new(Self { oracle: Arc::clone(&self.oracle), placement }))
    }
}

impl Target for Consulted {
    fn dim(&self) -> usize {
        self.placement.dim()
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.placement.dim(), points, out, None)?;
        self.oracle.log_density(self.x(points), out)?;
        self.add_volume(out);
        self.placement.check(points, out, &[])
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        self.oracle.has_gradient().then_some(self)
    }
}

impl Differentiable for Consulted {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        check_shape(self.placement.dim(), points, out, Some(gradient))?;
        let mut slopes = vec![f64::NAN; gradient.len()];
        self.oracle.log_density_and_gradient(self.x(points), out, &mut slopes)?;
        self.add_volume(out);
        slopes.chunks_exact_mut(self.placement.dim()).for_each(|slope| self.placement.to_slope(slope));
        gradient.iter_mut().zip(slopes).for_each(|(slope, own)| *slope = saturate(own));
        self.placement.check(points, out, gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// −Σ x⁴, or whatever it is told to say.
    struct Quartic(Option<f64>);

    impl Oracle for Quartic {
        fn dim(&self) -> usize {
            2
        }

        fn has_gradient(&self) -> bool {
            true
        }

        fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
            for (point, out) in points.chunks_exact(2).zip(out) {
                *out = self.0.unwrap_or_else(|| -point.iter().map(|x| x.powi(4)).sum::<f64>());
            }
            Ok(())
        }

        fn log_density_and_gradient(
            &self,
            points: Vec<f64>,
            out: &mut [f64],
            gradient: &mut [f64],
        ) -> Result<(), TargetError> {
            gradient.iter_mut().zip(&points).for_each(|(slope, x)| *slope = -4.0 * x.powi(3));
            self.log_density(points, out)
        }
    }

    fn placed(said: Option<f64>) -> Arc<dyn Target> {
        let placement = Placement::new(vec![0.5, -1.0], vec![2.0, 0.25]).expect("usable");
        Consulted::new(Arc::new(Quartic(said))).placed(&placement).expect("of its dimension")
    }

    #[test]
    fn slopes_are_those_of_the_values() {
        let (target, points, step) = (placed(None), [0.3_f32, -0.7], 1e-3_f32);
        let (mut value, mut slopes) = ([0.0], [0.0; 2]);
        let differentiable = target.differentiable().expect("its oracle has a gradient");
        differentiable.log_density_and_gradient(&points, &mut value, &mut slopes).expect("finite");
        assert!((value[0] - (-(1.1_f64.powi(4)) - 1.175_f64.powi(4) + 0.5_f64.ln())).abs() < 1e-6);
        for coordinate in 0..2 {
            let at = |sign: f32| {
                let mut moved = points;
                moved[coordinate] += sign * step;
                let mut value = [0.0];
                target.log_density(&moved, &mut value).expect("finite");
                (value[0], f64::from(moved[coordinate]))
            };
            let ((above, right), (below, left)) = (at(1.0), at(-1.0));
            let slope = (above - below) / (right - left);
            assert!((slope - f64::from(slopes[coordinate])).abs() < 1e-4 * (1.0 + slope.abs()));
        }
    }

    #[test]
    fn what_is_no_density_is_told_in_its_own_coordinates() {
        let error = placed(Some(f64::NAN)).log_density(&[0.0, 0.0, 1.0, 2.0], &mut [0.0; 2]).unwrap_err();
        let TargetError::Impossible { row: 0, point, .. } = error else { panic!("{error}") };
        assert_eq!(point, [0.5, -1.0]);
    }
}

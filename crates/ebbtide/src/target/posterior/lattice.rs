//! A scalar field on a square lattice with a quartic potential.

use super::super::{Differentiable, Modes, Target, TargetError, saturate};
use super::one_by_one;

/// φ⁴ theory on an L × L lattice with periodic boundary; the density is e^{−S} with the action
///
///   S(φ) = Σ_x φ_x (4 φ_x − Σ_y φ_y) + m² φ_x² + λ φ_x⁴,
///   ∂S/∂φ_x = 2 (4 + m²) φ_x + 4 λ φ_x³ − 2 Σ_y φ_y,
///
/// y the four neighbours of x. A point is the field by rows. The action, and m² = −4 as the mass to choose, are
/// those of Albergo, Kanwar and Shanahan, "Flow-based generative models for Markov chain Monte Carlo in lattice
/// field theory" (arXiv:1904.12072), who take λ so large that the field has no preferred sign. With a smaller
/// λ it has: φ and −φ are equally likely, and fields of small mean Σ_x φ_x / L² stand between them as a barrier.
///
/// log Z is unknown. There are two modes, fields of negative and of positive mean, of equal weight by symmetry.
///
/// ```
/// use ebbtide::target::{LatticeError, Modes, Phi4Lattice, Target};
///
/// // In a field that is the same everywhere, neighbours cancel: S = L² (m² φ² + λ φ⁴).
/// for (lattice, sites) in [(Phi4Lattice::broken(), 64), (Phi4Lattice::new(3, -4.0, 4.25)?, 9)] {
///     let (up, down, mut values) = (vec![0.5_f32; sites], vec![-0.5_f32; sites], [0.0; 2]);
///     lattice.log_density(&[&up[..], &down].concat(), &mut values)?;
///     assert_eq!(values, [sites as f64 * 0.734375; 2]);
///     assert_eq!([lattice.mode_of(&down), lattice.mode_of(&up)], [Some(0), Some(1)]);
/// }
/// assert_eq!(Phi4Lattice::new(3, -4.0, 0.0).unwrap_err(), LatticeError::Coupling(0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Phi4Lattice {
    side: usize,
    mass_squared: f64,
    coupling: f64,
}

/// Why a lattice could not be made.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LatticeError {
    /// A lattice without sites, or with more than can be counted.
    #[error("a lattice has from 1 to 65535 sites a side, not {0}")]
    Side(usize),
    /// The mass is not a finite number.
    #[error("the squared mass of a lattice field is {0}; it must be finite")]
    MassSquared(f64),
    /// Without a positive coupling the density has no integral.
    #[error("the coupling of a lattice field is {0}; it must be positive and finite")]
    Coupling(f64),
}

impl Phi4Lattice {
    /// A lattice of `side` × `side` sites with m² = `mass_squared` and λ = `coupling`.
    pub fn new(side: usize, mass_squared: f64, coupling: f64) -> Result<Self, LatticeError> {
        if !(1..1 << 16).contains(&side) {
            return Err(LatticeError::Side(side));
        }
        if !mass_squared.is_finite() {
            return Err(LatticeError::MassSquared(mass_squared));
        }
        if !(coupling.is_normal() && coupling > 0.0) {
            return Err(LatticeError::Coupling(coupling));
        }
        Ok(Self { side, mass_squared, coupling })
    }

    /// 8 × 8 sites, m² = −4, λ = 4.25: fields of either sign, with a barrier between them that some still cross.
    pub fn broken() -> Self {
        Self { side: 8, mass_squared: -4.0, coupling: 4.25 }
    }

    /// −S of a field, −∂S in `gradient` if there is room for it.
    fn evaluate(&self, field: &[f32], gradient: &mut [f32]) -> f64 {
        let side = self.side;
        let row = |i: usize| &field[i * side..][..side];
        let mut gradients = gradient.chunks_exact_mut(side);
        let mut action = 0.0;
        for i in 0..side {
            let above = row(if i == 0 { side - 1 } else { i - 1 });
            let below = row(if i == side - 1 { 0 } else { i + 1 });
            let here = row(i);
            let mut gradient = gradients.next();
            for j in 0..side {
                let left = here[if j == 0 { side - 1 } else { j - 1 }];
                let right = here[if j == side - 1 { 0 } else { j + 1 }];
                let neighbours =
                    f64::from(above[j]) + f64::from(below[j]) + f64::from(left) + f64::from(right);
                let x = f64::from(here[j]);
                let (curvature, quartic) = (4.0 + self.mass_squared, self.coupling * x * x);
                action += x * ((curvature + quartic) * x - neighbours);
                if let Some(gradient) = &mut gradient {
                    gradient[j] = saturate(2.0 * (neighbours - (curvature + 2.0 * quartic) * x));
                }
            }
        }
        -action
    }
}

impl Target for Phi4Lattice {
    fn dim(&self) -> usize {
        self.side * self.side
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        one_by_one(self.dim(), points, out, None, |field, _| self.evaluate(field, &mut []))
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn modes(&self) -> Option<&dyn Modes> {
        Some(self)
    }
}

impl Differentiable for Phi4Lattice {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        one_by_one(self.dim(), points, out, Some(gradient), |field, gradient| {
            self.evaluate(field, gradient.unwrap_or_default())
        })
    }
}

/// Mode 0 has a negative mean, mode 1 one of 0 or more: every field without NaN belongs to one.
impl Modes for Phi4Lattice {
    fn weights(&self) -> &[f64] {
        &[0.5, 0.5]
    }

    fn mode_of(&self, point: &[f32]) -> Option<usize> {
        let sum: f64 = point.iter().map(|&x| f64::from(x)).sum();
        (point.len() == self.dim() && !sum.is_nan()).then_some(usize::from(sum >= 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_field_has_the_action_of_its_potential() {
        let lattice = Phi4Lattice::new(3, -1.0, 0.5).unwrap();
        let (mut value, mut gradient) = ([0.0], [0.0; 9]);
        lattice.log_density_and_gradient(&[2.0; 9], &mut value, &mut gradient).unwrap();
        assert_eq!(value[0], -9.0 * (-4.0 + 8.0));
        assert_eq!(gradient, [-(-4.0 + 16.0); 9]);
    }

    #[test]
    fn a_field_and_its_negative_are_equally_likely_and_of_different_modes() {
        let lattice = Phi4Lattice::broken();
        let field: Vec<f32> = (0..64).map(|i| (i as f32).sin() + 0.1).collect();
        let negative: Vec<f32> = field.iter().map(|x| -x).collect();
        let mut values = [0.0; 2];
        lattice.log_density(&[field.clone(), negative.clone()].concat(), &mut values).unwrap();
        assert_eq!(values[0], values[1]);
        assert_eq!((lattice.mode_of(&field), lattice.mode_of(&negative)), (Some(1), Some(0)));
        assert_eq!(lattice.mode_of(&[f32::NAN; 64]), None);
        assert_eq!(lattice.mode_of(&field[1..]), None);
    }

    #[test]
    fn far_fields_keep_a_value_and_a_finite_gradient() {
        let (mut value, mut gradient) = ([0.0], [0.0; 64]);
        let lattice = Phi4Lattice::broken();
        lattice.log_density_and_gradient(&[3e38; 64], &mut value, &mut gradient).unwrap();
        assert!(value[0] < -1e150 && value[0].is_finite());
        assert_eq!(gradient[0], f32::MIN);
    }

    #[test]
    fn impossible_lattices_are_refused() {
        assert_eq!(Phi4Lattice::new(0, -4.0, 1.0).unwrap_err(), LatticeError::Side(0));
        assert_eq!(Phi4Lattice::new(1 << 16, -4.0, 1.0).unwrap_err(), LatticeError::Side(1 << 16));
        assert!(matches!(Phi4Lattice::new(8, f64::NAN, 1.0), Err(LatticeError::MassSquared(_))));
        assert_eq!(Phi4Lattice::new(8, -4.0, 0.0).unwrap_err(), LatticeError::Coupling(0.0));
    }
}

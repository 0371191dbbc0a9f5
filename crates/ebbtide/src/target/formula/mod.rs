//! A density given as a formula.
//!
//! `token` → `syntax` → `lower` → `tape` → `evaluate`

mod error;
mod evaluate;
mod exp;
mod function;
mod lower;
mod syntax;
mod tape;
mod token;

pub use error::{FormulaError, FormulaProblem};

use std::fmt;
use std::sync::Arc;

use super::{Differentiable, Placeable, Placement, PlacementError, Target, TargetError, check_shape};
use evaluate::{Batch, LANES, Lanes};
use tape::Operation;

/// A log density in words: `-(x0^2 - 4)^2 - 0.5*(x1 - x0)^2`.
///
/// - Coordinates are `x0`, `x1`, … or `x[index]`. Numbers, `pi`, `e`, `dim` and parameters are called by name.
/// - `+ - * / ^`, as on paper: `-x0^2` is −(x0²), `2^3^2` is 2⁹.
/// - `sin cos tan exp log sqrt abs tanh log1p expm1 softplus` of one number, `pow(a, b)`, `min max logsumexp` of several.
/// - `sum(x^2)` is over all coordinates, `x` being each of them and `i` its index;
///   `sum(i, 1, dim-1, (x[i] - x[i-1])^2)` over an index from the first to the last value.
///
/// The gradient is derived from the formula. Arithmetic is double.
///
/// ```
/// use ebbtide::target::{Formula, Target};
///
/// let wells = Formula::new("-(x0^2 - 4)^2 - 0.5*k*(x1 - x0)^2", 2, &[("k", 3.0)])?;
/// let mut value = [0.0];
/// wells.log_density(&[2.0, 1.0], &mut value)?;
/// assert_eq!(value, [-1.5]);
/// assert!(wells.differentiable().is_some());
/// assert_eq!(wells.text(), "-(x0^2 - 4)^2 - 0.5*k*(x1 - x0)^2");
/// assert_eq!(wells.parameters(), [("k".to_owned(), 3.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Formula {
    text: String,
    dim: usize,
    parameters: Vec<(String, f64)>,
    /// Coordinates that points have.
    placement: Placement,
    operations: Vec<Operation>,
    is_on_the_way: Vec<bool>,
}

/// Places of a block that are given 32 kB or 256 kB of the stack.
const SMALL: usize = 256;
const LARGE: usize = 2048;

impl Formula {
    /// Reads a formula of the log density, up to a constant, of points with `dim` coordinates. All of them must occur, and
    /// all parameters.
    pub fn new(text: &str, dim: usize, parameters: &[(&str, f64)]) -> Result<Self, FormulaError> {
        if dim == 0 {
            return Err(FormulaError::new(FormulaProblem::NoCoordinates, 0..0, ""));
        }
        let placement = Placement::identity(dim);
        let operations = lower::lower(text, &syntax::parse(text)?, parameters, &placement)?;
        Ok(Self {
            text: text.to_owned(),
            dim,
            parameters: parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            placement,
            is_on_the_way: tape::is_on_the_way(&operations),
            operations,
        })
    }

    /// The formula as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parameters as they were given.
    pub fn parameters(&self) -> &[(String, f64)] {
        &self.parameters
    }

    fn evaluate(&self, points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        match Batch::need(&self.operations, !gradient.is_empty()) {
            need if need <= SMALL => self.evaluate_on_stack::<SMALL>(points, out, gradient),
            need if need <= LARGE => self.evaluate_on_stack::<LARGE>(points, out, gradient),
            need => self.evaluate_in(&mut vec![[0.0; LANES]; need], points, out, gradient),
        }
    }

    /// Never inlined, or short formulas would take the stack of long ones.
    #[inline(never)]
    fn evaluate_on_stack<const SPACE: usize>(&self, points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        self.evaluate_in(&mut [[0.0; LANES]; SPACE], points, out, gradient);
    }

    fn evaluate_in(&self, space: &mut [Lanes], points: &[f32], out: &mut [f64], gradient: &mut [f32]) {
        let (operations, is_on_the_way, dim) = (&self.operations[..], &self.is_on_the_way[..], self.dim);
        let space = &mut space[..Batch::need(operations, !gradient.is_empty())];
        crate::numeric::vectors().dispatch(Batch {
            operations,
            is_on_the_way,
            dim,
            points,
            out,
            gradient,
            space,
        });
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, dim, parameters, .. } = self;
        f.debug_struct("Formula")
            .field("text", text)
            .field("dim", dim)
            .field("parameters", parameters)
            .finish()
    }
}

/// The same words mean the same density.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.placement, &self.parameters) == (&other.text, &other.placement, &other.parameters)
    }
}

/// In other coordinates it is another formula: places and widths are as precise as double precision has them.
impl Placeable for Formula {
    fn dim(&self) -> usize {
        self.dim
    }

    fn placed(&self, placement: &Placement) -> Result<Arc<dyn Target>, TargetError> {
        let parameters: Vec<(&str, f64)> =
            self.parameters.iter().map(|(name, value)| (&**name, *value)).collect();
        let syntax = syntax::parse(&self.text).map_err(TargetError::failed)?;
        if placement.dim() != self.dim {
            let (location, scale) = (placement.dim(), placement.dim());
            return Err(TargetError::failed(PlacementError::Length { dim: self.dim, location, scale }));
        }
        let operations =
            lower::lower(&self.text, &syntax, &parameters, placement).map_err(TargetError::failed)?;
        let (placement, is_on_the_way) = (placement.clone(), tape::is_on_the_way(&operations));
        Ok(Arc::new(Self { operations, is_on_the_way, placement, ..self.clone() }))
    }
}

impl Target for Formula {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, None)?;
        self.evaluate(points, out, &mut []);
        self.placement.check(points, out, &[])
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
        check_shape(self.dim, points, out, Some(gradient))?;
        self.evaluate(points, out, gradient);
        self.placement.check(points, out, gradient)
    }
}

#[cfg(test)]
mod tests;

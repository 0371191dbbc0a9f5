//! Bayesian logistic regression.

use std::f64::consts::{LN_2, TAU};

use super::super::{Differentiable, Target, TargetError, check_shape};
use super::tables::{self, Table};

/// Weights of a logistic regression given n outcomes y_i, with a standard normal prior:
///
///   w ~ N(0, I),  y_i ~ Bernoulli(σ(x_i · w)),  σ(u) = 1 / (1 + e⁻ᵘ),
///   log density = −½ |w|² − d/2 log 2π − Σ_i log(1 + e^{−u_i}),  u_i = ±x_i · w,
///   ∇ log density = −w + Σ_i ±σ(−u_i) x_i,
///
/// with the sign + where the outcome is true. x_i is 1, for the intercept w₀, followed by the features of
/// row i, each standardised over all rows: less its mean, divided by its standard deviation (that of the
/// rows themselves, n in the denominator). A feature that is the same in all rows becomes 0, and its weight
/// keeps its prior. The density is the joint one of weights and outcomes, so Z is the probability of the
/// outcomes.
///
/// Sixteen points are evaluated side by side, products in single precision, the sum over rows in double. A
/// point has the same value in any batch and on any machine's vector units.
///
/// ```
/// use ebbtide::target::{LogisticRegression, RegressionError, Target};
///
/// let regression = LogisticRegression::new(1, &[1.0, 2.0, 4.0], &[false, false, true])?;
/// assert_eq!(regression.dim(), 2);
/// let mut value = [0.0];
/// regression.log_density(&[0.0, 0.0], &mut value)?;
/// assert!((value[0] + 3.0 * 2.0_f64.ln() + std::f64::consts::TAU.ln()).abs() < 1e-6);
///
/// let refused = LogisticRegression::new(2, &[1.0, 2.0, 4.0], &[false, true]).unwrap_err();
/// assert_eq!(refused, RegressionError::Features { length: 3, rows: 2, columns: 2 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Three tables come with the library. At w = 0 every outcome has probability ½:
///
/// ```
/// use ebbtide::target::{LogisticRegression, Target};
///
/// let sonar = (LogisticRegression::sonar(), 208.0);
/// let ionosphere = (LogisticRegression::ionosphere(), 351.0);
/// for (regression, outcomes) in [(LogisticRegression::breast_cancer(), 569.0), sonar, ionosphere] {
///     let (dim, mut value) = (regression.dim(), [0.0]);
///     regression.log_density(&vec![0.0; dim], &mut value)?;
///     let prior = -0.5 * dim as f64 * std::f64::consts::TAU.ln();
///     assert!((value[0] - prior + outcomes * 2.0_f64.ln()).abs() < 1e-3);
/// }
/// # Ok::<(), ebbtide::target::TargetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LogisticRegression {
    pub(super) dim: usize,
    /// ±x_i, [`ROWS`] rows at a time: the first coordinate of each, the second of each, and so on.
    pub(super) tiles: Vec<[f32; ROWS]>,
    /// −d/2 log 2π, and log 2 for each row of zeros that fills the last tile: such a row says u = 0.
    pub(super) constant: f64,
}

/// Rows whose products with a weight are taken together.
pub(super) const ROWS: usize = 4;

/// Why a regression could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegressionError {
    /// There are not as many rows of features as outcomes.
    #[error("{length} numbers are not {rows} rows, one for each outcome, of {columns} features each")]
    Features {
        /// How many numbers were given.
        length: usize,
        /// How many outcomes.
        rows: usize,
        /// How many features each should have.
        columns: usize,
    },
    /// A feature is not finite, or so large that its square is not.
    #[error("feature {column} of row {row} is not a number of a size below 1e100")]
    Feature {
        /// The row, from 0.
        row: usize,
        /// The feature, from 0.
        column: usize,
    },
}

impl LogisticRegression {
    /// A regression of `outcomes` on `features`, `columns` of them for each outcome, by rows.
    pub fn new(columns: usize, features: &[f64], outcomes: &[bool]) -> Result<Self, RegressionError> {
        let (length, rows) = (features.len(), outcomes.len());
        if columns.checked_mul(rows) != Some(length) {
            return Err(RegressionError::Features { length, rows, columns });
        }
        if let Some(place) = features.iter().position(|value| !matches!(value.abs(), 0.0..1e100)) {
            return Err(RegressionError::Feature { row: place / columns, column: place % columns });
        }
        let dim = columns + 1;
        let mut tiles = vec![[0.0; ROWS]; rows.div_ceil(ROWS) * dim];
        let signs: Vec<f64> = outcomes.iter().map(|&outcome| if outcome { 1.0 } else { -1.0 }).collect();
        for (row, &sign) in signs.iter().enumerate() {
            tiles[row / ROWS * dim][row % ROWS] = sign as f32;
        }
        for column in 0..columns {
            let (mean, scale) = mean_and_scale(features.iter().skip(column).step_by(columns).copied());
            for (row, &sign) in signs.iter().enumerate() {
                let value = sign * (features[row * columns + column] - mean) / scale;
                tiles[row / ROWS * dim + column + 1][row % ROWS] = value as f32;
            }
        }
        let filling = rows.next_multiple_of(ROWS) - rows;
        let constant = filling as f64 * LN_2 - 0.5 * dim as f64 * TAU.ln();
        Ok(Self { dim, tiles, constant })
    }

    /// Benign and malignant tumours by 30 measures of their cells: 31 weights, 569 outcomes.
    pub fn breast_cancer() -> Self {
        Self::embedded(30, &tables::breast_cancer())
    }

    /// Mines and rocks by the strength of their echoes at 60 frequencies: 61 weights, 208 outcomes.
    pub fn sonar() -> Self {
        Self::embedded(60, &tables::sonar())
    }

    /// Good and bad radar returns from the ionosphere by 34 measures, of which the second is always 0: 35
    /// weights, 351 outcomes.
    pub fn ionosphere() -> Self {
        Self::embedded(34, &tables::ionosphere())
    }

    fn embedded(columns: usize, table: &Table) -> Self {
        Self::new(columns, &table.features, &table.outcomes).expect("an embedded table is whole")
    }
}

/// Mean and standard deviation; 1 in place of a deviation of 0, or of what rounding left of one.
fn mean_and_scale(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let deviation = (values.map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    (mean, if deviation > 1e-12 * mean.abs() { deviation } else { 1.0 })
}

impl Target for LogisticRegression {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, None)?;
        self.evaluate(points, out, &mut []);
        Ok(())
    }

    fn differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl Differentiable for LogisticRegression {
    fn log_density_and_gradient(
        &self,
        points: &[f32],
        out: &mut [f64],
        gradient: &mut [f32],
    ) -> Result<(), TargetError> {
        check_shape(self.dim, points, out, Some(gradient))?;
        self.evaluate(points, out, gradient);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_standardised_and_constant_ones_are_zero() {
        let features = [1.0, 0.1, 3.0, 0.1, 5.0, 0.1];
        let regression = LogisticRegression::new(2, &features, &[true, false, true]).unwrap();
        let side = 1.5_f32.sqrt();
        assert_eq!(regression.tiles[0], [1.0, -1.0, 1.0, 0.0]);
        for (found, expected) in regression.tiles[1].iter().zip([-side, 0.0, side, 0.0]) {
            assert!((found - expected).abs() < 1e-6);
        }
        assert!(regression.tiles[2].iter().all(|value| value.abs() < 1e-12));
    }

    #[test]
    fn without_outcomes_there_is_the_prior() {
        let mut value = [0.0];
        LogisticRegression::new(1, &[], &[]).unwrap().log_density(&[1.0, 2.0], &mut value).unwrap();
        assert!((value[0] + 2.5 + TAU.ln()).abs() < 1e-12);
    }

    #[test]
    fn far_points_keep_a_value_and_a_way_home_and_nan_shows() {
        let regression = LogisticRegression::sonar();
        let (mut values, mut gradient) = ([0.0; 2], [0.0; 122]);
        let mut points = [3e38; 122];
        points[61] = f32::NAN;
        regression.log_density_and_gradient(&points, &mut values, &mut gradient).unwrap();
        assert!(values[0].is_finite() && gradient[..61].iter().all(|slope| *slope < -1e38));
        assert!(values[1].is_nan());
    }

    #[test]
    fn impossible_tables_are_refused() {
        let refused = LogisticRegression::new(2, &[1.0; 5], &[true; 3]).unwrap_err();
        assert_eq!(refused, RegressionError::Features { length: 5, rows: 3, columns: 2 });
        assert!(LogisticRegression::new(usize::MAX, &[1.0; 5], &[true; 3]).is_err());
        let refused = LogisticRegression::new(2, &[1.0, 2.0, 3.0, f64::NAN], &[true; 2]).unwrap_err();
        assert_eq!(refused, RegressionError::Feature { row: 1, column: 1 });
    }
}

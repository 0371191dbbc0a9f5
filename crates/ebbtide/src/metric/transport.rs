//! The 2-Wasserstein distance between two sets of points, by exact optimal transport.

use std::fmt;

use super::assignment::{Assignment, CostMatrix};

/// W₂ = √(min over matchings π of 1/n Σᵢ |aᵢ − b_π(i)|²) between two sets of n points, each n × `dim`
/// by rows.
///
/// Between equal-sized sets of equal weights the best transport plan is a matching, so this is the
/// distance itself and not a regularised or sliced stand-in. It keeps an n × n matrix in memory.
///
/// ```
/// use ebbtide::metric::transport::{PointSet, TransportError, wasserstein2};
///
/// let a = [0.0, 0.0, 1.0, 0.0];
/// let b = [1.0, 3.0, 0.0, 3.0]; // the same two points, in the other order, moved up by 3
/// assert_eq!(wasserstein2(&a, &b, 2), Ok(3.0));
///
/// let lost = [0.0, f32::NAN, 1.0, 0.0];
/// let error = TransportError::NotFinite { set: PointSet::Second, row: 0 };
/// assert_eq!(wasserstein2(&a, &lost, 2), Err(error));
/// ```
pub fn wasserstein2(a: &[f32], b: &[f32], dim: usize) -> Result<f64, TransportError> {
    let first = count(PointSet::First, a, dim)?;
    let second = count(PointSet::Second, b, dim)?;
    if first != second {
        return Err(TransportError::DifferentSizes { first, second });
    }
    let costs = squared_distances(a, b, dim).ok_or(TransportError::TooLarge { points: first })?;
    let matching = Assignment::solve(&costs);
    Ok((matching.cost(&costs) / first as f64).sqrt())
}

/// Which of the two sets an error speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointSet {
    /// The first argument.
    First,
    /// The second argument.
    Second,
}

impl fmt::Display for PointSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PointSet::First => "first",
            PointSet::Second => "second",
        })
    }
}

/// Why two sets of points have no distance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// Points need at least one coordinate.
    #[error("the points have dimension 0")]
    ZeroDimension,
    /// There is nothing to transport.
    #[error("the {0} set has no points")]
    Empty(PointSet),
    /// The numbers do not make whole points.
    #[error("the {set} set has {len} numbers, not a multiple of the dimension {dim}")]
    NotWholePoints {
        /// The set.
        set: PointSet,
        /// How many numbers it has.
        len: usize,
        /// How many make a point.
        dim: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("the {set} set has a coordinate that is not a finite number, in row {row}")]
    NotFinite {
        /// The set.
        set: PointSet,
        /// The row of the point, from 0.
        row: usize,
    },
    /// Equal weights make a matching only between sets of one size.
    #[error("the first set has {first} points and the second {second}; they must be equally many")]
    DifferentSizes {
        /// Points in the first set.
        first: usize,
        /// Points in the second set.
        second: usize,
    },
    /// The n × n matrix of distances does not fit in memory.
    #[error("the distances between {points} and {points} points do not fit in memory")]
    TooLarge {
        /// Points in each set.
        points: usize,
    },
}

/// The number of points in a set, once it is known to be a set of points.
fn count(set: PointSet, points: &[f32], dim: usize) -> Result<usize, TransportError> {
    if dim == 0 {
        return Err(TransportError::ZeroDimension);
    }
    if points.is_empty() {
        return Err(TransportError::Empty(set));
    }
    if !points.len().is_multiple_of(dim) {
        return Err(TransportError::NotWholePoints { set, len: points.len(), dim });
    }
    match points.iter().position(|x| !x.is_finite()) {
        Some(place) => Err(TransportError::NotFinite { set, row: place / dim }),
        None => Ok(points.len() / dim),
    }
}

/// |aᵢ − bⱼ|² of every pair, in double precision; `None` where memory does not suffice.
fn squared_distances(a: &[f32], b: &[f32], dim: usize) -> Option<CostMatrix> {
    let n = a.len() / dim;
    let mut by_coordinate = vec![0.0; b.len()];
    for (j, point) in b.chunks_exact(dim).enumerate() {
        for (k, &x) in point.iter().enumerate() {
            by_coordinate[k * n + j] = f64::from(x);
        }
    }
    let mut values = Vec::new();
    values.try_reserve_exact(n.checked_mul(n)?).ok()?;
    values.resize(n * n, 0.0);
    crate::numeric::vectors().dispatch(|| {
        for (point, row) in a.chunks_exact(dim).zip(values.chunks_exact_mut(n)) {
            for (&x, coordinates) in point.iter().zip(by_coordinate.chunks_exact(n)) {
                add_squared_differences(f64::from(x), coordinates, row);
            }
        }
    });
    let costs = CostMatrix::new(n, values);
    Some(costs.expect("n × n squares of differences of single-precision numbers"))
}

#[inline(always)]
fn add_squared_differences(x: f64, coordinates: &[f64], row: &mut [f64]) {
    for (sum, &y) in row.iter_mut().zip(coordinates) {
        *sum += (x - y) * (x - y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bad_input_has_its_error() {
        use TransportError::*;
        let set = PointSet::Second;
        assert_eq!(wasserstein2(&[1.0], &[1.0], 0), Err(ZeroDimension));
        assert_eq!(wasserstein2(&[], &[1.0], 1), Err(Empty(PointSet::First)));
        assert_eq!(wasserstein2(&[1.0], &[], 1), Err(Empty(set)));
        assert_eq!(wasserstein2(&[1.0; 4], &[1.0; 3], 2), Err(NotWholePoints { set, len: 3, dim: 2 }));
        assert_eq!(wasserstein2(&[1.0; 4], &[1.0; 6], 2), Err(DifferentSizes { first: 2, second: 3 }));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let b = [0.0, 0.0, 0.0, 0.0, 0.0, bad];
            assert_eq!(wasserstein2(&[0.0; 6], &b, 2), Err(NotFinite { set, row: 2 }));
        }
        let error = NotFinite { set, row: 2 };
        let words = "the second set has a coordinate that is not a finite number, in row 2";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let distance = wasserstein2(&[f32::MAX, 0.0], &[f32::MIN, 0.0], 1).unwrap();
        let expected = f64::from(f32::MAX); // crossing both pairs halves the square
        assert!((distance / expected - 1.0).abs() < 1e-12, "{distance} {expected}");
    }
}

//! The linear assignment problem: match n rows with n columns at the least total cost, exactly.

use super::auction::{Market, sell_all};
use super::shortest_path::ShortestPaths;

/// A square matrix of finite costs.
///
/// ```
/// use ebbtide::metric::assignment::{CostError, CostMatrix};
///
/// let costs = CostMatrix::new(2, vec![1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(costs.row(1), [3.0, 4.0]);
/// let refused = CostMatrix::new(2, vec![1.0, 2.0, 3.0]).unwrap_err();
/// assert_eq!(refused, CostError::NotSquare { size: 2, len: 3 });
/// # Ok::<(), CostError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CostMatrix {
    size: usize,
    values: Vec<f64>,
}

/// Why numbers are no cost matrix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CostError {
    /// A matrix of this size needs another number of values.
    #[error("a matrix of {size} × {size} costs cannot have {len} values")]
    NotSquare {
        /// Rows, and columns.
        size: usize,
        /// Values given.
        len: usize,
    },
    /// A cost is NaN, infinite, or so large that sums of costs would overflow.
    #[error("the cost of row {row} and column {column} is {value}; it must be a number within ±1e290")]
    NotUsable {
        /// The row of the cost.
        row: usize,
        /// The column of the cost.
        column: usize,
        /// The cost.
        value: f64,
    },
}

impl CostMatrix {
    /// A matrix of `size` × `size` costs, by rows.
    pub fn new(size: usize, values: Vec<f64>) -> Result<Self, CostError> {
        if size.checked_mul(size) != Some(values.len()) {
            return Err(CostError::NotSquare { size, len: values.len() });
        }
        let usable = |value: &f64| value.abs() <= 1e290;
        match values.iter().position(|value| !usable(value)) {
            Some(at) => Err(CostError::NotUsable { row: at / size, column: at % size, value: values[at] }),
            None => Ok(Self { size, values }),
        }
    }

    /// The number of rows, and of columns.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The costs of one row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.size..][..self.size]
    }

    /// The matrix of every `stride`-th row and column.
    fn thinned(&self, stride: usize) -> Self {
        let size = self.size / stride;
        let rows = (0..size).map(|i| self.row(i * stride));
        let values = rows.flat_map(|row| (0..size).map(|j| row[j * stride])).collect();
        Self { size, values }
    }
}

/// The best matching, with the potentials that prove it.
///
/// Potentials u, v with uᵢ + vⱼ ≤ cᵢⱼ everywhere bound every matching's cost from below by Σu + Σv;
/// a matching that uses only pairs with uᵢ + vⱼ = cᵢⱼ reaches the bound.
///
/// Three ideas find them. A thinned problem is solved first, and its potentials, extended to all columns,
/// are the prices an auction starts from (`auction`). The auction's prices are nearly
/// optimal, so that the shortest augmenting paths which make the matching exact are short
/// (`shortest_path`). Both look at a row's few affordable columns instead of all of them
/// (`shortlist`).
///
/// 2048 points against 2048 of mixtures, Gaussians and funnels take 0.1 to 0.5 s on one core, distances
/// included; the network simplex of POT 0.9.7 takes 0.45 to 1.3 s, and the `lapjv` crate, 0.3.0, 0.3 to 13 s.
/// Where costs span twenty decades the path searches do most of the work, and it takes seconds.
#[derive(Clone, Debug)]
pub struct Assignment {
    columns: Vec<usize>,
    row_potentials: Vec<f64>,
    column_potentials: Vec<f64>,
}

impl Assignment {
    /// The matching of least total cost.
    ///
    /// ```
    /// use ebbtide::metric::assignment::{Assignment, CostMatrix};
    ///
    /// let costs = CostMatrix::new(3, vec![4.0, 1.0, 3.0, 2.0, 0.0, 5.0, 3.0, 2.0, 2.0])?;
    /// let best = Assignment::solve(&costs);
    /// assert_eq!(best.columns(), [1, 0, 2]);
    /// assert_eq!(best.cost(&costs), 5.0);
    ///
    /// // No pair costs less than its potentials, so no matching costs less than their sum.
    /// let (u, v) = (best.row_potentials(), best.column_potentials());
    /// assert!((0..3).all(|i| (0..3).all(|j| u[i] + v[j] <= costs.row(i)[j] + 1e-12)));
    /// assert!((u.iter().chain(v).sum::<f64>() - 5.0).abs() < 1e-12);
    /// # Ok::<(), ebbtide::metric::assignment::CostError>(())
    /// ```
    pub fn solve(costs: &CostMatrix) -> Self {
        let mut market = Market::new(costs, opening_prices(costs));
        sell_all(&mut market, LAST_EPSILON);
        let mut paths = ShortestPaths::new(&mut market);
        for row in market.drop_overpriced(0.0) {
            paths.augment(&mut market, row);
        }
        let columns = market.column_of.iter().map(|column| column.expect("every row was augmented"));
        Self {
            columns: columns.collect(),
            row_potentials: paths.into_row_potentials(),
            column_potentials: market.prices.iter().map(|price| -price).collect(),
        }
    }

    /// The column of each row.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// u: what each row pays for its column, price included.
    pub fn row_potentials(&self) -> &[f64] {
        &self.row_potentials
    }

    /// v: what each column adds to a row's potential before the pair's cost is reached.
    pub fn column_potentials(&self) -> &[f64] {
        &self.column_potentials
    }

    /// The total cost of the matching.
    pub fn cost(&self, costs: &CostMatrix) -> f64 {
        self.columns.iter().enumerate().map(|(row, &column)| costs.row(row)[column]).sum()
    }
}

/// The tightness of the last auction round, relative to the spread of the costs: smaller, and bidding
/// outlasts the path searches it saves.
const LAST_EPSILON: f64 = 1e-4;

/// The same for a thinned problem, whose prices are only a beginning.
const LAST_THINNED_EPSILON: f64 = 1e-3;

/// One row and column in so many make the thinned problem.
const STRIDE: usize = 8;

/// The smallest problem that is worth thinning.
const WORTH_THINNING: usize = 200;

/// Prices to begin with: pⱼ = maxᵢ (uᵢ − cᵢⱼ) over the rows i of the thinned problem.
fn opening_prices(costs: &CostMatrix) -> Option<Vec<f64>> {
    if costs.size() < WORTH_THINNING {
        return None;
    }
    let thinned = costs.thinned(STRIDE);
    let mut market = Market::new(&thinned, opening_prices(&thinned));
    sell_all(&mut market, LAST_THINNED_EPSILON);
    let mut prices = vec![f64::NEG_INFINITY; costs.size()];
    for i in 0..thinned.size() {
        let (u, row) = (market.offer(i).best, costs.row(i * STRIDE));
        crate::numeric::vectors().dispatch(|| {
            for (price, cost) in prices.iter_mut().zip(row) {
                let wanted = u - cost;
                *price = if wanted > *price { wanted } else { *price };
            }
        });
    }
    Some(prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_must_be_square_and_usable() {
        let error = CostMatrix::new(2, vec![0.0; 3]).unwrap_err();
        assert_eq!(error, CostError::NotSquare { size: 2, len: 3 });
        for value in [f64::INFINITY, 1e300] {
            let error = CostMatrix::new(2, vec![0.0, 0.0, value, 0.0]).unwrap_err();
            assert_eq!(error, CostError::NotUsable { row: 1, column: 0, value });
        }
        assert!(CostMatrix::new(1, vec![f64::NAN]).is_err());
    }

    #[test]
    fn nothing_is_matched_with_nothing() {
        let costs = CostMatrix::new(0, vec![]).unwrap();
        assert_eq!(Assignment::solve(&costs).columns(), [0usize; 0]);
    }

    #[test]
    fn equal_costs_match_anyhow() {
        let costs = CostMatrix::new(700, vec![3.0; 700 * 700]).unwrap();
        let matching = Assignment::solve(&costs);
        let mut columns = matching.columns().to_vec();
        columns.sort();
        assert!(columns.into_iter().eq(0..700));
    }

    /// cᵢⱼ = (i + 1)(j + 1), on which every search for a path from scratch visits every row before it.
    #[test]
    fn products_are_matched_in_opposite_order() {
        let n = 1000;
        let product = |at: usize| ((at / n + 1) * (at % n + 1)) as f64;
        let costs = CostMatrix::new(n, (0..n * n).map(product).collect()).unwrap();
        let matching = Assignment::solve(&costs);
        assert!(matching.columns().iter().copied().eq((0..n).rev()));
    }
}

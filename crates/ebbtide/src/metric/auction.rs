//! An auction with ε-scaling: rows bid for columns until prices are nearly the optimal potentials.

use super::assignment::CostMatrix;
use super::shortlist::{Offer, Shortlists};

/// Who owns what at which prices.
///
/// Prices only rise, in the auction as in the path searches after it; the shortlists rely on it.
pub(super) struct Market<'a> {
    pub costs: &'a CostMatrix,
    pub prices: Vec<f64>,
    pub lists: Shortlists,
    pub column_of: Vec<Option<usize>>,
    pub row_of: Vec<Option<usize>>,
}

impl<'a> Market<'a> {
    /// A market in which nothing is sold yet.
    pub fn new(costs: &'a CostMatrix, prices: Option<Vec<f64>>) -> Self {
        let size = costs.size();
        let prices = prices.unwrap_or_else(|| vec![0.0; size]);
        Self {
            costs,
            prices,
            lists: Shortlists::new(size),
            column_of: vec![None; size],
            row_of: vec![None; size],
        }
    }

    /// What `row` likes best at today's prices.
    pub fn offer(&mut self, row: usize) -> Offer {
        self.lists.offer(row, self.costs, &self.prices)
    }

    /// How far a row's shortlist reaches above its best column, where the rows are most crowded: heavy
    /// tails make the spread of all costs say nothing about the bulk.
    fn nearby_spread(&mut self) -> f64 {
        let size = self.costs.size();
        let mut reaches: Vec<f64> = (0..size)
            .map(|row| {
                let best = self.offer(row).best;
                self.lists.floor(row) - best
            })
            .filter(|&reach| reach > 0.0)
            .collect();
        reaches.sort_by(f64::total_cmp);
        reaches.get(size / 10).copied().unwrap_or(f64::INFINITY)
    }

    /// Takes from each row a column that is dearer than its best by more than `epsilon`; answers with
    /// the rows that have none.
    pub fn drop_overpriced(&mut self, epsilon: f64) -> Vec<usize> {
        let mut free = Vec::new();
        for row in 0..self.costs.size() {
            if let Some(column) = self.column_of[row] {
                let total = self.costs.row(row)[column] + self.prices[column];
                if total <= self.offer(row).best + epsilon {
                    continue;
                }
                self.column_of[row] = None;
                self.row_of[column] = None;
            }
            free.push(row);
        }
        free
    }

    /// Sells `row` its favourite column at the price that makes it worse than the runner-up by
    /// `epsilon`; answers with the row that lost it.
    fn sell(&mut self, row: usize, epsilon: f64) -> Option<usize> {
        let offer = self.offer(row);
        self.prices[offer.column] += offer.second - offer.best + epsilon;
        let loser = self.row_of[offer.column].replace(row);
        self.column_of[row] = Some(offer.column);
        if let Some(loser) = loser {
            self.column_of[loser] = None;
        }
        loser
    }
}

/// The first ε, relative to the spread of the costs, where prices start from nothing.
const FIRST_EPSILON: f64 = 2.0;

/// The first ε where prices start from those of a thinned problem.
const FIRST_EPSILON_WARM: f64 = 0.5;

/// From one round to the next ε shrinks by this factor.
const SHRINK: f64 = 0.25;

/// A round of more bids per row than this has begun with too small an ε: a few far points can ask for
/// prices beyond any spread.
const LONG_ROUND: usize = 24;

/// The factor by which ε then grows.
const RAISE: f64 = 1e3;

/// An auction that has taken so many bids per row is left to the path searches, which have a bound.
const PATIENCE: usize = 200;

/// The last ε where points crowd, in terms of the spread among a row's nearest columns: so much more than
/// in terms of the spread of all.
const CROWDED: f64 = 40.0;

/// Auctions in rounds of falling ε, down to `last_epsilon` relative to the spread of the costs.
///
/// A round leaves each row with a column within ε of its best. Large ε settle the large differences
/// between prices in few bids, small ε the small ones: one round of small ε would need very many.
pub(super) fn sell_all(market: &mut Market, last_epsilon: f64) {
    let spread = spread(market.costs);
    if spread == 0.0 {
        return;
    }
    let last = last_epsilon * spread.min(CROWDED * market.nearby_spread());
    let warm = market.prices.iter().any(|&price| price != 0.0);
    let mut epsilon = spread * if warm { FIRST_EPSILON_WARM } else { FIRST_EPSILON };
    let size = market.costs.size();
    let mut bids = 0;
    loop {
        let mut free = market.drop_overpriced(epsilon);
        let mut round_ends = bids + LONG_ROUND * size;
        while let Some(row) = free.pop() {
            if bids == round_ends {
                epsilon *= RAISE;
                round_ends += LONG_ROUND * size;
            }
            if bids == PATIENCE * size {
                return;
            }
            bids += 1;
            free.extend(market.sell(row, epsilon));
        }
        if epsilon <= last {
            return;
        }
        epsilon *= SHRINK;
    }
}

/// By how much a row's costs exceed its least one, on average over some of the rows.
fn spread(costs: &CostMatrix) -> f64 {
    let size = costs.size();
    let rows = (0..size).step_by((size / 64).max(1)).map(|i| costs.row(i));
    let count = rows.len().max(1) as f64;
    let above_least = rows.map(|row| {
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        row.iter().map(|cost| cost - least).sum::<f64>() / size as f64
    });
    above_least.sum::<f64>() / count
}

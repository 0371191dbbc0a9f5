//! Shortest augmenting paths: turn the matching of an auction into an exact one, row by row.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::auction::Market;

/// Dijkstra's search from a row without a column to a column without a row, over reduced costs
/// cᵢⱼ + pⱼ − uᵢ ≥ 0, which are zero on matched pairs.
///
/// A row is first searched through its shortlist only. Its other columns lie beyond the list's floor;
/// when the search gets that far without an end, all of them are looked at.
pub(super) struct ShortestPaths {
    /// uᵢ, the least total of each row.
    row_potentials: Vec<f64>,
    /// From the start to each column, as far as is known.
    distance: Vec<f64>,
    /// The row before each column on its path.
    predecessor: Vec<usize>,
    /// Columns with a distance.
    touched: Vec<usize>,
    /// Matched columns with a final distance.
    settled: Vec<usize>,
    ahead: BinaryHeap<Event>,
    /// The nearest unmatched column, and how far it is.
    end: Option<usize>,
    end_distance: f64,
}

/// What the search meets next.
struct Event {
    distance: f64,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A matched column.
    Column(usize),
    /// The floor of a row's shortlist. Columns at the same distance come first: they cost less to look at.
    Floor { row: usize },
}

impl ShortestPaths {
    /// Reads the row potentials off the market's prices.
    pub fn new(market: &mut Market) -> Self {
        let size = market.costs.size();
        Self {
            row_potentials: (0..size).map(|row| market.offer(row).best).collect(),
            distance: vec![f64::INFINITY; size],
            predecessor: vec![0; size],
            touched: Vec::with_capacity(size),
            settled: Vec::with_capacity(size),
            ahead: BinaryHeap::new(),
            end: None,
            end_distance: f64::INFINITY,
        }
    }

    /// uᵢ, once the searches are over.
    pub fn into_row_potentials(self) -> Vec<f64> {
        self.row_potentials
    }

    /// Gives `start` a column, moving other rows to other columns along the shortest path. Every matched
    /// pair stays at zero reduced cost.
    pub fn augment(&mut self, market: &mut Market, start: usize) {
        self.search(market, start);
        self.raise_prices(market, start);
        self.shift(market, start);
        self.forget();
    }

    fn search(&mut self, market: &Market, start: usize) {
        self.look_at_list(market, start, 0.0);
        while let Some(Event { distance, place }) = self.ahead.pop() {
            if distance >= self.end_distance {
                return;
            }
            match place {
                Place::Column(column) if distance > self.distance[column] => {} // met before, nearer
                Place::Column(column) => {
                    self.settled.push(column);
                    let row = market.row_of[column].expect("unmatched columns end the search");
                    self.look_at_list(market, row, distance);
                }
                Place::Floor { row } => self.look_at_all(market, row),
            }
        }
    }

    fn look_at_list(&mut self, market: &Market, row: usize, so_far: f64) {
        for (column, cost) in market.lists.entries(row) {
            self.look(market, row, column, cost, so_far);
        }
        let distance = so_far + (market.lists.floor(row) - self.row_potentials[row]).max(0.0);
        if distance < self.end_distance {
            self.ahead.push(Event { distance, place: Place::Floor { row } });
        }
    }

    fn look_at_all(&mut self, market: &Market, row: usize) {
        let so_far = market.column_of[row].map_or(0.0, |column| self.distance[column]);
        for (column, &cost) in market.costs.row(row).iter().enumerate() {
            self.look(market, row, column, cost, so_far);
        }
    }

    #[inline(always)]
    fn look(&mut self, market: &Market, row: usize, column: usize, cost: f64, so_far: f64) {
        let reduced = cost + market.prices[column] - self.row_potentials[row];
        let distance = so_far + reduced.max(0.0); // rounding alone can take it below zero
        if distance >= self.end_distance || distance >= self.distance[column] {
            return;
        }
        if self.distance[column] == f64::INFINITY {
            self.touched.push(column);
        }
        self.distance[column] = distance;
        self.predecessor[column] = row;
        if market.row_of[column].is_some() {
            self.ahead.push(Event { distance, place: Place::Column(column) });
        } else {
            (self.end, self.end_distance) = (Some(column), distance);
        }
    }

    /// Raises the prices behind the end, so that the whole path has zero reduced cost.
    fn raise_prices(&mut self, market: &mut Market, start: usize) {
        self.row_potentials[start] += self.end_distance;
        for &column in &self.settled {
            let rise = self.end_distance - self.distance[column];
            let row = market.row_of[column].expect("only matched columns are settled");
            market.prices[column] += rise;
            self.row_potentials[row] += rise;
        }
    }

    /// Moves each row on the path to the column after it.
    fn shift(&mut self, market: &mut Market, start: usize) {
        let mut column = self.end.expect("with a row unmatched so is a column, and all are in reach");
        loop {
            let row = self.predecessor[column];
            market.row_of[column] = Some(row);
            match market.column_of[row].replace(column) {
                Some(before) => column = before,
                None => break debug_assert_eq!(row, start),
            }
        }
    }

    fn forget(&mut self) {
        for column in self.touched.drain(..) {
            self.distance[column] = f64::INFINITY;
        }
        self.settled.clear();
        self.ahead.clear();
        (self.end, self.end_distance) = (None, f64::INFINITY);
    }
}

/// The nearest event is the greatest, for the heap gives out the greatest first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance).then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

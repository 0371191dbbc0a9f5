//! Shortlists: the few columns a row can afford, valid for as long as prices only rise.

use super::assignment::CostMatrix;

/// For each row some columns, and a floor under the totals cᵢⱼ + pⱼ of all the others.
///
/// Prices only rise, so a floor stays true once it is set. While the cheapest column of the list lies
/// below the floor, it is the cheapest of all, and no other column need be looked at.
pub(super) struct Shortlists {
    /// The listed columns, with room for `LONGEST` in each list.
    columns: Vec<u32>,
    /// Their costs for the row, without their prices.
    costs: Vec<f64>,
    lengths: Vec<usize>,
    floors: Vec<f64>,
    /// Scratch: the totals of one row.
    totals: Vec<f64>,
    /// Scratch: 1 where a total is small enough, padded to whole words.
    marks: Vec<u8>,
    /// Scratch: the columns so marked, with their totals.
    marked: Vec<(u32, f64)>,
}

/// The column a row likes best, its total, and a total that no other column goes below.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    pub column: usize,
    pub best: f64,
    pub second: f64,
}

/// The most columns of a list.
const LONGEST: usize = 64;

/// Columns fall into so many groups by their index, and the dearest of the groups' cheapest sets the
/// floor. The list has then at least so many columns, and about 54 when their order is random.
const GROUPS: usize = 16;

/// Marks are read so many at a time.
const WORD: usize = size_of::<u64>();

impl Shortlists {
    /// Lists for `size` rows, none of them filled yet.
    pub fn new(size: usize) -> Self {
        Self {
            columns: vec![0; size * LONGEST],
            costs: vec![0.0; size * LONGEST],
            lengths: vec![0; size],
            floors: vec![f64::NEG_INFINITY; size],
            totals: vec![0.0; size],
            marks: vec![0; size.next_multiple_of(WORD)],
            marked: Vec::with_capacity(size),
        }
    }

    /// The listed columns of a row, each with its cost.
    pub fn entries(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let list = row * LONGEST..row * LONGEST + self.lengths[row];
        let columns = self.columns[list.clone()].iter().map(|&column| column as usize);
        columns.zip(self.costs[list].iter().copied())
    }

    /// No column off the list of `row` has a total below this.
    pub fn floor(&self, row: usize) -> f64 {
        self.floors[row]
    }

    /// What `row` likes best at these prices.
    pub fn offer(&mut self, row: usize, costs: &CostMatrix, prices: &[f64]) -> Offer {
        let listed = self.listed_offer(row, prices);
        if listed.best <= self.floors[row] {
            return Offer { second: listed.second.min(self.floors[row]), ..listed };
        }
        self.refill(row, costs, prices);
        self.listed_offer(row, prices)
    }

    fn listed_offer(&self, row: usize, prices: &[f64]) -> Offer {
        let mut offer = Offer { column: 0, best: f64::INFINITY, second: f64::INFINITY };
        for (column, cost) in self.entries(row) {
            let total = cost + prices[column];
            if total >= offer.second {
                continue; // most are
            }
            if total < offer.best {
                offer = Offer { column, best: total, second: offer.best };
            } else {
                offer.second = total;
            }
        }
        offer
    }

    /// Looks at all columns again, and lists the cheapest.
    pub fn refill(&mut self, row: usize, costs: &CostMatrix, prices: &[f64]) {
        let costs = costs.row(row);
        let mut floor =
            crate::numeric::vectors().dispatch(AddPrices { costs, prices, totals: &mut self.totals });
        if costs.len() <= LONGEST {
            floor = f64::INFINITY; // all columns fit
        }
        self.mark_up_to(floor);
        if self.marked.len() > LONGEST {
            let by_total = |a: &(u32, f64), b: &(u32, f64)| a.1.total_cmp(&b.1);
            floor = self.marked.select_nth_unstable_by(LONGEST, by_total).1.1;
            self.marked.truncate(LONGEST);
        }
        for (place, &(column, _)) in (row * LONGEST..).zip(&self.marked) {
            self.columns[place] = column;
            self.costs[place] = costs[column as usize];
        }
        self.lengths[row] = self.marked.len();
        self.floors[row] = floor;
    }

    /// Gathers the columns whose totals are at most `floor`.
    ///
    /// Bytes, eight to a word, find the few among the many without a branch for each column.
    fn mark_up_to(&mut self, floor: f64) {
        let (marks, totals) = (&mut self.marks, &self.totals);
        crate::numeric::vectors().dispatch(|| {
            for (mark, &total) in marks.iter_mut().zip(totals) {
                *mark = u8::from(total <= floor);
            }
        });
        self.marked.clear();
        let (words, _) = self.marks.as_chunks::<WORD>();
        for (place, &bytes) in words.iter().enumerate() {
            let mut word = u64::from_le_bytes(bytes);
            while word != 0 {
                let column = place * WORD + word.trailing_zeros() as usize / 8;
                self.marked.push((column as u32, self.totals[column]));
                word &= word - 1;
            }
        }
    }
}

/// Writes the totals, and answers with the largest of the groups' smallest.
///
/// A closure of this size is not inlined into the dispatched code, and would lose its instruction set.
struct AddPrices<'a> {
    costs: &'a [f64],
    prices: &'a [f64],
    totals: &'a mut [f64],
}

impl pulp::NullaryFnOnce for AddPrices<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut smallest = [f64::INFINITY; GROUPS];
        let (costs, costs_left) = self.costs.as_chunks::<GROUPS>();
        let (prices, prices_left) = self.prices.as_chunks::<GROUPS>();
        let (totals, totals_left) = self.totals.as_chunks_mut::<GROUPS>();
        for ((cost, price), total) in costs.iter().zip(prices).zip(totals) {
            for k in 0..GROUPS {
                total[k] = cost[k] + price[k];
                smallest[k] = if total[k] < smallest[k] { total[k] } else { smallest[k] };
            }
        }
        for (k, total) in totals_left.iter_mut().enumerate() {
            *total = costs_left[k] + prices_left[k];
            smallest[k] = smallest[k].min(*total);
        }
        smallest.into_iter().fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_what_a_look_at_all_columns_finds() {
        for n in [1, 2, 63, 64, 65, 300, 1001] {
            let costs: Vec<f64> = (0..n * n).map(|k| (k * 7919 % 10007) as f64).collect();
            let costs = CostMatrix::new(n, costs).unwrap();
            let mut prices = vec![0.0; n];
            let mut lists = Shortlists::new(n);
            for step in 0..400 {
                let row = step % n.min(3);
                let offer = lists.offer(row, &costs, &prices);
                let totals = (0..n).map(|j| (costs.row(row)[j] + prices[j], j));
                let (best, column) = totals.clone().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
                let others = totals.filter(|&(_, j)| j != offer.column).map(|(total, _)| total);
                let second = others.fold(f64::INFINITY, f64::min);
                assert_eq!(offer.best, best, "n = {n}, step {step}");
                assert!(offer.column == column || second == best);
                assert!(offer.best <= offer.second && offer.second <= second);
                prices[offer.column] += 61.0;
            }
        }
    }
}

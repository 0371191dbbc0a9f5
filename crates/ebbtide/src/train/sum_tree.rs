//! A sum tree: numbers that can be changed one by one and drawn in proportion, both in logarithmic time.

/// Non-negative weights of a fixed number of places, with their sum and their smallest.
///
/// Every inner node is computed from its two children alone, so the tree is a function of its leaves,
/// whatever order they were set in.
///
/// ```
/// use ebbtide::train::SumTree;
///
/// let mut tree = SumTree::new(3);
/// tree.set(0, 1.0);
/// tree.set(2, 3.0);
/// assert_eq!(tree.total(), 4.0);
/// // A quarter of the mass is in the first place, and the rest in the last.
/// assert_eq!([0.0, 0.9, 1.0, 3.9].map(|mass| tree.find(mass)), [0, 0, 2, 2]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SumTree {
    places: usize,
    /// Node 1 is the root, node k has children 2k and 2k + 1; leaves begin at `sums.len() / 2`.
    sums: Vec<f64>,
    smallest: Vec<f64>,
}

impl SumTree {
    /// `places` weights of zero. A place of weight zero counts as empty.
    pub fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two().max(1);
        Self { places, sums: vec![0.0; 2 * leaves], smallest: vec![f64::INFINITY; 2 * leaves] }
    }

    fn leaves(&self) -> usize {
        self.sums.len() / 2
    }

    /// The number of places.
    pub(super) fn places(&self) -> usize {
        self.places
    }

    /// The weight of a place.
    pub(super) fn get(&self, place: usize) -> f64 {
        self.sums[self.leaves() + place]
    }

    /// The weights of all places: what the tree is a function of.
    pub(super) fn weights(&self) -> &[f64] {
        &self.sums[self.leaves()..][..self.places]
    }

    /// Sets the weight of a place; it must be finite and not negative.
    pub fn set(&mut self, place: usize, weight: f64) {
        debug_assert!(weight.is_finite() && weight >= 0.0);
        let mut node = self.leaves() + place;
        self.sums[node] = weight;
        self.smallest[node] = if weight > 0.0 { weight } else { f64::INFINITY };
        while node > 1 {
            node /= 2;
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1];
            self.smallest[node] = self.smallest[2 * node].min(self.smallest[2 * node + 1]);
        }
    }

    /// The sum of all weights.
    pub fn total(&self) -> f64 {
        self.sums[1]
    }

    /// The smallest weight of a place that is not empty, or +∞.
    pub(super) fn smallest(&self) -> f64 {
        self.smallest[1]
    }

    /// The place where the running sum of the weights first exceeds `mass`, for 0 ≤ mass < total.
    pub fn find(&self, mut mass: f64) -> usize {
        let mut node = 1;
        while node < self.leaves() {
            node *= 2;
            // Rounding may leave a mass at the very end of an empty right half: stay where there is weight.
            if mass >= self.sums[node] && self.sums[node + 1] > 0.0 {
                mass -= self.sums[node];
                node += 1;
            }
        }
        node - self.leaves()
    }
}

/// Weights that are not finite or not above 0 leave their places empty.
impl From<Vec<f64>> for SumTree {
    fn from(weights: Vec<f64>) -> Self {
        let mut tree = Self::new(weights.len());
        for (place, weight) in weights.into_iter().enumerate() {
            if weight.is_finite() && weight > 0.0 {
                tree.set(place, weight);
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain list, after any sequence of changes.
        #[test]
        fn agrees_with_a_list(
            places in 1_usize..70,
            changes in prop::collection::vec((0_usize..70, 0.0_f64..10.0), 0..200),
            masses in prop::collection::vec(0.0_f64..1.0, 10),
        ) {
            let (mut tree, mut list) = (SumTree::new(places), vec![0.0; places]);
            for (place, weight) in changes {
                let weight = if weight < 1.0 { 0.0 } else { weight };
                tree.set(place % places, weight);
                list[place % places] = weight;
            }
            let total: f64 = list.iter().sum();
            prop_assert!((tree.total() - total).abs() < 1e-9);
            let smallest = list.iter().copied().filter(|&w| w > 0.0).fold(f64::INFINITY, f64::min);
            prop_assert_eq!(tree.smallest(), smallest);
            prop_assert_eq!(tree.weights(), &list);
            prop_assert_eq!(&SumTree::from(list.clone()), &tree);
            if total > 0.0 {
                for mass in masses {
                    let place = tree.find(mass * tree.total());
                    prop_assert!(list[place] > 0.0);
                    let before: f64 = list[..place].iter().sum();
                    let mass = mass * tree.total();
                    prop_assert!(before - 1e-9 <= mass && mass <= before + list[place] + 1e-9);
                }
            }
        }
    }
}

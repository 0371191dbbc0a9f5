//! The archive: end points that local search found, handed out by the rank of their density.

use super::arrays::{ArrayRef, Arrays, StateError};
use super::room::make_room;
use crate::stream::Stream;

/// Added to each rank, as a share of the number of points: how much the best are preferred.
const RANK_OFFSET: f64 = 0.01;

/// More finds than any training makes, and few enough that a double counts them.
const MOST: u64 = 1 << 53;

/// Which finds stay when there are more than the archive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The newest. What the sampler does not visit any more is forgotten.
    Newest,
    /// A fair sample of all finds since the beginning: each has the same chance to be in it, however old it is.
    Sample,
}

/// How points are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recall {
    /// With weight 1 / (0.01 N + rank), rank 0 being the highest density.
    Ranked,
    /// All alike.
    Even,
}

/// Points, and their ranks by density.
///
/// The order is kept by merging, not by sorting the whole: points come in large batches, and a merge is
/// one pass.
///
/// ```
/// use ebbtide::stream::{Address, Purpose};
/// use ebbtide::train::{Archive, Keep, Recall};
///
/// let mut stream = Address::new(0, Purpose::Recall, 0).stream(0);
/// let mut archive = Archive::new(3, 1);
/// archive.insert(&[7.0, 8.0, 9.0, 10.0], &[-1.0, -2.0, -3.0, -4.0], Keep::Newest, &mut stream);
///
/// // The first had to go. The best of the others has 1/0.03 of 1/0.03 + 1/1.03 + 1/2.03, which is 96 %.
/// let mut how_often = |recall| {
///     (0..1000).filter(|_| archive.draw(recall, &mut stream) == (&[8.0][..], -2.0)).count()
/// };
/// assert!((930..990).contains(&how_often(Recall::Ranked)));
/// assert!((270..400).contains(&how_often(Recall::Even)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    dim: usize,
    capacity: usize,
    points: Vec<f32>,
    log_density: Vec<f64>,
    /// How many have come so far; where the newest are kept, what matters is the remainder by the capacity.
    came: u64,
    /// Places by falling density, equal ones by place.
    order: Vec<u32>,
    /// Running sums of the weights of the ranks.
    cumulative: Vec<f64>,
    /// Places of points on their way in; empty between insertions.
    fresh: Vec<u32>,
    /// Whether a place is among them.
    is_fresh: Vec<bool>,
}

impl Archive {
    /// An empty archive.
    pub fn new(capacity: usize, dim: usize) -> Self {
        Self::ranked(capacity, dim, Vec::new(), Vec::new(), 0)
    }

    /// An archive of these points. What is a function of them, order and running sums, is made here.
    fn ranked(capacity: usize, dim: usize, points: Vec<f32>, log_density: Vec<f64>, came: u64) -> Self {
        let mut order: Vec<u32> = (0..log_density.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| by_density(&log_density, a, b));
        let (cumulative, fresh, is_fresh) = (Vec::new(), Vec::new(), vec![false; log_density.len()]);
        let mut archive =
            Self { dim, capacity, points, log_density, came, order, cumulative, fresh, is_fresh };
        archive.weigh();
        archive
    }

    /// Adds its arrays to those of a state.
    pub(super) fn lay_out<'a>(&'a self, arrays: &mut Vec<(&'static str, ArrayRef<'a>)>) {
        arrays.extend([
            ("archive.points", ArrayRef::F32(&self.points)),
            ("archive.log-density", ArrayRef::F64(&self.log_density)),
            ("archive.next", ArrayRef::U64(self.came)),
            ("archive.capacity", ArrayRef::U64(self.capacity as u64)),
            ("archive.dim", ArrayRef::U64(self.dim as u64)),
        ]);
    }

    /// Takes its arrays from those of a state.
    pub(super) fn take_up(arrays: &mut Arrays) -> Result<Self, StateError> {
        let (capacity, dim) = (arrays.size("archive.capacity")?, arrays.size("archive.dim")?);
        let (points, log_density) =
            (arrays.singles("archive.points")?, arrays.doubles("archive.log-density")?);
        Ok(Self::ranked(capacity, dim, points, log_density, arrays.whole("archive.next")?))
    }

    /// Makes room for all it may ever hold.
    pub(crate) fn reserve(&mut self) {
        make_room(&mut self.points, self.capacity.saturating_mul(self.dim));
        make_room(&mut self.log_density, self.capacity);
        make_room(&mut self.order, self.capacity);
        make_room(&mut self.cumulative, self.capacity);
        make_room(&mut self.fresh, self.capacity);
        make_room(&mut self.is_fresh, self.capacity);
    }

    /// How many points it holds.
    pub(super) fn len(&self) -> usize {
        self.log_density.len()
    }

    /// Whether it holds none.
    pub(super) fn is_empty(&self) -> bool {
        self.log_density.is_empty()
    }

    pub(crate) fn is_sound(&self, capacity: usize, dim: usize) -> bool {
        self.capacity == capacity
            && self.dim == dim
            && self.len() <= capacity
            && self.points.len() == self.len() * dim
            && (self.len() == capacity || self.came == self.len() as u64)
            && self.came < MOST
            && self.points.iter().all(|value| value.is_finite())
            && self.log_density.iter().all(|value| value.is_finite())
    }

    /// Adds points (n × dim by rows). Where there is no room for all, `keep` says which stay, and the stream decides.
    pub fn insert(&mut self, points: &[f32], log_density: &[f64], keep: Keep, stream: &mut Stream) {
        // Of more than the archive holds, the first would only be overwritten by the last.
        let surplus = match keep {
            Keep::Newest => log_density.len().saturating_sub(self.capacity),
            Keep::Sample => 0,
        };
        let (points, log_density) = (&points[surplus * self.dim..], &log_density[surplus..]);
        for (point, &density) in points.chunks_exact(self.dim).zip(log_density) {
            let capacity = self.capacity as u64;
            let place = match keep {
                _ if self.came < capacity => self.came,
                Keep::Newest => self.came % capacity,
                // Each of all that have come, this one included, is as likely as any other to be left out.
                Keep::Sample => (stream.uniform() * (self.came + 1) as f64) as u64,
            };
            self.came += 1;
            if place < capacity {
                self.put(place as usize, point, density);
            }
        }
        self.rank();
        self.weigh();
    }

    fn put(&mut self, place: usize, point: &[f32], density: f64) {
        if place == self.len() {
            self.points.extend_from_slice(point);
            self.log_density.push(density);
            self.is_fresh.push(false);
        }
        self.points[place * self.dim..][..self.dim].copy_from_slice(point);
        self.log_density[place] = density;
        // One find may take the place of another of the same search.
        if !std::mem::replace(&mut self.is_fresh[place], true) {
            self.fresh.push(place as u32);
        }
    }

    /// Brings the order up to date with the fresh places.
    fn rank(&mut self) {
        let Self { order, fresh, log_density, is_fresh, .. } = self;
        order.retain(|&place| !is_fresh[place as usize]);
        fresh.iter().for_each(|&place| is_fresh[place as usize] = false);
        fresh.sort_unstable_by(|&a, &b| by_density(log_density, a, b));
        // From the back, where there is room: no one is overwritten who has not moved yet.
        let mut old = order.len();
        order.resize(old + fresh.len(), 0);
        let mut end = order.len();
        while let Some(&newcomer) = fresh.last() {
            end -= 1;
            if old > 0 && by_density(log_density, newcomer, order[old - 1]).is_lt() {
                old -= 1;
                order[end] = order[old];
            } else {
                order[end] = newcomer;
                fresh.pop();
            }
        }
    }

    /// Brings the running sums up to date.
    fn weigh(&mut self) {
        let count = self.len();
        if self.cumulative.len() == count {
            return;
        }
        let mut sum = 0.0;
        self.cumulative.clear();
        self.cumulative.extend((0..count).map(|rank| {
            sum += 1.0 / (RANK_OFFSET * count as f64 + rank as f64);
            sum
        }));
    }

    /// Draws one point and its log density. The archive must not be empty.
    pub fn draw(&self, recall: Recall, stream: &mut Stream) -> (&[f32], f64) {
        let place = match recall {
            Recall::Even => (stream.uniform() * self.len() as f64) as usize,
            Recall::Ranked => {
                let total = self.cumulative[self.len() - 1];
                self.order[self.rank_of(stream.uniform() * total)] as usize
            }
        };
        (&self.points[place * self.dim..][..self.dim], self.log_density[place])
    }

    /// The rank where the running sum first exceeds `mass`, or the last.
    ///
    /// With c = 0.01 N the sum up to rank r is nearly ln((c + r + ½) / (c − ½)). Looking around the rank that this gives
    /// touches a few numbers side by side, where halving the whole archive would wander through all of its memory.
    fn rank_of(&self, mass: f64) -> usize {
        let (sums, last) = (&self.cumulative, self.len() - 1);
        let offset = RANK_OFFSET * self.len() as f64 - 0.5;
        let guess = ((offset * mass.exp() - offset - 1.0) as usize).min(last);
        let mut reach = 2;
        loop {
            let (low, high) = (guess.saturating_sub(reach), (guess + reach).min(last));
            if (low == 0 || sums[low - 1] <= mass) && (high == last || sums[high] > mass) {
                return low + sums[low..high].partition_point(|&sum| sum <= mass);
            }
            reach *= 8;
        }
    }
}

fn by_density(log_density: &[f64], a: u32, b: u32) -> std::cmp::Ordering {
    log_density[b as usize].total_cmp(&log_density[a as usize]).then(a.cmp(&b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stream::{Address, Purpose};

    fn stream(number: usize) -> Stream {
        Address::new(3, Purpose::Recall, 0).stream(number)
    }

    proptest! {
        /// Merging keeps the order that sorting would give, and the newest stay where they shall.
        #[test]
        fn merging_is_sorting(sampled: bool, batches in prop::collection::vec(prop::collection::vec(-5_i8..5, 0..12), 1..12)) {
            let keep = if sampled { Keep::Sample } else { Keep::Newest };
            let mut stream = Address::new(4, Purpose::Keep, 0).stream(0);
            let mut archive = Archive::new(16, 1);
            let mut all: Vec<f64> = Vec::new();
            for batch in batches {
                let densities: Vec<f64> = batch.iter().map(|&v| f64::from(v)).collect();
                archive.insert(&batch.iter().map(|&v| f32::from(v)).collect::<Vec<_>>(), &densities, keep, &mut stream);
                all.extend(&densities);
                let Archive { points, log_density, came, .. } = archive.clone();
                prop_assert_eq!(&Archive::ranked(16, 1, points, log_density, came), &archive);
                prop_assert_eq!(archive.len(), all.len().min(16));
                let mut newest = all[all.len().saturating_sub(16)..].to_vec();
                newest.sort_by(|a, b| b.total_cmp(a));
                let ordered: Vec<f64> = archive.order.iter().map(|&p| archive.log_density[p as usize]).collect();
                prop_assert!(sampled || newest == ordered);
            }
        }
    }

    #[test]
    fn a_rank_is_found_where_a_search_of_all_sums_finds_it() {
        for count in [1, 2, 3, 10, 49, 50, 51, 60, 1000, 20_000] {
            let mut archive = Archive::new(count, 1);
            archive.insert(&vec![0.5; count], &vec![0.0; count], Keep::Newest, &mut stream(0));
            let sums = &archive.cumulative;
            let total = sums[count - 1];
            let between = (0..=3000).map(|i| total * f64::from(i) / 3000.0);
            let exactly = sums.iter().copied();
            for mass in between.chain(exactly) {
                let expected = sums.partition_point(|&sum| sum <= mass).min(count - 1);
                assert_eq!(archive.rank_of(mass), expected, "{mass} of {count} points");
            }
        }
    }

    #[test]
    fn ranks_are_drawn_by_their_weights() {
        let count = 50;
        let densities: Vec<f64> = (0..count).map(|i| -(i as f64)).collect();
        let mut archive = Archive::new(count, 1);
        let mut stream = stream(0);
        archive.insert(&vec![0.5; count], &densities, Keep::Newest, &mut stream);
        let draws = 200_000;
        let mut seen = vec![0_usize; count];
        for _ in 0..draws {
            seen[-archive.draw(Recall::Ranked, &mut stream).1 as usize] += 1;
        }
        let weight = |rank: usize| 1.0 / (0.01 * count as f64 + rank as f64);
        let total: f64 = (0..count).map(weight).sum();
        for (rank, &seen) in seen.iter().enumerate() {
            let p = weight(rank) / total;
            let deviation = (p * (1.0 - p) / draws as f64).sqrt();
            assert!((seen as f64 / draws as f64 - p).abs() < 5.0 * deviation, "rank {rank}");
        }
    }

    #[test]
    fn points_are_drawn_alike_where_they_shall_be() {
        let (count, draws) = (50, 200_000);
        let mut archive = Archive::new(count, 1);
        let (densities, mut stream) = ((0..count).map(|i| -(i as f64)).collect::<Vec<_>>(), stream(1));
        archive.insert(&vec![0.5; count], &densities, Keep::Newest, &mut stream);
        let mut seen = vec![0_usize; count];
        for _ in 0..draws {
            seen[-archive.draw(Recall::Even, &mut stream).1 as usize] += 1;
        }
        let (mean, p) = (draws as f64 / count as f64, 1.0 / count as f64);
        let deviation = (mean * (1.0 - p)).sqrt();
        assert!(seen.iter().all(|&seen| (seen as f64 - mean).abs() < 5.0 * deviation), "{seen:?}");
    }

    /// Twenty batches of ten come to an archive of twenty; over many archives, each batch has its share of one in ten.
    #[test]
    fn a_sample_is_fair_to_old_and_new() {
        let (trials, batches) = (4000, 20);
        let mut seen = vec![0_usize; batches];
        for trial in 0..trials {
            let (mut archive, mut stream) = (Archive::new(20, 1), stream(trial));
            for batch in 0..batches {
                archive.insert(&[batch as f32; 10], &[0.0; 10], Keep::Sample, &mut stream);
            }
            archive.points.iter().for_each(|&batch| seen[batch as usize] += 1);
        }
        // Of 10 points a tenth stay, and nearly independently of each other: variance about 0.9 for each trial.
        for (batch, &seen) in seen.iter().enumerate() {
            let (mean, deviation) = (trials as f64, (0.9 * trials as f64).sqrt());
            assert!((seen as f64 - mean).abs() < 5.0 * deviation, "batch {batch}: {seen} of {mean}");
        }
    }
}

//! Prioritised replay: whole trajectories, drawn again in proportion to their loss.

use super::arrays::{ArrayRef, Arrays, StateError};
use super::room::make_room;
use super::sum_tree::SumTree;
use crate::stream::Stream;
use crate::target::NOWHERE;
use crate::trajectory::Trajectories;

/// How trajectories are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// Replayed batches for each fresh one; 0 turns replay off.
    pub ratio: usize,
    /// How many trajectories are remembered.
    pub capacity: usize,
    /// α: 0 draws all alike, 1 in proportion to the loss.
    pub priority_exponent: f64,
    /// β: how far importance weights correct for the drawing.
    pub correction_exponent: f64,
    /// The smallest priority that they are relative to.
    pub reference: CorrectionReference,
}

/// Among which trajectories the smallest priority is looked for: the one whose importance weight is 1.
///
/// A buffer of thousands always has one whose loss is next to nothing. Beside it all others weigh little, and
/// replayed updates hardly count beside fresh ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectionReference {
    /// Those of the batch that was drawn.
    Batch,
    /// All that the buffer holds.
    Buffer,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            ratio: 2,
            capacity: 5000,
            priority_exponent: 1.0,
            correction_exponent: 0.1,
            reference: CorrectionReference::Buffer,
        }
    }
}

/// Added to every priority, so that none is zero.
const FLOOR: f64 = 1e-8;

/// A ring of trajectories with priorities.
///
/// P(i) ∝ qᵢ with qᵢ = (pᵢ + 1e-8)^α, drawn with replacement; importance weight (qᵢ / min q)^−β, so at most 1, with the
/// smallest q of the batch or of the buffer. A new trajectory gets the largest priority seen so far.
///
/// ```
/// use ebbtide::stream::{Address, Purpose};
/// use ebbtide::train::{CorrectionReference, Drawn, Replay, ReplayOptions};
/// use ebbtide::trajectory::Trajectories;
///
/// let reference = CorrectionReference::Buffer;
/// let options = ReplayOptions { correction_exponent: 1.0, reference, ..ReplayOptions::default() };
/// let (mut replay, mut paths) = (Replay::new(10, 1), Trajectories::new(2, 1, 1));
/// paths.states_mut().copy_from_slice(&[7.0, 8.0]);
/// replay.insert(&paths, &[-0.7, -0.8], &options);
/// // The first is three times as far from balance: it is drawn three times as often, and counts a third.
/// replay.refresh(&[0, 1], [3.0, 1.0].into_iter(), &options);
///
/// let (mut batch, mut drawn) = (Trajectories::new(100, 1, 1), Drawn::default());
/// replay.draw(&mut Address::new(0, Purpose::Replay, 0).stream(0), &options, &mut batch, &mut drawn);
/// for (i, &place) in drawn.places.iter().enumerate() {
///     assert_eq!((batch.path(i), drawn.log_density[i]), (paths.path(place), [-0.7, -0.8][place]));
///     assert!((drawn.importance[i] - [1.0 / 3.0, 1.0][place]).abs() < 1e-6);
/// }
/// assert!((60..90).contains(&drawn.places.iter().filter(|&&place| place == 0).count()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    path_len: usize,
    capacity: usize,
    paths: Vec<f32>,
    log_density: Vec<f64>,
    tree: SumTree,
    next: usize,
    largest: f64,
}

/// A batch drawn from a buffer.
#[derive(Clone, Debug, Default)]
pub struct Drawn {
    /// Log density of each end point.
    pub log_density: Vec<f64>,
    /// Importance weight of each trajectory.
    pub importance: Vec<f32>,
    /// Where each came from.
    pub places: Vec<usize>,
}

impl Drawn {
    /// Room for a batch of `count`.
    pub(super) fn with_room(count: usize) -> Self {
        Self {
            log_density: Vec::with_capacity(count),
            importance: Vec::with_capacity(count),
            places: Vec::with_capacity(count),
        }
    }
}

impl Replay {
    /// An empty ring for trajectories of `path_len` numbers.
    pub fn new(capacity: usize, path_len: usize) -> Self {
        Self {
            path_len,
            capacity,
            paths: Vec::new(),
            log_density: Vec::new(),
            tree: SumTree::new(capacity),
            next: 0,
            largest: 1.0,
        }
    }

    /// Adds its arrays to those of a state.
    pub(super) fn lay_out<'a>(&'a self, arrays: &mut Vec<(&'static str, ArrayRef<'a>)>) {
        arrays.extend([
            ("replay.paths", ArrayRef::F32(&self.paths)),
            ("replay.log-density", ArrayRef::F64(&self.log_density)),
            ("replay.priorities", ArrayRef::F64(self.tree.weights())),
            ("replay.next", ArrayRef::U64(self.next as u64)),
            ("replay.largest", ArrayRef::F64(std::slice::from_ref(&self.largest))),
            ("replay.capacity", ArrayRef::U64(self.capacity as u64)),
            ("replay.path-length", ArrayRef::U64(self.path_len as u64)),
        ]);
    }

    /// Takes its arrays from those of a state. The tree has room for the priorities there are, whatever the capacity
    /// says that there should be.
    pub(super) fn take_up(arrays: &mut Arrays) -> Result<Self, StateError> {
        let (capacity, priorities) = (arrays.size("replay.capacity")?, arrays.doubles("replay.priorities")?);
        if priorities.len() != capacity {
            return Err(StateError::Priorities { capacity, priorities: priorities.len() });
        }
        Ok(Self {
            path_len: arrays.size("replay.path-length")?,
            capacity,
            paths: arrays.singles("replay.paths")?,
            log_density: arrays.doubles("replay.log-density")?,
            tree: SumTree::from(priorities),
            next: arrays.size("replay.next")?,
            largest: arrays.double("replay.largest")?,
        })
    }

    /// Makes room for all it may ever hold.
    pub(crate) fn reserve(&mut self) {
        make_room(&mut self.paths, self.capacity.saturating_mul(self.path_len));
        make_room(&mut self.log_density, self.capacity);
    }

    /// How many trajectories it holds.
    pub(super) fn len(&self) -> usize {
        self.log_density.len()
    }

    /// Whether it holds none.
    pub(super) fn is_empty(&self) -> bool {
        self.log_density.is_empty()
    }

    pub(crate) fn is_sound(&self, capacity: usize, path_len: usize) -> bool {
        self.path_len == path_len
            && self.capacity == capacity
            && self.tree.places() == capacity
            && self.len() <= capacity
            && self.paths.len() == self.len() * path_len
            && self.next == if self.len() < capacity { self.len() } else { self.next % capacity }
            && self.paths.iter().all(|value| value.is_finite())
            && self.log_density.iter().all(|value| value.is_finite())
            && (0..capacity).all(|place| (self.tree.get(place) > 0.0) == (place < self.len()))
            && self.tree.total().is_finite()
            && (1.0..=LARGEST).contains(&self.largest)
    }

    /// Adds trajectories, the oldest making room. Those that end where the density is zero are left out: their loss is
    /// beyond all others, and with them in it the buffer would hand out nothing else.
    pub fn insert(&mut self, trajectories: &Trajectories, log_density: &[f64], options: &ReplayOptions) {
        let weight = weight_of(self.largest, options);
        for (i, &density) in log_density.iter().enumerate().filter(|(_, density)| **density > NOWHERE) {
            let place = self.next;
            if place == self.len() {
                self.paths.extend_from_slice(trajectories.path(i));
                self.log_density.push(density);
            } else {
                self.paths[place * self.path_len..][..self.path_len].copy_from_slice(trajectories.path(i));
                self.log_density[place] = density;
            }
            self.tree.set(place, weight);
            self.next = (place + 1) % self.capacity;
        }
    }

    /// Draws as many trajectories as `trajectories` has room for. The buffer must not be empty.
    pub fn draw(
        &self,
        stream: &mut Stream,
        options: &ReplayOptions,
        trajectories: &mut Trajectories,
        drawn: &mut Drawn,
    ) {
        drawn.log_density.clear();
        drawn.importance.clear();
        drawn.places.clear();
        for i in 0..trajectories.len() {
            let place = self.tree.find(stream.uniform() * self.tree.total());
            trajectories.path_mut(i).copy_from_slice(&self.paths[place * self.path_len..][..self.path_len]);
            drawn.log_density.push(self.log_density[place]);
            drawn.places.push(place);
        }
        let weights = || drawn.places.iter().map(|&place| self.tree.get(place));
        let smallest = match options.reference {
            CorrectionReference::Batch => weights().fold(f64::INFINITY, f64::min),
            CorrectionReference::Buffer => self.tree.smallest(),
        };
        let correction = |weight: f64| (weight / smallest).powf(-options.correction_exponent) as f32;
        drawn.importance.extend(weights().map(correction));
    }

    /// Gives drawn trajectories their new priorities.
    pub fn refresh(
        &mut self,
        places: &[usize],
        priorities: impl Iterator<Item = f64>,
        options: &ReplayOptions,
    ) {
        for (&place, priority) in places.iter().zip(priorities) {
            // A loss beyond all bounds must not swallow the sum.
            let priority = priority.min(LARGEST);
            self.largest = self.largest.max(priority);
            self.tree.set(place, weight_of(priority, options));
        }
    }
}

const LARGEST: f64 = 1e30;

fn weight_of(priority: f64, options: &ReplayOptions) -> f64 {
    (priority + FLOOR).powf(options.priority_exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Address, Purpose};

    fn filled(priorities: &[f64], options: &ReplayOptions) -> Replay {
        let mut replay = Replay::new(8, 1);
        let mut trajectories = Trajectories::new(priorities.len(), 1, 1);
        for (i, state) in trajectories.states_mut().iter_mut().enumerate() {
            *state = i as f32;
        }
        let densities: Vec<f64> = (0..priorities.len()).map(|i| -(i as f64)).collect();
        replay.insert(&trajectories, &densities, options);
        let places: Vec<usize> = (0..priorities.len()).collect();
        replay.refresh(&places, priorities.iter().copied(), options);
        replay
    }

    #[test]
    fn frequencies_and_weights_follow_the_formulas() {
        let priorities: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 0.0];
        let (batch, buffer) = (CorrectionReference::Batch, CorrectionReference::Buffer);
        for (alpha, beta, reference) in
            [(1.0, 0.1, buffer), (0.6, 0.4, buffer), (0.0, 1.0, buffer), (1.0, 0.1, batch)]
        {
            let options = ReplayOptions {
                priority_exponent: alpha,
                correction_exponent: beta,
                reference,
                ..ReplayOptions::default()
            };
            let replay = filled(&priorities, &options);
            let weights = priorities.map(|p| (p + 1e-8).powf(alpha));
            let total = weights.iter().sum::<f64>();
            let count = 200_000;
            let mut trajectories = Trajectories::new(count, 1, 1);
            let mut drawn = Drawn::default();
            let mut stream = Address::new(7, Purpose::Replay, 0).stream(0);
            replay.draw(&mut stream, &options, &mut trajectories, &mut drawn);
            // The last has a priority of zero: with α = 1 it is in the buffer, but in no batch.
            let drawn_or_held = |place: &usize| reference == buffer || drawn.places.contains(place);
            let smallest = (0..5).filter(drawn_or_held).map(|place| weights[place]).fold(f64::MAX, f64::min);
            assert!(reference == buffer || smallest == 0.5 + 1e-8);
            let mut seen = [0_usize; 5];
            for i in 0..count {
                let place = drawn.places[i];
                seen[place] += 1;
                assert_eq!(trajectories.path(i), [place as f32]);
                assert_eq!(drawn.log_density[i], -(place as f64));
                let expected = (weights[place] / smallest).powf(-beta);
                assert!((f64::from(drawn.importance[i]) - expected).abs() < 1e-6 && expected <= 1.0);
            }
            for (place, &seen) in seen.iter().enumerate() {
                let p = weights[place] / total;
                let deviation = (p * (1.0 - p) / count as f64).sqrt();
                assert!((seen as f64 / count as f64 - p).abs() < 5.0 * deviation + 1e-12, "place {place}");
            }
        }
    }

    #[test]
    fn the_oldest_makes_room_and_the_new_gets_the_largest_priority() {
        let options = ReplayOptions::default();
        let mut replay = filled(&[3.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0], &options);
        let mut newcomer = Trajectories::new(1, 1, 1);
        newcomer.states_mut()[0] = 99.0;
        replay.insert(&newcomer, &[-5.0], &options);
        assert_eq!(replay.len(), 8);
        assert_eq!(replay.paths[0], 99.0);
        assert_eq!(replay.tree.get(0), 3.0 + 1e-8);
        assert_eq!(replay.next, 1);
    }
}

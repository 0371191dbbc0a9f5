//! Randomness with an address: every draw comes from a stream named by where it is used.

use std::convert::Infallible;

use rand::{Rng, RngExt, SeedableRng, TryRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::numeric::aligned::LINE;
use crate::numeric::chacha::{BLOCK, Words, blocks};

/// What a stream is drawn for. Two purposes never share a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Initial weights of the network.
    Initialise = 1,
    /// Noise of generated trajectories, in training.
    Generate = 2,
    /// Noise of destroyed trajectories, in training.
    Destroy = 3,
    /// Which trajectories the replay buffer hands out.
    Replay = 4,
    /// Proposals and acceptances of the local search.
    LocalSearch = 5,
    /// Which end points the local-search buffer hands out.
    Recall = 6,
    /// Noise of generated trajectories, in evaluation.
    EvaluateGenerate = 7,
    /// Noise of destroyed trajectories, in evaluation.
    EvaluateDestroy = 8,
    /// Exact draws from a target, in evaluation.
    ExactDraw = 9,
    /// A second, independent set of exact draws: the noise floor of a distance.
    ExactDrawAgain = 10,
    /// Samples handed to a user.
    Sample = 11,
    /// Which end points the local-search buffer keeps.
    Keep = 12,
    /// Which samples are chosen by their weights.
    Resample = 13,
    /// Moves of the pilot.
    Pilot = 14,
    /// Draws from the prior of a latent space.
    Prior = 15,
}

/// The first three parts of an address; the fourth, the trajectory, picks the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The run's seed.
    pub seed: u64,
    /// What is drawn.
    pub purpose: Purpose,
    /// When: the iteration, or 0 where there is none.
    pub iteration: u64,
}

impl Address {
    /// Names a place where randomness is used.
    pub fn new(seed: u64, purpose: Purpose, iteration: u64) -> Self {
        Self { seed, purpose, iteration }
    }

    /// The stream of one trajectory (or chain, or point) at this address.
    pub fn stream(self, trajectory: usize) -> Stream {
        let mut generator = ChaCha8Rng::from_seed(self.key());
        generator.set_stream(trajectory as u64);
        Stream { generator }
    }

    fn key(self) -> [u8; 32] {
        let mut key = [0; 32];
        key[0..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&(self.purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&self.iteration.to_le_bytes());
        key
    }

    /// Fills paths of `length` numbers with N(0, 1) draws, each from the stream of its own trajectory, `first` and those after it: as
    /// [`Stream::fill_normal`] would, in less time where paths are short.
    pub(crate) fn fill_normals(self, first: usize, length: usize, paths: &mut [f32]) {
        // Most draws take two words, and one in eighty some more.
        let wanted = (2 * length + length / 8 + 2).div_ceil(BLOCK);
        let mut room = [[[0; LINE]; BLOCK]; MOST_BLOCKS];
        let Some(room) = room.get_mut(..wanted) else {
            for (i, path) in paths.chunks_exact_mut(length).enumerate() {
                self.stream(first + i).fill_normal(path);
            }
            return;
        };
        for (group, paths) in paths.chunks_mut(LINE * length).enumerate() {
            let first = first + group * LINE;
            blocks(&self.key(), first as u64, room);
            for (place, path) in paths.chunks_exact_mut(length).enumerate() {
                let words = room.as_flattened();
                let mut stream = Drawn { words, place, next: 0, address: self, first, more: None };
                for value in path {
                    *value = StandardNormal.sample(&mut stream);
                }
            }
        }
    }
}

/// Blocks of each stream that are computed together, at most.
const MOST_BLOCKS: usize = 12;

/// One of several streams, of which the first words have been computed together.
struct Drawn<'a> {
    words: &'a [Words],
    /// Which of them.
    place: usize,
    /// The word that comes next.
    next: usize,
    /// Where they are from, and the first of the trajectories.
    address: Address,
    first: usize,
    /// The stream itself, once these words do not suffice.
    more: Option<ChaCha8Rng>,
}

impl TryRng for Drawn<'_> {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.next += 1;
        match self.words.get(self.next - 1) {
            Some(words) => Ok(words[self.place]),
            None => Ok(self.beyond().next_u32()),
        }
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (lower, upper) = (self.try_next_u32()?, self.try_next_u32()?);
        Ok(u64::from(upper) << 32 | u64::from(lower))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for bytes in bytes.chunks_mut(4) {
            bytes.copy_from_slice(&self.try_next_u32()?.to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

impl Drawn<'_> {
    #[cold]
    fn beyond(&mut self) -> &mut ChaCha8Rng {
        self.more.get_or_insert_with(|| {
            let mut generator = self.address.stream(self.first + self.place).generator;
            generator.set_word_pos(self.words.len() as u128);
            generator
        })
    }
}

/// A reproducible sequence of draws.
///
/// ```
/// use ebbtide::stream::{Address, Purpose, Stream};
///
/// let address = Address::new(0, Purpose::Sample, 0);
/// assert_eq!(address.stream(3).normal(), address.stream(3).normal());
/// assert_ne!(address.stream(3).normal(), address.stream(4).normal());
/// // The same draws one by one, all at once, and in double precision.
/// let (mut one_by_one, mut double, mut pair) = (address.stream(3), address.stream(3), [0.0; 2]);
/// address.stream(3).fill_normal(&mut pair);
/// assert_eq!(pair, [one_by_one.normal(), one_by_one.normal()]);
/// assert_eq!(pair, [double.normal_f64() as f32, double.normal_f64() as f32]);
///
/// fn shuffle(cards: &mut [u8], stream: &mut Stream) {
///     (1..cards.len()).rev().for_each(|i| cards.swap(i, stream.below(i + 1)));
/// }
/// let mut cards = [0, 1, 2, 3, 4, 5, 6, 7];
/// shuffle(&mut cards, &mut address.stream(5));
/// assert!((0..8).all(|card| cards.contains(&card)));
/// assert!((0.0..1.0).contains(&address.stream(5).uniform()));
/// ```
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Stream {
    /// A draw from N(0, 1).
    pub fn normal(&mut self) -> f32 {
        StandardNormal.sample(&mut self.generator)
    }

    /// A draw from N(0, 1) in double precision.
    pub fn normal_f64(&mut self) -> f64 {
        StandardNormal.sample(&mut self.generator)
    }

    /// A draw from the uniform distribution on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.generator.random()
    }

    /// A whole number below `bound`, each equally likely. `bound` is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        self.generator.random_range(0..bound)
    }

    /// Fills `out` with independent N(0, 1) draws.
    pub fn fill_normal(&mut self, out: &mut [f32]) {
        for value in out {
            *value = self.normal();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of every length up to where streams are drawn one by one, and beyond; the shortest need words beyond those computed together now and then.
    #[test]
    fn paths_filled_together_are_those_filled_one_by_one() {
        let address = Address::new(5, Purpose::Sample, 3);
        for length in (1..=24).chain([80, 89, 90, 200]) {
            let (first, paths) = (1000 * length, if cfg!(miri) { 3 } else { 500 });
            let (mut together, mut alone) = (vec![0.0; length * paths], vec![0.0; length * paths]);
            address.fill_normals(first, length, &mut together);
            for (i, path) in alone.chunks_exact_mut(length).enumerate() {
                address.stream(first + i).fill_normal(path);
            }
            assert_eq!(together, alone, "paths of {length}");
        }
    }

    /// As if only one block had been computed: most of the words are beyond.
    #[test]
    fn a_stream_goes_on_beyond_what_was_computed() {
        let address = Address::new(1, Purpose::Generate, 0);
        let mut room = [[[0; LINE]; BLOCK]; 1];
        blocks(&address.key(), 7, &mut room);
        let mut drawn =
            Drawn { words: room.as_flattened(), place: 2, next: 0, address, first: 7, more: None };
        let mut stream = address.stream(9);
        for _ in 0..50 {
            assert_eq!(drawn.next_u64(), stream.generator.next_u64());
        }
    }
}

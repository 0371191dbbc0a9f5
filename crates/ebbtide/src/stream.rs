//! Randomness with an address: every draw comes from a stream named by where it is used.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

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
        let mut key = [0; 32];
        key[0..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..16].copy_from_slice(&(self.purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&self.iteration.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(trajectory as u64);
        Stream { generator }
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

//! Lanes: a fixed number of workers, whatever the number of threads, so that sums have a fixed order.

use std::sync::{Mutex, TryLockError};

use super::{Model, Threads, Tile};
use crate::network::Sink;

/// What one lane has gathered.
pub(crate) struct Lane {
    /// Gradient of the generation loss.
    pub(crate) generation: Sink,
    /// Gradient of the destruction loss.
    pub(crate) destruction: Sink,
}

/// Where a thread works, for one lane after the other: what it needs there stays in its cache.
pub(crate) struct Desk {
    /// Workspace.
    pub(crate) tile: Tile,
    /// Log-probabilities of the tile's trajectories.
    pub(crate) logs: TileLogs,
    /// What the objectives answer for them.
    pub(crate) weights: Vec<f32>,
    /// A gradient with respect to the tile's states, and the noise that made them; laid out as the states.
    pub(crate) adjoint: Vec<f32>,
    pub(crate) noise: Vec<f32>,
}

/// log p→ and log p← of a tile's trajectories, by the live and by the lagging network.
pub(crate) struct TileLogs {
    pub(crate) generation: Vec<f64>,
    pub(crate) destruction: Vec<f64>,
    pub(crate) lagging_generation: Vec<f64>,
    pub(crate) lagging_destruction: Vec<f64>,
}

/// The lanes of a model, and the threads that serve them.
///
/// A batch is cut into one contiguous share for each lane. Which thread serves a lane does not matter:
/// every lane does the same work in the same order, and what they gathered is added up in an order that depends on
/// their number alone.
pub struct Lanes {
    lanes: Vec<Lane>,
    /// One for each thread, so never waited for.
    desks: Vec<Mutex<Desk>>,
    tile: usize,
    threads: Threads,
}

impl Lanes {
    /// Makes room for the model's lanes.
    pub(crate) fn new(model: &Model, threads: &Threads) -> Self {
        Self::with_sinks(model, threads, true)
    }

    /// Makes room for the model's lanes, but none for gradients.
    pub fn for_simulation(model: &Model, threads: &Threads) -> Self {
        Self::with_sinks(model, threads, false)
    }

    fn with_sinks(model: &Model, threads: &Threads, learns: bool) -> Self {
        let lanes = Self::count(model.layout.parameters());
        let (parameters, times, width) =
            (model.layout.parameters(), model.steps() + 1, model.layout.shape.width);
        let outputs = model.layout.shape.generation_outputs;
        let sink = |wanted| match wanted {
            true => Sink::new(parameters, times, width, outputs),
            false => Sink::new(0, 0, 0, 0),
        };
        let tile = Tile::trajectories(model.steps(), width);
        let lane =
            || Lane { generation: sink(learns), destruction: sink(learns && model.destruction.is_learned()) };
        let desk = || Desk {
            tile: Tile::new(model),
            logs: TileLogs {
                generation: vec![0.0; tile],
                destruction: vec![0.0; tile],
                lagging_generation: vec![0.0; tile],
                lagging_destruction: vec![0.0; tile],
            },
            weights: vec![0.0; tile],
            adjoint: vec![0.0; model.dim() * model.steps() * tile],
            noise: vec![0.0; model.dim() * model.steps() * tile],
        };
        Self {
            lanes: (0..lanes).map(|_| lane()).collect(),
            desks: (0..threads.count().min(lanes)).map(|_| Mutex::new(desk())).collect(),
            tile,
            threads: threads.clone(),
        }
    }

    /// The most lanes that a model gets.
    pub(crate) const MOST: usize = 8;

    /// How many lanes a model gets: fewer for large networks, whose gradients cost memory. A function of the
    /// model alone.
    pub(crate) fn count(parameters: usize) -> usize {
        match parameters {
            0..500_000 => Self::MOST,
            500_000..4_000_000 => 4,
            _ => 2,
        }
    }

    /// Trajectories of each lane's share of a batch: whole tiles, but for the last.
    pub(crate) fn share(&self, count: usize) -> usize {
        count.div_ceil(self.lanes.len()).next_multiple_of(self.tile).max(self.tile)
    }

    /// Trajectories of a tile.
    pub(crate) fn tile(&self) -> usize {
        self.tile
    }

    /// Runs `work` for each lane with the lane's own item, on all threads. Lanes beyond the items rest.
    pub(crate) fn run<Item: Send>(
        &mut self,
        items: impl Iterator<Item = Item>,
        work: impl Fn(&mut Desk, &mut Lane, Item) + Sync,
    ) {
        let desks = &self.desks;
        let lanes = self.lanes.iter_mut();
        self.threads.share_by_thread(lanes.zip(items), |(lane, item), thread| {
            // More threads than lanes have no desk each, but then no more than there are lanes are at work.
            let free = desks.iter().cycle().skip(thread).find_map(|desk| match desk.try_lock() {
                Ok(desk) => Some(desk),
                Err(TryLockError::Poisoned(desk)) => Some(desk.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            });
            let mut desk = free.expect("a desk for each lane at work");
            work(&mut desk, lane, item);
        });
    }

    /// The threads.
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// All lanes, for the caller to clear and to add up.
    pub(crate) fn all(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }
}

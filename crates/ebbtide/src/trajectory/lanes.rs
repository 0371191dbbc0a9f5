//! Lanes: a fixed number of workers, whatever the number of threads, so that sums have a fixed order.

use std::sync::{Mutex, PoisonError, TryLockError};

use super::{Model, Threads, Tile};
use crate::network::{Band, Process, Sink, Trace, gathers_at_once};

/// What one lane has gathered.
#[repr(align(128))]
pub(crate) struct Lane {
    /// Gradient of the generation loss.
    pub(crate) generation: Sink,
    /// Gradient of the destruction loss.
    pub(crate) destruction: Sink,
}

/// Where a thread works, for one lane after the other: what it needs there stays in its cache.
#[repr(align(128))]
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
    /// One for each thread, or for each lane that leaves a trace on it; so never waited for.
    desks: Vec<Mutex<Desk>>,
    /// Whether weights' gradients are gathered from what all lanes left.
    at_once: bool,
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
        // The first lane is also where the sum of all lanes comes to rest.
        let at_once = gathers_at_once(width);
        let sink = |wanted, lane| match wanted {
            true if lane > 0 && at_once => Sink::new(0, times, width, outputs),
            true => Sink::new(parameters, times, width, outputs),
            false => Sink::new(0, 0, 0, 0),
        };
        let tile = Tile::trajectories(model.steps(), width);
        let lane = |lane| Lane {
            generation: sink(learns, lane),
            destruction: sink(learns && model.destruction.is_learned(), lane),
        };
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
            lanes: (0..lanes).map(lane).collect(),
            desks: (0..Self::desks(threads.count(), lanes, learns && at_once))
                .map(|_| Mutex::new(desk()))
                .collect(),
            at_once,
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

    /// How many desks there are.
    pub(crate) fn desks(threads: usize, lanes: usize, leaves_traces: bool) -> usize {
        if leaves_traces { lanes } else { threads.clamp(1, lanes) }
    }

    /// Of so many trajectories, those that are learned from before something is gathered: all, or a tile for each lane.
    pub(crate) fn wave(&self, count: usize) -> usize {
        if self.at_once { self.lanes.len() * self.tile } else { count.max(1) }
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
        let by_lane = desks.len() == lanes.len();
        self.threads.share_by_thread(lanes.zip(items).enumerate(), |(index, (lane, item)), thread| {
            // Without a desk for each lane, there is one for each thread.
            let own = if by_lane { index } else { thread };
            let free = desks.iter().cycle().skip(own).find_map(|desk| match desk.try_lock() {
                Ok(desk) => Some(desk),
                Err(TryLockError::Poisoned(desk)) => Some(desk.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            });
            let mut desk = free.expect("a desk for each lane at work");
            work(&mut desk, lane, item);
        });
    }

    /// Gathers a process's gradient of weights from what was left at the first desks, and from what else was left.
    pub(crate) fn gather(&mut self, model: &Model, process: Process, used: usize, other: Option<&Trace>) {
        if !self.at_once {
            return;
        }
        let Self { lanes, desks, threads, .. } = self;
        let mut traces: [Option<&Trace>; Self::MOST + 1] = [None; Self::MOST + 1];
        for (place, desk) in traces.iter_mut().zip(&mut desks[..used]) {
            let desk: &Desk = desk.get_mut().unwrap_or_else(PoisonError::into_inner);
            *place = desk.tile.trace(model, process);
        }
        traces[Self::MOST] = other;
        let [sum, ..] = &mut lanes[..] else { return };
        let bands = sum.sink_mut(process).bands(&model.layout, process);
        threads.share_by_thread(bands, |band: Band, _| band.gather(traces.iter().copied().flatten()));
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

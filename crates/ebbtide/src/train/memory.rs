//! How much memory a training takes, from its settings alone.

use std::iter::Sum;
use std::ops::{Add, Mul};

use super::config::Config;
use super::learner::Arrangement;
use super::local_search::LocalSearch;
use crate::network::{Backbone, Glance, gathers_at_once};
use crate::numeric::aligned::{LINE, row_stride};
use crate::numeric::product::{Above, Below, FAR, scratch};
use crate::objective::{DestructionObjective, GenerationObjective};
use crate::process::{Corrections, GenerationVariance};
use crate::stream::Stream;
use crate::trajectory::{Lanes, Tile};

/// A number of single-precision numbers. Sums and products stop at the largest there is, so that nothing a user can
/// ask for comes round to something small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Size(u64);

/// Settings count as no more than this: any one of them alone is then too large, and rounding cannot overflow.
const MOST: usize = 1 << 40;

impl From<usize> for Size {
    fn from(value: usize) -> Self {
        Self(value.min(MOST) as u64)
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Mul for Size {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(self.0.saturating_mul(other.0))
    }
}

impl Mul<Size> for u64 {
    type Output = Size;

    fn mul(self, size: Size) -> Size {
        Size(self) * size
    }
}

impl Sum for Size {
    fn sum<Sizes: Iterator<Item = Self>>(sizes: Sizes) -> Self {
        sizes.fold(Self(0), Add::add)
    }
}

impl Size {
    /// The next multiple of something.
    fn in_multiples_of(self, of: usize) -> Self {
        Self(self.0.div_ceil(of as u64)) * Self::from(of)
    }

    /// A whole number of cache lines.
    fn in_lines(self) -> Self {
        self.in_multiples_of(LINE)
    }

    /// Rows in whole bands of a glance.
    fn in_bands(self) -> Self {
        self.in_multiples_of(Glance::BAND)
    }

    fn only_if(self, holds: bool) -> Self {
        if holds { self } else { Self(0) }
    }

    fn bytes(self) -> u64 {
        self.0.saturating_mul(size_of::<f32>() as u64)
    }
}

/// Doubles and places, in single-precision numbers.
const DOUBLE: u64 = 2;

/// The bytes that a training so configured holds at its fullest.
pub(super) fn memory(config: &Config, dim: usize, threads: usize) -> u64 {
    let sizes = Sizes::new(config, dim);
    let lanes = Lanes::count(usize::try_from(sizes.parameters().0).unwrap_or(usize::MAX));
    let desks = Size::from(Lanes::desks(threads, lanes, sizes.at_once()));
    let parts = [
        sizes.learner(config),
        sizes.lanes(lanes),
        desks * sizes.desk(),
        sizes.preludes(),
        sizes.batch(config),
        sizes.replay(config),
        config.local_search.map_or(Size(0), |search| sizes.search(&search)),
    ];
    parts.into_iter().sum::<Size>().bytes()
}

/// What everything is a multiple of.
struct Sizes {
    dim: Size,
    width: Size,
    /// From one row of features to the next.
    stride: Size,
    depth: Size,
    steps: Size,
    batch: Size,
    trunks: Size,
    generation_outputs: Size,
    destruction_outputs: Size,
    /// Trajectories of a tile.
    tile: Size,
}

impl Sizes {
    fn new(config: &Config, dim: usize) -> Self {
        let (width, steps) = (config.network.width.min(MOST), config.grid.steps());
        let learned = config.destruction != Corrections::Fixed;
        let generation_outputs =
            if config.generation_variance == GenerationVariance::Fixed { 1 } else { 2 } * Size::from(dim);
        Self {
            dim: dim.into(),
            width: width.into(),
            stride: row_stride(width).into(),
            depth: config.network.depth.into(),
            steps: steps.into(),
            batch: config.batch.into(),
            trunks: if learned && config.network.backbone == Backbone::Separate { Size(2) } else { Size(1) },
            generation_outputs,
            destruction_outputs: (2 * Size::from(dim)).only_if(learned),
            tile: Tile::trajectories(steps.max(1), width).into(),
        }
    }

    fn times(&self) -> Size {
        self.steps + Size(1)
    }

    fn learned(&self) -> bool {
        self.destruction_outputs > Size(0)
    }

    fn trunk(&self) -> Size {
        let layers = self.depth + Size(4);
        self.width * (self.width + Size(1)) * layers + self.dim * self.width
    }

    fn head(&self, outputs: Size) -> Size {
        (self.width + Size(1)) * outputs
    }

    fn parameters(&self) -> Size {
        self.trunks * self.trunk() + self.head(self.generation_outputs) + self.head(self.destruction_outputs)
    }

    /// Weights, their lagging copy and their average, the moments of all optimisers; and the sum of both gradients, where it is needed.
    fn learner(&self, config: &Config) -> Size {
        let all = self.parameters();
        let lagging = all.only_if(self.learned() && config.target_network.is_some());
        let single = config.optimisation.arrangement == Arrangement::Single;
        let owned = match single {
            true => all,
            false => {
                let destruction = self.trunk() + self.head(self.destruction_outputs);
                self.trunk() + self.head(self.generation_outputs) + destruction.only_if(self.learned())
            }
        };
        let averaged = all.only_if(config.averaging.is_some());
        all + lagging + averaged + 2 * owned + all.only_if(single)
    }

    /// Whether weights' gradients are gathered at once, from traces.
    fn at_once(&self) -> bool {
        gathers_at_once(usize::try_from(self.width.0).unwrap_or(usize::MAX))
    }

    /// A gradient of each loss: of the weights too, in each of so many lanes or in the first.
    fn lanes(&self, lanes: usize) -> Size {
        let weights = if self.at_once() { Size(1) } else { lanes.into() } * self.parameters();
        let rest = Size::from(lanes) * (self.times() * self.width + self.generation_outputs);
        if self.learned() { 2 * (weights + rest) } else { weights + rest }
    }

    /// A tile with all that belongs to it.
    fn desk(&self) -> Size {
        let outputs = self.generation_outputs + self.destruction_outputs;
        let rows = self.tile * self.steps;
        let activations = 2 * self.trunks * (self.depth + Size(1)) * self.stride;
        let heads = Size::from(row_stride(outputs.0.min(MOST as u64) as usize));
        let states = 6 * self.dim + outputs + heads + Size(5);
        let narrow = self.width < Size::from(FAR);
        let at_one_time = if narrow { rows.in_bands() } else { rows } * (self.dim + outputs + Size(1));
        let glance = (self.dim + 2 * self.width) * Size::from(Glance::BAND)
            + Size::from(scratch(1)) * self.dim.max(self.width);
        let logs = (4 * DOUBLE + 1) * self.tile + self.tile * self.generation_outputs;
        let descents = if self.at_once() { self.trunks } else { Size(1) } * self.descent(rows);
        rows * (activations + states) + at_one_time + glance.only_if(narrow) + descents + logs
    }

    /// A gradient on its way down, of a pass of so many rows.
    fn descent(&self, rows: Size) -> Size {
        let (h, one) = (self.width, Size(1));
        let below = |columns: Size| (rows + one) * columns.in_multiples_of(Below::WIDTH);
        let above = |rows: Size, columns: Size| (rows + one) * columns.in_multiples_of(Above::WIDTH);
        let here = 4 * (rows * self.stride);
        if self.at_once() {
            let layers = self.depth + one;
            let heads = above(rows, self.generation_outputs) + above(rows, self.destruction_outputs);
            return here + below(self.dim + one) + layers * (below(h + one) + above(2 * rows, h)) + heads;
        }
        let head = h * Size(LINE as u64).min(self.generation_outputs.max(self.destruction_outputs));
        here + 2 * (rows * Size::from(scratch(1))) + below(h).only_if(h >= Size::from(FAR)) + head
    }

    /// Weights arranged for products, and all that is a function of time, for the live and for the lagging network.
    fn preludes(&self) -> Size {
        let (h, times) = (self.width, self.times());
        let packed = |inputs: Size, outputs: Size| inputs * outputs.in_lines() + outputs * inputs.in_lines();
        let heads = packed(h, self.generation_outputs) + packed(h, self.destruction_outputs);
        let trunk = packed(self.dim, h) + self.depth * packed(h, h);
        let products = 2 * times * h + h * times.in_lines() + Size::from(scratch(1)) * (2 * h).max(times);
        // Sines and cosines, in double precision.
        let turns = 2 * DOUBLE * h * times;
        let time = turns + 7 * h * times + 2 * DOUBLE * h + products;
        let origin = 2 * (self.depth + Size(1)) * self.stride;
        let grid = 4 * self.steps;
        let down = self.descent(Size(1)) + 3 * h * times + products;
        2 * (heads + self.trunks * (trunk + time) + origin + grid + down)
    }

    /// What an update works on: paths, noise, ends, densities, and what became of each trajectory.
    fn batch(&self, config: &Config) -> Size {
        let centred = config.generation_objective == GenerationObjective::VarGrad
            || config.destruction_objective == Some(DestructionObjective::VarGrad);
        let log_probs = (4 * DOUBLE * self.batch).only_if(centred);
        let outcomes = 3 * DOUBLE * self.batch;
        let drawn = (2 * DOUBLE + 1) * self.batch;
        let points = 2 * (self.steps + Size(1)) * self.dim;
        self.batch * (points + Size(DOUBLE)) + drawn + outcomes + log_probs + self.steps
    }

    /// Paths, densities, and the tree of their priorities with its sums and minima.
    fn replay(&self, config: &Config) -> Size {
        let capacity = config.replay.capacity.min(MOST);
        let tree = 4 * DOUBLE * Size::from(capacity.next_power_of_two());
        let paths = Size::from(capacity) * (self.steps * self.dim + Size(DOUBLE));
        (paths + tree).only_if(config.replay.ratio > 0)
    }

    /// The archive with its ranks, the chains, and all that they may find.
    fn search(&self, search: &LocalSearch) -> Size {
        let archive = Size::from(search.capacity) * (self.dim + Size(2 * DOUBLE + 2))
            + Size::from(search.capacity.div_ceil(4));
        let stream = Size::from(size_of::<Stream>().div_ceil(size_of::<f32>()));
        let chains = self.batch * (4 * self.dim + Size(2 * DOUBLE) + stream);
        let most = self.batch * Size::from(search.steps.saturating_sub(search.burn_in));
        archive + chains + most * (self.dim + Size(DOUBLE))
    }
}

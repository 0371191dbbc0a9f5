//! A pilot: finds where a density is and how wide, from evaluations alone.
//!
//! A crowd of points goes uphill and spreads out, each moving along the differences between others (stretch moves of Goodman and
//! Weare, 2010; differential evolution of ter Braak, 2006). Such moves do not know about scales, so that a density of any place and width is found; what
//! is found becomes the origin and the unit of the next round, until it is 0 ± 1.

use std::f64::consts::{E, PI};

use crate::stream::{Address, Purpose, Stream};
use crate::target::{self, NOWHERE, Placeable, Placement, Target, TargetError};

/// How to look.
#[derive(Clone, Debug, PartialEq)]
pub struct PilotOptions {
    /// Names the random stream.
    pub seed: u64,
    /// Where to begin, roughly, and how wide.
    pub start: Placement,
}

impl PilotOptions {
    /// From the origin, with every scale that one might think of.
    pub fn new(dim: usize) -> Self {
        Self { seed: 0, start: Placement::identity(dim) }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// Coordinates in which the density is about 0 ± 1, and of which none goes with another.
    pub placement: Placement,
    /// log Z, roughly: as if the density were a Gaussian of its own width.
    pub log_z: f64,
    /// Whether the last rounds agreed on it.
    pub settled: bool,
    /// Evaluations of the density.
    pub evaluations: u64,
}

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PilotError {
    /// The density could not be evaluated.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// There is nothing to go by.
    #[error("the density is zero at all {0} points that were tried; say roughly where it is and how wide")]
    Nowhere(usize),
    /// It led further and further away.
    #[error(
        "the density does not fall off: looking for where it is led beyond ±1e18. Is it the log density that is given, and not its negative?"
    )]
    Endless,
}

/// Nothing that anybody wants to sample is as far away, or as wide, as this.
const FAR: f64 = 1e18;

impl PilotError {
    /// What a density says of points so far away is not to be taken at its word.
    fn seen_from_afar(self) -> Self {
        match &self {
            Self::Target(TargetError::Impossible { point, .. } | TargetError::Gradient { point, .. })
                if point.iter().any(|x| f64::from(x.abs()) > FAR) =>
            {
                Self::Endless
            }
            _ => self,
        }
    }
}

/// Rounds at most, and in which there must be nothing left to do.
const ROUNDS: usize = 60;
const QUIET: usize = 2;
/// Moves of every point in a round, and how many more for each dimension: a crowd spreads the slower the more there are.
const SWEEPS: usize = 60;
const MORE_SWEEPS: usize = 12;
/// A round agrees with the one before if its crowd is 0 ± 1 to within these.
const OFF: f64 = 0.5;
const WIDER: f64 = 1.6;
/// How often a point is pulled back to where there is something.
const PULLS: usize = 40;
/// Sweeps of a round that are looked at, at most: neighbours say the same.
const LOOKS: usize = 60;
/// Rounds that are looked at together once all is quiet, to see which coordinates go together.
const SURVEY: usize = 4;
/// Correlations that are worth other coordinates: in a crowd, chance alone makes smaller ones.
const CORRELATED: f64 = 0.3;
/// Beyond so many coordinates there are too many correlations to know.
const LARGEST_FACTOR: usize = 256;
/// Powers of ten that the first crowd's spread covers, on either side.
const DECADES: f64 = 2.0;

/// Finds the place and width of a density.
///
/// ```
/// use ebbtide::pilot::{Pilot, PilotOptions, find};
/// use ebbtide::target::Formula;
///
/// let far = Formula::new("-0.5*((x0 - 300)/0.01)^2 - 0.5*(x1/50)^2", 2, &[])?;
/// let Pilot { placement, log_z, settled, .. } = find(&far, &PilotOptions::new(2))?;
/// assert!(settled);
/// assert!((placement.location()[0] - 300.0).abs() < 0.02);
/// assert!((log_z - std::f64::consts::PI.ln()).abs() < 0.7); // 2π · 0.01 · 50
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What is so far away that the first points see nothing of it is found with a hint:
///
/// ```
/// use ebbtide::pilot::{PilotError, PilotOptions, find};
/// use ebbtide::target::{Formula, Placement};
///
/// let far = Formula::new("log(max(x0 - 1e9, 0)) - x0", 1, &[])?;
/// assert!(matches!(find(&far, &PilotOptions::new(1)), Err(PilotError::Nowhere(64))));
/// let hint = PilotOptions { seed: 0, start: Placement::new(vec![1e9 + 1.0], vec![1.0])? };
/// assert!((find(&far, &hint)?.placement.location()[0] - 1e9 - 2.0).abs() < 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find(density: &dyn Placeable, options: &PilotOptions) -> Result<Pilot, PilotError> {
    let dim = density.dim();
    let mut placement = options.start.clone();
    let mut crowd = Crowd::new(dim, options.seed);
    let mut target = density.placed(&placement)?;
    crowd.look(&*target)?;
    let (mut quiet, mut rounds) = (0, 0);
    let mut found = loop {
        let found = crowd.survey(&*target, 1).map_err(PilotError::seen_from_afar)?.placement()?;
        let agrees = found.location().iter().all(|location| location.abs() < OFF)
            && found.scale().iter().all(|scale| (WIDER.recip()..WIDER).contains(scale))
            && !crowd.is_climbing;
        (quiet, rounds) = (if agrees { quiet + 1 } else { 0 }, rounds + 1);
        if quiet == QUIET || rounds == ROUNDS {
            break found;
        }
        placement = placement.then(&found);
        if placement.location().iter().chain(placement.scale()).any(|x| x.abs() > FAR) {
            return Err(PilotError::Endless);
        }
        target = density.placed(&placement)?;
        crowd.moved_to(&found);
        crowd.look(&*target)?;
    };
    let settled = quiet == QUIET;
    if settled && (2..=LARGEST_FACTOR).contains(&dim) {
        let mut seen = crowd.survey(&*target, SURVEY)?;
        found = seen.placement()?;
        let correlations = seen.correlations();
        let is_worth_it =
            |(place, number): (usize, &f64)| place / dim != place % dim && number.abs() > CORRELATED;
        if correlations.iter().enumerate().any(is_worth_it) {
            // Where one coordinate is a function of others there is no factor, and each is on its own.
            found = found.clone().with_correlations(&correlations).unwrap_or(found);
        }
    }
    // The mean of the log density, and the entropy of a Gaussian.
    let log_z = crowd.height + found.log_volume() + 0.5 * dim as f64 * (2.0 * PI * E).ln();
    Ok(Pilot { placement: placement.then(&found), log_z, settled, evaluations: crowd.evaluations })
}

/// Points that move along the differences between each other.
struct Crowd {
    dim: usize,
    points: Vec<f64>,
    log_density: Vec<f64>,
    /// The median log density in the second half of the last round.
    height: f64,
    /// Whether the last round was still going uphill.
    is_climbing: bool,
    evaluations: u64,
    stream: Stream,
    asked: Vec<f32>,
    answered: Vec<f64>,
}

impl Crowd {
    fn new(dim: usize, seed: u64) -> Self {
        let mut stream = Address::new(seed, Purpose::Pilot, 0).stream(0);
        // Even, so that either half moves along the other.
        let count = (4 * dim).max(64);
        let mut points = Vec::with_capacity(count * dim);
        for _ in 0..count {
            let spread = 10f64.powf(DECADES * (2.0 * stream.uniform() - 1.0));
            points.extend((0..dim).map(|_| spread * stream.normal_f64()));
        }
        Self {
            dim,
            points,
            log_density: Vec::new(),
            height: f64::NEG_INFINITY,
            is_climbing: true,
            evaluations: 0,
            stream,
            asked: Vec::new(),
            answered: Vec::new(),
        }
    }

    fn count(&self) -> usize {
        self.points.len() / self.dim
    }

    /// Evaluates all points. Those that are where nothing is, and might never find out of there, are pulled towards one that is not,
    /// half of the way each time.
    fn look(&mut self, target: &dyn Target) -> Result<(), PilotError> {
        for _ in 0..PULLS {
            let points = std::mem::take(&mut self.points);
            self.evaluate(target, &points)?;
            self.points = points;
            self.log_density.clone_from(&self.answered);
            let is_safe = |place: &usize| self.log_density[*place] > NOWHERE;
            let (safe, lost): (Vec<usize>, Vec<usize>) = (0..self.count()).partition(is_safe);
            if safe.is_empty() {
                return Err(PilotError::Nowhere(self.count()));
            }
            if lost.is_empty() {
                break;
            }
            for lost in lost {
                let refuge = safe[self.stream.below(safe.len())];
                for coordinate in 0..self.dim {
                    let there = self.points[refuge * self.dim + coordinate];
                    let here = &mut self.points[lost * self.dim + coordinate];
                    *here += 0.5 * (there - *here);
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, target: &dyn Target, points: &[f64]) -> Result<(), TargetError> {
        self.asked.clear();
        self.asked.extend(points.iter().map(|x| *x as f32));
        self.evaluations += (points.len() / self.dim) as u64;
        target::evaluate(target, &self.asked, &mut self.answered)
    }

    /// Some rounds: where points were in the second half of each.
    fn survey(&mut self, target: &dyn Target, rounds: usize) -> Result<Seen, PilotError> {
        let mut seen = Seen { columns: vec![Vec::new(); self.dim] };
        for _ in 0..rounds {
            self.round(target, &mut seen)?;
        }
        Ok(seen)
    }

    /// Moves all points many times.
    fn round(&mut self, target: &dyn Target, seen: &mut Seen) -> Result<(), PilotError> {
        let mut heights = [0.0; 2];
        let sweeps = SWEEPS + MORE_SWEEPS * self.dim;
        let apart = (sweeps / 2).div_ceil(LOOKS);
        for sweep in 0..sweeps {
            let half = self.count() / 2;
            self.sweep(target, 0..half, half)?;
            self.sweep(target, half..self.count(), 0)?;
            let late = usize::from(sweep >= sweeps / 2);
            heights[late] += median(&mut self.log_density.clone()) / (sweeps / 2) as f64;
            if late == 1 && sweep % apart == 0 {
                seen.look(&self.points);
            }
        }
        // In equilibrium the median goes up and down by much less than this.
        self.height = heights[1];
        self.is_climbing = heights[1] - heights[0] > 0.5 * (self.dim as f64).sqrt();
        Ok(())
    }

    /// Moves some of the points along differences between the others.
    fn sweep(
        &mut self,
        target: &dyn Target,
        movers: std::ops::Range<usize>,
        others: usize,
    ) -> Result<(), PilotError> {
        let (dim, half) = (self.dim, movers.len());
        let mut proposed = Vec::with_capacity(half * dim);
        let mut volumes = Vec::with_capacity(half);
        for mover in movers.clone() {
            let at = |place: usize| place * dim..(place + 1) * dim;
            let mut pick = || at(others + self.stream.below(half));
            let (one, other) = (pick(), pick());
            let x = &self.points[at(mover)];
            if self.stream.below(2) == 0 {
                // Towards another point or away from it, by a factor between ½ and 2.
                let factor = (1.0 + self.stream.uniform()).powi(2) / 2.0;
                let anchor = &self.points[one];
                proposed.extend(x.iter().zip(anchor).map(|(x, anchor)| anchor + factor * (x - anchor)));
                volumes.push((dim as f64 - 1.0) * factor.ln());
            } else {
                // By the difference of two others: as far as suits a Gaussian, or all the way from one mode to the next.
                let length = if self.stream.below(8) == 0 { 1.0 } else { 2.38 / (2.0 * dim as f64).sqrt() };
                let difference = self.points[one].iter().zip(&self.points[other]).map(|(a, b)| a - b);
                proposed.extend(x.iter().zip(difference).map(|(x, difference)| x + length * difference));
                volumes.push(0.0);
            }
        }
        self.evaluate(target, &proposed)?;
        for (place, mover) in movers.enumerate() {
            let gain = self.answered[place] - self.log_density[mover] + volumes[place];
            if self.stream.uniform().ln() < gain && self.answered[place] > NOWHERE {
                self.log_density[mover] = self.answered[place];
                self.points[mover * dim..][..dim].copy_from_slice(&proposed[place * dim..][..dim]);
            }
        }
        Ok(())
    }

    /// Takes over other coordinates.
    fn moved_to(&mut self, placement: &Placement) {
        for point in self.points.chunks_exact_mut(self.dim) {
            placement.to_z(point);
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Where points were, coordinate by coordinate.
struct Seen {
    columns: Vec<Vec<f64>>,
}

impl Seen {
    fn look(&mut self, points: &[f64]) {
        for point in points.chunks_exact(self.columns.len()) {
            self.columns.iter_mut().zip(point).for_each(|(column, x)| column.push(*x));
        }
    }

    /// Place and width. One in a hundred on either side counts only as far as the next, here and from now on: heavy tails would have the
    /// say otherwise.
    fn placement(&mut self) -> Result<Placement, TargetError> {
        let (location, scale) = self.columns.iter_mut().map(|column| place_and_width(column)).unzip();
        Placement::new(location, scale).map_err(TargetError::failed)
    }

    /// Of every coordinate with every other, by rows.
    fn correlations(&self) -> Vec<f64> {
        let dim = self.columns.len();
        let standard: Vec<Vec<f64>> = self.columns.iter().map(|column| standardised(column)).collect();
        let mut correlations = vec![1.0; dim * dim];
        for i in 0..dim {
            for j in 0..i {
                let sum: f64 = standard[i].iter().zip(&standard[j]).map(|(a, b)| a * b).sum();
                let correlation = sum / standard[i].len() as f64;
                (correlations[i * dim + j], correlations[j * dim + i]) = (correlation, correlation);
            }
        }
        correlations
    }
}

/// Clips values to all but one in a hundred on either side; their mean and deviation.
fn place_and_width(values: &mut [f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = (sorted[sorted.len() / 100], sorted[sorted.len() - 1 - sorted.len() / 100]);
    values.iter_mut().for_each(|value| *value = value.clamp(low, high));
    let (mean, deviation) = mean_and_deviation(values);
    // A crowd in one spot is as narrow as numbers allow.
    (mean, deviation.max(1e-6 * mean.abs()).max(1e-30))
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt())
}

/// Values as 0 ± 1, or all 0 if they are all the same.
fn standardised(values: &[f64]) -> Vec<f64> {
    let (mean, deviation) = mean_and_deviation(values);
    values.iter().map(|value| (value - mean) / deviation.max(1e-300)).collect()
}

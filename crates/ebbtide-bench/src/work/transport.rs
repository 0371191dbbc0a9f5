//! Exact optimal transport between two sets of points.

use ebbtide::metric::wasserstein2;

use super::Work;
use crate::Failure;
use crate::points::points;

/// The largest matrix of distances: 2 GiB.
const MOST_POINTS: usize = 1 << 14;

/// The 2-Wasserstein distance between two independent draws, distances and matching together.
pub struct Transport {
    d: usize,
    first: Vec<f32>,
    second: Vec<f32>,
    distance: Option<f64>,
}

impl Transport {
    /// Two sets of so many points.
    pub fn new(d: usize, count: usize) -> Result<Self, Failure> {
        if d < 2 {
            return Err(
                format!("d is {d}, but must be at least 2: the first two coordinates are 25GMM").into()
            );
        }
        if !(1..=MOST_POINTS).contains(&count) || d > MOST_POINTS {
            return Err(format!("points and d must be between 1 and {MOST_POINTS}").into());
        }
        Ok(Self { d, first: points(0, count, d), second: points(1, count, d), distance: None })
    }
}

impl Work for Transport {
    fn call(&mut self) -> Result<(), Failure> {
        self.distance = Some(wasserstein2(&self.first, &self.second, self.d)?);
        Ok(())
    }

    fn value(&self) -> Option<f64> {
        self.distance
    }
}

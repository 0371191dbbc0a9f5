//! Time grids: 0 = t_0 < t_1 < … < t_T = 1.

/// How time is divided.
///
/// ```
/// use ebbtide::process::Grid;
///
/// assert_eq!(Grid::Harmonic(5).steps(), 5);
/// assert_eq!(Grid::Given(vec![0.0, 0.1, 1.0]).steps(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Grid {
    /// This many steps of equal length.
    Uniform(usize),
    /// This many steps with lengths in the ratio 1 : 1/2 : 1/3 : …
    Harmonic(usize),
    /// The times themselves, from 0 to 1.
    Given(Vec<f64>),
}

/// Times that increase from 0 to 1, by construction.
///
/// ```
/// use ebbtide::process::{Grid, GridError, Step, TimeGrid};
///
/// let grid = TimeGrid::new(&Grid::Harmonic(2)).unwrap();
/// assert_eq!(grid.times(), [0.0, 2.0 / 3.0, 1.0]);
/// assert_eq!((grid.len(), grid.is_empty()), (2, false));
/// assert_eq!(grid.step(1), Step { length: 1.0 / 3.0, ratio: 2.0 / 3.0 });
///
/// let short = TimeGrid::new(&Grid::Given(vec![0.0, 0.5]));
/// assert_eq!(short, Err(GridError::Ends { first: 0.0, last: 0.5 }));
/// let error = TimeGrid::new(&Grid::Given(vec![0.0, 0.5, 0.5, 1.0])).unwrap_err();
/// assert_eq!(error.to_string(), "time 2 of the grid is 0.5, but must be larger than the one before it, 0.5");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TimeGrid {
    times: Vec<f64>,
    steps: Vec<Step>,
}

/// A step from t_i to t_{i+1}.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Δ_i = t_{i+1} − t_i
    pub length: f32,
    /// t_i / t_{i+1}
    pub ratio: f32,
}

/// Why a list of times is not a grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GridError {
    /// A grid needs at least one step.
    #[error("a grid needs at least one step, but the number of steps is 0")]
    Empty,
    /// The ends are fixed.
    #[error("a grid must run from 0 to 1, but this one runs from {first} to {last}")]
    Ends {
        /// The first time given.
        first: f64,
        /// The last time given.
        last: f64,
    },
    /// Times must increase.
    #[error("time {index} of the grid is {time}, but must be larger than the one before it, {before}")]
    NotIncreasing {
        /// Position of the offending time, from 0.
        index: usize,
        /// Its value.
        time: f64,
        /// The value before it.
        before: f64,
    },
    /// The kernels compute in single precision, where a step shorter than this drowns in rounding.
    #[error(
        "time {index} of the grid is {time}, but its distance from the one before it, {before}, or their ratio is below 1e-12"
    )]
    TooFine {
        /// Position of the offending time, from 0.
        index: usize,
        /// Its value.
        time: f64,
        /// The value before it.
        before: f64,
    },
}

/// The shortest step, and the smallest ratio of two times.
const FINEST: f64 = 1e-12;

impl Grid {
    /// The number of steps T.
    pub fn steps(&self) -> usize {
        match self {
            Grid::Uniform(steps) | Grid::Harmonic(steps) => *steps,
            Grid::Given(times) => times.len().saturating_sub(1),
        }
    }
}

impl TimeGrid {
    /// Divides [0, 1] as asked.
    pub fn new(grid: &Grid) -> Result<Self, GridError> {
        if grid.steps() == 0 {
            return Err(GridError::Empty);
        }
        let times = match grid {
            Grid::Uniform(steps) => (0..=*steps).map(|i| i as f64 / *steps as f64).collect(),
            Grid::Harmonic(steps) => {
                let total: f64 = (1..=*steps).map(|k| 1.0 / k as f64).sum();
                let mut sum = 0.0;
                let mut times = vec![0.0];
                times.extend((1..=*steps).map(|k| {
                    sum += 1.0 / k as f64;
                    sum / total
                }));
                times
            }
            Grid::Given(times) => times.clone(),
        };
        let (first, last) = (times[0], times[times.len() - 1]);
        if first != 0.0 || last != 1.0 {
            return Err(GridError::Ends { first, last });
        }
        for (i, pair) in times.windows(2).enumerate() {
            if !matches!(pair[0].partial_cmp(&pair[1]), Some(std::cmp::Ordering::Less)) {
                return Err(GridError::NotIncreasing { index: i + 1, time: pair[1], before: pair[0] });
            }
            let (length, ratio) = (pair[1] - pair[0], pair[0] / pair[1]);
            if length < FINEST || (i > 0 && ratio < FINEST) {
                return Err(GridError::TooFine { index: i + 1, time: pair[1], before: pair[0] });
            }
        }
        let steps = times
            .windows(2)
            .map(|pair| Step { length: (pair[1] - pair[0]) as f32, ratio: (pair[0] / pair[1]) as f32 })
            .collect();
        Ok(Self { times, steps })
    }

    /// The number of steps T.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Never: a grid has at least one step.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// t_0 to t_T.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Step i, from t_i to t_{i+1}.
    pub fn step(&self, i: usize) -> Step {
        self.steps[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_run_from_zero_to_one() {
        assert!(!TimeGrid::new(&Grid::Harmonic(1)).expect("a grid").is_empty());
        for steps in [1, 2, 5, 20, 1000] {
            for grid in [Grid::Uniform(steps), Grid::Harmonic(steps)] {
                let grid = TimeGrid::new(&grid).expect("a proper grid");
                assert_eq!(grid.len(), steps);
                assert_eq!((grid.times()[0], grid.times()[steps]), (0.0, 1.0));
                assert_eq!(grid.step(0).ratio, 0.0);
            }
        }
    }

    #[test]
    fn harmonic_steps_are_in_harmonic_ratio() {
        let grid = TimeGrid::new(&Grid::Harmonic(5)).expect("a proper grid");
        for i in 0..5 {
            assert!((grid.step(i).length * (i + 1) as f32 / grid.step(0).length - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_is_not_a_grid_is_refused() {
        let refuse = |times: &[f64]| TimeGrid::new(&Grid::Given(times.to_vec())).expect_err("not a grid");
        assert_eq!(refuse(&[]), GridError::Empty);
        assert_eq!(refuse(&[0.0]), GridError::Empty);
        assert_eq!(TimeGrid::new(&Grid::Uniform(0)), Err(GridError::Empty));
        assert_eq!(refuse(&[0.0, 0.9]), GridError::Ends { first: 0.0, last: 0.9 });
        assert!(matches!(refuse(&[0.0, f64::NAN, 1.0]), GridError::NotIncreasing { index: 1, .. }));
        assert!(matches!(refuse(&[0.0, 0.7, 0.3, 1.0]), GridError::NotIncreasing { index: 2, .. }));
    }
}

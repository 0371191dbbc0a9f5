//! What an iteration says of itself, and the ways in which it can fail.

use crate::target::TargetError;

/// What one iteration did.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, train::{Config, Trainer}, trajectory::Threads};
/// use ebbtide::train::Report;
///
/// # let config = Config { batch: 16, local_search: None, ..Config::new(Method::TbTb, 2) };
/// # let valid = config.validate(NamedTarget::Gmm25.build().into())?;
/// # let mut trainer = Trainer::new(valid, &Threads::new(1)?);
/// let Report { iteration, evaluations, generation_loss, destruction_loss, .. } = trainer.step()?;
/// assert_eq!((iteration, evaluations), (1, 16));
/// // At first the lagging network is the live one: balance has one loss for both processes.
/// let (generation, destruction) = generation_loss.zip(destruction_loss).expect("both are learned");
/// assert!((generation - destruction).abs() < 1e-6 * generation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// The iteration, counted from 1.
    pub iteration: u64,
    /// Generation loss of the iteration's first update; `None` if there was nothing to learn from.
    pub generation_loss: Option<f64>,
    /// Destruction loss of the iteration's first update, if that process is learned.
    pub destruction_loss: Option<f64>,
    /// Norm of the generation gradient of the first update, before clipping.
    pub generation_norm: f64,
    /// log Ẑ after the iteration.
    pub log_z: f64,
    /// Evaluations of the target so far.
    pub evaluations: u64,
    /// End points in the local-search archive.
    pub archived: usize,
    /// Acceptance rate of the local search, in iterations that had one.
    pub acceptance: Option<f64>,
}

/// Why an iteration could not be completed.
///
/// ```
/// # use std::sync::Arc;
/// # use ebbtide::{objective::Method, target::{Target, TargetError}, train::{Config, Trainer}, trajectory::Threads};
/// use ebbtide::target::Formula;
/// use ebbtide::train::TrainError;
///
/// let target: Arc<dyn Target> = Arc::new(Formula::new("log(x0) - x0", 1, &[])?);
/// let valid = Config::new(Method::TbTb, 2).validate(target)?;
/// let mut trainer = Trainer::new(valid, &Threads::new(1)?);
/// match trainer.step() {
///     // There is no logarithm left of 0. A log density of minus infinity is the way to say that nothing is there.
///     Err(TrainError::Target { iteration: 1, source: TargetError::Impossible { value, point, .. } }) => {
///         assert!(value.is_nan() && point[0] < 0.0);
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The target failed.
    #[error("iteration {iteration}: {source}")]
    Target {
        /// The iteration, counted from 1.
        iteration: u64,
        /// What the target said.
        source: TargetError,
    },
    /// A loss or gradient is not finite any more.
    #[error(
        "iteration {iteration}: the training diverged, the {what} is {value}; the worst trajectory ends at x = {point:?}"
    )]
    Diverged {
        /// The iteration, counted from 1.
        iteration: u64,
        /// Which number it was.
        what: &'static str,
        /// Its value.
        value: f64,
        /// The end point of the worst trajectory.
        point: Vec<f32>,
    },
}

/// Why a saved state cannot be taken up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// It belongs to another training.
    #[error("this state does not fit the configuration: it was saved by another training, or is damaged")]
    Mismatch,
}

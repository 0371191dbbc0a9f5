//! log Z where it is only known by estimate.

/// An estimate of log Z, for targets whose [`Target::log_z`](crate::target::Target::log_z) is unknown.
///
/// ```
/// use ebbtide::target::{NamedTarget, Reference};
///
/// let found = -108.42; // what some sampler makes of it
/// let Reference { log_z, error, source } = NamedTarget::Sonar.reference().expect("an estimate");
/// assert!((found - log_z).abs() < 5.0 * error);
/// assert!(source.starts_with("importance sampling"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// The estimate.
    pub log_z: f64,
    /// Its standard error.
    pub error: f64,
    /// How it was found.
    pub source: &'static str,
}

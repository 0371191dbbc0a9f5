//! log Z where it is only known by estimate.

/// An estimate of log Z, for targets whose [`Target::log_z`](crate::target::Target::log_z) is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// The estimate.
    pub log_z: f64,
    /// Its standard error.
    pub error: f64,
    /// How it was found, and what is published.
    pub source: &'static str,
}

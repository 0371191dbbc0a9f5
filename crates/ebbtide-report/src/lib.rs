//! Reports: what a run has learned, in pictures and words, as a page that needs nothing else.
//!
//! ```
//! use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
//! use ebbtide_run::{Stop, run::Run, settings::Preset};
//!
//! let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
//! let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTlm), 3);
//! (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 100);
//! let run = Run::begin(runs.path(), settings, &threads)?;
//! let folder = run.folder().to_owned();
//! run.go(&Stop::new(), &mut ())?;
//!
//! let page = ebbtide_report::keep::leave_report(&folder, &threads)?;
//! assert!(std::fs::read_to_string(page)?.contains("ELBO"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`portrait`] → figures → [`page`] → [`keep`], [`watch`], with charts drawn as SVG underneath.

pub mod chart;
mod figure;
mod histogram;
pub mod keep;
pub mod landscape;
pub mod page;
pub mod picture;
pub mod portrait;
mod raster;
pub mod watch;

pub use chart::Chart;
pub use figure::look::look;
pub use figure::samples::Pair;

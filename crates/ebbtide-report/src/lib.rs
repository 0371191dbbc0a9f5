//! Reports: what a run has learned, in pictures and words, as a page that needs nothing else.
//!
//! [`portrait`] → figures → [`page`] → [`keep`], [`watch`], with charts drawn as SVG underneath.

mod chart;
mod figure;
mod histogram;
pub mod keep;
mod landscape;
pub mod page;
pub mod portrait;
mod raster;
pub mod watch;

pub use chart::Chart;
pub use figure::samples::Pair;

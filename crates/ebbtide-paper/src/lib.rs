//! The paper, reproduced: every table and figure a name, its runs, and both sides' figures.
//!
//! [`published`] → [`Table`], [`Figure`] → [`Paper`] → [`Selection`] → runs → [`Finding`] → [`Results`] → [`Cell`] → tables and pages
//!
//! What is published is part of the crate; what was found is a folder of small files, one for each run, which are committed.
//!
//! ```
//! use ebbtide_paper::{Paper, Selection};
//!
//! let paper = Paper::new();
//! let funnels = Selection { names: vec!["funnel".to_owned()], ..Selection::default() };
//! let rows = funnels.rows(&paper)?;
//! assert_eq!(rows[0].name(0), "easy-funnel-tb-fixed-T5-s0");
//! assert_eq!(paper.settings(rows[0], 0).config.iterations, 25_000);
//! # Ok::<(), ebbtide_paper::Unknown>(())
//! ```

mod ablation;
mod amount;
pub mod block;
mod cell;
mod command;
mod draw;
mod figure;
mod finding;
pub mod keep;
mod metric;
mod page;
mod paper;
pub mod published;
mod readme;
mod recommended;
mod results;
mod row;
mod selection;
mod table;
mod verdict;
pub mod work;
pub mod write;

pub use cell::Cell;
pub use draw::DrawingError;
pub use figure::{FIGURES, Figure};
pub use finding::{Curve, Finding, FindingError};
pub use metric::Metric;
pub use paper::Paper;
pub use results::{Aside, Results};
pub(crate) use row::Layout;
pub use row::Row;
pub use selection::{Selection, Unknown};
pub use table::Table;
pub use verdict::Verdict;

//! The network: encoders of time and state, a GELU backbone, and a linear head for each process.
//!
//! Written out by hand, forwards and backwards, over tiles of rows. Activations are
//! stored by feature, `[feature][row]`, so that every inner loop runs over contiguous rows.

mod layout;
mod time;
mod trunk;

pub use layout::{Backbone, Head, Layout, Process, Shape, Tensor, Trunk};
pub use time::TimePass;
pub use trunk::{Activations, Descent, Part, RowBlocks, Sink, backward, forward, head_forward};

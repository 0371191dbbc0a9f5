//! The network: encoders of time and state, a GELU backbone, and a linear head for each process.
//!
//! Written out by hand, forwards and backwards, over tiles of rows, `[row][feature]`: so the three products of a layer
//! (up, down, and the gradient of its weights) all read activations as they stand.

mod activation;
mod backward;
mod layout;
mod packed;
mod time;
mod trunk;

pub use backward::{Descent, Part, Sink, backward};
pub use layout::{Backbone, Head, Layout, Process, Shape, Tensor, Trunk};
pub use packed::{Direction, PackedLayer, PackedNetwork, PackedTrunk};
pub use time::{TimeDescent, TimePass};
pub use trunk::{Activations, RowBlocks, forward, head_forward, heads_forward};

//! The network: encoders of time and state, a GELU backbone, and a linear head for each process.
//!
//! Written out by hand, forwards and backwards, over tiles of rows, `[row][feature]`: so the three products of a layer
//! (up, down, and the gradient of its weights) all read activations as they stand. A pass that no way back follows needs one of the three:
//! a narrow network is then run over bands of rows, `[feature][row]`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ebbtide::network::{Direction, Process, Sink};
//! use ebbtide::objective::Method;
//! use ebbtide::target::NamedTarget;
//! use ebbtide::train::Config;
//! use ebbtide::trajectory::{Network, Prelude, Tile, Wanted};
//!
//! let valid = Config::new(Method::TbFixed, 2).validate(Arc::from(NamedTarget::Gmm25.build())).unwrap();
//! let (model, layout) = (valid.model(), &valid.model().layout);
//! let weights = layout.initialise(0);
//! let mut prelude = Prelude::new(model);
//! prelude.forward(model, &weights, Direction::Both);
//! let network = Network { parameters: &weights, prelude: &prelude };
//!
//! // One trajectory in the plane: x₁ = (1, 2), x₂ = (3, 5). How is it made more likely?
//! let mut tile = Tile::new(model);
//! tile.load(model, &[1.0, 2.0, 3.0, 5.0]);
//! tile.forward(model, network, Wanted { generation: true, destruction: false }, true);
//! let shape = layout.shape;
//! let mut sink = Sink::new(layout.parameters(), 2 + 1, shape.width, shape.generation_outputs);
//! sink.begin(layout, Process::Generation);
//! tile.pull_generation(model, network, &[1.0], &mut sink.origin);
//! tile.descend(model, &prelude, Some(&mut sink), None);
//!
//! // Fresh heads say 0, so ∂ log p→ / ∂ f of a step is the way gone in it, over σ².
//! let variance = model.generation.sigma_squared;
//! let bias = layout.generation.dense.bias.of(&sink.parameters);
//! let pulls = [sink.origin[0], sink.origin[1], bias[0], bias[1]];
//! assert!(pulls.iter().zip([1.0, 2.0, 2.0, 3.0]).all(|(pull, way)| (pull * variance - way).abs() < 1e-5));
//! ```

mod activation;
mod backward;
mod gather;
mod glance;
mod layout;
mod packed;
mod time;
mod trunk;
mod view;

pub use backward::Sink;
pub(crate) use backward::{Descent, Part, backward};
pub(crate) use gather::{Band, Trace, gathers_at_once};
pub(crate) use glance::{Glance, Question, States};
pub use layout::{Backbone, Head, Layout, Process, Shape, Tensor, Trunk};
pub use packed::Direction;
pub(crate) use packed::{PackedNetwork, Packing};
pub(crate) use time::{TimeDescent, TimePass};
pub(crate) use trunk::{Activations, RowBlocks, forward, head_forward, head_scratch, heads_forward};
pub use view::View;

//! Densities made of ONNX networks: the latent space of a generator under a reward, or any network that computes a log density.
//!
//! A file is data, not code, and may come from anywhere: it is looked at before anything is made of it, and whatever is wrong with it is a
//! typed error ([`OnnxError`]).
//!
//! ```text
//! model (a file, looked at) → engine (tract, or onnxruntime) → network (asked about rows) → latent, density
//! ```

mod bounds;
mod density;
mod engine;
mod error;
mod inspect;
mod latent;
mod model;
mod network;
mod spread;

pub use density::NetworkDensity;
pub use engine::{Engine, Library, UnknownEngine};
pub use error::OnnxError;
pub use latent::{LatentFiles, LatentSpace};
pub use model::{Axis, Model, Port};

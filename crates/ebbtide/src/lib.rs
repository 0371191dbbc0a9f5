//! Diffusion samplers: learn to draw independent samples from a density known up to a constant.

pub mod metric;
pub mod stream;
pub mod target;

//! Diffusion samplers: learn to draw independent samples from a density known up to a constant.

pub mod network;
pub mod numeric;
pub mod objective;
pub mod process;
pub mod stream;
pub mod target;
pub mod train;
pub mod trajectory;

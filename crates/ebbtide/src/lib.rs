//! Diffusion samplers: learn to draw independent samples from a density known up to a constant.
//!
//! A generation process builds a sample from the origin in a few Gaussian steps; a destruction process takes
//! it apart again. Both are learned. The modules stand in the order of the method:
//!
//! [`target`] → [`pilot`] → [`process`] → [`trajectory`] → [`objective`] → [`train`] → [`metric`] → [`weighted`]
//!
//! with [`network`], [`numeric`] and [`stream`] underneath. Nothing in this crate touches a file, prints, or
//! reads a clock.

// The example of the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

pub mod metric;
pub mod network;
pub mod numeric;
pub mod objective;
pub mod pilot;
pub mod process;
pub mod stream;
pub mod target;
pub mod train;
pub mod trajectory;
pub mod weighted;

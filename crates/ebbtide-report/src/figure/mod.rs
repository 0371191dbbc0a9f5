//! Figures: one file for each thing there is to see.

pub mod coverage;
pub mod curves;
pub mod decoded;
pub mod look;
pub mod multipliers;
pub mod over_steps;
pub mod processes;
pub mod samples;
pub mod weights;

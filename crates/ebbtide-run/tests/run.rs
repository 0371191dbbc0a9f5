//! A run and its folder: what is there, what survives, what is refused.

#[path = "run/changes.rs"]
mod changes;
#[path = "run/comparison.rs"]
mod comparison;
#[path = "run/divergence.rs"]
mod divergence;
#[path = "run/given.rs"]
mod given;
#[path = "run/placement.rs"]
mod placement;
#[path = "run/resuming.rs"]
mod resuming;
#[path = "run/small.rs"]
mod small;

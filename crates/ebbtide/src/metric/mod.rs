//! How far to trust a sampler: distances and bounds between what it draws and what it should.

pub mod assignment;
mod auction;
mod shortest_path;
mod shortlist;
pub mod transport;

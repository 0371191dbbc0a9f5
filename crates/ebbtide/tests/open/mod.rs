//! A training state laid open, for tests that look inside or do damage.
#![allow(dead_code, reason = "every integration test compiles its own copy and uses only a part of it")]

use ebbtide::train::State;
use serde::{Deserialize, Serialize};

/// A state laid open, field by field in the order it is written.
#[derive(Clone, Serialize, Deserialize)]
pub struct Open {
    pub iteration: u64,
    pub on_policy_updates: u64,
    pub evaluations: u64,
    pub learner: OpenLearner,
    pub replay: Option<OpenReplay>,
    pub archive: Option<OpenArchive>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct OpenLearner {
    pub parameters: Vec<f32>,
    pub lagging: Option<Vec<f32>>,
    pub log_z: f32,
    pub generation: OpenAdam,
    pub destruction: OpenAdam,
    pub log_z_moments: OpenAdam,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct OpenAdam {
    pub first: Vec<f32>,
    pub second: Vec<f32>,
    pub steps: u64,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct OpenReplay {
    pub path_len: usize,
    pub capacity: usize,
    pub paths: Vec<f32>,
    pub log_density: Vec<f64>,
    pub tree: Vec<f64>,
    pub next: usize,
    pub largest: f64,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct OpenArchive {
    pub dim: usize,
    pub capacity: usize,
    pub points: Vec<f32>,
    pub log_density: Vec<f64>,
    pub next: usize,
}

impl Open {
    pub fn replay(&mut self) -> &mut OpenReplay {
        self.replay.as_mut().expect("replay is on")
    }

    pub fn archive(&mut self) -> &mut OpenArchive {
        self.archive.as_mut().expect("local search is on")
    }

    pub fn lagging(&mut self) -> &mut Vec<f32> {
        self.learner.lagging.as_mut().expect("a target network")
    }
}

/// What a state is written as; equal bytes are equal bits.
pub fn bytes(state: &State) -> Vec<u8> {
    postcard::to_stdvec(state).expect("a state can be written")
}

/// Reads a written state field by field.
pub fn open(state: &State) -> Open {
    postcard::from_bytes(&bytes(state)).expect("the fields are those of a state")
}

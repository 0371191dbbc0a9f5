//! A training state laid open, for tests that look inside or do damage.
#![allow(dead_code, reason = "every integration test compiles its own copy and uses only a part of it")]

use std::collections::BTreeMap;

use ebbtide::train::{Array, ArrayRef, State};

/// A state as it is saved: its arrays, by name.
#[derive(Clone)]
pub struct Open(pub BTreeMap<String, Array>);

impl Open {
    fn array(&mut self, name: &str) -> &mut Array {
        self.0.get_mut(name).unwrap_or_else(|| panic!("there is no {name}"))
    }

    pub fn singles(&mut self, name: &str) -> &mut Vec<f32> {
        match self.array(name) {
            Array::F32(values) => values,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub fn doubles(&mut self, name: &str) -> &mut Vec<f64> {
        match self.array(name) {
            Array::F64(values) => values,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A single whole number.
    pub fn whole(&mut self, name: &str) -> &mut u64 {
        match self.array(name) {
            Array::U64(values) => values.first_mut().expect("a number"),
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Takes out all arrays whose names begin so.
    pub fn remove(&mut self, beginning: &str) {
        let all = self.0.len();
        self.0.retain(|name, _| !name.starts_with(beginning));
        assert!(self.0.len() < all, "there is no {beginning}");
    }
}

/// The names and bits of all arrays; equal bytes are equal bits.
pub fn bytes(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, array) in state.arrays() {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&array.len().to_le_bytes());
        match array {
            ArrayRef::F32(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            ArrayRef::F64(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            ArrayRef::U64(value) => bytes.extend(value.to_le_bytes()),
        }
    }
    bytes
}

/// Lays a state open.
pub fn open(state: &State) -> Open {
    Open(state.arrays().into_iter().map(|(name, array)| (name.into(), array.into())).collect())
}

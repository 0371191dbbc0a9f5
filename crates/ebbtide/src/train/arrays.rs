//! Named arrays: what a state is written as, in whatever format, and read from.

use std::collections::BTreeMap;

/// An array as it is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Whole numbers.
    U64(Vec<u64>),
}

/// An array to be written: borrowed where it stands, since it may be as large as a training.
///
/// ```
/// use ebbtide::train::{Array, ArrayRef};
///
/// let (weights, iteration) = (ArrayRef::F32(&[0.5, -1.0]), ArrayRef::U64(7));
/// assert_eq!((weights.len(), iteration.len()), (2, 1));
/// assert!(ArrayRef::F64(&[]).is_empty());
/// assert_eq!(Array::from(iteration), Array::U64(vec![7]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrayRef<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// An array of one whole number.
    U64(u64),
}

impl ArrayRef<'_> {
    /// How many numbers it has.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::U64(_) => 1,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<ArrayRef<'_>> for Array {
    fn from(array: ArrayRef) -> Self {
        match array {
            ArrayRef::F32(values) => Self::F32(values.to_vec()),
            ArrayRef::F64(values) => Self::F64(values.to_vec()),
            ArrayRef::U64(value) => Self::U64(vec![value]),
        }
    }
}

impl Array {
    /// What its numbers are, in a word.
    fn kind(&self) -> &'static str {
        match self {
            Self::F32(_) => F32,
            Self::F64(_) => F64,
            Self::U64(_) => U64,
        }
    }
}

const F32: &str = "f32";
const F64: &str = "f64";
const U64: &str = "u64";

/// Why arrays are no state.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use ebbtide::train::{Array, State, StateError};
///
/// let arrays = BTreeMap::from([("iteration".to_owned(), Array::F32(vec![7.0]))]);
/// let error = State::from_arrays(arrays).expect_err("iterations are whole numbers");
/// assert_eq!(error, StateError::Type { name: "iteration", expected: "u64", found: "f32" });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// An array is not there.
    #[error("the state has no array `{name}`")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// An array has numbers of another type.
    #[error("the array `{name}` of the state has numbers of type {found}, but must have {expected}")]
    Type {
        /// Its name.
        name: &'static str,
        /// What it must be made of.
        expected: &'static str,
        /// What it is made of.
        found: &'static str,
    },
    /// What must be a single number is none, or several.
    #[error("the array `{name}` of the state has {len} numbers, but must have one")]
    NotOne {
        /// Its name.
        name: &'static str,
        /// How many numbers it has.
        len: usize,
    },
    /// A count that this machine cannot count to.
    #[error("`{name}` of the state is {value}, which is more than this machine can hold")]
    TooLarge {
        /// Its name.
        name: &'static str,
        /// The number.
        value: u64,
    },
    /// A replay buffer has a priority for each of its places.
    #[error("`replay.capacity` of the state is {capacity}, but `replay.priorities` has {priorities} numbers")]
    Priorities {
        /// Places of the buffer.
        capacity: usize,
        /// Priorities given.
        priorities: usize,
    },
    /// An array that no state has.
    #[error("the state has an unknown array `{name}`")]
    Unknown {
        /// Its name.
        name: String,
    },
}

/// Arrays that a state is read from, one after the other, until none is left.
pub(super) struct Arrays(BTreeMap<String, Array>);

impl Arrays {
    pub(super) fn new(arrays: BTreeMap<String, Array>) -> Self {
        Self(arrays)
    }

    /// Whether there is an array of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether any array has a name that begins so.
    pub(super) fn has_any(&self, beginning: &str) -> bool {
        self.0.range(beginning.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(beginning))
    }

    fn take(&mut self, name: &'static str) -> Result<Array, StateError> {
        self.0.remove(name).ok_or(StateError::Missing { name })
    }

    pub(super) fn singles(&mut self, name: &'static str) -> Result<Vec<f32>, StateError> {
        match self.take(name)? {
            Array::F32(values) => Ok(values),
            other => Err(StateError::Type { name, expected: F32, found: other.kind() }),
        }
    }

    pub(super) fn doubles(&mut self, name: &'static str) -> Result<Vec<f64>, StateError> {
        match self.take(name)? {
            Array::F64(values) => Ok(values),
            other => Err(StateError::Type { name, expected: F64, found: other.kind() }),
        }
    }

    fn wholes(&mut self, name: &'static str) -> Result<Vec<u64>, StateError> {
        match self.take(name)? {
            Array::U64(values) => Ok(values),
            other => Err(StateError::Type { name, expected: U64, found: other.kind() }),
        }
    }

    pub(super) fn single(&mut self, name: &'static str) -> Result<f32, StateError> {
        self.singles(name).and_then(|values| one(name, &values))
    }

    pub(super) fn double(&mut self, name: &'static str) -> Result<f64, StateError> {
        self.doubles(name).and_then(|values| one(name, &values))
    }

    pub(super) fn whole(&mut self, name: &'static str) -> Result<u64, StateError> {
        self.wholes(name).and_then(|values| one(name, &values))
    }

    pub(super) fn size(&mut self, name: &'static str) -> Result<usize, StateError> {
        let value = self.whole(name)?;
        usize::try_from(value).map_err(|_| StateError::TooLarge { name, value })
    }

    /// Refuses what nobody asked for.
    pub(super) fn end(mut self) -> Result<(), StateError> {
        match self.0.pop_first() {
            None => Ok(()),
            Some((name, _)) => Err(StateError::Unknown { name }),
        }
    }
}

fn one<Number: Copy>(name: &'static str, values: &[Number]) -> Result<Number, StateError> {
    match values {
        [value] => Ok(*value),
        _ => Err(StateError::NotOne { name, len: values.len() }),
    }
}

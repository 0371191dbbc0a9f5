//! How much memory a network may take.

/// What a network may take whatever its size: small files of images and convolutions need some of it.
const ALWAYS: u128 = 256 << 20;

/// What it may take for each byte of its files.
const FOR_EACH_BYTE: u128 = 64;

/// The most bytes of memory that constants, or what is between layers, may take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes.
    pub most: u128,
}

impl Bounds {
    /// Those of a network whose files have so many bytes.
    pub fn of(bytes: u64) -> Self {
        Self { most: ALWAYS.max(FOR_EACH_BYTE * u128::from(bytes)) }
    }
}

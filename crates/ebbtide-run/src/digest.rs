//! Digests that tell texts and files apart.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// A number that is the same on all machines, and another one for another text (FNV-1a).
///
/// ```
/// use ebbtide_run::Digest;
///
/// // Of `foobar`, as a configuration has it.
/// let digest: Digest = "85944171f73967e8".parse()?;
/// assert_eq!(digest, Digest(0x8594_4171_f739_67e8));
/// assert_ne!(digest, Digest::default(), "which is that of nothing");
/// assert_eq!(Digest(0xab).to_string(), "00000000000000ab");
/// # Ok::<(), std::num::ParseIntError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

/// Of nothing.
impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = ParseIntError;

    fn from_str(digits: &str) -> Result<Self, ParseIntError> {
        u64::from_str_radix(digits, 16).map(Self)
    }
}

/// The digest of a text.
pub fn digest(text: &[u8]) -> Digest {
    extended(Digest::default(), text)
}

/// The digest of what came before, and then a text.
pub fn extended(before: Digest, text: &[u8]) -> Digest {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    Digest(text.iter().fold(before.0, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_one() {
        // From the authors' own list of test cases.
        assert_eq!(digest(b""), Digest(0xcbf2_9ce4_8422_2325));
        assert_eq!(digest(b"foobar"), Digest(0x8594_4171_f739_67e8));
        assert_eq!(extended(digest(b"foo"), b"bar"), digest(b"foobar"));
    }

    #[test]
    fn it_is_read_as_it_is_written() {
        let digest = digest(b"any");
        assert_eq!(digest.to_string().parse(), Ok(digest));
    }
}

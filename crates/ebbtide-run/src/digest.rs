//! Digests that tell texts apart.

/// A number that is the same on all machines, and another one for another text (FNV-1a).
pub fn digest(text: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_one() {
        // From the authors' own list of test cases.
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
    }
}

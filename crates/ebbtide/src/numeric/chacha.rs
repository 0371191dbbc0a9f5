//! ChaCha with eight rounds for sixteen streams at a time, one in each place of a vector.
//!
//! The numbers are those of `rand_chacha`, which computes four blocks of one stream at a time: more than a short path takes of its own stream.

use pulp::{Simd, WithSimd, bytemuck};

use super::aligned::LINE;
use super::vectors;

/// Words of a block.
pub(crate) const BLOCK: usize = 16;
/// A word of each stream.
pub(crate) type Words = [u32; LINE];

/// Blocks 0, 1, … of the streams `first`, `first` + 1, … of a key, word by word.
pub(crate) fn blocks(key: &[u8; 32], first: u64, blocks: &mut [[Words; BLOCK]]) {
    let mut names = [[0; LINE]; 2];
    for (stream, place) in (0..LINE).map(|place| (first.wrapping_add(place as u64), place)) {
        (names[0][place], names[1][place]) = (stream as u32, (stream >> 32) as u32);
    }
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    vectors().dispatch(Blocks { key: words, names, blocks });
}

struct Blocks<'a> {
    key: [u32; 8],
    /// The numbers of the streams: their lower and upper halves.
    names: [Words; 2],
    blocks: &'a mut [[Words; BLOCK]],
}

/// "expand 32-byte k"
const BEGINNING: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
impl WithSimd for Blocks<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut start = [simd.splat_u32s(0); BLOCK];
        for (word, value) in start.iter_mut().zip(BEGINNING.into_iter().chain(self.key)) {
            *word = simd.splat_u32s(value);
        }
        for (number, block) in self.blocks.iter_mut().enumerate() {
            start[12] = simd.splat_u32s(number as u32);
            for vector in 0..LINE / S::U32_LANES {
                for (word, names) in start[14..].iter_mut().zip(&self.names) {
                    *word = vector_of::<S>(names)[vector];
                }
                let mut state = start;
                for _ in 0..4 {
                    mix::<S, 0, 4, 8, 12>(simd, &mut state);
                    mix::<S, 1, 5, 9, 13>(simd, &mut state);
                    mix::<S, 2, 6, 10, 14>(simd, &mut state);
                    mix::<S, 3, 7, 11, 15>(simd, &mut state);
                    mix::<S, 0, 5, 10, 15>(simd, &mut state);
                    mix::<S, 1, 6, 11, 12>(simd, &mut state);
                    mix::<S, 2, 7, 8, 13>(simd, &mut state);
                    mix::<S, 3, 4, 9, 14>(simd, &mut state);
                }
                for word in 0..BLOCK {
                    let place = &mut bytemuck::cast_slice_mut(&mut block[word])[vector];
                    *place = simd.add_u32s(state[word], start[word]);
                }
            }
        }
    }
}

#[inline(always)]
fn vector_of<S: Simd>(words: &Words) -> &[S::u32s] {
    bytemuck::cast_slice(words)
}

/// Mixes four words. Which ones is known when this is compiled, so that all sixteen stay in registers.
#[inline(always)]
fn mix<S: Simd, const A: usize, const B: usize, const C: usize, const D: usize>(
    simd: S,
    state: &mut [S::u32s; BLOCK],
) {
    state[A] = simd.add_u32s(state[A], state[B]);
    state[D] = turned::<S, 16>(simd, simd.xor_u32s(state[D], state[A]));
    state[C] = simd.add_u32s(state[C], state[D]);
    state[B] = turned::<S, 12>(simd, simd.xor_u32s(state[B], state[C]));
    state[A] = simd.add_u32s(state[A], state[B]);
    state[D] = turned::<S, 8>(simd, simd.xor_u32s(state[D], state[A]));
    state[C] = simd.add_u32s(state[C], state[D]);
    state[B] = turned::<S, 7>(simd, simd.xor_u32s(state[B], state[C]));
}

/// Every word turned to the left by so many bits.
#[inline(always)]
fn turned<S: Simd, const BITS: u32>(simd: S, words: S::u32s) -> S::u32s {
    let left = simd.wrapping_dyn_shl_u32s(words, simd.splat_u32s(BITS));
    simd.or_u32s(left, simd.wrapping_dyn_shr_u32s(words, simd.splat_u32s(32 - BITS)))
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::widths::{all_vectors, with_vectors};
    use super::*;

    #[test]
    fn streams_are_those_of_rand_chacha_on_vectors_of_every_width() {
        let key: [u8; 32] = std::array::from_fn(|i| (37 * i + 11) as u8);
        let first = u64::from(u32::MAX) - 5;
        for (width, vectors) in all_vectors() {
            let mut words = [[[0; LINE]; BLOCK]; 3];
            with_vectors(vectors, || blocks(&key, first, &mut words));
            for place in 0..LINE {
                let mut generator = ChaCha8Rng::from_seed(key);
                generator.set_stream(first + place as u64);
                for (index, word) in words.as_flattened().iter().enumerate() {
                    assert_eq!(word[place], generator.next_u32(), "{width}, stream {place}, word {index}");
                }
            }
        }
    }
}

//! Writing past the caches: what is too large to stay there is not fetched only to be written over.

use std::marker::PhantomData;

use crate::numeric::aligned::LINE;

/// Where lines go that are written past the caches, where that is possible. They are all in their place when this is dropped: only then may another
/// thread look at them. It stays with the thread that writes, whose fence it is.
pub(super) struct Past(PhantomData<*const ()>);

impl Past {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }

    /// Writes a line; past the caches if it is one of theirs.
    #[inline(always)]
    pub(super) fn write(&self, place: &mut [f32; LINE], from: &[f32; LINE]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if place.as_ptr().addr().is_multiple_of(4 * LINE) {
            #[allow(unsafe_code)]
            // SAFETY: four quarters of a line, good for reading and for writing, the latter aligned. Every processor of this kind has such
            // instructions; nothing but this thread's own reads may see what they write before the fence in `drop`.
            unsafe {
                use std::arch::x86_64::{_mm_loadu_ps, _mm_stream_ps};
                for quarter in (0..LINE).step_by(4) {
                    _mm_stream_ps(place.as_mut_ptr().add(quarter), _mm_loadu_ps(from.as_ptr().add(quarter)));
                }
            }
            return;
        }
        *place = *from;
    }
}

impl Drop for Past {
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        #[allow(unsafe_code)]
        // SAFETY: changes nothing but the order of writes. Every processor of this kind has it.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

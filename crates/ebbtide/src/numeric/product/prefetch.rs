//! Asking for numbers before they are needed: changes nothing but how long it takes to get them.

/// Has the line at an address brought near. It need not be an address of anything.
#[inline(always)]
pub(super) fn prefetch(address: *const f32) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[allow(unsafe_code)]
    // SAFETY: a hint, which reads nothing. Every processor of this kind has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// The same for what will not be needed soon: into the second cache, where it is in nobody's way.
#[inline(always)]
pub(super) fn prefetch_far(address: *const f32) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[allow(unsafe_code)]
    // SAFETY: as for `prefetch`.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

//! Matrix products and vector functions: the arithmetic everything else is made of.

pub mod aligned;
pub(crate) mod chacha;
pub(crate) mod crew;
pub mod gelu;
pub mod product;
#[cfg(test)]
mod reference;
pub(crate) mod vector;
#[cfg(test)]
pub(crate) mod widths;

pub(crate) use pulp::NullaryFnOnce as Vectorised;

/// The widest vectors that this machine has: the one place where they are chosen. Tests may ask for others.
pub(crate) fn vectors() -> pulp::Arch {
    #[cfg(test)]
    if let Some(asked) = widths::asked() {
        return asked;
    }
    pulp::Arch::new()
}

/// Runs `work` compiled for the widest vectors this machine has.
///
/// The body of `work` must be `#[inline(always)]` all the way down: only then is it compiled once for
/// each instruction set. The element-wise functions of [`vector`] use the same IEEE operations on each,
/// so their results do not depend on which one is picked.
pub(crate) fn dispatch<Work: Vectorised>(work: Work) -> Work::Output {
    vectors().dispatch(work)
}

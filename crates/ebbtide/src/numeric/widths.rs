//! Vectors of every width against plain numbers: the element-wise functions must give the same bits on all.

use std::cell::Cell;
use std::hint::black_box;
use std::marker::PhantomData;

use super::Vectorised;
use super::gelu::ActivateWithSlope;
use super::reference::sweep;
use super::vector::{exp, ln, tanh, tanh_and_slope};

thread_local! {
    static ASKED: Cell<Option<pulp::Arch>> = const { Cell::new(None) };
}

/// What the test on this thread asked for.
pub(super) fn asked() -> Option<pulp::Arch> {
    ASKED.get()
}

/// Does `work` on this thread with these vectors.
pub(crate) fn with_vectors<T>(vectors: pulp::Arch, work: impl FnOnce() -> T) -> T {
    ASKED.set(Some(vectors));
    let done = work();
    ASKED.set(None);
    done
}

/// All vectors that this machine has, with their names.
pub(crate) fn all_vectors() -> Vec<(&'static str, pulp::Arch)> {
    let mut all = vec![("plain numbers", pulp::Arch::Scalar)];
    #[cfg(target_arch = "x86_64")]
    {
        let v3 = pulp::x86::V3::try_new().map(|simd| ("256 bits", pulp::Arch::V3(simd)));
        let v4 = pulp::x86::V4::try_new().map(|simd| ("512 bits", pulp::Arch::V4(simd)));
        all.extend([v3, v4].into_iter().flatten());
    }
    #[cfg(target_arch = "aarch64")]
    all.extend(pulp::aarch64::Neon::try_new().map(|simd| ("NEON", pulp::Arch::Neon(simd))));
    all
}

/// A function of one number, with one or two results.
trait Function {
    const NAME: &'static str;
    fn at(x: f32) -> [f32; 2];
}

struct Exp;
impl Function for Exp {
    const NAME: &'static str = "exp";
    #[inline(always)]
    fn at(x: f32) -> [f32; 2] {
        [exp(x), 0.0]
    }
}

struct Ln;
impl Function for Ln {
    const NAME: &'static str = "ln";
    #[inline(always)]
    fn at(x: f32) -> [f32; 2] {
        [ln(x), 0.0]
    }
}

struct Tanh;
impl Function for Tanh {
    const NAME: &'static str = "tanh";
    #[inline(always)]
    fn at(x: f32) -> [f32; 2] {
        [tanh(x), 0.0]
    }
}

struct TanhAndSlope;
impl Function for TanhAndSlope {
    const NAME: &'static str = "tanh and its slope";
    #[inline(always)]
    fn at(x: f32) -> [f32; 2] {
        tanh_and_slope(x).into()
    }
}

/// A loop over a function, for the compiler to turn into vectors.
struct Loop<'a, F> {
    x: &'a [f32],
    results: [&'a mut [f32]; 2],
    function: PhantomData<F>,
}

impl<F: Function> Vectorised for Loop<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let [first, second] = self.results;
        for ((&x, first), second) in self.x.iter().zip(first).zip(second) {
            [*first, *second] = F::at(x);
        }
    }
}

/// One number at a time, out of the compiler's sight.
#[inline(never)]
fn alone<F: Function>(x: f32) -> [f32; 2] {
    F::at(black_box(x))
}

/// A dense sweep of where functions bend, and numbers of every magnitude and sign: zeros, denormals, infinities, NaN.
fn inputs() -> Vec<f32> {
    let every_magnitude =
        (0..=u32::MAX).step_by(if cfg!(miri) { 50_000_017 } else { 20_011 }).map(f32::from_bits);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX];
    sweep(-20.0, 20.0).chain(sweep(-0.8, 0.8)).chain(every_magnitude).chain(special).collect()
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn assert_same_bits<F: Function>() {
    let x = inputs();
    let plain: Vec<[f32; 2]> = x.iter().map(|&x| alone::<F>(x)).collect();
    let compare = |width: &str, run: &dyn Fn(Loop<F>)| {
        let (mut first, mut second) = (vec![9.0; x.len()], vec![9.0; x.len()]);
        let results = [&mut first[..], &mut second[..]];
        run(Loop { x: &x, results, function: PhantomData });
        for (i, &[value, slope]) in plain.iter().enumerate() {
            let agree = same(first[i], value) && same(second[i], slope);
            assert!(
                agree,
                "{} of {:e} by {width}: {:?}, not {value}, {slope}",
                F::NAME,
                x[i],
                (first[i], second[i])
            );
        }
    };
    compare("the baseline", &|work| work.call());
    for (width, vectors) in all_vectors() {
        compare(width, &|work| vectors.dispatch(work));
    }
}

#[test]
fn exp_has_the_same_bits_at_every_width() {
    assert_same_bits::<Exp>();
}

#[test]
fn ln_has_the_same_bits_at_every_width() {
    assert_same_bits::<Ln>();
}

#[test]
fn tanh_has_the_same_bits_at_every_width() {
    assert_same_bits::<Tanh>();
    assert_same_bits::<TanhAndSlope>();
}

#[test]
fn gelu_has_the_same_bits_at_every_width() {
    let x = inputs();
    let gelu = |width: &str, run: &dyn Fn(ActivateWithSlope)| {
        let (mut z, mut slope) = (x.clone(), vec![9.0; x.len()]);
        run(ActivateWithSlope { z: &mut z, slope: &mut slope, bias: &vec![0.0; x.len()], stride: x.len() });
        (width.to_string(), z, slope)
    };
    // One at a time, out of the compiler's sight.
    let (_, values, slopes) = gelu("plain numbers", &|work| {
        let ActivateWithSlope { z, slope, .. } = work;
        for (z, slope) in z.chunks_mut(1).zip(slope.chunks_mut(1)) {
            let alone = black_box(ActivateWithSlope { z, slope, bias: &[0.0], stride: 1 });
            pulp::Arch::Scalar.dispatch(alone);
        }
    });
    let widths = all_vectors();
    let widths = widths.into_iter().map(|(width, vectors)| gelu(width, &|work| vectors.dispatch(work)));
    for (width, vector_values, vector_slopes) in widths {
        for i in 0..x.len() {
            let agree = same(vector_values[i], values[i]) && same(vector_slopes[i], slopes[i]);
            assert!(agree, "GELU of {:e} by {width}: {}, not {}", x[i], vector_values[i], values[i]);
        }
    }
}

//! How the network sees states.

use crate::numeric::vector::{exp, ln};

/// What of a coordinate x reaches the network.
///
/// Where a density has states of very different sizes, a network that sees them as they are has learned nothing about the
/// largest ones when it meets them, and what it says of those is far off. By their logarithms they are close to others that it knows.
///
/// ```
/// use ebbtide::network::View;
/// use ebbtide::objective::Method;
/// use ebbtide::target::NamedTarget;
/// use ebbtide::train::Config;
///
/// let mut config = Config::new(Method::TbTb, 5);
/// config.network.view = View::Logarithmic;
/// let valid = config.validate(NamedTarget::HardFunnel.build().into())?;
/// assert_eq!(valid.model().view, View::Logarithmic);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// x itself.
    #[default]
    Plain,
    /// sign(x) ln(1 + |x|).
    Logarithmic,
}

impl View {
    /// Turns coordinates into what is seen of them.
    pub(crate) fn apply(self, coordinates: &mut [f32]) {
        match self {
            View::Plain => (),
            View::Logarithmic => {
                for x in coordinates {
                    *x = ln(1.0 + x.abs()).copysign(*x);
                }
            }
        }
    }

    /// Turns a gradient with respect to what is `seen` into one with respect to the coordinates themselves.
    ///
    /// The slope of ln(1 + |x|) is 1 / (1 + |x|), which is e to the minus of what is seen.
    pub(crate) fn pull_back(self, seen: &[f32], gradient: &mut [f32]) {
        match self {
            View::Plain => (),
            View::Logarithmic => {
                for (gradient, seen) in gradient.iter_mut().zip(seen) {
                    *gradient *= exp(-seen.abs());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [f32; 8] = [0.0, -1e-3, 0.5, -1.0, 3.0, -40.0, 1e3, -1e6];

    #[test]
    fn a_plain_view_changes_nothing() {
        let (mut seen, mut gradient) = (STATES, STATES);
        View::Plain.apply(&mut seen);
        View::Plain.pull_back(&seen, &mut gradient);
        assert_eq!((seen, gradient), (STATES, STATES));
    }

    #[test]
    fn a_logarithmic_view_is_odd_and_has_the_slope_it_says() {
        let (mut seen, mut slopes) = (STATES, [1.0; 8]);
        View::Logarithmic.apply(&mut seen);
        View::Logarithmic.pull_back(&seen, &mut slopes);
        for ((x, seen), slope) in STATES.into_iter().zip(seen).zip(slopes) {
            let x = f64::from(x);
            let expected = x.signum() * x.abs().ln_1p();
            assert!((f64::from(seen) - expected).abs() <= 3e-7 * (1.0 + expected.abs()), "{x}: {seen}");
            let expected = 1.0 / (1.0 + x.abs());
            assert!((f64::from(slope) - expected).abs() <= 3e-6 * expected, "{x}: {slope}");
        }
    }
}

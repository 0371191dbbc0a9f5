//! The functions that a formula may use.

use super::exp::exp;

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Sin,
    Cos,
    Tan,
    Exp,
    Log,
    Sqrt,
    Abs,
    Tanh,
    Log1p,
    Expm1,
    Softplus,
}

/// What a name with parentheses after it may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A function of one number.
    Of(Function),
    /// `pow(a, b)`, the same as `a^b`.
    Pow,
    /// The smallest of several.
    Min,
    /// The largest of several.
    Max,
    /// log Σ exp of several.
    LogSumExp,
    /// Over all coordinates, or over an index between bounds.
    Sum,
}

const CALLS: [(&str, Call); 17] = [
    ("sin", Call::Of(Function::Sin)),
    ("cos", Call::Of(Function::Cos)),
    ("tan", Call::Of(Function::Tan)),
    ("exp", Call::Of(Function::Exp)),
    ("log", Call::Of(Function::Log)),
    ("ln", Call::Of(Function::Log)),
    ("sqrt", Call::Of(Function::Sqrt)),
    ("abs", Call::Of(Function::Abs)),
    ("tanh", Call::Of(Function::Tanh)),
    ("log1p", Call::Of(Function::Log1p)),
    ("expm1", Call::Of(Function::Expm1)),
    ("softplus", Call::Of(Function::Softplus)),
    ("pow", Call::Pow),
    ("min", Call::Min),
    ("max", Call::Max),
    ("logsumexp", Call::LogSumExp),
    ("sum", Call::Sum),
];

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|(name, _)| *name)
}

/// What a name means, and the name as it stands in the list.
pub fn find(name: &str) -> Option<(&'static str, Call)> {
    CALLS.iter().copied().find(|(known, _)| *known == name)
}

impl Function {
    /// Its value.
    #[inline(always)]
    pub fn at(self, x: f64) -> f64 {
        match self {
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Tan => x.tan(),
            Self::Exp => exp(x),
            Self::Log => x.ln(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Tanh => x.tanh(),
            Self::Log1p => x.ln_1p(),
            Self::Expm1 => x.exp_m1(),
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        }
    }

    /// Its derivative at x, where its value is y. In a corner, that of the side where it is zero or the mean of both sides.
    #[inline(always)]
    pub fn slope(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Sin => x.cos(),
            Self::Cos => -x.sin(),
            Self::Tan => 1.0 + y * y,
            Self::Exp => y,
            Self::Log => 1.0 / x,
            Self::Sqrt => 0.5 / y,
            Self::Abs => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
            Self::Tanh => 1.0 - y * y,
            Self::Log1p => 1.0 / (1.0 + x),
            Self::Expm1 => y + 1.0,
            Self::Softplus => 1.0 / (1.0 + (-x).exp()),
        }
    }
}

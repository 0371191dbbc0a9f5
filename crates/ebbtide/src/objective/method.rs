//! The paper's eight methods: a generation objective, and what happens to variance and destruction.

use std::fmt;
use std::str::FromStr;

/// How the generation process learns.
///
/// ```
/// use ebbtide::objective::{GenerationObjective, OffPolicy};
///
/// assert_eq!(GenerationObjective::VarGrad.off_policy(), Some(OffPolicy::VarGrad));
/// // What is differentiated through the simulation learns nothing from a trajectory that was kept.
/// assert_eq!(GenerationObjective::ReverseKl.off_policy(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationObjective {
    /// Second moment with a learned log Ẑ.
    TrajectoryBalance,
    /// Second moment about the batch mean.
    VarGrad,
    /// Reverse KL through the simulation, as in the path-integral sampler.
    ReverseKl,
}

impl GenerationObjective {
    /// The second moment, for objectives that can learn from any trajectory.
    pub fn off_policy(self) -> Option<OffPolicy> {
        match self {
            GenerationObjective::TrajectoryBalance => Some(OffPolicy::TrajectoryBalance),
            GenerationObjective::VarGrad => Some(OffPolicy::VarGrad),
            GenerationObjective::ReverseKl => None,
        }
    }
}

/// A generation objective that does not ask where a trajectory came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffPolicy {
    /// Second moment with a learned log Ẑ.
    TrajectoryBalance,
    /// Second moment about the batch mean.
    VarGrad,
}

/// How the destruction process learns, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestructionObjective {
    /// Second moment with the generation objective's log Ẑ.
    TrajectoryBalance,
    /// Second moment about the batch mean.
    VarGrad,
    /// Likelihood of generated trajectories.
    TrajectoryLikelihood,
}

/// One of the paper's eight combinations.
///
/// ```
/// use ebbtide::objective::{DestructionObjective, GenerationObjective, Method, UnknownMethod};
///
/// let method: Method = "tb-tlm".parse().unwrap();
/// assert_eq!((method.name(), method.title()), ("tb-tlm", "TBθ + TLMφ"));
/// assert_eq!(method.generation(), GenerationObjective::TrajectoryBalance);
/// assert_eq!(method.destruction(), Some(DestructionObjective::TrajectoryLikelihood));
/// let fixed: Vec<Method> = Method::ALL.into_iter().filter(|method| !method.learns_variance()).collect();
/// assert_eq!(fixed, [Method::TbFixed, Method::PisFixed]);
///
/// let unknown: UnknownMethod = "tb-tbl".parse::<Method>().unwrap_err();
/// assert!(unknown.to_string().contains("did you mean `tb-tb`"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Trajectory balance; fixed variance, fixed destruction.
    TbFixed,
    /// Trajectory balance; learned variance, fixed destruction.
    TbVariance,
    /// Trajectory balance; learned variance, destruction by trajectory likelihood.
    TbTlm,
    /// Trajectory balance for both processes; learned variance.
    TbTb,
    /// Reverse KL; fixed variance, fixed destruction.
    PisFixed,
    /// Reverse KL; learned variance, fixed destruction.
    PisVariance,
    /// Reverse KL; learned variance, destruction by trajectory likelihood.
    PisTlm,
    /// Reverse KL; learned variance, destruction by VarGrad.
    PisVarGrad,
}

impl Method {
    /// All eight, in the paper's order.
    pub const ALL: [Method; 8] = [
        Method::TbFixed,
        Method::TbVariance,
        Method::TbTlm,
        Method::TbTb,
        Method::PisFixed,
        Method::PisVariance,
        Method::PisTlm,
        Method::PisVarGrad,
    ];

    /// The name to type.
    pub fn name(self) -> &'static str {
        match self {
            Method::TbFixed => "tb-fixed",
            Method::TbVariance => "tb-variance",
            Method::TbTlm => "tb-tlm",
            Method::TbTb => "tb-tb",
            Method::PisFixed => "pis-fixed",
            Method::PisVariance => "pis-variance",
            Method::PisTlm => "pis-tlm",
            Method::PisVarGrad => "pis-vargrad",
        }
    }

    /// The name in the paper's tables.
    pub fn title(self) -> &'static str {
        match self {
            Method::TbFixed => "TBθ (fixed var.)",
            Method::TbVariance => "TBθ (learned var.)",
            Method::TbTlm => "TBθ + TLMφ",
            Method::TbTb => "TBθ,φ",
            Method::PisFixed => "PISθ (fixed var.)",
            Method::PisVariance => "PISθ (learned var.)",
            Method::PisTlm => "PISθ + TLMφ",
            Method::PisVarGrad => "PISθ + VarGradφ",
        }
    }

    /// The generation objective.
    pub fn generation(self) -> GenerationObjective {
        match self {
            Method::TbFixed | Method::TbVariance | Method::TbTlm | Method::TbTb => {
                GenerationObjective::TrajectoryBalance
            }
            Method::PisFixed | Method::PisVariance | Method::PisTlm | Method::PisVarGrad => {
                GenerationObjective::ReverseKl
            }
        }
    }

    /// The destruction objective; `None` where that process is fixed.
    pub fn destruction(self) -> Option<DestructionObjective> {
        match self {
            Method::TbTlm | Method::PisTlm => Some(DestructionObjective::TrajectoryLikelihood),
            Method::TbTb => Some(DestructionObjective::TrajectoryBalance),
            Method::PisVarGrad => Some(DestructionObjective::VarGrad),
            Method::TbFixed | Method::TbVariance | Method::PisFixed | Method::PisVariance => None,
        }
    }

    /// Whether the variance of the generation process is learned.
    pub fn learns_variance(self) -> bool {
        !matches!(self, Method::TbFixed | Method::PisFixed)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is none of the methods'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown method `{given}`; did you mean `{nearest}`? The methods are: {}", Method::ALL.map(Method::name).join(", "))]
pub struct UnknownMethod {
    given: String,
    nearest: &'static str,
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let wanted = text.trim().to_lowercase().replace(['_', ' '], "-");
        if let Some(method) = Method::ALL.into_iter().find(|method| method.name() == wanted) {
            return Ok(method);
        }
        let nearest = Method::ALL
            .map(Method::name)
            .into_iter()
            .min_by_key(|name| strsim::damerau_levenshtein(name, &wanted))
            .expect("there are eight methods");
        Err(UnknownMethod { given: text.to_owned(), nearest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's table of methods, written down once more.
    #[test]
    fn methods_are_the_combinations_of_the_paper() {
        use DestructionObjective::{TrajectoryLikelihood, VarGrad};
        let balance = DestructionObjective::TrajectoryBalance;
        let rows = [
            ("tb-fixed", "TBθ (fixed var.)", true, false, None),
            ("tb-variance", "TBθ (learned var.)", true, true, None),
            ("tb-tlm", "TBθ + TLMφ", true, true, Some(TrajectoryLikelihood)),
            ("tb-tb", "TBθ,φ", true, true, Some(balance)),
            ("pis-fixed", "PISθ (fixed var.)", false, false, None),
            ("pis-variance", "PISθ (learned var.)", false, true, None),
            ("pis-tlm", "PISθ + TLMφ", false, true, Some(TrajectoryLikelihood)),
            ("pis-vargrad", "PISθ + VarGradφ", false, true, Some(VarGrad)),
        ];
        for (method, (name, title, balanced, learns_variance, destruction)) in
            Method::ALL.into_iter().zip(rows)
        {
            assert_eq!((&*method.to_string(), method.title()), (name, title));
            let off_policy = balanced.then_some(OffPolicy::TrajectoryBalance);
            assert_eq!(method.generation().off_policy(), off_policy, "{name}");
            assert_eq!(
                (method.learns_variance(), method.destruction()),
                (learns_variance, destruction),
                "{name}"
            );
        }
        assert_eq!(GenerationObjective::VarGrad.off_policy(), Some(OffPolicy::VarGrad));
    }

    #[test]
    fn names_round_trip() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        let message = "pis-vargard".parse::<Method>().expect_err("no such method").to_string();
        assert!(message.contains("`pis-vargrad`"), "{message}");
        for method in Method::ALL {
            assert!(message.contains(method.name()), "{message}");
        }
    }
}

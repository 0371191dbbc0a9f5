//! Every valid combination of what can be chosen about a method, written out.

use ebbtide::network::Backbone;
use ebbtide::objective::{DestructionObjective, GenerationObjective};

use crate::reference::DestructionVariance;

/// One method, down to its options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// What trains the generation process.
    pub generation: GenerationObjective,
    /// What trains the destruction process; `None` where it is fixed.
    pub destruction: Option<DestructionObjective>,
    /// Whether γ is learned.
    pub learns_variance: bool,
    /// The form of β, where it is learned.
    pub multiplier: DestructionVariance,
    /// One trunk or two.
    pub backbone: Backbone,
    /// Whether each process sees a lagging copy of the other.
    pub lags: bool,
    /// Whether trajectories carry importance weights.
    pub weighted: bool,
}

impl Choice {
    /// All combinations with this generation objective.
    pub fn all(generation: GenerationObjective) -> Vec<Choice> {
        let mut all = Vec::new();
        for destruction in destructions(generation) {
            for learns_variance in [false, true] {
                for &multiplier in multipliers(destruction) {
                    for backbone in [Backbone::Shared, Backbone::Separate] {
                        for lags in [false, true] {
                            for &weighted in weightings(generation) {
                                all.push(Choice {
                                    generation,
                                    destruction,
                                    learns_variance,
                                    multiplier,
                                    backbone,
                                    lags,
                                    weighted,
                                });
                            }
                        }
                    }
                }
            }
        }
        all
    }
}

/// Trajectory balance of the destruction process needs the log Ẑ that only trajectory balance learns.
fn destructions(generation: GenerationObjective) -> Vec<Option<DestructionObjective>> {
    let mut list =
        vec![None, Some(DestructionObjective::VarGrad), Some(DestructionObjective::TrajectoryLikelihood)];
    if generation == GenerationObjective::TrajectoryBalance {
        list.push(Some(DestructionObjective::TrajectoryBalance));
    }
    list
}

fn multipliers(destruction: Option<DestructionObjective>) -> &'static [DestructionVariance] {
    match destruction {
        None => &[DestructionVariance::Bounded],
        Some(_) => &[DestructionVariance::Bounded, DestructionVariance::Exponential],
    }
}

/// Reverse KL is taken along its own simulation, never along replayed trajectories.
fn weightings(generation: GenerationObjective) -> &'static [bool] {
    match generation {
        GenerationObjective::ReverseKl => &[false],
        _ => &[false, true],
    }
}

#[test]
fn no_combination_is_missing_and_none_comes_twice() {
    let count = |generation| {
        let all = Choice::all(generation);
        for (i, choice) in all.iter().enumerate() {
            assert!(!all[..i].contains(choice), "{choice:?}");
        }
        all.len()
    };
    // Fixed destruction leaves variance, backbone, lag and weights: 2⁴; a learned one adds the multiplier: 2⁵.
    assert_eq!(count(GenerationObjective::TrajectoryBalance), 16 + 3 * 32);
    assert_eq!(count(GenerationObjective::VarGrad), 16 + 2 * 32);
    assert_eq!(count(GenerationObjective::ReverseKl), 8 + 2 * 16);
}

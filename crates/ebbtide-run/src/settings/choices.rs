//! The words that settings may be, and what they mean.

use ebbtide::network::{Backbone, View};
use ebbtide::objective::{DestructionObjective, GenerationObjective};
use ebbtide::train::{
    Arrangement, BoundSchedule, CorrectionReference, Keep, LikelihoodSource, Recall, Schedule,
};

use super::Preset;

pub(super) const PRESETS: &[(&str, Preset)] = &[named(Preset::Recommended), named(Preset::Paper)];

const fn named(preset: Preset) -> (&'static str, Preset) {
    (preset.name(), preset)
}

pub(super) const KEEPS: &[(&str, Keep)] = &[("newest", Keep::Newest), ("sample", Keep::Sample)];

pub(super) const RECALLS: &[(&str, Recall)] = &[("ranked", Recall::Ranked), ("even", Recall::Even)];

pub(super) const VARIANCES: &[(&str, bool)] = &[("fixed", false), ("learned", true)];

pub(super) const GENERATION_OBJECTIVES: &[(&str, GenerationObjective)] = &[
    ("trajectory-balance", GenerationObjective::TrajectoryBalance),
    ("var-grad", GenerationObjective::VarGrad),
    ("reverse-kl", GenerationObjective::ReverseKl),
];

pub(super) const DESTRUCTION_OBJECTIVES: &[(&str, Option<DestructionObjective>)] = &[
    ("none", None),
    ("trajectory-balance", Some(DestructionObjective::TrajectoryBalance)),
    ("var-grad", Some(DestructionObjective::VarGrad)),
    ("trajectory-likelihood", Some(DestructionObjective::TrajectoryLikelihood)),
];

pub(super) const SOURCES: &[(&str, LikelihoodSource)] =
    &[("fresh", LikelihoodSource::Fresh), ("generated", LikelihoodSource::Generated)];

pub(super) const BOUND_SCHEDULES: &[(&str, BoundSchedule)] =
    &[("constant", BoundSchedule::Constant), ("rising", BoundSchedule::Rising)];

pub(super) const MULTIPLIERS: &[(&str, bool)] = &[("bounded", false), ("exponential", true)];

pub(super) const BACKBONES: &[(&str, Backbone)] =
    &[("shared", Backbone::Shared), ("separate", Backbone::Separate)];

pub(super) const VIEWS: &[(&str, View)] = &[("plain", View::Plain), ("logarithmic", View::Logarithmic)];

pub(super) const ARRANGEMENTS: &[(&str, Arrangement)] =
    &[("separate", Arrangement::Separate), ("single", Arrangement::Single)];

pub(super) const REFERENCES: &[(&str, CorrectionReference)] =
    &[("buffer", CorrectionReference::Buffer), ("batch", CorrectionReference::Batch)];

pub(super) const FORMS: &[(&str, bool)] = &[("variance-rate", false), ("step-deviation", true)];

pub(super) const SCHEDULES: &[(&str, Schedule)] =
    &[("every", Schedule::Every), ("alternating", Schedule::Alternating)];

pub(super) const GRIDS: &[(&str, bool)] = &[("uniform", false), ("harmonic", true)];

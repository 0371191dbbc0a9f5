//! Why a setting may have no effect beside others.

use ebbtide::objective::GenerationObjective;
use ebbtide::process::Corrections;

use super::Settings;

pub fn fixed_destruction(settings: &Settings) -> Option<&'static str> {
    (settings.config.destruction == Corrections::Fixed).then_some("destruction.process = \"fixed\"")
}

pub fn no_replay(settings: &Settings) -> Option<&'static str> {
    (settings.config.replay.ratio == 0).then_some("replay.ratio = 0")
}

pub fn no_exploration(settings: &Settings) -> Option<&'static str> {
    (settings.config.exploration.factor == 0.0).then_some("exploration.factor = 0")
}

pub fn no_search(settings: &Settings) -> Option<&'static str> {
    settings.config.local_search.is_none().then_some("local-search.every = 0")
}

pub fn no_log_z(settings: &Settings) -> Option<&'static str> {
    let learned = settings.config.generation_objective == GenerationObjective::TrajectoryBalance;
    (!learned).then_some("generation.objective is not \"trajectory-balance\"")
}

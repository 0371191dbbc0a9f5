//! All settings, row by row.

use ebbtide::objective::DestructionObjective;
use ebbtide::process::{Corrections, GenerationVariance, Grid, Multiplier};
use ebbtide::train::{Arrangement, ExplorationForm, LocalSearch};

use super::Settings;
use super::choices::*;
use super::idle::{fixed_destruction, no_exploration, no_log_z, no_replay, no_search};
use super::placing::{BY, FACTOR, LOCATION, SCALE};
use super::setting::{Setting, float, name, quoted, set, single, single_or_off};
use super::value::{Mismatch, Value};

/// C₁ where no preset says otherwise.
const EXPONENTIAL_BOUND: f32 = 4.0;
const CORRECTION_BOUND: f32 = 0.9;
const EXPLORATION_SCALE: f64 = 100.0;

/// All settings that a preset fills in, in the order in which they are written and read. What they are presets *of* (target, method,
/// steps) comes before them.
pub const SETTINGS: &[Setting] = &[
    Setting::new(
        "grid",
        "How time is divided: \"uniform\", \"harmonic\" (steps of length 1 : 1/2 : 1/3 : …), or the times themselves, as in [0.0, 0.5, 1.0].",
        |s, v| {
            let steps = s.config.grid.steps();
            s.config.grid = match v {
                Value::List(times) => {
                    let times: Result<_, _> = times.iter().map(|(time, _)| time.number()).collect();
                    let wanted = "a list of numbers, or \"uniform\" or \"harmonic\"".to_owned();
                    Grid::Given(times.map_err(|_| Mismatch { wanted, nearest: None })?)
                }
                _ if v.choice(GRIDS)? => Grid::Harmonic(steps),
                _ => Grid::Uniform(steps),
            };
            Ok(())
        },
        |s| match &s.config.grid {
            Grid::Uniform(_) => quoted("uniform"),
            Grid::Harmonic(_) => quoted("harmonic"),
            Grid::Given(times) => format!("{times:?}"),
        },
    ),
    Setting::new(
        "iterations",
        "How many iterations. Where a target has a preset, exploration and learning rates do not depend on it, only a destruction bound that rises; for a density of one's own they follow it.",
        |s, v| set(&mut s.config.iterations, v.whole()),
        |s| s.config.iterations.to_string(),
    ),
    Setting::new(
        "batch",
        "Trajectories of each update.",
        |s, v| set(&mut s.config.batch, v.whole()),
        |s| s.config.batch.to_string(),
    ),
    Setting::new(
        "seed",
        "Names all random streams: the same seed gives the same bits, on any number of threads.",
        |s, v| set(&mut s.config.seed, v.whole()),
        |s| s.config.seed.to_string(),
    ),
    Setting::new(
        "sigma-squared",
        "σ², the variance that generation would gather over the whole time if nothing were learned.",
        |s, v| set(&mut s.config.sigma_squared, single(v)),
        |s| float(s.config.sigma_squared),
    ),
    Setting::new(
        "drift-bound",
        "The largest drift let through, in absolute value.",
        |s, v| set(&mut s.config.drift_bound, single(v)),
        |s| float(s.config.drift_bound),
    ),
    Setting::new(
        "target-network",
        "τ: how fast the lagging networks that each loss sees of the other process follow the live ones; \"off\" for no lag.",
        |s, v| set(&mut s.config.target_network, single_or_off(v)),
        |s| s.config.target_network.map_or_else(|| quoted("off"), float),
    )
    .idle_if(fixed_destruction),
    Setting::new(
        "averaging",
        "ρ: how fast the weights that samples are drawn with follow those that learn (they are an average over some 1/ρ iterations); \"off\" if they are the same.",
        |s, v| set(&mut s.config.averaging, single_or_off(v)),
        |s| s.config.averaging.map_or_else(|| quoted("off"), float),
    ),
    Setting::new(
        "schedule",
        "What an iteration consists of: \"every\" kind of update, or \"alternating\" ones (forward in even iterations, backward in odd ones).",
        |s, v| set(&mut s.config.schedule, v.choice(SCHEDULES)),
        |s| name(SCHEDULES, s.config.schedule),
    ),
    BY,
    LOCATION,
    SCALE,
    FACTOR,
    Setting::new(
        "generation.objective",
        "How the generation process learns: \"trajectory-balance\", \"var-grad\" or \"reverse-kl\".",
        |s, v| set(&mut s.config.generation_objective, v.choice(GENERATION_OBJECTIVES)),
        |s| name(GENERATION_OBJECTIVES, s.config.generation_objective),
    ),
    Setting::new(
        "generation.variance",
        "\"learned\" or \"fixed\".",
        |s, v| {
            s.config.generation_variance = match (v.choice(VARIANCES)?, s.config.generation_variance) {
                (false, _) => GenerationVariance::Fixed,
                (true, GenerationVariance::Fixed) => GenerationVariance::Learned { bound: EXPONENTIAL_BOUND },
                (true, learned) => learned,
            };
            Ok(())
        },
        |s| name(VARIANCES, s.config.generation_variance != GenerationVariance::Fixed),
    ),
    Setting::new(
        "generation.variance-bound",
        "C₁: the variance is multiplied by something between e^−C₁ and e^C₁.",
        |s, v| match &mut s.config.generation_variance {
            GenerationVariance::Learned { bound } => set(bound, single(v)),
            GenerationVariance::Fixed => single(v).map(drop),
        },
        |s| match s.config.generation_variance {
            GenerationVariance::Learned { bound } => float(bound),
            GenerationVariance::Fixed => float(EXPONENTIAL_BOUND),
        },
    )
    .idle_if(|s| {
        (s.config.generation_variance == GenerationVariance::Fixed).then_some("generation.variance = \"fixed\"")
    }),
    Setting::new(
        "destruction.process",
        "\"learned\" or \"fixed\" (the Brownian bridge).",
        |s, v| {
            s.config.destruction = match (v.choice(VARIANCES)?, s.config.destruction) {
                (false, _) => Corrections::Fixed,
                (true, Corrections::Fixed) => {
                    Corrections::Learned { bound: CORRECTION_BOUND, multiplier: Multiplier::Bounded }
                }
                (true, learned) => learned,
            };
            Ok(())
        },
        |s| name(VARIANCES, s.config.destruction != Corrections::Fixed),
    ),
    Setting::new(
        "destruction.objective",
        "How the destruction process learns: \"trajectory-balance\", \"var-grad\", \"trajectory-likelihood\", or \"none\" if it is fixed.",
        |s, v| set(&mut s.config.destruction_objective, v.choice(DESTRUCTION_OBJECTIVES)),
        |s| name(DESTRUCTION_OBJECTIVES, s.config.destruction_objective),
    ),
    Setting::new(
        "destruction.bound",
        "C₂: mean and variance are multiplied by something between 1 − C₂ and 1 + C₂.",
        |s, v| match &mut s.config.destruction {
            Corrections::Learned { bound, .. } => set(bound, single(v)),
            Corrections::Fixed => single(v).map(drop),
        },
        |s| match s.config.destruction {
            Corrections::Learned { bound, .. } => float(bound),
            Corrections::Fixed => float(CORRECTION_BOUND),
        },
    )
    .idle_if(fixed_destruction),
    Setting::new(
        "destruction.bound-schedule",
        "Whether C₂ is \"constant\" or \"rising\" from 0 over the training.",
        |s, v| set(&mut s.config.destruction_bound, v.choice(BOUND_SCHEDULES)),
        |s| name(BOUND_SCHEDULES, s.config.destruction_bound),
    )
    .idle_if(fixed_destruction),
    Setting::new(
        "destruction.multiplier",
        "The factor of the variance: \"bounded\" by C₂, or \"exponential\" as in generation.",
        |s, v| {
            let exponential = v.choice(MULTIPLIERS)?;
            if let Corrections::Learned { multiplier, .. } = &mut s.config.destruction {
                *multiplier = match exponential {
                    true => Multiplier::Exponential { bound: EXPONENTIAL_BOUND },
                    false => Multiplier::Bounded,
                };
            }
            Ok(())
        },
        |s| name(MULTIPLIERS, exponential_bound(s).is_some()),
    )
    .idle_if(fixed_destruction),
    Setting::new(
        "destruction.multiplier-bound",
        "C₁ of the exponential factor.",
        |s, v| match &mut s.config.destruction {
            Corrections::Learned { multiplier: Multiplier::Exponential { bound }, .. } => set(bound, single(v)),
            _ => single(v).map(drop),
        },
        |s| float(exponential_bound(s).unwrap_or(EXPONENTIAL_BOUND)),
    )
    .idle_if(|s| match exponential_bound(s) {
        Some(_) => None,
        None => fixed_destruction(s).or(Some("destruction.multiplier = \"bounded\"")),
    }),
    Setting::new(
        "destruction.likelihood-source",
        "What trajectory likelihood learns from: \"fresh\" batches, or all \"generated\" ones, replayed included.",
        |s, v| set(&mut s.config.likelihood_source, v.choice(SOURCES)),
        |s| name(SOURCES, s.config.likelihood_source),
    )
    .idle_if(|s| {
        let likelihood = s.config.destruction_objective == Some(DestructionObjective::TrajectoryLikelihood);
        (!likelihood).then_some("destruction.objective is not \"trajectory-likelihood\"")
    }),
    Setting::new(
        "network.width",
        "Features of each layer.",
        |s, v| set(&mut s.config.network.width, v.whole()),
        |s| s.config.network.width.to_string(),
    ),
    Setting::new(
        "network.depth",
        "Layers of the backbone.",
        |s, v| set(&mut s.config.network.depth, v.whole()),
        |s| s.config.network.depth.to_string(),
    ),
    Setting::new(
        "network.scale",
        "How large the states are that the network expects. The first weights that a state is multiplied with are divided by it.",
        |s, v| set(&mut s.config.network.scale, single(v)),
        |s| float(s.config.network.scale),
    ),
    Setting::new(
        "network.view",
        "What the network sees of a coordinate x: \"plain\", x itself, or \"logarithmic\", sign(x) ln(1 + |x|), where states are of very different sizes.",
        |s, v| set(&mut s.config.network.view, v.choice(VIEWS)),
        |s| name(VIEWS, s.config.network.view),
    ),
    Setting::new(
        "network.backbone",
        "\"shared\" by both processes, or \"separate\".",
        |s, v| set(&mut s.config.network.backbone, v.choice(BACKBONES)),
        |s| name(BACKBONES, s.config.network.backbone),
    )
    .idle_if(fixed_destruction),
    Setting::new(
        "optimisation.arrangement",
        "\"separate\" optimisers for the two processes, or a \"single\" one for the sum of their losses.",
        |s, v| set(&mut s.config.optimisation.arrangement, v.choice(ARRANGEMENTS)),
        |s| name(ARRANGEMENTS, s.config.optimisation.arrangement),
    )
    .idle_if(fixed_destruction),
    Setting::new(
        "optimisation.generation-rate",
        "Learning rate of the generation process.",
        |s, v| set(&mut s.config.optimisation.generation_rate, v.number()),
        |s| float(s.config.optimisation.generation_rate),
    ),
    Setting::new(
        "optimisation.destruction-rate",
        "Learning rate of the destruction process.",
        |s, v| set(&mut s.config.optimisation.destruction_rate, v.number()),
        |s| float(s.config.optimisation.destruction_rate),
    )
    .idle_if(|s| {
        let single = s.config.optimisation.arrangement == Arrangement::Single;
        single.then_some("optimisation.arrangement = \"single\"").or_else(|| fixed_destruction(s))
    }),
    Setting::new(
        LOG_Z_START,
        "Where log Ẑ begins. Where it is 0 and a pilot looks for the density, the pilot's estimate takes its place.",
        |s, v| set(&mut s.config.optimisation.log_z_start, v.number()),
        |s| float(s.config.optimisation.log_z_start),
    )
    .idle_if(no_log_z),
    Setting::new(
        "optimisation.log-z-rate",
        "Learning rate of log Ẑ, where trajectory balance learns it.",
        |s, v| set(&mut s.config.optimisation.log_z_rate, v.number()),
        |s| float(s.config.optimisation.log_z_rate),
    )
    .idle_if(no_log_z),
    Setting::new(
        "optimisation.decay",
        "All learning rates are multiplied by this after each iteration.",
        |s, v| set(&mut s.config.optimisation.decay, v.number()),
        |s| float(s.config.optimisation.decay),
    ),
    Setting::new(
        "optimisation.weight-decay",
        "L2 penalty, added to the gradient.",
        |s, v| set(&mut s.config.optimisation.weight_decay, single(v)),
        |s| float(s.config.optimisation.weight_decay),
    ),
    Setting::new(
        "optimisation.clip",
        "The largest norm of a gradient.",
        |s, v| set(&mut s.config.optimisation.clip, v.number()),
        |s| float(s.config.optimisation.clip),
    ),
    Setting::new(
        "optimisation.residual-bound",
        "Residuals of trajectory balance beyond this count in proportion and not squared, so that single trajectories in far tails do not decide what is learned; \"off\" squares all.",
        |s, v| set(&mut s.config.optimisation.residual_bound, single_or_off(v)),
        |s| s.config.optimisation.residual_bound.map_or_else(|| quoted("off"), float),
    )
    .idle_if(no_log_z),
    Setting::new(
        "replay.ratio",
        "Replayed batches for each fresh one; 0 turns replay off.",
        |s, v| set(&mut s.config.replay.ratio, v.whole()),
        |s| s.config.replay.ratio.to_string(),
    ),
    Setting::new(
        "replay.capacity",
        "How many trajectories are remembered.",
        |s, v| set(&mut s.config.replay.capacity, v.whole()),
        |s| s.config.replay.capacity.to_string(),
    )
    .idle_if(no_replay),
    Setting::new(
        "replay.priority-exponent",
        "α: 0 draws all alike, 1 in proportion to their loss.",
        |s, v| set(&mut s.config.replay.priority_exponent, v.number()),
        |s| float(s.config.replay.priority_exponent),
    )
    .idle_if(no_replay),
    Setting::new(
        "replay.correction-exponent",
        "β: how far importance weights correct for the drawing.",
        |s, v| set(&mut s.config.replay.correction_exponent, v.number()),
        |s| float(s.config.replay.correction_exponent),
    )
    .idle_if(no_replay),
    Setting::new(
        "replay.reference",
        "The smallest priority, whose importance weight is 1, is that of the \"buffer\" or of the \"batch\" drawn.",
        |s, v| set(&mut s.config.replay.reference, v.choice(REFERENCES)),
        |s| name(REFERENCES, s.config.replay.reference),
    )
    .idle_if(no_replay),
    Setting::new(
        "exploration.factor",
        "How much noise is added to training trajectories at first; 0 turns exploration off.",
        |s, v| set(&mut s.config.exploration.factor, v.number()),
        |s| float(s.config.exploration.factor),
    ),
    Setting::new(
        "exploration.anneal",
        "The iteration from which there is none; it falls linearly until then.",
        |s, v| set(&mut s.config.exploration.anneal, v.whole()),
        |s| s.config.exploration.anneal.to_string(),
    )
    .idle_if(no_exploration),
    Setting::new(
        "exploration.form",
        "What the factor e means: \"variance-rate\" adds a variance of e² · scale · Δ to a step of length Δ, \"step-deviation\" a standard deviation of e to each step.",
        |s, v| {
            s.config.exploration.form = match (v.choice(FORMS)?, s.config.exploration.form) {
                (true, _) => ExplorationForm::StepDeviation,
                (false, ExplorationForm::StepDeviation) => ExplorationForm::VarianceRate { scale: EXPLORATION_SCALE },
                (false, rate) => rate,
            };
            Ok(())
        },
        |s| name(FORMS, s.config.exploration.form == ExplorationForm::StepDeviation),
    )
    .idle_if(no_exploration),
    Setting::new(
        "exploration.scale",
        "100 makes e the standard deviation added to each of a hundred equal steps.",
        |s, v| match &mut s.config.exploration.form {
            ExplorationForm::VarianceRate { scale } => set(scale, v.number()),
            ExplorationForm::StepDeviation => v.number().map(drop),
        },
        |s| match s.config.exploration.form {
            ExplorationForm::VarianceRate { scale } => float(scale),
            ExplorationForm::StepDeviation => float(EXPLORATION_SCALE),
        },
    )
    .idle_if(|s| {
        let deviation = s.config.exploration.form == ExplorationForm::StepDeviation;
        no_exploration(s).or(deviation.then_some("exploration.form = \"step-deviation\""))
    }),
    Setting::new(
        "local-search.every",
        "Iterations from one local search (Langevin chains from where generation ended) to the next; 0 turns it off.",
        |s, v| {
            s.config.local_search = match v.whole()? {
                0 => None,
                every => Some(LocalSearch { every, ..s.config.local_search.unwrap_or_default() }),
            };
            Ok(())
        },
        |s| s.config.local_search.map_or(0, |search| search.every).to_string(),
    ),
    Setting::new(
        "local-search.steps",
        "Steps of each chain.",
        |s, v| search(s, |search| &mut search.steps, v.whole()),
        |s| searching(s).steps.to_string(),
    )
    .idle_if(no_search),
    Setting::new(
        "local-search.burn-in",
        "Steps at the beginning whose states are thrown away.",
        |s, v| search(s, |search| &mut search.burn_in, v.whole()),
        |s| searching(s).burn_in.to_string(),
    )
    .idle_if(no_search),
    Setting::new(
        "local-search.step-size",
        "The step size a search begins with.",
        |s, v| search(s, |search| &mut search.step_size, v.number()),
        |s| float(searching(s).step_size),
    )
    .idle_if(no_search),
    Setting::new(
        "local-search.acceptance",
        "The acceptance rate that the step size is steered towards.",
        |s, v| search(s, |search| &mut search.acceptance, v.number()),
        |s| float(searching(s).acceptance),
    )
    .idle_if(no_search),
    Setting::new(
        "local-search.capacity",
        "How many end points are remembered.",
        |s, v| search(s, |search| &mut search.capacity, v.whole()),
        |s| searching(s).capacity.to_string(),
    )
    .idle_if(no_search),
    Setting::new(
        "local-search.keep",
        "Which they are, when more have been found: the \"newest\", or a fair \"sample\" of all since the beginning, so that no find is forgotten.",
        |s, v| search(s, |search| &mut search.keep, v.choice(KEEPS)),
        |s| name(KEEPS, searching(s).keep),
    )
    .idle_if(no_search),
    Setting::new(
        "local-search.recall",
        "How they are drawn: \"ranked\", those of high density much more often (weight 1 / (0.01 N + rank)), or \"even\", all alike.",
        |s, v| search(s, |search| &mut search.recall, v.choice(RECALLS)),
        |s| name(RECALLS, searching(s).recall),
    )
    .idle_if(no_search),
    Setting::new(
        "evaluation.every",
        "Iterations from one evaluation to the next; 0 for none before the end. Usually a fiftieth of all.",
        |s, v| set(&mut s.keeping.evaluate_every, v.whole()),
        |s| s.keeping.evaluate_every.to_string(),
    ),
    Setting::new(
        "evaluation.samples",
        "Trajectories of an evaluation. The cost of the 2-Wasserstein distance at the end grows as their cube.",
        |s, v| set(&mut s.keeping.samples, v.whole()),
        |s| s.keeping.samples.to_string(),
    ),
    Setting::new(
        "evaluation.explosion",
        "A training counts as diverged when a bound is worse than the best by this many times 1 + its size.",
        |s, v| set(&mut s.keeping.explosion, v.number()),
        |s| float(s.keeping.explosion),
    ),
    Setting::new(
        "metrics.every",
        "Iterations from one line of metrics.jsonl to the next. Usually a fifth of those between evaluations.",
        |s, v| set(&mut s.keeping.record_every, v.whole()),
        |s| s.keeping.record_every.to_string(),
    ),
    Setting::new(
        "checkpoint.seconds",
        "Seconds from one checkpoint to the next; longer where writing one takes more than a hundredth of that.",
        |s, v| set(&mut s.keeping.save_seconds, v.number()),
        |s| float(s.keeping.save_seconds),
    ),
];

fn search<T>(
    settings: &mut Settings,
    field: fn(&mut LocalSearch) -> &mut T,
    value: Result<T, Mismatch>,
) -> Result<(), Mismatch> {
    match &mut settings.config.local_search {
        Some(search) => set(field(search), value),
        None => value.map(drop),
    }
}

fn searching(settings: &Settings) -> LocalSearch {
    settings.config.local_search.unwrap_or_default()
}

fn exponential_bound(settings: &Settings) -> Option<f32> {
    match settings.config.destruction {
        Corrections::Learned { multiplier: Multiplier::Exponential { bound }, .. } => Some(bound),
        _ => None,
    }
}

/// The setting that a pilot changes, beside those of the placement.
pub const LOG_Z_START: &str = "optimisation.log-z-start";

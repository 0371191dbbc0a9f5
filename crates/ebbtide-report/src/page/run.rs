//! The page of one run.

use ebbtide::target::{Formula, TargetError};
use ebbtide_run::number::estimate;
use ebbtide_run::reading::{Reading, Verdict};
use ebbtide_run::{Environment, Figures, Outcome, Status};
use maud::{Markup, html};

use super::{Page, Section, figure, figures, section};
use crate::chart::{Chart, number};
use crate::figure::samples::{Pair, chosen_pairs, marginals};
use crate::figure::{coverage, curves, decoded, multipliers, processes, samples, weights};
use crate::picture::Picture;
use crate::portrait::{Portrait, Stage, View};

/// What is shown of a run: its page, and the charts in it.
pub struct Shown {
    /// The page.
    pub page: Page,
    /// All charts, in the order of the page.
    pub charts: Vec<Chart>,
    /// All pictures that are no charts.
    pub pictures: Vec<Picture>,
}

/// The page of a run. `pairs` are the coordinates to look at together; none for a choice of our own.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{Stop, run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTlm), 3);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 100);
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// # let folder = run.folder().to_owned();
/// # run.go(&Stop::new(), &mut ())?;
/// use ebbtide_report::Pair;
/// use ebbtide_report::page::{self, Life, Shown};
/// use ebbtide_report::portrait::Portrait;
/// use ebbtide_run::trained::Which;
///
/// let portrait = Portrait::read(&folder, Which::Last, &threads)?;
/// let pairs: [Pair; 1] = [(0, 9)];
/// let Shown { page, charts, pictures } = page::run(&portrait, &pairs)?;
/// assert!(charts.iter().any(|chart| chart.name == "samples-0-9"));
/// assert!(page.to_html(Life::Still).contains("<figure id=\"samples-0-9\">"));
/// // Only latents are decoded into pictures.
/// assert!(pictures.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(portrait: &Portrait, pairs: &[Pair]) -> Result<Shown, TargetError> {
    let mut charts = Vec::new();
    let mut sections = sections_before(portrait, &mut charts);
    sections.extend(views(portrait, pairs, &mut charts)?);
    let pictures = portrait.view.as_ref().map(decoded::pictures).unwrap_or_default();
    let body = (!pictures.is_empty()).then(|| {
        html! { h2 { "Decoded" } div.charts { @for picture in &pictures { (picture.figure()) } } }
    });
    // After the overview and the curves: what samples are for.
    sections.insert(2, section("decoded-samples", body));
    sections.push(settings(portrait));
    let title = format!("{} – {}", portrait.settings.name(), "Ebbtide");
    Ok(Shown { page: Page { title, sections }, charts, pictures })
}

/// The sections that tell of a run's progress, without those that tell of its weights.
pub(crate) fn sections(portrait: &Portrait) -> Vec<Section> {
    sections_before(portrait, &mut Vec::new())
}

fn sections_before(portrait: &Portrait, charts: &mut Vec<Chart>) -> Vec<Section> {
    let curves = curves::charts(portrait);
    let body = (!curves.is_empty()).then(|| {
        html! { h2 { "Training" } (figures("charts", &curves)) }
    });
    charts.extend(curves);
    vec![overview(portrait), section("curves", body)]
}

/// What the newest figures are, as an outcome that may still change.
fn standing(portrait: &Portrait) -> Outcome {
    if let Some(outcome) = &portrait.outcome {
        return outcome.clone();
    }
    let target = portrait.settings.built_target();
    let (evaluated_at, figures) = portrait.figures().unzip();
    let outcome = Outcome::new(Status::Interrupted, &portrait.settings, &*target, portrait.iteration());
    let log_z_learned = portrait.records.iter().find(|record| Some(record.iteration) == evaluated_at);
    Outcome {
        evaluated_at,
        figures,
        log_z_learned: log_z_learned
            .map(|record| record.log_z_learned)
            .filter(|log_z| log_z.is_finite() && portrait.settings.learns_log_z()),
        seconds: portrait.records.last().map(|record| record.seconds),
        ..outcome
    }
}

fn overview(portrait: &Portrait) -> Section {
    let settings = &portrait.settings;
    let outcome = standing(portrait);
    let reading = Reading::of(&outcome, &*settings.built_target());
    let (kind, status) = status(portrait, &outcome);
    let mut about = format!(
        "{}, T = {}, seed {}; {} of {} iterations of {} trajectories",
        settings.method_name(),
        settings.steps(),
        settings.config.seed,
        number(portrait.iteration() as f64, 0),
        number(settings.config.iterations as f64, 0),
        settings.config.batch
    );
    if let Some(seconds) = outcome.seconds {
        about += &format!(" in {}", duration(seconds));
    }
    if let Some(evaluations) = outcome.evaluations {
        about += &format!(", {} evaluations of the density", number(evaluations as f64, 0));
    }
    let body = html! {
        header {
            h1 { (settings.target.to_string()) }
            span.badge.(kind) { (status) }
            @if let (Some(verdict), Some(words)) = (reading.verdict, reading.words()) {
                @if portrait.stage == Stage::Training {
                    span.badge.plain { "so far " (words) }
                } @else {
                    @let kind = match verdict { Verdict::Good => "good", Verdict::Weighted => "fair", Verdict::Untrustworthy => "poor" };
                    span.badge.(kind) { (words) }
                }
            }
            @if let Some(formula) = settings.target.formula() {
                p.formula { code { (formula.text()) } (given(formula)) }
            }
            @if let Some(function) = settings.target.python().map(|file| file.function()) {
                p.formula { code { (function.name) } " in " code { (function.file.display().to_string()) } }
            }
            @if let Some(file) = settings.target.onnx() {
                p.formula { "a network in " code { (file.file().display().to_string()) } }
            }
            @if let Some(files) = settings.target.latent().map(|latent| latent.files()) {
                p.formula {
                    "latents of " code { (files.generator.display().to_string()) } " under "
                    code { (files.reward.display().to_string()) } ", β = " (number(files.beta, 2))
                }
            }
            p.about { (about) }
        }
        @if portrait.stage != Stage::Over { (progress(portrait)) }
        @if let Status::Diverged { point, .. } = &outcome.status {
            @if !point.is_empty() {
                p { "The worst trajectory ended at x = (" (coordinates(point)) ")." }
            }
        }
        (tiles(&outcome))
        @if !reading.sentences.is_empty() {
            ul.reading { @for sentence in &reading.sentences { li { (sentence.text) } } }
        }
        @for remark in &portrait.remarks { p.about { (remark) } }
    };
    section("overview", Some(body))
}

/// The values of a formula's parameters.
fn given(formula: &Formula) -> String {
    let value = |(name, value): &(String, f64)| format!("{name} = {value}");
    match formula.parameters() {
        [] => String::new(),
        parameters => format!(" with {}", parameters.iter().map(value).collect::<Vec<_>>().join(", ")),
    }
}

/// The first coordinates of a point.
fn coordinates(point: &[f32]) -> String {
    let mut shown: Vec<String> = point.iter().take(6).map(|&x| number(f64::from(x), 3)).collect();
    if point.len() > shown.len() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn status(portrait: &Portrait, outcome: &Outcome) -> (&'static str, String) {
    match (portrait.stage, &outcome.status) {
        (Stage::Training, _) => ("good", "training".to_owned()),
        (_, Status::Diverged { at, .. }) => {
            ("poor", format!("diverged at iteration {}", number(*at as f64, 0)))
        }
        (Stage::Stopped, _) => ("fair", "interrupted".to_owned()),
        (Stage::Over, _) => ("plain", "finished".to_owned()),
    }
}

fn progress(portrait: &Portrait) -> Markup {
    let (done, all) = (portrait.iteration(), portrait.settings.config.iterations);
    let last = portrait.records.last().filter(|record| record.seconds > 0.0);
    let pace = last.map(|record| record.iteration as f64 / record.seconds);
    html! {
        progress max=(all) value=(done) aria-label="iterations done" {}
        @if let Some(pace) = pace {
            p.about {
                (number(pace, if pace < 10.0 { 1 } else { 0 })) " iterations a second, evaluations not counted"
                @if portrait.stage == Stage::Training {
                    "; about " (duration(all.saturating_sub(done) as f64 / pace)) " to go"
                }
            }
        }
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 100.0 => format!("{seconds:.0} s"),
        seconds if seconds < 6000.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

fn tiles(outcome: &Outcome) -> Markup {
    let mut tiles: Vec<(&str, String, Option<String>, String)> = Vec::new();
    if let Some(figures) = &outcome.figures {
        let Figures { elbo, elbo_error, eubo, eubo_error, log_z, log_z_error, ess, pareto_k } = *figures;
        let (value, error) = estimate(elbo, elbo_error);
        tiles.push(("ELBO", value, Some(error), "lower bound on log Z".to_owned()));
        let truth = outcome
            .log_z_true
            .map_or_else(String::new, |truth| format!("; the truth is {}", number(truth, 3)));
        let (value, error) = estimate(log_z, log_z_error);
        let few = outcome.too_few().map_or_else(String::new, |effective| {
            format!("; rests on {} samples: do not trust it", number(effective, 0))
        });
        tiles.push(("log Z", value, Some(error), format!("importance-weighted{truth}{few}")));
        if let Some((eubo, eubo_error)) = eubo.zip(eubo_error) {
            let (value, error) = estimate(eubo, eubo_error);
            tiles.push(("EUBO", value, Some(error), "upper bound on log Z".to_owned()));
        }
        let samples = outcome.samples;
        tiles.push((
            "ESS",
            format!("{} %", number(100.0 * ess, 1)),
            None,
            format!("effective share of {samples} samples"),
        ));
        if let Some(k) = pareto_k {
            tiles.push((
                "Pareto k̂",
                number(k, 2),
                None,
                "tail of the weights; below 0.7 estimates settle".to_owned(),
            ));
        }
    }
    if let Some(rewards) = &outcome.rewards {
        let (value, error) = estimate(rewards.log_reward, rewards.log_reward_error);
        let prior = format!("mean log reward; the prior's is {}", number(rewards.prior_log_reward, 3));
        tiles.push(("log r", value, Some(error), prior));
        if let (Some(diversity), Some(prior)) = (rewards.diversity, rewards.prior_diversity) {
            let about =
                format!("diversity: mean cosine distance of embeddings; the prior's is {}", number(prior, 3));
            tiles.push(("variety", number(diversity, 3), None, about));
        }
    }
    if let (Some(w2), Some(floor)) = (outcome.w2, outcome.w2_floor) {
        let about = format!("2-Wasserstein; exact draws get {}", number(floor, 3));
        tiles.push(("W2", number(w2, 3), None, about));
    }
    if let Some((reached, all)) = outcome.modes {
        tiles.push(("modes", format!("{reached} of {all}"), None, "with at least one sample".to_owned()));
    }
    let at = outcome.evaluated_at.filter(|at| *at != outcome.iterations);
    html! {
        @if !tiles.is_empty() {
            dl.tiles {
                @for (name, value, error, about) in &tiles {
                    div {
                        dt { (name) }
                        dd { (value) @if let Some(error) = error { small { " ± " (error) } } }
                        dd.note { (about) }
                    }
                }
            }
        }
        @if let Some(at) = at { p.about { "Figures of the evaluation at iteration " (number(at as f64, 0)) "." } }
    }
}

/// The sections that tell of a run's weights; empty before there are any.
fn views(portrait: &Portrait, pairs: &[Pair], charts: &mut Vec<Chart>) -> Result<Vec<Section>, TargetError> {
    let Some(view) = &portrait.view else {
        let why = match portrait.stage {
            Stage::Over => "There are no pictures: the run ended before its first checkpoint.",
            Stage::Training | Stage::Stopped => "There will be pictures with the first checkpoint.",
        };
        let waiting = html! { h2 { "Samples" } p.about { (why) } };
        let mut empty = vec![section("samples", Some(waiting))];
        empty.extend(["marginals", "processes", "balance"].map(|id| section(id, None)));
        return Ok(empty);
    };
    let chosen = if pairs.is_empty() { chosen_pairs(view) } else { pairs.to_vec() };
    let scatters = samples::charts(view, &chosen)?;
    let marginals = marginals(view);
    let modes = coverage::chart(view);
    let weights = weights::chart(view);
    let after = format!("After {} iterations.", number(view.iteration as f64, 0));
    let sections = vec![
        section(
            "samples",
            (!scatters.is_empty()).then(|| {
                html! { h2 { "Samples" } p.about { (after) } (figures("charts", &scatters)) }
            }),
        ),
        section("marginals", Some(marginal_words(view, &marginals))),
        process_section(portrait, view, chosen.first().copied(), charts)?,
        section(
            "balance",
            Some(html! {
                h2 { @if modes.is_some() { "Modes and weights" } @else { "Weights" } }
                div.charts { @if let Some(chart) = &modes { (figure(chart)) } (figure(&weights)) }
            }),
        ),
    ];
    charts.extend(scatters);
    charts.extend(marginals);
    charts.extend(modes);
    charts.push(weights);
    Ok(sections)
}

fn marginal_words(view: &View, marginals: &[Chart]) -> Markup {
    let line = match view.truth.is_some() {
        true => "the line is the truth, from exact draws",
        false => "the line is what weights make of them, in want of exact draws",
    };
    let more = view.dim().saturating_sub(marginals.len());
    html! {
        h2 { "Marginals" }
        p.about {
            "Bars are samples; " (line) "."
            @if more > 0 { " " (more) " further coordinates are not shown." }
        }
        (figures(if view.dim() <= samples::BROAD { "charts" } else { "small" }, marginals))
    }
}

fn process_section(
    portrait: &Portrait,
    view: &View,
    pair: Option<Pair>,
    charts: &mut Vec<Chart>,
) -> Result<Section, TargetError> {
    let strip = pair.map(|pair| processes::strip(view, pair)).transpose()?;
    let ways = processes::ways(view, pair.map_or(0, |pair| pair.0));
    let multipliers = multipliers::charts(view, &portrait.settings);
    let from = if view.exact { "exact draws" } else { "samples" };
    let body = html! {
        h2 { "The two processes" }
        p.about {
            "Generation leads from the origin to samples, destruction from " (from) " back. At each time the two clouds should look alike; where "
            "they do not, the sampler has something left to learn. Shades are the target's."
        }
        @if let Some(strip) = &strip {
            @if strip.generation.len() < view.generated.steps() {
                p.about { (strip.generation.len()) " of " (view.generated.steps()) " times are shown." }
            }
            h3 { "Generation, from left to right" }
            (figures("strip", &strip.generation))
            h3 { "Destruction, from right to left" }
            (figures("strip", &strip.destruction))
        }
        h3 { "Trajectories" }
        (figures("charts", &ways))
        h3 { "What was learned of each step" }
        @if multipliers.is_empty() {
            p.about { "Nothing but drifts: with this method γ, α and β are 1." }
        } @else {
            p.about {
                "Lines are medians; bands hold nine in ten of all trajectories and coordinates."
                @if view.generated.steps() == 1 { " With one step, there is nothing to learn of destruction." }
            }
            (figures("charts", &multipliers))
        }
    };
    if let Some(strip) = strip {
        charts.extend(strip.generation);
        charts.extend(strip.destruction);
    }
    charts.extend(ways);
    charts.extend(multipliers);
    Ok(section("processes", Some(body)))
}

fn settings(portrait: &Portrait) -> Section {
    let body = html! {
        h2 { "Settings" }
        @if let Some(environment) = &portrait.environment { (machine(environment)) }
        p.about { "Kept in " code { (portrait.folder.display()) } }
        details {
            summary { "All settings, as a file that " code { "ebbtide train --config" } " takes" }
            pre { (portrait.settings.to_toml()) }
        }
    };
    section("settings", Some(body))
}

fn machine(environment: &Environment) -> Markup {
    let Environment { version, commit, cpu, threads, system, begun, command, .. } = environment;
    html! {
        p.about {
            "Begun " (begun) " with Ebbtide " (version) " (" (commit) ") on " (threads) @if *threads == 1 { " thread" } @else { " threads" } " of " (cpu) ", " (system) ": "
            code { (command.join(" ")) }
        }
    }
}

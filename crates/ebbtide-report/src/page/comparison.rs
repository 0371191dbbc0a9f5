//! The page of several runs.

use std::path::Path;

use ebbtide::objective::Method;
use ebbtide_run::compare::{Found, Group, Mean, group, is_done};
use ebbtide_run::folder::Files;
use ebbtide_run::number::estimate;
use ebbtide_run::settings::Settings;
use ebbtide_run::{Outcome, Status};
use maud::{Markup, html};

use super::run::Shown;
use super::{Page, Section, figures, section};
use crate::chart::{Chart, number};
use crate::figure::over_steps;

/// The page of these runs. `place` is where it is going to stand: links to the runs' own pages lead from there.
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
/// use ebbtide_report::page::{Life, comparison};
/// use ebbtide_run::compare::gather;
///
/// let found = gather(&[runs.path().to_owned()]).found;
/// let shown = comparison("Funnels", &found, runs.path());
/// assert_eq!(shown.page.title, "Funnels – Ebbtide");
/// assert!(shown.charts.iter().any(|chart| chart.name == "easy-funnel-elbo"));
/// let name = folder.file_name().expect("runs have names").to_string_lossy();
/// assert!(shown.page.to_html(Life::Still).contains(&*name));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn comparison(title: &str, found: &[Found], place: &Path) -> Shown {
    let groups = group(found);
    let mut charts = Vec::new();
    let targets = section("targets", Some(targets(&groups, &mut charts)));
    let sections =
        vec![overview(title, found, &groups), targets, section("runs", Some(single_runs(found, place)))];
    Shown { page: Page { title: format!("{title} – Ebbtide"), sections }, charts, pictures: Vec::new() }
}

fn overview(title: &str, found: &[Found], groups: &[Group]) -> Section {
    let count = |of: fn(&Group) -> usize| groups.iter().map(of).sum::<usize>();
    let (finished, diverged, unfinished) =
        (count(|group| group.seeds.len()), count(|group| group.diverged), count(|group| group.unfinished));
    let body = html! {
        header {
            h1 { (title) }
            span.badge.plain { (found.len()) @if found.len() == 1 { " run" } @else { " runs" } }
            @if diverged > 0 { span.badge.poor { (diverged) " diverged" } }
            @if unfinished > 0 { span.badge.fair { (unfinished) " unfinished" } }
            p.about { "Means and standard deviations over the seeds of runs that finished (" (finished) "); those that diverged are counted, not averaged." }
        }
    };
    section("overview", Some(body))
}

fn targets(groups: &[Group], charts: &mut Vec<Chart>) -> Markup {
    let mut names: Vec<&str> = groups.iter().map(|group| group.target.as_str()).collect();
    names.dedup();
    let parts: Vec<(&str, Vec<&Group>, Vec<Chart>)> = names
        .into_iter()
        .map(|name| {
            let own: Vec<&Group> = groups.iter().filter(|group| group.target == name).collect();
            let drawn = over_steps::charts(&own);
            (name, own, drawn)
        })
        .collect();
    charts.extend(parts.iter().flat_map(|(_, _, drawn)| drawn.iter().cloned()));
    html! {
        @for (name, own, drawn) in &parts {
            h2 { (name) }
            (figures("charts", drawn))
            (table(own))
            @for group in own {
                @for note in &group.notes { p.about { (group.method) ", T = " (group.steps) ": " (note) } }
            }
        }
    }
}

fn table(groups: &[&Group]) -> Markup {
    let cell = |mean: Option<Mean>, decimals: usize| match mean {
        None => "–".to_owned(),
        Some(Mean { mean, deviation: None, .. }) => number(mean, decimals),
        Some(Mean { mean, deviation: Some(deviation), .. }) => {
            let (mean, deviation) = estimate(mean, deviation);
            format!("{mean} ± {deviation}")
        }
    };
    html! {
        div.table {
            table {
                thead { tr {
                    th.word { "method" } th { "T" } th { "finished" } th { "diverged" } th { "ELBO" } th { "EUBO" } th { "log Z" }
                    th { "ESS %" } th { "W2" } th { "modes" } th { "seconds" }
                } }
                tbody {
                    @for group in groups {
                        tr {
                            td.word { (group.method) }
                            td { (group.steps) }
                            td { (group.seeds.len()) @if group.unfinished > 0 { " (+" (group.unfinished) " unfinished)" } }
                            td { (group.diverged) }
                            td { (cell(group.elbo, 3)) }
                            td { (cell(group.eubo, 3)) }
                            td { (cell(group.log_z, 3)) }
                            td { (cell(group.ess.map(Mean::percent), 1)) }
                            td { (cell(group.w2, 3)) }
                            td { (cell(group.modes, 1)) }
                            td { (cell(group.seconds, 0)) }
                        }
                    }
                }
            }
        }
    }
}

fn single_runs(found: &[Found], place: &Path) -> Markup {
    let mut found: Vec<&Found> = found.iter().collect();
    found.sort_by_key(|run| {
        let Settings { target, method, config, .. } = &run.settings;
        let method = Method::ALL.iter().position(|known| Some(*known) == *method);
        (target.rank(), method.is_none(), method, run.settings.steps(), config.seed)
    });
    html! {
        h2 { "Single runs" }
        div.table {
            table {
                thead { tr {
                    th.word { "run" } th.word { "status" } th { "iterations" } th { "ELBO" } th { "EUBO" } th { "ESS %" } th { "W2" }
                } }
                tbody { @for run in found { (single_run(run, place)) } }
            }
        }
    }
}

fn single_run(run: &Found, place: &Path) -> Markup {
    let name = run
        .folder
        .file_name()
        .map_or_else(|| run.settings.name(), |name| name.to_string_lossy().into_owned());
    let outcome = run.outcome.as_ref();
    let figures = outcome.and_then(|outcome| outcome.figures);
    let of = |value: Option<f64>, decimals: usize| {
        value.map_or_else(|| "–".to_owned(), |value| number(value, decimals))
    };
    let (kind, status) = match outcome.map(|outcome| &outcome.status) {
        Some(Status::Finished) if !is_done(run) => ("fair", "made longer"),
        Some(Status::Finished) => ("plain", "finished"),
        Some(Status::Diverged { .. }) => ("poor", "diverged"),
        Some(Status::Interrupted) => ("fair", "interrupted"),
        None => ("fair", "not ended"),
    };
    let iterations =
        outcome.map_or_else(|| "–".to_owned(), |Outcome { iterations, .. }| number(*iterations as f64, 0));
    html! {
        tr {
            td.word { @match link(run, place) { Some(link) => { a href=(link) { (name) } } None => (name) } }
            td.word.(kind) { (status) }
            td { (iterations) }
            td { (of(figures.map(|f| f.elbo), 3)) }
            td { (of(figures.and_then(|f| f.eubo), 3)) }
            td { (of(figures.map(|f| 100.0 * f.ess), 1)) }
            td { (of(outcome.and_then(|outcome| outcome.w2), 3)) }
        }
    }
}

/// The way from the folder of this page to the page of a run, if it has one that is beneath.
fn link(run: &Found, place: &Path) -> Option<String> {
    let report = Files(&run.folder).report();
    let (report, place) = (report.canonicalize().ok()?, place.canonicalize().ok()?);
    let way = report.strip_prefix(place).ok()?;
    let parts = way.components().map(|part| encoded(&part.as_os_str().to_string_lossy()));
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// A name as an address takes it.
fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_where_they_should() {
        assert_eq!(encoded("25gmm-tb-tb-T5-s0"), "25gmm-tb-tb-T5-s0");
        assert_eq!(encoded("a b#ü"), "a%20b%23%C3%BC");
    }
}

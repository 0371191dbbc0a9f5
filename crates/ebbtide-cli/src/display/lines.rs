//! Plain lines for pipes, log files and continuous integration.

use super::row::{Phase, View};
use crate::words;

/// What is said when a run begins.
pub fn begin(view: &View, several: bool) -> String {
    let View { iteration, iterations, .. } = view;
    let mut text = prefix(view, several);
    text += &match iteration {
        0 => format!("begins: {iterations} iterations"),
        _ => format!("goes on after {iteration} of {iterations} iterations"),
    };
    if let Some(folder) = &view.folder {
        text += &format!(", kept in {}", folder.display());
    }
    words::printable(&text)
}

/// What is said while it goes on, and when it is over.
pub fn progress(view: &View, several: bool) -> String {
    let mut parts = vec![format!("{}/{}", view.iteration, view.iterations)];
    let losses: Vec<String> =
        [view.generation_loss, view.destruction_loss].into_iter().flatten().map(words::number).collect();
    if !losses.is_empty() {
        parts.push(format!("loss {}", losses.join(" / ")));
    }
    if let Some(figures) = &view.figures {
        parts.push(format!("ELBO {}", words::number(figures.elbo)));
        parts.extend(figures.eubo.map(|eubo| format!("EUBO {}", words::number(eubo))));
        parts.push(format!("ESS {}", words::percentage(figures.ess)));
    }
    parts.extend(view.log_z.map(|log_z| format!("log Ẑ {}", words::number(log_z))));
    parts.extend(view.rate.map(|rate| format!("{} it/s", words::rate(rate))));
    parts.extend(state(view));
    parts.extend(warnings(view));
    words::printable(&(prefix(view, several) + &parts.join("  ")))
}

/// What is said besides.
pub fn remark(view: &View, text: &str, several: bool) -> String {
    words::printable(&(prefix(view, several) + text))
}

fn prefix(view: &View, several: bool) -> String {
    if several { format!("{}  ", view.name) } else { String::new() }
}

/// The time that is left, or how it ended.
fn state(view: &View) -> Option<String> {
    let elapsed = view.elapsed.map(words::duration).unwrap_or_default();
    match view.phase {
        Phase::Training => view.left.map(|left| format!("left {}", words::duration(left))),
        Phase::Done => Some(format!("done in {elapsed}")),
        Phase::Interrupted | Phase::Failed => Some(format!("{} after {elapsed}", view.phase.word())),
        Phase::Diverged => Some(format!("diverged {}", view.reason.as_deref().unwrap_or_default())),
        phase => Some(phase.word().to_owned()),
    }
}

/// What is yellow elsewhere, in words.
fn warnings(view: &View) -> Option<String> {
    let alarms = view.alarms;
    let warnings: Vec<&str> = [
        (alarms.generation_loss, "the generation loss grew a hundredfold"),
        (alarms.destruction_loss, "the destruction loss grew a hundredfold"),
        (alarms.elbo, "the ELBO is far below its best"),
        (alarms.ess, "the ESS fell below 1 %"),
    ]
    .into_iter()
    .filter_map(|(raised, words)| raised.then_some(words))
    .collect();
    (!warnings.is_empty()).then(|| format!("({})", warnings.join("; ")))
}

//! What a run came to: a table for people.

use std::fmt;
use std::path::Path;

use console::{Alignment, pad_str};
use ebbtide_run::folder::Files;
use ebbtide_run::reading::Reading;
use ebbtide_run::{Figures, Outcome, Status};

use crate::words;

/// So many coordinates of a point are enough to recognise it.
const COORDINATES: usize = 6;

/// The figures of a run that is over, with what they mean and how to go on.
pub struct FinalTable<'a> {
    /// What it came to.
    pub outcome: &'a Outcome,
    /// What that means.
    pub reading: &'a Reading,
    /// Where it is kept, if anywhere.
    pub folder: Option<&'a Path>,
}

impl fmt::Display for FinalTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Outcome { target, method, steps, seed, iterations, length, batch, .. } = self.outcome;
        write!(f, "{target}, {method}, T = {steps}, seed {seed}: {iterations}")?;
        if iterations != length {
            write!(f, " of {length}")?;
        }
        write!(f, " iterations of {batch}")?;
        match self.outcome.seconds {
            Some(seconds) if seconds < 10.0 => writeln!(f, " in {seconds:.1} s")?,
            Some(seconds) => writeln!(f, " in {seconds:.0} s")?,
            None => writeln!(f)?,
        }
        if self.folder.is_some() {
            self.status(f)?;
        }
        if let Some(figures) = &self.outcome.figures {
            self.bounds(f, figures)?;
        }
        self.draws(f)?;
        if let Some(evaluations) = self.outcome.evaluations {
            row(f, "E(x)", evaluations.to_string(), "evaluations of the density")?;
        }
        self.verdict(f)?;
        match self.folder {
            Some(folder) => {
                row(f, "kept in", folder.display().to_string(), "")?;
                let report = Files(folder).report();
                if report.exists() { row(f, "report", report.display().to_string(), "") } else { Ok(()) }
            }
            None => Ok(()),
        }
    }
}

impl FinalTable<'_> {
    /// What there is to say of a run that did not finish.
    fn status(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.outcome.status {
            Status::Finished => Ok(()),
            Status::Interrupted => {
                let folder = self.folder.map_or_else(String::new, argument);
                writeln!(f, "interrupted; to go on: ebbtide resume {folder}")
            }
            Status::Diverged { at, reason, point } => {
                writeln!(f, "diverged at iteration {at}: {}", words::printable(reason))?;
                if !point.is_empty() {
                    writeln!(f, "  the worst trajectory ends at x = {}", coordinates(point))?;
                }
                if self.outcome.figures.is_some() {
                    writeln!(f, "  the figures are those of the last evaluation before")?;
                }
                Ok(())
            }
        }
    }

    /// What is known of log Z.
    fn bounds(&self, f: &mut fmt::Formatter, figures: &Figures) -> fmt::Result {
        let estimate = |value: f64, error: f64| format!("{value:.4} ± {error:.4}");
        row(f, "ELBO", estimate(figures.elbo, figures.elbo_error), "lower bound on log Z")?;
        let mut about = "importance-weighted".to_owned();
        if let Some(truth) = self.outcome.log_z_true {
            about += &format!("; the truth is {truth:.4}");
        }
        if let Some(effective) = self.outcome.too_few() {
            about += &format!("; rests on {effective:.0} samples: do not trust it");
        }
        row(f, "log Z", estimate(figures.log_z, figures.log_z_error), &about)?;
        if let (Some(eubo), Some(error)) = (figures.eubo, figures.eubo_error) {
            row(f, "EUBO", estimate(eubo, error), "upper bound on log Z")?;
        }
        let about = format!("effective share of the {} samples", self.outcome.samples);
        row(f, "ESS", format!("{:.1} %", 100.0 * figures.ess), &about)?;
        match figures.pareto_k {
            Some(k) => {
                row(f, "k̂", format!("{k:.2}"), "tail of the weights; estimates settle where it is below 0.7")
            }
            None => Ok(()),
        }
    }

    /// In a word, and the sentence that decided it.
    fn verdict(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Some(words) = self.reading.words() else { return Ok(()) };
        row(f, "verdict", words, "")?;
        match self.reading.deciding() {
            Some(sentence) => row(f, "", words::printable(&sentence.text), ""),
            None => Ok(()),
        }
    }

    /// What is known of the samples, and which weights they came from.
    fn draws(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let outcome = self.outcome;
        if let (Some(w2), Some(floor)) = (outcome.w2, outcome.w2_floor) {
            let about = format!("2-Wasserstein distance; exact samples get {floor:.4}");
            row(f, "W2", format!("{w2:.4}"), &about)?;
        }
        if let (Some((reached, all)), Some(variation)) = (outcome.modes, outcome.modes_total_variation) {
            let about = format!("reached; total variation {variation:.3} from the true shares");
            row(f, "modes", format!("{reached} of {all}"), &about)?;
        }
        if let Some(rewards) = &outcome.rewards {
            let value = format!("{:.4} ± {:.4}", rewards.log_reward, rewards.log_reward_error);
            let prior = format!("mean log reward; the prior's is {:.4}", rewards.prior_log_reward);
            row(f, "log r", value, &prior)?;
            if let (Some(diversity), Some(prior)) = (rewards.diversity, rewards.prior_diversity) {
                let about = format!("mean cosine distance of embeddings; the prior's is {prior:.4}");
                row(f, "variety", format!("{diversity:.4}"), &about)?;
            }
        }
        match outcome.best_iteration {
            Some(best) => {
                row(f, "best", format!("iteration {best}"), "whose weights are kept beside the last ones")
            }
            None => Ok(()),
        }
    }
}

fn row(f: &mut fmt::Formatter, name: &str, value: String, about: &str) -> fmt::Result {
    // Not by characters: k̂ is two of them.
    let name = pad_str(name, 8, Alignment::Left, None);
    writeln!(f, "{}", format!("  {name}{value:<18}  {about}").trim_end())
}

/// A point by its first coordinates.
fn coordinates(point: &[f32]) -> String {
    let first: Vec<String> = point.iter().take(COORDINATES).map(f32::to_string).collect();
    match point.len().saturating_sub(COORDINATES) {
        0 => format!("[{}]", first.join(", ")),
        more => format!("[{}, … {more} more]", first.join(", ")),
    }
}

/// A path as a shell takes it.
fn argument(path: &Path) -> String {
    let text = path.display().to_string();
    let harmless = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    if !text.is_empty() && text.chars().all(harmless) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use ebbtide::target::NamedTarget;

    use super::*;

    fn outcome(status: Status) -> Outcome {
        Outcome {
            status,
            target: "25gmm".to_owned(),
            method: "tb-tb".to_owned(),
            steps: 5,
            batch: 512,
            seed: 0,
            iterations: 1234,
            length: 1234,
            log_z_learned: None,
            searched: Some(true),
            evaluated_at: Some(1234),
            samples: 2048,
            seconds: Some(61.2),
            evaluations: Some(631_808),
            figures: Some(Figures {
                elbo: -0.4312,
                elbo_error: 0.0211,
                eubo: Some(0.2123),
                eubo_error: Some(0.0101),
                log_z: -0.0312,
                log_z_error: 0.0123,
                ess: 0.7123,
                pareto_k: None,
            }),
            log_z_true: Some(0.0),
            w2: None,
            w2_floor: None,
            modes: Some((24, 25)),
            modes_total_variation: Some(0.061),
            rewards: None,
            explosion: Some(1e6),
            best_iteration: None,
        }
    }

    fn shown(outcome: &Outcome) -> String {
        let reading = Reading::of(outcome, &*NamedTarget::Gmm25.build());
        FinalTable { outcome, reading: &reading, folder: Some(Path::new("runs/a b")) }.to_string()
    }

    #[test]
    fn a_finished_run_has_its_figures() {
        assert_eq!(
            shown(&outcome(Status::Finished)),
            "25gmm, tb-tb, T = 5, seed 0: 1234 iterations of 512 in 61 s
  ELBO    -0.4312 ± 0.0211    lower bound on log Z
  log Z   -0.0312 ± 0.0123    importance-weighted; the truth is 0.0000
  EUBO    0.2123 ± 0.0101     upper bound on log Z
  ESS     71.2 %              effective share of the 2048 samples
  modes   24 of 25            reached; total variation 0.061 from the true shares
  E(x)    631808              evaluations of the density
  verdict usable with weights
          24 of 25 modes are reached; their shares are off by 0.061 in total, as chance has it (about 0.043); more exploration or local search may help.
  kept in runs/a b
"
        );
    }

    #[test]
    fn an_interrupted_run_says_how_to_go_on() {
        let interrupted = outcome(Status::Interrupted);
        assert!(shown(&interrupted).contains("\ninterrupted; to go on: ebbtide resume 'runs/a b'\n"));
        let unfinished = Outcome { iterations: 99, ..interrupted };
        assert!(shown(&unfinished).contains("seed 0: 99 of 1234 iterations of 512"));
    }

    #[test]
    fn a_diverged_run_says_where() {
        let (reason, point) = ("the generation loss is NaN".to_owned(), vec![0.5; 32]);
        let mut diverged = outcome(Status::Diverged { at: 1235, reason, point });
        let text = shown(&diverged);
        assert!(text.contains("\ndiverged at iteration 1235: the generation loss is NaN\n"), "{text}");
        assert!(text.contains("x = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, … 26 more]\n"), "{text}");
        diverged.figures = None;
        assert!(!shown(&diverged).contains("ELBO"));
    }
}

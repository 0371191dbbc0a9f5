//! What the figures of a run mean, in words.

#[cfg(test)]
mod tests;

use std::f64::consts::PI;
use std::fmt;

use ebbtide::target::Target;

use crate::number::{number, readable};
use crate::{Figures, Outcome, Status};

/// A verdict, and the sentences that lead to it.
///
/// ```
/// use ebbtide::target::NamedTarget;
/// use ebbtide_run::reading::{Reading, Sentence, Sight, Verdict};
/// use ebbtide_run::settings::Preset;
/// use ebbtide_run::{Figures, Outcome, Status};
///
/// let settings = Preset::Paper.settings(NamedTarget::Gmm25, None, 5);
/// let target = settings.built_target();
/// let figures = Figures {
///     elbo: -0.2,
///     elbo_error: 0.03,
///     eubo: Some(0.2),
///     eubo_error: Some(0.03),
///     log_z: 0.0,
///     log_z_error: 0.02,
///     ess: 0.2,
///     pareto_k: None,
/// };
/// let bare = Outcome::new(Status::Finished, &settings, &*target, 25_000);
/// let reading = Reading::of(&Outcome { figures: Some(figures), ..bare }, &*target);
///
/// // The bounds are close, but few of the samples count.
/// assert_eq!((reading.verdict, reading.sight), (Some(Verdict::Weighted), Sight::Target));
/// assert_eq!(reading.words().as_deref(), Some("usable with weights"));
/// let Some(Sentence { text, most }) = reading.deciding() else { panic!("a figure decides") };
/// assert_eq!(text, "20.0 % of the samples count: use the weights, and more samples.");
/// assert_eq!(*most, reading.verdict);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// In a word; none where there are no figures.
    pub verdict: Option<Verdict>,
    /// What it could look at.
    pub sight: Sight,
    /// What each figure says, and what may help.
    pub sentences: Vec<Sentence>,
}

/// What a figure says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// In words.
    pub text: String,
    /// The best that can be said after it; none if it is only told.
    pub most: Option<Verdict>,
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What there is to judge a sampler by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// The target: its exact draws, its modes or its log Z tell of what samples never reach.
    Target,
    /// Samples and their weights, which know of nothing but themselves.
    Samples,
}

/// What may be done with samples: see [`Reading::of`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Not even with weights.
    Untrustworthy,
    /// With their weights.
    Weighted,
    /// As they are.
    Good,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Verdict; 3] = [Verdict::Good, Verdict::Weighted, Verdict::Untrustworthy];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Verdict::Good => "good",
            Verdict::Weighted => "usable with weights",
            Verdict::Untrustworthy => "not to be trusted",
        })
    }
}

/// Bounds this close together leave nothing to wish for.
const CLOSE: f64 = 0.3;
/// Up to here weights easily make up for the rest.
const FAIR: f64 = 1.0;
/// A log Z this far above the ELBO is a poor fit.
const WIDE: f64 = 4.0;
/// An EUBO this far above log Z knows of places where samples hardly ever go.
const UNVISITED: f64 = 1.5;
/// Effective shares of samples that are good, and that are still of use.
const MANY: f64 = 0.3;
const FEW: f64 = 0.1;
/// Tails of weights (Pareto k̂) whose means settle slowly, and that have no mean at all.
const HEAVY: f64 = 0.7;
const ENDLESS: f64 = 1.0;
/// Estimates of log Z that should agree and are this far apart do not.
const APART: f64 = 0.5;
/// So many standard errors are no chance.
const SURE: f64 = 4.0;
/// Shares of the modes that are wrong by chance are as large as this multiple of what chance gives on average.
const CHANCE: f64 = 1.5;
/// More than this of the probability in the wrong modes is more than weights should have to put right.
const MISPLACED: f64 = 0.4;

impl Reading {
    /// Reads the figures of a run; the worst decides. Thresholds are round numbers, chosen by what is known of some three hundred samplers of
    /// the paper's targets ([`calibration`](crate::calibration)); `docs/reports.md` has them all, with how often they are wrong.
    pub fn of(outcome: &Outcome, target: &dyn Target) -> Self {
        // With log Z or exact draws, what samples never reach shows.
        let known = target.drawable().is_some() || target.modes().is_some() || outcome.log_z_true.is_some();
        let sight = if known { Sight::Target } else { Sight::Samples };
        let mut reading = Self { verdict: None, sight, sentences: Vec::new() };
        if let Status::Diverged { at, reason, .. } = &outcome.status {
            reading.say(
                Some(Verdict::Untrustworthy),
                format!(
                    "Training diverged at iteration {} ({}). A smaller learning rate (optimisation.generation-rate), less \
                     exploration or another seed may help.",
                    number(*at as f64, 0),
                    readable(reason)
                ),
            );
        }
        if let Some(figures) = &outcome.figures {
            reading.bounds(figures, outcome, target);
            reading.weights(figures, outcome);
            reading.agreement(figures, outcome);
        }
        reading.draws(outcome);
        reading.modes(outcome, target);
        reading
    }

    /// A sentence, and the best that can be said after it.
    fn say(&mut self, most: Option<Verdict>, sentence: String) {
        if let Some(most) = most {
            self.verdict = Some(self.verdict.map_or(most, |verdict| verdict.min(most)));
        }
        self.sentences.push(Sentence { text: sentence, most });
    }

    /// The verdict, and how far it goes.
    pub fn words(&self) -> Option<String> {
        self.verdict.map(|verdict| match (verdict, self.sight) {
            (Verdict::Untrustworthy, _) | (_, Sight::Target) => verdict.to_string(),
            (_, Sight::Samples) => format!("{verdict} where samples go"),
        })
    }

    /// The first sentence that allows no better verdict.
    pub fn deciding(&self) -> Option<&Sentence> {
        self.sentences.iter().find(|sentence| sentence.most.is_some() && sentence.most == self.verdict)
    }

    fn bounds(&mut self, figures: &Figures, outcome: &Outcome, target: &dyn Target) {
        let middle = outcome.log_z_true.unwrap_or(figures.log_z);
        let below = middle - figures.elbo;
        match figures.eubo.filter(|eubo| eubo.is_finite()) {
            Some(eubo) => self.both_bounds(eubo - figures.elbo, below, eubo - middle, &outcome.method),
            None if target.drawable().is_some() => {
                self.say(Some(Verdict::Untrustworthy), "The EUBO is not a number.".to_owned());
            }
            None => self.lower_bound(below, outcome),
        }
    }

    /// Where there are no exact draws to start from.
    fn lower_bound(&mut self, below: f64, outcome: &Outcome) {
        let log_z = if outcome.log_z_true.is_some() { "log Z" } else { "importance-weighted log Z" };
        let (most, meaning) = match below {
            below if below < CLOSE => (Verdict::Good, "next to nothing is lost where samples go"),
            below if below < FAIR => (Verdict::Good, "weights make up for the rest"),
            below if below < WIDE => (Verdict::Weighted, "more steps or a longer training may help"),
            _ => (Verdict::Untrustworthy, "a poor fit"),
        };
        let blind = "without exact draws, modes that were never visited do not show";
        self.say(Some(most), format!("{log_z} − ELBO = {}: {meaning}; {blind}.", number(below, 2)));
        let searched = outcome.searched.unwrap_or_else(|| !outcome.method.starts_with("pis"));
        if self.sight == Sight::Samples && !searched {
            self.say(
                Some(Verdict::Weighted),
                format!(
                    "Training learned from nothing but its own samples, and nothing has looked for what they miss; {}.",
                    how_to_find(&outcome.method)
                ),
            );
        }
    }

    fn both_bounds(&mut self, gap: f64, below: f64, above: f64, method: &str) {
        let (find, fit) = (how_to_find(method), how_to_fit(method));
        let (most, meaning) = match gap {
            gap if gap < CLOSE => (
                Verdict::Good,
                "the bounds all but meet; generation is the reversal of destruction".to_owned(),
            ),
            gap if gap < FAIR => (Verdict::Good, "a good fit; weights make up for the rest".to_owned()),
            _ if below >= WIDE => (
                Verdict::Untrustworthy,
                format!("the two processes are far from being each other's reversal; {fit}"),
            ),
            // The EUBO is from where the target is, the ELBO from where samples are.
            _ if above >= UNVISITED => (
                Verdict::Untrustworthy,
                format!(
                    "part of the target is hardly ever visited: modes or tails are probably missing; {find}"
                ),
            ),
            _ if above > 3.0 * below => {
                (Verdict::Weighted, format!("part of the target is visited too rarely; {find}"))
            }
            _ => (Verdict::Weighted, format!("a rough fit; {fit}")),
        };
        self.say(Some(most), format!("EUBO − ELBO = {}: {meaning}.", number(gap, 2)));
    }

    fn weights(&mut self, figures: &Figures, outcome: &Outcome) {
        let percent = 100.0 * figures.ess;
        let (most, meaning) = match figures.ess {
            share if share >= MANY => (Verdict::Good, "weights are even enough for any estimate"),
            share if share >= FEW => (Verdict::Weighted, "use the weights, and more samples"),
            _ => (Verdict::Untrustworthy, "a few samples have all the weight, and estimates rest on them"),
        };
        self.say(Some(most), format!("{percent:.1} % of the samples count: {meaning}."));
        if let Some(k) = figures.pareto_k.filter(|k| *k >= HEAVY) {
            let most = if k < ENDLESS { Verdict::Weighted } else { Verdict::Untrustworthy };
            self.say(
                Some(most),
                format!(
                    "Pareto k̂ = {}: the weights have a heavy tail, and what rests on them settles slowly or never; samples do not go \
                     often enough where the density is high.",
                    number(k, 2)
                ),
            );
        }
        if let Some(truth) = outcome.log_z_true {
            let off = (figures.log_z - truth).abs();
            if off > SURE * figures.log_z_error && off > 0.1 {
                self.say(
                    Some(Verdict::Weighted),
                    format!(
                        "Importance-weighted log Z is off by {off:.2}, {:.0} times its own standard error: weights do not know of what \
                         samples never reach.",
                        off / figures.log_z_error
                    ),
                );
            }
        }
    }

    /// log Ẑ, which trajectory balance learned from all that training met, beside what samples say.
    fn agreement(&mut self, figures: &Figures, outcome: &Outcome) {
        // Older results of reverse KL have one that was never learned.
        let Some(learned) = outcome.log_z_learned.filter(|_| !outcome.method.starts_with("pis")) else {
            return;
        };
        let (above, below) = (learned - figures.log_z, figures.elbo - learned);
        if above > APART.max(SURE * figures.log_z_error) {
            self.say(
                Some(Verdict::Untrustworthy),
                format!(
                    "log Ẑ, as it was learned, is {} above importance-weighted log Z: training met parts of the target that samples hardly \
                     ever reach; {}.",
                    number(above, 2),
                    how_to_fit(&outcome.method)
                ),
            );
        } else if below > APART.max(SURE * figures.elbo_error) {
            self.say(
                Some(Verdict::Weighted),
                format!(
                    "log Ẑ, as it was learned, is {} below the ELBO: it has not caught up; a longer training or a larger \
                     optimisation.log-z-rate may help.",
                    number(below, 2)
                ),
            );
        }
    }

    fn draws(&mut self, outcome: &Outcome) {
        let (Some(distance), Some(floor)) = (outcome.w2, outcome.w2_floor) else { return };
        let meaning = match distance / floor {
            ratio if ratio < 1.2 => "about as far from exact draws as these are from each other".to_owned(),
            ratio => format!("{ratio:.1} times as far from exact draws as these are from each other"),
        };
        self.say(None, format!("W2 = {}: {meaning}.", number(distance, 2)));
    }

    fn modes(&mut self, outcome: &Outcome, target: &dyn Target) {
        let (Some((reached, all)), Some(variation), Some(modes)) =
            (outcome.modes, outcome.modes_total_variation, target.modes())
        else {
            return;
        };
        let n = outcome.samples as f64;
        // The mean size of a Gaussian is √(2/π) of its deviation.
        let chance: f64 = modes.weights().iter().map(|w| (w * (1.0 - w) / (2.0 * PI * n)).sqrt()).sum();
        let shares = match variation {
            variation if variation < CHANCE * chance => {
                format!(
                    "their shares are off by {variation:.3} in total, as chance has it (about {chance:.3})"
                )
            }
            variation => {
                format!("their shares are off by {variation:.3} in total, where chance gives {chance:.3}")
            }
        };
        let most = match reached == all {
            true if variation < CHANCE * chance => Verdict::Good,
            _ if variation >= MISPLACED => Verdict::Untrustworthy,
            _ => Verdict::Weighted,
        };
        let help = match reached < all {
            true => format!("; {}", how_to_find(&outcome.method)),
            false => String::new(),
        };
        self.say(Some(most), format!("{reached} of {all} modes are reached; {shares}{help}."));
    }
}

/// What may find what is missing, with a method.
fn how_to_find(method: &str) -> &'static str {
    match method.starts_with("pis") {
        true => "trajectory balance (tb-…), which can explore and search, may help",
        // What is found is lost again by steps that are too short or too long for it.
        false if method.ends_with("-fixed") => "learned variances, more exploration or local search may help",
        false => "more exploration or local search may help",
    }
}

/// What may fit better, with a method.
fn how_to_fit(method: &str) -> &'static str {
    match method {
        method if method.ends_with("-fixed") => "learned variances, more steps or a longer training may help",
        method if method.ends_with("-variance") => {
            "a learned destruction process, more steps or a longer training may help"
        }
        _ => "more steps or a longer training may help",
    }
}

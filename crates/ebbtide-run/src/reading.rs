//! What the figures of a run mean, in words.

use std::f64::consts::PI;
use std::fmt;

use ebbtide::target::Target;

use crate::number::{number, readable};
use crate::{Figures, Outcome, Status};

/// A verdict, and the sentences that lead to it.
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

#[cfg(test)]
mod tests {
    use ebbtide::target::NamedTarget;

    use super::*;
    use crate::settings::Preset;

    fn outcome(elbo: f64, eubo: Option<f64>, ess: f64) -> Outcome {
        let settings = Preset::Paper.settings(NamedTarget::Gmm25, None, 5);
        let figures = Figures {
            elbo,
            elbo_error: 0.03,
            eubo,
            eubo_error: eubo.map(|_| 0.03),
            log_z: 0.0,
            log_z_error: 0.02,
            ess,
            pareto_k: None,
        };
        Outcome {
            figures: Some(figures),
            ..Outcome::new(Status::Finished, &settings, &*settings.built_target(), 25_000)
        }
    }

    fn verdict(outcome: &Outcome) -> Option<Verdict> {
        Reading::of(outcome, &*NamedTarget::Gmm25.build()).verdict
    }

    #[test]
    fn a_heavy_tail_is_told() {
        let with = |k: f64| {
            let mut outcome = outcome(-0.2, Some(0.2), 0.8);
            outcome.figures = outcome.figures.map(|figures| Figures { pareto_k: Some(k), ..figures });
            verdict(&outcome)
        };
        assert_eq!(with(0.4), Some(Verdict::Good));
        assert_eq!(with(0.8), Some(Verdict::Weighted));
        assert_eq!(with(1.2), Some(Verdict::Untrustworthy));
    }

    #[test]
    fn the_worst_figure_decides() {
        assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.8)), Some(Verdict::Good));
        assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.2)), Some(Verdict::Weighted));
        assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.01)), Some(Verdict::Untrustworthy));
        assert_eq!(verdict(&outcome(-0.2, Some(0.2), 0.09)), Some(Verdict::Untrustworthy));
        assert_eq!(verdict(&outcome(-3.0, Some(1.4), 0.4)), Some(Verdict::Weighted));
        assert_eq!(verdict(&outcome(-0.2, Some(1.6), 0.4)), Some(Verdict::Untrustworthy));
        assert_eq!(verdict(&outcome(-4.1, Some(0.4), 0.4)), Some(Verdict::Untrustworthy));
        let reached = |modes, variation| Outcome {
            modes: Some((modes, 25)),
            modes_total_variation: Some(variation),
            ..outcome(-0.2, Some(0.2), 0.8)
        };
        assert_eq!(verdict(&reached(25, 0.04)), Some(Verdict::Good));
        assert_eq!(verdict(&reached(25, 0.12)), Some(Verdict::Weighted));
        assert_eq!(verdict(&reached(20, 0.2)), Some(Verdict::Weighted));
        assert_eq!(verdict(&reached(9, 0.6)), Some(Verdict::Untrustworthy));
        let none = Outcome { figures: None, ..outcome(0.0, None, 0.0) };
        assert_eq!(verdict(&none), None);
    }

    #[test]
    fn missing_modes_are_told_from_a_rough_fit() {
        let target = NamedTarget::Gmm25.build();
        let first = |outcome: &Outcome| Reading::of(outcome, &*target).sentences[0].text.clone();
        let missing = first(&outcome(-0.4, Some(21.1), 0.7));
        assert!(missing.contains("EUBO − ELBO = 21.50") && missing.contains("probably missing"), "{missing}");
        let rough = first(&outcome(-1.4, Some(1.2), 0.2));
        assert!(rough.contains("a rough fit"), "{rough}");
        let both = first(&outcome(-8.0, Some(40.0), 0.2));
        assert!(both.contains("far from being") && !both.contains("missing"), "{both}");
        let rarely = first(&outcome(-0.2, Some(1.3), 0.4));
        assert!(rarely.contains("too rarely"), "{rarely}");
        let lost = first(&outcome(-0.2, None, 0.8));
        assert!(lost.contains("not a number"), "{lost}");
    }

    /// A density and nothing else.
    struct Bare;

    impl Target for Bare {
        fn dim(&self) -> usize {
            2
        }

        fn log_density(&self, _: &[f32], out: &mut [f64]) -> Result<(), ebbtide::target::TargetError> {
            out.fill(0.0);
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_known_is_said() {
        let blind = &Reading::of(&outcome(-0.2, None, 0.8), &Bare).sentences[0].text;
        assert!(blind.contains("log Z − ELBO = 0.20") && blind.contains("never visited"), "{blind}");
    }

    #[test]
    fn what_is_good_without_exact_draws_is_good_only_where_samples_go() {
        let outcome = Outcome { log_z_true: None, searched: Some(true), ..outcome(-0.2, None, 0.8) };
        let words = |outcome: &Outcome| Reading::of(outcome, &Bare).words();
        assert_eq!(words(&outcome).as_deref(), Some("good where samples go"));
        let alone = Outcome { searched: Some(false), ..outcome.clone() };
        assert_eq!(words(&alone).as_deref(), Some("usable with weights where samples go"));
        let reading = Reading::of(&alone, &Bare);
        assert!(reading.deciding().is_some_and(|line| line.text.contains("its own samples")), "{reading:?}");
        let old = Outcome { searched: None, method: "pis-tlm".to_owned(), ..outcome };
        assert_eq!(words(&old).as_deref(), Some("usable with weights where samples go"));
        let known = Reading::of(&alone, &*NamedTarget::Gmm25.build());
        assert!(!known.sentences.iter().any(|line| line.text.contains("its own samples")), "{known:?}");
    }

    #[test]
    fn a_learned_log_z_that_disagrees_is_told() {
        let learned = |log_z: f64, method: &str| {
            let outcome = Outcome {
                log_z_learned: Some(log_z),
                method: method.to_owned(),
                searched: Some(true),
                ..outcome(-0.2, Some(0.2), 0.8)
            };
            verdict(&outcome)
        };
        assert_eq!(learned(-0.1, "tb-tb"), Some(Verdict::Good));
        assert_eq!(learned(0.4, "tb-tb"), Some(Verdict::Good));
        assert_eq!(learned(0.6, "tb-tb"), Some(Verdict::Untrustworthy));
        assert_eq!(learned(-0.6, "tb-tb"), Some(Verdict::Good));
        assert_eq!(learned(-0.8, "tb-tb"), Some(Verdict::Weighted));
        assert_eq!(learned(9.0, "pis-tlm"), Some(Verdict::Good));
    }

    #[test]
    fn the_first_of_the_worst_sentences_decides() {
        let reading = Reading::of(&outcome(-0.2, Some(0.2), 0.2), &*NamedTarget::Gmm25.build());
        let deciding = reading.deciding().expect("a sentence");
        assert!(deciding.text.starts_with("20.0 % of the samples count"), "{deciding}");
    }

    #[test]
    fn advice_is_what_the_method_can_take() {
        let advice = |method: &str, elbo: f64, eubo: f64| {
            let outcome = Outcome { method: method.to_owned(), ..outcome(elbo, Some(eubo), 0.8) };
            Reading::of(&outcome, &*NamedTarget::Gmm25.build()).sentences[0].text.clone()
        };
        assert!(advice("tb-tb", -0.4, 20.0).contains("local search"));
        assert!(!advice("pis-tlm", -0.4, 20.0).contains("local search"));
        assert!(advice("tb-fixed", -1.4, 1.2).contains("learned variances"));
        assert!(!advice("tb-tb", -1.4, 1.2).contains("learned"));
    }

    #[test]
    fn divergence_comes_first() {
        let status = Status::Diverged { at: 7, reason: "the loss is NaN".to_owned(), point: Vec::new() };
        let reading =
            Reading::of(&Outcome { status, ..outcome(-0.2, Some(0.2), 0.8) }, &*NamedTarget::Gmm25.build());
        assert_eq!(reading.verdict, Some(Verdict::Untrustworthy));
        assert!(reading.sentences[0].text.starts_with("Training diverged at iteration 7"), "{reading:?}");
    }

    #[test]
    fn an_estimate_that_is_sure_of_the_wrong_value_is_called_out() {
        let mut wrong = outcome(-0.2, None, 0.8);
        wrong.figures.as_mut().expect("figures").log_z = -0.4;
        let reading = Reading::of(&wrong, &*NamedTarget::Gmm25.build());
        assert!(
            reading.sentences.iter().any(|line| line.text.contains("off by 0.40, 20 times")),
            "{reading:?}"
        );
    }
}

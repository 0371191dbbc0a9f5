//! Mode coverage: the share of the samples in each mode beside the true one.

use crate::chart::{Chart, Colour, Form, Mark, Scale, Tip, number};
use crate::portrait::View;

/// Shares of the modes; none where they are not known.
pub fn chart(view: &View) -> Option<Chart> {
    let coverage = view.coverage.as_ref()?;
    let truth = view.target.modes()?.weights().to_vec();
    let shares: Vec<f64> = coverage.frequencies.iter().map(|share| 100.0 * share.value).collect();
    let truth: Vec<f64> = truth.into_iter().map(|share| 100.0 * share).collect();
    let column = |i: usize, height: f64, room: f64| (i as f64 + 0.5 + room, i as f64 + 1.5 - room, height);
    let bars = shares.iter().enumerate().map(|(i, &share)| column(i, share, 0.12)).collect();
    let outline: Vec<_> = truth.iter().enumerate().map(|(i, &share)| column(i, share, 0.0)).collect();
    let errors = coverage.frequencies.iter().enumerate();
    let top = shares.iter().chain(&truth).copied().fold(0.0, f64::max);
    let missed: Vec<String> =
        (1..).zip(&shares).filter(|(_, share)| **share == 0.0).map(|(i, _)| i.to_string()).collect();
    let reached = format!("{} of {} modes are reached", coverage.reached, shares.len());
    let mut caption = match missed.len() {
        0 => format!("{reached}."),
        1..=12 => format!("{reached}; none of the samples is in {}.", missed.join(", ")),
        more => format!("{reached}; {more} have no sample."),
    };
    if coverage.unclaimed.value > 0.0 {
        caption +=
            &format!(" {} % of the samples are in no mode.", number(100.0 * coverage.unclaimed.value, 1));
    }
    caption += &format!(" Total variation from the true shares: {}.", number(coverage.total_variation, 3));
    let tips = errors.map(|(i, share)| Tip {
        x: (i + 1) as f64,
        text: format!(
            "mode {}\nsamples {} ± {} %\ntruth {} %",
            i + 1,
            number(100.0 * share.value, 2),
            number(100.0 * share.standard_error, 2),
            number(truth[i], 2)
        ),
    });
    let tips: Vec<Tip> = tips.collect();
    Some(
        Chart::new("coverage", Form::Broad, caption)
            .alt(format!("Share of the samples in each mode beside the true share. {reached}."))
            .x("mode", Scale::exact(0.5, shares.len() as f64 + 0.5))
            .y("share of the samples (%)", Scale::exact(0.0, 1.08 * top))
            .named(Mark::Bars { bars, colour: Colour::BLUE }, "samples")
            .named(Mark::outline(&outline, Colour::INK), "truth")
            .tips(tips),
    )
}

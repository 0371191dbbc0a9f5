//! What changes over a training, for however long it is to be.

use super::Settings;

/// A short training comes to rest at its end, as a long one does: exploration ends, rates decay and weights are averaged over the same shares of it. For
/// densities of one's own; those with presets have the schedules of these, however long a training is. What `is_given` stays as it is.
/// `usual` is the length that the usual schedules are for.
pub fn stretch(settings: &mut Settings, usual: u64, is_given: impl Fn(&str) -> bool) {
    let config = &mut settings.config;
    let longer = config.iterations as f64 / usual as f64;
    if settings.target.named().is_some() || longer == 1.0 || config.iterations == 0 {
        return;
    }
    if !is_given("exploration.anneal") {
        config.exploration.anneal = (config.exploration.anneal as f64 * longer).round() as usize;
    }
    if !is_given("optimisation.decay") {
        let left = 1.0 - config.optimisation.decay.powf(longer.recip());
        config.optimisation.decay = 1.0 - short(left);
    }
    if let (Some(averaging), false) = (&mut config.averaging, is_given("averaging")) {
        *averaging = (short(f64::from(*averaging) / longer) as f32).min(SHORTEST);
    }
}

/// The largest share of the newest weights in an average.
const SHORTEST: f32 = 0.1;

/// A number with as many digits as people write.
fn short(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

//! Second-moment objectives: trajectory balance and VarGrad.

use super::{Logs, Pull};

/// L = ½ w δ² with δ = log p→ − log p← − log density + offset.
///
/// With the offset a learned log Ẑ this is trajectory balance; with the offset minus the batch's own
/// mean, which is what minimises the loss, it is VarGrad (the log-variance loss). As the mean is
/// the minimiser, its derivative drops out, and both pull alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SecondMoment {
    /// log Ẑ, or minus the batch mean.
    pub offset: f64,
}

impl SecondMoment {
    /// δ
    pub fn residual(&self, logs: &Logs) -> f64 {
        logs.ratio() + self.offset
    }

    /// The pull on log p→ of a trajectory with importance weight w.
    pub fn generation(&self, logs: &Logs, importance: f64) -> Pull {
        let residual = self.residual(logs);
        Pull { loss: 0.5 * importance * residual * residual, weight: importance * residual }
    }

    /// The pull on log p←.
    pub fn destruction(&self, logs: &Logs, importance: f64) -> Pull {
        let pull = self.generation(logs, importance);
        Pull { weight: -pull.weight, ..pull }
    }
}

/// Σ w x / Σ w: the offset of VarGrad is minus this mean of the ratios.
pub(crate) fn weighted_mean(values: impl Iterator<Item = f64>, weights: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (value, weight) in values.zip(weights) {
        sum += weight * value;
        total += weight;
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_processes_are_pulled_apart() {
        let logs = Logs { generation: -1.0, destruction: -2.0, density: 0.5 };
        let balance = SecondMoment { offset: 0.25 };
        assert_eq!(balance.residual(&logs), 0.75);
        assert_eq!(balance.generation(&logs, 1.0).weight, 0.75);
        assert_eq!(balance.destruction(&logs, 1.0).weight, -0.75);
    }

    #[test]
    fn the_weighted_mean_minimises_the_second_moment() {
        let (values, weights) = ([1.0, -2.0, 7.5], [0.5, 1.0, 0.25]);
        let mean = weighted_mean(values.into_iter(), weights.into_iter());
        let loss = |offset: f64| {
            let moment = SecondMoment { offset };
            let logs = |&v: &f64| Logs { generation: v, destruction: 0.0, density: 0.0 };
            values.iter().zip(weights).map(|(v, w)| moment.generation(&logs(v), w).loss).sum::<f64>()
        };
        assert!(loss(-mean) < loss(-mean + 1e-3) && loss(-mean) < loss(-mean - 1e-3));
    }

    #[test]
    fn weights_are_derivatives_of_the_loss() {
        let at = |generation: f64, destruction: f64| {
            let logs = Logs { generation, destruction, density: 0.3 };
            SecondMoment { offset: 1.1 }.generation(&logs, 0.7)
        };
        let h = 1e-6;
        let by_generation = (at(2.0 + h, 0.4).loss - at(2.0 - h, 0.4).loss) / (2.0 * h);
        let by_destruction = (at(2.0, 0.4 + h).loss - at(2.0, 0.4 - h).loss) / (2.0 * h);
        let logs = Logs { generation: 2.0, destruction: 0.4, density: 0.3 };
        assert!((at(2.0, 0.4).weight - by_generation).abs() < 1e-8);
        let pull = SecondMoment { offset: 1.1 }.destruction(&logs, 0.7);
        assert!((pull.weight - by_destruction).abs() < 1e-8);
    }
}

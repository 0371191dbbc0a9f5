//! Second-moment objectives: trajectory balance and VarGrad.

use super::{Logs, Pull};

/// L = w h(δ) with δ = log p→ − log p← − log density + offset, and h(δ) = ½ δ².
///
/// Beyond a bound c on |δ|, h goes on along its tangent, c |δ| − ½ c² (Huber's loss), so that single trajectories far out
/// in the tails do not decide what a whole batch learns.
///
/// With the offset a learned log Ẑ this is trajectory balance; with the offset minus the batch's own
/// mean, which is what minimises the loss, it is VarGrad (the log-variance loss). As the mean is
/// the minimiser, its derivative drops out, and both pull alike. That is so without a bound only, so that VarGrad has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SecondMoment {
    /// log Ẑ, or minus the batch mean.
    pub offset: f64,
    /// c, infinite where residuals of any size count squared.
    pub bound: f64,
}

impl SecondMoment {
    /// δ
    pub fn residual(&self, logs: &Logs) -> f64 {
        logs.ratio() + self.offset
    }

    /// The pull on log p→ of a trajectory with importance weight w.
    pub fn generation(&self, logs: &Logs, importance: f64) -> Pull {
        let residual = self.residual(logs);
        let slope = residual.clamp(-self.bound, self.bound);
        Pull { loss: importance * slope * (residual - 0.5 * slope), weight: importance * slope }
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
        let balance = SecondMoment { offset: 0.25, bound: f64::INFINITY };
        assert_eq!(balance.residual(&logs), 0.75);
        assert_eq!(balance.generation(&logs, 1.0).weight, 0.75);
        assert_eq!(balance.destruction(&logs, 1.0).weight, -0.75);
    }

    #[test]
    fn the_weighted_mean_minimises_the_second_moment() {
        let (values, weights) = ([1.0, -2.0, 7.5], [0.5, 1.0, 0.25]);
        let mean = weighted_mean(values.into_iter(), weights.into_iter());
        let loss = |offset: f64| {
            let moment = SecondMoment { offset, bound: f64::INFINITY };
            let logs = |&v: &f64| Logs { generation: v, destruction: 0.0, density: 0.0 };
            values.iter().zip(weights).map(|(v, w)| moment.generation(&logs(v), w).loss).sum::<f64>()
        };
        assert!(loss(-mean) < loss(-mean + 1e-3) && loss(-mean) < loss(-mean - 1e-3));
    }

    #[test]
    fn weights_are_derivatives_of_the_loss() {
        // δ = 2.4: within the bound, and beyond it.
        for (bound, expected) in [(f64::INFINITY, 2.4), (3.0, 2.4), (1.5, 1.5)] {
            let moment = SecondMoment { offset: 1.1, bound };
            let at = |generation: f64, destruction: f64| {
                let logs = Logs { generation, destruction, density: 0.3 };
                moment.generation(&logs, 0.7)
            };
            let h = 1e-6;
            let by_generation = (at(2.0 + h, 0.4).loss - at(2.0 - h, 0.4).loss) / (2.0 * h);
            let by_destruction = (at(2.0, 0.4 + h).loss - at(2.0, 0.4 - h).loss) / (2.0 * h);
            let logs = Logs { generation: 2.0, destruction: 0.4, density: 0.3 };
            assert!((at(2.0, 0.4).weight - 0.7 * expected).abs() < 1e-12);
            assert!((at(2.0, 0.4).weight - by_generation).abs() < 1e-8);
            assert!((moment.destruction(&logs, 0.7).weight - by_destruction).abs() < 1e-8);
        }
    }

    #[test]
    fn beyond_its_bound_a_loss_goes_on_along_its_tangent() {
        let loss = |residual: f64, bound: f64| {
            let logs = Logs { generation: residual, destruction: 0.0, density: 0.0 };
            SecondMoment { offset: 0.0, bound }.generation(&logs, 2.0).loss
        };
        assert_eq!(loss(3.0, f64::INFINITY), 9.0);
        assert_eq!((loss(3.0, 3.0), loss(3.0, 1.0)), (9.0, 5.0));
        assert_eq!(loss(-3.0, 1.0), loss(3.0, 1.0));
        assert_eq!(loss(4.0, 1.0) - loss(3.0, 1.0), 2.0);
    }
}

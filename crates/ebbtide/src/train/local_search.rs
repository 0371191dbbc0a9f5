//! Local search: Metropolis-adjusted Langevin chains from where generation ended.

use super::archive::{Keep, Recall};
use super::room::make_room;
use crate::stream::{Address, Stream};
use crate::target::{Differentiable, NOWHERE, TargetError, check_log_density};

/// How and when local search runs.
///
/// ```
/// use ebbtide::stream::{Address, Purpose};
/// use ebbtide::target::{Formula, Target};
/// use ebbtide::train::{Chains, Finds, LocalSearch};
///
/// let bell = Formula::new("-x0^2/2", 1, &[])?;
/// let gradient = bell.differentiable().expect("formulas have one");
/// let search = LocalSearch { steps: 200, burn_in: 150, ..LocalSearch::default() };
/// let mut chains: Chains = search.chains(20, 1);
/// search.run(gradient, 1, &[8.0; 20], Address::new(0, Purpose::LocalSearch, 0), &mut chains)?;
///
/// // From far out in the tail, all chains have come home by the end of the burn-in.
/// let Finds { points, log_density, acceptance, evaluations, .. } = chains.finds();
/// assert!(points.iter().all(|x| x.abs() < 5.0));
/// assert!(points.iter().zip(log_density).all(|(&x, log)| (log + 0.5 * f64::from(x).powi(2)).abs() < 1e-9));
/// assert!(*acceptance > 0.5 && points.len() <= 20 * 50);
/// assert_eq!(*evaluations, 20 * (1 + 200));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalSearch {
    /// Iterations from one search to the next.
    pub every: usize,
    /// Steps of each chain.
    pub steps: usize,
    /// Steps at the beginning whose states are thrown away.
    pub burn_in: usize,
    /// The step size η a search begins with.
    pub step_size: f64,
    /// The acceptance rate that the step size is steered towards.
    pub acceptance: f64,
    /// How many end points the archive holds.
    pub capacity: usize,
    /// Which they are, when more have been found.
    pub keep: Keep,
    /// How they are drawn.
    pub recall: Recall,
}

impl Default for LocalSearch {
    fn default() -> Self {
        Self {
            every: 100,
            steps: 200,
            burn_in: 100,
            step_size: 0.1,
            acceptance: 0.574,
            capacity: 600_000,
            keep: Keep::Newest,
            recall: Recall::Ranked,
        }
    }
}

/// Steps between two looks at the acceptance rate, and by how much the step size changes with each step.
const LOOK_EVERY: usize = 5;
const LONGER: f64 = 1.01;
const SHORTER: f64 = 0.99;

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finds {
    /// Accepted states after the burn-in, n × dim by rows.
    pub points: Vec<f32>,
    /// Their log densities.
    pub log_density: Vec<f64>,
    /// The share of accepted proposals, over the whole search.
    pub acceptance: f64,
    /// The step size it ended with.
    pub step_size: f64,
    /// How many times the density was evaluated.
    pub evaluations: u64,
}

/// The chains of a search and what they found: places that one search after the other works in.
#[derive(Default)]
pub struct Chains {
    now: States,
    proposed: States,
    streams: Vec<Stream>,
    finds: Finds,
}

impl Chains {
    /// What the last search found.
    pub fn finds(&self) -> &Finds {
        &self.finds
    }
}

/// One state of each chain, with density and gradient: n × dim by rows.
#[derive(Default)]
struct States {
    points: Vec<f32>,
    log_density: Vec<f64>,
    gradient: Vec<f32>,
}

impl LocalSearch {
    /// Room for the chains of searches from `count` starts, and for all that each may find.
    pub fn chains(&self, count: usize, dim: usize) -> Chains {
        let mut chains = Chains::default();
        for states in [&mut chains.now, &mut chains.proposed] {
            make_room(&mut states.points, count * dim);
            make_room(&mut states.log_density, count);
            make_room(&mut states.gradient, count * dim);
        }
        make_room(&mut chains.streams, count);
        let most = count.saturating_mul(self.steps.saturating_sub(self.burn_in));
        make_room(&mut chains.finds.points, most.saturating_mul(dim));
        make_room(&mut chains.finds.log_density, most);
        chains
    }

    /// Runs one chain from each of the `starts` (n × dim by rows); [`Chains::finds`] then has what was found.
    ///
    /// A proposal x′ = x + η ∇ log p(x) + √(2η) ξ is accepted with the Metropolis–Hastings probability; one where
    /// the density vanishes or its gradient is not finite is refused. The acceptance rate of all chains is taken
    /// every 5 steps, and η grows or shrinks by 1 % with each step, as the last rate is above or below the wanted one.
    pub fn run(
        &self,
        target: &dyn Differentiable,
        dim: usize,
        starts: &[f32],
        address: Address,
        chains: &mut Chains,
    ) -> Result<(), TargetError> {
        let count = starts.len() / dim;
        let Chains { now, proposed, streams, finds } = chains;
        finds.clear(self.step_size, count as u64);
        now.begin(starts, count);
        proposed.begin(starts, count);
        now.evaluate(target, dim)?;
        streams.clear();
        streams.extend((0..count).map(|chain| address.stream(chain)));
        let (mut accepted, mut accepted_lately, mut rate) = (0, 0, None);
        for step in 0..self.steps {
            let size = finds.step_size;
            now.propose(proposed, streams, dim, size);
            proposed.evaluate(target, dim)?;
            finds.evaluations += count as u64;
            for (chain, stream) in streams.iter_mut().enumerate() {
                let ratio = now.log_acceptance(proposed, chain, dim, size);
                // NaN compares false: refused.
                if stream.uniform().ln() < ratio {
                    now.take(proposed, chain, dim);
                    accepted_lately += 1;
                    if step >= self.burn_in {
                        finds.points.extend_from_slice(&now.points[chain * dim..(chain + 1) * dim]);
                        finds.log_density.push(now.log_density[chain]);
                    }
                }
            }
            if (step + 1) % LOOK_EVERY == 0 {
                rate = Some(accepted_lately as f64 / (count * LOOK_EVERY) as f64);
                accepted += std::mem::take(&mut accepted_lately);
            }
            if let Some(rate) = rate {
                finds.step_size *= if rate > self.acceptance { LONGER } else { SHORTER };
            }
        }
        finds.acceptance = (accepted + accepted_lately) as f64 / (count * self.steps).max(1) as f64;
        Ok(())
    }
}

impl Finds {
    /// Nothing found yet, by a search that has evaluated its starts.
    fn clear(&mut self, step_size: f64, evaluations: u64) {
        self.points.clear();
        self.log_density.clear();
        (self.acceptance, self.step_size, self.evaluations) = (0.0, step_size, evaluations);
    }
}

impl States {
    /// Puts `count` chains at the starts.
    fn begin(&mut self, starts: &[f32], count: usize) {
        self.points.clear();
        self.points.extend_from_slice(starts);
        self.log_density.resize(count, 0.0);
        self.gradient.resize(starts.len(), 0.0);
    }

    fn propose(&self, proposed: &mut States, streams: &mut [Stream], dim: usize, size: f64) {
        let deviation = (2.0 * size).sqrt();
        for (chain, stream) in streams.iter_mut().enumerate() {
            for i in chain * dim..(chain + 1) * dim {
                let noise = deviation * f64::from(stream.normal());
                let drift = size * f64::from(self.gradient[i]);
                proposed.points[i] = (f64::from(self.points[i]) + drift + noise) as f32;
            }
        }
        // A chain whose gradient is not finite proposes nonsense; it stays where it is.
        let points = self.points.chunks_exact(dim);
        for (proposal, point) in proposed.points.chunks_exact_mut(dim).zip(points) {
            if proposal.iter().any(|x| !x.is_finite()) {
                proposal.copy_from_slice(point);
            }
        }
    }

    fn evaluate(&mut self, target: &dyn Differentiable, dim: usize) -> Result<(), TargetError> {
        self.log_density.fill(f64::NAN);
        self.gradient.fill(f32::NAN);
        target.log_density_and_gradient(&self.points, &mut self.log_density, &mut self.gradient)?;
        check_log_density(&self.points, &self.log_density, dim)?;
        // As good as zero is zero: a chain walks blindly away from such a place, and never comes back to archive it.
        for (value, gradient) in self.log_density.iter_mut().zip(self.gradient.chunks_exact_mut(dim)) {
            if *value <= NOWHERE {
                *value = f64::NEG_INFINITY;
                gradient.fill(0.0);
            }
        }
        Ok(())
    }

    /// log of p(x′) q(x | x′) / p(x) q(x′ | x).
    fn log_acceptance(&self, proposals: &States, chain: usize, dim: usize, size: f64) -> f64 {
        let (mut forth, mut back) = (0.0, 0.0);
        for i in chain * dim..(chain + 1) * dim {
            let (x, next) = (f64::from(self.points[i]), f64::from(proposals.points[i]));
            forth += (next - x - size * f64::from(self.gradient[i])).powi(2);
            back += (x - next - size * f64::from(proposals.gradient[i])).powi(2);
        }
        let densities = proposals.log_density[chain] - self.log_density[chain];
        densities + (forth - back) / (4.0 * size)
    }

    fn take(&mut self, proposals: &States, chain: usize, dim: usize) {
        let place = chain * dim..(chain + 1) * dim;
        self.points[place.clone()].copy_from_slice(&proposals.points[place.clone()]);
        self.gradient[place.clone()].copy_from_slice(&proposals.gradient[place]);
        self.log_density[chain] = proposals.log_density[chain];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Purpose;

    /// N(1, 0.25) in each coordinate.
    struct Bell;

    impl Differentiable for Bell {
        fn log_density_and_gradient(
            &self,
            x: &[f32],
            out: &mut [f64],
            g: &mut [f32],
        ) -> Result<(), TargetError> {
            for i in 0..out.len() {
                out[i] = (0..2).map(|j| -2.0 * (f64::from(x[2 * i + j]) - 1.0).powi(2)).sum();
                (0..2).for_each(|j| g[2 * i + j] = -4.0 * (x[2 * i + j] - 1.0));
            }
            Ok(())
        }
    }

    #[test]
    fn chains_find_the_target_and_the_step_size_its_rate() {
        let starts: Vec<f32> = (0..400).map(|i| (i % 7) as f32).collect();
        let search = LocalSearch { steps: 1000, burn_in: 500, ..LocalSearch::default() };
        let (mut chains, address) = (search.chains(200, 2), Address::new(0, Purpose::LocalSearch, 0));
        search.run(&Bell, 2, &starts, address, &mut chains).expect("a density");
        let finds = chains.finds().clone();
        assert_eq!(finds.evaluations, 200 * 1001);
        // Stored states are the accepted proposals, not the chain: a little wider than the target.
        let n = finds.points.len() as f64;
        let mean = finds.points.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let variance = finds.points.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((0.23..0.32).contains(&variance), "{variance}");
        assert!((0.5..0.7).contains(&finds.acceptance), "{}", finds.acceptance);
        assert_ne!(finds.step_size, 0.1);
        search.run(&Bell, 2, &starts, address, &mut chains).expect("a density");
        assert_eq!(*chains.finds(), finds, "a search begins anew in whatever the last one left");
    }

    #[test]
    fn a_density_without_value_is_named() {
        struct Nothing;
        impl Differentiable for Nothing {
            fn log_density_and_gradient(
                &self,
                _: &[f32],
                out: &mut [f64],
                _: &mut [f32],
            ) -> Result<(), TargetError> {
                out.fill(f64::NAN);
                Ok(())
            }
        }
        let address = Address::new(0, Purpose::LocalSearch, 0);
        let error = LocalSearch::default().run(&Nothing, 1, &[0.5], address, &mut Chains::default());
        assert!(matches!(error, Err(TargetError::Impossible { row: 0, .. })));
    }
}

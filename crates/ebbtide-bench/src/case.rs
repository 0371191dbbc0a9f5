//! How large a problem is: the sizes that decide what an update costs.

use ebbtide::network::Backbone;
use ebbtide::process::{
    Corrections, Destruction, Generation, GenerationVariance, Grid, Multiplier, TimeGrid,
};
use ebbtide::stream::{Address, Purpose};
use ebbtide::trajectory::Model;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// One size of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Coordinates of a state.
    pub d: usize,
    /// Features of a layer.
    pub width: usize,
    /// Layers of the backbone.
    pub depth: usize,
    /// Steps of a trajectory.
    pub steps: usize,
    /// Trajectories; where samples are drawn, their count.
    #[serde(alias = "count")]
    pub batch: usize,
}

/// What is measured everywhere: the paper's mixtures in few and in many steps, its Manywell, its latent space.
pub const CASES: [Case; 4] = [
    Case { d: 2, width: 64, depth: 2, steps: 5, batch: 512 },
    Case { d: 2, width: 64, depth: 2, steps: 20, batch: 512 },
    Case { d: 32, width: 256, depth: 4, steps: 10, batch: 512 },
    Case { d: 512, width: 1024, depth: 4, steps: 5, batch: 128 },
];

/// 4 GiB of single-precision numbers: beyond that a case is a slip of the keyboard.
const MOST_NUMBERS: usize = 1 << 30;

impl Case {
    /// Refuses sizes that nothing can be made of.
    pub fn check(&self) -> Result<(), Failure> {
        let Case { d, width, depth, steps, batch } = *self;
        let sizes =
            [("d", d), ("width", width), ("depth", depth), ("steps", steps), ("batch (or count)", batch)];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(format!("{name} is 0, but must be at least 1").into());
        }
        let numbers = || {
            let layers = width.checked_mul(width)?.checked_mul(depth.checked_add(4)?)?;
            let ends = width.checked_mul(d)?.checked_mul(5)?;
            let states = batch.checked_mul(steps)?.checked_mul(d)?;
            layers.checked_add(ends)?.checked_mul(16)?.checked_add(states.checked_mul(2)?)
        };
        match numbers() {
            Some(numbers) if numbers <= MOST_NUMBERS => Ok(()),
            _ => Err("this case would take more than 4 GiB of memory".into()),
        }
    }

    /// The model that all programs measure: both processes learned, one trunk, steps of equal length.
    pub fn model(&self) -> Result<Model, Failure> {
        self.check()?;
        let sigma_squared = 5.0;
        let generation = Generation {
            variance: GenerationVariance::Learned { bound: 4.0 },
            sigma_squared,
            drift_bound: 1e4,
        };
        let corrections = Corrections::Learned { bound: 0.9, multiplier: Multiplier::Bounded };
        Ok(Model::new(
            self.d,
            TimeGrid::new(&Grid::Uniform(self.steps))?,
            generation,
            Destruction { corrections, sigma_squared },
            self.width,
            self.depth,
            Backbone::Shared,
        ))
    }
}

/// Fresh weights whose heads are not zero: zeros would make the way down the trunk one of zeros, which is no
/// fair thing to time.
pub fn weights(model: &Model) -> Vec<f32> {
    let layout = &model.layout;
    let mut parameters = layout.initialise(0);
    for head in [Some(layout.generation), layout.destruction].into_iter().flatten() {
        let weight = head.dense.weight;
        let mut stream = Address::new(0, Purpose::Initialise, 1).stream(weight.start);
        for value in weight.of_mut(&mut parameters) {
            *value = 0.01 * stream.normal();
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_in_words() {
        let case = Case { steps: 0, ..CASES[0] };
        assert_eq!(case.check().unwrap_err().to_string(), "steps is 0, but must be at least 1");
        for case in [Case { batch: usize::MAX, ..CASES[0] }, Case { width: 1 << 20, ..CASES[0] }] {
            assert!(case.check().unwrap_err().to_string().contains("4 GiB"));
        }
        assert!(CASES.iter().all(|case| case.check().is_ok()));
    }

    #[test]
    fn no_head_is_zero() {
        let model = CASES[0].model().expect("a case that is measured");
        let parameters = weights(&model);
        for (name, tensor) in model.layout.tensors().filter(|(name, _)| name.contains("weight")) {
            assert!(tensor.of(&parameters).iter().all(|&value| value != 0.0), "{name}");
        }
    }
}

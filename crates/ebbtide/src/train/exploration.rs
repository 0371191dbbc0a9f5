//! Exploration: more variance in the trajectories that training looks at.

use crate::process::TimeGrid;

/// Noise added to each generation step, fading over training. Log-probabilities never count it.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// use ebbtide::train::{Array, Config, Exploration, ExplorationForm, Trainer};
///
/// // The only step of the trajectories that one iteration generates, as the replay buffer has them.
/// let generated = |factor| {
///     let mut config = Config { batch: 8, local_search: None, ..Config::new(Method::TbFixed, 1) };
///     let form = ExplorationForm::VarianceRate { scale: 100.0 };
///     config.exploration = Exploration { factor, anneal: 10_000, form };
///     let valid = config.validate(NamedTarget::Gmm25.build().into())?;
///     let mut trainer = Trainer::new(valid, &Threads::new(1)?);
///     trainer.step()?;
///     let paths = trainer.state().arrays().into_iter().find(|(name, _)| *name == "replay.paths");
///     Ok::<_, Box<dyn std::error::Error>>(paths.map(|(_, paths)| Array::from(paths)))
/// };
/// let (Some(Array::F32(plain)), Some(Array::F32(explored))) = (generated(0.0)?, generated(0.3)?) else {
///     panic!("paths are in single precision")
/// };
/// // To σ² Δ = 1, e = 0.3 adds 0.3² · 100: the same noise goes √10 times as far.
/// assert!(plain.iter().zip(&explored).all(|(x, y)| (y - 10.0_f32.sqrt() * x).abs() < 1e-4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exploration {
    /// The factor e at the first iteration; 0 turns exploration off.
    pub factor: f64,
    /// The iteration from which e is 0; it falls linearly until then.
    pub anneal: usize,
    /// What e means.
    pub form: ExplorationForm,
}

/// What the factor e means for a step of length Δ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExplorationForm {
    /// Added variance e² · scale · Δ. The default scale of 100 makes e the standard deviation added to each of a
    /// hundred equal steps.
    VarianceRate {
        /// How much variance e = 1 adds over the whole time.
        scale: f64,
    },
    /// Added standard deviation e for each step, whatever its length.
    StepDeviation,
}

impl Exploration {
    /// The paper's way, with this factor.
    pub(super) fn new(factor: f64) -> Self {
        Self { factor, anneal: 10_000, form: ExplorationForm::VarianceRate { scale: 100.0 } }
    }

    /// Writes the variance that each step gets in an iteration.
    pub(super) fn added_variance(&self, iteration: u64, grid: &TimeGrid, out: &mut Vec<f32>) {
        let left =
            if self.anneal == 0 { 0.0 } else { (1.0 - iteration as f64 / self.anneal as f64).max(0.0) };
        let factor = self.factor * left;
        out.clear();
        out.extend((0..grid.len()).map(|i| match self.form {
            ExplorationForm::VarianceRate { scale } => {
                (factor * factor * scale * f64::from(grid.step(i).length)) as f32
            }
            ExplorationForm::StepDeviation => (factor * factor) as f32,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Grid;

    #[test]
    fn it_fades_to_nothing() {
        let grid = TimeGrid::new(&Grid::Uniform(4)).expect("a grid");
        let mut added = Vec::new();
        let exploration = Exploration::new(0.3);
        exploration.added_variance(0, &grid, &mut added);
        assert!(added.iter().all(|v| (v - 9.0 / 4.0).abs() < 1e-6));
        exploration.added_variance(5_000, &grid, &mut added);
        assert!(added.iter().all(|v| (v - 9.0 / 16.0).abs() < 1e-6));
        exploration.added_variance(10_000, &grid, &mut added);
        assert_eq!(added, [0.0; 4]);
        let deviation = Exploration { form: ExplorationForm::StepDeviation, ..exploration };
        deviation.added_variance(0, &grid, &mut added);
        assert!(added.iter().all(|v| (v - 0.09).abs() < 1e-6));
    }
}

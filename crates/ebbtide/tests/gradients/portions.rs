//! The gradient of a batch is the mean of its portions' gradients, however many lanes, tiles and waves it takes.

use ebbtide::network::{Process, View};
use ebbtide::objective::{DestructionObjective, GenerationObjective};
use ebbtide::train::{Batch, Differentiator, Objectives};
use ebbtide::trajectory::{Threads, Trajectories};

use crate::case::{Case, Shape};
use crate::choice::Choice;

/// Of a mean over trajectories, relative to its size. Sums of hundreds of rows in another order.
const CLOSE: f64 = 1e-5;

/// Both gradients of some of a case's trajectories, and that of reverse KL, which takes them for its own.
fn gradients(differentiator: &mut Differentiator, case: &Case, first: usize, count: usize) -> [Vec<f32>; 3] {
    let (path, dim) = (case.trajectories.path_len(), case.settings.dim);
    let of_paths = first * path..(first + count) * path;
    let mut trajectories = Trajectories::new(count, path / dim, dim);
    trajectories.states_mut().copy_from_slice(&case.trajectories.states()[of_paths.clone()]);
    let log_density = &case.log_density[first..first + count];
    let batch = Batch { trajectories: &trajectories, log_density, importance: None };
    let objectives = Objectives {
        generation: case.choice.generation.off_policy(),
        destruction: case.choice.destruction,
        log_z: case.log_z,
        residual_bound: f64::INFINITY,
    };
    differentiator.off_policy(case.weights(), batch, objectives);
    let [generation, destruction] =
        [Process::Generation, Process::Destruction].map(|process| differentiator.gradient(process).to_vec());
    let slopes: Vec<f32> = case.noise[first * dim..(first + count) * dim].to_vec();
    differentiator.reverse_kl(case.weights(), batch, &case.noise[of_paths].to_vec(), &slopes);
    [generation, destruction, differentiator.gradient(Process::Generation).to_vec()]
}

#[test]
fn portions_add_up() {
    // Tiles of 16, in eight lanes or four; or of 64 in four lanes, one after the other, twice over.
    for (width, steps, portions) in
        [(6, 10, [16; 9].as_slice()), (160, 10, &[16; 9]), (512, 4, &[64, 64, 64, 64, 64, 7])]
    {
        let shape = Shape {
            dim: 2,
            width,
            depth: 2,
            gaps: vec![1.0; steps],
            batch: portions.iter().sum(),
            sigma_squared: 1.5,
            c1: 1.0,
            c2: 0.7,
            head_gain: 0.8,
            drift_bound: 1e4,
            view: View::Plain,
            residual_bound: f64::INFINITY,
            seed: 7,
        };
        // VarGrad's offset is the batch's own.
        let balances = Some(DestructionObjective::TrajectoryBalance);
        let chosen = |choice: &Choice| choice.destruction == balances && choice.lags && !choice.weighted;
        let choices = Choice::all(GenerationObjective::TrajectoryBalance);
        let case = Case::new(choices.into_iter().find(chosen).expect("there is one"), &shape);
        let threads = Threads::new(2).expect("threads");
        let mut differentiator = Differentiator::new(case.model.clone(), &threads);
        let whole = gradients(&mut differentiator, &case, 0, shape.batch);
        let mut sums = whole.each_ref().map(|gradient| vec![0.0_f64; gradient.len()]);
        let mut first = 0;
        for &count in portions {
            let share = count as f64 / shape.batch as f64;
            for (sum, gradient) in sums.iter_mut().zip(gradients(&mut differentiator, &case, first, count)) {
                sum.iter_mut().zip(gradient).for_each(|(sum, slope)| *sum += share * f64::from(slope));
            }
            first += count;
        }
        for (which, (whole, sum)) in whole.iter().zip(&sums).enumerate() {
            let norm =
                |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
            let size = norm(&mut sum.iter().copied());
            let error = norm(&mut whole.iter().zip(sum).map(|(&whole, sum)| f64::from(whole) - sum));
            assert!(
                size > 0.0 && error < CLOSE * size,
                "width {width}, gradient {which}: {error:e} of {size:e}"
            );
        }
    }
}

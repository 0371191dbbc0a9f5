//! What the network makes of its processes along given paths.

use super::{Lanes, Model, Network, Tile, Trajectories, Wanted};

/// γ of each generation step, α and β of each destruction step, `[path][step][coordinate]`. Step i lies between x_i and x_{i+1}:
/// γ is a function of the state it leaves, x_i, and α and β of x_{i+1}. Where a process is fixed they are 1, and so
/// are α and β of step 0, whose end x_0 is certain.
#[derive(Clone, Debug, PartialEq)]
pub struct Multipliers {
    /// Of the variance of generation.
    pub gamma: Vec<f32>,
    /// Of the mean of destruction.
    pub alpha: Vec<f32>,
    /// Of the variance of destruction.
    pub beta: Vec<f32>,
}

impl Multipliers {
    /// Of these trajectories.
    pub(super) fn new(lanes: &mut Lanes, model: &Model, network: Network, paths: &Trajectories) -> Self {
        let ones = || vec![1.0; paths.states().len()];
        let mut all = Self { gamma: ones(), alpha: ones(), beta: ones() };
        let path = paths.path_len();
        let (share, tile) = (lanes.share(paths.len()) * path, lanes.tile() * path);
        let chunks = paths
            .states()
            .chunks(share)
            .zip(all.gamma.chunks_mut(share))
            .zip(all.alpha.chunks_mut(share).zip(all.beta.chunks_mut(share)));
        let wanted = Wanted { generation: true, destruction: model.destruction.is_learned() };
        lanes.run(chunks, |desk, _, ((states, gamma), (alpha, beta))| {
            let outs = gamma.chunks_mut(tile).zip(alpha.chunks_mut(tile).zip(beta.chunks_mut(tile)));
            for (states, (gamma, (alpha, beta))) in states.chunks(tile).zip(outs) {
                desk.tile.load(model, states);
                desk.tile.forward(model, network, wanted, false);
                of_tile(&desk.tile, model, network, gamma, alpha, beta);
            }
        });
        all
    }
}

fn of_tile(
    tile: &Tile,
    model: &Model,
    network: Network,
    gamma: &mut [f32],
    alpha: &mut [f32],
    beta: &mut [f32],
) {
    let (dim, steps) = (model.dim(), model.steps());
    let path = dim * steps;
    for step in 0..steps {
        for coordinate in 0..dim {
            let place = step * dim + coordinate;
            if let Some(raw) = tile.variances(model, network, coordinate, step) {
                for (gamma, v) in gamma.iter_mut().skip(place).step_by(path).zip(raw) {
                    *gamma = model.generation.multiplier(v);
                }
            }
            if step == 0 {
                continue;
            }
            if let Some((a, b)) = tile.corrections(model, coordinate, step + 1) {
                let outs =
                    alpha.iter_mut().skip(place).step_by(path).zip(beta.iter_mut().skip(place).step_by(path));
                for ((alpha, beta), (&a, &b)) in outs.zip(a.iter().zip(b)) {
                    (*alpha, *beta) = model.destruction.multipliers(a, b);
                }
            }
        }
    }
}

//! Simulation in both directions, and the log-probabilities of given trajectories.

use std::ops::Range;

use super::{Lanes, Model, Network, Tile, Trajectories, Wanted};
use crate::network::Process;
use crate::numeric::aligned::LINE;
use crate::stream::Address;

/// Standard normal draws for a batch of trajectories, `[path][step][coordinate]`.
pub type Noise = Vec<f32>;

/// Fills `noise` for the trajectories of these numbers, each from its own stream.
pub fn draw_noise(
    lanes: &mut Lanes,
    model: &Model,
    address: Address,
    numbers: Range<usize>,
    noise: &mut Noise,
) {
    let path = model.steps() * model.dim();
    noise.resize(numbers.len() * path, 0.0);
    let share = lanes.share(numbers.len());
    lanes.run(noise.chunks_mut(share * path).enumerate(), |_, _, (lane, noise)| {
        address.fill_normals(numbers.start + lane * share, path, noise);
    });
}

/// Simulates the generation process from the origin. Each step gets the extra variance `added_variance[i]`.
pub fn simulate_forward(
    lanes: &mut Lanes,
    model: &Model,
    network: Network,
    noise: &Noise,
    added_variance: &[f32],
    trajectories: &mut Trajectories,
) {
    let path = model.steps() * model.dim();
    trajectories.resize(noise.len() / path);
    let share = lanes.share(trajectories.len()) * path;
    let chunks = trajectories.states_mut().chunks_mut(share).zip(noise.chunks(share));
    lanes.run(chunks, |desk, _, (states, noise)| {
        let most = Tile::capacity(model) * path;
        for (states, noise) in states.chunks_mut(most).zip(noise.chunks(most)) {
            generate(&mut desk.tile, model, network, noise, added_variance, |step, coordinate, x| {
                scatter(states, path, step * model.dim() + coordinate, x);
            });
        }
    });
}

/// Numbers of noise that a lane has at hand while ends are drawn, where that is enough for a vector's worth of paths.
const AT_HAND: usize = 1 << 20;

/// Draws the ends of the trajectories of these numbers, `[trajectory][coordinate]`: those of [`draw_noise`] and
/// [`simulate_forward`] to the bit, but of ways and noise there is never more than a few tiles' worth.
pub(crate) fn simulate_ends(
    lanes: &mut Lanes,
    model: &Model,
    network: Network,
    address: Address,
    first: usize,
    noise: &mut Noise,
    ends: &mut [f32],
) {
    let (dim, steps) = (model.dim(), model.steps());
    let path = dim * steps;
    let share = lanes.share(ends.len() / dim);
    let most = (AT_HAND / path).max(LINE).min(Tile::capacity(model)).min(share);
    noise.resize(ends.len().div_ceil(share * dim) * most * path, 0.0);
    let work = ends.chunks_mut(share * dim).zip(noise.chunks_mut(most * path)).enumerate();
    lanes.run(work, |desk, _, (lane, (ends, noise))| {
        for (index, ends) in ends.chunks_mut(most * dim).enumerate() {
            let noise = &mut noise[..ends.len() * steps];
            address.fill_normals(first + lane * share + index * most, path, noise);
            generate(&mut desk.tile, model, network, noise, &[], |step, coordinate, x| {
                if step + 1 == steps {
                    scatter(ends, dim, coordinate, x);
                }
            });
        }
    });
}

/// Simulates the destruction process from the end points already standing in `trajectories`. The noise of the
/// last step of each path is not used.
pub(crate) fn simulate_backward(
    lanes: &mut Lanes,
    model: &Model,
    network: Network,
    noise: &Noise,
    trajectories: &mut Trajectories,
) {
    let path = model.steps() * model.dim();
    let share = lanes.share(trajectories.len()) * path;
    let chunks = trajectories.states_mut().chunks_mut(share).zip(noise.chunks(share));
    lanes.run(chunks, |desk, _, (states, noise)| {
        let most = Tile::capacity(model) * path;
        for (states, noise) in states.chunks_mut(most).zip(noise.chunks(most)) {
            destroy(&mut desk.tile, model, network, noise, states);
        }
    });
}

/// log p→ and log p← of each trajectory.
pub fn log_probs(
    lanes: &mut Lanes,
    model: &Model,
    network: Network,
    trajectories: &Trajectories,
    generation: &mut Vec<f64>,
    destruction: &mut Vec<f64>,
) {
    let count = trajectories.len();
    generation.resize(count, 0.0);
    destruction.resize(count, 0.0);
    let (share, path, tile) = (lanes.share(count), trajectories.path_len(), lanes.tile());
    let chunks = trajectories
        .states()
        .chunks(share * path)
        .zip(generation.chunks_mut(share))
        .zip(destruction.chunks_mut(share));
    let wanted = Wanted { generation: true, destruction: model.destruction.is_learned() };
    lanes.run(chunks, |desk, _, ((states, generation), destruction)| {
        let outs = generation.chunks_mut(tile).zip(destruction.chunks_mut(tile));
        for (states, (generation, destruction)) in states.chunks(tile * path).zip(outs) {
            desk.tile.load(model, states);
            desk.tile.forward(model, network, wanted, false);
            desk.tile.log_generation(model, network, generation);
            desk.tile.log_destruction(model, destruction);
        }
    });
}

/// Column j of step i of paths stored `[path][step][coordinate]`, into `column`.
fn gather(paths: &[f32], path: usize, place: usize, column: &mut [f32]) {
    for (value, path) in column.iter_mut().zip(paths.chunks_exact(path)) {
        *value = path[place];
    }
}

fn scatter(paths: &mut [f32], path: usize, place: usize, column: &[f32]) {
    for (&value, path) in column.iter().zip(paths.chunks_exact_mut(path)) {
        path[place] = value;
    }
}

/// Takes as many trajectories as there is noise for from the origin to their ends. `keep` is shown each coordinate of each
/// step's states.
fn generate(
    tile: &mut Tile,
    model: &Model,
    network: Network,
    noise: &[f32],
    added: &[f32],
    mut keep: impl FnMut(usize, usize, &[f32]),
) {
    let (dim, steps) = (model.dim(), model.steps());
    let (path, n) = (dim * steps, noise.len() / (dim * steps));
    let mut walk = tile.take_walk();
    walk.states[..dim * n].fill(0.0);
    let learned = model.layout.shape.generation_outputs > dim;
    for i in 0..steps {
        if i == 0 {
            for (column, &value) in tile.generation_raw.chunks_exact_mut(n).zip(network.prelude.origin_raw())
            {
                column.fill(value);
            }
        } else {
            tile.ask(model, network, Process::Generation, i, &walk.states[..dim * n]);
        }
        for j in 0..dim {
            let x = &mut walk.states[j * n..(j + 1) * n];
            let noise_column = &mut walk.noise[..n];
            gather(noise, path, i * dim + j, noise_column);
            let f = &tile.generation_raw[j * n..(j + 1) * n];
            let v = learned.then(|| &tile.generation_raw[(dim + j) * n..(dim + j + 1) * n]);
            let added = added.get(i).copied().unwrap_or(0.0);
            model.generation.draw(model.grid.step(i), x, f, v, noise_column, added);
            keep(i, j, x);
        }
    }
    tile.put_walk(walk);
}

fn destroy(tile: &mut Tile, model: &Model, network: Network, noise: &[f32], states: &mut [f32]) {
    let (dim, steps) = (model.dim(), model.steps());
    let (path, n) = (dim * steps, states.len() / (dim * steps));
    let mut walk = tile.take_walk();
    for j in 0..dim {
        gather(states, path, (steps - 1) * dim + j, &mut walk.states[j * n..(j + 1) * n]);
    }
    for i in (1..steps).rev() {
        tile.ask(model, network, Process::Destruction, i + 1, &walk.states[..dim * n]);
        for j in 0..dim {
            let x = &mut walk.states[j * n..(j + 1) * n];
            let noise_column = &mut walk.noise[..n];
            gather(noise, path, (i - 1) * dim + j, noise_column);
            let raw = model.destruction.is_learned().then(|| {
                let a = &tile.destruction_raw[j * n..(j + 1) * n];
                (a, &tile.destruction_raw[(dim + j) * n..(dim + j + 1) * n])
            });
            model.destruction.draw(model.grid.step(i), x, raw, noise_column);
            scatter(states, path, (i - 1) * dim + j, x);
        }
    }
    tile.put_walk(walk);
}

//! How much arithmetic a piece of work needs, whoever does it and however it is done.
//!
//! Only matrix products are counted, a multiplication and an addition for each pair: activations, kernels,
//! random numbers and optimisers are the price of the method and not counted as its use. What a clever program can
//! leave out is left out of the count too:
//!
//! - x₀ = 0 is one row for the whole batch;
//! - the generation head, and its gradient, is needed at steps 0 … T−1, the destruction head at 2 … T;
//! - time is encoded once for each grid point, with the half of the first backbone layer that reads it;
//! - the live network runs forwards once, and so does the lagging one;
//! - a loss is carried down in two products for each layer, one for the gradient of the weights and one
//!   for what is passed down, of which there is none below the first layer. Time features have learned phases, so down
//!   the time encoder the gradient is passed all the way.
//!
//! Reverse KL needs the same and two ways on down to the states: through the lagging destruction network, and
//! through the simulation. That it runs the network step by step changes nothing about the count.

use crate::case::Case;

/// Rows and products of a case, in multiplications.
struct Count {
    /// x₁ … x_T of all trajectories, and the origin.
    rows: f64,
    /// Where the generation head is asked.
    generation_rows: f64,
    /// Where the destruction head is asked.
    destruction_rows: f64,
    /// The state encoder, for a row.
    encoder: f64,
    /// The backbone, its first layer without the half for time, for a row.
    backbone: f64,
    /// One head, for a row.
    head: f64,
    /// The time encoder and the time half of the first layer, for all grid points.
    time: f64,
    /// Grid points.
    points: f64,
}

impl Count {
    fn new(case: &Case) -> Self {
        let [d, h, depth, steps, batch] =
            [case.d, case.width, case.depth, case.steps, case.batch].map(|size| size as f64);
        let inner = batch * (steps - 1.0);
        Self {
            rows: if case.steps == 1 { 1.0 } else { batch * steps + 1.0 },
            generation_rows: inner + 1.0,
            destruction_rows: inner,
            encoder: d * h,
            backbone: depth * h * h,
            head: 2.0 * d * h,
            time: (steps + 1.0) * 4.0 * h * h,
            points: steps + 1.0,
        }
    }

    /// One network, both heads.
    fn forward(&self) -> f64 {
        let heads = (self.generation_rows + self.destruction_rows) * self.head;
        self.rows * (self.encoder + self.backbone) + heads + self.time
    }

    /// One loss, from its head at so many rows to the weights.
    fn backward(&self, rows: f64) -> f64 {
        if rows == 0.0 {
            return 0.0;
        }
        let weights = self.head + self.backbone + self.encoder;
        let passed_down = self.head + self.backbone;
        rows * (weights + passed_down) + 2.0 * self.time
    }

    /// Operations of walking by one of the processes, with its head asked at so many rows and grid points.
    fn walk(&self, rows: f64, points: usize) -> f64 {
        2.0 * (rows * (self.encoder + self.backbone + self.head) + self.time * points as f64 / self.points)
    }
}

/// Operations of one trajectory-balance update of both processes.
pub fn update(case: &Case) -> f64 {
    let count = Count::new(case);
    2.0 * (2.0 * count.forward()
        + count.backward(count.generation_rows)
        + count.backward(count.destruction_rows))
}

/// Operations of one update by reverse KL, the destruction process learning by VarGrad.
pub fn reverse_kl(case: &Case) -> f64 {
    let count = Count::new(case);
    let through_destruction = count.destruction_rows * (count.head + count.backbone + count.encoder);
    // The origin does not move: no gradient is passed down to it.
    let through_simulation = (count.generation_rows - 1.0) * count.encoder;
    update(case) + 2.0 * (through_destruction + through_simulation)
}

/// Operations of drawing `batch` samples.
pub fn sample(case: &Case) -> f64 {
    let count = Count::new(case);
    // The last grid point is arrived at and never left.
    count.walk(count.generation_rows, case.steps)
}

/// Operations of an iteration: updates by fresh, by so many replayed and by destroyed trajectories, the fresh and the destroyed ones walked first.
pub fn iteration(case: &Case, replayed: usize) -> f64 {
    let count = Count::new(case);
    // Nothing is asked at the origin, nor where the last step back to it begins.
    let destroyed = count.walk(count.destruction_rows, case.steps - 1);
    (2.0 + replayed as f64) * update(case) + sample(case) + destroyed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every product of the smallest case with all parts, written out: d = 1, width 2, depth 2, T = 2, three
    /// trajectories. There are 7 rows (x₀ once; x₁ and x₂ of three), 4 for the generation head (x₀; x₁), 3 for
    /// the destruction head (x₂), and 3 grid points.
    const TINY: Case = Case { d: 1, width: 2, depth: 2, steps: 2, batch: 3 };

    #[test]
    fn an_update_counted_by_hand() {
        // Encoder 1×2, first layer 2×2, second 2×2, heads 2×2; time: 4×2, 2×2 and 2×2.
        let forward = 7 * (2 + 4 + 4) + (4 + 3) * 4 + 3 * (8 + 4 + 4);
        assert_eq!(forward, 146);
        // Weights and passed down: head 4 + 4, second 4 + 4, first 4 + 4, encoder 2 + nothing; time all the way.
        let generation = 4 * (8 + 8 + 8 + 2) + 3 * 2 * 16;
        let destruction = 3 * (8 + 8 + 8 + 2) + 3 * 2 * 16;
        assert_eq!((generation, destruction), (200, 174));
        assert_eq!(update(&TINY), 2.0 * f64::from(2 * forward + generation + destruction));
        assert_eq!(update(&TINY), 1332.0);
    }

    #[test]
    fn reverse_kl_counted_by_hand() {
        // Down the lagging destruction network, head 4, layers 4 and 4, encoder 2, at three rows; and from x₁ of three
        // through the generation network's encoder.
        assert_eq!(reverse_kl(&TINY), 1332.0 + 2.0 * f64::from(3 * (4 + 4 + 4 + 2) + 3 * 2));
    }

    #[test]
    fn sampling_counted_by_hand() {
        assert_eq!(sample(&TINY), 2.0 * f64::from(4 * (2 + 4 + 4 + 4) + 2 * 16));
    }

    #[test]
    fn an_iteration_counted_by_hand() {
        // Back from x₂ of three trajectories: encoder 2, layers 4 and 4, head 4; one grid point.
        let destroyed = 2.0 * f64::from(3 * (2 + 4 + 4 + 4) + 16);
        assert_eq!(iteration(&TINY, 2), 4.0 * 1332.0 + sample(&TINY) + destroyed);
    }

    #[test]
    fn a_single_step_begins_at_the_origin_and_asks_nothing_else() {
        let case = Case { steps: 1, ..TINY };
        let forward = (2 + 4 + 4) + 4 + 2 * 16;
        let generation = (8 + 8 + 8 + 2) + 2 * 2 * 16;
        assert_eq!(update(&case), 2.0 * f64::from(2 * forward + generation));
    }
}

//! What is fixed about a sampler: its grid, its two kernels, and the shape of its network.

use crate::network::{Backbone, Layout, Shape, View};
use crate::process::{Destruction, Generation, TimeGrid};

/// Everything about a sampler but its weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The times.
    pub grid: TimeGrid,
    /// The way to a sample.
    pub generation: Generation,
    /// The way back.
    pub destruction: Destruction,
    /// Where the weights stand.
    pub layout: Layout,
    /// How the network sees states.
    pub view: View,
}

impl Model {
    /// Puts the parts together; the heads get the outputs that the kernels ask for, and the network sees states as they are.
    pub fn new(
        dim: usize,
        grid: TimeGrid,
        generation: Generation,
        destruction: Destruction,
        width: usize,
        depth: usize,
        backbone: Backbone,
    ) -> Self {
        let layout = Layout::new(Shape {
            dim,
            width,
            depth,
            generation_outputs: generation.outputs(dim),
            destruction_outputs: destruction.outputs(dim),
            backbone,
        });
        Self { grid, generation, destruction, layout, view: View::Plain }
    }

    /// Coordinates of a state.
    pub fn dim(&self) -> usize {
        self.layout.shape.dim
    }

    /// Steps of a trajectory.
    pub fn steps(&self) -> usize {
        self.grid.len()
    }
}

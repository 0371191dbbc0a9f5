//! A network that is asked about rows: as many questions as it takes, each of as many rows as it is made for.

use crate::engine::{Prepared, Tensor, prepare};
use crate::{Engine, Model, OnnxError};

/// Rows of a question to the engine within this program, which is made ready for one number of them: few enough that what is between layers
/// stays in a core's cache, and enough of them for all threads.
const BLOCK: usize = 32;

/// Rows of a question to that engine if there are convolutions, whose patches it writes out: those of several images leave the cache (on 8 × 8 pixels
/// and 64 channels, one at a time is twice as fast as eight).
const IMAGES: usize = 1;

/// Rows of a question to an engine that takes any number and has its own threads: what is between layers must fit into memory.
const LARGEST_BLOCK: usize = 128;

/// What an input is given.
pub(crate) enum Input {
    /// A row for each point, of this shape.
    Rows(Vec<usize>),
    /// The same for all points, of this shape.
    Whole(Vec<usize>),
}

/// A network whose outputs have a row for each point.
pub(crate) struct Network {
    prepared: Box<dyn Prepared>,
    inputs: Vec<Input>,
    /// The shape of a row of each output that is wanted.
    outputs: Vec<Vec<usize>>,
    block: usize,
    /// Whether a question has exactly so many rows, and not at most.
    is_exact: bool,
}

impl Network {
    /// Makes a network ready, and asks it about nothing to see what it answers. Of its outputs, those of these numbers are wanted.
    pub fn new(
        model: &Model,
        engine: Engine,
        inputs: Vec<Input>,
        wanted: &[usize],
    ) -> Result<Self, OnnxError> {
        let own = model.inputs().iter().zip(&inputs).find_map(|(port, input)| match input {
            Input::Rows(_) => port.rows(),
            Input::Whole(_) => None,
        });
        let block = own.unwrap_or(match engine {
            Engine::Tract if model.has_convolutions() => IMAGES,
            Engine::Tract => BLOCK,
            Engine::Ort => LARGEST_BLOCK,
        });
        if block == 0 {
            return Err(model.unlike("rows", "an input that has none"));
        }
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| input.shape(block)).collect();
        let prepared = prepare(engine, model, &shapes, wanted)?;
        let is_exact = own.is_some() || engine == Engine::Tract;
        let nothing = shapes.into_iter().map(|shape| {
            let values = vec![0.0; shape.iter().product()];
            Tensor { shape, values }
        });
        let answers = prepared.run(nothing.collect(), 1)?;
        let mut outputs = Vec::new();
        for (answer, output) in answers.iter().zip(wanted) {
            if answer.shape.first() != Some(&block) {
                let name = &model.outputs()[*output].name;
                let found = format!("{:?} for {block} rows", answer.shape);
                return Err(
                    model.unlike(format!("an output `{name}` with a row for each row of its input"), found)
                );
            }
            outputs.push(answer.shape[1..].to_vec());
        }
        Ok(Self { prepared, inputs, outputs, block, is_exact })
    }

    /// The shape of a row of each output that is wanted.
    pub fn outputs(&self) -> &[Vec<usize>] {
        &self.outputs
    }

    /// Rows that a thread takes at a time, and how many threads are ours and how many the engine's own.
    pub fn shares(&self, threads: usize) -> (usize, usize, usize) {
        if self.prepared.is_threaded() { (LARGEST_BLOCK, 1, threads) } else { (BLOCK, threads, 1) }
    }

    /// Outputs for some rows. An input of rows is given all of them.
    pub fn run(&self, rows: usize, inputs: &[&[f32]], threads: usize) -> Result<Vec<Vec<f32>>, OnnxError> {
        let widths: Vec<usize> = self.outputs.iter().map(|row| row.iter().product()).collect();
        let mut outputs: Vec<Vec<f32>> =
            widths.iter().map(|width| Vec::with_capacity(width * rows)).collect();
        for begin in (0..rows).step_by(self.block) {
            let count = self.block.min(rows - begin);
            let asked = if self.is_exact { self.block } else { count };
            let question =
                self.inputs.iter().zip(inputs).map(|(input, all)| input.part(all, begin, count, asked));
            let answers = self.prepared.run(question.collect(), threads)?;
            for ((output, answer), width) in outputs.iter_mut().zip(answers).zip(&widths) {
                output.extend_from_slice(&answer.values[..width * count]);
            }
        }
        Ok(outputs)
    }
}

impl Input {
    fn shape(&self, rows: usize) -> Vec<usize> {
        match self {
            Self::Rows(row) => [rows].into_iter().chain(row.iter().copied()).collect(),
            Self::Whole(shape) => shape.clone(),
        }
    }

    /// Some rows of all; where more are asked for than there are, the last one again and again.
    fn part(&self, all: &[f32], begin: usize, count: usize, asked: usize) -> Tensor {
        let shape = self.shape(asked);
        let Self::Rows(row) = self else { return Tensor { shape, values: all.to_vec() } };
        let width: usize = row.iter().product();
        let mut values = Vec::with_capacity(width * asked);
        values.extend_from_slice(&all[begin * width..][..count * width]);
        for _ in count..asked {
            values.extend_from_slice(&all[(begin + count - 1) * width..][..width]);
        }
        Tensor { shape, values }
    }
}

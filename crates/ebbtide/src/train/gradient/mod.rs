//! From a batch of trajectories to the gradients of both losses.

mod off_policy;
mod reverse_kl;

use std::ops::Range;

use crate::network::{Direction, Process, Sink};
use crate::numeric::{Vectorised, dispatch};
use crate::objective::{DestructionObjective, OffPolicy};
use crate::trajectory::{Lane, Lanes, Model, Prelude, PreludeDescent, Threads, Trajectories, piece};

/// What is learned from: at least one path, the log density of the ends, and how much each path counts.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// The paths.
    pub trajectories: &'a Trajectories,
    /// Log density of each end point.
    pub log_density: &'a [f64],
    /// Importance weight of each path; all 1 if absent.
    pub importance: Option<&'a [f32]>,
}

impl Batch<'_> {
    fn importance(&self, index: usize) -> f64 {
        self.importance.map_or(1.0, |weights| f64::from(weights[index]))
    }
}

/// The live weights, and the lagging copy that each process sees of the other.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// What is being learned.
    pub live: &'a [f32],
    /// The target network; the live one stands in where there is none.
    pub lagging: Option<&'a [f32]>,
}

/// Which losses an off-policy gradient is wanted of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objectives {
    /// The generation loss. For reverse KL see [`Differentiator::reverse_kl`].
    pub generation: Option<OffPolicy>,
    /// The destruction loss.
    pub destruction: Option<DestructionObjective>,
    /// The current log Ẑ.
    pub log_z: f64,
    /// Residuals of trajectory balance beyond this count in proportion for the networks, and not squared. Infinite if all count squared.
    pub residual_bound: f64,
}

/// The losses of a batch; `None` for what was not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Mean generation loss.
    pub generation: Option<f64>,
    /// Mean destruction loss.
    pub destruction: Option<f64>,
    /// Derivative of the generation loss with respect to log Ẑ.
    pub log_z_gradient: f64,
}

/// The machinery that differentiates: workspaces made once, for one model.
///
/// ```
/// # use std::sync::Arc;
/// # use ebbtide::{objective::Method, target::{Formula, Target}, train::Config, trajectory::Threads};
/// use ebbtide::network::Process;
/// use ebbtide::objective::OffPolicy;
/// use ebbtide::train::{Batch, Differentiator, Losses, Objectives, Weights};
/// use ebbtide::trajectory::Trajectories;
///
/// # let target: Arc<dyn Target> = Arc::new(Formula::new("-x0^2/2", 1, &[])?);
/// # let model = Config::new(Method::TbFixed, 2).validate(target)?.model().clone();
/// let parameters = model.layout.initialise(0);
/// let mut differentiator = Differentiator::new(model, &Threads::new(1)?);
/// let mut trajectories = Trajectories::new(2, 2, 1);
/// trajectories.states_mut().copy_from_slice(&[0.5, 1.0, -0.2, 3.0]);
/// let batch = Batch { trajectories: &trajectories, log_density: &[-0.5, -4.5], importance: None };
///
/// // Without training the ends are N(0, 1), as the target is: the residual of each path is what log Ẑ is wrong by.
/// let generation = Some(OffPolicy::TrajectoryBalance);
/// let log_z = 0.5 * std::f64::consts::TAU.ln();
/// let objectives = Objectives { generation, destruction: None, log_z: log_z + 2.0, residual_bound: f64::INFINITY };
/// let weights = Weights { live: &parameters, lagging: None };
/// let Losses { generation, log_z_gradient, .. } = differentiator.off_policy(weights, batch, objectives);
/// assert!((generation.expect("it was asked for") - 0.5 * 2.0 * 2.0).abs() < 1e-4);
/// assert!((log_z_gradient - 2.0).abs() < 1e-4);
///
/// // By the bias of the drift, the derivative of log p→ is the end of the path; the loss has mean δ x = 2 · 2.
/// let layout = &differentiator.model().layout;
/// let bias = layout.generation.dense.bias.start - layout.owned(Process::Generation).start;
/// assert!((differentiator.gradient(Process::Generation)[bias] - 4.0).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Differentiator {
    model: Model,
    lanes: Lanes,
    live: Prelude,
    lagging: Prelude,
    descents: [PreludeDescent; 2],
    origin_gradient: Vec<f32>,
    sum: Vec<f32>,
    outcomes: Vec<Outcome>,
    log_probs: [Vec<f64>; 4],
}

/// What became of one trajectory.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    generation_loss: f64,
    destruction_loss: f64,
    residual: f64,
}

impl Differentiator {
    /// Makes the workspaces. The results are the same for any number of threads.
    pub fn new(model: Model, threads: &Threads) -> Self {
        Self {
            lanes: Lanes::new(&model, threads),
            live: Prelude::new(&model),
            lagging: Prelude::new(&model),
            descents: [PreludeDescent::new(&model), PreludeDescent::new(&model)],
            origin_gradient: vec![0.0; model.layout.shape.generation_outputs],
            sum: Vec::new(),
            outcomes: Vec::new(),
            log_probs: Default::default(),
            model,
        }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The model, for what changes over training (C₂).
    pub(crate) fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Model, lanes and a network ready for simulation with these weights.
    pub fn ready(&mut self, parameters: &[f32]) -> (&mut Lanes, &Model, &Prelude) {
        self.live.forward(&self.model, parameters, Direction::Up);
        (&mut self.lanes, &self.model, &self.live)
    }

    /// The gradient of the last loss of a process, over the parameters it owns. Undefined before the first.
    pub fn gradient(&mut self, process: Process) -> &[f32] {
        &self.lanes.all()[0].sink(process).parameters[self.model.layout.owned(process)]
    }

    /// The sum of the last gradients of all losses there are, over all parameters.
    pub(super) fn summed_gradient(&mut self, losses: &Losses) -> &[f32] {
        let layout = &self.model.layout;
        self.sum.clear();
        self.sum.resize(layout.parameters(), 0.0);
        for (process, loss) in
            [(Process::Generation, losses.generation), (Process::Destruction, losses.destruction)]
        {
            if loss.is_some() {
                let owned = layout.owned(process);
                add(&mut self.sum[owned.clone()], &self.lanes.all()[0].sink(process).parameters[owned]);
            }
        }
        &self.sum
    }

    /// δ of each trajectory in the last batch that had a second-moment generation loss.
    pub(super) fn residuals(&self) -> impl Iterator<Item = f64> {
        self.outcomes.iter().map(|outcome| outcome.residual)
    }

    /// The worst trajectory of the last batch: the first whose loss is not finite, or else the first with the
    /// largest.
    pub(super) fn worst(&self) -> Option<usize> {
        let size = |outcome: &Outcome| {
            let loss = outcome.generation_loss.abs() + outcome.destruction_loss.abs();
            if loss.is_finite() { loss } else { f64::INFINITY }
        };
        let rows = self.outcomes.iter().map(size).enumerate();
        rows.reduce(|worst, row| if row.1 > worst.1 { row } else { worst }).map(|(row, _)| row)
    }

    /// The threads.
    pub(crate) fn threads(&self) -> &Threads {
        self.lanes.threads()
    }

    /// Adds up what the lanes gathered, in their order, and takes it through the prelude.
    fn complete(&mut self, parameters: &[f32], used: usize, generation: bool, destruction: bool) {
        let threads = self.lanes.threads().clone();
        let (first, others) =
            self.lanes.all()[..used].split_first_mut().expect("a batch has at least one lane");
        self.origin_gradient.copy_from_slice(&first.generation.origin);
        for lane in others.iter() {
            add(&mut self.origin_gradient, &lane.generation.origin);
        }
        for (process, wanted) in [(Process::Generation, generation), (Process::Destruction, destruction)] {
            if !wanted {
                continue;
            }
            let sink = first.sink(process);
            for lane in others.iter_mut() {
                add(&mut sink.biases, &lane.sink(process).biases);
            }
            for part in self.model.layout.gathered(process) {
                let piece = piece(part.len());
                let (start, total) = (part.start, &mut sink.parameters[part]);
                let others: &[Lane] = others;
                threads.share(total.chunks_mut(piece).enumerate(), |(index, total)| {
                    let place = start + index * piece..start + index * piece + total.len();
                    dispatch(AddLanes { total, others, process, place });
                });
            }
        }
        let Lane { generation: generation_sink, destruction: destruction_sink, .. } = first;
        let (model, live, origin) = (&self.model, &self.live, &self.origin_gradient);
        let [generation_descent, destruction_descent] = &mut self.descents;
        let items = [
            (Process::Generation, generation, generation_sink, generation_descent),
            (Process::Destruction, destruction, destruction_sink, destruction_descent),
        ];
        let items = items.into_iter().filter(|(_, wanted, _, _)| *wanted);
        threads.share(items, |(process, _, sink, descent)| {
            live.backward(model, parameters, process, origin, sink, descent);
        });
    }

    /// Makes the live network ready, and the lagging one if it is given.
    fn prepare(&mut self, live: &[f32], lagging: Option<&[f32]>, of_lagging: Direction) {
        let model = &self.model;
        let live = Some((&mut self.live, live, Direction::Both));
        let lagging = lagging.map(|parameters| (&mut self.lagging, parameters, of_lagging));
        let preludes = [live, lagging].into_iter().flatten();
        self.lanes.threads().share(preludes, |(prelude, parameters, direction)| {
            prelude.forward(model, parameters, direction);
        });
    }
}

impl Lane {
    fn sink(&mut self, process: Process) -> &mut Sink {
        match process {
            Process::Generation => &mut self.generation,
            Process::Destruction => &mut self.destruction,
        }
    }

    /// Begins to gather the gradients that are wanted.
    fn begin(&mut self, model: &Model, generation: bool, destruction: bool) {
        if generation {
            self.generation.begin(&model.layout, Process::Generation);
        }
        if destruction {
            self.destruction.begin(&model.layout, Process::Destruction);
        }
    }

    /// Ends it.
    fn end(&mut self, model: &Model) {
        self.generation.end(&model.layout, Process::Generation);
        self.destruction.end(&model.layout, Process::Destruction);
    }
}

/// total ← total + what each of the other lanes has in that place, lane by lane.
struct AddLanes<'a> {
    total: &'a mut [f32],
    others: &'a [Lane],
    process: Process,
    place: Range<usize>,
}

/// Numbers that are added up over all lanes before the next.
const AT_A_TIME: usize = 256;

impl Vectorised for AddLanes<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (index, total) in self.total.chunks_mut(AT_A_TIME).enumerate() {
            let start = self.place.start + index * AT_A_TIME;
            for lane in self.others {
                let sink = match self.process {
                    Process::Generation => &lane.generation,
                    Process::Destruction => &lane.destruction,
                };
                for (total, value) in total.iter_mut().zip(&sink.parameters[start..]) {
                    *total += value;
                }
            }
        }
    }
}

fn add(total: &mut [f32], values: &[f32]) {
    for (total, value) in total.iter_mut().zip(values) {
        *total += value;
    }
}

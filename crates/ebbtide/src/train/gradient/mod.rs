//! From a batch of trajectories to the gradients of both losses.

mod off_policy;
mod reverse_kl;

use std::ops::Range;

use crate::network::{Direction, Layout, Process, Sink, gathers_at_once};
use crate::numeric::aligned::LINE;
use crate::numeric::{Vectorised, dispatch};
use crate::objective::{DestructionObjective, OffPolicy};
use crate::trajectory::{Lane, Lanes, Model, Prelude, PreludeDescent, Threads, Trajectories, are_few, piece};

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

    /// Adds up what the lanes gathered, in a fixed order, and takes it through the prelude.
    fn complete(&mut self, parameters: &[f32], used: Used, wanted: &[Process]) {
        let (threads, layout) = (self.lanes.threads().clone(), &self.model.layout);
        // Each half by itself first. With two threads, a half is what one of them has gathered, and then only the sums change hands.
        let (first, second) = self.lanes.all()[..used.first].split_at_mut(used.first / 2);
        let halves = [&mut *first, &mut *second].into_iter().filter_map(|half| half.split_first_mut());
        let sums = halves.flat_map(|(sum, others)| sum.sums(others, wanted));
        match are_few(layout.parameters()) {
            true => threads.share_by_thread(sums, |sum, _| sum.pieces(layout).for_each(dispatch)),
            false => {
                let pieces = sums.flat_map(|sum| sum.pieces(layout));
                threads.share_by_thread(pieces, |piece, _| dispatch(piece));
            }
        }
        if let [sum, ..] = first {
            let pieces = sum.sums(&second[..1], wanted).flat_map(|sum| sum.pieces(layout));
            threads.share(layout.parameters(), pieces, dispatch);
        }
        let sum = &mut self.lanes.all()[0];
        self.origin_gradient.copy_from_slice(&sum.generation.origin);
        let (model, live, origin) = (&self.model, &self.live, &self.origin_gradient);
        let sinks = sum.sinks().into_iter().zip(&mut self.descents);
        let sinks = sinks.filter(|((process, _), _)| wanted.contains(process));
        // As many times as a vector holds cost about as much as one pass over the parameters.
        let passes = (model.steps() / LINE).max(1);
        threads.share(passes * layout.parameters(), sinks, |((process, sink), descent)| {
            live.backward(model, parameters, process, origin, sink, descent);
        });
        for &process in wanted {
            let origin = (process == Process::Generation).then(|| self.descents[0].trace()).flatten();
            self.lanes.gather(&self.model, process, used.last, origin);
        }
    }

    /// Makes the live network ready, and the lagging one if it is given.
    fn prepare(&mut self, live: &[f32], lagging: Option<&[f32]>, of_lagging: Direction) {
        let (threads, model) = (self.lanes.threads(), &self.model);
        let mut networks = [
            Some((&mut self.live, live, Direction::Both)),
            lagging.map(|parameters| (&mut self.lagging, parameters, of_lagging)),
        ];
        let networks = networks.iter_mut().flatten();
        if are_few(model.layout.parameters()) {
            threads.share_by_thread(networks, |(prelude, parameters, direction), _| {
                prelude.forward(model, parameters, *direction);
            });
            return;
        }
        let parts = networks
            .flat_map(|(prelude, parameters, direction)| prelude.parts(model, parameters, *direction));
        threads.share_by_thread(parts, |part, _| part.run());
        let lagging = lagging.map(|parameters| (&mut self.lagging, parameters));
        let networks = [Some((&mut self.live, live)), lagging].into_iter().flatten();
        threads.share_by_thread(networks, |(prelude, parameters), _| prelude.at_origin(model, parameters));
    }
}

/// How many lanes had something to do, at first and at last.
#[derive(Clone, Copy, Default)]
struct Used {
    first: usize,
    last: usize,
}

impl Used {
    /// Before so many lanes go on: gathers what they will write over.
    fn pass(&mut self, lanes: &mut Lanes, model: &Model, wanted: &[Process], lanes_next: usize) {
        if self.last > 0 {
            wanted.iter().for_each(|&process| lanes.gather(model, process, self.last, None));
        }
        *self = Self { first: self.first.max(lanes_next), last: lanes_next };
    }
}

/// The processes there is a loss of.
fn wanted(generation: bool, destruction: bool) -> &'static [Process] {
    match (generation, destruction) {
        (true, true) => &[Process::Generation, Process::Destruction],
        (true, false) => &[Process::Generation],
        (false, true) => &[Process::Destruction],
        (false, false) => &[],
    }
}

impl Lane {
    fn sink(&self, process: Process) -> &Sink {
        match process {
            Process::Generation => &self.generation,
            Process::Destruction => &self.destruction,
        }
    }

    /// The same, to be written.
    pub(crate) fn sink_mut(&mut self, process: Process) -> &mut Sink {
        match process {
            Process::Generation => &mut self.generation,
            Process::Destruction => &mut self.destruction,
        }
    }

    /// Both, for what is done with each.
    fn sinks(&mut self) -> [(Process, &mut Sink); 2] {
        [(Process::Generation, &mut self.generation), (Process::Destruction, &mut self.destruction)]
    }

    /// Begins to gather the gradients that are wanted.
    fn begin(&mut self, model: &Model, wanted: &[Process]) {
        wanted.iter().for_each(|&process| self.sink_mut(process).begin(&model.layout, process));
    }

    /// Ends it.
    fn end(&mut self, model: &Model) {
        self.generation.end(&model.layout, Process::Generation);
        self.destruction.end(&model.layout, Process::Destruction);
    }
}

/// Where in a sink numbers stand.
#[derive(Clone, Copy)]
enum Place {
    /// From this parameter on.
    Parameters(usize),
    Biases,
    Origin,
}

impl Sink {
    fn at(&self, place: Place) -> &[f32] {
        match place {
            Place::Parameters(start) => &self.parameters[start..],
            Place::Biases => &self.biases,
            Place::Origin => &self.origin,
        }
    }
}

/// total ← total + what each of some lanes has in that place, lane by lane.
struct AddLanes<'a> {
    total: &'a mut [f32],
    lanes: &'a [Lane],
    process: Process,
    place: Place,
}

/// What one process has of several lanes, to be added up into the first.
struct Sum<'a> {
    process: Process,
    sink: &'a mut Sink,
    lanes: &'a [Lane],
}

impl Lane {
    /// What is to be done to add other lanes to this one.
    fn sums<'a>(&'a mut self, lanes: &'a [Lane], wanted: &'a [Process]) -> impl Iterator<Item = Sum<'a>> {
        let sinks = self.sinks().into_iter().filter(|(process, _)| wanted.contains(process));
        sinks.map(move |(process, sink)| Sum { process, sink, lanes }).filter(|sum| !sum.lanes.is_empty())
    }
}

impl<'a> Sum<'a> {
    /// The same in pieces.
    fn pieces(self, layout: &Layout) -> impl Iterator<Item = AddLanes<'a>> + use<'a> {
        let Sum { process, sink, lanes } = self;
        let parts =
            if gathers_at_once(layout.shape.width) { [0..0, 0..0, 0..0] } else { layout.gathered(process) };
        let piece = piece(parts.iter().map(Range::len).sum());
        let totals = sink.parameters.get_disjoint_mut(parts.clone()).expect("parts lie apart");
        let places = parts.into_iter().zip(totals).flat_map(move |(part, total)| {
            part.step_by(piece).map(Place::Parameters).zip(total.chunks_mut(piece))
        });
        let rest = [(Place::Biases, &mut sink.biases[..]), (Place::Origin, &mut sink.origin)];
        places.chain(rest).map(move |(place, total)| AddLanes { total, lanes, process, place })
    }
}

/// Numbers that are added up over all lanes before the next.
const AT_A_TIME: usize = 256;

impl Vectorised for AddLanes<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (index, total) in self.total.chunks_mut(AT_A_TIME).enumerate() {
            for lane in self.lanes {
                let values = &lane.sink(self.process).at(self.place)[index * AT_A_TIME..];
                for (total, value) in total.iter_mut().zip(values) {
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

//! What the parts of a training step cost, each alone, on one thread.
//!
//! `cargo bench -p ebbtide --bench parts`, with `-- --quick` for a first look and `-- tile` for some of them. An element
//! is what each group says it is; in products it is a floating-point operation.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use ebbtide::network::{Direction, Process, Sink};
use ebbtide::numeric::aligned::row_stride;
use ebbtide::numeric::gelu::{activate, activate_with_slope};
use ebbtide::numeric::product::{
    Above, Below, FAR, Pair, Panels, Rows, RowsMut, Write, accumulate, gather, multiply, scratch,
};
use ebbtide::objective::Method;
use ebbtide::stream::{Address, Purpose};
use ebbtide::target::{Formula, NamedTarget, Target};
use ebbtide::train::{
    Adam, Archive, Config, Drawn, Keep, LocalSearch, Recall, Replay, ReplayOptions, SumTree, ValidConfig,
};
use ebbtide::trajectory::{
    Lanes, Model, Network, Noise, Prelude, Threads, Tile, Trajectories, Wanted, draw_noise,
};

/// The paper's batch, its steps, and the rows of a tile of small networks.
const BATCH: usize = 512;
const STEPS: usize = 5;
const ROWS: usize = 192;

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30)
        .configure_from_args();
    let criterion = &mut criterion;
    tiles(criterion);
    gelu(criterion);
    products(criterion);
    kernels(criterion);
    noise(criterion);
    adam(criterion);
    sum_tree(criterion);
    replay(criterion);
    search(criterion);
    archive(criterion);
    formulas(criterion);
    criterion.final_summary();
}

/// Numbers of ordinary size that no loop can foresee.
fn numbers(count: usize) -> Vec<f32> {
    let mut numbers = vec![0.0; count];
    Address::new(0, Purpose::Sample, 0).stream(count).fill_normal(&mut numbers);
    numbers
}

/// From the first cache line on, as a tile has its activations.
fn lines(numbers: &mut [f32]) -> &mut [f32] {
    let start = numbers.as_ptr().align_offset(64);
    &mut numbers[start..]
}

fn valid(target: NamedTarget) -> ValidConfig {
    let config = Config::new(Method::TbTb, STEPS);
    config.validate(Arc::from(target.build())).expect("the usual settings")
}

fn one_thread() -> Threads {
    Threads::new(1).expect("one thread")
}

/// Both networks of the paper, both heads: an element is a trajectory.
fn tiles(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tile");
    for target in [NamedTarget::Gmm25, NamedTarget::Manywell] {
        let valid = valid(target);
        let model = valid.model();
        let parameters = model.layout.initialise(0);
        let mut prelude = Prelude::new(model);
        prelude.forward(model, &parameters, Direction::Both);
        let network = Network { parameters: &parameters, prelude: &prelude };
        let mut tile = Tile::new(model);
        let paths = Tile::trajectories(STEPS, model.layout.shape.width);
        tile.load(model, &numbers(paths * STEPS * model.dim()));
        group.throughput(Throughput::Elements(paths as u64));
        let both = Wanted { generation: true, destruction: true };
        for (name, slopes) in [("forward", false), ("forward with slopes", true)] {
            group.bench_function(BenchmarkId::new(name, target), |bencher| {
                bencher.iter(|| tile.forward(model, network, both, slopes));
            });
        }
        // Pulling writes over what the forward pass said, so each time wants a pass of its own before the clock starts.
        let shape = model.layout.shape;
        let sink = || Sink::new(model.layout.parameters(), STEPS + 1, shape.width, shape.generation_outputs);
        let (mut generation, mut destruction) = (sink(), sink());
        let weights = vec![1e-3; paths];
        group.bench_function(BenchmarkId::new("pull and descend", target), |bencher| {
            bencher.iter_custom(|times| {
                let mut spent = Duration::ZERO;
                for _ in 0..times {
                    tile.forward(model, network, both, true);
                    generation.begin(&model.layout, Process::Generation);
                    destruction.begin(&model.layout, Process::Destruction);
                    let start = Instant::now();
                    tile.pull_generation(model, network, &weights, &mut generation.origin);
                    tile.pull_destruction(model, &weights);
                    tile.descend(model, &prelude, Some(&mut generation), Some(&mut destruction));
                    spent += start.elapsed();
                }
                spent
            });
        });
    }
    group.finish();
}

/// A layer of a tile, just written by a product and so still in the cache: an element is a number.
fn gelu(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gelu");
    let (width, stride) = (64, row_stride(64));
    let (z, bias, mut slope) = (numbers(ROWS * stride), numbers(width), vec![0.0; ROWS * stride]);
    group.throughput(Throughput::Elements((ROWS * width) as u64));
    group.bench_function("value", |bencher| {
        let work = |z: &mut Vec<f32>| activate(z, &bias, stride);
        bencher.iter_batched_ref(|| z.clone(), work, BatchSize::PerIteration);
    });
    group.bench_function("value and slope", |bencher| {
        let work = |z: &mut Vec<f32>| activate_with_slope(z, &mut slope, &bias, stride);
        bencher.iter_batched_ref(|| z.clone(), work, BatchSize::PerIteration);
    });
    group.finish();
}

/// A layer's product, and the gradient of its weights: an element is a floating-point operation.
fn products(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("product");
    for width in [64, 256, 1024] {
        let stride = row_stride(width);
        let [mut a, mut b, mut c] = [(); 3].map(|()| numbers(ROWS * stride + 16));
        let ([a, b, c], weights) = ([&mut a, &mut b, &mut c].map(|side| lines(side)), numbers(width * width));
        let mut panels = Panels::new(width, width);
        panels.pack(0, &weights);
        group.throughput(Throughput::Elements((2 * ROWS * width * width) as u64));
        group.bench_function(BenchmarkId::new("multiply", width), |bencher| {
            bencher.iter(|| {
                let a = Rows::new(a, ROWS, width, stride);
                multiply(RowsMut::new(c, ROWS, width, stride), a, &panels);
            });
        });
        // As the network does it: both sides of wide layers are rearranged first.
        let (mut gradient, mut space) = (vec![0.0; width * width], vec![0.0; scratch(ROWS)]);
        let (mut below, mut above) = (Below::new(ROWS, width), Above::new(ROWS, width));
        group.bench_function(BenchmarkId::new("gather", width), |bencher| {
            bencher.iter(|| {
                let (a, b) = (Rows::new(a, ROWS, width, stride), Rows::new(b, ROWS, width, stride));
                let gradient = RowsMut::new(&mut gradient, width, width, width);
                if width < FAR {
                    return accumulate(gradient, Write::Add, a, b, &mut space);
                }
                below.pack(0, a);
                above.pack(0, b);
                let pair = Pair { below: (&below, 0), above: (&above, 0), rows: ROWS };
                gather(gradient, 0, Write::Add, [pair].into_iter());
            });
        });
    }
    group.finish();
}

/// One coordinate of one step: an element is a trajectory.
fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel log-probability");
    let valid = valid(NamedTarget::Gmm25);
    let (model, step) = (valid.model(), valid.model().grid.step(1));
    let [x, next, first, second] = [0, 1, 2, 3].map(|i| numbers(BATCH + i)[..BATCH].to_vec());
    let mut out = vec![0.0; BATCH];
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("generation", |bencher| {
        bencher.iter(|| model.generation.log_prob(step, &x, &next, &first, Some(&second), &mut out));
    });
    group.bench_function("destruction", |bencher| {
        bencher.iter(|| model.destruction.log_prob(step, &x, &next, Some((&first, &second)), &mut out));
    });
    group.finish();
}

/// The noise of a batch: an element is a normal draw.
fn noise(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("noise");
    for target in [NamedTarget::Gmm25, NamedTarget::Manywell] {
        let valid = valid(target);
        let model: &Model = valid.model();
        let (mut lanes, mut noise) = (Lanes::for_simulation(model, &one_thread()), Noise::new());
        group.throughput(Throughput::Elements((BATCH * STEPS * model.dim()) as u64));
        group.bench_function(BenchmarkId::new("draw", target), |bencher| {
            let mut iteration = 0;
            bencher.iter(|| {
                iteration += 1;
                let address = Address::new(0, Purpose::Generate, iteration);
                draw_noise(&mut lanes, model, address, 0..BATCH, &mut noise);
            });
        });
    }
    group.finish();
}

/// An element is a parameter.
fn adam(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("adam");
    let threads = one_thread();
    for (name, count) in [("26k", 26_000), ("10M", 10_000_000)] {
        let gradient: Vec<f32> = numbers(1000).into_iter().cycle().take(count).collect();
        let (mut adam, mut parameters) = (Adam::new(count), vec![0.0; count]);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("step", name), |bencher| {
            bencher.iter(|| adam.step(&threads, &mut parameters, &gradient, 1.0, 1e-3, 1e-7));
        });
    }
    group.finish();
}

/// As large as the replay buffer: an element is a place that is found and set.
fn sum_tree(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sum tree");
    let places = ReplayOptions::default().capacity;
    let mut tree = SumTree::new(places);
    let mut stream = Address::new(0, Purpose::Replay, 0).stream(0);
    (0..places).for_each(|place| tree.set(place, stream.uniform()));
    group.throughput(Throughput::Elements(1));
    group.bench_function("find and set", |bencher| {
        bencher.iter(|| {
            let place = tree.find(stream.uniform() * tree.total());
            tree.set(place, stream.uniform());
        });
    });
    group.finish();
}

/// An element is a trajectory.
fn replay(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("replay");
    let (options, dim) = (ReplayOptions::default(), 2);
    let mut replay = Replay::new(options.capacity, STEPS * dim);
    let all = Trajectories::new(options.capacity, STEPS, dim);
    replay.insert(&all, &vec![0.0; options.capacity], &options);
    let mut stream = Address::new(0, Purpose::Replay, 0).stream(0);
    let places: Vec<usize> = (0..options.capacity).collect();
    replay.refresh(&places, places.iter().map(|_| stream.uniform()), &options);
    let (mut batch, mut drawn) = (Trajectories::new(BATCH, STEPS, dim), Drawn::default());
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("draw", |bencher| {
        bencher.iter(|| replay.draw(&mut stream, &options, &mut batch, &mut drawn));
    });
    group.finish();
}

/// A whole search: an element is one step of one chain.
fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("local search");
    let search = LocalSearch::default();
    for name in [NamedTarget::Gmm25, NamedTarget::Manywell] {
        let target = name.build();
        let (dim, differentiable) = (target.dim(), target.differentiable().expect("it has a gradient"));
        let (starts, mut chains) = (numbers(BATCH * dim), search.chains(BATCH, dim));
        group.throughput(Throughput::Elements((BATCH * search.steps) as u64));
        group.bench_function(BenchmarkId::new("512 chains", name), |bencher| {
            bencher.iter(|| {
                let address = Address::new(0, Purpose::LocalSearch, 0);
                search.run(differentiable, dim, &starts, address, &mut chains).expect("a density");
            });
        });
    }
    group.finish();
}

/// The paper's archive, full: an element is a point.
fn archive(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("archive");
    let (capacity, dim, finds) = (LocalSearch::default().capacity, 2, 25_600);
    let mut archive = Archive::new(capacity, dim);
    let mut stream = Address::new(0, Purpose::Recall, 0).stream(0);
    let mut densities = |count: usize| (0..count).map(|_| stream.normal_f64()).collect::<Vec<_>>();
    let mut unused = Address::new(0, Purpose::Keep, 0).stream(0);
    archive.insert(&numbers(capacity * dim), &densities(capacity), Keep::Newest, &mut unused);
    let (points, densities) = (numbers(finds * dim), densities(finds));
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function("draw 512 of 600,000", |bencher| {
        bencher.iter(|| {
            for _ in 0..BATCH {
                black_box(archive.draw(Recall::Ranked, &mut stream));
            }
        });
    });
    group.throughput(Throughput::Elements(finds as u64));
    group.bench_function("insert 25,600 into 600,000", |bencher| {
        bencher.iter(|| archive.insert(&points, &densities, Keep::Newest, &mut unused));
    });
    group.finish();
}

/// A batch of log densities and gradients, written by hand and as a formula; an element is a point.
fn formulas(criterion: &mut Criterion) {
    let funnel = "-x0^2/2 - 4.5*x0 - 0.5*exp(-x0)*sum(i, 1, 9, x[i]^2)";
    let wells = "sum(i, 0, 15, -x[2*i]^4 + 6*x[2*i]^2 + 0.5*x[2*i] - 0.5*x[2*i+1]^2)";
    let means: Vec<String> = (0..25)
        .map(|place| format!("-((x0 - {})^2 + (x1 - {})^2)/0.6", 5 * (place / 5) - 10, 5 * (place % 5) - 10))
        .collect();
    let mixture = format!("logsumexp({})", means.join(", "));
    let cases =
        [(NamedTarget::EasyFunnel, funnel), (NamedTarget::Manywell, wells), (NamedTarget::Gmm25, &mixture)];
    let mut group = criterion.benchmark_group("density and gradient");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (target, text) in cases {
        let built = target.build();
        let formula = Formula::new(text, built.dim(), &[]).expect("a formula");
        let points = numbers(BATCH * built.dim());
        let (mut out, mut gradient) = (vec![0.0; BATCH], vec![0.0; points.len()]);
        for (name, density) in [("by hand", &*built), ("formula", &formula as &dyn Target)] {
            let density = density.differentiable().expect("it has a gradient");
            group.bench_function(BenchmarkId::new(name, target), |bencher| {
                bencher
                    .iter(|| density.log_density_and_gradient(black_box(&points), &mut out, &mut gradient));
            });
        }
    }
    group.finish();
}

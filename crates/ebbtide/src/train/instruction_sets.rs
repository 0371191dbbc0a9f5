//! The same training on every kind of vectors that this machine has.

use std::sync::Arc;

use super::{Config, LocalSearch, Trainer};
use crate::network::View;
use crate::numeric::vectors;
use crate::numeric::widths::{all_vectors, with_vectors};
use crate::objective::Method;
use crate::target::{NamedTarget, Target};
use crate::trajectory::Threads;

/// A hundred, and for an interpreter, which looks for wrong memory, one that searches.
const ITERATIONS: u64 = if cfg!(miri) { 1 } else { 100 };

/// Both losses and log Ẑ of each iteration of a small training, replay and search included.
fn losses(method: Method, view: View, width: usize) -> Vec<[f64; 3]> {
    let target: Arc<dyn Target> = NamedTarget::Gmm25.build().into();
    let mut config = Config::new(method, 3);
    (config.iterations, config.batch, config.network.width) = (ITERATIONS, 24, width);
    (config.replay.capacity, config.network.view) = (100, view);
    if cfg!(miri) {
        (config.batch, config.network.width) = (3, 4);
    }
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch {
            every: if cfg!(miri) { 1 } else { 10 },
            steps: 8,
            burn_in: 3,
            capacity: 400,
            ..*search
        };
    }
    let valid = config.validate(target).expect("valid");
    let mut trainer = Trainer::new(valid, &Threads::new(1).expect("a thread"));
    let mut losses = Vec::new();
    while !trainer.is_finished() {
        let report = trainer.step().expect("an iteration");
        let loss = |loss: Option<f64>| loss.unwrap_or_default();
        losses.push([loss(report.generation_loss), loss(report.destruction_loss), report.log_z]);
    }
    losses
}

/// Sums have one order and functions one formula, so that nothing of a training depends on the width of vectors.
#[test]
fn the_first_hundred_losses_are_the_same_bits_on_all() {
    let asked = with_vectors(pulp::Arch::Scalar, vectors);
    assert!(matches!(asked, pulp::Arch::Scalar), "what is asked for is what is used");
    let trainings = [
        (Method::TbTb, View::Plain, 16),
        (Method::TbTb, View::Plain, 80),
        (Method::TbTb, View::Logarithmic, 16),
        (Method::TbTlm, View::Plain, 16),
        (Method::PisVarGrad, View::Logarithmic, 16),
    ];
    for (method, view, width) in trainings.into_iter().take(if cfg!(miri) { 1 } else { trainings.len() }) {
        let plain = with_vectors(pulp::Arch::Scalar, || losses(method, view, width));
        assert_eq!(plain.len() as u64, ITERATIONS);
        for (name, vectors) in all_vectors() {
            let these = with_vectors(vectors, || losses(method, view, width));
            assert_eq!(plain, these, "{method}, {view:?}, width {width}, with {name}");
        }
    }
}

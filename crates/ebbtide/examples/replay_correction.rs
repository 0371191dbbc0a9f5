//! What the importance weights of prioritised replay cost: TBθ,φ on 25GMM with an exponent β of one's choice.
//!
//! The paper corrects with β = 0.1 relative to the smallest priority in the buffer. That priority is next to
//! nothing, so every replayed trajectory is weighed down by a factor of five to twenty, and replayed updates
//! hardly move the weights beside fresh ones. β = 0 lets them count in full.
//!
//! usage: cargo run --release -p ebbtide --example replay_correction -- BETA [ITERATIONS] [THREADS]

use std::sync::Arc;

use ebbtide::metric::{EvaluationOptions, evaluate};
use ebbtide::objective::Method;
use ebbtide::target::{NamedTarget, Target};
use ebbtide::train::{Config, Trainer};
use ebbtide::trajectory::Threads;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let beta: f64 = arguments.next().map_or(Ok(0.0), |text| text.parse())?;
    let target: Arc<dyn Target> = NamedTarget::Gmm25.build().into();
    let mut config = Config::preset(NamedTarget::Gmm25, Method::TbTb, 5);
    config.replay.correction_exponent = beta;
    if let Some(iterations) = arguments.next() {
        config.iterations = iterations.parse()?;
    }
    let threads = Threads::new(arguments.next().map_or(Ok(0), |text| text.parse())?)?;
    let mut trainer = Trainer::new(config.validate(Arc::clone(&target))?, &threads);
    let every = (trainer.config().iterations / 10).max(1);
    while !trainer.is_finished() {
        let report = trainer.step()?;
        if report.iteration.is_multiple_of(every) {
            let finished = trainer.is_finished();
            let options = EvaluationOptions {
                iteration: report.iteration,
                transport: finished,
                ..EvaluationOptions::default()
            };
            let evaluation = evaluate(&*target, &mut trainer.sampler(), options)?;
            let bounds = evaluation.bounds;
            print!(
                "β = {beta}, iteration {}: ELBO {:.3} ± {:.3}",
                report.iteration, bounds.elbo.value, bounds.elbo.standard_error
            );
            if let Some(eubo) = bounds.eubo {
                print!(", EUBO {:.3} ± {:.3}", eubo.value, eubo.standard_error);
            }
            match evaluation.wasserstein2 {
                Some(distance) => println!(", W2 {distance:.3}"),
                None => println!(),
            }
        }
    }
    Ok(())
}

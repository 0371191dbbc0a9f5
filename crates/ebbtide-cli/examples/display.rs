//! Plays invented runs, to look at the display without training anything.
//!
//! `cargo run --example display -- [runs] [seconds]`, or `-- cost` for what an iteration's event costs.

use std::path::Path;
use std::time::{Duration, Instant};

use ebbtide::train::Report;
use ebbtide_run::{Event, Figures, Observer, Outcome, Record, Status};

use display::{Display, Manner};

#[allow(dead_code)]
#[path = "../src/display/mod.rs"]
mod display;
#[allow(dead_code)]
#[path = "../src/words.rs"]
mod words;

/// Iterations of each run.
const ITERATIONS: u64 = 25_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "cost") {
        return cost();
    }
    let argument =
        |index: usize, or: f64| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(or);
    let (runs, seconds) = (argument(0, 1.0) as usize, argument(1, 5.0));
    let display = Display::new(false);
    let observers: Vec<_> = (0..runs).map(|run| display.observe(&format!("25gmm tb-tb T5 s{run}"))).collect();
    // Two at a time, as a sweep on two cores would.
    let mut waiting = observers.into_iter().enumerate();
    std::thread::scope(|scope| {
        loop {
            let pair: Vec<_> = waiting.by_ref().take(2).collect();
            if pair.is_empty() {
                break;
            }
            let playing: Vec<_> = pair
                .into_iter()
                .map(|(run, observer)| scope.spawn(move || play(run, observer, seconds)))
                .collect();
            for played in playing {
                let _ = played.join();
            }
            display.remark("a pair is over");
        }
    });
    display.finish();
    println!("final figures follow here");
}

/// Plays a run that takes so many seconds; every third loses its way, every fourth is stopped.
fn play(run: usize, mut observer: Box<dyn Observer>, seconds: f64) {
    let folder = format!("runs/25gmm-tb-tb-s{run}");
    observer.notice(Event::Begun {
        folder: Path::new(&folder),
        iteration: 0,
        iterations: ITERATIONS,
        seconds: 0.0,
    });
    let (diverges, stops) = (run % 3 == 1, run % 4 == 2);
    let end = if diverges || stops { ITERATIONS / 2 } else { ITERATIONS };
    let mut figures = None;
    for iteration in 1..=end {
        let report = report(iteration, diverges && iteration + 3000 > end);
        observer.notice(Event::Stepped(&report));
        if iteration % 500 == 0 {
            figures = Some(evaluate(iteration, diverges && iteration + 2000 > end));
            observer.notice(Event::Recorded(&Record { figures, ..Record::default() }));
        }
        if iteration % 100 == 0 {
            std::thread::sleep(Duration::from_secs_f64(100.0 * seconds / ITERATIONS as f64));
        }
    }
    observer.notice(Event::Evaluating);
    std::thread::sleep(Duration::from_millis(400));
    let status = match (diverges, stops) {
        (true, _) => {
            let reason = "the generation loss is NaN".to_owned();
            Status::Diverged { at: end + 1, reason, point: vec![0.5; 2] }
        }
        (_, true) => Status::Interrupted,
        _ => Status::Finished,
    };
    observer.notice(Event::Ended(&outcome(status, end, figures)));
}

fn report(iteration: u64, wrong: bool) -> Report {
    let wave = 1.0 + 0.2 * (iteration as f64).sin();
    let loss = wave * (1e3 * (-(iteration as f64) / 800.0).exp() + 0.5);
    let factor = if wrong { 1000.0 } else { 1.0 };
    Report {
        iteration,
        generation_loss: Some(factor * loss),
        destruction_loss: Some(0.9 * loss),
        log_z: -3.0 * (-(iteration as f64) / 4000.0).exp(),
        evaluations: 512 * iteration,
        ..Report::default()
    }
}

fn evaluate(iteration: u64, wrong: bool) -> Figures {
    let distance = 5.0 * (-(iteration as f64) / 4000.0).exp() + 0.4;
    Figures {
        elbo: if wrong { -80.0 } else { -distance },
        elbo_error: 0.02,
        eubo: Some(distance),
        eubo_error: Some(0.02),
        log_z: 0.0,
        log_z_error: 0.02,
        ess: if wrong { 0.002 } else { 0.75 / (1.0 + distance) },
    }
}

fn outcome(status: Status, iterations: u64, figures: Option<Figures>) -> Outcome {
    Outcome {
        status,
        target: "25gmm".to_owned(),
        method: "tb-tb".to_owned(),
        steps: 5,
        batch: 512,
        seed: 0,
        iterations,
        seconds: 1.0,
        evaluations: 512 * iterations,
        figures,
        log_z_true: Some(0.0),
        w2: None,
        w2_floor: None,
        modes: None,
        modes_total_variation: None,
        best_iteration: None,
    }
}

/// Says how long an iteration's event takes, while the display looks at the run as always.
fn cost() {
    const EVENTS: u32 = 20_000_000;
    for manner in [Manner::Silent, Manner::Lines, Manner::Live] {
        let display = Display::in_manner(manner);
        let mut observer = display.observe("cost");
        let iterations = EVENTS.into();
        observer.notice(Event::Begun { folder: Path::new(""), iteration: 0, iterations, seconds: 0.0 });
        let mut report = report(1, false);
        let begun = Instant::now();
        for iteration in 1..=iterations {
            report.iteration = iteration;
            observer.notice(std::hint::black_box(Event::Stepped(&report)));
        }
        let each = begun.elapsed() / EVENTS;
        observer.notice(Event::Ended(&outcome(Status::Finished, iterations, None)));
        display.finish();
        println!("{manner:?}: {} ns an event", each.as_nanos());
    }
}

//! `ebbtide-bench updates`: one line for each size, in the form that its peers' yardsticks print.

use clap::Args;

use crate::case::CASES;
use crate::work::{Sample, Update, Work};
use crate::{Failure, ThreadCount, timing};

/// Updates and sampling passes of four sizes.
#[derive(Args)]
pub struct Updates {
    #[command(flatten)]
    threads: ThreadCount,
    /// How long to look for the best time of each
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
}

impl Updates {
    /// Measures and prints.
    pub fn run(&self) -> Result<(), Failure> {
        let threads = self.threads.start()?;
        for case in CASES {
            let update = self.best(&mut Update::new(case, &threads)?)?;
            let sample = self.best(&mut Sample::new(case, &threads)?)?;
            let [d, width, depth, steps, batch] =
                [case.d, case.width, case.depth, case.steps, case.batch].map(|size| size.to_string());
            let sizes = [d, width, depth, steps, batch].join(",");
            println!("ebbtide,{sizes},{update:.3},{sample:.3}");
        }
        Ok(())
    }

    fn best(&self, work: &mut dyn Work) -> Result<f64, Failure> {
        timing::warm_up(work)?;
        timing::best(work, self.seconds)
    }
}

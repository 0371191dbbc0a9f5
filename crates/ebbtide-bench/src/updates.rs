//! `ebbtide-bench updates`: one line for each size, in the form that its peers' yardsticks print.

use clap::Args;

use crate::case::{CASES, Case};
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
            println!("{}", line(case, update, sample));
        }
        Ok(())
    }

    fn best(&self, work: &mut dyn Work) -> Result<f64, Failure> {
        timing::warm_up(work)?;
        timing::best(work, self.seconds)
    }
}

/// `ebbtide,d,width,depth,T,batch,update_ms,sample_ms`
fn line(Case { d, width, depth, steps, batch }: Case, update: f64, sample: f64) -> String {
    format!("ebbtide,{d},{width},{depth},{steps},{batch},{update:.3},{sample:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_the_yardsticks_print() {
        assert_eq!(line(CASES[3], 1234.5678, 0.5), "ebbtide,512,1024,4,5,128,1234.568,0.500");
    }
}

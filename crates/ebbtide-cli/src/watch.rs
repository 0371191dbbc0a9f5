//! `ebbtide watch`: a run in a browser while it goes on.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ebbtide::trajectory::Threads;
use ebbtide_report::portrait::Stage;
use ebbtide_report::watch::{Watch as Server, WatchError};

use crate::failure::{Failure, say};
use crate::find::meant;
use crate::interrupt::Interrupt;

/// What to watch.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Watch {
    /// The run's folder, or its name (the date may be left out)
    run: PathBuf,
    /// Port of the page; 0 takes any that is free [default: 8020, or any]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Threads for the pictures; 0 takes all cores
    #[arg(long, value_name = "K", default_value_t = 1)]
    threads: usize,
}

/// Where the page is looked for first.
const PORT: u16 = 8020;

const HELP: &str = "\
Open the address that it prints in a browser. The page is the run's report; curves follow within a second, pictures
with every checkpoint. It can be reached from this machine alone, only reads, and may be started, stopped and started
again while the run goes on. From another machine: ssh -L 8020:127.0.0.1:8020 HOST.

Examples:
  ebbtide watch 25gmm-tb-tb-T5-s0
  ebbtide watch runs/2026-11-16-25gmm-tb-tb-T5-s0 --port 9000";

impl Watch {
    /// Serves until Ctrl-C.
    pub fn run(&self, runs: &Path) -> Result<ExitCode, Failure> {
        let (folder, threads) = (meant(&self.run, runs)?, Threads::new(self.threads)?);
        let server = match self.port {
            Some(port) => Server::new(&folder, port, &threads)?,
            None => match Server::new(&folder, PORT, &threads) {
                Err(WatchError::Port { .. }) => Server::new(&folder, 0, &threads)?,
                other => other?,
            },
        };
        let interrupt = Interrupt::silent()?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", server.url())?;
        out.flush()?;
        drop(out);
        say(&format!("shows {}; Ctrl-C ends", folder.display()));
        server.serve(interrupt.stop(), |stage| match stage {
            Stage::Training => say("training"),
            Stage::Stopped => say("nobody is training there now; the page waits"),
            Stage::Over => say("the run is over; the page stays until Ctrl-C"),
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

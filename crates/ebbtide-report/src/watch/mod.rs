//! A page that shows a run while it goes on, served to this machine alone.

mod looker;
mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::thread;
use std::time::Duration;

use ebbtide::trajectory::Threads;
use ebbtide_run::Stop;
use tokio::sync::watch;

use crate::page::Section;
use crate::portrait::{PortraitError, Stage};
use looker::Looker;

/// From one look at the run's folder to the next.
const LOOK: Duration = Duration::from_millis(500);

/// A server that is about to show a run. It reads the run's folder, and never writes.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::EasyFunnel, Some(Method::TbTlm), 3);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 100);
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// # let folder = run.folder().to_owned();
/// # run.go(&ebbtide_run::Stop::new(), &mut ())?;
/// use ebbtide_report::portrait::Stage;
/// use ebbtide_report::watch::{Watch, WatchError};
/// use ebbtide_run::Stop;
///
/// let watch = Watch::new(&folder, 0, &threads)?;
/// let url = watch.url();
/// let port = url.trim_start_matches("http://127.0.0.1:").trim_end_matches('/').parse()?;
/// assert!(matches!(Watch::new(&folder, port, &threads), Err(WatchError::Port { .. })));
///
/// // Visitors are served until the run is over.
/// let stop = Stop::new();
/// watch.serve(&stop, |stage| {
///     if stage == Stage::Over {
///         stop.ask();
///     }
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Watch {
    listener: TcpListener,
    looker: Looker,
    first: Current,
}

/// What there is to see at a moment.
#[derive(Clone, Debug)]
struct Current {
    title: String,
    sections: Vec<Section>,
    stage: Stage,
    /// Why the last look saw nothing.
    trouble: Option<String>,
}

/// Why a run cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The run cannot be looked at.
    #[error(transparent)]
    Portrait(#[from] PortraitError),
    /// The port cannot be had.
    #[error(
        "could not listen on port {port} of this machine: {reason}; another one may be free: --port 0 takes any"
    )]
    Port {
        /// Which.
        port: u16,
        /// Why.
        reason: io::Error,
    },
    /// The server failed.
    #[error("the server failed: {0}")]
    Server(#[from] io::Error),
}

impl Watch {
    /// Takes a port of this machine (0 takes any), and looks at a run for the first time.
    pub fn new(folder: &Path, port: u16, threads: &Threads) -> Result<Self, WatchError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).map_err(|reason| WatchError::Port { port, reason })?;
        listener.set_nonblocking(true)?;
        let (looker, first) = Looker::new(folder, threads)?;
        Ok(Self { listener, looker, first })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        format!("http://127.0.0.1:{port}/")
    }

    /// Serves until somebody asks to stop. `turn` is told when the run begins, stops and ends.
    pub fn serve(self, stop: &Stop, mut turn: impl FnMut(Stage) + Send) -> Result<(), WatchError> {
        let Self { listener, mut looker, first } = self;
        let mut stage = first.stage;
        turn(stage);
        let (send, receive) = watch::channel(first);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = thread::scope(|scope| {
            scope.spawn(move || {
                // A server that failed has nobody left who listens.
                while !stop.asked() && !send.is_closed() {
                    thread::sleep(LOOK);
                    // What is borrowed must be given back before anything is sent.
                    let next = looker.look(&send.borrow());
                    if let Some(next) = next {
                        if next.stage != stage {
                            stage = next.stage;
                            turn(stage);
                        }
                        send.send_replace(next);
                    }
                }
                // With the sender gone, visitors are told that there will be no more.
            });
            runtime.block_on(server::serve(listener, receive))
        });
        runtime.shutdown_background();
        Ok(served?)
    }
}

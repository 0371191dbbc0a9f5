//! What a run ran on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Program and machine, as `environment.json` has them.
///
/// ```
/// # use ebbtide::{objective::Method, target::NamedTarget, trajectory::Threads};
/// # use ebbtide_run::{Stop, run::Run, settings::Preset};
/// # let (runs, threads) = (tempfile::tempdir()?, Threads::new(1)?);
/// # let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
/// # (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (6, 16, 64);
/// # let run = Run::begin(runs.path(), settings, &threads)?;
/// use ebbtide_run::{Environment, run::read_environment};
///
/// // `run` has just begun, on one thread.
/// let environment: Environment = read_environment(run.folder())?.expect("it is written first");
/// assert_eq!(environment.threads, 1);
/// assert!(environment.cores >= 1 && environment.system.starts_with(std::env::consts::OS));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of the program.
    pub version: String,
    /// Commit that it was built from; `-dirty` if the files had been changed since.
    pub commit: String,
    /// Processor.
    pub cpu: String,
    /// Its cores, as far as this process may use them.
    pub cores: usize,
    /// Threads that the run uses.
    pub threads: usize,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
    /// Operating system and processor architecture.
    pub system: String,
    /// When it began.
    pub begun: String,
    /// The arguments of the program.
    pub command: Vec<String>,
}

/// The commit that this crate was built from.
pub(crate) const COMMIT: &str = env!("EBBTIDE_COMMIT");

impl Environment {
    /// Here and now.
    pub(crate) fn now(threads: usize) -> Self {
        let what = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(what);
        let cpu = system.cpus().first().map_or("unknown", |cpu| cpu.brand()).trim().to_owned();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: COMMIT.to_owned(),
            cpu,
            cores: crate::pool::cores(),
            threads,
            memory_bytes: system.total_memory(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            begun: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: std::env::args().collect(),
        }
    }
}

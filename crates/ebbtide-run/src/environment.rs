//! What a run ran on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Program and machine, as `environment.json` has them.
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

//! How much memory this process has needed.

use std::fs;

/// Peak resident memory so far, in MiB, where the system keeps such a record.
pub fn peak_mb() -> Option<f64> {
    peak_in(&fs::read_to_string("/proc/self/status").ok()?)
}

/// The line `VmHWM:    1234 kB`.
fn peak_in(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_where_it_is_written() {
        assert_eq!(peak_in("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t    2048 kB\nThreads:\t1\n"), Some(2.0));
        assert_eq!(peak_in("Name:\tx\n"), None);
        assert_eq!(peak_in("VmHWM:\tmuch\n"), None);
    }
}

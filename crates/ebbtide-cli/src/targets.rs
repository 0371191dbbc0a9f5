//! `ebbtide targets`: what can be named.

use std::io::{self, Write};
use std::process::ExitCode;

use ebbtide::target::NamedTarget;

use crate::failure::Failure;

/// Prints a line for each target.
pub fn list() -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{:<26}{:>3}  {:>10}  about", "target", "dim", "log Z")?;
    for target in NamedTarget::ALL {
        let built = target.build();
        let exact = built.log_z().map(|log_z| format!("{log_z:.4}"));
        let estimate = || target.reference().map(|reference| format!("≈ {:.2}", reference.log_z));
        let log_z = exact.or_else(estimate).unwrap_or_else(|| "unknown".to_owned());
        writeln!(out, "{:<26}{:>3}  {log_z:>10}  {}", target.name(), built.dim(), target.summary())?;
    }
    Ok(ExitCode::SUCCESS)
}

//! A Python with NumPy: the one that is active, or a virtual environment that the tests make for themselves.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter's path; nothing, and a message that is seen, where Python cannot make environments.
pub fn with_numpy() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(find).clone()
}

fn find() -> Option<PathBuf> {
    let active = PathBuf::from("python3");
    if succeeds(&active, &["-c", "import numpy"]) {
        return Some(active);
    }
    if !succeeds(&active, &["-c", "import venv, ensurepip"]) {
        // Past what the test harness captures.
        let _ =
            writeln!(io::stderr(), "left out: no python3 here has NumPy or can make virtual environments");
        return None;
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-with-numpy");
    let python = |place: &Path| place.join("bin/python3");
    if !succeeds(&python(&place), &["-c", "import numpy"]) {
        // Other tests may do the same at the same time: the first who is ready moves it there.
        let own = place.with_extension(std::process::id().to_string());
        let words = own.to_str().expect("UTF-8");
        assert!(succeeds(&active, &["-m", "venv", words]), "python3 -m venv {words} failed");
        let installed = succeeds(&python(&own), &["-m", "pip", "install", "--quiet", "numpy"]);
        assert!(installed, "NumPy could not be installed in {words}");
        if fs::rename(&own, &place).is_err() {
            fs::remove_dir_all(&own).expect("removed");
        }
    }
    Some(python(&place))
}

fn succeeds(program: &Path, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

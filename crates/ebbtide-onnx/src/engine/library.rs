//! Where the library of onnxruntime is.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::OnnxError;

/// The variable that names the library's file, as for everybody who loads it.
const VARIABLE: &str = "ORT_DYLIB_PATH";
/// The variable that names the interpreter, as for densities in Python.
const PYTHON: &str = "EBBTIDE_PYTHON";

/// Prints the file of the library that the package for Python brings along. Nothing is taken from the working directory, which may be anybody's.
const QUESTION: &str = "\
import sys
sys.path = [place for place in sys.path if place]
import glob, importlib.util, os
found = importlib.util.find_spec('onnxruntime')
for place in (found.submodule_search_locations if found else []):
    for name in ('libonnxruntime.so*', 'libonnxruntime*.dylib', 'onnxruntime.dll'):
        for file in sorted(glob.glob(os.path.join(place, 'capi', name))):
            print(file)
";

/// The library of onnxruntime, loaded once for the whole program.
#[derive(Debug)]
pub struct Library {
    /// Its file.
    pub file: PathBuf,
    pub(super) environment: ort::environment::Environment,
}

impl Library {
    /// Loads it: the file that `ORT_DYLIB_PATH` names, or the one that the active Python's package `onnxruntime` has.
    pub fn load() -> Result<&'static Self, OnnxError> {
        static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
        LOADED.get_or_init(load).as_ref().map_err(|reason| OnnxError::NoRuntime { reason: reason.clone() })
    }
}

fn load() -> Result<Library, String> {
    let file = find()?;
    let environment = ort::init_from(&file)
        .map_err(|error| format!("{}: {error}", file.display()))?
        .with_telemetry(false)
        .build()
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Library { file, environment })
}

fn find() -> Result<PathBuf, String> {
    if let Some(file) = env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        let file = PathBuf::from(file);
        let missing = || format!("{VARIABLE} is {}, which is no file", file.display());
        return if file.is_file() { Ok(file) } else { Err(missing()) };
    }
    let interpreter = env::var_os(PYTHON).filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into());
    let shown = Path::new(&interpreter).display();
    let mut command = Command::new(&interpreter);
    let answer = command.args(["-c", QUESTION]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let answer =
        answer.map_err(|error| format!("{VARIABLE} is not set, and `{shown}` does not start: {error}"))?;
    let said = String::from_utf8_lossy(&answer.stdout);
    said.lines()
        .map(PathBuf::from)
        .find(|file| file.is_file())
        .ok_or_else(|| format!("{VARIABLE} is not set, and `{shown}` has no package onnxruntime"))
}

//! Densities made of ONNX files, as runs keep them: read when they are needed, and the same ones as when the run was begun.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ebbtide::target::{Latent, Oracle, Target, TargetError};
use ebbtide_onnx::{Engine, LatentFiles, LatentSpace, NetworkDensity, OnnxError};

use crate::digest::{Digest, extended};
use crate::durable::FileError;

/// Why a density made of networks could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum NetworkError {
    /// Something is wrong with a network.
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Some file is another one by now.
    #[error(
        "{} changed since the run was begun (the digest was \"{begun}\", and is \"{now}\" now), and a run cannot become another one: \
         put the files back as they were, or begin a new run; samples without weights can still be drawn",
        listed(files)
    )]
    Changed {
        /// All of them: which one it is, a digest does not tell.
        files: Vec<PathBuf>,
        /// The digest of what they were.
        begun: Digest,
        /// The digest of what they are.
        now: Digest,
    },
    /// Points have another number of coordinates than the settings say.
    #[error("the network takes {own} coordinates, and the settings say {said}")]
    Dim {
        /// Of the network.
        own: usize,
        /// Of the settings.
        said: usize,
    },
}

fn listed(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    match names.as_slice() {
        [only] => format!("{only} has"),
        names => format!("one of {} has", names.join(", ")),
    }
}

/// What is made of some files.
pub(crate) trait Made: Send + Sync + Sized {
    /// Which files, and what else there is to say.
    type Plan: Clone + PartialEq + Send + Sync;

    /// Reads them.
    fn make(plan: &Self::Plan, engine: Engine) -> Result<Self, OnnxError>;

    /// All files that it is made of.
    fn files(&self) -> &[PathBuf];

    /// On how many threads to evaluate it.
    fn employ(&self, threads: usize);

    /// Coordinates of a point.
    fn dim(&self) -> usize;
}

impl Made for LatentSpace {
    type Plan = LatentFiles;

    fn make(plan: &LatentFiles, engine: Engine) -> Result<Self, OnnxError> {
        LatentSpace::load(plan, engine)
    }

    fn files(&self) -> &[PathBuf] {
        self.files()
    }

    fn employ(&self, threads: usize) {
        self.employ(threads);
    }

    fn dim(&self) -> usize {
        Target::dim(self)
    }
}

/// A file, and how many coordinates its points have if it does not tell.
pub(crate) type DensityFile = (PathBuf, Option<usize>);

impl Made for NetworkDensity {
    type Plan = DensityFile;

    fn make((file, dim): &DensityFile, engine: Engine) -> Result<Self, OnnxError> {
        NetworkDensity::load(file, *dim, engine)
    }

    fn files(&self) -> &[PathBuf] {
        self.files()
    }

    fn employ(&self, threads: usize) {
        self.employ(threads);
    }

    fn dim(&self) -> usize {
        Oracle::dim(self)
    }
}

/// Networks that are read when somebody asks them, at the latest.
pub(crate) struct Networks<T: Made> {
    plan: T::Plan,
    engine: Engine,
    /// Of all files, once a run has begun with them.
    digest: Option<Digest>,
    /// As the settings of a run say it, whose files may be gone.
    said: Option<usize>,
    threads: AtomicUsize,
    made: OnceLock<T>,
}

impl<T: Made> Networks<T> {
    /// Networks in files that must have this digest, and points of so many coordinates, if any are given.
    pub fn new(plan: T::Plan, engine: Engine, digest: Option<Digest>, said: Option<usize>) -> Self {
        Self { plan, engine, digest, said, threads: AtomicUsize::new(1), made: OnceLock::new() }
    }

    /// Which files.
    pub fn plan(&self) -> &T::Plan {
        &self.plan
    }

    /// What evaluates them.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Reads them, if nobody has yet.
    pub fn made(&self) -> Result<&T, NetworkError> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = T::make(&self.plan, self.engine)?;
        if let Some(said) = self.said.filter(|said| *said != made.dim()) {
            return Err(NetworkError::Dim { own: made.dim(), said });
        }
        if let Some(begun) = self.digest {
            let now = digest(made.files())?;
            if begun != now {
                return Err(NetworkError::Changed { files: made.files().to_vec(), begun, now });
            }
        }
        made.employ(self.threads.load(Ordering::Relaxed));
        Ok(self.made.get_or_init(|| made))
    }

    /// On how many threads to evaluate them.
    pub fn employ(&self, threads: usize) {
        self.threads.store(threads, Ordering::Relaxed);
        if let Some(made) = self.made.get() {
            made.employ(threads);
        }
    }

    /// The digest of all files as they are now.
    pub fn fix(&self) -> Result<Digest, NetworkError> {
        digest(self.made()?.files())
    }

    fn asked(&self) -> Result<&T, TargetError> {
        self.made().map_err(TargetError::failed)
    }
}

fn digest(files: &[PathBuf]) -> Result<Digest, NetworkError> {
    let mut digest = Digest::default();
    for file in files {
        digest = extended(digest, &fs::read(file).map_err(FileError::of("read", file))?);
    }
    Ok(digest)
}

/// A latent space, whose coordinates are known before it is read.
pub(crate) struct Latents {
    pub networks: std::sync::Arc<Networks<LatentSpace>>,
    pub dim: usize,
    pub beta: f64,
}

impl Target for Latents {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.networks.asked()?.log_density(points, out)
    }

    fn latent(&self) -> Option<&dyn Latent> {
        Some(self)
    }
}

impl Latent for Latents {
    fn beta(&self) -> f64 {
        self.beta
    }

    fn log_reward(&self, points: &[f32], out: &mut [f64]) -> Result<(), TargetError> {
        self.networks.asked()?.log_reward(points, out)
    }

    fn shape(&self) -> Result<&[usize], TargetError> {
        self.networks.asked()?.shape()
    }

    fn decode(&self, points: &[f32]) -> Result<Vec<f32>, TargetError> {
        self.networks.asked()?.decode(points)
    }

    fn embed(&self, points: &[f32]) -> Result<Option<Vec<f32>>, TargetError> {
        self.networks.asked()?.embed(points)
    }
}

/// A density of which it is known what it can do before it is read.
pub(crate) struct Computed {
    pub networks: std::sync::Arc<Networks<NetworkDensity>>,
    pub dim: usize,
    pub has_gradient: bool,
}

impl Oracle for Computed {
    fn dim(&self) -> usize {
        self.dim
    }

    fn has_gradient(&self) -> bool {
        self.has_gradient
    }

    fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
        self.networks.asked()?.log_density(points, out)
    }

    fn log_density_and_gradient(
        &self,
        points: Vec<f64>,
        out: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), TargetError> {
        self.networks.asked()?.log_density_and_gradient(points, out, gradient)
    }
}

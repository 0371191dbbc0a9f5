//! Densities that a program brings: their runs are resumed and opened with them, and drawn from without.

use std::sync::Arc;

use ebbtide::metric::log_weights;
use ebbtide::objective::Method;
use ebbtide::target::{Oracle, TargetError};
use ebbtide_run::folder::Folder;
use ebbtide_run::run::{Run, RunError, read_settings};
use ebbtide_run::settings::{BringError, Given, Placing, Preset, Settings, Subject};
use ebbtide_run::trained::{Trained, Which};
use ebbtide_run::{Status, Stop};

use crate::small::{begin, folder, resume, small, threads, traces};

/// Two narrow humps at 100 ± 1, in one coordinate or more.
struct Humps {
    dim: usize,
    has_gradient: bool,
}

impl Oracle for Humps {
    fn dim(&self) -> usize {
        self.dim
    }

    fn has_gradient(&self) -> bool {
        self.has_gradient
    }

    fn log_density(&self, points: Vec<f64>, out: &mut [f64]) -> Result<(), TargetError> {
        for (point, out) in points.chunks_exact(self.dim).zip(out) {
            *out = -point.iter().map(|x| ((x - 100.0).powi(2) - 1.0).powi(2)).sum::<f64>();
        }
        Ok(())
    }

    fn log_density_and_gradient(
        &self,
        points: Vec<f64>,
        out: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), TargetError> {
        for (slope, x) in gradient.iter_mut().zip(&points) {
            *slope = -4.0 * (x - 100.0) * ((x - 100.0).powi(2) - 1.0);
        }
        self.log_density(points, out)
    }
}

fn humps(dim: usize, has_gradient: bool) -> Arc<dyn Oracle> {
    Arc::new(Humps { dim, has_gradient })
}

/// A small run of two humps.
fn of(oracle: Arc<dyn Oracle>) -> Settings {
    let mut settings = small(Method::TbTb, 0);
    settings.config.local_search = settings.config.local_search.filter(|_| oracle.has_gradient());
    (settings.target, settings.placing) = (Subject::Given(Given::new("two humps!", oracle)), Placing::Pilot);
    settings
}

#[test]
fn a_run_goes_on_with_the_density_it_began_with() {
    let parent = folder();
    let settings = of(humps(2, true));
    assert!(settings.name().starts_with("twohumps-tb-tb"), "{}", settings.name());
    let (whole, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert_eq!(outcome.status, Status::Finished);
    let (broken, _) = begin(parent.path(), &settings, 13);
    let alone = resume(&broken, None, u64::MAX).unwrap_err().to_string();
    assert!(alone.contains("`twohumps` belongs to the program that began the run"), "{alone}");
    let again = |oracle| Run::resume_in(Folder::open(&broken)?, None, Some(oracle), &threads());
    let refused = |oracle| match again(oracle).err() {
        Some(RunError::Bring(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(humps(3, true)), BringError::Dim { own: 2, brought: 3 });
    assert_eq!(refused(humps(2, false)), BringError::Gradient(true));
    again(humps(2, true)).expect("the same density").go(&Stop::new(), &mut ()).expect("it ends");
    assert!(traces(&whole) == traces(&broken));
}

#[test]
fn weights_need_the_density_and_draws_do_not() {
    let parent = folder();
    let (path, _) = begin(parent.path(), &of(humps(2, false)), u64::MAX);
    let mut alone = Trained::open(&path, Which::Last, &threads()).expect("weights");
    let drawn = alone.sampler.portion(0, 8, 0);
    let error = log_weights(&*alone.target, &mut alone.sampler, &drawn).unwrap_err();
    assert!(error.to_string().contains("`ebbtide.load(folder, twohumps)`"), "{error}");
    let mut both = Trained::open_with(&path, Which::Last, Some(humps(2, false)), &threads()).expect("both");
    let weights = log_weights(&*both.target, &mut both.sampler, &drawn).expect("finite");
    assert!(weights.iter().all(|weight| weight.is_finite()), "{weights:?}");
    assert_eq!(read_settings(&path).expect("settings").target, both.settings.target);
}

#[test]
fn without_a_gradient_nothing_asks_for_one() {
    let target = |has_gradient| Subject::Given(Given::new("humps", humps(1, has_gradient)));
    for (has_gradient, searches) in [(true, true), (false, false)] {
        let settings = Preset::Recommended.settings(target(has_gradient), Some(Method::TbTb), 5);
        assert_eq!(settings.config.local_search.is_some(), searches);
        settings.validate().expect("valid");
    }
    let reverse = Preset::Recommended.settings(target(false), Some(Method::PisTlm), 5);
    assert!(reverse.validate().is_err_and(|error| error.to_string().contains("use trajectory balance")));
}

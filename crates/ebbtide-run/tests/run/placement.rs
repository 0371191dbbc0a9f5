//! Densities far from the origin: found, kept, and given back in their own coordinates.

use std::fs;

use ebbtide::objective::Method;
use ebbtide::target::{Formula, Placement};
use ebbtide_run::folder::Files;
use ebbtide_run::job::{Job, JobState};
use ebbtide_run::run::{Run, read_settings};
use ebbtide_run::settings::{Placing, Settings, Subject};
use ebbtide_run::{Event, Observer, Status, Stop};

use crate::small::{begin, folder, resume, small, threads, traces};

/// A small run of a formula.
fn of(text: &str, dim: usize) -> Settings {
    let formula = Formula::new(text, dim, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut settings = small(Method::TbTb, 0);
    (settings.target, settings.placing) = (Subject::Formula(formula), Placing::Pilot);
    settings
}

/// Numbers of a .npy file.
fn numbers(file: &[u8]) -> Vec<f32> {
    let header = usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[10 + header..].as_chunks().0.iter().copied().map(f32::from_le_bytes).collect()
}

#[test]
fn a_density_anywhere_is_sampled_in_its_own_coordinates() {
    let parent = folder();
    let settings = of("-0.5*((x0 - 300)/0.01)^2 - 0.5*((x1 + 5)/50)^2", 2);
    let (whole, outcome) = begin(parent.path(), &settings, u64::MAX);
    assert_eq!(outcome.status, Status::Finished);
    let samples = numbers(&fs::read(Files(&whole).samples()).expect("samples"));
    assert!(samples.chunks(2).all(|x| (x[0] - 300.0).abs() < 0.3 && x[1].abs() < 1500.0), "{samples:?}");
    // log Z is that of the density as it was given.
    let log_z = (2.0 * std::f64::consts::PI * 0.01 * 50.0).ln();
    let figures = outcome.figures.expect("figures");
    assert!(figures.elbo < log_z + 0.5 && figures.elbo > log_z - 30.0, "{figures:?}");
    // What was found is part of the run, and it is the same run as the one that was asked for.
    assert!(read_settings(&whole).expect("settings").placing.at().is_some());
    let job = Job { folder: whole.clone(), settings: settings.clone() };
    assert_eq!(job.state().expect("the same run"), JobState::Done);
    let (broken, _) = begin(parent.path(), &settings, 13);
    resume(&broken, None, u64::MAX).expect("it ends");
    assert!(traces(&whole) == traces(&broken));
}

/// Remarks of a run.
struct Remarks(Vec<String>);

impl Observer for Remarks {
    fn notice(&mut self, event: Event) {
        if let Event::Remarked(text) = event {
            self.0.push(text.to_owned());
        }
    }
}

#[test]
fn what_the_pilot_found_is_told() {
    let parent = folder();
    let run = Run::begin(parent.path(), of("-0.5*((x0 - 300)/0.01)^2", 1), &threads()).expect("it begins");
    let mut remarks = Remarks(Vec::new());
    run.go(&Stop::new(), &mut remarks).expect("it ends");
    let told = remarks.0[0].strip_prefix("the pilot found the density at x = (").expect("what it found");
    assert!(told.starts_with("300.0") || told.starts_with("299.9"), "{told}");
}

#[test]
fn mistakes_are_in_the_densitys_own_coordinates() {
    let parent = folder();
    let nowhere = Run::begin(parent.path(), of("log(max(x0 - 1e9, 0)) - x0", 1), &threads());
    let message = nowhere.err().expect("nothing is found").to_string();
    assert!(message.contains("the density is zero at all 64 points that were tried"), "{message}");
    assert!(message.contains("placement.location"), "{message}");
    assert_eq!(fs::read_dir(parent.path()).expect("listed").count(), 0, "nothing is left of it");
    // NaN beyond 301, where training soon goes.
    let mut settings = of("-0.5*((x0 - 300)/0.01)^2 + 0*log(300.1 - x0)", 1);
    settings.placing = Placing::At(Placement::new(vec![300.0], vec![0.1]).expect("a place"));
    let run = Run::begin(parent.path(), settings, &threads()).expect("it begins");
    let error = run.go(&Stop::new(), &mut ()).expect_err("NaN");
    assert!(error.to_string().contains("x = [30"), "{error}");
}

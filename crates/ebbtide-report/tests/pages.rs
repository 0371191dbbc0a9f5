//! Pages of real runs: what they must contain, and what may be wrong with a run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::trajectory::Threads;
use ebbtide_report::keep::{leave_report, plots};
use ebbtide_report::page::{self, Life, Shown};
use ebbtide_report::portrait::{Portrait, Stage};
use ebbtide_run::compare::gather;
use ebbtide_run::folder::{Files, Folder};
use ebbtide_run::run::Run;
use ebbtide_run::settings::{Preset, Settings};
use ebbtide_run::trained::Which;
use ebbtide_run::{Status, Stop};
use tempfile::TempDir;

/// What a page may weigh.
const MOST: usize = 3_000_000;

fn threads() -> Threads {
    Threads::new(1).expect("a thread")
}

fn settings(target: NamedTarget, method: Method, steps: usize) -> Settings {
    let mut settings = Preset::Paper.settings(target, Some(method), steps);
    (settings.config.iterations, settings.config.batch, settings.config.network.width) = (20, 16, 16);
    settings.config.replay.capacity = 100;
    if let Some(search) = &mut settings.config.local_search {
        (search.every, search.steps, search.burn_in, search.capacity) = (10, 10, 5, 300);
    }
    settings.keeping.evaluate_every = 5;
    settings.keeping.record_every = 2;
    settings.keeping.samples = 256;
    settings
}

fn train(parent: &Path, settings: Settings) -> PathBuf {
    let run = Run::begin(parent, settings, &threads()).expect("it begins");
    let folder = run.folder().to_owned();
    run.go(&Stop::new(), &mut ()).expect("it ends");
    folder
}

fn shown(folder: &Path) -> Shown {
    let portrait = Portrait::read(folder, Which::Last, &threads()).expect("a portrait");
    page::run(&portrait, &[]).expect("a page")
}

/// Names of the charts of a page, each of which is one drawing that stands alone.
fn names(shown: &Shown) -> BTreeSet<String> {
    let names: BTreeSet<String> = shown.charts.iter().map(|chart| chart.name.clone()).collect();
    assert_eq!(names.len(), shown.charts.len(), "names are of one chart each");
    let html = shown.page.to_html(Life::Still);
    for chart in &shown.charts {
        assert!(html.contains(&format!("<figure id=\"{}\">", chart.name)), "{} is in the page", chart.name);
        assert!(!chart.alt.is_empty(), "{} has words", chart.name);
        let file = chart.for_file();
        let drawing =
            roxmltree::Document::parse(&file).unwrap_or_else(|error| panic!("{}: {error}", chart.name));
        assert_eq!(drawing.root_element().attribute("role"), Some("img"));
        assert!(!file.contains("NaN") && !file.contains("inf"), "{} has places that are none", chart.name);
    }
    names
}

#[test]
fn every_target_and_method_has_its_page() {
    let parent = TempDir::new().expect("a folder");
    for (i, target) in NamedTarget::ALL.into_iter().enumerate() {
        let method = Method::ALL[i % Method::ALL.len()];
        let folder = train(parent.path(), settings(target, method, 3));
        let shown = shown(&folder);
        let (names, html) = (names(&shown), shown.page.to_html(Life::Still));
        assert!(html.len() < MOST, "{target}: {} bytes", html.len());
        let mut expected =
            vec!["curve-bounds", "curve-losses", "curve-ess", "weights", "marginal-0", "samples-0-1"];
        expected.extend(["generation-1", "generation-3", "trajectories-generation"]);
        let built = target.build();
        if built.drawable().is_some() {
            expected.extend(["destruction-3", "trajectories-destruction"]);
        }
        if built.modes().is_some() {
            expected.push("coverage");
        }
        if built.dim() == 2 {
            expected.push("exact-0-1");
        }
        if method.learns_variance() {
            expected.push("multiplier-gamma");
        }
        if method.destruction().is_some() {
            expected.push("multiplier-alpha-beta");
        }
        for name in expected {
            assert!(names.contains(name), "{target} {method}: {name} in {names:?}");
        }
    }
}

#[test]
fn the_longest_trajectories_make_no_heavy_page() {
    let parent = TempDir::new().expect("a folder");
    for target in [NamedTarget::Gmm40, NamedTarget::Manywell] {
        let mut settings = settings(target, Method::TbTb, 30);
        settings.keeping.samples = 2048;
        let folder = train(parent.path(), settings);
        let page = shown(&folder).page.to_html(Life::Still);
        assert!(page.len() < MOST, "{target}: {} bytes", page.len());
    }
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let parent = TempDir::new().expect("a folder");
    let folder = train(parent.path(), settings(NamedTarget::Gmm25, Method::TbTb, 2));
    let path = leave_report(&folder, &threads()).expect("a report");
    assert_eq!(path, folder.join("report.html"));
    let page = fs::read_to_string(path).expect("a file");
    for outside in ["src=", "@import", "url(http", "//www", "EventSource(\"http"] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("id=\"link\""), "only a live page has a link");
}

#[test]
fn the_figures_are_those_of_the_run() {
    let parent = TempDir::new().expect("a folder");
    let folder = train(parent.path(), settings(NamedTarget::Gmm25, Method::TbTb, 3));
    let portrait = Portrait::read(&folder, Which::Last, &threads()).expect("a portrait");
    let outcome = portrait.outcome.as_ref().expect("it ended");
    let view = portrait.view.as_ref().expect("it has weights");
    // The pictures are of the trajectories that the figures were computed from.
    let mean = view.generated_weights.iter().sum::<f64>() / view.generated_weights.len() as f64;
    let figures = outcome.figures.expect("figures");
    assert!((mean - figures.elbo).abs() < 1e-9, "{mean} {}", figures.elbo);
    let destroyed = view.destroyed_weights.as_ref().expect("exact draws");
    let mean = destroyed.iter().sum::<f64>() / destroyed.len() as f64;
    assert!((mean - figures.eubo.expect("exact draws")).abs() < 1e-9);
    assert_eq!(portrait.stage, Stage::Over);
    let page = shown(&folder).page.to_html(Life::Still);
    let elbo = format!("{:.3}", figures.elbo).replace('-', "−");
    assert!(page.contains(&elbo), "{elbo}");
}

#[test]
fn a_run_that_has_only_begun_has_a_page() {
    let parent = TempDir::new().expect("a folder");
    let folder = Folder::create(parent.path(), "new").expect("a folder");
    let path = folder.path().to_owned();
    let run =
        Run::begin_in(folder, settings(NamedTarget::Gmm25, Method::TbTb, 3), &threads()).expect("it begins");
    let portrait = Portrait::read(&path, Which::Last, &threads()).expect("a portrait");
    assert!(portrait.view.is_none() && portrait.stage == Stage::Training);
    let page = page::run(&portrait, &[]).expect("a page").page.to_html(Life::Still);
    assert!(page.contains("with the first checkpoint") && page.contains("training"));
    drop(run);
    assert_eq!(Portrait::sketch(&path).expect("a sketch").stage, Stage::Stopped);
}

#[test]
fn a_run_that_is_made_longer_is_not_over() {
    let parent = TempDir::new().expect("a folder");
    let folder = train(parent.path(), settings(NamedTarget::Gmm25, Method::TbFixed, 2));
    leave_report(&folder, &threads()).expect("a report");
    let longer = Run::resume(&folder, Some(40), &threads()).expect("it goes on");
    let portrait = Portrait::sketch(&folder).expect("a sketch");
    assert!(portrait.stage == Stage::Training && portrait.outcome.is_none());
    // Killed, it is neither over nor what it came to before.
    drop(longer);
    let portrait = Portrait::sketch(&folder).expect("a sketch");
    assert!(portrait.stage == Stage::Stopped && portrait.outcome.is_none());
    let several = page::comparison("runs", &gather(std::slice::from_ref(&folder)).found, parent.path()).page;
    assert!(several.to_html(Life::Still).contains("made longer"));
    let longer = Run::resume(&folder, Some(40), &threads()).expect("it goes on");
    let stop = Stop::new();
    stop.ask();
    longer.go(&stop, &mut ()).expect("it stops");
    assert_eq!(Portrait::sketch(&folder).expect("a sketch").stage, Stage::Stopped);
    leave_report(&folder, &threads()).expect("a report");
    // What an interruption left is not what the run comes to.
    drop(Run::resume(&folder, None, &threads()).expect("it goes on"));
    assert!(!Files(&folder).report().exists());
}

#[test]
fn what_is_damaged_is_left_out_with_a_remark() {
    let parent = TempDir::new().expect("a folder");
    let folder = train(parent.path(), settings(NamedTarget::Gmm25, Method::TbFixed, 2));
    let files = Files(&folder);
    for entry in fs::read_dir(files.checkpoints()).expect("checkpoints") {
        fs::write(entry.expect("an entry").path(), "rubbish").expect("written");
    }
    fs::write(files.metrics(), "rubbish\n").expect("written");
    fs::write(files.result(), "{").expect("written");
    let portrait = Portrait::read(&folder, Which::Last, &threads()).expect("a portrait");
    assert!(portrait.view.is_none() && portrait.outcome.is_none() && portrait.records.is_empty());
    let page = page::run(&portrait, &[]).expect("a page").page.to_html(Life::Still);
    for words in ["No pictures: ", "No curves: line 1 of", "No result: "] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn pictures_count_what_the_figures_count() {
    let parent = TempDir::new().expect("a folder");
    let mut many = settings(NamedTarget::Gmm25, Method::TbFixed, 2);
    many.keeping.samples = 3000;
    let folder = train(parent.path(), many);
    let portrait = Portrait::read(&folder, Which::Last, &threads()).expect("a portrait");
    let (outcome, view) =
        (portrait.outcome.as_ref().expect("over"), portrait.view.as_ref().expect("weights"));
    let coverage = view.coverage.as_ref().expect("modes");
    assert_eq!(Some(coverage.total_variation), outcome.modes_total_variation);
    assert!(coverage.unclaimed.value > 0.0, "a sampler that learned nothing is beside the modes, too");
    let page = page::run(&portrait, &[]).expect("a page").page.to_html(Life::Still);
    assert!(page.contains("2048 samples, ") && page.contains("of the samples are in no mode"));
}

#[test]
fn the_page_of_the_best_weights_has_their_figures() {
    let parent = TempDir::new().expect("a folder");
    let mut short = settings(NamedTarget::Gmm25, Method::TbFixed, 2);
    short.config.iterations = 23;
    let folder = train(parent.path(), short);
    let portrait = Portrait::read(&folder, Which::Best, &threads()).expect("a portrait");
    let (iteration, figures) = portrait.figures().expect("figures");
    let view = portrait.view.as_ref().expect("weights");
    assert_eq!(iteration, view.iteration);
    let recorded = portrait.records.iter().find(|record| record.iteration == iteration);
    let recorded = recorded.and_then(|record| record.figures).expect("the best was evaluated");
    assert!((recorded.elbo - figures.elbo).abs() < 1e-9, "{recorded:?} {figures:?}");
}

#[test]
fn a_diverged_run_says_so() {
    let parent = TempDir::new().expect("a folder");
    let mut wild = settings(NamedTarget::Gmm25, Method::TbTb, 3);
    wild.keeping.explosion = 1e-6;
    wild.config.iterations = 200;
    wild.config.optimisation.generation_rate = 1.0;
    let folder = train(parent.path(), wild);
    let portrait = Portrait::read(&folder, Which::Last, &threads()).expect("a portrait");
    assert!(matches!(portrait.outcome.as_ref().expect("it ended").status, Status::Diverged { .. }));
    let page = page::run(&portrait, &[]).expect("a page").page.to_html(Life::Still);
    for words in ["diverged at iteration", "Training diverged", "not to be trusted"] {
        assert!(page.contains(words), "{words}");
    }
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn a_damaged_environment_is_told() {
    let parent = TempDir::new().expect("a folder");
    let made = train(parent.path(), settings(NamedTarget::Gmm25, Method::TbFixed, 2));
    fs::write(Files(&made).environment(), "{\"version\": 3").expect("damaged");
    let portrait = Portrait::read(&made, Which::Last, &threads()).expect("a portrait");
    let told =
        |remark: &String| remark.contains("Nothing of the machine") && remark.contains("environment.json");
    assert!(portrait.remarks.iter().any(told), "{:?}", portrait.remarks);
}

#[test]
fn names_are_text_and_nothing_else() {
    let parent = TempDir::new().expect("a folder");
    let made = train(parent.path(), settings(NamedTarget::Gmm25, Method::TbFixed, 2));
    let hostile = parent.path().join("<script>alert(1)<!script>\"'&");
    fs::rename(made, &hostile).expect("renamed");
    // Files that somebody else has written.
    let mut environment = json(&Files(&hostile).environment());
    for field in ["version", "commit", "cpu", "system", "begun"] {
        environment[field] = format!("<script>alert('{field}')</script>").into();
    }
    environment["command"] = ["ebbtide", "<script>alert('command')</script>"].into();
    fs::write(Files(&hostile).environment(), environment.to_string()).expect("written");
    let mut result = json(&Files(&hostile).result());
    result["status"] = "diverged".into();
    result["at"] = 7.into();
    result["reason"] = "<script>alert('reason')</script>".into();
    result["point"] = vec![0.0, 0.0].into();
    fs::write(Files(&hostile).result(), result.to_string()).expect("written");
    leave_report(&hostile, &threads()).expect("a report");
    let single = fs::read_to_string(Files(&hostile).report()).expect("a page");
    for field in ["commit", "cpu", "command", "reason"] {
        assert!(
            single.contains(&format!("alert(&#39;{field}")) || single.contains(&format!("alert('{field}")),
            "{field} is shown"
        );
    }
    let live = shown(&hostile).page.to_html(Life::Live);
    let found = gather(&[parent.path().to_owned()]).found;
    let several = page::comparison("<b>\"runs\"", &found, parent.path()).page.to_html(Life::Still);
    for page in [single, live, several] {
        assert!(!page.contains("<script>alert") && !page.contains("<b>\"runs"), "escaped");
        assert!(page.contains("&lt;script&gt;alert(1)"));
    }
}

#[test]
fn several_runs_are_drawn_over_their_steps() {
    let parent = TempDir::new().expect("a folder");
    for steps in [2, 4] {
        for method in [Method::TbVariance, Method::PisVarGrad] {
            for seed in [0, 1] {
                let mut settings = settings(NamedTarget::Gmm25, method, steps);
                settings.config.seed = seed;
                train(parent.path(), settings);
            }
        }
    }
    let one = train(parent.path(), settings(NamedTarget::EasyFunnel, Method::TbTb, 2));
    leave_report(&one, &threads()).expect("a report");
    let found = gather(&[parent.path().to_owned()]).found;
    let shown = page::comparison("runs", &found, parent.path());
    let names = names(&shown);
    for name in ["25gmm-elbo", "25gmm-eubo", "25gmm-w2", "25gmm-ess", "easy-funnel-elbo"] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
    let html = shown.page.to_html(Life::Still);
    assert!(html.contains("9 runs") && html.contains("T = 4"), "all are counted, and told to a pointer");
    let name = one.file_name().expect("a name").to_string_lossy();
    assert!(html.contains(&format!("href=\"{name}/report.html\"")), "a run with a page is linked");
    assert_eq!(html.matches("/report.html\"").count(), 1, "others are not");
}

#[test]
fn plots_are_files_that_stand_alone() {
    let parent = TempDir::new().expect("a folder");
    let folder = train(parent.path(), settings(NamedTarget::EasyFunnel, Method::TbTlm, 2));
    let shown = shown(&folder);
    let place = parent.path().join("plots");
    plots(&place, &shown).expect("written");
    for chart in &shown.charts {
        let png = fs::read(place.join(format!("{}.png", chart.name))).expect("a picture");
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let svg = fs::read_to_string(place.join(format!("{}.svg", chart.name))).expect("a drawing");
        assert!(svg.starts_with("<svg") && svg.contains("xmlns"), "{}", chart.name);
    }
}

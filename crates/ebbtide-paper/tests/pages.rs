//! The pages that are written: whole, alone, and the committed ones up to date.

use std::fs;
use std::path::{Path, PathBuf};

use ebbtide_paper::keep::leave;
use ebbtide_paper::{Paper, Results};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../paper")
}

/// All files in a folder.
fn drawings(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn pages_stand_alone() {
    let (paper, place) = (Paper::new(), TempDir::new().expect("a folder"));
    let written = leave(&paper, &Results::default(), Path::new("nowhere"), place.path()).expect("written");
    assert!(written.iter().all(|path| path.is_file()));
    let html = fs::read_to_string(place.path().join("index.html")).expect("a page");
    for reference in ["http:", "https:", "src=", "@import", "<link rel=\"stylesheet\""] {
        let found = html.replace("http://www.w3.org/2000/svg", "").contains(reference);
        assert!(!found, "{reference}");
    }
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("· not run"));
    let figures = drawings(&place.path().join("figures"));
    assert_eq!(figures.len(), 4 + 4 + 4, "two figures of curves and the contours");
    let readme = fs::read_to_string(place.path().join("README.md")).expect("a page");
    for figure in figures {
        let text = fs::read_to_string(&figure).expect("a drawing");
        roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", figure.display()));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{}", figure.display());
        let name = figure.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(readme.contains(&format!("(figures/{name})")), "{name}");
    }
    assert!(readme.contains("ebbtide paper run figure-3"), "what makes the samples");
}

#[test]
fn pictures_of_samples_stay_where_their_runs_are_gone() {
    let (paper, place) = (Paper::new(), TempDir::new().expect("a folder"));
    let figures = place.path().join("figures");
    fs::create_dir(&figures).expect("made");
    for steps in [5, 10] {
        for method in ["tb-fixed", "tb-variance", "tb-tb", "exact"] {
            fs::write(figures.join(format!("figure-3-{method}-T{steps}.svg")), "<svg>old</svg>")
                .expect("written");
        }
    }
    leave(&paper, &Results::default(), Path::new("nowhere"), place.path()).expect("written");
    let kept = fs::read_to_string(figures.join("figure-3-tb-tb-T10.svg")).expect("still there");
    assert_eq!(kept, "<svg>old</svg>");
    let readme = fs::read_to_string(place.path().join("README.md")).expect("a page");
    assert!(readme.contains("(figures/figure-3-exact-T5.svg)"));
}

/// `ebbtide paper show --into paper` mends it.
#[test]
fn the_committed_page_is_what_would_be_written() {
    let (paper, place) = (Paper::new(), TempDir::new().expect("a folder"));
    let figures = place.path().join("figures");
    fs::create_dir(&figures).expect("made");
    // Samples come from runs, which are not committed.
    for picture in drawings(&root().join("figures")) {
        let name = picture.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with("figure-3") {
            fs::copy(&picture, figures.join(name)).expect("copied");
        }
    }
    let results = Results::read(&root().join("results"), &paper);
    leave(&paper, &results, Path::new("nowhere"), place.path()).expect("written");
    let read = |folder: &Path| fs::read_to_string(folder.join("README.md")).expect("a page");
    let stale = "paper/README.md is out of date: `ebbtide paper show --into paper` writes it anew";
    assert!(read(&root()) == read(place.path()), "{stale}");
}

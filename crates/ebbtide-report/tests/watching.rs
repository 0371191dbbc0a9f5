//! The server of a live page, asked as a browser would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::trajectory::Threads;
use ebbtide_report::portrait::Stage;
use ebbtide_report::watch::{Watch, WatchError};
use ebbtide_run::Stop;
use ebbtide_run::run::Run;
use ebbtide_run::settings::Preset;
use tempfile::TempDir;

fn threads() -> Threads {
    Threads::new(1).expect("a thread")
}

fn trained(parent: &Path) -> PathBuf {
    let mut settings = Preset::Paper.settings(NamedTarget::Gmm25, Some(Method::TbFixed), 2);
    (settings.config.iterations, settings.config.batch, settings.keeping.samples) = (10, 16, 64);
    let run = Run::begin(parent, settings, &threads()).expect("it begins");
    let folder = run.folder().to_owned();
    run.go(&Stop::new(), &mut ()).expect("it ends");
    folder
}

fn port(url: &str) -> u16 {
    let digits = url.trim_end_matches('/').rsplit(':').next().expect("an address with a port");
    digits.parse().expect("a port")
}

/// A server of a run on some port, and how to end it.
fn served(folder: &Path) -> (u16, Stop, JoinHandle<Result<(), WatchError>>) {
    let watch = Watch::new(folder, 0, &threads()).expect("a port");
    let (port, stop) = (port(&watch.url()), Stop::new());
    let wish = stop.clone();
    (port, stop, thread::spawn(move || watch.serve(&wish, |_| ())))
}

fn ask(port: u16, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    stream.write_all(request.as_bytes()).expect("it listens");
    stream
}

fn answer(port: u16, request: &str) -> String {
    let mut text = String::new();
    ask(port, &format!("{request}\r\nConnection: close\r\n\r\n"))
        .read_to_string(&mut text)
        .expect("it answers");
    text
}

/// Lines of events until `wanted` is among them.
fn events_until(events: &mut impl BufRead, wanted: &str) -> Vec<String> {
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != wanted) {
        let mut line = String::new();
        assert!(events.read_line(&mut line).expect("it goes on") > 0, "it ended before {wanted}: {lines:?}");
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[test]
fn a_visitor_gets_the_page_and_what_changes() {
    let parent = TempDir::new().expect("a folder");
    let folder = trained(parent.path());
    let watch = Watch::new(&folder, 0, &threads()).expect("a port");
    let (port, stop) = (port(&watch.url()), Stop::new());
    let (tell, told) = mpsc::channel();
    let wish = stop.clone();
    let server =
        thread::spawn(move || watch.serve(&wish, move |stage| tell.send(stage).expect("somebody listens")));
    let page = answer(port, "GET / HTTP/1.1\r\nHost: localhost");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("no-store") && page.contains("id=\"link\""));
    for (request, code) in [
        ("GET /config.toml HTTP/1.1\r\nHost: localhost", "404"),
        ("GET /../config.toml HTTP/1.1\r\nHost: localhost", "404"),
        ("POST / HTTP/1.1\r\nHost: localhost", "405"),
        ("DELETE /events HTTP/1.1\r\nHost: localhost", "405"),
        ("GET / HTTP/1.1\r\nHost: example.org", "403"),
        ("GET / HTTP/1.1\r\nHost: localhost.example.org:80", "403"),
    ] {
        let said = answer(port, request);
        assert!(said.starts_with(&format!("HTTP/1.1 {code}")), "{request}: {said}");
    }
    // A visitor who comes gets everything, then what changes as the run is made longer and ends.
    let mut events = BufReader::new(ask(port, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    let first = events_until(&mut events, "data: over");
    let data = first.iter().find(|line| line.starts_with("data: {")).expect("sections");
    assert!(
        data.contains("\"overview\"")
            && data.contains("\"settings\"")
            && data.contains("10 of 10 iterations")
    );
    let run = Run::resume(&folder, Some(30), &threads()).expect("it goes on");
    events_until(&mut events, "data: training");
    run.go(&Stop::new(), &mut ()).expect("it ends");
    let last = events_until(&mut events, "data: over");
    assert!(last.iter().any(|line| line.contains("30 of 30 iterations")), "{last:?}");
    assert_eq!(told.iter().take(3).collect::<Vec<_>>(), [Stage::Over, Stage::Training, Stage::Over]);
    // It ends when asked, with a visitor at the door.
    let begun = Instant::now();
    stop.ask();
    server.join().expect("no panic").expect("it ends well");
    assert!(begun.elapsed() < Duration::from_secs(3));
    let mut rest = String::new();
    events.read_to_string(&mut rest).expect("the visitor is sent home");
}

#[test]
fn a_visitor_who_does_not_let_go_holds_up_nothing() {
    let parent = TempDir::new().expect("a folder");
    let (port, stop, server) = served(&trained(parent.path()));
    let stuck = ask(port, "GET / HT");
    let begun = Instant::now();
    stop.ask();
    server.join().expect("no panic").expect("it ends well");
    assert!(begun.elapsed() < Duration::from_secs(4));
    drop(stuck);
}

#[test]
fn trouble_passes() {
    let parent = TempDir::new().expect("a folder");
    let folder = trained(parent.path());
    let (port, stop, server) = served(&folder);
    let mut events = BufReader::new(ask(port, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    events_until(&mut events, "data: over");
    let away = parent.path().join("away");
    std::fs::rename(&folder, &away).expect("moved");
    events_until(&mut events, "event: trouble");
    std::fs::rename(&away, &folder).expect("moved back");
    events_until(&mut events, "data: over");
    stop.ask();
    server.join().expect("no panic").expect("it ends well");
}

#[test]
fn what_cannot_be_watched_is_told() {
    let parent = TempDir::new().expect("a folder");
    let folder = trained(parent.path());
    let first = Watch::new(&folder, 0, &threads()).expect("a port");
    let taken = Watch::new(&folder, port(&first.url()), &threads()).err().expect("taken");
    assert!(matches!(taken, WatchError::Port { .. }), "{taken}");
    assert!(matches!(Watch::new(parent.path(), 0, &threads()), Err(WatchError::Portrait(_))));
}

/// Ways out of a folder, and files that lie in it: all that is served is one page and its events.
const ELSEWHERE: [&str; 14] = [
    "/config.toml",
    "/result.json",
    "/metrics.jsonl",
    "/./config.toml",
    "/../config.toml",
    "/../../../../../../../../etc/passwd",
    "/..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/..\\..\\config.toml",
    "/events/../config.toml",
    "/events/config.toml",
    "//etc/passwd",
    "/?file=config.toml#/../config.toml",
    "http://127.0.0.1/../config.toml",
];

#[test]
fn nothing_but_the_page_is_served() {
    let parent = TempDir::new().expect("a folder");
    let folder = trained(parent.path());
    assert!(folder.join("config.toml").is_file(), "something to be found");
    let (port, stop, server) = served(&folder);
    let page = answer(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for path in ELSEWHERE {
        let text = answer(port, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1"));
        let status = text.lines().next().unwrap_or_default();
        // What asks for the page itself, whatever else it says, gets the page, which shows the settings.
        if path.starts_with("/?") {
            assert!(status.ends_with("200 OK") && text.contains("<html"), "{path}: {status}");
            continue;
        }
        assert!(status.split(' ').nth(1).is_some_and(|code| code.starts_with("40")), "{path}: {status}");
        for told in ["root:x:", "# What is sampled.", "\"elbo\":"] {
            assert!(!text.contains(told), "{path} told of a file: {told}");
        }
    }
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let text = answer(port, &format!("{method} / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0"));
        assert!(text.starts_with("HTTP/1.1 405"), "{method}: {text}");
    }
    stop.ask();
    server.join().expect("no panic").expect("it ends well");
}

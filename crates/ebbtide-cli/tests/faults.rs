//! Disks that fill up or let nothing be written, and reports that are killed in the writing: nothing that was saved is lost, the cause is named, and
//! what goes on ends as if nothing had been.

#![cfg(target_os = "linux")]

mod place;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use place::{Moments, Place, SMALL, Told, assert_same, told};

const LENGTH: &str = "--iterations=300";

/// A shell in which file systems can be mounted that nobody else sees. None where the system does not allow it.
fn shell(place: &Place, script: &str, arguments: &[String]) -> Option<Told> {
    let can = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: this system lets nobody mount anything");
        return None;
    }
    let mut command = Command::new("unshare");
    command.current_dir(place.path()).env("NO_COLOR", "1").env("EBBTIDE", env!("CARGO_BIN_EXE_ebbtide"));
    command.args(["-rm", "sh", "-c", script, "sh"]).args(arguments);
    Some(told(command))
}

/// A whole run to compare with.
fn whole(place: &Place) -> PathBuf {
    let whole =
        told(place.train(&["25gmm", LENGTH, "--runs=whole", "--quiet", "--set=checkpoint.seconds=0"]));
    assert_eq!(whole.code, 0, "{}", whole.err);
    place.only_run("whole")
}

/// How a run is begun in a script.
fn settings() -> Vec<String> {
    let own = ["25gmm", LENGTH, "--quiet", "--set=checkpoint.seconds=0"];
    own.iter().chain(SMALL).map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_full_disk_stops_a_run_that_goes_on_when_there_is_room() {
    let place = Place::new();
    let whole = whole(&place);
    // The disk has room for more and more of a run: for its settings, its first lines, its first checkpoint, and so on.
    let script = r#"
        mkdir full kept
        size=8
        while [ $size -le 400 ]; do
            mount -t tmpfs -o size=${size}k tmpfs full
            "$EBBTIDE" train "$@" --runs full 2> kept/$size.said > /dev/null
            echo $? > kept/$size.code
            mount -o remount,size=100m full
            begun=$(ls full)
            if [ -n "$begun" ]; then
                [ $(cat kept/$size.code) = 0 ] || "$EBBTIDE" resume full/$begun --quiet > /dev/null 2> kept/$size.after || echo failed >> kept/$size.code
                cp -r full/$begun kept/$size
            fi
            umount full
            size=$((size + 8))
        done
    "#;
    let Some(script) = shell(&place, script, &settings()) else { return };
    assert_eq!((script.code, script.err.as_str()), (0, ""));
    let (mut refused, mut stopped, mut done) = (0, 0, 0);
    for size in (8..=400).step_by(8) {
        let read = |what: &str| place.read(&format!("kept/{size}.{what}"));
        let run = place.path().join(format!("kept/{size}"));
        match (&*read("code"), run.exists()) {
            ("0\n", true) => done += 1,
            ("1\n", begun) => {
                let said = read("said");
                assert!(said.contains("No space left on device"), "{size} kB: {said}");
                assert!(said.contains("full/"), "it says where: {said}");
                assert!(said.contains("make room and go on"), "and what to do: {said}");
                if begun {
                    stopped += 1;
                } else {
                    refused += 1;
                }
            }
            (code, _) => panic!("{size} kB: code {code}, {}\n{}", read("said"), read("after")),
        }
        if run.exists() {
            assert_same(&run, &whole);
        }
    }
    assert!(stopped >= 10 && done >= 5, "{refused} not begun, {stopped} stopped, {done} done");
}

#[test]
fn a_run_on_a_read_only_disk_can_be_used_and_goes_on_elsewhere() {
    let place = Place::new();
    let whole = whole(&place);
    let script = r#"
        mkdir frozen kept
        for moment in 0.01 0.03 0.06 0.1 0.15 0.2; do
            mount -t tmpfs -o size=100m tmpfs frozen
            "$EBBTIDE" train "$@" --runs frozen > /dev/null 2>&1 &
            until ls frozen/*/checkpoints/0* > /dev/null 2>&1; do sleep 0.01; done
            sleep $moment
            kill -9 $!
            wait $!
            begun=$(ls frozen)
            mount -o remount,ro frozen
            "$EBBTIDE" train "$@" --runs frozen > /dev/null 2> kept/$moment.begin
            "$EBBTIDE" resume frozen/$begun --quiet > /dev/null 2> kept/$moment.resume
            "$EBBTIDE" sample frozen/$begun -n 1 > kept/$moment.sample
            echo $? >> kept/$moment.sample
            mount -o remount,rw frozen
            "$EBBTIDE" resume frozen/$begun --quiet > /dev/null 2> kept/$moment.after
            cp -r frozen/$begun kept/$moment
            umount frozen
        done
    "#;
    let Some(script) = shell(&place, script, &settings()) else { return };
    assert_eq!(script.code, 0, "{}", script.err);
    let mut going = 0;
    for moment in ["0.01", "0.03", "0.06", "0.1", "0.15", "0.2"] {
        let read = |what: &str| place.read(&format!("kept/{moment}.{what}"));
        let is_told = |words: &str| words.contains("Read-only file system") && words.contains("frozen");
        assert!(is_told(&read("begin")), "{moment}: {}", read("begin"));
        let refused = read("resume");
        assert!(is_told(&refused) || refused.contains("is finished"), "{moment}: {refused}");
        going += u32::from(is_told(&refused));
        assert!(read("sample").ends_with("\n0\n"), "{moment}: {}", read("sample"));
        assert_same(&place.path().join(format!("kept/{moment}")), &whole);
    }
    assert!(going > 0, "all had ended before the disk was read-only: make them longer");
}

/// What a process has open it may go on writing to; what it opens from then on it may not.
#[test]
fn a_folder_that_becomes_read_only_under_a_run_stops_it() {
    let place = Place::new();
    let whole = whole(&place);
    let script = r#"
        mkdir frozen kept
        for moment in 0.01 0.02 0.04 0.07 0.1 0.15; do
            "$EBBTIDE" train "$@" --runs frozen/$moment > /dev/null 2> kept/$moment.said &
            until ls frozen/$moment/*/checkpoints/0* > /dev/null 2>&1; do sleep 0.01; done
            sleep $moment
            mount --bind frozen frozen
            tries=0
            until mount -o remount,bind,ro frozen 2> /dev/null || [ $tries = 1000 ]; do tries=$((tries + 1)); done
            wait $!
            echo $? > kept/$moment.code
            umount frozen
            "$EBBTIDE" resume frozen/$moment/* --quiet > /dev/null 2> kept/$moment.after
            cp -r frozen/$moment/* kept/$moment
        done
    "#;
    let Some(script) = shell(&place, script, &settings()) else { return };
    assert_eq!(script.code, 0, "{}", script.err);
    let mut stopped = 0;
    for moment in ["0.01", "0.02", "0.04", "0.07", "0.1", "0.15"] {
        let read = |what: &str| place.read(&format!("kept/{moment}.{what}"));
        let said = read("said");
        match &*read("code") {
            "0\n" => assert!(read("after").contains("is finished"), "{moment}: {}", read("after")),
            code => {
                stopped += 1;
                assert_eq!(code, "1\n", "{moment}: {said}");
                assert!(
                    said.contains("Read-only file system") && said.contains("frozen"),
                    "{moment}: {said}"
                );
            }
        }
        assert_same(&place.path().join(format!("kept/{moment}")), &whole);
    }
    assert!(stopped > 0, "all had ended before the folder was read-only: make them longer");
}

#[test]
fn a_report_that_is_killed_in_the_writing_is_the_one_before() {
    let place = Place::new();
    let run = whole(&place);
    let name = run.to_str().expect("UTF-8");
    let page = run.join("report.html");
    let begun = Instant::now();
    let written = told(place.command(&["report", name]));
    assert_eq!(written.code, 0, "{}", written.err);
    let (mut whole, before) = (begun.elapsed(), fs::read(&page).expect("a report"));
    let (mut moments, mut killed, mut ended, mut turn) = (Moments(5), 0, 0, 0);
    // Until there were enough of both; how long a report takes changes with what else the machine does.
    while turn < 32 || killed < 6 || ended == 0 {
        assert!(turn < 400, "{killed} were killed and {ended} came to their end: they prove nothing");
        let (mut child, begun) = (place.spawn(place.command(&["report", name])), Instant::now());
        // Mostly towards the end, where the page is written.
        let moment = whole.mul_f64(if turn % 4 == 0 { 0.0 } else { 0.7 }) + moments.next(whole.mul_f64(0.5));
        while begun.elapsed() < moment && child.try_wait().expect("it can be asked").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().expect("it can be asked").is_some() {
            whole = begun.elapsed();
        } else if moment > whole {
            whole = moment;
        }
        turn += 1;
        child.kill().expect("killed");
        let done = child.wait().expect("it is gone").success();
        (killed, ended) = (killed + u32::from(!done), ended + u32::from(done));
        let now = fs::read(&page).expect("a report is there");
        assert!(now == before, "after {moment:?}: {} bytes, and {} before", now.len(), before.len());
    }
    let names = fs::read_dir(&run).expect("a run").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".part")).collect();
    let again = told(place.command(&["report", name]));
    assert_eq!(again.code, 0, "{}; left: {left:?}", again.err);
}

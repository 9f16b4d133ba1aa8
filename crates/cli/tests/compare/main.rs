//! `punctual perf compare` with what this program has in itself: raw UDP and Punctual. Figures are not judged, only that they are there and
//! that what was sent was counted right; and that nothing is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::Value;

/// A variable that all processes of a test have, with the name of the test.
const MARK: &str = "PUNCTUAL_COMPARE_TEST";

fn compare(test: &str, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(["perf", "compare"]).args(arguments.split_whitespace());
    command.env(MARK, mark(test)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Two runs of the tests at once do not take each other's processes for theirs.
fn mark(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

/// How many processes of a test there are.
fn processes(test: &str) -> usize {
    let wanted = format!("{MARK}={}", mark(test)).into_bytes();
    let has = |path: &Path| {
        std::fs::read(path.join("environ"))
            .is_ok_and(|all| all.split(|octet| *octet == 0).any(|one| one == wanted))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| has(&entry.path())).count()
}

/// Without root the command cannot make its network; in continuous integration it must.
fn may_run() -> bool {
    let root = Uid::effective().is_root();
    assert!(root || std::env::var_os("CI").is_none(), "the tests of `perf compare` need root");
    if !root {
        eprintln!("passed over: a network namespace needs root");
    }
    root
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn raw_udp_and_punctual_are_measured_in_turn() {
    if !may_run() {
        return;
    }
    let page = std::env::temp_dir().join(format!("punctual-compare-{}.html", std::process::id()));
    let arguments = format!(
        "--with none --passes 2 --count 200 --duration 50ms --cells rtt-s-64-waitset,rate-16-batched,start --json --html {}",
        page.display()
    );
    let output = compare("measured", &arguments).output().unwrap();
    let html = std::fs::read_to_string(&page);
    let _ = std::fs::remove_file(&page);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = report.to_string();
    let entry = |cell: &str, name: &str| {
        let cells = report["cells"].as_array().unwrap();
        let cell = cells.iter().find(|found| found["cell"] == cell).unwrap();
        let entries = cell["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["name"] == name).unwrap_or(&Value::Null).clone()
    };
    for cell in ["rtt-s-64-waitset", "rate-16-batched", "start"] {
        for name in ["raw-udp", "punctual"] {
            let entry = entry(cell, name);
            assert_eq!(entry["passes"], 2, "{cell} {name}: {text}");
            assert!(entry["figure"]["low"].as_f64().unwrap() > 0.0, "{cell} {name}: {text}");
            assert!(entry["ratio"]["median"].as_f64().unwrap() > 0.0, "{cell} {name}: {text}");
        }
        assert_eq!(entry(cell, "raw-udp")["ratio"]["median"], 1.0);
    }
    // Reliable: all that was written has come.
    let rate = entry("rate-16-batched", "punctual");
    assert!(rate["lost"] == 0 && rate["of"].as_u64().unwrap() >= 128, "{text}");
    assert!(rate["memory_bytes"][1].as_u64().unwrap() > 1 << 19, "{text}");
    assert_eq!(entry("rtt-s-64-waitset", "punctual")["of"], 400);
    // Those that are for many samples have no line elsewhere.
    assert!(entry("rate-16-batched", "raw-gso")["of"].as_u64().unwrap() > 0, "{text}");
    assert_eq!(entry("start", "raw-gso"), Value::Null);
    let html = html.unwrap();
    assert_eq!(html.matches("class=\"bar own\"").count(), 3, "{html}");
    assert!(html.contains("Beside blocking raw UDP") && html.contains("All ratios to raw-udp"), "{html}");
    assert_eq!(processes("measured"), 0);
}

#[test]
fn an_end_in_the_middle_leaves_nothing_behind() {
    if !may_run() {
        return;
    }
    // SIGINT: a report of what there is. SIGKILL: drivers end because nobody listens to them any more.
    for (signal, code) in [(Signal::SIGINT, Some(0)), (Signal::SIGKILL, None)] {
        let test = signal.as_str();
        let arguments = "--with none --passes 50 --count 100000 --cells rtt-s-64";
        let running = compare(test, arguments).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while processes(test) < 3 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(processes(test) >= 3, "{test}: drivers were not started");
        kill(Pid::from_raw(i32::try_from(running.id()).unwrap()), signal).unwrap();
        let output = running.wait_with_output().unwrap();
        assert_eq!(output.status.code(), code, "{test}: {}", said(&output));
        assert_eq!(code.is_some(), said(&output).contains("was interrupted"), "{test}: {}", said(&output));
        while processes(test) > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(processes(test), 0, "{test}: drivers are left");
    }
}

#[test]
fn wrong_command_lines_say_what_there_is() {
    for (arguments, wanted) in [
        ("--with opendds", "give all, none, or some of raw-memory"),
        ("--cells rtt,nothing", "nothing: there is none with that in its name: rtt-s-64,"),
        ("--html /nowhere/at/all.html", "there is no such folder"),
        ("--passes 0", "0 is not in 1..=1000"),
    ] {
        let output = compare("wrong", arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", said(&output));
        assert!(said(&output).contains(wanted), "{arguments}: {}", said(&output));
    }
}

//! `scripts/demo-wan`, in short: two runs side by side, and one that is interrupted. Nothing is left of any.
use std::fmt::Write as _;
use std::process::{Child, Command, Output, Stdio};

use testkit::patience::patiently_or;

use crate::repository;

/// A run that is interrupted, and waited for, if its test ends before it does.
struct Run(Option<Child>);

impl Run {
    fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            interrupt(child.id());
            let _ = child.wait_with_output();
        }
    }
}

fn interrupt(id: u32) -> bool {
    Command::new("kill").args(["-INT", &id.to_string()]).status().is_ok_and(|status| status.success())
}

fn start() -> Run {
    let mut command = Command::new(repository().join("scripts/demo-wan"));
    command.arg("--short").env("PUNCTUAL_COMMAND", env!("CARGO_BIN_EXE_punctual")).stdin(Stdio::null());
    Run(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
}

/// Namespaces of a run: the process has been replaced by those after it, and so has its number.
fn left(id: u32) -> Vec<String> {
    let names = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&format!("dw{id}-"))).collect()
}

fn can_run() -> bool {
    let error = lab::check_rights().err();
    assert!(error.is_none() || std::env::var_os("CI").is_none(), "{error:?}");
    error.is_none()
}

#[test]
fn two_runs_side_by_side_show_what_a_session_is_worth() {
    if !can_run() {
        return;
    }
    for run in [start(), start()] {
        let id = run.id();
        let output = run.output();
        let mut text = String::from_utf8(output.stdout).unwrap();
        write!(text, "{}", String::from_utf8_lossy(&output.stderr)).unwrap();
        assert!(output.status.success(), "{text}");
        let line = |wanted: &str| {
            let found = text.lines().find_map(|line| line.split_once(wanted));
            found.unwrap_or_else(|| panic!("{wanted}: {text}")).1.to_owned()
        };
        line("demo: without a session: ");
        let with = line("demo: with the session: ");
        assert!(with.contains(" samples lost, ") && with.contains("the bound is "), "{text}");
        assert!(line("demo: a session of 4 Mbit/s is ").starts_with("refused: AS 65001"), "{text}");
        let other = line("demo: the caller hears: session 65001-");
        assert!(
            other.contains("goes another way: at most ") && other.contains("link 3: the link is down"),
            "{text}"
        );
        assert!(
            line("demo: the caller hears at last: session 65001-").contains("has ended: AS 65001"),
            "{text}"
        );
        assert!(!text.contains("no device is set up"), "{text}");
        line("demo: all is removed");
        assert_eq!(left(id), Vec::<String>::new());
    }
}

#[test]
fn a_run_that_is_interrupted_leaves_nothing() {
    if !can_run() {
        return;
    }
    let run = start();
    let id = run.id();
    patiently_or(|| "routers".to_owned(), || (left(id).len() >= 6).then_some(()));
    assert!(interrupt(id));
    let output = run.output();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("demo: all is removed\n"), "{output:?}");
    assert_eq!(left(id), Vec::<String>::new());
}

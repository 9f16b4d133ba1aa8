//! Manual pages and completions have all commands, and are what shells and `man` read.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use lab_turn::Folder;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::new();
    let output = run(&["man", folder.0.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let names: Vec<&str> = commands
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names.iter().chain(["lab-up", "grm-status"].iter()) {
        let page = std::fs::read_to_string(folder.0.join(format!("punctual-{name}.1"))).unwrap();
        assert!(page.contains(".TH punctual-"), "{page}");
        assert!(page.contains(".SH OPTIONS"), "{name}");
    }
    assert!(folder.0.join("punctual.1").exists());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let output = run(&["man", "/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("/nowhere/at/all: No such file"), "{said}");
}

#[test]
fn bash_reads_its_script_and_it_has_all_verbs() {
    let output = run(&["completions", "bash"]);
    assert!(output.status.success());
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(["echo", "grm", "plan", "perf"].iter().all(|verb| script.contains(verb)));
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
    assert_eq!(run(&["completions", "dos"]).status.code(), Some(2));
}

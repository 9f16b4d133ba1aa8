//! The system calls of a test in a process of its own.
use std::collections::HashMap;
use std::process::Command;

use crate::process::{ALONE, arguments, check};

/// A system call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// When it began, in seconds since the epoch.
    pub(crate) at: f64,
}

/// The system calls that the test of this name makes in a process of its own, those of each thread in their order; `None` without the
/// program strace, which continuous integration must have.
pub(crate) fn system_calls(test: &str) -> Option<Vec<Vec<Call>>> {
    if let Err(error) = Command::new("strace").arg("-V").output() {
        assert!(std::env::var_os("CI").is_none(), "strace is missing, see scripts/setup: {error}");
        eprintln!("passed over: strace is missing: {error}");
        return None;
    }
    let file = std::env::temp_dir().join(format!("punctual-{}-{test}", std::process::id()));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-ttt", "-s", "0", "-e", "signal=none", "-o"]).arg(&file);
    let own = std::env::current_exe().unwrap();
    let output = strace.arg(own).args(arguments(test)).env(ALONE, "1").output().unwrap();
    let text = std::fs::read_to_string(&file);
    let _ = std::fs::remove_file(file);
    check(test, &output);
    Some(by_thread(&text.unwrap()))
}

/// Lines are `thread time name(arguments) = result`; of a call that waits there are two, the second without a name.
fn by_thread(text: &str) -> Vec<Vec<Call>> {
    let mut calls: HashMap<&str, Vec<Call>> = HashMap::new();
    for line in text.lines() {
        if let Some((thread, rest)) = line.split_once(' ')
            && let Some((time, call)) = rest.trim_start().split_once(' ')
            && let Some((name, _)) = call.split_once('(')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        {
            let call = Call { name: name.to_owned(), at: time.parse().unwrap() };
            calls.entry(thread).or_default().push(call);
        }
    }
    calls.into_values().collect()
}

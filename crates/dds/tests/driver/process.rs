//! Tests that need a process of their own, because they count what a process has or does.
use std::path::Path;
use std::process::{Command, Output};

/// Set in the process of such a test.
const ALONE: &str = "PUNCTUAL_TEST_ALONE";

/// True in the process of the test's own. Elsewhere it starts one for the test of this name and fails if that fails.
pub(crate) fn is_own(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).args(arguments(test)).env(ALONE, "1").output().unwrap();
    check(test, &output);
    false
}

/// How many system calls the test of this name makes in a process of its own, all threads together, each name with its count;
/// `None` without the program strace, which continuous integration must have.
pub(crate) fn system_calls(test: &str, settings: &[(&str, &str)], file: &Path) -> Option<Vec<(String, u64)>> {
    if let Err(error) = Command::new("strace").arg("-V").output() {
        assert!(std::env::var_os("CI").is_none(), "strace is missing, see scripts/setup: {error}");
        eprintln!("passed over: strace is missing: {error}");
        return None;
    }
    let mut strace = Command::new("strace");
    strace.args(["-f", "-c", "-U", "calls,name", "-o"]).arg(file).arg(std::env::current_exe().unwrap());
    let output =
        strace.args(arguments(test)).envs(settings.iter().copied()).env(ALONE, "1").output().unwrap();
    let text = std::fs::read_to_string(file);
    let _ = std::fs::remove_file(file);
    check(test, &output);
    Some(counts(&text.unwrap()))
}

fn arguments(test: &str) -> [String; 3] {
    [test.to_owned(), "--exact".to_owned(), "--nocapture".to_owned()]
}

fn check(test: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{test}: {said}{}", String::from_utf8_lossy(&output.stderr));
}

/// Lines of a count and a name, between rules, with a total.
fn counts(text: &str) -> Vec<(String, u64)> {
    let lines = text.lines().filter_map(|line| {
        let (count, name) = line.trim().split_once(' ')?;
        Some((name.trim().to_owned(), count.parse().ok()?))
    });
    lines.filter(|(name, _)| name != "total").collect()
}

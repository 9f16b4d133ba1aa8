//! Tests that need a process of their own, because they count what a process has or does.
use std::process::{Command, Output};

/// Set in the process of such a test.
pub(crate) const ALONE: &str = "PUNCTUAL_TEST_ALONE";

/// True in the process of the test's own. Elsewhere it starts one for the test of this name and fails if that fails.
pub(crate) fn is_own(test: &str) -> bool {
    if is_alone() {
        return true;
    }
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).args(arguments(test)).env(ALONE, "1").output().unwrap();
    check(test, &output);
    false
}

/// True in a process that runs a single test.
pub(crate) fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

pub(crate) fn arguments(test: &str) -> [String; 3] {
    [test.to_owned(), "--exact".to_owned(), "--nocapture".to_owned()]
}

pub(crate) fn check(test: &str, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{test}: {said}{}", String::from_utf8_lossy(&output.stderr));
}

//! What cargo itself checks, and the test run with its sum.
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::report::{Outcome, Problem};

/// The cargo that runs us.
pub(crate) fn program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// `cargo fmt`, checking only.
pub(crate) fn fmt(root: &Path) -> Outcome {
    run(root, &["fmt", "--all", "--", "--check", "-l"], &[], "run `cargo fmt --all`")
}

/// `cargo clippy` on everything, with warnings as errors.
pub(crate) fn clippy(root: &Path) -> Outcome {
    let args = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"];
    run(root, &args, &[], "mend what clippy names above")
}

/// `cargo doc`, with warnings as errors.
pub(crate) fn docs(root: &Path) -> Outcome {
    let args = ["doc", "--workspace", "--no-deps", "--locked", "--quiet"];
    run(root, &args, &[("RUSTDOCFLAGS", "-D warnings")], "mend the documentation named above")
}

fn run(root: &Path, args: &[&str], variables: &[(&str, &str)], remedy: &str) -> Outcome {
    let shown = format!("cargo {}", args.join(" "));
    let mut command = Command::new(program());
    command.current_dir(root).args(args).envs(variables.iter().copied());
    let what = match command.status() {
        Ok(status) if status.success() => return Outcome { looked_at: shown, ..Outcome::default() },
        Ok(status) => format!("`{shown}` ended with {status}"),
        Err(error) => format!("`{shown}` cannot be run: {error}"),
    };
    Outcome {
        looked_at: shown,
        problems: vec![Problem::new("the workspace", what, remedy)],
        warnings: Vec::new(),
    }
}

/// The sum of the summary lines that `cargo test` prints, one for each test program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sum {
    programs: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Sum {
    /// Adds a line of output if it is a summary line.
    pub(crate) fn add(&mut self, line: &str) {
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        let count = |word: &str| -> u64 {
            let part = counts.split(';').find_map(|part| part.trim().strip_suffix(word));
            part.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
        };
        self.programs += 1;
        self.passed += count("passed");
        self.failed += count("failed");
        self.ignored += count("ignored");
    }

    /// Why the run does not count as passed, if it does not.
    pub(crate) fn verdict(&self, cargo_succeeded: bool) -> Result<(), String> {
        if self.failed > 0 {
            return Err(format!("{} tests failed", self.failed));
        }
        if !cargo_succeeded {
            return Err("cargo test failed outside the tests: see above".to_owned());
        }
        if self.passed == 0 {
            return Err("no test ran".to_owned());
        }
        Ok(())
    }
}

/// Runs `cargo test` on the workspace, passes its output on, and prints the sum as the last line; true if all passed.
pub(crate) fn test(root: &Path, extra: &[String]) -> Result<bool, String> {
    let start = Instant::now();
    let mut command = Command::new(program());
    command.current_dir(root).args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(extra);
    // One pipe for both, so that the lines stay in order.
    let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe: {error}"))?;
    let twin = writer.try_clone().map_err(|error| format!("no pipe: {error}"))?;
    let mut child = command
        .stdout(writer)
        .stderr(twin)
        .spawn()
        .map_err(|error| format!("`{command:?}` cannot be run: {error}"))?;
    // The command keeps our ends of the pipe open.
    drop(command);
    let mut sum = Sum::default();
    let mut out = std::io::stdout().lock();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read what cargo test prints: {error}"))?;
        out.write_all(&line)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| format!("cannot write: {error}"))?;
        sum.add(&String::from_utf8_lossy(&line));
    }
    let status = child.wait().map_err(|error| format!("cargo test cannot be waited for: {error}"))?;
    drop(out);
    let verdict = sum.verdict(status.success());
    if let Err(reason) = &verdict {
        println!("FAIL: {reason}");
    }
    let Sum { programs, passed, failed, ignored } = sum;
    let took = start.elapsed().as_secs();
    println!("{passed} passed, {failed} failed, {ignored} ignored in {programs} test programs, {took} s");
    Ok(verdict.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(lines: &[&str]) -> Sum {
        let mut sum = Sum::default();
        for line in lines {
            sum.add(line);
        }
        sum
    }

    const GOOD: &str =
        "test result: ok. 17 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s";
    const BAD: &str =
        "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";

    #[test]
    fn summary_lines_are_added() {
        let sum = sum(&["running 17 tests", GOOD, "test a ... ok", BAD]);
        assert_eq!(sum, Sum { programs: 2, passed: 21, failed: 2, ignored: 1 });
    }

    #[test]
    fn failures_a_failed_build_and_no_tests_at_all_are_not_passed() {
        assert_eq!(sum(&[GOOD]).verdict(true), Ok(()));
        assert!(sum(&[GOOD, BAD]).verdict(false).unwrap_err().contains("2 tests failed"));
        assert!(sum(&[GOOD]).verdict(false).is_err());
        assert!(sum(&[]).verdict(true).unwrap_err().contains("no test ran"));
    }
}

//! All tests, those that only compute beside those that mostly wait, and their sum.
//!
//! Labs, other vendors' programs and commands wait for most of their time. Two lanes of them run at once, each in namespaces of its own. Meanwhile
//! the processors compute what needs no clock, and in continuous integration build what checks need, with a priority that takes nothing from anything else.
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::Value;

use crate::cargo::program;
use crate::tree::metadata;

/// Judge how much of the time the machine stalled: nothing beside them.
const ALONE: [&str; 2] = ["midas", "proof"];
/// Wait for labs, and for so long that the other programs that wait have ended by then; `labs` looks at settings of the machine, which another
/// lab changes while it is there.
const LABS: [&str; 2] = ["grm", "labs"];
/// Only compute, and for long: no clock but a simulated one, no socket. In two lanes that take about as long, since some of their tests have one
/// thread.
const COMPUTING: [&[&str]; 2] =
    [&["network", "plans", "promises", "seeds"], &["cdr_property", "judged", "soundness", "targets"]];
/// Runs a command with the policy of Linux for programs that take only what others leave.
const IDLE: [&str; 3] = ["chrt", "--idle", "0"];

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

/// Which test programs run when.
#[derive(PartialEq, Eq, Debug)]
struct Lanes {
    alone: Vec<String>,
    labs: Vec<String>,
    computing: Vec<Vec<String>>,
    others: Vec<String>,
}

impl Lanes {
    /// The lanes of the workspace that `cargo metadata` tells of.
    fn of(metadata: &Value) -> Result<Self, String> {
        let own = metadata["packages"].as_array().into_iter().flatten();
        let own = own.filter(|package| package["source"].is_null());
        let targets = own.flat_map(|package| package["targets"].as_array().into_iter().flatten());
        let tests = targets.filter(|target| target["kind"][0] == "test");
        let mut others: BTreeSet<&str> = tests.filter_map(|target| target["name"].as_str()).collect();
        let mut take = |lane: &[&str]| -> Result<Vec<String>, String> {
            let missing = lane.iter().find(|name| !others.remove(**name));
            missing.map_or_else(
                || Ok(lane.iter().map(|name| (*name).to_owned()).collect()),
                |name| Err(format!("no test program `{name}`: correct the lists in xtask/src/suite.rs")),
            )
        };
        let (alone, labs) = (take(&ALONE)?, take(&LABS)?);
        let computing = COMPUTING.iter().map(|lane| take(lane)).collect::<Result<_, _>>()?;
        Ok(Self { alone, labs, computing, others: others.into_iter().map(str::to_owned).collect() })
    }
}

/// A running command, and the lines that it prints, also those to the standard error.
struct Running {
    child: Child,
    /// Lines that were looked at already.
    seen: Vec<std::io::Result<Vec<u8>>>,
    lines: Receiver<std::io::Result<Vec<u8>>>,
}

impl Running {
    fn start(root: &Path, words: &[&str]) -> Result<Self, String> {
        let failed = |error| format!("`{}` cannot be run: {error}", words.join(" "));
        let (name, arguments) = words.split_first().ok_or("no command")?;
        // One pipe for both, so that the lines stay in order.
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let twin = writer.try_clone().map_err(failed)?;
        let mut command = crate::cargo::command(name);
        command.current_dir(root).args(arguments).stdout(writer).stderr(twin);
        let child = command.spawn().map_err(failed)?;
        let (give, lines) = channel();
        // Ends with the pipe: the command, which keeps our ends of it open, is gone by then.
        std::thread::spawn(move || BufReader::new(reader).split(b'\n').try_for_each(|line| give.send(line)));
        Ok(Self { child, seen: Vec::new(), lines })
    }

    /// Waits until cargo runs the first program of tests, and so has left the lock of what it builds to others, or has ended.
    fn begin(mut self) -> Self {
        while let Ok(line) = self.lines.recv() {
            let begins = line.as_ref().is_ok_and(|line| line.trim_ascii_start().starts_with(b"Running "));
            self.seen.push(line);
            if begins {
                break;
            }
        }
        self
    }

    /// Passes on what it prints until it ends, those lines first that it has printed already; true if it succeeded.
    fn finish(mut self, out: &mut impl Write, sum: &mut Sum) -> Result<bool, String> {
        for line in self.seen.into_iter().chain(self.lines) {
            let line = line.map_err(|error| format!("cannot read what the tests print: {error}"))?;
            out.write_all(&line)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(|error| format!("cannot write: {error}"))?;
            sum.add(&String::from_utf8_lossy(&line));
        }
        let status = self.child.wait().map_err(|error| format!("the tests cannot be waited for: {error}"))?;
        Ok(status.success())
    }
}

/// Runs the tests of the workspace, passes their output on, and prints the sum as the last line; true if all passed. With arguments it is one
/// `cargo test`, to which they go, except that `--checks` alone means all tests and the checks that build beside them.
pub(crate) fn run(root: &Path, extra: &[String]) -> Result<bool, String> {
    let start = Instant::now();
    let (mut sum, mut out) = (Sum::default(), std::io::stdout());
    let (succeeded, checked) = match extra {
        [] => in_lanes(root, false, &mut out, &mut sum)?,
        [only] if only == "--checks" => in_lanes(root, true, &mut out, &mut sum)?,
        _ => (test(root, &[], extra)?.finish(&mut out, &mut sum)?, true),
    };
    let verdict = sum.verdict(succeeded);
    if let Err(reason) = &verdict {
        println!("FAIL: {reason}");
    }
    let Sum { programs, passed, failed, ignored } = sum;
    let took = start.elapsed().as_secs();
    if !checked {
        println!("FAIL: checks failed: see above, or run: cargo xtask check");
    }
    println!("{passed} passed, {failed} failed, {ignored} ignored in {programs} test programs, {took} s");
    Ok(verdict.is_ok() && checked)
}

/// Whether the tests passed, and whether the checks hold.
fn in_lanes(root: &Path, checks: bool, out: &mut impl Write, sum: &mut Sum) -> Result<(bool, bool), String> {
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let named = |names: Vec<String>| names.into_iter().flat_map(|name| ["--test".to_owned(), name]);
    let title = |out: &mut dyn Write, what: &str| {
        writeln!(out, "=== {what}").map_err(|error| format!("cannot write: {error}"))
    };
    let Lanes { alone, labs, computing, others } = Lanes::of(&metadata(root)?)?;
    if !test(root, &[], &words(&["--no-run"]))?.finish(out, sum)? {
        return Ok((false, true));
    }
    let alone = test(root, &[], &named(alone).collect::<Vec<_>>())?.finish(out, sum)?;
    let labs = test(root, &[], &named(labs).collect::<Vec<_>>())?.begin();
    let others = [words(&["--lib", "--bins"]), named(others).collect()].concat();
    let others = test(root, &[], &others)?.begin();
    let mut meanwhile = Vec::new();
    for lane in computing {
        meanwhile.push(test(root, &IDLE, &named(lane).collect::<Vec<_>>())?.begin());
    }
    // Last, since it has the lock of what cargo builds for minutes.
    let checks = if checks { Some(built_checks(root)?) } else { None };
    let others = others.finish(out, sum)?;
    title(out, "labs beside them")?;
    let labs = labs.finish(out, sum)?;
    title(out, "computed meanwhile")?;
    let mut computed = true;
    for lane in meanwhile {
        computed &= lane.finish(out, sum)?;
    }
    let checked = match checks {
        Some(checks) => {
            title(out, "checked meanwhile")?;
            checks.finish(out, sum)?
        }
        None => true,
    };
    let documents = test(root, &[], &words(&["--doc"]))?.finish(out, sum)?;
    Ok((alone && others && labs && computed && documents, checked))
}

/// Starts this program for the checks that build, which take what is left of the processors.
fn built_checks(root: &Path) -> Result<Running, String> {
    let own = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let own = own.to_str().ok_or("the path of this program is not UTF-8")?;
    Running::start(root, &[IDLE.as_slice(), &[own, "built"]].concat())
}

/// Starts `cargo test` on the workspace, by another command if there is one.
fn test(root: &Path, by: &[&str], arguments: &[String]) -> Result<Running, String> {
    let cargo = program();
    let always = [cargo.as_str(), "test", "--workspace", "--locked", "--no-fail-fast"];
    let arguments = arguments.iter().map(String::as_str);
    Running::start(root, &by.iter().copied().chain(always).chain(arguments).collect::<Vec<_>>())
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

    fn with_tests(names: &[&str]) -> Value {
        let target = |kind: &str, name: &str| serde_json::json!({ "kind": [kind], "name": name });
        let tests = names.iter().map(|name| target("test", name));
        let targets: Vec<Value> = tests.chain([target("lib", "latency")]).collect();
        serde_json::json!({ "packages": [{ "targets": targets }, { "source": "elsewhere", "targets": [target("test", "theirs")] }] })
    }

    #[test]
    fn each_test_program_is_in_one_lane() {
        let names = [&ALONE[..], &LABS, &COMPUTING.concat(), &["measure", "why"]].concat();
        let lanes = Lanes::of(&with_tests(&names)).unwrap();
        assert_eq!(lanes.alone, ALONE);
        assert_eq!(lanes.labs, LABS);
        assert_eq!(lanes.computing, COMPUTING);
        assert_eq!(lanes.others, ["measure", "why"]);
    }

    /// A library that has no tests says so, so that none is built for it; one that has some must not.
    #[test]
    fn a_library_is_built_as_a_test_program_where_it_has_tests() {
        let has_tests = |folder: &Path| {
            let mut folders = vec![folder.to_owned()];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        folders.push(path);
                    } else if std::fs::read_to_string(&path).unwrap().contains("#[test]") {
                        return true;
                    }
                }
            }
            false
        };
        let metadata = metadata(&crate::tree::root()).unwrap();
        let own =
            metadata["packages"].as_array().unwrap().iter().filter(|package| package["source"].is_null());
        let targets = own.flat_map(|package| package["targets"].as_array().unwrap());
        for library in targets.filter(|target| target["kind"][0] == "lib") {
            let folder = Path::new(library["src_path"].as_str().unwrap()).parent().unwrap();
            assert_eq!(
                library["test"],
                has_tests(folder),
                "`test = false` of the library {}",
                library["name"]
            );
        }
    }

    #[test]
    fn a_listed_test_program_that_is_gone_is_named() {
        let error = Lanes::of(&with_tests(&ALONE)).unwrap_err();
        assert!(error.contains("`grm`"), "{error}");
    }

    /// The command ends once there is a file, which is made when its first program of tests runs.
    #[test]
    fn what_was_printed_before_a_program_ran_is_passed_on_too() {
        let folder = std::env::temp_dir().join(format!("xtask-begin-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let script = format!(
            "echo compiling; echo '     Running tests/a.rs'; until [ -e go ]; do sleep 0.01; done; echo '{GOOD}'"
        );
        let running = Running::start(&folder, &["sh", "-c", &script]).unwrap().begin();
        std::fs::write(folder.join("go"), "").unwrap();
        let (mut sum, mut out) = (Sum::default(), Vec::new());
        assert_eq!(running.finish(&mut out, &mut sum), Ok(true));
        std::fs::remove_dir_all(&folder).unwrap();
        let said = String::from_utf8(out).unwrap();
        assert_eq!(said, format!("compiling\n     Running tests/a.rs\n{GOOD}\n"));
        assert_eq!(sum.passed, 17);
        let silent = Running::start(Path::new("."), &["true"]).unwrap().begin();
        assert_eq!(silent.finish(&mut Vec::new(), &mut sum), Ok(true));
    }

    #[test]
    fn all_that_a_command_prints_is_added_and_its_end_is_told() {
        let run = |script: &str| {
            let (mut sum, mut out) = (Sum::default(), Vec::new());
            let ended =
                Running::start(Path::new("."), &["sh", "-c", script]).unwrap().finish(&mut out, &mut sum);
            (ended, sum, String::from_utf8(out).unwrap())
        };
        let (ended, sum, said) = run(&format!("echo '{GOOD}'; echo '{BAD}' >&2; exit 1"));
        assert_eq!(said, format!("{GOOD}\n{BAD}\n"));
        assert_eq!((ended, sum), (Ok(false), Sum { programs: 2, passed: 21, failed: 2, ignored: 1 }));
        assert_eq!(run("true").0, Ok(true));
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

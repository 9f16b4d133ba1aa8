//! Plausible mistakes of `latency`, of `control`, of `response`, and of what keeps bounds with losses in `rtps` and `plan`, one at a time in a copy of them: does a test see each of them?
mod control;
mod list;
mod losses;
mod record;
mod response;
mod ways;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use list::Mutant;
use record::{Record, Seen};

/// Tests that are asked.
struct Judge {
    name: &'static str,
    /// Whose mistakes it is asked about.
    of: &'static [&'static str],
    arguments: &'static [&'static str],
    tier: &'static str,
}

const fn judge(
    name: &'static str,
    of: &'static [&'static str],
    arguments: &'static [&'static str],
    tier: &'static str,
) -> Judge {
    Judge { name, of, arguments, tier }
}

const SOUNDNESS: &[&str] = &["--package", "punctual-frames", "--test", "soundness"];
const PROMISES: &[&str] = &["--package", "punctual-plan", "--test", "promises"];
const LOSSES: &[&str] = &["--package", "punctual-rtps", "--test", "behaviour", "--", "losses", "overtaken"];
const NETWORK: &[&str] = &["--package", "punctual-control", "--test", "network"];

const RESPONSE: &[&str] = &["--package", "punctual-response", "--test", "behaviour"];
const JUDGED: &[&str] = &["--package", "punctual-response", "--test", "judged", "no_bound"];

/// They are asked in turn until one fails: those that are quick first, then what takes minutes.
const JUDGES: [Judge; 11] = [
    judge("latency", &["latency"], &["--package", "punctual-latency"], "quick"),
    judge("losses", &["latency", "rtps"], LOSSES, "quick"),
    judge("frames", &["latency"], SOUNDNESS, "quick"),
    judge("promises", &["latency", "plan"], PROMISES, "quick"),
    judge("control", &["control"], &["--package", "punctual-control"], "quick"),
    judge("response", &["response"], RESPONSE, "quick"),
    judge("judged", &["response"], JUDGED, "quick"),
    judge("promises in ci", &["latency", "plan"], PROMISES, "ci"),
    judge("frames in ci", &["latency"], SOUNDNESS, "ci"),
    judge("control in ci", &["control"], NETWORK, "ci"),
    judge("judged in ci", &["response"], JUDGED, "ci"),
];

/// What tests say of a mistake, or of what has none.
enum Said {
    Nothing,
    /// The first test that fails.
    Fails(Seen),
    /// No test fails, and still not all pass: what the tests' end was, such as a signal from outside.
    Ended(String),
}

impl Judge {
    fn ask(&self, copy: &Path) -> Result<Said, String> {
        ask(copy, self.arguments, self.tier)
    }
}

impl Seen {
    /// Whether the test fails now: alone, and so within moments of when its program is built.
    fn ask(&self, copy: &Path) -> Result<Said, String> {
        let program: Vec<&str> = self.program.split(' ').collect();
        let arguments = [program.as_slice(), &["--", "--exact", self.test.as_str()]].concat();
        ask(copy, &arguments, &self.tier)
    }
}

fn ask(copy: &Path, arguments: &[&str], tier: &str) -> Result<Said, String> {
    let output = cargo(copy, &[&["test", "--quiet", "--offline"], arguments].concat(), tier)?;
    if output.status.success() {
        return Ok(Said::Nothing);
    }
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(match (failed_test(&out), failed_program(&error)) {
        (Some(test), Some(program)) => {
            Said::Fails(Seen { program: program.into(), tier: tier.into(), test: test.into() })
        }
        _ => Said::Ended(error.lines().last().unwrap_or("no word of cargo").to_owned()),
    })
}

/// The first test of those that are listed as failures: the list behind the last word `failures:`.
fn failed_test(out: &str) -> Option<&str> {
    let (_, list) = out.rsplit_once("\nfailures:\n")?;
    list.lines().next()?.strip_prefix("    ")
}

/// What cargo says of the program that has failed: the arguments that run it again.
fn failed_program(error: &str) -> Option<&str> {
    let (_, rest) = error.rsplit_once("to rerun pass `")?;
    rest.split_once('`').map(|(program, _)| program)
}

/// Tries the mistakes whose names contain one of the texts, those of the crates that are named, or all; true if each that was tried is seen.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool, String> {
    let copy = root.join("target/mutants");
    prepare(root, &copy)?;
    // The name of a crate stands for all of its mistakes.
    let is_crate = |name: &str| JUDGES.iter().any(|judge| judge.of.contains(&name));
    let stands_for = |name: &String, mutant: &Mutant| match is_crate(name) {
        true => mutant.of == name,
        false => mutant.name.contains(name.as_str()),
    };
    let chosen = |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| stands_for(name, mutant));
    let tried: Vec<&Mutant> = all().filter(chosen).collect();
    for judge in JUDGES.iter().filter(|judge| judge.tier == "quick") {
        if !tried.iter().any(|mutant| judge.of.contains(&mutant.of)) {
            continue;
        }
        let what = match judge.ask(&copy)? {
            Said::Nothing => continue,
            Said::Fails(seen) => seen.test,
            Said::Ended(how) => how,
        };
        return Err(format!("the tests of {} fail without any mistake: {what}", judge.name));
    }
    let names: Vec<&str> = all().map(|mutant| mutant.name).collect();
    let at = root.join(record::FILE);
    let mut record = Record::read(&read(&at)?)?;
    let mut survived = 0;
    for mutant in &tried {
        let start = Instant::now();
        let Mutant { of, name, .. } = mutant;
        let (judge, said) = seen_by(&copy, mutant, record.of(name))?;
        let (verdict, what) = match said {
            Said::Fails(seen) => {
                let what = format!("{}: {}", seen.program, seen.test);
                record.note(name, seen);
                (judge, what)
            }
            Said::Ended(how) => ("NO TEST FAILED", format!("{judge}: {how}")),
            Said::Nothing => ("SURVIVED", String::new()),
        };
        println!("{verdict:<15} {of:<8} {name:<65} {:>4} s  {what}", start.elapsed().as_secs());
        survived += u64::from(verdict != judge);
        // At once, so that a run that is ended early loses nothing.
        write(&at, record.written(&names).as_bytes())?;
    }
    println!("{} mistakes, {survived} of them not seen", tried.len());
    Ok(survived == 0)
}

fn all() -> impl Iterator<Item = &'static Mutant> {
    list::MUTANTS
        .iter()
        .chain(ways::MUTANTS)
        .chain(control::MUTANTS)
        .chain(losses::MUTANTS)
        .chain(response::MUTANTS)
}

/// A workspace of the crates alone, as they are now. What is as it was is not written, so that it need not be built again.
fn prepare(root: &Path, copy: &Path) -> Result<(), String> {
    copy_folder(&root.join("crates"), &copy.join("crates"))?;
    let manifest = read(&root.join("Cargo.toml"))?;
    let members = "members = [\"crates/*\", \"xtask\"]";
    if !manifest.contains(members) {
        return Err(format!("Cargo.toml does not say `{members}`"));
    }
    write(&copy.join("Cargo.toml"), manifest.replace(members, "members = [\"crates/*\"]").as_bytes())?;
    for file in ["Cargo.lock", "tiers.toml", "rust-toolchain.toml"] {
        write(&copy.join(file), read(&root.join(file))?.as_bytes())?;
    }
    Ok(())
}

/// What the test says that is known to see the mistake, or else the first judge that does not let it pass, or else the last one.
fn seen_by(copy: &Path, mutant: &Mutant, known: Option<&Seen>) -> Result<(&'static str, Said), String> {
    let file = copy.join("crates").join(mutant.of).join("src").join(mutant.file);
    let right = read(&file)?;
    let times = right.matches(mutant.right).count();
    if times != 1 {
        return Err(format!("`{}` stands {times} times in {}: {}", mutant.right, mutant.file, mutant.name));
    }
    write(&file, right.replace(mutant.right, mutant.wrong).as_bytes())?;
    let mut seen = Ok(("", Said::Nothing));
    let package = format!("punctual-{}", mutant.of);
    let builds = cargo(copy, &["build", "--quiet", "--offline", "--package", &package], "quick");
    let builds = builds.map(|output| output.status.success());
    if let Some(known) = known.filter(|_| builds == Ok(true))
        && let Ok(said @ Said::Fails(_)) = known.ask(copy)
    {
        seen = Ok(("as recorded", said));
    }
    for judge in JUDGES.iter().filter(|judge| judge.of.contains(&mutant.of)) {
        if matches!(seen, Ok((_, Said::Nothing))) && builds == Ok(true) {
            seen = judge.ask(copy).map(|said| (judge.name, said));
        }
    }
    write(&file, right.as_bytes())?;
    match builds? {
        true => seen,
        false => Err(format!("the mistake does not compile: {}", mutant.name)),
    }
}

fn cargo(copy: &Path, arguments: &[&str], tier: &str) -> Result<Output, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(copy).args(arguments).env_remove("CARGO_TARGET_DIR").env("PUNCTUAL_TIER", tier);
    // Warnings are of the mistake, and no debugger steps through it.
    cargo.env("RUSTFLAGS", "--cap-lints warn").env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo.stdin(Stdio::null()).output().map_err(|error| format!("cargo: {error}"))
}

/// Makes a folder like another one.
fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    let names = |folder: &Path| -> Result<BTreeSet<OsString>, String> {
        let entries = fs::read_dir(folder).map_err(|error| failed(folder, error))?;
        Ok(entries.flatten().map(|entry| entry.file_name()).collect())
    };
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    let wanted = names(from)?;
    for name in names(to)?.difference(&wanted) {
        let gone = to.join(name);
        let removed = if gone.is_dir() { fs::remove_dir_all(&gone) } else { fs::remove_file(&gone) };
        removed.map_err(|error| failed(&gone, error))?;
    }
    for name in wanted {
        let (path, target) = (from.join(&name), to.join(&name));
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            write(&target, &fs::read(&path).map_err(|error| failed(&path, error))?)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file unless it has these bytes already.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cargo and libtest say, shortened: of a test that fails, of one that was killed, of one that does not compile.
    #[test]
    fn a_mistake_is_seen_where_a_test_fails() {
        let fails = "\nrunning 2 tests\n.\na::b --- FAILED\n\nfailures:\n\n---- a::b stdout ----\n\nfailures:\n    a::b\n    c\n\n";
        assert_eq!(failed_test(fails), Some("a::b"));
        assert_eq!(failed_test("\nrunning 2 tests\n."), None);
        assert_eq!(failed_test(""), None);
        let error = "error: test failed, to rerun pass `-p punctual-latency --test behaviour`\n";
        assert_eq!(failed_program(error), Some("-p punctual-latency --test behaviour"));
        assert_eq!(failed_program("error: could not compile `punctual-latency`\n"), None);
    }

    /// What is recorded of a mistake that is gone would be kept for ever.
    #[test]
    fn what_is_recorded_is_of_mistakes_that_are_tried() {
        let text = read(&crate::tree::root().join(record::FILE)).unwrap();
        let names: Vec<&str> = all().map(|mutant| mutant.name).collect();
        let record = Record::read(&text).unwrap();
        assert_eq!(record.written(&names), text);
    }

    /// A mistake that no longer applies would not be tried, and be noticed only when all are.
    #[test]
    fn every_mistake_applies_once() {
        let root = crate::tree::root();
        for Mutant { name, of, file, right, wrong } in all() {
            let text = read(&root.join("crates").join(of).join("src").join(file)).unwrap();
            assert_eq!(text.matches(right).count(), 1, "{name}: `{right}` in {file}");
            assert_ne!(right, wrong, "{name}");
        }
        assert!(all().count() >= 162);
    }
}

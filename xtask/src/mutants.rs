//! Plausible mistakes of `latency`, one at a time in a copy of it: does a test see each of them?
mod list;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use list::{MUTANTS, Mutant};

/// What is copied beside `latency`, and what is asked in turn until something fails.
const CRATES: [&str; 3] = ["latency", "frames", "tiers"];
const JUDGES: [(&str, &[&str]); 2] = [
    ("latency", &["test", "--quiet", "--offline", "--package", "punctual-latency"]),
    ("frames", &["test", "--quiet", "--offline", "--package", "punctual-frames", "--test", "soundness"]),
];

/// Tries the mistakes whose names contain one of the texts, or all; true if each that was tried is seen.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool, String> {
    let copy = root.join("target/mutants");
    prepare(root, &copy)?;
    for (_, arguments) in JUDGES {
        if !passes(&copy, arguments)? {
            return Err("the tests fail without any mistake".to_owned());
        }
    }
    let mut survived = Vec::new();
    let tried = MUTANTS
        .iter()
        .filter(|mutant| names.is_empty() || names.iter().any(|name| mutant.name.contains(name.as_str())));
    for mutant in tried {
        let start = Instant::now();
        let seen = seen_by(&copy, mutant)?;
        println!("{:<28} {:<60} {:>4} s", seen.unwrap_or("SURVIVED"), mutant.name, start.elapsed().as_secs());
        if seen.is_none() {
            survived.push(mutant.name);
        }
    }
    Ok(survived.is_empty())
}

/// A workspace of the crates alone, as they are now.
fn prepare(root: &Path, copy: &Path) -> Result<(), String> {
    for name in CRATES {
        let to = copy.join("crates").join(name);
        if to.exists() {
            fs::remove_dir_all(&to).map_err(|error| format!("{}: {error}", to.display()))?;
        }
        copy_folder(&root.join("crates").join(name), &to)?;
    }
    let manifest = read(&root.join("Cargo.toml"))?;
    let members = "members = [\"crates/*\", \"xtask\"]";
    if !manifest.contains(members) {
        return Err(format!("Cargo.toml does not say `{members}`"));
    }
    write(&copy.join("Cargo.toml"), &manifest.replace(members, "members = [\"crates/*\"]"))?;
    for file in ["Cargo.lock", "tiers.toml", "rust-toolchain.toml"] {
        write(&copy.join(file), &read(&root.join(file))?)?;
    }
    Ok(())
}

/// Which judge sees the mistake.
fn seen_by(copy: &Path, mutant: &Mutant) -> Result<Option<&'static str>, String> {
    let file = copy.join("crates/latency/src").join(mutant.file);
    let right = read(&file)?;
    let times = right.matches(mutant.right).count();
    if times != 1 {
        return Err(format!("`{}` stands {times} times in {}: {}", mutant.right, mutant.file, mutant.name));
    }
    write(&file, &right.replace(mutant.right, mutant.wrong))?;
    let mut seen = None;
    let builds = passes(copy, &["build", "--quiet", "--offline", "--package", "punctual-latency"]);
    for (judge, arguments) in JUDGES {
        if seen.is_none() && builds == Ok(true) && !passes(copy, arguments)? {
            seen = Some(judge);
        }
    }
    write(&file, &right)?;
    match builds? {
        true => Ok(seen),
        false => Err(format!("the mistake does not compile: {}", mutant.name)),
    }
}

fn passes(copy: &Path, arguments: &[&str]) -> Result<bool, String> {
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(copy)
        .args(arguments)
        .env("RUSTFLAGS", "--cap-lints warn")
        .env_remove("CARGO_TARGET_DIR");
    let status = cargo.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map(|status| status.success()).map_err(|error| format!("cargo: {error}"))
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let entries = fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        let target = to.join(entry.file_name());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mistake that no longer applies would be tried by nobody, and be noticed only when all are.
    #[test]
    fn every_mistake_applies_once() {
        let root = crate::tree::root();
        for Mutant { name, file, right, wrong } in MUTANTS {
            let text = read(&root.join("crates/latency/src").join(file)).unwrap();
            assert_eq!(text.matches(right).count(), 1, "{name}: `{right}` in {file}");
            assert_ne!(right, wrong, "{name}");
        }
        assert!(MUTANTS.len() >= 25);
    }
}

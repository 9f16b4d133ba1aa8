//! Developer commands. `cargo xtask --help` names them.
mod anchors;
mod arrows;
mod book;
mod cargo;
mod documents;
mod examples;
mod licences;
mod mutants;
mod packages;
mod purity;
mod quotes;
mod report;
#[cfg(test)]
mod sample;
mod source;
mod stops;
mod suite;
mod tidy;
mod tree;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use report::Outcome;
use tree::Tree;

const HELP: &str = "\
Developer commands of Punctual.

  cargo xtask check          all checks below, in this order; the exit code is 0 if all hold
  cargo xtask <check>...     only these; `built` means the last three, which build, and `read` all others

    arrows     the dependencies between crates are those of the table in ARCHITECTURE.md
    purity     pure crates are no_std without unsafe; unsafe is in leaf crates only
    tidy       file sizes, names, module docs, words, no unfinished work, no real time in tests, no binaries
    documents  paths, links and stops in documents exist, the book has them all, quoted files are quoted right; decision records are numbered and complete
    examples   each entity, condition and listener of the public API has an example
    licences   licences of third-party crates, and a decision record that explains each chosen one
    packages   crates that programs depend on are described and come with the licence, on published crates alone
    fmt        cargo fmt --check
    packing    cargo package on them; with CI set they are built from their packages, too
    clippy     cargo clippy, warnings are errors
    docs       cargo doc, warnings are errors

  cargo xtask test           all tests, those that only compute beside those that wait, with their sum at the end
  cargo xtask test --checks  the same, with the checks `built` beside them
  cargo xtask test ARGS...   cargo test on the workspace with these arguments, with the sum at the end;
                             PUNCTUAL_TIER=quick|ci|long says how much is tried (tiers.toml)
  cargo xtask mutants        mistakes on purpose in five crates, each in a copy: which test sees it; takes hours
  cargo xtask mutants TEXT...  only those whose names contain one of the texts, or all of the crate of that name
";

/// A check by its name.
enum Check {
    /// Of the files and the crates.
    OfTree(fn(&Tree) -> Outcome),
    /// By cargo, in the folder.
    ByCargo(fn(&Path) -> Outcome),
}

/// The checks that build. All others read files.
const BUILT: [&str; 3] = ["packing", "clippy", "docs"];

const CHECKS: [(&str, Check); 11] = [
    ("arrows", Check::OfTree(arrows::check)),
    ("purity", Check::OfTree(purity::check)),
    ("tidy", Check::OfTree(tidy::check)),
    ("documents", Check::OfTree(documents::check)),
    ("examples", Check::OfTree(examples::check)),
    ("licences", Check::OfTree(licences::check)),
    ("packages", Check::OfTree(packages::check)),
    ("fmt", Check::ByCargo(cargo::fmt)),
    ("packing", Check::ByCargo(packages::pack)),
    ("clippy", Check::ByCargo(cargo::clippy)),
    ("docs", Check::ByCargo(cargo::docs)),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(true)
        }
        Some("mutants") => mutants::run(&tree::root(), arguments.get(1..).unwrap_or_default()),
        Some("test") => suite::run(&tree::root(), arguments.get(1..).unwrap_or_default()),
        Some(_) => checks(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether `asked`, the name of a check or of several, means the check `name`.
fn means(asked: &str, name: &str) -> bool {
    match asked {
        "check" => true,
        "built" => BUILT.contains(&name),
        "read" => !BUILT.contains(&name),
        _ => asked == name,
    }
}

/// Runs the named checks; true if all hold.
fn checks(names: &[String]) -> Result<bool, String> {
    if let Some(unknown) = names.iter().find(|asked| !CHECKS.iter().any(|(name, _)| means(asked, name))) {
        return Err(format!("`{unknown}` is not a command; see cargo xtask --help"));
    }
    let root = tree::root();
    let tree = Tree::load(&root)?;
    let mut all_hold = true;
    for (name, check) in &CHECKS {
        if !names.iter().any(|asked| means(asked, name)) {
            continue;
        }
        let start = Instant::now();
        let outcome = match check {
            Check::OfTree(check) => check(&tree),
            Check::ByCargo(check) => check(&root),
        };
        all_hold &= report::print(name, &outcome, start.elapsed());
    }
    Ok(all_hold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_check() {
        for (name, _) in &CHECKS {
            assert!(HELP.contains(&format!("\n    {name} ")), "{name}");
        }
    }

    #[test]
    fn each_check_reads_or_builds() {
        let named = |asked| CHECKS.iter().map(|(name, _)| *name).filter(|name| means(asked, name)).count();
        assert_eq!((named("check"), named("read"), named("built")), (CHECKS.len(), 8, BUILT.len()));
    }

    #[test]
    fn an_unknown_command_is_refused() {
        let error = checks(&["arows".to_owned()]).unwrap_err();
        assert!(error.contains("`arows`"), "{error}");
    }
}

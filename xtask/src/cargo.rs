//! What cargo itself checks.
use std::path::Path;
use std::process::Command;

use crate::report::{Outcome, Problem};

/// The cargo that runs us.
pub(crate) fn program() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// A command without what cargo tells this program of its own package: build scripts of others take it for a change of theirs, and are built
/// again with all that uses them, where the same command is called by hand.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&variable);
        }
    }
    command
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

/// Runs cargo with these arguments and variables; a problem with this remedy if it fails.
pub(crate) fn run(root: &Path, args: &[&str], variables: &[(&str, &str)], remedy: &str) -> Outcome {
    let shown = format!("cargo {}", args.join(" "));
    let mut command = command(&program());
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

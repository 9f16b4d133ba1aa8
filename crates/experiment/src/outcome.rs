//! How the command of an experiment ends: its files, its exit code, and what it says if it could not be done.
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::conclusion::VOID;

/// The exit code of a command that was tried; if it could not be done, why goes to standard error.
pub(crate) fn code(name: &str, progress: &dyn Fn(&str), tried: Result<u8, String>) -> u8 {
    progress("");
    tried.unwrap_or_else(|wrong| {
        // If even that cannot be written, the exit code says it.
        let _ = writeln!(io::stderr(), "punctual {name}: {wrong}");
        VOID
    })
}

/// Whether the files that are asked for can be written: to be known before minutes of measuring.
///
/// # Errors
/// In words, with the option.
pub(crate) fn check(files: &[(&str, Option<&Path>)]) -> Result<(), String> {
    for (option, path) in files {
        if let Some(path) = path {
            plan::check_output(path).map_err(|wrong| format!("{option} {wrong}; nothing was run"))?;
        }
    }
    Ok(())
}

/// Writes a file.
///
/// # Errors
/// In words, with its name.
pub(crate) fn save(path: &Path, text: String) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Says something on the standard output of the command.
///
/// # Errors
/// In words.
pub(crate) fn say(out: &mut dyn Write, text: &str) -> Result<(), String> {
    writeln!(out, "{text}").map_err(|error| format!("standard output: {error}"))
}

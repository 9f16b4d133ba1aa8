//! Debian packages, told by what they bring.
use std::path::{Path, PathBuf};

use crate::Error;
use crate::programs::folders;

/// Whether the packages are installed that bring these programs and files; each has the name of its package beside it. `what` needs them.
///
/// # Errors
/// The names of the packages that are missing.
pub fn check_packages(
    what: &str,
    programs: &[(&str, &'static str)],
    files: &[(&str, &'static str)],
) -> Result<(), Error> {
    let missing = missing(programs, files, &folders());
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!("{what} needs packages that are not installed: {}", missing.join(", "));
    Err(Error::new(what, format!("apt-get install --no-install-recommends {}", missing.join(" "))))
}

/// The packages of what is not there, each once, in the order of the lists.
fn missing(
    programs: &[(&str, &'static str)],
    files: &[(&str, &'static str)],
    folders: &[PathBuf],
) -> Vec<&'static str> {
    let has = |program: &str| folders.iter().any(|folder| folder.join(program).is_file());
    let programs = programs.iter().filter(|(program, _)| !has(program));
    let files = files.iter().filter(|(file, _)| !Path::new(file).is_file());
    let mut missing: Vec<&str> = programs.chain(files).map(|(_, package)| *package).collect();
    missing.dedup();
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_missing_are_named_once() {
        let programs = [("no-such", "one"), ("none-such", "one"), ("sh", "dash"), ("neither", "two")];
        let files = [("/bin/sh", "dash"), ("/no/such/file", "three")];
        assert_eq!(missing(&programs, &files, &folders()), ["one", "two", "three"]);
        assert_eq!(missing(&programs, &files, &[]), ["one", "dash", "two", "three"]);
        let error = check_packages("this", &programs, &files).unwrap_err();
        assert!(error.what.contains("one, two, three") && error.remedy.ends_with("one two three"), "{error}");
        assert_eq!(check_packages("this", &programs[2..3], &files[..1]), Ok(()));
    }
}

//! The folder that gets the files of an export: files that the export did not write are left alone.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::Made;
use crate::command::{BAD_NEWS, FAILED, Failure};

/// The beginning of every file that an export has written.
pub(super) const MARK: &str = "# Written by punctual deploy export";

/// What became of a folder.
pub(super) struct Written {
    /// The files that are written.
    pub(super) files: Vec<PathBuf>,
    /// Files of an earlier export of the deployment that this one did not write.
    pub(super) left: Vec<PathBuf>,
}

/// The absolute path of the folder, which is made if it is not there.
///
/// # Errors
/// It cannot be made.
pub(super) fn made(folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| (FAILED, format!("--output {}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    fs::canonicalize(folder).map_err(failed)
}

/// Writes files into a folder; none if one of them would replace a file that no export has written.
///
/// # Errors
/// Something is in the way, or a file cannot be written.
pub(super) fn write(folder: &Path, deployment: &str, files: &[Made]) -> Result<Written, Failure> {
    let folder = made(folder)?;
    for file in files {
        let path = folder.join(&file.name);
        if !is_free(&path)? {
            let what = format!(
                "{} is in the way: no export has written it\n  move it, or name another folder by --output",
                path.display()
            );
            return Err((BAD_NEWS, what));
        }
    }
    let mut written = Vec::new();
    for file in files {
        let path = folder.join(&file.name);
        replace(&path, &file.text).map_err(|error| (FAILED, format!("{}: {error}", path.display())))?;
        written.push(path);
    }
    let left = left(&folder, deployment, &written)
        .map_err(|error| (FAILED, format!("{}: {error}", folder.display())))?;
    Ok(Written { files: written, left })
}

/// Whether a file may be written there: there is none, or an export has written it.
fn is_free(path: &Path) -> Result<bool, Failure> {
    let failed = |error: io::Error| (FAILED, format!("{}: {error}", path.display()));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(failed(error)),
        Ok(about) => Ok(about.is_file() && is_marked(path).map_err(failed)?),
    }
}

fn is_marked(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(path)?.take(MARK.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == MARK.as_bytes())
}

/// A file is there as a whole, or as it was before.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_added_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    let done = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        let _ = fs::remove_file(&new);
    }
    done
}

fn left(folder: &Path, deployment: &str, written: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let beginning = format!("punctual-{deployment}.");
    let mut left = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_of_deployment = entry.file_name().to_str().is_some_and(|name| name.starts_with(&beginning));
        let path = entry.path();
        if is_of_deployment && !written.contains(&path) && entry.file_type()?.is_file() && is_marked(&path)? {
            left.push(path);
        }
    }
    left.sort();
    Ok(left)
}

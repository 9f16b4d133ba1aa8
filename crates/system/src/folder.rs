//! Folders, and whether a file system is mounted at one.
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use crate::Error;

/// Makes a folder, and those above it, that only its owner can use. One that is there stays as it is.
///
/// # Errors
/// What the system says.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(Error::system(path.display()))
}

/// Whether a file system is mounted at the folder.
pub fn is_mounted(folder: &Path) -> bool {
    let here = fs::metadata(folder).map(|file| file.dev());
    let above = folder.parent().map(fs::metadata).and_then(Result::ok).map(|file| file.dev());
    matches!((here, above), (Ok(here), Some(above)) if here != above)
}

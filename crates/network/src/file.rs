//! Files of text from the disk or from standard input, none of them without end.
use std::io::{self, Read as _};
use std::path::Path;

use diagnostics::printable;

/// The most bytes of a file.
pub(crate) const LARGEST_FILE: u64 = 32 << 20;

/// Reads a file of text of at most 32 MiB; `-` is standard input.
///
/// # Errors
/// What is wrong, with the name of the file: it cannot be read, is too large, or is no text.
pub fn load(path: &Path) -> Result<String, String> {
    let name = printable(&path.to_string_lossy());
    let wrong = |error: io::Error| format!("{name}: {error}");
    let input: Box<dyn io::Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(wrong)?)
    };
    let mut text = String::new();
    let bytes = input.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(wrong)?;
    if bytes as u64 > LARGEST_FILE {
        return Err(format!("{name}: larger than {LARGEST_FILE} bytes"));
    }
    Ok(text)
}

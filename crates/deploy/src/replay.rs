//! `punctual deploy replay`: a recording given to its component again, by the program that has the component.
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{BAD_NEWS, DONE, FAILED, Failure, print};

pub(crate) fn run(artefact: &Path, recording: &Path, out: &mut dyn Write) -> Result<u8, Failure> {
    let failed = |what: String| (FAILED, format!("{}: {what}", artefact.display()));
    // A name without a slash is a file here, not a program of the search path.
    let path =
        if artefact.components().count() == 1 { Path::new(".").join(artefact) } else { artefact.into() };
    let mut option = std::ffi::OsString::from("--replay=");
    option.push(recording);
    let said = Command::new(path).arg(option).stdin(Stdio::null()).output();
    let said = said.map_err(|error| failed(error.to_string()))?;
    print(out, format_args!("{}", String::from_utf8_lossy(&said.stdout)))?;
    match said.status.code() {
        Some(0) => Ok(DONE),
        Some(1) => Ok(BAD_NEWS),
        _ => Err((FAILED, String::from_utf8_lossy(&said.stderr).trim_end().to_owned())),
    }
}

//! `punctual deploy describe`: the manifest of a program, as plans name it.
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use assembly::Manifest;
use diagnostics::Source;

use crate::command::{BAD_NEWS, DONE, FAILED, Failure, print};
use crate::files::show;

/// How long a program may take to print its manifest.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of the longest manifest, and one more.
const LONGEST: u64 = (1 << 20) + 1;

pub(crate) fn run(artefact: &Path, output: Option<&PathBuf>, out: &mut dyn Write) -> Result<u8, Failure> {
    let text = printed(artefact)?;
    let file = format!("what {} --describe prints", artefact.display());
    let source = Source { file: &file, text: &text };
    Manifest::read(source).map_err(|problems| {
        let told = show(source, &problems);
        (BAD_NEWS, format!("{told}{} is no component server", artefact.display()))
    })?;
    match output {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| (FAILED, format!("--output {}: {error}", path.display())))?,
        None => print(out, format_args!("{text}"))?,
    }
    Ok(DONE)
}

/// What a program prints that is asked for its manifest.
fn printed(artefact: &Path) -> Result<String, Failure> {
    let failed = |what: String| (FAILED, format!("{}: {what}", artefact.display()));
    // A name without a slash is a file here, not a program of the search path.
    let path =
        if artefact.components().count() == 1 { Path::new(".").join(artefact) } else { artefact.into() };
    let mut child = Command::new(path)
        .arg("--describe")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let Some(stdout) = child.stdout.take() else { return Err(failed("it has no output".to_owned())) };
    let (tell, told) = channel();
    let reader = thread::Builder::new().name("manifest".to_owned()).spawn(move || {
        let mut text = String::new();
        let read = stdout.take(LONGEST).read_to_string(&mut text).map(|_| text);
        let _ = tell.send(read);
    });
    reader.map_err(|error| failed(error.to_string()))?;
    let read = told.recv_timeout(PATIENCE);
    // It has said what there is to say; who says more, or nothing, is ended.
    let is_whole = matches!(&read, Ok(Ok(text)) if text.len() < LONGEST as usize);
    if !is_whole {
        let _ = child.kill();
    }
    let ended = child.wait().map_err(|error| failed(error.to_string()))?;
    match read {
        Ok(Ok(_)) if !is_whole => Err(failed("it prints more than a MiB, which is no manifest".to_owned())),
        Ok(Ok(_)) if !ended.success() => {
            Err(failed(format!("--describe ends with {ended}: it is no component server")))
        }
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!(
            "--describe did not end within {} s: it is no component server",
            PATIENCE.as_secs()
        ))),
    }
}

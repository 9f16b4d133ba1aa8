//! `punctual deploy describe`: the manifest of a program, as plans name it.
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use assembly::Manifest;
use diagnostics::Source;
use nix::unistd::Pid;

use crate::children::at_end;
use crate::command::{BAD_NEWS, DONE, FAILED, Failure, print};
use crate::files::show;

/// How long a program may take to print its manifest, and then to end.
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

/// The output of a program that is asked for its manifest.
fn printed(artefact: &Path) -> Result<String, Failure> {
    let failed = |what: String| (FAILED, format!("{}: {what}", artefact.display()));
    // A name without a slash is a file here, not a program of the search path.
    let path =
        if artefact.components().count() == 1 { Path::new(".").join(artefact) } else { artefact.into() };
    let child = Command::new(path)
        .arg("--describe")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    said_by(child, PATIENCE).map_err(failed)
}

/// A process that does not outlive this.
struct Asked(Child);

impl Drop for Asked {
    fn drop(&mut self) {
        // Without effect on a process that has ended and was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The whole output of a process. It may take `patience` to print all, and again as long to end.
fn said_by(child: Child, patience: Duration) -> Result<String, String> {
    let of = |error: io::Error| error.to_string();
    let mut asked = Asked(child);
    let child = &mut asked.0;
    let stdout = child.stdout.take().ok_or("it has no output")?;
    let pid = i32::try_from(child.id()).map_err(|error| error.to_string())?;
    let ((tell, told), (tell_end, end)) = (channel(), channel());
    let tell_end = move || {
        let _ = tell_end.send(());
    };
    at_end(Pid::from_raw(pid), tell_end).map_err(of)?;
    let reader = thread::Builder::new().name("manifest".to_owned()).spawn(move || {
        let mut text = String::new();
        let read = stdout.take(LONGEST).read_to_string(&mut text).map(|_| text);
        let _ = tell.send(read);
    });
    reader.map_err(of)?;
    let read = told.recv_timeout(patience);
    let is_whole = matches!(&read, Ok(Ok(text)) if text.len() < LONGEST as usize);
    // It has said what there is to say; a program that says more, or nothing, or goes on, is ended.
    let has_ended = is_whole && end.recv_timeout(patience).is_ok();
    if !has_ended {
        let _ = child.kill();
    }
    let ended = child.wait().map_err(of)?;
    match read {
        Ok(Ok(_)) if !is_whole => Err("it prints more than a MiB, which is no manifest".to_owned()),
        Ok(Ok(_)) if has_ended && !ended.success() => {
            Err(format!("--describe ends with {ended}: it is no component server"))
        }
        Ok(Ok(text)) if has_ended => Ok(text),
        Ok(Err(error)) => Err(of(error)),
        Ok(Ok(_)) | Err(_) => {
            Err(format!("--describe did not end within {patience:?}: it is no component server"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str, patience: Duration) -> Result<String, String> {
        let mut shell = Command::new("sh");
        said_by(shell.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap(), patience)
    }

    #[test]
    fn what_a_program_prints_is_read_to_its_end() {
        let long = Duration::from_secs(60);
        assert_eq!(said("echo a; echo b", long).as_deref(), Ok("a\nb\n"));
        assert!(said("echo a; exit 3", long).unwrap_err().contains("exit status: 3"));
        assert!(said("exec cat /dev/zero", long).unwrap_err().contains("more than a MiB"));
    }

    #[test]
    fn programs_that_go_on_are_ended() {
        for script in ["exec sleep 1000", "exec sleep 1000 >&-"] {
            let error = said(script, Duration::from_millis(50)).unwrap_err();
            assert!(error.contains("did not end within 50ms"), "{script}: {error}");
        }
    }
}

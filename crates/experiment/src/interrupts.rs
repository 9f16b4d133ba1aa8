//! The kernel's threads for soft interrupts get real-time priority during the experiment.
//!
//! The kernel shapes links by timers and moves frames in soft interrupts. When it has many of those it leaves them to threads of ordinary
//! priority, and then every program of the machine delays every frame of the lab, which no priority of ours helps against.
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Above all of the lab: what they do stands for the hardware of links.
const PRIORITY: &str = "60";
const THREADS: &str = "ksoftirqd/";
/// Says that the priorities are raised, and is locked by all who need them so.
const PLACE: &str = "/run/punctual/soft-interrupts";

/// The threads have real-time priority until the last of these is dropped.
#[derive(Debug)]
pub(crate) struct Raised {
    file: File,
}

impl Raised {
    /// Raises the priorities.
    ///
    /// # Errors
    /// In words: what the system refused.
    pub(crate) fn new() -> Result<Self, String> {
        let path = Path::new(PLACE);
        let said = |error: std::io::Error| format!("{PLACE}: {error}");
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(said)?;
        // The file stays: one that is removed could be locked by a process that does not know that.
        let mut file = File::options().create(true).append(true).open(path).map_err(said)?;
        file.lock_shared().map_err(said)?;
        file.write_all(b"raised\n").map_err(said)?;
        let raised = Self { file };
        set(&["-f", "-p", PRIORITY])?;
        Ok(raised)
    }

    /// Sets them back if an earlier process was killed before that.
    pub(crate) fn restore_if_left() {
        if let Ok(file) = File::options().append(true).open(PLACE) {
            restore(&file);
        }
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        let _ = self.file.unlock();
        restore(&self.file);
    }
}

/// Sets them back, if no process needs them any more and one has raised them.
fn restore(file: &File) {
    if file.try_lock().is_err() {
        return;
    }
    if file.metadata().is_ok_and(|facts| facts.len() > 0) && set(&["-o", "-p", "0"]).is_ok() {
        // Otherwise the next process tries again.
        let _ = file.set_len(0);
    }
    let _ = file.unlock();
}

/// Runs `chrt` for each of the threads.
fn set(arguments: &[&str]) -> Result<(), String> {
    let threads = threads();
    if threads.is_empty() {
        return Err("the kernel's threads for soft interrupts are not to be seen here".to_owned());
    }
    for thread in threads {
        let mut command = Command::new("chrt");
        command.args(arguments).arg(&thread).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let done = command.status().map_err(|error| format!("chrt: {error}"))?;
        if !done.success() {
            return Err("the kernel's threads for soft interrupts do not get real-time priority".to_owned());
        }
    }
    Ok(())
}

/// The numbers of the threads: they are children of the kernel's own thread 2, and have no program.
fn threads() -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let of = |path: PathBuf| {
        let name = fs::read_to_string(path.join("comm")).ok()?;
        let program = fs::read(path.join("cmdline")).ok()?;
        let number = path.file_name()?.to_str()?.to_owned();
        (name.starts_with(THREADS) && program.is_empty()).then_some(number)
    };
    processes.flatten().map(|entry| entry.path()).filter_map(of).collect()
}

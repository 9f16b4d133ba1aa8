//! The programs on the hosts: started, told what to do, heard, and ended whatever happens.
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// How often it is looked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(50);
/// How long a program may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(2);

/// Whether the user wants an end.
pub(crate) type Stopped<'s> = &'s Arc<AtomicBool>;

/// What is said if the user wants an end.
pub(crate) const INTERRUPTED: &str = "interrupted; nothing is left of the experiment";

/// Beginning of the names of folders; the number of the process follows.
const FOLDER: &str = "punctual-experiment-";

/// A folder for what belongs to one run, for this user alone; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes one.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Removes those of processes that were killed.
    pub(crate) fn clear() {
        for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_prefix(FOLDER)?.parse::<u32>().ok());
            if process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
                // The system keeps folders of other users.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is some text in the folder for such.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    /// It ends when its input does.
    reads: bool,
    lines: Receiver<String>,
    errors: PathBuf,
}

impl Program {
    /// Starts a command; `name` is for people, and what it complains of goes to a file of that name.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn start(name: &str, mut command: Command, folder: &Folder) -> Result<Self, String> {
        let errors = folder.file(&format!("{}.log", name.replace(' ', "-")));
        let said = |error: std::io::Error| format!("{name}: {error}");
        let file = File::create(&errors).map_err(said)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().map_err(said)?;
        let input = child.stdin.take();
        let (told, lines) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if told.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { name: name.to_owned(), child, input, reads: true, lines, errors })
    }

    /// One that does not read its input, and ends by a signal.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn start_deaf(name: &str, command: Command, folder: &Folder) -> Result<Self, String> {
        let mut program = Self::start(name, command, folder)?;
        program.reads = false;
        Ok(program)
    }

    /// Tells it something.
    ///
    /// # Errors
    /// It has ended: what it said.
    pub(crate) fn order(&mut self, line: &str) -> Result<(), String> {
        let told = self.input.as_mut().is_some_and(|input| writeln!(input, "{line}").is_ok());
        if told { Ok(()) } else { Err(self.complaint("has ended")) }
    }

    /// Waits until it says a word; what it says with it.
    ///
    /// # Errors
    /// It ended before, it took too long, or the user wants an end.
    pub(crate) fn hear(&self, word: &str, time: Duration, stopped: Stopped<'_>) -> Result<Value, String> {
        let end = Instant::now() + time;
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => {
                    if let Some(said) = line.strip_prefix(word) {
                        return serde_json::from_str(said.trim())
                            .map_err(|error| format!("{}: {error}", self.name));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.complaint("has ended")),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stopped.load(Ordering::Relaxed) {
                return Err(INTERRUPTED.to_owned());
            }
            if Instant::now() > end {
                return Err(self.complaint(&format!("has not said \"{word}\" within {} s", time.as_secs())));
            }
        }
    }

    /// Ends it.
    pub(crate) fn end(mut self) {
        self.farewell();
    }

    fn complaint(&self, what: &str) -> String {
        let said = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let last = said.trim().lines().next_back().unwrap_or("it did not say why").to_owned();
        format!("the {} {what}: {last}", self.name)
    }

    fn farewell(&mut self) {
        // The end of its input tells it to end; one that does not read is told by a signal.
        self.input = None;
        if let Ok(id) = i32::try_from(self.child.id())
            && !self.reads
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        let end = Instant::now() + FAREWELL;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.farewell();
    }
}

/// The program that this is: it knows the verbs of publishers and subscribers.
///
/// # Errors
/// In words.
pub(crate) fn own() -> Result<PathBuf, String> {
    let path = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    if Path::new(&path).is_file() { Ok(path) } else { Err(format!("{} is gone", path.display())) }
}

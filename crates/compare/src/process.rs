//! A driver as a process: started on a core, heard within bounds, and ended whatever happens.
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::protocol::{self, LONGEST, Line, Said};

/// How often it is looked whether the user wants an end.
const LOOK: Duration = Duration::from_millis(50);
/// How long a driver may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(2);
/// Lines that wait at most; a driver that says more waits itself.
const WAITING: usize = 64;
/// Most bytes of complaints that are looked at.
const COMPLAINTS: u64 = 1 << 20;

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It cannot be measured with this driver.
    Cannot(String),
    /// Something went wrong.
    Failed(String),
    /// The user wants an end.
    Stopped,
}

/// A driver that runs.
#[derive(Debug)]
pub(crate) struct Driver {
    role: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Result<Line, String>>,
    complaints: Option<JoinHandle<String>>,
    started: Instant,
}

impl Driver {
    /// Starts a command on a core, in the network of the calling thread.
    ///
    /// # Errors
    /// [`Why::Failed`].
    pub(crate) fn start(role: &'static str, mut command: Command, core: usize) -> Result<Self, Why> {
        let failed = |what: String| Why::Failed(format!("{role}: {what}"));
        // A child has the cores of the thread that starts it. The thread itself goes back, so as not to be in the way.
        let before = udp::thread::cores().map_err(|error| failed(error.to_string()))?;
        udp::thread::set_cores(&[core]).map_err(|error| failed(format!("core {core}: {error}")))?;
        // A group of its own: Ctrl-C is for us to deal with.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let child = command.spawn();
        // Where it stays otherwise does little harm.
        let _ = udp::thread::set_cores(&before);
        let mut child = child.map_err(|error| failed(format!("cannot be started: {error}")))?;
        let input = child.stdin.take();
        let (told, lines) = sync_channel(WAITING);
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = bounded(&mut output) {
                    // What libraries print is of no interest, and must not fill the queue.
                    let line = line.and_then(|line| protocol::read(&line));
                    let ends = line.is_err();
                    if line != Ok(Line::Other) && told.send(line).is_err() || ends {
                        break;
                    }
                }
            });
        }
        let complaints = child.stderr.take().map(|errors| thread::spawn(move || last_line(errors)));
        Ok(Self { role, child, input, lines, complaints, started })
    }

    /// The time since it was started.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// It cannot, it failed, it took too long, or the user wants an end.
    pub(crate) fn ready(&mut self, time: Duration, stopped: &AtomicBool) -> Result<(), Why> {
        match self.hear(time, stopped)? {
            Line::Ready => Ok(()),
            Line::Cannot(reason) => Err(Why::Cannot(reason)),
            other => Err(Why::Failed(format!("{}: it said {other:?} before it was ready", self.role))),
        }
    }

    /// Waits until it says what it has measured.
    ///
    /// # Errors
    /// As [`Driver::ready`].
    pub(crate) fn result(&mut self, time: Duration, stopped: &AtomicBool) -> Result<Said, Why> {
        match self.hear(time, stopped)? {
            Line::Result(said) => Ok(said),
            Line::Cannot(reason) => Err(Why::Cannot(reason)),
            other => Err(Why::Failed(format!("{}: it said {other:?} instead of a result", self.role))),
        }
    }

    fn hear(&mut self, time: Duration, stopped: &AtomicBool) -> Result<Line, Why> {
        let end = Instant::now() + time;
        loop {
            match self.lines.recv_timeout(LOOK.min(time)) {
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(wrong)) => return Err(Why::Failed(format!("{}: {wrong}", self.role))),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if stopped.load(Ordering::Relaxed) {
                return Err(Why::Stopped);
            }
            if Instant::now() >= end {
                let seconds = time.as_secs();
                return Err(Why::Failed(format!(
                    "{}: said nothing for {seconds} s, and was killed",
                    self.role
                )));
            }
        }
    }

    /// It has closed its output: how it ended, and what it complained of.
    fn ended(&mut self) -> Why {
        self.farewell();
        let how = match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "it is gone".to_owned(),
        };
        let said = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        Why::Failed(format!("{}: ended without a result, {how}{said}", self.role))
    }

    /// Tells it to end; what it says then is still to be heard.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    fn farewell(&mut self) {
        self.close();
        let end = Instant::now() + FAREWELL;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.kill();
    }

    /// Ends it by force, with all that it has started.
    fn kill(&mut self) {
        if let Ok(id) = i32::try_from(self.child.id())
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The next line; an error if it is too long, `None` at the end.
fn bounded(output: &mut impl std::io::BufRead) -> Option<Result<String, String>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX) + 1;
    let read = output.take(limit).read_until(b'\n', &mut bytes).ok()?;
    if read == 0 {
        return None;
    }
    if bytes.len() > LONGEST {
        return Some(Err(format!("it said a line of more than {LONGEST} bytes")));
    }
    Some(Ok(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The last line that says something, of the first million bytes; the rest is read and forgotten.
pub(crate) fn last_line(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.by_ref().take(COMPLAINTS).read_to_end(&mut bytes);
    let _ = std::io::copy(&mut from, &mut std::io::sink());
    let text = String::from_utf8_lossy(&bytes);
    protocol::shown(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let text = format!("a\n{}\nb\n", "x".repeat(LONGEST * 3));
        let mut from = BufReader::new(text.as_bytes());
        assert_eq!(bounded(&mut from), Some(Ok("a\n".to_owned())));
        assert!(bounded(&mut from).unwrap().unwrap_err().contains("bytes"));
        assert_eq!(bounded(&mut BufReader::new(&b""[..])), None);
    }

    fn shell(text: &str) -> Driver {
        let core = udp::thread::cores().unwrap()[0];
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        Driver::start("driver", command, core).unwrap()
    }

    #[test]
    fn what_goes_wrong_is_told() {
        let stopped = AtomicBool::new(false);
        let long = Duration::from_secs(30);
        let said = |text: &str| shell(text).ready(long, &stopped);
        assert_eq!(said("echo noise; echo ready"), Ok(()));
        assert_eq!(said("echo cannot fly"), Err(Why::Cannot("fly".to_owned())));
        let Err(Why::Failed(text)) = said("echo first >&2; echo broken >&2; exit 3") else {
            panic!("no failure")
        };
        assert_eq!(text, "driver: ended without a result, exit status: 3: broken");
        let Err(Why::Failed(text)) = said("yes | tr -d '\\n'") else { panic!("no failure") };
        assert!(text.contains("a line of more than"), "{text}");
        let Err(Why::Failed(text)) = said("echo result '{}'") else { panic!("no failure") };
        assert!(text.contains("no kind"), "{text}");
    }

    #[test]
    fn a_driver_that_hangs_is_killed() {
        let mut driver = shell("trap '' TERM INT; while :; do sleep 1; done");
        let id = driver.child.id();
        let why = driver.ready(Duration::from_millis(100), &AtomicBool::new(false));
        assert_eq!(why, Err(Why::Failed("driver: said nothing for 0 s, and was killed".to_owned())));
        drop(driver);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
        assert_eq!(
            shell("sleep 60").ready(Duration::from_secs(60), &AtomicBool::new(true)),
            Err(Why::Stopped)
        );
    }
}

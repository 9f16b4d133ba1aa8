//! A victim: a running program that tells in lines what it sees.
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::place::Place;

/// How long anything may take that has no limit of its own. It is waited for only where something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// It is killed when this is dropped.
pub(crate) struct Program {
    who: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    heard: Arc<Heard>,
    /// There until the program has entered it, however long the caller keeps it.
    _place: Place,
}

#[derive(Default)]
struct Heard {
    /// Lines with when they came; the flag is set when there will be no more.
    lines: Mutex<(Vec<(Instant, String)>, bool)>,
    more: Condvar,
}

/// A sample that a reader has told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Got {
    pub(crate) number: u64,
    pub(crate) size: usize,
    pub(crate) sum: u64,
}

impl Program {
    /// Starts the victim with these words in a place.
    pub(crate) fn start(who: &'static str, place: &Place, words: &str) -> Self {
        Self::start_by(who, place, &[], words)
    }

    /// The same by way of another program, such as `prlimit`.
    pub(crate) fn start_by(who: &'static str, place: &Place, by: &[&str], words: &str) -> Self {
        let place = place.again();
        let mut command = place.command(by);
        command.arg(env!("CARGO_BIN_EXE_punctual-attacks")).args(words.split(' '));
        Self::spawn(who, place, command)
    }

    fn spawn(who: &'static str, place: Place, mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let heard = Arc::new(Heard::default());
        let note = Arc::clone(&heard);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                note.lines.lock().unwrap().0.push((Instant::now(), line));
                note.more.notify_all();
            }
            note.lines.lock().unwrap().1 = true;
            note.more.notify_all();
        });
        Self { who, child, input, heard, _place: place }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Gives a command.
    pub(crate) fn tell(&mut self, command: &str) {
        // A program that has ended is reported by whatever is waited for next.
        let _ = writeln!(self.input.as_mut().unwrap(), "{command}");
    }

    /// Waits for a line that begins with these words; its rest, and when it came.
    pub(crate) fn wait(&self, begin: &str) -> (Instant, String) {
        self.wait_within(begin, PATIENCE).unwrap_or_else(|| {
            let lines = self.heard.lines.lock().unwrap();
            let last: Vec<&String> = lines.0.iter().rev().take(20).map(|(_, line)| line).collect();
            panic!("{} did not say `{begin}`; its last words: {last:?}", self.who)
        })
    }

    /// The same, `None` if it does not come in time.
    pub(crate) fn wait_within(&self, begin: &str, patience: Duration) -> Option<(Instant, String)> {
        let end = Instant::now() + patience;
        let mut lines = self.heard.lines.lock().unwrap();
        let mut seen = 0;
        loop {
            for (at, line) in &lines.0[seen..] {
                if let Some(rest) = line.strip_prefix(begin) {
                    return Some((*at, rest.trim().to_owned()));
                }
            }
            seen = lines.0.len();
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || lines.1 {
                return None;
            }
            lines = self.heard.more.wait_timeout(lines, left).unwrap().0;
        }
    }

    /// Waits for a condition on what it says, or until the time is over.
    pub(crate) fn until(&self, patience: Duration, mut condition: impl FnMut() -> bool) {
        let end = Instant::now() + patience;
        while !condition() && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// True if it has said a line that begins so.
    pub(crate) fn has(&self, begin: &str) -> bool {
        self.heard.lines.lock().unwrap().0.iter().any(|(_, line)| line.starts_with(begin))
    }

    /// The GUID of its endpoint.
    pub(crate) fn guid(&self) -> [u8; 16] {
        let (_, text) = self.wait("ready");
        let bytes: Vec<u8> =
            (0..16).map(|at| u8::from_str_radix(&text[2 * at..][..2], 16).unwrap()).collect();
        bytes.try_into().unwrap()
    }

    /// The samples that it has told of.
    pub(crate) fn samples(&self) -> Vec<(Instant, Got)> {
        let lines = self.heard.lines.lock().unwrap();
        lines.0.iter().filter_map(|(at, line)| Some((*at, Got::read(line)?))).collect()
    }

    /// All lines that begin with these words.
    pub(crate) fn said(&self, begin: &str) -> Vec<String> {
        let lines = self.heard.lines.lock().unwrap();
        lines.0.iter().filter(|(_, line)| line.starts_with(begin)).map(|(_, line)| line.clone()).collect()
    }

    /// Seconds of processor time that it has used.
    pub(crate) fn processor(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, rest) = stat.rsplit_once(')').unwrap();
        let words: Vec<&str> = rest.split_whitespace().collect();
        // utime and stime, proc(5): fields 14 and 15, of which two are before the parenthesis; a tick is 10 ms.
        (words[11].parse::<f64>().unwrap() + words[12].parse::<f64>().unwrap()) / 100.0
    }

    /// True if it still runs.
    pub(crate) fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Got {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("got ")?.split(' ');
        let number = words.next()?.parse().ok()?;
        let size = words.next()?.parse().ok()?;
        Some(Self { number, size, sum: u64::from_str_radix(words.next()?, 16).ok()? })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

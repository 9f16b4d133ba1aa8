//! One running program: its lines are waited for, never its time.
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Longest wait for a line or an end. Only a defect makes a test wait as long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program in the network namespace of the thread that started it. It ends with this value.
pub(crate) struct Program {
    arguments: String,
    child: Child,
    lines: Receiver<String>,
    /// What was printed so far, for people.
    seen: Vec<String>,
}

impl Program {
    /// Starts `shape_main` with these arguments.
    pub(crate) fn start(arguments: &str) -> Self {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { arguments: arguments.to_owned(), child, lines, seen: Vec::new() }
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE);
        let line = line
            .unwrap_or_else(|_| panic!("no line comes from `{}`; so far {:#?}", self.arguments, self.seen));
        self.seen.push(line.clone());
        line
    }

    /// The next line that is wanted; those before it are passed over.
    pub(crate) fn find(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.next();
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Waits until this line comes.
    pub(crate) fn expect(&mut self, line: &str) {
        self.find(|found| found == line);
    }

    /// The next shape: colour, size and what follows.
    pub(crate) fn shape(&mut self) -> (String, i32, String) {
        let line = self.find(|line| line.contains('['));
        let words: Vec<&str> = line.split_whitespace().collect();
        let (size, rest) = words[4].trim_start_matches('[').split_once(']').unwrap();
        assert!(words[2].len() == 3 && words[3].len() == 3 && rest.is_empty(), "{line}");
        let payload = words.get(5).map_or(String::new(), |word| (*word).to_owned());
        (words[1].to_owned(), size.parse().unwrap(), payload)
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), Signal::SIGINT).unwrap();
    }

    /// Waits for the end, and gives the exit code.
    pub(crate) fn end(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or_else(|| panic!("`{}` ended by a signal", self.arguments));
            }
            assert!(
                start.elapsed() < PATIENCE,
                "`{}` does not end; it printed {:#?}",
                self.arguments,
                self.seen
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `shape_main` with these arguments, not yet started.
pub(crate) fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shape_main"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

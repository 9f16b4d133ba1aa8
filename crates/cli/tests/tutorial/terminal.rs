//! A shell that is given commands, and what it prints.
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// How long a command may take to print what is expected; nothing takes as long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell, which is ended when this is dropped.
pub(crate) struct Terminal {
    shell: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Terminal {
    /// A new one in a folder, where these commands are typed.
    pub(crate) fn new(folder: &Path, commands: &str) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut shell = Command::new("bash")
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stderr(writer.try_clone().unwrap())
            .stdout(writer)
            .process_group(0)
            .spawn()
            .unwrap();
        // What `cargo build` would make is there already, and would be made anew if other packages were built beside it.
        let begin = "cargo() { [ \"$1\" = build ] || exit 1; }; export -f cargo\n";
        shell.stdin.take().unwrap().write_all((begin.to_owned() + commands).as_bytes()).unwrap();
        let (give, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(reader).lines().map_while(Result::ok).try_for_each(|line| give.send(line))
        });
        Self { shell, lines, seen: Vec::new() }
    }

    /// Waits until these lines were printed, one after the other, with others between them, and with any numbers.
    pub(crate) fn shows(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        for wanted in text.lines() {
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let Ok(line) = self.lines.recv_timeout(left) else {
                    panic!("{wanted:?} did not come: {:#?}", self.seen);
                };
                let found = without_numbers(&line) == without_numbers(wanted);
                self.seen.push(line);
                if found {
                    break;
                }
            }
        }
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        killpg(self.group(), Signal::SIGINT).unwrap();
    }

    /// Waits for the end of the shell, whatever it is.
    pub(crate) fn is_over(&mut self) {
        self.seen.extend(self.lines.iter());
        drop(self.shell.wait());
    }

    /// Waits for the end of the shell, which has to be a good one.
    pub(crate) fn ends(&mut self) {
        self.seen.extend(self.lines.iter());
        let status = self.shell.wait().unwrap();
        assert!(status.success(), "{status}: {:#?}", self.seen);
    }

    fn group(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.shell.id()).unwrap())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = killpg(self.group(), Signal::SIGKILL);
        let _ = self.shell.wait();
    }
}

/// A line with one sign in the place of each number and the unit of time behind it.
fn without_numbers(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.trim_end().split(' ') {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let follows_number = words.last().is_some_and(|last| last.ends_with('#'));
        if follows_number && ["s", "ms", "us", "ns"].contains(&bare) {
            words.push(word.replacen(bare, "time", 1));
            continue;
        }
        let mut kept = String::new();
        for c in word.chars() {
            match c {
                '0'..='9' if kept.ends_with('#') => {}
                '0'..='9' => kept.push('#'),
                // Of `5.2` and `5` each is a number.
                '.' if kept.ends_with('#') => {}
                c => kept.push(c),
            }
        }
        words.push(kept);
    }
    words.join(" ")
}

#[test]
fn numbers_count_as_equal_and_words_do_not() {
    assert_eq!(without_numbers("worst 4.18 ms, 12 late"), without_numbers("worst 530 us, 7 late"));
    assert_eq!(without_numbers("at 10.1.0.1:4451 s1"), without_numbers("at 10.2.0.7:1 s22"));
    assert_ne!(without_numbers("12 late"), without_numbers("12 lost"));
}

//! A running program that is talked to in lines: commands to it, events from it, each within a time limit.
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::transcript::Transcript;

/// How long anything may take, also the lease of a participant. It is waited for only where something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A program; it is killed when this is dropped.
pub(crate) struct Program {
    who: String,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Said, and not yet asked for.
    unread: VecDeque<String>,
    transcript: Transcript,
}

impl Program {
    /// Starts what the command says. `who` is its name in the transcript.
    pub(crate) fn start(who: &str, mut command: Command, transcript: &Transcript) -> Self {
        // One pipe for both, so that the lines stay in order.
        let (output, writer) = std::io::pipe().unwrap();
        command.stdin(Stdio::piped()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        // The command holds our ends of the pipe: without them the output ends with the program.
        drop(command);
        let input = child.stdin.take();
        let (sender, lines) = mpsc::channel();
        let note = transcript.clone();
        let name = who.to_owned();
        thread::spawn(move || read(output, &name, &note, &sender));
        Self {
            who: who.to_owned(),
            child,
            input,
            lines,
            unread: VecDeque::new(),
            transcript: transcript.clone(),
        }
    }

    /// Gives a command.
    pub(crate) fn tell(&mut self, command: &str) {
        self.transcript.note(&self.who, &format!("< {command}"));
        let input = self.input.as_mut().expect("its input is closed");
        // A program that has ended is reported with its output by whatever is expected next.
        let _ = writeln!(input, "{command}");
    }

    /// Gives a command and waits until it is carried out.
    pub(crate) fn order(&mut self, command: &str) {
        self.tell(command);
        self.expect(&format!("ok {command}"));
    }

    /// Waits for a line. The next line about the same subject must be this one; others stay for later.
    pub(crate) fn expect(&mut self, line: &str) {
        let heard = self.wait(line, |heard| subject(heard) == subject(line));
        assert!(heard == line, "{} said `{heard}` where `{line}` was expected", self.who);
    }

    /// Waits for a line that fulfils the condition, and gives it. Others stay for later.
    pub(crate) fn wait(&mut self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        if let Some(found) = self.unread.iter().position(|line| condition(line)) {
            return self.unread.remove(found).unwrap();
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if condition(&line) => return line,
                Ok(line) if line.starts_with("failed ") => panic!("{}: {line}", self.who),
                Ok(line) => self.unread.push_back(line),
                Err(RecvTimeoutError::Timeout) => {
                    panic!("{} did not say `{what}` within {PATIENCE:?}", self.who)
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().unwrap();
                    panic!("{} ended with {status} before it said `{what}`", self.who)
                }
            }
        }
    }

    /// Asks it to end as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        self.transcript.note(&self.who, "< SIGINT");
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    }

    /// Waits until it has ended well, and gives what it said and nobody asked for.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.input = None;
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.unread.push_back(line),
                Err(RecvTimeoutError::Timeout) => panic!("{} did not end within {PATIENCE:?}", self.who),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{} ended with {status}", self.who);
        self.unread.drain(..).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a line is about: readers may take samples of different instances in any order.
fn subject(line: &str) -> Vec<&str> {
    let words = match line.split(' ').next() {
        Some("sample" | "disposed" | "no-writers") => 2,
        _ => 1,
    };
    line.split(' ').take(words).collect()
}

fn read(output: PipeReader, who: &str, transcript: &Transcript, lines: &mpsc::Sender<String>) {
    for line in BufReader::new(output).split(b'\n') {
        let Ok(line) = line else { return };
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        transcript.note(who, &line);
        if lines.send(line).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(script: &str) -> Program {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program::start("shell", command, &Transcript::new())
    }

    #[test]
    fn samples_of_other_instances_may_come_between() {
        let mut program = says("echo sample B 1; echo sample A 1; echo matched 1; echo sample A 2");
        program.expect("sample A 1");
        program.expect("matched 1");
        program.expect("sample A 2");
        assert_eq!(program.finish(), ["sample B 1"]);
    }

    #[test]
    #[should_panic(expected = "said `sample A 2` where `sample A 1` was expected")]
    fn samples_of_one_instance_come_in_order() {
        says("echo sample A 2; echo sample A 1").expect("sample A 1");
    }

    #[test]
    #[should_panic(expected = "shell ended with exit status: 3 before it said `ready`")]
    fn an_early_end_is_told() {
        says("exit 3").expect("ready");
    }

    #[test]
    #[should_panic(expected = "shell: failed no such command")]
    fn a_failed_command_is_told_at_once() {
        says("read line; echo failed no such command; read line").order("write A 1 1");
    }

    #[test]
    #[should_panic(expected = "shell ended with exit status: 4")]
    fn a_bad_end_is_told() {
        says("exit 4").finish();
    }
}

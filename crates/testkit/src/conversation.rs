//! A program that is talked to in lines while a test goes on.
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long a line may take. It is waited for only where something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process; it is killed with this value.
#[derive(Debug)]
pub struct Conversation {
    name: String,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Conversation {
    /// Starts it. What it complains of goes where the test's own does.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(name: &str, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (told, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        Self { name: name.to_owned(), child, input, lines }
    }

    /// Says a line to it. What it does with one that it does not read shows by what it does not say.
    pub fn tell(&mut self, line: &str) {
        let _ = writeln!(self.input, "{line}");
    }

    /// Its next line that begins like this; those before it are left out.
    ///
    /// # Panics
    /// It ends, or says nothing of the kind for a minute.
    pub fn hear(&self, begin: &str) -> String {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with(begin) => return line,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => panic!("{} does not say \"{begin}\"", self.name),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{} has ended before it said \"{begin}\"", self.name)
                }
            }
        }
    }

    /// The lines that it has said until now, and that were not asked for.
    pub fn said(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Both fail if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

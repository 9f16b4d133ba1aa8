//! How the programs of the experiment are told what to do: lines on standard input, answered by lines on standard output. A program whose
//! input ends has lost whoever started it, and ends.
use std::io::{BufRead as _, Write as _};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The lines that come.
pub(crate) struct Orders(Receiver<String>);

impl Orders {
    /// Listens to standard input. Once for each process.
    pub(crate) fn new() -> Self {
        let (told, orders) = mpsc::channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if told.send(line).is_err() {
                    break;
                }
            }
            // Nobody is left who could end it in another way.
            std::process::exit(0);
        });
        Self(orders)
    }

    /// The next order, if one comes in time.
    pub(crate) fn next(&self, time: Duration) -> Option<String> {
        self.0.recv_timeout(time).ok()
    }
}

/// Answers with a line: a word, and what there is to say as JSON.
///
/// # Errors
/// What the system says.
pub(crate) fn answer(word: &str, said: &serde_json::Value) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word} {said}")?;
    out.flush()
}

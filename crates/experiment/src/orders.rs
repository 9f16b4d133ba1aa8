//! How the programs of the experiment are told what to do: lines on standard input, answered by lines on standard output. A program whose
//! input ends has nothing more to do, or has lost the process that started it, and ends.
use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The lines that come.
pub(crate) struct Orders {
    lines: Receiver<String>,
    over: Arc<AtomicBool>,
}

impl Orders {
    /// Listens to standard input. Once for each process.
    pub(crate) fn new() -> Self {
        let (told, lines) = mpsc::channel();
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if told.send(line).is_err() {
                    break;
                }
            }
            ended.store(true, Ordering::Relaxed);
        });
        Self { lines, over }
    }

    /// The next order, if one comes in time; `None` also if there will be no more.
    pub(crate) fn next(&self, time: Duration) -> Option<String> {
        self.lines.recv_timeout(time).ok()
    }

    /// Whether there will be no more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Answers with a line: a word, and what there is to say as JSON.
///
/// # Errors
/// In words.
pub(crate) fn answer(word: &str, said: &serde_json::Value) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    let told = writeln!(out, "{word} {said}").and_then(|()| out.flush());
    told.map_err(|error| format!("standard output: {error}"))
}

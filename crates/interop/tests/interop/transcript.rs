//! What the programs of a test said, in order and with times: shown if the test fails.
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Shared by all that has something to note.
#[derive(Clone)]
pub(crate) struct Transcript {
    began: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Transcript {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), lines: Arc::default() }
    }

    pub(crate) fn note(&self, who: &str, what: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        self.lines.lock().unwrap().push(format!("{seconds:7.3} {who}: {what}"));
    }

    pub(crate) fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

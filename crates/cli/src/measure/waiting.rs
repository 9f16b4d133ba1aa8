//! Waiting for the other side, with a word about it.
use std::time::{Duration, Instant};

use crate::exit::Failure;
use crate::output::progress;
use crate::stop::Stop;

/// How long nothing is said where no line of progress can be shown.
const SILENCE: Duration = Duration::from_secs(5);
const LOOK: dds::Duration = dds::Duration::from_millis(20);

/// A wait for a command that runs elsewhere.
pub(super) struct Waiting {
    command: &'static str,
    start: Instant,
    has_spoken: bool,
}

impl Waiting {
    pub(super) fn new(command: &'static str) -> Self {
        Self { command, start: Instant::now(), has_spoken: false }
    }

    /// How long it has lasted.
    pub(super) fn time(&self) -> Duration {
        self.start.elapsed()
    }

    /// Waits a little; true if the command is asked to end. `more` follows the name of the other command.
    pub(super) fn wait(&mut self, more: &str, stop: &Stop) -> Result<bool, Failure> {
        let Self { command, start, .. } = self;
        let time = start.elapsed();
        progress(&format!("waiting for `{command}`{more}, {} s", time.as_secs()));
        if time >= SILENCE && !std::mem::replace(&mut self.has_spoken, true) {
            eprintln!(
                "punctual: still waiting for `{command}`{more}; `punctual why` tells what is in the way"
            );
        }
        let stops = stop.wait(LOOK)?;
        if stops {
            self.end();
        }
        Ok(stops)
    }

    /// Takes the line of progress away.
    pub(super) fn end(&self) {
        progress("");
    }
}

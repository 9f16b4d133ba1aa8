//! Lines of standard input, for a thread that has other things to wait for.
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use dds::{Duration, GuardCondition, WaitSet};

use crate::exit::Failure;
use crate::stop::Stop;

/// Lines as another thread reads them.
pub(super) struct Lines {
    lines: Receiver<std::io::Result<String>>,
    ready: GuardCondition,
    waits: WaitSet,
}

/// How many lines are read ahead.
const AHEAD: usize = 64;

impl Lines {
    /// Begins to read.
    pub(super) fn of_stdin(stop: &Stop) -> Result<Self, Failure> {
        let (sender, lines) = sync_channel(AHEAD);
        let ready = GuardCondition::new();
        let tell = ready.clone();
        // It ends with the input, or with the process: a read that waits cannot be called off.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let sent = sender.send(line);
                tell.set_trigger_value(true);
                if sent.is_err() {
                    return;
                }
            }
            drop(sender);
            tell.set_trigger_value(true);
        });
        let waits = WaitSet::new();
        waits.attach_condition(ready.clone().into())?;
        waits.attach_condition(stop.condition())?;
        Ok(Self { lines, ready, waits })
    }

    /// The next line; `None` at the end, or if the command is to end.
    pub(super) fn next(&self, stop: &Stop) -> Result<Option<String>, Failure> {
        loop {
            if stop.requested() {
                return Ok(None);
            }
            // Before the look, so that a line that comes after it is not missed.
            self.ready.set_trigger_value(false);
            match self.lines.try_recv() {
                Ok(Ok(line)) => return Ok(Some(line)),
                Ok(Err(error)) => return Err(Failure::System(format!("standard input: {error}"))),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) => {
                    let _ = self.waits.wait(Duration::INFINITE);
                }
            }
        }
    }
}

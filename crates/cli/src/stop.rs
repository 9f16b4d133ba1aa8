//! Ctrl-C: the first one asks the command to end, a second one ends the process.
use dds::{Condition, Duration, GuardCondition, WaitSet};

use crate::exit::Failure;

/// The wish that the command ends. Clones are the same wish.
#[derive(Clone)]
pub struct Stop {
    guard: GuardCondition,
}

/// Exit code of a process that was ended by Ctrl-C, as shells count.
const INTERRUPTED: i32 = 130;

impl Stop {
    /// One that is told by SIGINT, SIGTERM and SIGHUP. Once for each process.
    ///
    /// # Errors
    /// [`Failure::System`] if the signals cannot be taken.
    pub fn on_signals() -> Result<Self, Failure> {
        let stop = Self::by_hand();
        let told = stop.clone();
        ctrlc::set_handler(move || {
            if told.requested() {
                std::process::exit(INTERRUPTED);
            }
            told.request();
        })
        .map_err(|error| {
            Failure::System(format!(
                "Ctrl-C cannot be handled: {error}; run the command in a process of its own"
            ))
        })?;
        Ok(stop)
    }

    /// One that is told by [`Stop::request`] only.
    pub fn by_hand() -> Self {
        Self { guard: GuardCondition::new() }
    }

    /// Asks the command to end.
    pub fn request(&self) {
        self.guard.set_trigger_value(true);
    }

    /// True once the command was asked to end.
    pub fn requested(&self) -> bool {
        self.guard.get_trigger_value()
    }

    /// For WaitSets that wait for something else too.
    pub fn condition(&self) -> Condition {
        self.guard.clone().into()
    }

    /// Waits; true at once if the command is asked to end, false after `time`.
    ///
    /// # Errors
    /// What [`WaitSet::attach_condition`] says.
    pub fn wait(&self, time: Duration) -> Result<bool, Failure> {
        let waits = WaitSet::new();
        waits.attach_condition(self.condition())?;
        Ok(waits.wait(time).is_ok())
    }
}

//! The inside of a domain, as its manager sees it: one trait for all kinds of devices, and the thread that they are set up in.
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use wan::{BackendAnswer, BackendCommand};

/// The back-end of one domain: it knows devices and their ledgers, and neither users, agreements nor neighbours.
///
/// It has a thread of its own, so it may take time; the manager does not wait. [`crate::conformance`] says what it has to keep, and looks whether it does.
pub trait Backend: Send {
    /// Carries commands out in their order, and answers those that have an answer. Commands that have come meanwhile are given together, so that
    /// one change of a device can be for all of them.
    fn execute(&mut self, commands: Vec<BackendCommand>) -> Vec<BackendAnswer>;

    /// What was not done before is tried again, and devices are asked whether they hold what they should. Called before commands are, and every
    /// so often ([`Backend::every`]).
    fn again(&mut self) -> Vec<BackendAnswer> {
        Vec::new()
    }

    /// How often that has to be.
    fn every(&self) -> Option<Duration> {
        None
    }

    /// What has to be said beside each bound, because the back-end itself does not see to it that the bound holds.
    fn caveat(&self) -> Option<&'static str>;
}

/// Commands that are carried out together at most.
const TOGETHER: usize = 256;

/// Runs a back-end in a thread of its own until nothing more can come; `answer` is told answers, and says whether they are still wanted.
pub(crate) fn run(
    mut backend: Box<dyn Backend>,
    commands: Receiver<BackendCommand>,
    answer: impl Fn(usize, Vec<BackendAnswer>) -> bool + Send + 'static,
) -> std::io::Result<()> {
    let run = move || {
        loop {
            let first = match backend.every() {
                Some(every) => commands.recv_timeout(every),
                None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if first == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            let mut batch: Vec<BackendCommand> = first.into_iter().collect();
            batch.extend(commands.try_iter().take(TOGETHER.saturating_sub(batch.len())));
            let count = batch.len();
            let mut answers = backend.again();
            answers.extend(backend.execute(batch));
            if (count > 0 || !answers.is_empty()) && !answer(count, answers) {
                return;
            }
        }
    };
    thread::Builder::new().name("back-end".to_owned()).spawn(run).map(drop)
}

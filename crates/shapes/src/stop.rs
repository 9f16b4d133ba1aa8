//! Ctrl-C: ends the loops, and the process even if it is stuck in writing to a pipe that is not read any more.
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use dds::{Error, ReturnCode};

/// How long ending in good order may take after Ctrl-C: acknowledgements are waited for at most a second of it.
const GRACE: Duration = Duration::from_secs(3);

/// Whether the loops shall end.
pub(crate) struct Stop {
    interrupts: Receiver<()>,
}

impl Stop {
    /// From now on SIGINT, SIGTERM and SIGHUP are asked for here.
    pub(crate) fn on_interrupt() -> Result<Self, Error> {
        let (sender, interrupts) = channel();
        let handler = move || {
            let _ = sender.send(());
            std::thread::sleep(GRACE);
            // The output may be a full pipe, so that nothing is printed here.
            std::process::exit(0);
        };
        ctrlc::set_handler(handler).map_err(|error| {
            let advice = "start it where signals may be handled";
            Error::new(ReturnCode::Error, "signals", error.to_string(), advice)
        })?;
        Ok(Self { interrupts })
    }

    /// Sleeps; true if the loop shall end, which it says at once.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        !matches!(self.interrupts.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }
}

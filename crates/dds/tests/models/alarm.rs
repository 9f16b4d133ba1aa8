//! An alarm as `udp` has it, on modelled time.
use std::cell::Cell;
use std::io;
use std::time::Duration;

use models::{Condvar, Mutex};
use udp::Sender;

#[derive(Debug, Default)]
pub(crate) struct Alarm {
    rung: Mutex<bool>,
    condvar: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::enum_variant_names, reason = "the names of `udp`")]
pub(crate) enum Rung {
    Rung,
    Writable,
    TimedOut,
}

thread_local! {
    /// How often alarms have rung; all threads of a model run on one thread of the system.
    pub(crate) static RINGS: Cell<u64> = const { Cell::new(0) };
}

impl Alarm {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    pub(crate) fn ring(&self) {
        RINGS.set(RINGS.get() + 1);
        *self.rung.lock().unwrap() = true;
        self.condvar.notify_all();
    }

    pub(crate) fn wait(&self, timeout: Option<Duration>, _: &[&Sender]) -> io::Result<Rung> {
        // What a thread loses between its look at the clock and its sleep is not of interest.
        let until = timeout.map_or(u64::MAX, |timeout| models::time::seen() + timeout.as_nanos() as u64);
        let rung = self.rung.lock().unwrap();
        let (mut rung, end) = self.condvar.wait_until_while(rung, until, |rung| !*rung).unwrap();
        *rung = false;
        Ok(if end.timed_out() { Rung::TimedOut } else { Rung::Rung })
    }
}

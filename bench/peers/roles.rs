//! What drivers in Rust do in each role, for a middleware that says how it writes and reads. Whoever reads does so on the main thread.
use std::borrow::Cow;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::measure::{
    CALM, Counter, MEETING, Role, RoundTrips, Task, Wrong, answered, cannot, end_of_input, first, publish, ready,
    until_silent,
};

/// Longest time that a reader waits in one go.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
const EARLY: Duration = Duration::from_millis(1);

/// A sample that was taken.
pub(crate) trait Sample {
    fn number(&self) -> u64;
    /// Its data.
    fn data(&self) -> Cow<'_, [u8]>;
}

pub(crate) trait Reader {
    type Sample: Sample;

    /// Waits up to [`LOOK`], then takes all that has come.
    fn turn(&mut self, act: &mut dyn FnMut(Self::Sample) -> Result<(), Wrong>) -> Result<(), Wrong>;
}

pub(crate) trait Writer {
    type Sample;

    /// Whether there is a reader.
    fn matched(&mut self) -> Result<bool, Wrong>;

    /// Writes a sample of the task's size; false if there is no room.
    fn write(&mut self, number: u64) -> Result<bool, Wrong>;

    /// Writes a sample that was taken.
    fn give_back(&mut self, sample: Self::Sample) -> Result<(), Wrong>;

    /// Waits until everything has arrived, if it can.
    fn settle(&mut self) -> Result<(), Wrong>;
}

/// A middleware.
pub(crate) trait Peer: Sized {
    type Writer: Writer<Sample = <Self::Reader as Reader>::Sample>;
    type Reader: Reader;

    /// Why a task cannot be done with it.
    fn refusal(task: &Task) -> Option<&'static str>;
    fn new(task: &Task) -> Result<Self, Wrong>;
    fn writer(&self, topic: &str) -> Result<Self::Writer, Wrong>;
    fn reader(&self, topic: &str) -> Result<Self::Reader, Wrong>;
}

/// The whole driver.
pub(crate) fn main<P: Peer>() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match Task::parse(&words).and_then(|task| run::<P>(&task)) {
        // The end of a middleware may take seconds, and nothing is measured any more.
        Ok(()) => std::process::exit(0),
        Err(wrong) => {
            eprintln!("{wrong}");
            std::process::exit(1)
        }
    }
}

fn run<P: Peer>(task: &Task) -> Result<(), Wrong> {
    if let Some(reason) = P::refusal(task) {
        cannot(reason);
        return Ok(());
    }
    let ends = end_of_input();
    let ended = || ends.load(Ordering::Acquire);
    let peer = P::new(task)?;
    match task.role {
        Role::Ping => {
            let (mut writer, mut reader) = (peer.writer("PING")?, peer.reader("PONG")?);
            let trips = RoundTrips::new(task);
            meet(&mut writer)?;
            must(writer.write(trips.begin())?)?;
            while !trips.done() && !ended() {
                reader.turn(&mut |sample| match trips.back(sample.number()) {
                    Some(next) => must(writer.write(next)?),
                    None => Ok(()),
                })?;
                if trips.stalled() {
                    must(writer.write(trips.begin())?)?;
                }
            }
            trips.say();
        }
        Role::Pong => {
            let (mut writer, mut reader) = (peer.writer("PONG")?, peer.reader("PING")?);
            ready();
            while !ended() {
                reader.turn(&mut |sample| writer.give_back(sample))?;
            }
            answered();
        }
        Role::Pub => {
            let mut writer = peer.writer("LOAD")?;
            meet(&mut writer)?;
            // Both closures need it, one after the other.
            let writer = std::cell::RefCell::new(writer);
            publish(task, &ends, |number| writer.borrow_mut().write(number), || writer.borrow_mut().settle())?;
        }
        Role::Sub => {
            let mut reader = peer.reader("LOAD")?;
            let mut counter = Counter::new(task);
            ready();
            until_silent(&ends, || {
                reader.turn(&mut |sample| {
                    counter.add(sample.number(), &sample.data());
                    Ok(())
                })?;
                counter.idle();
                Ok(counter.count())
            })?;
            counter.say();
        }
        Role::Early => {
            let mut writer = peer.writer("LOAD")?;
            ready();
            let mut number = 0;
            while !ended() {
                number += u64::from(writer.write(number)?);
                std::thread::sleep(EARLY);
            }
        }
        Role::First => {
            let mut reader = peer.reader("LOAD")?;
            let mut shouted = false;
            while !ended() {
                reader.turn(&mut |_| {
                    if !std::mem::replace(&mut shouted, true) {
                        first();
                    }
                    Ok(())
                })?;
            }
        }
    }
    Ok(())
}

/// A round trip has room always.
fn must(written: bool) -> Result<(), Wrong> {
    if written { Ok(()) } else { Err("there was no room for one sample".into()) }
}

/// Waits until there is a reader.
fn meet(writer: &mut impl Writer) -> Result<(), Wrong> {
    let start = Instant::now();
    while !writer.matched()? {
        if start.elapsed() > MEETING {
            return Err("the other side was not found".into());
        }
        std::thread::sleep(EARLY);
    }
    std::thread::sleep(CALM);
    Ok(())
}

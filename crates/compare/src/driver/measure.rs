//! What all drivers have in common: what they are asked, how they count, and how they say it. The file is part of the drivers of other
//! middleware too, so it stands on the standard library and the crate nix alone. `docs/compare.md` has the words.
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// What goes wrong in a driver, in words.
pub(crate) type Wrong = Box<dyn std::error::Error + Send + Sync>;

/// What a driver does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Writes a sample, and the next one when it is back.
    Ping,
    /// Writes back what it takes.
    Pong,
    /// Writes as fast as it can.
    Pub,
    /// Counts what it takes.
    Sub,
    /// Writes a sample each millisecond from the moment its writer exists.
    Early,
    /// Says when it has taken a sample.
    First,
}

/// How a driver learns of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// The middleware calls it.
    Listener,
    /// Its main thread waits.
    Waitset,
    /// It looks again and again.
    Spin,
}

/// What a driver was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    pub(crate) role: Role,
    /// Bytes of the data in a sample, 16 or more.
    pub(crate) size: usize,
    /// Round trips that count, and those before that do not.
    pub(crate) count: usize,
    pub(crate) warm_up: usize,
    /// How long to write.
    pub(crate) time: Duration,
    pub(crate) wake: Wake,
    /// Through shared memory, not through the network.
    pub(crate) memory: bool,
    /// Samples may wait for others.
    pub(crate) batched: bool,
}

/// What every byte of a sample is behind the first eight, which are its number where that has no place of its own.
pub(crate) const FILLING: u8 = 0x5a;
const NUMBER: usize = 8;
/// Longest time to find the other side.
pub(crate) const MEETING: Duration = Duration::from_secs(10);
/// From the match to the first sample: what discovery has under way is over then.
pub(crate) const CALM: Duration = Duration::from_millis(300);
/// A round trip that takes longer is lost: the next one is begun.
pub(crate) const LOST: Duration = Duration::from_secs(1);
/// After the wish for an end, this long without a sample.
const SILENCE: Duration = Duration::from_millis(300);
/// After the wish for an end, a driver that hangs ends anyway.
const LAST: Duration = Duration::from_secs(5);

impl Task {
    /// Reads the command line: a role, then `name=value`.
    pub(crate) fn parse(words: &[String]) -> Result<Self, Wrong> {
        let (role, rest) = words.split_first().ok_or("give a role")?;
        let role = match role.as_str() {
            "ping" => Role::Ping,
            "pong" => Role::Pong,
            "pub" => Role::Pub,
            "sub" => Role::Sub,
            "early" => Role::Early,
            "first" => Role::First,
            other => return Err(format!("there is no role {other}").into()),
        };
        let mut task = Self {
            role,
            size: 64,
            count: 1_000,
            warm_up: 100,
            time: Duration::from_secs(1),
            wake: Wake::Listener,
            memory: false,
            batched: false,
        };
        for word in rest {
            let (name, value) = word.split_once('=').ok_or_else(|| format!("{word} is not name=value"))?;
            let number = || value.parse::<usize>().map_err(|_| format!("{word}: not a number"));
            match name {
                "size" => task.size = number()?,
                "count" => task.count = number()?,
                "warm_up" => task.warm_up = number()?,
                "milliseconds" => task.time = Duration::from_millis(u64::try_from(number()?)?),
                "memory" => task.memory = number()? != 0,
                "batched" => task.batched = number()? != 0,
                "wake" => {
                    task.wake = match value {
                        "listener" => Wake::Listener,
                        "waitset" => Wake::Waitset,
                        "spin" => Wake::Spin,
                        other => return Err(format!("there is no wake {other}").into()),
                    }
                }
                other => return Err(format!("there is no {other}").into()),
            }
        }
        if !(16..=1 << 24).contains(&task.size) || !(1..=10_000_000).contains(&task.count) {
            return Err("size is 16 to 16 Mi, count 1 to 10 million".into());
        }
        Ok(task)
    }
}

/// Says a line to the program that asked; if that does not read any more, the driver ends.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

/// Says that the other side may be started.
pub(crate) fn ready() {
    say("ready");
}

/// Says that this cannot be measured, and why.
pub(crate) fn cannot(reason: &str) {
    say(&format!("cannot {reason}"));
}

/// The wish for an end: the end of the standard input. A driver that does not follow it is ended.
pub(crate) fn end_of_input() -> Arc<AtomicBool> {
    let ends = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ends);
    at_end(move || told.store(true, Ordering::Release));
    ends
}

/// Does something at the end of the standard input, from a thread of its own.
pub(crate) fn at_end(act: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while std::io::stdin().lock().read(&mut bytes).is_ok_and(|bytes| bytes > 0) {}
        act();
        std::thread::sleep(LAST);
        std::process::exit(1);
    });
}

/// Processor time of the process so far, in nanoseconds.
pub(crate) fn processor() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        u64::try_from(micros).unwrap_or(0).saturating_mul(1_000)
    })
}

/// Most memory that the process has had at once, in bytes. Not from `getrusage`, which counts what the parent had before the program began.
pub(crate) fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1_024)
}

/// Nanoseconds of a time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The times of samples that come back.
struct Trips {
    times: Vec<u64>,
    next: u64,
    sent: Instant,
    warm_up: usize,
    count: usize,
    stalls: u64,
    processor: u64,
}

/// Round trips: the thread that takes an answer says so, and is told the next number to write.
#[derive(Clone)]
pub(crate) struct RoundTrips(Arc<(Mutex<Trips>, Condvar)>);

impl RoundTrips {
    pub(crate) fn new(task: &Task) -> Self {
        let trips = Trips {
            times: Vec::with_capacity(task.count),
            next: 0,
            sent: Instant::now(),
            warm_up: task.warm_up,
            count: task.count,
            stalls: 0,
            processor: processor(),
        };
        Self(Arc::new((Mutex::new(trips), Condvar::new())))
    }

    fn trips(&self) -> MutexGuard<'_, Trips> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the next sample, which is to be written at once.
    pub(crate) fn begin(&self) -> u64 {
        let mut trips = self.trips();
        trips.next += 1;
        trips.sent = Instant::now();
        trips.next
    }

    /// A sample is back; the number of the next one, or `None` if that was the last, or not the one that is waited for.
    pub(crate) fn back(&self, number: u64) -> Option<u64> {
        let now = Instant::now();
        let mut trips = self.trips();
        if number != trips.next || trips.times.len() >= trips.count {
            return None;
        }
        if trips.warm_up > 0 {
            trips.warm_up -= 1;
            if trips.warm_up == 0 {
                trips.processor = processor();
            }
        } else {
            let time = nanoseconds(now - trips.sent);
            trips.times.push(time);
        }
        if trips.times.len() >= trips.count {
            drop(trips);
            self.0.1.notify_all();
            return None;
        }
        trips.next += 1;
        trips.sent = Instant::now();
        Some(trips.next)
    }

    pub(crate) fn done(&self) -> bool {
        let trips = self.trips();
        trips.times.len() >= trips.count
    }

    /// True if the sample that is waited for is lost; then [`RoundTrips::begin`] is next.
    pub(crate) fn stalled(&self) -> bool {
        let mut trips = self.trips();
        let stalled = trips.times.len() < trips.count && trips.sent.elapsed() >= LOST;
        trips.stalls += u64::from(stalled);
        stalled
    }

    /// Waits until all is done while another thread takes the answers; `write` repeats what is lost.
    pub(crate) fn wait(
        &self,
        ends: &AtomicBool,
        mut write: impl FnMut(u64) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        write(self.begin())?;
        while !self.done() && !ends.load(Ordering::Acquire) {
            let guard = self.trips();
            let waited = self.0.1.wait_timeout_while(guard, LOST, |trips| trips.times.len() < trips.count);
            drop(waited);
            if self.stalled() {
                write(self.begin())?;
            }
        }
        Ok(())
    }

    /// Says what was measured.
    pub(crate) fn say(&self) {
        let mut trips = self.trips();
        let used = processor().saturating_sub(trips.processor);
        let stalls = trips.stalls;
        say_times("round_trips", &mut trips.times, stalls, used);
    }
}

/// Says times in nanoseconds, which are sorted for that; `used` is processor time.
pub(crate) fn say_times(kind: &str, times: &mut [u64], stalls: u64, used: u64) {
    times.sort_unstable();
    let count = times.len();
    let at = |permyriad: usize| {
        let index = (count * permyriad).div_ceil(10_000).saturating_sub(1);
        times.get(index).copied().unwrap_or(0)
    };
    say(&format!(
        "result {{\"kind\":\"{kind}\",\"count\":{count},\"stalls\":{stalls},\"processor_ns\":{used},\"memory\":{},\"min_ns\":{},\
         \"p50_ns\":{},\"p90_ns\":{},\"p99_ns\":{},\"p999_ns\":{},\"max_ns\":{}}}",
        memory(),
        at(0),
        at(5_000),
        at(9_000),
        at(9_900),
        at(9_990),
        at(10_000),
    ));
}

/// Says what was written, the time until all of it had arrived, and processor time.
pub(crate) fn say_written(count: u64, refused: u64, time: u64, used: u64) {
    say(&format!(
        "result {{\"kind\":\"written\",\"count\":{count},\"refused\":{refused},\"time_ns\":{time},\"processor_ns\":{used},\"memory\":{}}}",
        memory()
    ));
}

/// Says what was taken: the greatest number, samples that are not as they were written, the time from the first to the last, processor time.
pub(crate) fn say_taken(count: u64, greatest: u64, wrong: u64, time: u64, used: u64) {
    say(&format!(
        "result {{\"kind\":\"taken\",\"count\":{count},\"greatest\":{greatest},\"wrong\":{wrong},\"time_ns\":{time},\"processor_ns\":{used},\
         \"memory\":{}}}",
        memory()
    ));
}

/// Writes as fast as it can for the time that was asked for, and says how much. `write` gives false if there was no room; `settle` waits
/// until everything has been acknowledged.
pub(crate) fn publish(
    task: &Task,
    ends: &AtomicBool,
    mut write: impl FnMut(u64) -> Result<bool, Wrong>,
    settle: impl FnOnce() -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let (start, before) = (Instant::now(), processor());
    let (mut count, mut refused) = (0_u64, 0_u64);
    // The clock is read now and then: it would be a part of what is measured.
    while !ends.load(Ordering::Relaxed) && (!count.is_multiple_of(64) || start.elapsed() < task.time) {
        if write(count)? {
            count += 1;
        } else {
            refused += 1;
            if start.elapsed() >= task.time + LAST {
                break;
            }
        }
    }
    settle()?;
    say_written(count, refused, nanoseconds(start.elapsed()), processor().saturating_sub(before));
    Ok(())
}

/// Counts samples that are taken.
pub(crate) struct Counter {
    count: u64,
    /// How many there were when all had been taken.
    told: u64,
    greatest: u64,
    wrong: u64,
    size: usize,
    first: Option<(Instant, u64)>,
    last: Instant,
}

impl Counter {
    pub(crate) fn new(task: &Task) -> Self {
        Self { count: 0, told: 0, greatest: 0, wrong: 0, size: task.size, first: None, last: Instant::now() }
    }

    /// One more, with these bytes. All of them are looked at, so that what it costs to have them here is measured.
    pub(crate) fn add(&mut self, number: u64, data: &[u8]) {
        if self.first.is_none() {
            self.first = Some((Instant::now(), processor()));
        }
        self.count += 1;
        self.wrong += u64::from(data.len() != self.size || !is_whole(data));
        self.greatest = self.greatest.max(number);
        // As above; the end of a burst is seen by `idle`.
        if self.count.is_multiple_of(64) {
            self.last = Instant::now();
        }
    }

    /// How many there were so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// All that had come was taken.
    pub(crate) fn idle(&mut self) {
        if self.told != self.count {
            self.told = self.count;
            self.last = Instant::now();
        }
    }

    /// Says what came.
    pub(crate) fn say(&self) {
        let (time, used) = self.first.map_or((Duration::ZERO, 0), |(first, before)| {
            (self.last.saturating_duration_since(first), processor().saturating_sub(before))
        });
        say_taken(self.count, self.greatest, self.wrong, nanoseconds(time), used);
    }
}

/// Whether a sample is as it was written.
fn is_whole(data: &[u8]) -> bool {
    data.get(NUMBER..)
        .is_some_and(|filled| filled.iter().fold(0, |wrong, byte| wrong | (byte ^ FILLING)) == 0)
}

/// Waits for the end of a driver that counts: until it is wished for and nothing comes any more. `count` says how many came.
pub(crate) fn until_silent(
    ends: &AtomicBool,
    mut look: impl FnMut() -> Result<u64, Wrong>,
) -> Result<(), Wrong> {
    let (mut before, mut since) = (0, Instant::now());
    loop {
        let count = look()?;
        if count != before {
            (before, since) = (count, Instant::now());
        } else if ends.load(Ordering::Acquire) && since.elapsed() >= SILENCE {
            return Ok(());
        }
    }
}

/// Says that a sample has come.
pub(crate) fn first() {
    say("result {\"kind\":\"first\"}");
}

/// Says that a driver that answers has ended well.
pub(crate) fn answered() {
    say(&format!(
        "result {{\"kind\":\"answered\",\"processor_ns\":{},\"memory\":{}}}",
        processor(),
        memory()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_that_is_not_as_it_was_written_is_counted() {
        let task = Task::parse(&["sub".into(), "size=100".into()]).unwrap_or_else(|wrong| panic!("{wrong}"));
        let mut counter = Counter::new(&task);
        let mut data = vec![FILLING; 100];
        data[..NUMBER].fill(7);
        counter.add(7, &data);
        assert_eq!((counter.count, counter.greatest, counter.wrong), (1, 7, 0));
        for at in NUMBER..100 {
            data[at] ^= 1;
            counter.add(8, &data);
            data[at] ^= 1;
        }
        assert_eq!(counter.wrong, 92);
        counter.add(9, &data[..99]);
        counter.add(9, &[]);
        assert_eq!((counter.count, counter.wrong), (95, 94));
    }
}

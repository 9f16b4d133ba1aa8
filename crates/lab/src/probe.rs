//! Probes that see when the machine stands still: a thread on each core that wakes each fifth of a millisecond, before everything else.
//!
//! A virtual machine is now and then not run for some milliseconds, and no priority helps against that. Measurements that
//! meet such a stall say nothing about the network; the probes say when it was, independently of what is measured.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use udp::thread::{set_cores, set_real_time};

/// How long a probe sleeps.
const PERIOD: Duration = Duration::from_micros(200);
/// Above everything that labs run.
const PRIORITY: u8 = 80;
/// How often the two clocks are looked at again if that took long.
const LOOKS: usize = 4;
/// The most stalls that one core keeps.
const MOST: usize = 100_000;

/// A time in which a core did not run the probe though it was due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stall {
    /// When the probe should have run, in nanoseconds of the monotonic clock.
    pub from: u64,
    /// When it ran.
    pub to: u64,
    /// The core.
    pub core: usize,
}

impl Stall {
    /// Whether it has a moment in common with the time from `from` to `to`, both in nanoseconds of the monotonic clock.
    pub const fn meets(&self, from: u64, to: u64) -> bool {
        self.from <= to && from <= self.to
    }
}

/// Running probes, one for each core that this process may use.
#[derive(Debug)]
pub struct Probes {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Stall>>>,
    real_time: bool,
}

impl Probes {
    /// Starts probes that keep what wakes later than `late`. If real-time priority is not granted they also see delays that
    /// other programs cause; [`Probes::real_time`] tells.
    ///
    /// # Errors
    /// Which cores there are cannot be found out, or a thread cannot be started.
    pub fn start(late: Duration) -> Result<Self, crate::Error> {
        Self::start_at(late, Some(PRIORITY))
    }

    /// Starts probes that run as other programs do, without priority: they see what such a program is delayed by, others that compute included.
    /// Threads of the kernel that forward packets under load wait like that, too.
    ///
    /// # Errors
    /// Those of [`Probes::start`].
    pub fn start_among_others(late: Duration) -> Result<Self, crate::Error> {
        Self::start_at(late, None)
    }

    fn start_at(late: Duration, priority: Option<u8>) -> Result<Self, crate::Error> {
        let cores = udp::thread::cores().map_err(|error| crate::Error::new(error.to_string(), ""))?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut probes = Self { stop: Arc::clone(&stop), threads: Vec::new(), real_time: true };
        for core in cores {
            let stop = Arc::clone(&stop);
            let (told, heard) = std::sync::mpsc::channel();
            let thread = thread::Builder::new().name(format!("probe {core}")).spawn(move || {
                let is_first = || priority.is_some_and(|priority| set_real_time(priority).is_ok());
                let granted = set_cores(&[core]).is_ok() && is_first();
                // The thread that started it waits for this.
                let _ = told.send(granted);
                let mut stalls = Vec::new();
                let keep = |stall| {
                    if stalls.len() < MOST {
                        stalls.push(stall);
                    }
                };
                watch(core, late, keep, || stop.load(Ordering::Relaxed));
                stalls
            });
            probes.threads.push(thread.map_err(crate::Error::system("a probe"))?);
            probes.real_time &= heard.recv().unwrap_or(false);
        }
        Ok(probes)
    }

    /// Whether all of them run before everything else on their cores.
    pub fn real_time(&self) -> bool {
        self.real_time
    }

    /// Ends them: all stalls, in the order of their beginning.
    pub fn stop(mut self) -> Vec<Stall> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = std::mem::take(&mut self.threads).into_iter();
        let mut stalls: Vec<Stall> = ended.flat_map(|thread| thread.join().unwrap_or_default()).collect();
        stalls.sort_unstable();
        stalls
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The monotonic clock, in nanoseconds; it is the same in all network namespaces.
pub fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// The time of day in nanoseconds since 1970: the clock of the kernel's stamps.
pub fn realtime() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).map(Duration::from);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// [`monotonic`] and [`realtime`] of the same instant, to a microsecond unless the machine stands still between each two of some looks at them.
pub fn both_clocks() -> (u64, u64) {
    let look = || {
        let (before, wall) = (monotonic(), realtime());
        (monotonic().saturating_sub(before), before, wall)
    };
    let mut best = look();
    for _ in 0..LOOKS {
        if best.0 < 1_000 {
            break;
        }
        best = best.min(look());
    }
    (best.1, best.2)
}

fn watch(core: usize, late: Duration, mut seen: impl FnMut(Stall), ended: impl Fn() -> bool) {
    let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
    threads::wakes(PERIOD, |due, woke| {
        if woke.saturating_sub(due) > late {
            seen(Stall { from: due, to: woke, core });
        }
        !ended()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_meets_what_has_a_moment_in_common_with_it() {
        let stall = Stall { from: 100, to: 200, core: 0 };
        for (from, to, meets) in
            [(0, 99, false), (0, 100, true), (150, 160, true), (200, 300, true), (201, 300, false)]
        {
            assert_eq!(stall.meets(from, to), meets, "{from} to {to}");
        }
    }

    #[test]
    fn probes_watch_each_core_and_see_what_is_late() {
        // Waking is never exactly on time, so that everything is a stall for who allows nothing.
        let begun = monotonic();
        let probes = Probes::start(Duration::ZERO).unwrap();
        let cores = udp::thread::cores().unwrap();
        thread::sleep(Duration::from_millis(50));
        let stalls = probes.stop();
        let ended = monotonic();
        for core in cores {
            assert!(stalls.iter().any(|stall| stall.core == core), "core {core}");
        }
        assert!(stalls.iter().all(|stall| begun <= stall.from && stall.from < stall.to && stall.to <= ended));
        assert!(stalls.is_sorted());
    }
}

//! What a core does besides the deliveries that are looked at: higher lanes, lower threads with a higher priority for a while,
//! deadline threads, stalls, throttling.
//!
//! A window is *aligned* if it begins when no delivery of its priority or above was under way on its core, and no stall. Then only what
//! comes in the window delays it, but with the time for which it waits, since the core may be idle meanwhile. Lanes that wait for locks
//! of other cores, and those of several cores, are left out of this; they, and all in windows that are not aligned, delay it by
//! the processor time of what came so long before that it may not have ended.
use alloc::vec::Vec;

use crate::model::{DEADLINE, Model, single_core};
use crate::system::{Scheduling, Time};
use crate::work::{Bound, Reason, add, fit, mul, scale};

/// How often a window is made longer before it counts as one without end: with more work than time it grows by a factor, with just as
/// much it would grow for long.
const MOST_LENGTHS: u32 = 10_000;

/// The cause of a part of a bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// The run itself, with dispatch, changes of threads and waits for locks of other cores.
    Own,
    /// Deliveries of its own lane that are before it, less what had passed when it came.
    Lane,
    /// Fifo lanes of at least its priority.
    Higher,
    /// Threads with less priority that hold locks.
    Blocking,
    /// Deadline threads of the core.
    DeadlineThreads,
    /// The budget of its own deadline thread.
    Budget,
    /// Stalls.
    Stalls,
    /// Throttling of fifo threads.
    Throttling,
    /// Until a thread wakes, and stalls that hold up interrupts.
    Wake,
    /// Lateness of timers.
    Lateness,
    /// The interval of a *let* port, beyond the time of its run.
    Interval,
    /// Between hosts.
    Transfer,
    /// Until a register is read, or written again.
    Sampling,
    /// Until the other parts of a join have come.
    Joining,
    /// Instants of a timer that are skipped.
    Skipped,
    /// Errors of clocks.
    Clocks,
}

/// The parts of a window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Parts {
    pub(crate) own: Time,
    pub(crate) lane: Time,
    pub(crate) higher: Time,
    pub(crate) blocking: Time,
    pub(crate) deadline: Time,
    pub(crate) budget: Time,
    pub(crate) stalls: Time,
    pub(crate) throttling: Time,
    pub(crate) wake: Time,
    pub(crate) late: Time,
}

impl Parts {
    pub(crate) fn total(&self) -> Bound {
        self.each().iter().try_fold(0, |sum, (_, time)| add(sum, *time))
    }

    pub(crate) fn each(&self) -> [(Cause, Time); 10] {
        [
            (Cause::Own, self.own),
            (Cause::Lane, self.lane),
            (Cause::Higher, self.higher),
            (Cause::Blocking, self.blocking),
            (Cause::DeadlineThreads, self.deadline),
            (Cause::Budget, self.budget),
            (Cause::Stalls, self.stalls),
            (Cause::Throttling, self.throttling),
            (Cause::Wake, self.wake),
            (Cause::Lateness, self.late),
        ]
    }
}

/// A window on cores.
pub(crate) struct Window {
    pub(crate) host: usize,
    /// The cores whose other work delays, each by itself and one after the other.
    pub(crate) cores: Vec<usize>,
    /// The priority of what is looked at.
    pub(crate) priority: u8,
    /// Lanes that are not counted, since their deliveries are counted otherwise, or wait meanwhile.
    pub(crate) without: [Option<usize>; 2],
    pub(crate) aligned: bool,
    /// How often lower threads can have got locks before and during it, besides what waits of others allow.
    pub(crate) rounds: u64,
    /// The lane of what is looked at.
    pub(crate) lane: usize,
}

/// What is looked at in a window: the time that it takes, and how often it can leave the core to lower threads.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ahead {
    pub(crate) fixed: Time,
    pub(crate) suspensions: u64,
}

impl Model<'_> {
    /// The least window, of `from` at least, in which what is ahead and all that delays it have their time.
    pub(crate) fn close(
        &self,
        window: &Window,
        ahead: impl Fn(Time) -> Result<Ahead, Reason>,
        from: Time,
    ) -> Result<(Time, Parts), Reason> {
        let mut length = from;
        for _ in 0..MOST_LENGTHS {
            self.work.step()?;
            let ahead = ahead(length)?;
            let mut parts = Parts::default();
            for core in &window.cores {
                self.delay(window, *core, length, ahead.suspensions, &mut parts)?;
            }
            parts.lane = ahead.fixed;
            // Stalls may use the budget up, and so do changes back from other deadline threads.
            let used = add(ahead.fixed, add(parts.stalls, parts.deadline)?)?;
            parts.budget = self.budget(window.lane, used)?;
            let next = parts.total()?;
            if next <= length {
                return Ok((length, parts));
            }
            if next > self.limits.horizon {
                return Err(Reason::Overload { lane: window.lane });
            }
            length = next;
        }
        Err(Reason::Overload { lane: window.lane })
    }

    /// How long a deadline thread waits for its own budget if it wants to run for so long (P5).
    ///
    /// The budget is used up once for each runtime that is wanted, at first perhaps at once; each time it is there again a period after
    /// the time before at the latest.
    fn budget(&self, lane: usize, wanted: Time) -> Bound {
        let Some(it) = self.system.lanes.get(lane) else { return Ok(0) };
        let Scheduling::Deadline { runtime, deadline, period } = it.scheduling else { return Ok(0) };
        // Each time it is there again, the thread may pay for the change to it.
        let switch = self.system.hosts.get(it.host).map_or(0, |host| host.switch);
        let useful = runtime.checked_sub(switch).filter(|it| *it > 0).ok_or(Reason::Overload { lane })?;
        let times = wanted.div_ceil(useful);
        // With a deadline before the period a waking thread gets a budget that is rounded down.
        add(mul(times, period.saturating_sub(useful))?, u64::from(deadline < period))
    }

    fn delay(
        &self,
        window: &Window,
        core: usize,
        length: Time,
        waits: u64,
        parts: &mut Parts,
    ) -> Result<(), Reason> {
        let Some(host) = self.system.hosts.get(window.host) else { return Ok(()) };
        let lanes = self.on_core.get(&(window.host, core));
        let lanes = || lanes.into_iter().flatten().filter(|(lane, _)| !window.without.contains(&Some(*lane)));
        let (lower, nested) = self.lower_sections(window, core)?;
        let mut rounds = add(window.rounds, waits)?;
        for (lane, _) in lanes() {
            let priority = self.priority(*lane);
            if priority == DEADLINE {
                parts.deadline = add(parts.deadline, self.deadline_time(*lane, length)?)?;
            } else if priority >= window.priority {
                let pending = window.aligned && self.pending_counts(*lane);
                for port in self.served.get(*lane).into_iter().flatten() {
                    let (before, cost) = if pending {
                        (self.lag(*lane)?, self.cost(*port)?)
                    } else {
                        // A thread that got a lock and has not woken yet keeps others from it.
                        let wakes =
                            mul(host.wake, self.runs.get(*port).map_or(0, |run| self.contentions(run)))?;
                        let cost = add(self.processor_time(*port)?, wakes)?;
                        (self.finish.get(*port).copied().unwrap_or(Ok(0))?, cost)
                    };
                    let runs = self.arrivals(*port, add(length, before)?)?.most;
                    parts.higher = add(parts.higher, mul(runs, cost)?)?;
                    rounds = add(rounds, mul(runs, self.rounds_of(*port, nested))?)?;
                }
            }
        }
        let held = if window.aligned { 0 } else { self.stall.get(window.host).copied().unwrap_or(Ok(0))? };
        for stall in &host.stalls {
            parts.stalls = add(parts.stalls, mul(stall.length, fit(length, held, stall.distance)?)?)?;
        }
        let throttled = self.throttled.get(&(window.host, core)).copied().unwrap_or(false);
        if let Some(throttling) = host.throttling.filter(|_| throttled && window.priority < DEADLINE) {
            let each = add(throttling.period.saturating_sub(throttling.runtime), host.switch)?;
            let times = fit(length, 0, throttling.period)?;
            parts.throttling = add(parts.throttling, mul(each, times)?)?;
            // Other threads run meanwhile.
            rounds = add(rounds, times)?;
        }
        if lower > 0 {
            parts.blocking = add(parts.blocking, mul(lower, rounds)?)?;
        }
        Ok(())
    }

    /// Whether an aligned window begins when no delivery of this lane is under way: the lane has one core, and either waits for no lock of
    /// another core, or may do so while it holds one.
    fn pending_counts(&self, lane: usize) -> bool {
        let runs = || self.served.get(lane).into_iter().flatten().filter_map(|port| self.runs.get(*port));
        let waits = runs().any(|run| self.suspensions(&run.acquired, 0) > 0);
        let nested =
            runs().flat_map(|run| run.sections.values()).any(|it| self.suspensions(&it.nested, 0) > 0);
        self.system.lanes.get(lane).is_some_and(single_core) && (!waits || nested)
    }

    /// How often a delivery lets lower threads get locks anew: while it waits for a lock of another core or wakes with a lock, and while
    /// the lower thread that it waits for does so.
    pub(crate) fn rounds_of(&self, port: usize, nested: u64) -> u64 {
        let Some(run) = self.runs.get(port) else { return 0 };
        let wake = self.host_of(port).map_or(0, |host| host.wake);
        let own = self.suspensions(&run.acquired, wake);
        own.saturating_add(self.contentions(run).saturating_mul(nested))
    }

    /// How often locks that lower threads of the cores hold can make these wait in turn.
    pub(crate) fn nested_waits(&self, window: &Window) -> Result<u64, Reason> {
        let mut most = 0;
        for core in &window.cores {
            most = most.max(self.lower_sections(window, *core)?.1);
        }
        Ok(most)
    }

    /// How long lower threads of a core can run with the priority of the window if each does once; and how often they then wait.
    fn lower_sections(&self, window: &Window, core: usize) -> Result<(Time, u64), Reason> {
        let wake = self.system.hosts.get(window.host).map_or(0, |host| host.wake);
        let (mut time, mut waits) = (0, 0_u64);
        for (lane, threads) in self.on_core.get(&(window.host, core)).into_iter().flatten() {
            if self.priority(*lane) >= window.priority || window.without.contains(&Some(*lane)) {
                continue;
            }
            let (mut longest, mut nested) = (0, 0);
            for port in self.served.get(*lane).into_iter().flatten() {
                let sections = self.runs.get(*port).map(|run| &run.sections);
                for ((component, _), section) in sections.into_iter().flatten() {
                    self.work.step()?;
                    let raised =
                        |lock: &&crate::model::Lock| lock.contended && lock.ceiling >= window.priority;
                    if self.locks.get(*component).filter(raised).is_some() {
                        let cost = if window.aligned {
                            self.section_cost(*port, section, window.priority)?
                        } else {
                            self.section_time(*port, section)?
                        };
                        longest = longest.max(cost);
                        nested = self.suspensions(&section.nested, wake).max(nested);
                    }
                }
            }
            time = add(time, mul(*threads, longest)?)?;
            waits = waits.saturating_add(nested.saturating_mul(*threads));
        }
        Ok((time, waits))
    }

    /// How long a deadline lane can keep the core in a window of any place: twice the runtime and its share, or what it has to do.
    fn deadline_time(&self, lane: usize, length: Time) -> Bound {
        let Some(it) = self.system.lanes.get(lane) else { return Ok(0) };
        let Scheduling::Deadline { runtime, period, .. } = it.scheduling else { return Ok(0) };
        let threads = u64::try_from(it.threads.len()).map_err(|_| Reason::Overflow)?;
        let server = add(mul(2, runtime)?, scale(length, runtime, period)?)?;
        let mut time = mul(threads, server)?;
        match self.deadline_demand(lane, length) {
            Ok(demand) => time = time.min(demand),
            Err(Reason::Steps) => return Err(Reason::Steps),
            Err(_) => {}
        }
        // Each time that it wakes or has budget again, another thread goes on later.
        let switch = self.system.hosts.get(it.host).map_or(0, |host| host.switch);
        if switch == 0 {
            return Ok(time);
        }
        let mut changes = mul(threads, add(fit(length, 0, period)?, 1)?)?;
        for port in self.served.get(lane).into_iter().flatten() {
            changes = add(changes, self.arrivals(*port, add(length, self.lag(lane)?)?)?.most)?;
        }
        add(time, mul(changes, switch)?)
    }

    fn deadline_demand(&self, lane: usize, length: Time) -> Bound {
        let mut demand = 0;
        for port in self.served.get(lane).into_iter().flatten() {
            let finish = self.finish.get(*port).copied().unwrap_or(Ok(0))?;
            let runs = self.arrivals(*port, add(length, finish)?)?.most;
            demand = add(demand, mul(runs, self.processor_time(*port)?)?)?;
        }
        Ok(demand)
    }

    /// Looks again whether fifo threads of each core may be throttled: they are not if all that counts as their time fits in a
    /// window (P10).
    pub(crate) fn throttle(&mut self) -> Result<bool, Reason> {
        let mut changed = false;
        let cores: Vec<(usize, usize)> = self.on_core.keys().copied().collect();
        for (host, core) in cores {
            if self.throttled.get(&(host, core)) == Some(&true) {
                continue;
            }
            let Some(throttling) = self.system.hosts.get(host).and_then(|host| host.throttling) else {
                continue;
            };
            let fits = match self.fifo_time(host, core, throttling.period) {
                Err(Reason::Steps) => return Err(Reason::Steps),
                time => time.is_ok_and(|time| time <= throttling.runtime),
            };
            if !fits && throttling.runtime < throttling.period {
                self.throttled.insert((host, core), true);
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Most time that may count as time of fifo threads in a window of any place.
    fn fifo_time(&self, host: usize, core: usize, length: Time) -> Bound {
        let mut time = 0;
        for (lane, _) in self.on_core.get(&(host, core)).into_iter().flatten() {
            let priority = self.priority(*lane);
            if priority == DEADLINE {
                time = add(time, self.deadline_time(*lane, length)?)?;
                continue;
            }
            for port in self.served.get(*lane).into_iter().flatten() {
                if priority == 0 {
                    // With the priority of a thread that waits for it.
                    let contended = self.runs.get(*port).is_some_and(|run| self.contentions(run) > 0);
                    if contended {
                        return Err(Reason::Host { port: *port });
                    }
                    continue;
                }
                let finish = self.finish.get(*port).copied().unwrap_or(Ok(0))?;
                let runs = self.arrivals(*port, add(length, finish)?)?.most;
                time = add(time, mul(runs, self.processor_time(*port)?)?)?;
            }
        }
        let held = self.stall.get(host).copied().unwrap_or(Ok(0))?;
        for stall in self.system.hosts.get(host).into_iter().flat_map(|host| &host.stalls) {
            time = add(time, mul(stall.length, fit(length, held, stall.distance)?)?)?;
        }
        Ok(time)
    }

    /// The window of a lane's own deliveries.
    pub(crate) fn window_of(&self, lane: usize) -> Option<Window> {
        let it = self.system.lanes.get(lane)?;
        let mut cores = it.threads.clone();
        cores.sort_unstable();
        cores.dedup();
        let aligned = single_core(it);
        // Lower threads hold locks when it begins.
        let rounds = if aligned { 1 } else { 2 };
        Some(Window {
            host: it.host,
            cores,
            priority: self.priority(lane),
            without: [Some(lane), None],
            aligned,
            rounds,
            lane,
        })
    }
}

//! Locks with priority inheritance: which lanes can wait for which lock, with which priority, and for how long (P11).
//!
//! A lock that threads of one core use costs no time by itself: while a thread waits for it, the core runs the one that holds it. What
//! it does cost is in [`crate::cores`]. A wait for a lock that threads of several cores use counts as if the waiting thread ran.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use crate::cores::{Ahead, Window};
use crate::model::{DEADLINE, Lock, Model};
use crate::runs::{Run, Section};
use crate::system::Time;
use crate::work::{Bound, Reason, add, mul};

/// Changes of threads that a delivery can cause: to its thread, and back to the one before.
const CHANGES: u64 = 2;
/// The same if the lane has several threads, of which one may wake for nothing, for each time that its port becomes available.
const CHANGES_OF_SEVERAL: u64 = 6;
/// Changes around a lock: away from the thread that waits, back to it, back to the one that it then preempts; and to the holder whose
/// priority rises, from it when it falls, and to it again.
const CHANGES_OF_LOCK: u64 = 6;

impl Model<'_> {
    /// The users of each lock.
    pub(crate) fn find_locks(&self) -> Result<Vec<Lock>, Reason> {
        let mut locks = vec![Lock::default(); self.system.components.len()];
        let mut threads: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); locks.len()];
        for (port, run) in self.runs.iter().enumerate() {
            let Some((lane, _)) = self.lane_of(port) else { continue };
            for (component, held) in run.sections.keys() {
                if let (Some(lock), Some(lanes)) = (locks.get_mut(*component), threads.get_mut(*component)) {
                    lock.users.push((port, held.clone()));
                    lock.ceiling = lock.ceiling.max(self.priority(lane));
                    lanes.insert(lane);
                }
            }
        }
        for (lock, lanes) in locks.iter_mut().zip(&threads) {
            let lanes = || lanes.iter().filter_map(|lane| self.system.lanes.get(*lane));
            let cores: BTreeSet<(usize, usize)> =
                lanes().flat_map(|lane| lane.threads.iter().map(|core| (lane.host, *core))).collect();
            lock.contended = lanes().map(|lane| lane.threads.len()).sum::<usize>() > 1;
            lock.global = cores.len() > 1;
        }
        // A thread that waits for a lock while it holds others has the priorities of the threads that wait for these.
        loop {
            let mut changed = false;
            for index in 0..locks.len() {
                let inherited = locks[index].users.iter().flat_map(|(_, held)| held);
                let inherited =
                    inherited.filter_map(|held| Some(locks.get(*held)?.ceiling)).max().unwrap_or(0);
                self.work.step()?;
                if inherited > locks[index].ceiling {
                    locks[index].ceiling = inherited;
                    changed = true;
                }
            }
            if !changed {
                return Ok(locks);
            }
        }
    }

    fn switch_of(&self, port: usize) -> Time {
        self.host_of(port).map_or(0, |host| host.switch)
    }

    /// The time of a delivery, with the waits of its thread for locks, if the thread has at least this priority.
    pub(crate) fn cost(&self, port: usize) -> Bound {
        let (Some(run), Some(host), Some((lane, it))) =
            (self.runs.get(port), self.host_of(port), self.lane_of(port))
        else {
            return Ok(0);
        };
        let changes = if it.threads.len() > 1 { CHANGES_OF_SEVERAL } else { CHANGES };
        let fixed = add(host.dispatch, mul(changes, host.switch)?)?;
        add(add(run.most, fixed)?, self.acquiring(&run.acquired, self.priority(lane), lane, port)?)
    }

    /// Its processor time, without waiting.
    pub(crate) fn processor_time(&self, port: usize) -> Bound {
        let (Some(run), Some(host)) = (self.runs.get(port), self.host_of(port)) else { return Ok(0) };
        let locks: u64 = run.acquired.values().fold(0, |sum, count| sum.saturating_add(*count));
        let changes = add(CHANGES_OF_SEVERAL, mul(CHANGES_OF_LOCK, locks)?)?;
        add(run.most, add(host.dispatch, mul(changes, host.switch)?)?)
    }

    /// The time to acquire these locks so often.
    fn acquiring(&self, locks: &BTreeMap<usize, u64>, priority: u8, lane: usize, port: usize) -> Bound {
        let wake = self.host_of(port).map_or(0, |host| host.wake);
        let mut sum = 0;
        for (component, count) in locks {
            let Some(lock) = self.locks.get(*component).filter(|lock| lock.contended) else { continue };
            let mut each = add(wake, mul(CHANGES_OF_LOCK, self.switch_of(port))?)?;
            if lock.global {
                each = add(each, self.wait(*component, priority, lane)?)?;
            }
            sum = add(sum, mul(*count, each)?)?;
        }
        Ok(sum)
    }

    /// The time for which a lock is held, from its acquisition to its release, with at least this priority.
    pub(crate) fn section_cost(&self, port: usize, section: &Section, priority: u8) -> Bound {
        let Some((lane, _)) = self.lane_of(port) else { return Ok(0) };
        let priority = priority.max(self.priority(lane));
        let changes = mul(CHANGES, self.switch_of(port))?;
        add(add(section.most, changes)?, self.acquiring(&section.nested, priority, lane, port)?)
    }

    /// The processor time for which a lock is held.
    pub(crate) fn section_time(&self, port: usize, section: &Section) -> Bound {
        let nested = section.nested.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let changes = add(CHANGES, mul(CHANGES_OF_LOCK, nested)?)?;
        add(section.most, mul(changes, self.switch_of(port))?)
    }

    /// How often these acquisitions can leave the core to others with less priority.
    pub(crate) fn suspensions(&self, locks: &BTreeMap<usize, u64>, wake: Time) -> u64 {
        let suspends = |component: &usize| {
            self.locks.get(*component).is_some_and(|lock| lock.contended && (lock.global || wake > 0))
        };
        locks
            .iter()
            .filter(|(component, _)| suspends(component))
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// How often it acquires what others use, too.
    pub(crate) fn contentions(&self, run: &Run) -> u64 {
        let contended = |component: &usize| self.locks.get(*component).is_some_and(|lock| lock.contended);
        let counts = run.acquired.iter().filter(|(component, _)| contended(component));
        counts.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// How long a thread of a lane waits for a lock, as far as known.
    fn wait(&self, component: usize, priority: u8, lane: usize) -> Bound {
        let key = (component, priority, lane);
        if let Some(wait) = self.waits.borrow().get(&key) {
            return *wait;
        }
        self.asked.set(true);
        self.waits.borrow_mut().insert(key, Ok(0));
        Ok(0)
    }

    /// Computes all waits that were asked for anew. Returns whether one is longer.
    pub(crate) fn lengthen_waits(&self) -> Result<bool, Reason> {
        let keys: Vec<(usize, u8, usize)> = self.waits.borrow().keys().copied().collect();
        let mut longer = false;
        for (component, priority, lane) in keys {
            let known = self.waits.borrow().get(&(component, priority, lane)).copied().unwrap_or(Ok(0));
            let Ok(known) = known else { continue };
            let now = match self.longest_wait(component, priority, lane, known) {
                Err(Reason::Steps) => return Err(Reason::Steps),
                now => now,
            };
            if now != Ok(known) {
                self.waits.borrow_mut().insert((component, priority, lane), now);
                longer = true;
            }
        }
        Ok(longer)
    }

    /// First the thread that holds the lock, then those that get it before.
    fn longest_wait(&self, component: usize, priority: u8, lane: usize, known: Time) -> Bound {
        let Some(lock) = self.locks.get(component) else { return Ok(0) };
        let alone = self.system.lanes.get(lane).is_some_and(|lane| lane.threads.len() == 1);
        let (mut holder, mut equal) = (0, BTreeMap::new());
        let mut before = Vec::new();
        for (port, held) in &lock.users {
            let Some((of, other)) = self.lane_of(*port) else { continue };
            if of == lane && alone {
                continue;
            }
            let Some(section) =
                self.runs.get(*port).and_then(|run| run.sections.get(&(component, held.clone())))
            else {
                continue;
            };
            let hold = self.hold(*port, section, priority, alone.then_some(lane))?;
            let inherited =
                held.iter().filter_map(|held| Some(self.locks.get(*held)?.ceiling)).max().unwrap_or(0);
            let effective = inherited.max(self.priority(of));
            // The holder at the beginning of the wait is among those that come before, if its priority is no less.
            if effective > priority {
                before.push((*port, hold));
            } else if effective == priority {
                // Each thread that waits longer gets it once before.
                let threads = u64::try_from(other.threads.len()).map_err(|_| Reason::Overflow)?;
                let most = equal.entry(of).or_insert(0);
                *most = mul(threads, hold)?.max(*most);
            } else {
                holder = holder.max(hold);
            }
        }
        let mut fixed = holder;
        for hold in equal.values() {
            fixed = add(fixed, *hold)?;
        }
        let mut wait = known.max(fixed);
        loop {
            let mut next = fixed;
            for (port, hold) in &before {
                let finish = self.finish.get(*port).copied().unwrap_or(Ok(0))?;
                let runs = self.arrivals(*port, add(wait, finish)?)?.most;
                let locks =
                    self.runs.get(*port).and_then(|run| run.acquired.get(&component)).copied().unwrap_or(0);
                next = add(next, mul(mul(runs, locks)?, *hold)?)?;
            }
            if next <= wait {
                return Ok(wait);
            }
            if next > self.limits.horizon {
                return Err(Reason::Overload { lane });
            }
            wait = next;
        }
    }

    /// The longest time for which a run holds a lock that a thread of this priority waits for: the holder may have to wake, runs with
    /// that priority, and is delayed by what its core runs with as much.
    fn hold(&self, port: usize, section: &Section, priority: u8, waiting: Option<usize>) -> Bound {
        let Some((lane, it)) = self.lane_of(port) else { return Ok(0) };
        let priority = priority.max(self.priority(lane)).min(DEADLINE);
        let wake = self.host_of(port).map_or(0, |host| host.wake);
        let cost = add(self.section_cost(port, section, priority)?, wake)?;
        // Other lanes of its core can hold more locks after each of its own waits, and at both ends.
        let nested = section.nested.values().fold(2_u64, |sum, count| sum.saturating_add(*count));
        let mut most = 0;
        for core in it.threads.iter().collect::<BTreeSet<_>>() {
            let window = Window {
                host: it.host,
                cores: alloc::vec![*core],
                priority,
                without: [(it.threads.len() == 1).then_some(lane), waiting],
                aligned: false,
                rounds: nested,
                lane,
            };
            let ahead = Ahead { fixed: cost, suspensions: 0 };
            most = most.max(self.close(&window, |_| Ok(ahead), cost)?.0);
        }
        Ok(most)
    }
}

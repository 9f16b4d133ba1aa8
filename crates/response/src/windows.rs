//! Busy windows of lanes: for each port the longest time from a delivery's arrival to the end of its run.
//!
//! A delivery that comes `after` the start of a window ends when the window has room for all deliveries of its lane that are
//! before it, itself, and what delays them. It is examined for each `after` at which more can be before it; the first need not
//! be the one that is delayed most.
use alloc::vec::Vec;

use crate::cores::{Ahead, Parts, Window};
use crate::model::Model;
use crate::system::{Order, Scheduling, Time};
use crate::work::{Reason, add, mul};

/// A port of a lane, with what does not vary in a sweep.
struct Own {
    port: usize,
    cost: Time,
    /// How often a run lets lower threads get locks anew.
    rounds: u64,
    deadline: Time,
}

impl Model<'_> {
    /// Grows all bounds until none is refuted. `Err` if the steps are used up.
    pub(crate) fn settle(&mut self) -> Result<(), Reason> {
        let mut lanes: Vec<usize> = (0..self.system.lanes.len()).collect();
        lanes.sort_by_key(|lane| core::cmp::Reverse(self.priority(*lane)));
        loop {
            self.asked.set(false);
            let mut changed = self.throttle()?;
            for lane in &lanes {
                changed |= self.settle_lane(*lane)?;
            }
            changed |= self.lengthen_waits()?;
            if !changed && !self.asked.get() {
                return Ok(());
            }
        }
    }

    fn settle_lane(&mut self, lane: usize) -> Result<bool, Reason> {
        let mut changed = false;
        for port in self.served.get(lane).cloned().unwrap_or_default() {
            let known = self.finish.get(port).copied().unwrap_or(Ok(0));
            let Ok(known) = known else { continue };
            let now = match self.longest(lane, port) {
                Err(Reason::Steps) => return Err(Reason::Steps),
                Err(reason) => Err(reason),
                // A known bound does not shrink.
                Ok((time, _)) if time <= known && known > 0 => continue,
                Ok((time, parts)) => {
                    if let Some(known) = self.parts.get_mut(port) {
                        *known = parts;
                    }
                    if time > self.limits.horizon { Err(Reason::Overload { lane }) } else { Ok(time) }
                }
            };
            if let Some(finish) = self.finish.get_mut(port)
                && *finish != now
            {
                *finish = now;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// The longest time from arrival to end of a port's deliveries, and its parts.
    fn longest(&self, lane: usize, port: usize) -> Result<(Time, Parts), Reason> {
        let (Some(it), Some(window)) = (self.system.lanes.get(lane), self.window_of(lane)) else {
            return Ok((0, Parts::default()));
        };
        match it.scheduling {
            Scheduling::Other => return Err(Reason::Host { port }),
            Scheduling::Deadline { .. } if it.threads.len() > 1 => {
                return Err(Reason::DeadlineThreads { lane });
            }
            Scheduling::Deadline { .. } | Scheduling::Fifo(_) => {}
        }
        let nested = self.nested_waits(&window)?;
        let mut owns = Vec::new();
        for own in self.served.get(lane).into_iter().flatten() {
            let deadline = match it.order {
                Order::Fifo => 0,
                Order::EarliestDeadline => {
                    self.system.ports.get(*own).and_then(|port| port.deadline).unwrap_or(0)
                }
            };
            let rounds = self.rounds_of(*own, nested);
            owns.push(Own { port: *own, cost: self.cost(*own)?, rounds, deadline });
        }
        let search = Search { model: self, window, owns: &owns, lag: self.lag(lane)? };
        search.port(port)
    }
}

struct Search<'m, 's> {
    model: &'m Model<'s>,
    window: Window,
    owns: &'m [Own],
    /// How long before the window a delivery of the lane may have come.
    lag: Time,
}

impl Search<'_, '_> {
    fn port(&self, port: usize) -> Result<(Time, Parts), Reason> {
        let model = self.model;
        let Some(own) = self.owns.iter().find(|own| own.port == port) else {
            return Ok((0, Parts::default()));
        };
        // Others may enter before it while a stall holds up its interrupt.
        let held = if model.interrupted(port) { model.stall_of(port)? } else { 0 };
        let blocker = self.owns.iter().filter(|it| it.deadline > own.deadline);
        let blocker = blocker
            .map(|it| (it.cost, it.rounds))
            .fold((0, 0), |(cost, rounds), it| (it.0.max(cost), it.1.max(rounds)));
        let (end, mut parts) = self.end(held, blocker)?;
        let late = model.lateness(port)?;
        if self.mixes() {
            parts.own = own.cost;
            parts.lane = parts.lane.saturating_sub(own.cost);
            (parts.wake, parts.late) = (self.lag, late);
            return Ok((add(add(end, self.lag)?, late)?, parts));
        }
        let (mut worst, mut worst_parts) = (0, Parts::default());
        let (mut after, mut from) = (0, 0);
        loop {
            let (ahead, next) = self.ahead(own, add(after, held)?, blocker)?;
            let (finish, mut parts) = model.close(&self.window, |_| Ok(ahead), from)?;
            from = finish;
            let response = add(finish, self.lag)?.saturating_sub(after);
            let response = response.max(own.cost);
            if response >= worst {
                worst = response;
                // Time before the delivery came is not counted, first that of its lane.
                parts.wake = self.lag;
                parts.own = own.cost;
                parts.lane = parts.lane.saturating_sub(own.cost);
                let mut passed = after;
                for part in [
                    &mut parts.lane,
                    &mut parts.higher,
                    &mut parts.blocking,
                    &mut parts.deadline,
                    &mut parts.budget,
                ] {
                    let taken = passed.min(*part);
                    *part -= taken;
                    passed -= taken;
                }
                for part in [&mut parts.stalls, &mut parts.throttling, &mut parts.wake] {
                    let taken = passed.min(*part);
                    *part -= taken;
                    passed -= taken;
                }
                parts.late = late;
                worst_parts = parts;
            }
            let next = next.saturating_sub(held).max(after.saturating_add(1));
            if next > add(end, self.lag)? {
                return Ok((add(worst, late)?, worst_parts));
            }
            after = next;
        }
    }

    /// The longest busy window of the lane.
    fn end(&self, held: Time, blocker: (Time, u64)) -> Result<(Time, Parts), Reason> {
        let model = self.model;
        let all = |length: Time| {
            let mut ahead = Ahead { fixed: blocker.0, suspensions: blocker.1 };
            for own in self.owns {
                let runs = model.arrivals(own.port, add(add(length, self.lag)?, held)?)?.most;
                ahead.fixed = add(ahead.fixed, mul(runs, own.cost)?)?;
                ahead.suspensions = add(ahead.suspensions, mul(runs, own.rounds)?)?;
            }
            Ok(ahead)
        };
        model.close(&self.window, all, 0)
    }

    /// Whether later deliveries of the lane can run before an earlier one has ended: a thread that waits for a lock leaves the core to
    /// another thread of its lane.
    fn mixes(&self) -> bool {
        let model = self.model;
        let contends = |own: &Own| model.runs.get(own.port).is_some_and(|run| model.contentions(run) > 0);
        let on_core =
            self.window.cores.iter().filter_map(|core| model.on_core.get(&(self.window.host, *core)));
        let several = on_core.flatten().any(|(lane, threads)| *lane == self.window.lane && *threads > 1);
        several && self.owns.iter().any(contends)
    }

    /// What is before a delivery that enters `after` the earliest that belongs to the window, and itself; and when that can be more.
    fn ahead(&self, own: &Own, after: Time, blocker: (Time, u64)) -> Result<(Ahead, Time), Reason> {
        let mut ahead = Ahead { fixed: blocker.0, suspensions: blocker.1 };
        let mut next = u64::MAX;
        for other in self.owns {
            // With the earliest deadline first, those whose deadline is not later.
            let until = add(after, own.deadline)?;
            if until < other.deadline {
                next = next.min(other.deadline.saturating_sub(own.deadline));
                continue;
            }
            let count = self.model.arrivals(other.port, until - other.deadline)?;
            ahead.fixed = add(ahead.fixed, mul(count.most, other.cost)?)?;
            ahead.suspensions = add(ahead.suspensions, mul(count.most, other.rounds)?)?;
            if count.next < u64::MAX {
                next = next.min(count.next.saturating_add(other.deadline).saturating_sub(own.deadline));
            }
        }
        Ok((ahead, next))
    }
}

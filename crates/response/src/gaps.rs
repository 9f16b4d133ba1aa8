//! How long nothing comes at most: the longest distance between runs of a port or pushes over a connection. And what queues hold.
//!
//! A distance `g` says: from an instant on, the next event comes within `g`. It is known only where pushes are certain and nothing is
//! lost. A run begins with nothing under way, so the first event may come later than the next one does once there was one: what a
//! handler does before its push, the interval of a *let* port and the least time of a transfer pass first.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::analysis::Stream;
use crate::model::Model;
use crate::system::{Full, Keep, Port, SourceKind, Target, Time};
use crate::work::{Bound, Reason, add, skew};

/// From which instants a distance holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Since {
    /// From all, also before anything has come.
    Begin,
    /// From those at or after which something has come the same way.
    First,
}

impl Since {
    /// What is known of each of so many ways on which something can have come.
    fn of_ways(self, ways: usize) -> Self {
        if ways == 1 { self } else { Self::Begin }
    }
}

/// Distances that were computed.
#[derive(Default)]
pub(crate) struct Gaps {
    ports: BTreeMap<(usize, Since), Bound>,
}

impl Model<'_> {
    /// The bound of the backlog of a port's queue (B7).
    pub(crate) fn backlog(&self, port: usize) -> Result<u64, Reason> {
        let finish = self.finish.get(port).copied().unwrap_or(Ok(0))?;
        let least = self.runs.get(port).map_or(0, |run| run.least);
        // It was taken before its steps began.
        let waits = finish.saturating_sub(add(self.lateness(port)?, least)?);
        let most = self.arrivals(port, waits)?.most;
        // While the queue of a join is full, it refuses parts: each may be one that finds no room.
        let refuses = |it: &Port| it.join.is_some() && it.policy == Full::Reject && most >= it.depth;
        Ok(most.saturating_add(u64::from(self.system.ports.get(port).is_some_and(refuses))))
    }

    /// `Err` if the queue of a port may be full.
    pub(crate) fn roomy(&self, port: usize) -> Result<(), Reason> {
        let depth = self.system.ports.get(port).map_or(0, |port| port.depth);
        if self.backlog(port)? <= depth { Ok(()) } else { Err(Reason::Backlog { port }) }
    }

    /// `Err` if what is pushed over a connection may be lost for lack of room, be it in a queue that refuses for all of the host (D5).
    pub(crate) fn lossless(&self, index: usize) -> Result<(), Reason> {
        let Some(connection) = self.system.connections.get(index) else { return Ok(()) };
        let queue = |target: Target| match target {
            Target::Queue(port) | Target::Part { port, .. } => Some(port),
            Target::Direct(_) | Target::Register(_) => None,
        };
        if let Some(port) = queue(connection.target) {
            self.roomy(port)?;
        }
        if connection.transfer.is_some() || matches!(connection.target, Target::Direct(_)) {
            return Ok(());
        }
        for other in self.by_output.get(&connection.output).into_iter().flatten() {
            let Some(other) = self.system.connections.get(*other).filter(|other| other.transfer.is_none())
            else {
                continue;
            };
            if let Some(port) = queue(other.target)
                && self.system.ports.get(port).is_some_and(|port| port.policy == Full::Reject)
            {
                self.roomy(port)?;
            }
        }
        Ok(())
    }

    /// A period of the clock of a port's host in true time, at most.
    pub(crate) fn longest_period(&self, period: Time, port: usize) -> Bound {
        add(period, skew(period, self.host_of(port).map_or(0, |host| host.drift))?)
    }

    /// What a skipped instant of a timer waits beyond a later one: until the delivery that waits is taken, and until the next
    /// instant (S2). 0 if none is skipped.
    pub(crate) fn skipped(&self, port: usize, period: Time) -> Bound {
        let finish = self.finish.get(port).copied().unwrap_or(Ok(0))?;
        let shortest = self.shortest(period, port)?;
        if finish < shortest {
            return Ok(0);
        }
        Ok(add(finish, self.longest_period(period, port)?)?.saturating_sub(shortest))
    }

    /// Until a run is called for that will be.
    pub(crate) fn gap(&self, port: usize, since: Since, gaps: &mut Gaps) -> Bound {
        if let Some(gap) = gaps.ports.get(&(port, since)) {
            return *gap;
        }
        self.work.step()?;
        let gap = self.find_gap(port, since, gaps);
        gaps.ports.insert((port, since), gap);
        gap
    }

    fn find_gap(&self, port: usize, since: Since, gaps: &mut Gaps) -> Bound {
        let (Some(it), Some(links)) = (self.system.ports.get(port), self.links.get(port)) else {
            return Err(Reason::NeverComes { port });
        };
        if it.lane.is_none() {
            let mut least = Err(Reason::NeverComes { port });
            let callers = self.callers.get(port).map(Vec::as_slice).unwrap_or_default();
            let since = since.of_ways(callers.len());
            for (root, push) in callers.iter().filter(|(_, push)| push.certain) {
                let before = if since == Since::First { push.before } else { 0 };
                let varies = self.response(*root)?.saturating_sub(before);
                least = lesser(least, self.gap(*root, since, gaps).and_then(|gap| add(gap, varies)));
            }
            return least;
        }
        self.roomy(port)?;
        if !links.parts.is_empty() {
            let gap = self.longest_of_parts(port, None, since, gaps)?;
            // The first event may have to wait for a part that has not come yet.
            let whole = self.longest_of_parts(port, None, Since::Begin, gaps)?;
            let gives_up = it.join.and_then(|join| join.within).is_some_and(|within| within <= whole);
            return if gives_up { Err(Reason::GivesUp { port }) } else { Ok(gap) };
        }
        let mut least = Err(Reason::NeverComes { port });
        for source in &links.sources {
            least = lesser(least, self.source_gap(*source));
        }
        let since = since.of_ways(links.sources.len() + links.queued.len());
        for connection in &links.queued {
            least = lesser(least, self.connection_gap(*connection, since, gaps));
        }
        least
    }

    fn source_gap(&self, index: usize) -> Bound {
        let Some(source) = self.system.sources.get(index) else { return Err(Reason::Overflow) };
        match source.kind {
            // Instants have been due for long when a run begins, with a phase, too.
            SourceKind::Timer { period, .. } => {
                let longest = self.longest_period(period, source.port)?;
                let finish = self.finish.get(source.port).copied().unwrap_or(Ok(0))?;
                let skips = self.skipped(source.port, period)? > 0;
                add(longest, if skips { finish } else { 0 })
            }
            SourceKind::Periodic { period, jitter, .. } => add(period, jitter),
            SourceKind::Sporadic { .. } => Err(Reason::NeverComes { port: source.port }),
        }
    }

    /// The longest distance of any part of a join, besides one.
    pub(crate) fn longest_of_parts(
        &self,
        port: usize,
        besides: Option<usize>,
        since: Since,
        gaps: &mut Gaps,
    ) -> Bound {
        let mut longest = 0;
        for part in self.links.get(port).into_iter().flat_map(|links| &links.parts) {
            if Some(*part) != besides {
                longest = longest.max(self.connection_gap(*part, since, gaps)?);
            }
        }
        Ok(longest)
    }

    /// Until something enters what a connection leads to.
    pub(crate) fn connection_gap(&self, index: usize, since: Since, gaps: &mut Gaps) -> Bound {
        let (Some(connection), Some(pushers)) = (self.system.connections.get(index), self.pushers.get(index))
        else {
            return Err(Reason::Overflow);
        };
        let port = connection.port(&self.system.registers).unwrap_or(0);
        self.lossless(index)?;
        let mut least = Err(Reason::NeverComes { port });
        let since = since.of_ways(pushers.len());
        for (root, push) in pushers.iter().filter(|(_, push)| push.certain) {
            let gap = self.gap(*root, since, gaps).and_then(|gap| {
                let before = if since == Since::First { self.least_before(*root, push)? } else { 0 };
                add(gap, self.response(*root)?.saturating_sub(before))
            });
            least = lesser(least, gap);
        }
        let Some(transfer) = connection.transfer else { return least };
        let before = if since == Since::First { transfer.least } else { 0 };
        add(least?, add(transfer.most.saturating_sub(before), self.stall_of(port)?)?)
    }

    /// The stream of events over a connection: those of one source, which come through handlers that push once at most and that nothing else
    /// calls.
    pub(crate) fn stream(&self, index: usize) -> Option<Stream> {
        let [(root, push)] = self.pushers.get(index)?.as_slice() else { return None };
        let links = self.links.get(*root)?;
        if push.count != 1 || !links.parts.is_empty() {
            return None;
        }
        let (period, late) = match (links.sources.as_slice(), links.queued.as_slice()) {
            ([source], []) => match self.system.sources.get(*source)?.kind {
                // The response counts from the instant at which it is due.
                SourceKind::Timer { period, .. } => (period, Ok(0)),
                SourceKind::Periodic { period, jitter, .. } => (period, Ok(jitter)),
                SourceKind::Sporadic { separation } => (separation, Ok(0)),
            },
            ([], [connection]) => {
                self.work.step().ok()?;
                let before = self.stream(*connection)?;
                let transfer = self.system.connections.get(*connection)?.transfer;
                let varies = transfer.map_or(0, |it| it.most.saturating_sub(it.least));
                (before.period, before.jitter.and_then(|jitter| add(jitter, varies)))
            }
            _ => return None,
        };
        let varies = || Ok(self.response(*root)?.saturating_sub(self.least_before(*root, push)?));
        let jitter = late.and_then(|late| add(late, varies()?));
        Some(Stream { period, jitter })
    }

    /// `Err` if a part of a join that keeps several may have to refuse some in this time.
    pub(crate) fn kept(&self, port: usize, connection: usize, time: Time) -> Result<(), Reason> {
        let keep = self.system.ports.get(port).and_then(|port| port.join).map(|join| join.keep);
        let Some(Keep::All(most)) = keep else { return Ok(()) };
        let time = add(time, self.stall_of(port)?)?;
        if self.pushed(connection, time)?.most <= most { Ok(()) } else { Err(Reason::Displaced { port }) }
    }
}

fn lesser(a: Bound, b: Bound) -> Bound {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(a.min(b)),
        (Ok(a), Err(_)) => Ok(a),
        (Err(_), b) => b,
    }
}

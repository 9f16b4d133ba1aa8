//! How many events can come: most arrivals in a closed window, and the next length of the window at which there can be more.
use crate::model::Model;
use crate::runs::Push;
use crate::system::{SourceKind, Target, Time};
use crate::work::{Reason, add, fit, mul, skew};

/// Arrivals in a closed window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    /// Most of them.
    pub(crate) most: u64,
    /// No shorter window, but longer than the one that was asked for, has more.
    pub(crate) next: Time,
}

impl Count {
    const NONE: Self = Self { most: 0, next: u64::MAX };

    /// Events that are `distance` apart and vary by `jitter`.
    fn apart(window: Time, jitter: Time, distance: Time) -> Result<Self, Reason> {
        let most = fit(window, jitter, distance)?;
        Ok(Self { most, next: most.checked_mul(distance).map_or(u64::MAX, |end| end.saturating_sub(jitter)) })
    }

    fn sum(self, other: Self) -> Result<Self, Reason> {
        Ok(Self { most: add(self.most, other.most)?, next: self.next.min(other.next) })
    }

    /// The lesser of both bounds.
    fn and(self, other: Self) -> Self {
        Self { most: self.most.min(other.most), next: self.next.min(other.next) }
    }

    fn times(self, count: u64) -> Result<Self, Reason> {
        Ok(Self { most: mul(self.most, count)?, next: self.next })
    }

    /// The same for the window that was longer by so much.
    fn before(self, jitter: Time) -> Self {
        Self {
            most: self.most,
            next: if self.next == u64::MAX { u64::MAX } else { self.next.saturating_sub(jitter) },
        }
    }
}

impl Model<'_> {
    /// Deliveries that come for a port in a closed window, by the instants from which its response counts, but fired timers by when
    /// they fire.
    pub(crate) fn arrivals(&self, port: usize, window: Time) -> Result<Count, Reason> {
        self.work.step()?;
        let Some(links) = self.links.get(port) else { return Ok(Count::NONE) };
        if !links.parts.is_empty() {
            return self.joined(port, window);
        }
        let mut count = Count::NONE;
        for source in &links.sources {
            count = count.sum(self.fired(*source, window)?)?;
        }
        for connection in &links.queued {
            count = count.sum(self.pushed(*connection, window)?)?;
        }
        Ok(count)
    }

    /// Between two deliveries of a join each part gets an event, and some part gets one at each delivery.
    fn joined(&self, port: usize, window: Time) -> Result<Count, Reason> {
        let Some(links) = self.links.get(port) else { return Ok(Count::NONE) };
        // The part that came last by its arrival need not be the one that entered last, if stalls hold up interrupts.
        let held = if links.interrupts { mul(2, self.stall_of(port)?)? } else { 0 };
        let longer = add(window, held)?;
        let (mut least, mut greatest, mut next) = (u64::MAX, 0, u64::MAX);
        let mut unknown = None;
        for part in &links.parts {
            let most = match self.pushed(*part, longer) {
                Ok(count) => {
                    next = next.min(count.next);
                    count.most
                }
                Err(Reason::Steps) => return Err(Reason::Steps),
                Err(reason) => {
                    unknown = Some(reason);
                    u64::MAX
                }
            };
            greatest = greatest.max(most);
            least = least.min(most);
        }
        // One more than the part with the least, and only if another part has that many.
        let most = greatest.min(least.saturating_add(1));
        match unknown {
            Some(reason) if least == u64::MAX => Err(reason),
            _ => Ok(Count { most, next }.before(held)),
        }
    }

    /// Events of a source, timers by when they fire.
    pub(crate) fn fired(&self, source: usize, window: Time) -> Result<Count, Reason> {
        let Some(source) = self.system.sources.get(source) else { return Ok(Count::NONE) };
        match source.kind {
            SourceKind::Timer { period, jitter, .. } => {
                let host = self.host_of(source.port);
                let late = add(host.map_or(0, |host| host.slack), jitter)?;
                Count::apart(window, late, self.shortest(period, source.port)?)
            }
            SourceKind::Periodic { period, jitter, gap } => {
                let count = Count::apart(window, jitter, period)?;
                if gap > 0 { Ok(count.and(Count::apart(window, 0, gap)?)) } else { Ok(count) }
            }
            SourceKind::Sporadic { separation } => Count::apart(window, 0, separation),
        }
    }

    /// A period of the clock of a port's host in true time, at least.
    pub(crate) fn shortest(&self, period: Time, port: usize) -> Result<Time, Reason> {
        let drift = self.host_of(port).map_or(0, |host| host.drift);
        period.checked_sub(skew(period, drift)?).ok_or(Reason::Overflow)
    }

    /// The events that come over a connection.
    pub(crate) fn pushed(&self, index: usize, window: Time) -> Result<Count, Reason> {
        self.work.step()?;
        let (Some(connection), Some(pushers)) = (self.system.connections.get(index), self.pushers.get(index))
        else {
            return Ok(Count::NONE);
        };
        debug_assert!(!matches!(connection.target, Target::Direct(_)), "calls are parts of runs");
        let varies = connection.transfer.map_or(0, |transfer| transfer.most.saturating_sub(transfer.least));
        let window = add(window, varies)?;
        let mut count = Count::NONE;
        for (root, push) in pushers {
            let runs = self.pushing_runs(*root, push, window)?;
            count = count.sum(runs.times(push.count)?)?;
        }
        Ok(count.before(varies))
    }

    /// Runs of which a push lies in a closed window.
    fn pushing_runs(&self, root: usize, push: &Push, window: Time) -> Result<Count, Reason> {
        let Some(port) = self.system.ports.get(root) else { return Ok(Count::NONE) };
        if let Some(interval) = port.interval {
            return self.published(root, interval, window);
        }
        let finish = self.finish.get(root).copied().unwrap_or(Ok(0));
        let counted = finish.and_then(|finish| {
            let varies = finish.saturating_sub(push.before);
            Ok(self.arrivals(root, add(window, varies)?)?.before(varies))
        });
        // The runs of a port come one after the other. If each pushes more than once, the last push of one can be next to the first of
        // the next.
        let least = self.runs.get(root).map_or(0, |run| run.least);
        let beside = if push.count > 1 { least } else { 0 };
        let apart = least > 0 && !self.overtakes(root);
        let apart = if apart { Some(Count::apart(window, beside, least)?) } else { None };
        match (counted, apart) {
            (Err(Reason::Steps), _) => Err(Reason::Steps),
            (Ok(counted), Some(apart)) => Ok(counted.and(apart)),
            (Err(_), Some(apart)) => Ok(apart),
            (counted, None) => counted,
        }
    }

    /// Publications of a *let* port (T1).
    fn published(&self, port: usize, interval: Time, window: Time) -> Result<Count, Reason> {
        self.response(port)?;
        let (Some(host), Some(links)) = (self.host_of(port), self.links.get(port)) else {
            return Ok(Count::NONE);
        };
        let varies = add(host.slack, mul(2, skew(interval, host.drift)?)?)?;
        let varies = add(varies, self.stall_of(port)?)?;
        let window = add(window, varies)?;
        let mut count = Count::NONE;
        for source in &links.sources {
            if let Some(SourceKind::Timer { period, .. }) =
                self.system.sources.get(*source).map(|source| source.kind)
            {
                count = count.sum(Count::apart(window, 0, self.shortest(period, port)?)?)?;
            }
        }
        Ok(count.before(varies))
    }
}

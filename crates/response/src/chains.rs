//! Bounds of chains: reaction and data age, hop by hop (B1 to B5); and of connections, which are one hop (B9).
//!
//! Up to the end of each run on the path an event of the chain has been under way for at most the sum so far; to that comes what the
//! way to the next port adds.
use alloc::vec::Vec;

use crate::cores::Cause;
use crate::gaps::{Gaps, Since};
use crate::model::Model;
use crate::system::{Chain, Connection, Keep, SourceKind, Target, Time};
use crate::work::{Bound, Reason, add, mul};

/// A part of a bound: how much of it comes from what at which port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The port.
    pub port: usize,
    /// The cause.
    pub cause: Cause,
    /// How much it is, in nanoseconds.
    pub time: Time,
}

/// The kind of bound of a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Reaction,
    Age,
}

/// A chain while it is followed.
struct Follow<'m, 's> {
    model: &'m Model<'s>,
    gaps: &'m mut Gaps,
    ask: Ask,
    shares: Vec<Share>,
    /// The last port that was reached.
    port: usize,
    /// Whether only runs with an event of the chain push what the chain passes.
    pure: bool,
    /// Whether they push in the order of events.
    ordered: bool,
}

impl Model<'_> {
    /// The bound of a chain's reaction or age, and its parts.
    pub(crate) fn chain(
        &self,
        chain: &Chain,
        ask: Ask,
        gaps: &mut Gaps,
    ) -> Result<(Time, Vec<Share>), Reason> {
        let source = self.system.sources.get(chain.source).ok_or(Reason::Overflow)?;
        let first = source.port;
        let links = self.links.get(first).ok_or(Reason::Overflow)?;
        let pure = links.sources.len() == 1 && links.queued.is_empty();
        let mut follow =
            Follow { model: self, gaps, ask, shares: Vec::new(), port: first, pure, ordered: true };
        if ask == Ask::Reaction {
            self.roomy(first)?;
            if let SourceKind::Timer { period, .. } = source.kind {
                follow.push(first, Cause::Skipped, self.skipped(first, period)?);
            }
        }
        follow.run(first)?;
        for index in &chain.connections {
            let connection = self.system.connections.get(*index).ok_or(Reason::Overflow)?;
            follow.hop(*index, connection)?;
        }
        follow.clocks(first)?;
        follow.whole()
    }

    /// The bound of a connection's latency, and its parts. Each push over it is an event, so that what it leads to has no other events.
    pub(crate) fn connection(&self, index: usize, gaps: &mut Gaps) -> Result<(Time, Vec<Share>), Reason> {
        let connection = self.system.connections.get(index).ok_or(Reason::Overflow)?;
        let port = connection.port(&self.system.registers).ok_or(Reason::Overflow)?;
        let mut follow = Follow {
            model: self,
            gaps,
            ask: Ask::Reaction,
            shares: Vec::new(),
            port,
            pure: true,
            ordered: true,
        };
        match connection.target {
            Target::Direct(_) => follow.run(port)?,
            _ => follow.arrive(index, connection)?,
        }
        // Whoever pushes is on one host: an output belongs to a component.
        let pusher = self.pushers.get(index).and_then(|pushers| pushers.first());
        if let Some((root, _)) = pusher {
            follow.clocks(*root)?;
        }
        follow.whole()
    }
}

impl Follow<'_, '_> {
    fn push(&mut self, port: usize, cause: Cause, time: Time) {
        if time > 0 {
            self.shares.push(Share { port, cause, time });
        }
    }

    /// What clocks of the hosts of two ports add to what is measured: of this one and of the last that was reached.
    fn clocks(&mut self, first: usize) -> Result<(), Reason> {
        let (from, to) = (self.model.host_index(first), self.model.host_index(self.port));
        if from != to {
            let error = |host: Option<usize>| {
                host.and_then(|host| self.model.system.hosts.get(host)).map_or(0, |host| host.error)
            };
            self.push(self.port, Cause::Clocks, add(error(from), error(to))?);
        }
        Ok(())
    }

    /// The sum of all parts, and the parts.
    fn whole(self) -> Result<(Time, Vec<Share>), Reason> {
        let total = self.shares.iter().try_fold(0, |sum, share| add(sum, share.time))?;
        Ok((total, self.shares))
    }

    /// From the arrival at a port to the end of its run.
    fn run(&mut self, port: usize) -> Result<(), Reason> {
        self.port = port;
        self.ordered &= !self.model.overtakes(port);
        let response = self.model.response(port)?;
        let parts = self.model.parts.get(port).copied().unwrap_or_default();
        let queued = self.model.system.ports.get(port).is_some_and(|port| port.lane.is_some());
        let known = if queued { parts.total()? } else { 0 };
        if queued && known <= response {
            for (cause, time) in parts.each() {
                self.push(port, cause, time);
            }
            self.push(port, Cause::Interval, response - known);
        } else {
            self.push(port, Cause::Own, response);
        }
        Ok(())
    }

    fn hop(&mut self, index: usize, connection: &Connection) -> Result<(), Reason> {
        let model = self.model;
        // Only the handler of the last port pushes to this output.
        let mut pushing = model.pushing.get(&connection.output).into_iter().flatten();
        self.pure &= pushing.all(|port| *port == self.port);
        self.arrive(index, connection)
    }

    /// From a push over a connection to the end of the run that it leads to; a direct call ends before the run that calls.
    fn arrive(&mut self, index: usize, connection: &Connection) -> Result<(), Reason> {
        let model = self.model;
        let port = connection.port(&model.system.registers).ok_or(Reason::Overflow)?;
        if self.ask == Ask::Reaction {
            model.lossless(index)?;
        }
        let (mut transfer, mut held) = (0, 0);
        if let Some(it) = connection.transfer {
            transfer = it.most;
            if !matches!(connection.target, Target::Queue(_)) {
                held = model.stall_of(port)?;
            }
        }
        self.push(port, Cause::Transfer, transfer);
        self.push(port, Cause::Stalls, held);
        let links = model.links.get(port).ok_or(Reason::Overflow)?;
        match connection.target {
            Target::Direct(_) => {
                // It ends before the run that calls it.
                self.pure &= links.direct.len() == 1;
                self.port = port;
                Ok(())
            }
            Target::Queue(_) => {
                self.pure &= links.sources.is_empty() && links.queued.len() == 1;
                self.run(port)
            }
            Target::Part { .. } => {
                let wait = self.join(index, port)?;
                self.push(port, Cause::Joining, wait);
                self.run(port)
            }
            Target::Register(register) => {
                let wait = self.sample(index, port, register)?;
                self.push(port, Cause::Sampling, wait);
                self.run(port)
            }
        }
    }

    /// How long what a join keeps of the chain waits for the other parts.
    fn join(&mut self, index: usize, port: usize) -> Bound {
        let model = self.model;
        let join = model.system.ports.get(port).and_then(|port| port.join).ok_or(Reason::Overflow)?;
        let others = model.longest_of_parts(port, Some(index), Since::Begin, self.gaps);
        if self.ask == Ask::Age {
            // Kept events are delivered, or given up in time.
            let slack = model.host_of(port).map_or(0, |host| host.slack);
            return match (others, join.within) {
                (Ok(others), None) => Ok(others),
                (Ok(others), Some(within)) => Ok(others.min(add(within, slack)?)),
                (Err(Reason::Steps), _) => Err(Reason::Steps),
                (Err(_), Some(within)) => add(within, slack),
                (Err(reason), None) => Err(reason),
            };
        }
        let others = others?;
        if let Some(within) = join.within
            && within <= model.longest_of_parts(port, None, Since::Begin, self.gaps)?
        {
            return Err(Reason::GivesUp { port });
        }
        let all_kept = matches!(join.keep, Keep::All(_)) && model.kept(port, index, others).is_ok();
        if all_kept {
            return Ok(others);
        }
        if !self.pure {
            return Err(Reason::Displaced { port });
        }
        if !self.ordered {
            return Err(Reason::Overtaken { port });
        }
        if join.keep == Keep::Last {
            return Ok(others);
        }
        // It may come too late for one delivery; a later event is in the next.
        add(mul(2, others)?, model.connection_gap(index, Since::First, self.gaps)?)
    }

    /// How long what a register holds of the chain waits until it is read, or until it is written again.
    fn sample(&mut self, index: usize, port: usize, register: usize) -> Bound {
        if self.ask == Ask::Age {
            return self.model.connection_gap(index, Since::First, self.gaps);
        }
        let writers =
            self.model.system.connections.iter().filter(|it| it.target == Target::Register(register)).count();
        if !self.pure || writers > 1 {
            return Err(Reason::Displaced { port });
        }
        if !self.ordered {
            return Err(Reason::Overtaken { port });
        }
        self.model.gap(port, Since::Begin, self.gaps)
    }
}

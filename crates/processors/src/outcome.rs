//! The result of a run: the worst reactions, ages, responses, backlogs and latencies, and those above a claim.
use alloc::vec;
use alloc::vec::Vec;

use crate::system::System;

/// The goal of an attack, and the subject of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The reaction of a chain (B4).
    Reaction(usize),
    /// The data age of a chain (B5).
    Age(usize),
    /// The response of a port (B6).
    Response(usize),
    /// The backlog of a port (B7).
    Backlog(usize),
    /// Overruns of a port in logical execution time (T1).
    Overruns(usize),
    /// The latency of a connection (B9).
    Latency(usize),
}

/// Claimed bounds, to be refuted; `None`, also behind the end of a list, where nothing is claimed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Claims {
    /// For each chain: its reaction in nanoseconds.
    pub reaction: Vec<Option<u64>>,
    /// For each chain: its data age in nanoseconds.
    pub age: Vec<Option<u64>>,
    /// For each port: its response in nanoseconds. For a port in logical execution time this also claims that there is no overrun.
    pub response: Vec<Option<u64>>,
    /// For each port: its backlog.
    pub backlog: Vec<Option<u64>>,
    /// For each connection: its latency in nanoseconds. This also claims that no event on its way to a queue is lost.
    pub latency: Vec<Option<u64>>,
}

/// The worst that was seen of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// The value: nanoseconds, or deliveries of a backlog.
    pub value: u64,
    /// When it began: the event, the call.
    pub from: u64,
    /// When it was known.
    pub until: u64,
    /// How many values there were.
    pub count: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, value: u64, from: u64, until: u64) {
        self.count += 1;
        if value > self.value || self.count == 1 {
            (self.value, self.from, self.until) = (value, from, until);
        }
    }

    fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if other.value > self.value || self.count == 0 {
            *self = *other;
        }
        self.count = count;
    }
}

/// Something above its claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exceedance {
    /// What.
    pub what: Goal,
    /// The observed value.
    pub seen: Seen,
    /// The claimed bound.
    pub claimed: u64,
}

/// The worst of one run, or of several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// For each chain: reactions, also of events that were not answered when the run ended, up to that instant.
    pub reaction: Vec<Seen>,
    /// For each chain: ages.
    pub age: Vec<Seen>,
    /// For each port: responses.
    pub response: Vec<Seen>,
    /// For each port: backlogs.
    pub backlog: Vec<Seen>,
    /// For each connection: latencies, also of events that were not handled when the run ended, up to that instant; `u64::MAX` for one that
    /// its queue lost.
    pub latency: Vec<Seen>,
    /// For each port: deliveries lost at its full queue by drop, coalesce or reject.
    pub lost: Vec<u64>,
    /// For each port: deliveries at its full queue for which a publisher would wait.
    pub would_block: Vec<u64>,
    /// For each port: overruns.
    pub overruns: Vec<Seen>,
    /// For each port: events that its join lost or gave up.
    pub given_up: Vec<u64>,
    /// Instants at which something happened to what the goal of the attack is about, in order.
    pub marks: Vec<u64>,
    /// How many events were simulated.
    pub events: u64,
}

impl Outcome {
    pub(crate) fn new(system: &System) -> Self {
        let (ports, chains) = (system.parts.ports.len(), system.parts.chains.len());
        Self {
            reaction: vec![Seen::default(); chains],
            age: vec![Seen::default(); chains],
            response: vec![Seen::default(); ports],
            backlog: vec![Seen::default(); ports],
            latency: vec![Seen::default(); system.parts.connections.len()],
            lost: vec![0; ports],
            would_block: vec![0; ports],
            overruns: vec![Seen::default(); ports],
            given_up: vec![0; ports],
            marks: Vec::new(),
            events: 0,
        }
    }

    /// The worst of a goal.
    pub fn seen(&self, goal: Goal) -> Seen {
        let (list, index) = match goal {
            Goal::Reaction(chain) => (&self.reaction, chain),
            Goal::Age(chain) => (&self.age, chain),
            Goal::Response(port) => (&self.response, port),
            Goal::Backlog(port) => (&self.backlog, port),
            Goal::Overruns(port) => (&self.overruns, port),
            Goal::Latency(connection) => (&self.latency, connection),
        };
        list.get(index).copied().unwrap_or_default()
    }

    /// Takes the worse of two outcomes of the same system, everywhere; counts add up. Marks stay as they are.
    pub fn merge(&mut self, other: &Self) {
        let lists = [
            (&mut self.reaction, &other.reaction),
            (&mut self.age, &other.age),
            (&mut self.response, &other.response),
            (&mut self.backlog, &other.backlog),
            (&mut self.overruns, &other.overruns),
            (&mut self.latency, &other.latency),
        ];
        for (own, others) in lists {
            own.iter_mut().zip(others).for_each(|(own, other)| own.merge(other));
        }
        let counts = [
            (&mut self.lost, &other.lost),
            (&mut self.would_block, &other.would_block),
            (&mut self.given_up, &other.given_up),
        ];
        for (own, others) in counts {
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        }
        self.events += other.events;
    }

    /// The first thing above its claim: reactions, then ages, responses, overruns, backlogs and latencies.
    pub fn exceeds(&self, claims: &Claims) -> Option<Exceedance> {
        let above = |list: &[Seen], claims: &[Option<u64>], what: fn(usize) -> Goal| {
            list.iter().zip(claims).enumerate().find_map(|(index, (seen, claim))| {
                let claimed = claim.filter(|claim| seen.count > 0 && seen.value > *claim)?;
                Some(Exceedance { what: what(index), seen: *seen, claimed })
            })
        };
        let on_time: Vec<Option<u64>> = claims.response.iter().map(|claim| claim.map(|_| 0)).collect();
        above(&self.reaction, &claims.reaction, Goal::Reaction)
            .or_else(|| above(&self.age, &claims.age, Goal::Age))
            .or_else(|| above(&self.response, &claims.response, Goal::Response))
            .or_else(|| above(&self.overruns, &on_time, Goal::Overruns))
            .or_else(|| above(&self.backlog, &claims.backlog, Goal::Backlog))
            .or_else(|| above(&self.latency, &claims.latency, Goal::Latency))
    }
}

//! What is known of the session between two addresses.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::plan::{Budget, Flow, Kind, Wanted};
use crate::words::{Bound, Change, Limits, Ticket, Verdict, Way};

#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) session: String,
    pub(crate) wanted: Wanted,
    pub(crate) bounds: Vec<Bound>,
    /// What has become of flows since it was admitted.
    pub(crate) ways: BTreeMap<usize, Way>,
    /// It ends then, unless it is extended.
    pub(crate) until: u64,
    pub(crate) extend_at: u64,
    pub(crate) is_extending: bool,
    /// The manager is asked whether there is room for what is needed now.
    pub(crate) is_weighed: bool,
    /// It may have been extended: the answer was lost when the next ticket was this.
    pub(crate) in_doubt: Option<Ticket>,
    /// Looks with a smaller ticket may not know it.
    pub(crate) from: Ticket,
}

#[derive(Clone, Debug)]
pub(crate) enum State {
    Absent,
    /// It may be there: the answer was lost when the next ticket was this.
    Doubtful(Ticket),
    Asking(Wanted),
    Held(Held),
    /// A session is stopped first.
    Leaving(String),
}

/// What was held before a change, and serves some pairs still.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// Should the change be refused, it is asked for again.
    ForRefusal(Wanted),
    /// The change is refused.
    Again(Wanted),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) wanted: Option<Wanted>,
    /// When that changed.
    pub(crate) since: u64,
    pub(crate) state: State,
    pub(crate) asked_at: Option<u64>,
    pub(crate) not_before: u64,
    pub(crate) hold: u64,
    /// Why there is none, or why it is still the one before a change.
    pub(crate) why: Option<String>,
    pub(crate) kept: Option<Kept>,
}

/// Whether a reserved flow is enough for what another one is to carry.
fn covers(held: &Flow, wanted: &Flow) -> bool {
    (held.direction, held.port, held.class) == (wanted.direction, wanted.port, wanted.class)
        && held.rate >= wanted.rate
        && held.bucket >= wanted.bucket
        && held.largest_packet >= wanted.largest_packet
}

impl Held {
    /// The flow that carries the samples of a pair as it is needed now, if all that pair needs is reserved.
    ///
    /// Acknowledgements of all pairs have to be: those that are above what is reserved would take the room of others.
    pub(crate) fn serves(&self, wanted: &Wanted, budget: &Budget) -> Option<usize> {
        let needed = wanted.flows.get(budget.flow)?;
        let is_acknowledged = wanted
            .flows
            .iter()
            .filter(|flow| flow.kind == Kind::AckNack)
            .all(|flow| self.wanted.flows.iter().any(|held| covers(held, flow)));
        if !is_acknowledged {
            return None;
        }
        let number = self.wanted.flows.iter().position(|held| covers(held, needed))?;
        let bound = self.bound(number)?;
        (bound <= needed.limit).then_some(number)
    }

    pub(crate) fn serves_any(&self, wanted: &Wanted) -> bool {
        wanted.pairs.values().any(|budget| self.serves(wanted, budget).is_some())
    }

    fn bound(&self, flow: usize) -> Option<u64> {
        self.bounds.iter().filter(|bound| bound.flow == flow).map(|bound| bound.delay).max()
    }

    /// Packets of a million that a flow may lose; of two copies, what one of them may lose.
    fn loss(&self, flow: usize) -> u32 {
        self.bounds.iter().filter(|bound| bound.flow == flow).map(|bound| bound.loss).max().unwrap_or(0)
    }

    /// The manager has told of a change.
    pub(crate) fn changed(&mut self, change: Change) {
        let Change { flow, delay, loss, .. } = change;
        let way = self.ways.entry(flow).or_default();
        way.detours = way.detours.saturating_add(u32::from(change.is_detour));
        way.has_one_copy_left = change.has_one_copy_left.unwrap_or(way.has_one_copy_left);
        if let Some(delay) = delay {
            for bound in self.bounds.iter_mut().filter(|bound| bound.flow == flow) {
                // The copy that was there before has its bound still.
                bound.delay = if change.is_detour { delay } else { bound.delay.max(delay) };
                bound.loss = loss.unwrap_or(bound.loss);
            }
        }
    }
}

impl Entry {
    pub(crate) fn new(now: u64, wanted: Wanted, limits: &Limits) -> Self {
        Self {
            wanted: Some(wanted),
            since: now,
            state: State::Absent,
            asked_at: None,
            not_before: 0,
            hold: limits.hold,
            why: None,
            kept: None,
        }
    }

    pub(crate) fn want(&mut self, now: u64, wanted: Option<Wanted>, limits: &Limits) {
        let flows = |wanted: &Option<Wanted>| wanted.as_ref().map(|wanted| wanted.flows.clone());
        if flows(&wanted) != flows(&self.wanted) {
            (self.since, self.hold, self.not_before, self.why) = (now, limits.hold, 0, None);
        }
        if wanted.is_none() {
            self.kept = None;
        }
        self.wanted = wanted;
    }

    /// The flows that are needed.
    pub(crate) fn flows(&self) -> Vec<Flow> {
        self.wanted.as_ref().map(|wanted| wanted.flows.clone()).unwrap_or_default()
    }

    /// A session of this name is its own.
    pub(crate) fn is_called(&self, session: &str) -> bool {
        match &self.state {
            State::Held(held) => held.session == session,
            State::Leaving(of) => of == session,
            _ => false,
        }
    }

    pub(crate) fn held_as(&mut self, session: &str) -> Option<&mut Held> {
        match &mut self.state {
            State::Held(held) if held.session == session => Some(held),
            _ => None,
        }
    }

    /// There is a session: that which is needed, or one from before a change that was refused.
    pub(crate) fn admitted(&mut self, now: u64, is_as_needed: bool, limits: &Limits) {
        self.kept = None;
        if is_as_needed {
            (self.why, self.hold) = (None, limits.hold);
        } else if self.why.is_some() {
            // Each attempt takes what is held away for a moment, and this one was in vain although there seemed to be room.
            self.not_before = now.saturating_add(limits.most_hold);
        }
    }

    /// There is no session; the next request waits. What was held before a change is asked for again.
    pub(crate) fn refused(&mut self, now: u64, why: String, limits: &Limits) {
        self.why = Some(why);
        self.not_before = now.saturating_add(self.hold);
        self.hold = self.hold.saturating_mul(2).min(limits.most_hold);
        self.kept = match self.kept.take() {
            Some(Kept::ForRefusal(before)) if matches!(self.state, State::Absent) => {
                Some(Kept::Again(before))
            }
            _ => None,
        };
    }

    pub(crate) fn verdict(&self, wanted: &Wanted, budget: &Budget, is_here: bool) -> Verdict {
        match &self.state {
            State::Held(held) => match held.serves(wanted, budget) {
                Some(flow) => Verdict::Admitted {
                    session: held.session.clone(),
                    budget: *budget,
                    bound: held.bound(flow).unwrap_or(u64::MAX),
                    loss: held.loss(flow),
                    way: held.ways.get(&flow).copied().unwrap_or_default(),
                },
                None if held.wanted.flows == wanted.flows => Verdict::Without(
                    "the manager has told no bound of its flow, or one above its limit".to_string(),
                ),
                None => match &self.why {
                    Some(why) => Verdict::Without(format!(
                        "{why}; session {} is kept for what was there before",
                        held.session
                    )),
                    None => Verdict::Pending,
                },
            },
            State::Asking(_) | State::Leaving(_) => Verdict::Pending,
            State::Absent | State::Doubtful(_) => match &self.why {
                Some(why) => Verdict::Without(why.clone()),
                None if !is_here => Verdict::Without(
                    "no manager of this domain answers: punctual rm serve starts it".to_string(),
                ),
                None => Verdict::Pending,
            },
        }
    }
}

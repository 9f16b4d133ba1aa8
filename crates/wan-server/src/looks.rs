//! What is shown of sessions beside what the state machine knows: when they began, what edges have let in, what programs have measured.
use std::collections::BTreeMap;

use linux_edge::observed::Delivered;
use wan::{Asn, LegId, SessionId};

use crate::convert::session_name;
use crate::protocol::{DeliveredStatus, Measured};

/// Nanoseconds between two questions to edges, at least: one who asks often does not keep devices busy.
const BETWEEN: u64 = 1_000_000_000;

/// All of it. Nothing is decided by it, and a start of the manager forgets it.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// When sessions were admitted.
    since: BTreeMap<SessionId, u64>,
    measured: BTreeMap<LegId, Measured>,
    delivered: BTreeMap<LegId, Delivered>,
    counted: Option<u64>,
    /// When edges were asked last.
    asked: Option<u64>,
}

/// All flows that a session may have.
pub(crate) fn legs(session: SessionId) -> std::ops::RangeInclusive<LegId> {
    let leg = |flow, peer| LegId { session, flow, peer: Asn(peer) };
    leg(u8::MIN, u32::MIN)..=leg(u8::MAX, u32::MAX)
}

impl Looks {
    /// Whether edges are to be asked now.
    pub(crate) fn asks(&mut self, now: u64) -> bool {
        let is_due = self.asked.is_none_or(|asked| asked.saturating_add(BETWEEN) <= now);
        if is_due {
            self.asked = Some(now);
        }
        is_due
    }

    /// Edges have said what they have let in, or could not be asked: then what they have said before is told, with its time.
    pub(crate) fn counted(&mut self, now: u64, delivered: Option<&BTreeMap<LegId, Delivered>>) {
        if let Some(delivered) = delivered {
            self.delivered.clone_from(delivered);
            self.counted = Some(now);
        }
    }

    pub(crate) fn counted_at(&self) -> Option<u64> {
        self.counted
    }

    /// What edges have let in of sessions that are there. They were asked before others ended.
    pub(crate) fn delivered(&self, is_there: impl Fn(SessionId) -> bool) -> Vec<DeliveredStatus> {
        let status = |(leg, delivered): (&LegId, &Delivered)| DeliveredStatus {
            session: session_name(leg.session),
            flow: leg.number(),
            to: leg.peer.0,
            packets: delivered.packets,
            bytes: delivered.bytes,
        };
        self.delivered.iter().filter(|(leg, _)| is_there(leg.session)).map(status).collect()
    }

    pub(crate) fn admitted(&mut self, session: SessionId, now: u64) {
        self.since.insert(session, now);
    }

    pub(crate) fn since(&self, session: SessionId) -> Option<u64> {
        self.since.get(&session).copied()
    }

    /// A program tells what it has measured of a flow that there is.
    pub(crate) fn measured(&mut self, leg: LegId, measured: Measured) {
        self.measured.insert(leg, measured);
    }

    pub(crate) fn measurements(&self, session: SessionId) -> Vec<Measured> {
        self.measured.range(legs(session)).map(|(_, measured)| measured.clone()).collect()
    }

    /// A session has ended.
    pub(crate) fn ended(&mut self, session: SessionId) {
        self.since.remove(&session);
        forget(&mut self.measured, session);
        forget(&mut self.delivered, session);
    }
}

fn forget<T>(all: &mut BTreeMap<LegId, T>, session: SessionId) {
    let of_session: Vec<LegId> = all.range(legs(session)).map(|(leg, _)| *leg).collect();
    for leg in of_session {
        all.remove(&leg);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_edges_have_said_is_told_of_sessions_that_are_there_until_they_say_other_things() {
        let [here, over] = [1, 2].map(|number| SessionId { origin: Asn(1), number });
        let leg = |session| LegId { session, flow: 0, peer: Asn(2) };
        let said = [here, over].map(|session| (leg(session), Delivered { packets: 1, bytes: 9 })).into();
        let mut looks = Looks::default();
        looks.counted(5, None);
        assert_eq!((looks.counted_at(), looks.delivered(|_| true).len()), (None, 0));
        looks.counted(6, Some(&said));
        looks.counted(7, None);
        assert_eq!((looks.counted_at(), looks.delivered(|_| true).len()), (Some(6), 2));
        // A count from before the end of a session comes after it.
        looks.ended(over);
        looks.counted(8, Some(&said));
        let told = looks.delivered(|session| session == here);
        assert_eq!(told.iter().map(|of| &*of.session).collect::<Vec<_>>(), [session_name(here)]);
        looks.counted(9, Some(&BTreeMap::new()));
        assert_eq!((looks.counted_at(), looks.delivered(|_| true).len()), (Some(9), 0));
    }
}

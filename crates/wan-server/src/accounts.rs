//! What edges have let in of a session, added up from counters that begin anew.
use std::collections::BTreeMap;

use diameter::accounting::recorder::Usage;
use diameter::qos::QosResources;
use linux_edge::observed::Delivered;
use wan::{Direction, LegId, SessionId};

use crate::looks::legs;

/// What edges have let in of one session.
#[derive(Debug)]
pub(crate) struct Account {
    /// The direction of each flow.
    pub(crate) flows: Vec<Direction>,
    /// What the server was asked for.
    pub(crate) asked: QosResources,
    /// Its records were begun.
    pub(crate) is_accounted: bool,
    /// What was told before a start, until counters have said whether they begin anew.
    before: Option<Usage>,
    /// What counters of earlier devices, or before a start, had.
    base: Usage,
    /// The last state of each counter, and what it had before it began anew.
    counters: BTreeMap<LegId, (Delivered, Delivered)>,
}

impl Account {
    /// Of a session whose flows have these directions. `told` is what was told before a start.
    pub(crate) fn new(flows: Vec<Direction>, asked: QosResources, told: Option<Usage>) -> Self {
        let (is_accounted, base) = (told.is_some(), told.unwrap_or_default());
        Self { flows, asked, is_accounted, before: told, base, counters: BTreeMap::new() }
    }

    /// Edges have let in so much of all flows.
    pub(crate) fn count(&mut self, session: SessionId, delivered: &BTreeMap<LegId, Delivered>) {
        for (leg, now) in delivered.range(legs(session)) {
            let (last, earlier) = self.counters.entry(*leg).or_default();
            if now.bytes < last.bytes {
                // The device has forgotten it and was told of it again.
                earlier.bytes = earlier.bytes.saturating_add(last.bytes);
                earlier.packets = earlier.packets.saturating_add(last.packets);
            }
            *last = *now;
        }
        // After a start of the manager: counters that have less than was told already begin anew, others go on.
        if let Some(before) = self.before.filter(|_| !self.counters.is_empty()) {
            self.before = None;
            self.base = Usage::default();
            let since = self.usage();
            if since.output_bytes < before.output_bytes || since.input_bytes < before.input_bytes {
                self.base = before;
            }
        }
    }

    /// What was delivered since the session began.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = self.base;
        for (leg, (last, earlier)) in &self.counters {
            let bytes = last.bytes.saturating_add(earlier.bytes);
            let packets = last.packets.saturating_add(earlier.packets);
            let is_from_user =
                self.flows.get(usize::from(leg.number())).is_none_or(|way| *way == Direction::Forward);
            let (all_bytes, all_packets) = match is_from_user {
                true => (&mut usage.output_bytes, &mut usage.output_packets),
                false => (&mut usage.input_bytes, &mut usage.input_packets),
            };
            *all_bytes = all_bytes.saturating_add(bytes);
            *all_packets = all_packets.saturating_add(packets);
        }
        usage
    }
}

#[cfg(test)]
mod tests {
    use wan::Asn;

    use super::*;

    const SESSION: SessionId = SessionId { origin: Asn(1), number: 7 };

    fn counted(account: &mut Account, bytes: &[(u8, u64)]) -> (u64, u64) {
        let leg = |flow| LegId { session: SESSION, flow, peer: Asn(2) };
        let delivered = |bytes| Delivered { packets: bytes / 10, bytes };
        let all = bytes.iter().map(|(flow, bytes)| (leg(*flow), delivered(*bytes))).collect();
        account.count(SESSION, &all);
        let usage = account.usage();
        assert_eq!(usage.output_packets, usage.output_bytes / 10);
        (usage.output_bytes, usage.input_bytes)
    }

    fn account(told: Option<Usage>) -> Account {
        let asked = QosResources { rules: Vec::new(), other: Vec::new() };
        Account::new(vec![Direction::Forward, Direction::Reverse], asked, told)
    }

    #[test]
    fn bytes_are_added_by_direction_and_none_is_lost_when_a_counter_begins_anew() {
        let mut account = account(None);
        assert_eq!(counted(&mut account, &[(0, 100), (1, 30)]), (100, 30));
        assert_eq!(counted(&mut account, &[(0, 250), (1, 30)]), (250, 30));
        assert_eq!(counted(&mut account, &[]), (250, 30), "a router that cannot be asked takes nothing back");
        assert_eq!(counted(&mut account, &[(0, 40), (1, 60)]), (290, 60));
    }

    #[test]
    fn after_a_start_counters_go_on_or_are_added_to_what_was_told() {
        let told = Usage { output_bytes: 500, input_bytes: 20, output_packets: 50, ..Usage::default() };
        for (first, expected) in [([(0, 700), (1, 20)], (700, 20)), ([(0, 100), (1, 0)], (600, 20))] {
            let mut account = account(Some(told));
            assert_eq!(account.usage().output_bytes, 500, "what was told holds until routers are asked");
            assert_eq!(counted(&mut account, &first), expected);
        }
    }

    #[test]
    fn another_session_counts_for_itself() {
        let mut account = account(None);
        let others = [
            SessionId { number: 8, ..SESSION },
            SessionId { number: 6, ..SESSION },
            SessionId { origin: Asn(2), ..SESSION },
        ];
        let ends = [(0, 0), (u8::MAX, u32::MAX)];
        let legs = |session| ends.map(|(flow, peer)| LegId { session, flow, peer: Asn(peer) });
        let delivered = Delivered { packets: 1, bytes: 9 };
        account.count(SESSION, &others.into_iter().flat_map(legs).map(|leg| (leg, delivered)).collect());
        assert_eq!(account.usage(), Usage::default());
        account.count(SESSION, &legs(SESSION).map(|leg| (leg, delivered)).into());
        assert_eq!(account.usage().output_bytes, 18);
    }
}

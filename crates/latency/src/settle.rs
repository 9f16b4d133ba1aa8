//! How long it takes until frames keep shares that are less than those before.
//!
//! Lesser shares that all ports can keep are kept from the start, were they agreed from the start. But queues may still hold what came
//! while flows had more: before a gate became narrower, or with a flow that has left. So it is followed round by round. Let all frames
//! that are anywhere after an instant keep some shares. A frame that is anywhere later than that by the longest latency of the flows and the
//! longest time for which a port is busy has met those frames only. So it keeps what ports can do with these shares, which is no more, and
//! with that the next round begins. When all have come down to the new shares, another round passes, so that these are what the next ones
//! rest on.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::bound::planned_bound_counted;
use crate::busy::longest_busy;
use crate::group::Group;
use crate::meeting::{Meeting, Who};
use crate::port::Contender;

/// How many rounds there may be: where ports depend on each other in a ring, there may be no end.
const MOST_ROUNDS: u64 = 64;

/// For each member that has shares, those that its frames keep, and what it offers with them.
type Kept = BTreeMap<usize, (Vec<u64>, Vec<Contender>)>;

impl Group<'_> {
    /// Picoseconds from when gates have become narrower until frames keep the new shares of members; 0 if none is less than before. `None`
    /// if that is not known to come.
    pub(crate) fn settling(&self) -> Option<u64> {
        let ports = self.ledger.ports();
        let (mut so_far, mut kept) = (Kept::new(), Kept::new());
        let (mut latency, mut is_less) = (0, false);
        for (index, member) in self.members.iter().enumerate() {
            let Some(before) = member.before.as_ref() else { continue };
            let limits = before.flow.subscribers.iter().map(|subscriber| subscriber.limit);
            latency = limits.fold(latency, u64::max);
            let mut shares = before.shares.clone();
            is_less |= shares.iter().zip(&member.shares).any(|(so_far, share)| share < so_far);
            so_far.insert(index, (shares.clone(), before.flow.contenders(ports, &shares).ok()?));
            // What a flow gets where it begins depends on no share, and with the lesser one a gate lets less through.
            let first = shares.first_mut().zip(member.shares.first());
            if let Some((first, new)) = first.filter(|(first, new)| *new < *first) {
                let meeting = self.meetings.get(&member.flow.tree.first()?.port)?;
                begin_at(meeting).then_some(())?;
                *first = *new;
            }
            kept.insert(index, (shares.clone(), before.flow.contenders(ports, &shares).ok()?));
        }
        if !is_less {
            return Some(0);
        }
        let mut busy = 0;
        for meeting in self.meetings.values() {
            let flows = at_first(meeting, &so_far)?;
            busy = longest_busy(&meeting.server, &flows, self.ledger.work())?.max(busy);
        }
        let round = latency.checked_add(busy)?;
        for rounds in 1..=MOST_ROUNDS {
            let keeps = |(index, (shares, _)): (&usize, &(Vec<u64>, _))| {
                let member = self.members.get(*index);
                member.is_some_and(|member| shares.iter().zip(&member.shares).all(|(kept, new)| kept <= new))
            };
            if kept.iter().all(keeps) {
                return round.checked_mul(rounds);
            }
            if !self.come_down(&mut kept)? {
                return None;
            }
        }
        None
    }

    /// What ports can do with what is offered so far; whether that is less than what they did before.
    fn come_down(&self, kept: &mut Kept) -> Option<bool> {
        let mut next: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for meeting in self.meetings.values() {
            let flows = at_first(meeting, kept)?;
            let mut bounds: BTreeMap<u8, u64> = BTreeMap::new();
            for (flow, who) in flows.iter().zip(&meeting.who) {
                let Who::Member { member, hop } = who else { continue };
                let bound = match bounds.get(&flow.level) {
                    Some(bound) => *bound,
                    None => {
                        let work = self.ledger.work();
                        let bound = planned_bound_counted(&meeting.server, &flows, flow.level, work)?.delay;
                        bounds.insert(flow.level, bound);
                        bound
                    }
                };
                let (shares, _) = kept.get(member)?;
                let known = next.entry(*member).or_insert_with(|| shares.clone()).get_mut(*hop)?;
                // The first one stands for the gate.
                if *hop > 0 {
                    *known = bound.min(*known);
                }
            }
        }
        let mut is_less = false;
        for (member, shares) in next {
            let one = kept.get_mut(&member)?;
            if one.0 != shares {
                is_less = true;
                one.1 = self.members.get(member)?.flow.contenders(self.ledger.ports(), &shares).ok()?;
                one.0 = shares;
            }
        }
        Some(is_less)
    }
}

/// Whether all flows of a port begin there.
fn begin_at(meeting: &Meeting<'_>) -> bool {
    meeting.who.iter().enumerate().all(|(index, who)| match who {
        Who::Member { hop, .. } => *hop == 0,
        Who::Other(_) => meeting.entries.get(index).is_some_and(|entry| entry.hop == 0),
    })
}

/// What is offered to a port at the first levels that are kept there, without the new flow.
fn at_first(meeting: &Meeting<'_>, kept: &Kept) -> Option<Vec<Contender>> {
    let levels = meeting.kept.first()?;
    let all = meeting.entries.iter().zip(&meeting.who).zip(levels);
    let offers = all.map(|((entry, who), level)| {
        let offer = match who {
            Who::Other(_) => entry.contender,
            Who::Member { member, hop } => *kept.get(member)?.1.get(*hop)?,
        };
        Some(Contender { level: *level, ..offer })
    });
    offers.collect()
}

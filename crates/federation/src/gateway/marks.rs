//! How far the peers have come with what a gateway has given to its streams.
use alloc::vec::Vec;

use super::Gateway;

/// A place in the streams to all peers and groups: behind what a gateway had given to them when it was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// How many connections had ended by then.
    endings: u64,
    /// For each connection the number behind the last fragment; none while events are held for the peer, which have no numbers yet.
    peers: Vec<(u64, Option<u64>)>,
    /// The same for groups.
    groups: Vec<(u32, u64)>,
}

/// Where the peers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passed {
    /// All peers have acknowledged all before the mark.
    Yes,
    /// Some of it is under way, or is held since a connection is suspended.
    NotYet,
    /// What is under way goes, or went, another way: a connection has ended, or goes on. The gateway has to be asked for another mark.
    Elsewhere,
}

impl Gateway {
    /// The place behind all that it has given to its streams by now: what was published, and what was passed on.
    pub fn mark(&self) -> Mark {
        let end = |link: &crate::link::Link| link.held.is_empty().then(|| link.outgoing.end());
        Mark {
            endings: self.endings,
            peers: self.links.iter().map(|link| (link.id, end(link))).collect(),
            groups: self.groups.iter().map(|group| (group.number, group.outgoing.end())).collect(),
        }
    }

    /// Whether the next gateways have all before a mark. What had to be given up is on its way no more.
    pub fn has_passed(&self, mark: &Mark) -> Passed {
        if mark.endings != self.endings {
            return Passed::Elsewhere;
        }
        let mut passed = Passed::Yes;
        for (id, end) in &mark.peers {
            let Some(link) = self.link(*id).and_then(|index| self.links.get(index)) else {
                return Passed::Elsewhere;
            };
            match end {
                Some(end) if link.receiver.acknowledged >= *end => {}
                None if link.held.is_empty() => return Passed::Elsewhere,
                _ => passed = Passed::NotYet,
            }
        }
        for (number, end) in &mark.groups {
            let group = self.groups.iter().find(|group| group.number == *number);
            let has_all = |group: &crate::link::Group| {
                group.receivers.iter().all(|(_, receiver)| receiver.acknowledged >= *end)
            };
            if !group.is_none_or(has_all) {
                passed = Passed::NotYet;
            }
        }
        passed
    }
}

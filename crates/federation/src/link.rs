//! A connection to a peer, and a group of peers that listen to one address.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::event::MOST_DESTINATIONS;
use crate::incoming::Incoming;
use crate::message::{DATA, HEADER};
use crate::outgoing::Outgoing;
use crate::receiver::Receiver;
use crate::settings::Settings;

/// A connection to a peer.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) id: u64,
    /// The number of this gateway's end; it grows whenever this end begins anew.
    pub(crate) mine: u64,
    /// That of the peer's end, and the peer's incarnation.
    pub(crate) theirs: Option<u64>,
    pub(crate) incarnation: u64,
    /// Both know both numbers.
    pub(crate) is_up: bool,
    pub(crate) outgoing: Outgoing,
    pub(crate) receiver: Receiver,
    pub(crate) incoming: Incoming,
    /// Events that wait because the connection is suspended, and their bytes.
    pub(crate) held: VecDeque<Vec<u8>>,
    pub(crate) held_bytes: usize,
    pub(crate) is_suspended_here: bool,
    pub(crate) is_suspended_there: bool,
    /// Gateways whose records the peer is to be told.
    pub(crate) records: BTreeSet<u64>,
    /// Groups in which the peer receives.
    pub(crate) listens: Vec<u32>,
    /// What comes of groups to which the peer sends.
    pub(crate) in_groups: Vec<InGroup>,
    pub(crate) heard_at: u64,
    pub(crate) sent_at: u64,
    pub(crate) hello_at: u64,
    pub(crate) hello_pause: u64,
    /// The peer does not know yet that it is known.
    pub(crate) is_answer_due: bool,
    /// It has been told that there is no room.
    pub(crate) is_full: bool,
}

/// Bytes of data in a datagram.
pub(crate) const fn fragment_size(settings: &Settings) -> usize {
    settings.datagram - HEADER - DATA
}

impl Link {
    pub(crate) fn new(now: u64, id: u64, mine: u64, settings: &Settings) -> Self {
        Self {
            id,
            mine,
            theirs: None,
            incarnation: 0,
            is_up: false,
            outgoing: Outgoing::new(fragment_size(settings)),
            receiver: Receiver::new(0, settings.pauses()),
            incoming: Incoming::default(),
            held: VecDeque::new(),
            held_bytes: 0,
            is_suspended_here: false,
            is_suspended_there: false,
            records: BTreeSet::new(),
            listens: Vec::new(),
            in_groups: Vec::new(),
            heard_at: now,
            sent_at: now,
            hello_at: now,
            hello_pause: settings.repair,
            is_answer_due: false,
            is_full: false,
        }
    }

    pub(crate) const fn is_suspended(&self) -> bool {
        self.is_suspended_here || self.is_suspended_there
    }

    /// Bytes that are kept for the peer.
    pub(crate) const fn kept(&self) -> usize {
        self.outgoing.bytes() + self.held_bytes
    }

    /// Begins anew, and gives what the peer has not acknowledged.
    pub(crate) fn reset(&mut self, now: u64, settings: &Settings) -> Vec<Vec<u8>> {
        let mut left = self.outgoing.take();
        left.extend(self.held.drain(..));
        let fresh = Self::new(now, self.id, self.mine, settings);
        *self = Self { is_suspended_here: self.is_suspended_here, ..fresh };
        left
    }

    /// What waited goes on its way, once nothing is suspended.
    pub(crate) fn release_held(&mut self) {
        if !self.is_suspended() {
            self.held_bytes = 0;
            while let Some(message) = self.held.pop_front() {
                self.outgoing.push(message);
            }
        }
    }

    /// When it has to be looked after next.
    pub(crate) fn next_timeout(&self, settings: &Settings) -> u64 {
        let mut next = u64::MAX;
        let mut by = |at: Option<u64>| next = next.min(at.unwrap_or(u64::MAX));
        by((!self.is_up).then_some(self.hello_at));
        by(self.theirs.is_some().then(|| self.heard_at.saturating_add(settings.lease)));
        if self.is_up {
            by(Some(self.sent_at.saturating_add(settings.lease / 4)));
            by(self.incoming.ack_at());
            by(self.receiver.beat_at);
            self.in_groups.iter().for_each(|group| by(group.incoming.ack_at()));
        }
        next
    }
}

/// A group in which this gateway receives what a peer sends.
#[derive(Debug)]
pub(crate) struct InGroup {
    pub(crate) number: u32,
    /// The place that the peer gave it.
    pub(crate) place: u16,
    pub(crate) incoming: Incoming,
}

/// Peers that get events by one transfer.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) number: u32,
    pub(crate) outgoing: Outgoing,
    /// The ids of all that have ever received in it: the place of each stays its own, so that no event is taken for another one's.
    pub(crate) places: Vec<u64>,
    /// With the ids of the peers.
    pub(crate) receivers: Vec<(u64, Receiver)>,
    /// Numbers that several lack, and that go to the group once more.
    pub(crate) repairs: VecDeque<u64>,
    /// How many have asked for a number, since it went to the group.
    lacking: BTreeMap<u64, usize>,
    pub(crate) is_full: bool,
}

/// So many receivers of a group get what they lack by a transfer of their own; when one more lacks it, it goes to the group.
const MOST_ALONE: usize = 2;

impl Group {
    pub(crate) fn new(number: u32, settings: &Settings) -> Self {
        let outgoing = Outgoing::new(fragment_size(settings));
        let (receivers, repairs) = (Vec::new(), VecDeque::new());
        let (places, lacking) = (Vec::new(), BTreeMap::new());
        Self { number, outgoing, places, receivers, repairs, lacking, is_full: false }
    }

    /// The place of a receiver; none if it has never received here.
    pub(crate) fn place(&self, id: u64) -> Option<u16> {
        self.places.iter().position(|of| *of == id).and_then(|place| u16::try_from(place).ok())
    }

    /// The place of a receiver, which gets one if it has none; none if the group has as many as there can be.
    pub(crate) fn place_or_new(&mut self, id: u64) -> Option<u16> {
        if self.place(id).is_none() && self.places.len() < MOST_DESTINATIONS {
            self.places.push(id);
        }
        self.place(id)
    }

    /// Forgets what all have acknowledged.
    pub(crate) fn release(&mut self) {
        let sent = self.outgoing.sent();
        let all = self.receivers.iter().map(|(_, receiver)| receiver.acknowledged).min();
        // Without receivers nothing needs to be sent any more.
        match all {
            Some(before) => {
                self.outgoing.release(before);
                self.lacking = self.lacking.split_off(&before);
            }
            None => {
                while self.outgoing.has_unsent() {
                    // Nothing waits for an acknowledgement of it.
                    self.outgoing.advance(0);
                }
                self.outgoing.release(self.outgoing.sent().max(sent));
            }
        }
    }

    /// A receiver has answered.
    pub(crate) fn answered(
        &mut self,
        now: u64,
        id: u64,
        next: u64,
        ranges: impl Iterator<Item = (u64, u32)>,
    ) {
        let Some((_, receiver)) = self.receivers.iter_mut().find(|(of, _)| *of == id) else { return };
        receiver.answered(now, &self.outgoing, next, ranges);
        let before = self.repairs.len();
        for &number in &receiver.repairs {
            let count = self.lacking.entry(number).or_default();
            *count += 1;
            if *count > MOST_ALONE {
                self.lacking.remove(&number);
                self.repairs.push_back(number);
            }
        }
        for &number in self.repairs.range(before..) {
            for (_, receiver) in &mut self.receivers {
                receiver.repaired(now, number);
                receiver.repairs.retain(|other| *other != number);
            }
        }
    }
}

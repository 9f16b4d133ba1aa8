//! Peers that come and go, and connections that are suspended.
use alloc::vec::Vec;

use super::{Gateway, MOST_GROUPS};
use crate::event::{Addressed, GatewayId, Grouped};
use crate::message::{self, Envelope, Groups, kind};
use crate::told::Notice;

impl Gateway {
    /// Suspends the connection to a peer, or resumes it. Both ends keep events for each other meanwhile, up to [`crate::Settings::held`]; what was
    /// sent before still arrives. Subscriptions go on.
    pub fn suspend(&mut self, peer: GatewayId, is_suspended: bool) {
        let index = self.link(peer.0);
        let Some(link) = index.and_then(|index| self.links.get_mut(index)) else { return };
        if link.is_suspended_here != is_suspended {
            link.is_suspended_here = is_suspended;
            if link.is_up {
                link.outgoing.push(message::suspend(is_suspended));
            }
            link.release_held();
        }
    }

    /// A way to a peer has come to be, as when a connection of TCP was made: the peer is greeted at once instead of after a pause.
    pub fn reached(&mut self, now: u64, peer: GatewayId) {
        let index = self.link(peer.0);
        if let Some(link) = index.and_then(|index| self.links.get_mut(index)) {
            // One that was known before may have begun anew, and says so when it hears something.
            link.is_answer_due = true;
            link.hello_at = now;
            link.hello_pause = self.settings.repair;
        }
    }

    /// What has to be done when time has passed: peers that are silent for too long are given up.
    pub fn handle_timeout(&mut self, now: u64) {
        let lease = self.settings.lease;
        for index in 0..self.links.len() {
            let Some(link) = self.links.get_mut(index) else { return };
            if link.theirs.is_none() || now < link.heard_at.saturating_add(lease) {
                continue;
            }
            link.mine += 1;
            if link.is_up {
                self.end_link(now, index, Some(true), false);
            } else {
                link.theirs = None;
            }
        }
    }

    /// When [`Gateway::handle_timeout`] and [`Gateway::poll_transmit`] have to be called next, whatever comes; `None` without peers.
    pub fn next_timeout(&self) -> Option<u64> {
        let links = self.links.iter().map(|link| link.next_timeout(&self.settings));
        let groups = self.groups.iter().flat_map(|group| &group.receivers);
        links.chain(groups.filter_map(|(_, receiver)| receiver.beat_at)).min()
    }

    /// A peer says that it has begun, or that it does not know yet whether it is known.
    pub(super) fn hello(
        &mut self,
        now: u64,
        index: usize,
        envelope: &Envelope,
        incarnation: u64,
        groups: &Groups<'_>,
    ) {
        let Some(link) = self.links.get_mut(index) else { return };
        match link.theirs {
            Some(known) if envelope.from_session < known => return,
            Some(known) if envelope.from_session == known => {
                // It has not heard that it is known.
                link.is_answer_due = true;
                return;
            }
            _ => {}
        }
        let (id, was_up) = (link.id, link.is_up);
        let is_new_start = incarnation > link.incarnation;
        if is_new_start {
            // Events for what it was are not for what it is.
            self.topology.forget_before(id, incarnation);
            self.topology.find_ways();
            self.is_stale = true;
        }
        if was_up {
            self.end_link(now, index, Some(false), is_new_start);
        }
        let Some(link) = self.links.get_mut(index) else { return };
        link.theirs = Some(envelope.from_session);
        link.incarnation = incarnation;
        link.listens.clear();
        link.listens.extend(groups.iter().take(MOST_GROUPS));
        link.heard_at = now;
        link.hello_at = now;
    }

    /// Both ends know each other.
    pub(super) fn begin_link(&mut self, index: usize) {
        let Some(link) = self.links.get_mut(index) else { return };
        link.is_up = true;
        if link.is_suspended_here {
            link.outgoing.push(message::suspend(true));
        }
        for group in &mut self.groups {
            if link.listens.contains(&group.number) {
                Self::begin_in_group(link, Some(group), &self.settings);
            }
        }
        link.records.extend(self.topology.ids());
        let peer = GatewayId(link.id);
        self.tell_of_itself();
        self.tell(Notice::Up(peer));
    }

    /// A connection is over: what the peer has not acknowledged goes by other ways, or is given up; so is what was for the peer itself, if that has
    /// started anew.
    pub(super) fn end_link(&mut self, now: u64, index: usize, is_silent: Option<bool>, is_new_start: bool) {
        let Some(link) = self.links.get_mut(index) else { return };
        let id = link.id;
        let was_up = link.is_up;
        self.endings += 1;
        let mut left = link.reset(now, &self.settings);
        for group in &mut self.groups {
            let Some(index) = group.receivers.iter().position(|(of, _)| *of == id) else { continue };
            let (_, receiver) = group.receivers.swap_remove(index);
            let Some(place) = group.place(id) else { continue };
            let missing = group.outgoing.missing(receiver.acknowledged);
            for event in missing.filter_map(|bytes| bytes.get(1..).and_then(Grouped::read)) {
                if event.is_for(place) {
                    let mut copy = Vec::from([kind::EVENT]);
                    crate::event::write_head(&mut copy, event.ttl, [id].into_iter());
                    copy.extend_from_slice(event.rest);
                    left.push(copy);
                }
            }
            group.release();
        }
        self.tell_of_itself();
        if was_up && let Some(is_silent) = is_silent {
            self.tell(Notice::Down { peer: GatewayId(id), is_silent });
        }
        for bytes in left {
            if bytes.first() == Some(&kind::EVENT)
                && let Some(addressed) = bytes.get(1..).and_then(Addressed::read)
            {
                // What was for the start before is not for this one, by whatever way.
                let is_lost = |to: &u64| is_new_start && *to == id;
                self.counts.given_up += addressed.destinations().filter(is_lost).count() as u64;
                let others = addressed.destinations().filter(|to| !is_lost(to));
                self.forward(addressed.ttl, others, addressed.rest);
            }
        }
    }
}

//! The gateway of a process.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use filter::Schema;

use crate::event::GatewayId;
use crate::interest::Interest;
use crate::link::{Group, Link};
use crate::message;
use crate::record::{LARGEST_RECORD, Record};
use crate::routing::Kind;
use crate::seen::Seen;
use crate::settings::{LimitError, Settings};
use crate::told::{Counts, Notice};
use crate::topology::Topology;

mod changes;
mod marks;
mod receive;
mod send;

pub use marks::{Mark, Passed};
pub use send::{Published, TooLarge};

/// Notices that wait to be heard; the oldest gives way.
const MOST_NOTICES: usize = 256;
/// Groups to which a gateway sends, or in which it receives.
const MOST_GROUPS: usize = 16;

/// A type of events that was offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindId(usize);

/// A subscription of the process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SubscriptionId(u64);

/// Where a datagram goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// To a peer.
    Peer(GatewayId),
    /// To all that listen to a group.
    Group(u32),
}

/// The gateway of a process: see the documentation of the crate.
pub struct Gateway {
    id: u64,
    /// The incarnation that it was made with, which peers are told.
    started: u64,
    /// That of its record and its events: larger if a gateway remembers a later start.
    incarnation: u64,
    settings: Settings,
    /// The version of its own record.
    version: u64,
    /// The number of its next event.
    number: u64,
    links: Vec<Link>,
    /// Those to which it sends.
    groups: Vec<Group>,
    /// Those in which it receives.
    listens: Vec<u32>,
    topology: Topology,
    subscriptions: BTreeMap<SubscriptionId, Interest>,
    next_subscription: u64,
    kinds: Vec<Kind>,
    /// Subscribers of kinds have to be found anew.
    is_stale: bool,
    seen: BTreeMap<u64, Seen>,
    notices: VecDeque<Notice>,
    counts: Counts,
    /// Destinations in the making: the peer on the way, and the gateway.
    routes: Vec<(u64, u64)>,
    /// Of these, those that a group is for.
    grouped: Vec<u64>,
    /// The link that is asked first for something to send.
    turn: usize,
    /// How many connections have ended.
    endings: u64,
}

impl Gateway {
    /// A gateway without peers. Its incarnation has to be larger than that of each earlier start of the same gateway: the nanoseconds since 1970, for
    /// example.
    pub fn new(id: GatewayId, incarnation: u64, settings: Settings) -> Self {
        let mut gateway = Self {
            id: id.0,
            started: incarnation,
            incarnation,
            settings: settings.within(),
            version: 0,
            number: 0,
            links: Vec::new(),
            groups: Vec::new(),
            listens: Vec::new(),
            topology: Topology::new(id.0),
            subscriptions: BTreeMap::new(),
            next_subscription: 0,
            kinds: Vec::new(),
            is_stale: false,
            seen: BTreeMap::new(),
            notices: VecDeque::new(),
            counts: Counts::default(),
            routes: Vec::new(),
            grouped: Vec::new(),
            turn: 0,
            endings: 0,
        };
        gateway.tell_of_itself();
        gateway
    }

    /// Its name.
    pub const fn id(&self) -> GatewayId {
        GatewayId(self.id)
    }

    /// Adds a peer, which has to have this gateway as a peer, too. It is looked for from now on.
    ///
    /// # Errors
    /// [`LimitError::Peer`].
    pub fn add_peer(&mut self, now: u64, peer: GatewayId) -> Result<(), LimitError> {
        if peer.0 == self.id || self.link(peer.0).is_some() || self.links.len() >= self.settings.gateways {
            return Err(LimitError::Peer);
        }
        self.links.push(Link::new(now, peer.0, self.started.max(1), &self.settings));
        Ok(())
    }

    /// Takes a peer out. What it has not acknowledged goes by other ways, or is given up.
    pub fn remove_peer(&mut self, now: u64, peer: GatewayId) {
        if let Some(index) = self.link(peer.0) {
            self.end_link(now, index, None, false);
            self.links.remove(index);
        }
    }

    /// Whether the connection to a peer works.
    pub fn is_up(&self, peer: GatewayId) -> bool {
        self.link(peer.0).and_then(|index| self.links.get(index)).is_some_and(|link| link.is_up)
    }

    /// The next thing that happened.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Counts since the start.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes of events that are kept for a peer: sent and not acknowledged, or waiting.
    pub fn kept_for(&self, peer: GatewayId) -> usize {
        self.link(peer.0).and_then(|index| self.links.get(index)).map_or(0, Link::kept)
    }

    /// Subscribes to events of the federation. All other gateways are told, unless another subscription covers it.
    ///
    /// # Errors
    /// A limit is reached; nothing has changed.
    pub fn subscribe(&mut self, interest: Interest) -> Result<SubscriptionId, LimitError> {
        interest.check()?;
        let id = SubscriptionId(self.next_subscription);
        self.subscriptions.insert(id, interest);
        let record = self.own_record();
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        if record.interests.len() > self.settings.interests || bytes.len() > LARGEST_RECORD {
            self.subscriptions.remove(&id);
            return Err(LimitError::Interests);
        }
        self.next_subscription += 1;
        self.tell_of_itself();
        Ok(id)
    }

    /// Ends a subscription. Events that are under way for it are not delivered if no other one fits them.
    pub fn unsubscribe(&mut self, subscription: SubscriptionId) {
        if self.subscriptions.remove(&subscription).is_some() {
            self.tell_of_itself();
        }
    }

    /// The union of subscriptions that others are told.
    pub fn union(&self) -> Vec<Interest> {
        crate::interest::union(self.subscriptions.values())
    }

    /// The subscriptions of another gateway, as far as they are known and it can be reached.
    pub fn interests_of(&self, gateway: GatewayId) -> &[Interest] {
        let record = self.topology.way(gateway.0).and_then(|_| self.topology.record(gateway.0));
        record.map_or(&[], |record| &record.interests)
    }

    /// Offers a type of events. Filters of subscribers ask for the fields that the schema knows. One that was offered before gets the schema, if there
    /// is one.
    ///
    /// # Errors
    /// [`LimitError::Text`].
    pub fn offer(
        &mut self,
        kind: &str,
        schema: Option<Box<dyn Schema + Send>>,
    ) -> Result<KindId, LimitError> {
        Interest { kind: Some(kind.into()), ..Interest::default() }.check()?;
        if let Some(index) = self.kinds.iter().position(|known| known.name == kind) {
            if let (Some(schema), Some(known)) = (schema, self.kinds.get_mut(index)) {
                known.schema = Some(schema);
                self.is_stale = true;
            }
            return Ok(KindId(index));
        }
        self.is_stale = true;
        self.kinds.push(Kind { name: kind.into(), schema, group: None, targets: Vec::new() });
        Ok(KindId(self.kinds.len() - 1))
    }

    /// Sends events of a type to a group, by one transfer for all peers that listen there, where two at least want an event.
    ///
    /// # Errors
    /// [`LimitError::Groups`]; also for the group 0, which there is not.
    pub fn send_to_group(&mut self, kind: KindId, group: u32) -> Result<(), LimitError> {
        if !self.groups.iter().any(|known| known.number == group) {
            if group == 0 || self.groups.len() >= MOST_GROUPS {
                return Err(LimitError::Groups);
            }
            self.groups.push(Group::new(group, &self.settings));
            // Peers that listen to it begin now.
            for link in &mut self.links {
                if link.is_up && link.listens.contains(&group) {
                    Self::begin_in_group(link, self.groups.last_mut(), &self.settings);
                }
            }
        }
        if let Some(kind) = self.kinds.get_mut(kind.0) {
            kind.group = Some(group);
        }
        Ok(())
    }

    /// Listens to a group. Peers are told when they are connected: so this comes before [`Gateway::add_peer`].
    ///
    /// # Errors
    /// [`LimitError::Groups`].
    pub fn listen_to_group(&mut self, group: u32) -> Result<(), LimitError> {
        if !self.listens.contains(&group) {
            if group == 0 || self.listens.len() >= MOST_GROUPS {
                return Err(LimitError::Groups);
            }
            self.listens.push(group);
        }
        Ok(())
    }

    /// Whether any other gateway subscribes to events of a type.
    pub fn is_wanted(&mut self, kind: KindId) -> bool {
        self.find_targets();
        self.kinds.get(kind.0).is_some_and(|kind| !kind.targets.is_empty())
    }

    fn link(&self, peer: u64) -> Option<usize> {
        self.links.iter().position(|link| link.id == peer)
    }

    fn tell(&mut self, notice: Notice) {
        if self.notices.len() >= MOST_NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(notice);
    }

    fn own_record(&self) -> Record {
        let up = self.links.iter().filter(|link| link.is_up);
        let mut peers: Vec<u64> = up.map(|link| link.id).collect();
        peers.sort_unstable();
        Record { id: self.id, stamp: (self.incarnation, self.version), peers, interests: self.union() }
    }

    /// Tells all others what has changed of this gateway.
    fn tell_of_itself(&mut self) {
        let record = self.own_record();
        let known = self.topology.record(self.id);
        let is_same = known
            .is_some_and(|known| known.peers == record.peers && known.interests == record.interests)
            && known.is_some_and(|known| known.stamp.0 == self.incarnation);
        if is_same {
            return;
        }
        self.version += 1;
        let record = Record { stamp: (self.incarnation, self.version), ..record };
        self.topology.accept(record, usize::MAX);
        self.topology.find_ways();
        self.is_stale = true;
        for link in self.links.iter_mut().filter(|link| link.is_up) {
            link.records.insert(self.id);
        }
    }

    fn find_targets(&mut self) {
        if !core::mem::take(&mut self.is_stale) {
            return;
        }
        let mut kinds = core::mem::take(&mut self.kinds);
        let ttl = self.settings.ttl;
        let mut notices = Vec::new();
        for kind in &mut kinds {
            kind.find_targets(&self.topology, ttl, &mut |notice| notices.push(notice));
        }
        self.kinds = kinds;
        notices.into_iter().for_each(|notice| self.tell(notice));
    }

    /// A message that a link's stream carries before events.
    fn begin_in_group(link: &mut Link, group: Option<&mut Group>, settings: &Settings) {
        let Some(group) = group else { return };
        // One that has no place is sent all that is for it by transfers of its own.
        let Some(place) = group.place_or_new(link.id) else { return };
        let start = group.outgoing.end();
        link.outgoing.push(message::start(group.number, start, place));
        group.receivers.push((link.id, crate::receiver::Receiver::new(start, settings.pauses())));
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let up = self.links.iter().filter(|link| link.is_up).count();
        write!(out, "Gateway {:x} with {up} of {} peers: {:?}", self.id, self.links.len(), self.counts)
    }
}

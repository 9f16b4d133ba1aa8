//! Gateways on a network in virtual time, with loss, doubling, reordering and cuts.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use federation::{
    Filter, Gateway, GatewayId, Header, Interest, KindId, Notice, Settings, SubscriptionId, To,
};
use testkit::random::Random;

use crate::model::{Condition, Said, Wish};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const KINDS: [&str; 3] = ["Fix", "Track", "Alarm"];
pub(crate) const SOURCES: [&str; 3] = ["gps.out", "radar.out", "sonar.out"];

/// How bad the network is: percents.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    pub(crate) loss: u64,
    pub(crate) doubled: u64,
    pub(crate) late: u64,
}

/// The field `n` of events.
pub(crate) struct Number(pub(crate) i64);
impl filter::Fields for Number {
    fn value(&self, slot: u32) -> Option<filter::Value<'_>> {
        (slot == 0).then_some(filter::Value::Signed(self.0))
    }
}

pub(crate) struct OneField;
impl filter::Schema for OneField {
    fn field(&self, path: filter::Path<'_>) -> Option<filter::Field> {
        (path.text() == "n").then_some(filter::Field { slot: 0, kind: filter::Kind::Integer })
    }
    fn label(&self, _: u32, _: &str) -> Option<i64> {
        None
    }
}

pub(crate) fn interest(wish: &Wish) -> Interest {
    let filter = wish.condition.map(|condition| match condition {
        Condition::AtLeast(n) => Filter { expression: "n >= %0".into(), parameters: vec![n.to_string()] },
        Condition::Is(n) => Filter { expression: format!("n = {n}"), parameters: Vec::new() },
    });
    Interest { kind: wish.kind.map(Into::into), source: wish.source.map(Into::into), filter }
}

pub(crate) struct Node {
    pub(crate) gateway: Gateway,
    pub(crate) kinds: Vec<KindId>,
    pub(crate) wishes: Vec<(SubscriptionId, Wish)>,
    pub(crate) incarnation: u64,
    pub(crate) settings: Settings,
    pub(crate) groups: Vec<(usize, u32)>,
    /// Bodies that were delivered to this incarnation, with the origin's node.
    pub(crate) got: Vec<(u64, Vec<u8>)>,
}

impl Node {
    fn new(id: usize, incarnation: u64, settings: Settings, groups: &[(usize, u32)]) -> Self {
        let mut gateway = Gateway::new(GatewayId(id as u64 + 1), incarnation, settings);
        let kinds: Vec<KindId> =
            KINDS.iter().map(|kind| gateway.offer(kind, Some(Box::new(OneField))).unwrap()).collect();
        for (kind, group) in groups {
            gateway.send_to_group(kinds[*kind], *group).unwrap();
            gateway.listen_to_group(*group).unwrap();
        }
        let groups = groups.to_vec();
        Self { gateway, kinds, wishes: Vec::new(), incarnation, settings, groups, got: Vec::new() }
    }
}

/// A datagram that was put on the wire.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) from: usize,
    pub(crate) to: To,
    pub(crate) bytes: Vec<u8>,
}

/// When a datagram arrives, its number, its receiver, its bytes.
type Flying = (u64, u64, usize, Vec<u8>);

pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: BTreeSet<(usize, usize)>,
    pub(crate) cut: BTreeSet<(usize, usize)>,
    pub(crate) faults: Faults,
    /// Nanoseconds that a byte takes on the link by which a node sends; a transfer to a group takes it once.
    pub(crate) per_byte: u64,
    /// Percent of datagrams that a node's own link loses, for all that they go to.
    pub(crate) lost_at_once: u64,
    /// How much later a datagram for a group is read than one for a node.
    pub(crate) group_late: u64,
    free_at: Vec<u64>,
    pub(crate) random: Random,
    /// What is sent, if the test looks.
    pub(crate) wire: Option<Vec<Sent>>,
    pub(crate) downs: u64,
    pub(crate) notices: Vec<(usize, Notice)>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    /// What gateways that were restarted had given up.
    pub(crate) given_up_before: u64,
    /// Who has which place in a group of a sender, as the sender's start messages say.
    pub(crate) places: BTreeMap<(usize, u32, usize), usize>,
}

/// Places that a datagram tells, with the group, read as docs/federation.md says: a start message is a fragment of its own.
fn told_places(datagram: &[u8]) -> Vec<(u32, usize)> {
    let (mut rest, mut told) = (&datagram[40..], Vec::new());
    while let [kind, flags, low, high, body @ ..] = rest {
        let (body, after) = body.split_at(usize::from(u16::from_le_bytes([*low, *high])));
        rest = after;
        let is_alone = *kind == 2 && *flags == 1 && body[..4] == [0; 4];
        if is_alone && let [4, group @ ..] = &body[12..] {
            let number = u32::from_le_bytes(group[..4].try_into().unwrap());
            told.push((number, usize::from(u16::from_le_bytes(group[12..14].try_into().unwrap()))));
        }
    }
    told
}

impl World {
    pub(crate) fn new(
        random: Random,
        count: usize,
        edges: BTreeSet<(usize, usize)>,
        settings: Settings,
        groups: &[(usize, u32)],
    ) -> Self {
        let nodes = (0..count).map(|id| Node::new(id, 1, settings, groups)).collect();
        let mut world = Self {
            now: 0,
            nodes,
            edges,
            cut: BTreeSet::new(),
            faults: Faults::default(),
            per_byte: 0,
            lost_at_once: 0,
            group_late: 0,
            free_at: vec![0; count],
            random,
            wire: None,
            downs: 0,
            notices: Vec::new(),
            flying: BinaryHeap::new(),
            number: 0,
            given_up_before: 0,
            places: BTreeMap::new(),
        };
        for id in 0..count {
            world.meet(id);
        }
        world
    }

    fn meet(&mut self, id: usize) {
        for (one, other) in self.edges.clone() {
            let peer = if one == id {
                other
            } else if other == id {
                one
            } else {
                continue;
            };
            self.nodes[id].gateway.add_peer(self.now, GatewayId(peer as u64 + 1)).unwrap();
        }
    }

    /// Edges that work.
    pub(crate) fn live(&self) -> BTreeSet<(usize, usize)> {
        self.edges.difference(&self.cut).copied().collect()
    }

    pub(crate) fn restart(&mut self, id: usize) {
        let old = &self.nodes[id];
        self.given_up_before += old.gateway.counts().given_up;
        self.nodes[id] = Node::new(id, old.incarnation + 1, old.settings, &old.groups.clone());
        self.places.retain(|(sender, ..), _| *sender != id);
        self.meet(id);
    }

    pub(crate) fn subscribe(&mut self, id: usize, wish: Wish) {
        let node = &mut self.nodes[id];
        let subscription = node.gateway.subscribe(interest(&wish)).unwrap();
        node.wishes.push((subscription, wish));
        self.send(id);
    }

    pub(crate) fn unsubscribe(&mut self, id: usize, index: usize) {
        let (subscription, _) = self.nodes[id].wishes.remove(index);
        self.nodes[id].gateway.unsubscribe(subscription);
        self.send(id);
    }

    pub(crate) fn suspend(&mut self, id: usize, peer: usize, is_suspended: bool) {
        self.nodes[id].gateway.suspend(GatewayId(peer as u64 + 1), is_suspended);
        self.send(id);
    }

    pub(crate) fn publish(&mut self, id: usize, said: &Said, body: &[u8]) -> federation::Published {
        let node = &mut self.nodes[id];
        let kind = node.kinds[KINDS.iter().position(|kind| *kind == said.kind).unwrap()];
        let header = Header { priority: 3, budget: Some(5) };
        let published = node.gateway.publish(kind, said.source, header, &Number(said.n), body).unwrap();
        self.send(id);
        published
    }

    /// Puts on the wire what a gateway has to send.
    pub(crate) fn send(&mut self, id: usize) {
        let mut bytes = Vec::new();
        let mut count = 0;
        while let Some(to) = self.nodes[id].gateway.poll_transmit(self.now, &mut bytes) {
            count += 1;
            assert!(count < 100_000, "node {id} sends without an end");
            assert!(bytes.len() <= self.nodes[id].settings.datagram);
            if let Some(wire) = &mut self.wire {
                wire.push(Sent { from: id, to, bytes: bytes.clone() });
            }
            if let To::Peer(peer) = to {
                for (group, place) in told_places(&bytes) {
                    let holder = *self.places.entry((id, group, place)).or_insert(peer.0 as usize - 1);
                    assert_eq!(holder as u64 + 1, peer.0, "one place for two receivers");
                }
            }
            let receivers: Vec<usize> = match to {
                To::Peer(peer) => vec![peer.0 as usize - 1],
                To::Group(group) => (0..self.nodes.len())
                    .filter(|other| {
                        *other != id && self.nodes[*other].groups.iter().any(|(_, of)| *of == group)
                    })
                    .collect(),
            };
            // With the headers of Ethernet, IP and UDP.
            let begins = self.free_at[id].max(self.now);
            self.free_at[id] = begins + (bytes.len() as u64 + 66) * self.per_byte;
            let on_link = self.free_at[id] - self.now;
            let late = if matches!(to, To::Group(_)) { self.group_late } else { 0 };
            if self.random.chance(self.lost_at_once) {
                continue;
            }
            for receiver in receivers {
                self.fly(id, receiver, &bytes, on_link + late);
            }
        }
        while let Some(notice) = self.nodes[id].gateway.poll_notice() {
            self.downs += u64::from(matches!(notice, Notice::Down { .. }));
            self.notices.push((id, notice));
        }
    }

    fn fly(&mut self, from: usize, to: usize, bytes: &[u8], after: u64) {
        let edge = (from.min(to), from.max(to));
        if self.cut.contains(&edge) || self.random.chance(self.faults.loss) {
            return;
        }
        let copies = 1 + u64::from(self.random.chance(self.faults.doubled));
        for _ in 0..copies {
            let late = if self.random.chance(self.faults.late) { self.random.range(0, 30 * MS) } else { 0 };
            self.number += 1;
            let at = self.now + after + MS / 10 + late;
            self.flying.push(Reverse((at, self.number, to, bytes.to_vec())));
        }
    }

    pub(crate) fn run(&mut self, time: u64) {
        let end = self.now + time;
        let mut steps = 0;
        loop {
            let due = self.nodes.iter().filter_map(|node| node.gateway.next_timeout()).min();
            let next = self.flying.peek().map(|Reverse((at, ..))| *at);
            let at = due.into_iter().chain(next).min().unwrap_or(end);
            if at > end {
                break;
            }
            steps = if at > self.now { 0 } else { steps + 1 };
            assert!(steps < 200_000, "time does not go on");
            self.now = self.now.max(at);
            if next.is_some_and(|next| next <= self.now) {
                let Reverse((_, _, to, bytes)) = self.flying.pop().unwrap();
                let node = &mut self.nodes[to];
                let got = &mut node.got;
                node.gateway.handle_datagram(self.now, &bytes, &mut |event| {
                    assert_eq!(event.header, Header { priority: 3, budget: Some(5) });
                    got.push((event.origin.0 - 1, event.body.to_vec()));
                });
                self.send(to);
                continue;
            }
            for id in 0..self.nodes.len() {
                if self.nodes[id].gateway.next_timeout().is_some_and(|at| at <= self.now) {
                    self.nodes[id].gateway.handle_timeout(self.now);
                    self.send(id);
                }
            }
        }
        self.now = end;
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.given_up_before + self.nodes.iter().map(|node| node.gateway.counts().given_up).sum::<u64>()
    }

    /// Bodies with how often each has come, for each node.
    pub(crate) fn tally(&self) -> Vec<BTreeMap<Vec<u8>, u32>> {
        let tally = |node: &Node| {
            let mut counts = BTreeMap::new();
            node.got.iter().for_each(|(_, body)| *counts.entry(body.clone()).or_insert(0) += 1);
            counts
        };
        self.nodes.iter().map(tally).collect()
    }
}

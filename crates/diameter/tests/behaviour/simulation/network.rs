//! Three nodes and the connections between them: bytes arrive late and in pieces, connections fail, fall silent and are cut.

use std::collections::{BTreeMap, BinaryHeap};

use diameter::header::ApplicationId;
use diameter::incoming::Incoming;
use diameter::local::Local;
use diameter::peer::{Config, Event, Peer, Side};
use diameter::value::Identity;
use testkit::random::Random;

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const CLIENT: usize = 0;
pub(crate) const RELAY: usize = 1;
pub(crate) const SERVER: usize = 2;
const NAMES: [&str; 3] = ["client.left", "relay.middle", "Server.right"];
const REALMS: [&str; 3] = ["left", "middle", "right"];

/// What is due at a time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Due {
    Connected {
        wire: usize,
        works: bool,
    },
    Bytes {
        wire: usize,
        end: usize,
        bytes: Vec<u8>,
    },
    Closed {
        wire: usize,
        end: usize,
    },
    IncomingTimeout {
        wire: usize,
    },
    /// Of the nodes' owners.
    Owner {
        what: u64,
        number: u64,
    },
}

/// A connection; end 0 opened it.
struct Wire {
    nodes: [usize; 2],
    /// Which side of which peer holds each end.
    held: [Option<Side>; 2],
    incoming: Option<Incoming>,
    last: [u64; 2],
    silent: bool,
    cut: bool,
}

/// Peers, connections, and the time.
pub(crate) struct Network {
    pub(crate) now: u64,
    pub(crate) random: Random,
    pub(crate) peers: BTreeMap<(usize, usize), Peer>,
    locals: Vec<Local>,
    wires: Vec<Wire>,
    queue: BinaryHeap<std::cmp::Reverse<(u64, u64, Due)>>,
    sequence: u64,
    pub(crate) faults: bool,
    pub(crate) seen: Seen,
}

/// What has happened, so that a test can say that it does.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    pub(crate) opens: u64,
    pub(crate) elections: u64,
    pub(crate) suspensions: u64,
    pub(crate) resumptions: u64,
    pub(crate) unanswered: u64,
    pub(crate) cuts: u64,
}

pub(crate) fn local(node: usize) -> Local {
    let all = vec![ApplicationId::RELAY];
    let own = vec![ApplicationId::NASREQ];
    Local {
        host: Identity::new(NAMES[node]).unwrap(),
        realm: Identity::new(REALMS[node]).unwrap(),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        product_name: "Punctual".into(),
        origin_state_id: 1,
        auth_applications: if node == RELAY { all } else { own },
        acct_applications: if node == RELAY { Vec::new() } else { vec![ApplicationId::ACCOUNTING] },
    }
}

impl Network {
    pub(crate) fn new(mut random: Random) -> Self {
        let mut peers = BTreeMap::new();
        for node in 0..3 {
            for other in (0..3).filter(|other| *other != node) {
                // At least one of both connects.
                let connect = node < other || random.chance(70);
                let mut config = Config::new(local(node), Identity::new(NAMES[other]).unwrap(), connect);
                config.most_pending = 40;
                config.most_requested = 40;
                config.most_unsent = 100_000;
                config.watchdog_interval = 10 * SECOND;
                peers.insert((node, other), Peer::new(config, 0, random.bits()));
            }
        }
        Self {
            now: 0,
            random,
            peers,
            locals: (0..3).map(local).collect(),
            wires: Vec::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            faults: true,
            seen: Seen::default(),
        }
    }

    pub(crate) fn start(&mut self) {
        for key in self.peers.keys().copied().collect::<Vec<_>>() {
            let now = self.now;
            self.peers.get_mut(&key).unwrap().start(now);
        }
    }

    pub(crate) fn schedule(&mut self, at: u64, due: Due) {
        self.sequence += 1;
        self.queue.push(std::cmp::Reverse((at, self.sequence, due)));
    }

    fn latency(&mut self) -> u64 {
        if self.random.one_in(20) { self.random.range(1, SECOND) } else { self.random.range(1, SECOND / 50) }
    }

    /// Sends by a wire, in order.
    fn transmit(&mut self, wire: usize, end: usize, due: Due) {
        let at = self.now + self.latency();
        let place = &mut self.wires[wire];
        if place.cut || place.silent && matches!(due, Due::Bytes { .. }) {
            return;
        }
        let other = 1 - end;
        place.last[other] = at.max(place.last[other] + 1);
        let at = place.last[other];
        self.schedule(at, due);
    }

    fn wire_of(&self, node: usize, other: usize, side: Side) -> Option<usize> {
        let end = if side == Side::Initiated { 0 } else { 1 };
        let fits = |wire: &Wire| {
            wire.nodes[end] == node && wire.nodes[1 - end] == other && wire.held[end] == Some(side)
        };
        self.wires.iter().rposition(fits)
    }

    /// The next thing that is due, which time goes on to; `None` at the end.
    pub(crate) fn next_due(&mut self, end: u64, owners: Option<u64>) -> Option<Option<Due>> {
        let timers = self.peers.values().map(Peer::due).min().unwrap();
        let timers = owners.map_or(timers, |due| due.min(timers));
        let queued = self.queue.peek().map_or(u64::MAX, |entry| entry.0.0);
        let at = timers.min(queued);
        if at > end {
            return None;
        }
        self.now = self.now.max(at);
        Some(if queued <= timers { self.queue.pop().map(|entry| entry.0.2) } else { None })
    }

    pub(crate) fn on_timers(&mut self) {
        for peer in self.peers.values_mut().filter(|peer| peer.due() <= self.now) {
            peer.on_timer(self.now);
        }
    }

    pub(crate) fn on_due(&mut self, due: Due) {
        match due {
            Due::Connected { wire, works } => {
                let [node, other] = self.wires[wire].nodes;
                let peer = self.peers.get_mut(&(node, other)).unwrap();
                if !works {
                    peer.connect_failed(self.now);
                } else if peer.connected(self.now) {
                    self.wires[wire].held[0] = Some(Side::Initiated);
                    self.wires[wire].incoming = Some(Incoming::new(10_000));
                    self.schedule(self.now + 20 * SECOND, Due::IncomingTimeout { wire });
                }
            }
            Due::Bytes { wire, end, bytes } => self.arrive(wire, end, &bytes),
            Due::Closed { wire, end } => self.end(wire, end),
            Due::IncomingTimeout { wire } => {
                if self.wires[wire].incoming.take().is_some() {
                    self.transmit(wire, 1, Due::Closed { wire, end: 0 });
                }
            }
            Due::Owner { .. } => unreachable!("the owners' own"),
        }
    }

    fn arrive(&mut self, wire: usize, end: usize, bytes: &[u8]) {
        let nodes = self.wires[wire].nodes;
        let (node, other) = (nodes[end], nodes[1 - end]);
        if let Some(side) = self.wires[wire].held[end] {
            self.peers.get_mut(&(node, other)).unwrap().received(self.now, side, bytes);
        } else if end == 1
            && let Some(incoming) = &mut self.wires[wire].incoming
        {
            match incoming.received(&self.locals[node], bytes) {
                Ok(None) => {}
                Ok(Some(introduction)) => {
                    self.wires[wire].incoming = None;
                    assert_eq!(introduction.request.origin_host, self.locals[other].host);
                    // The peer may open and close at once: the wire belongs to it first.
                    let before = self.wire_of(node, other, Side::Accepted);
                    let initiated = self.wire_of(node, other, Side::Initiated);
                    let peer = self.peers.get_mut(&(node, other)).unwrap();
                    match peer.accept(self.now, introduction) {
                        Ok(()) => {
                            // Both have connected at once.
                            self.seen.elections += u64::from(initiated.is_some() || !peer.is_open());
                            assert_eq!(before, None, "one accepted connection at a time");
                            self.wires[wire].held[1] = Some(Side::Accepted);
                        }
                        Err(answer) => {
                            if !answer.is_empty() {
                                self.transmit(wire, 1, Due::Bytes { wire, end: 0, bytes: answer });
                            }
                            self.transmit(wire, 1, Due::Closed { wire, end: 0 });
                        }
                    }
                }
                Err(refused) => panic!("an introduction is refused: {refused:?}"),
            }
        }
    }

    fn end(&mut self, wire: usize, end: usize) {
        let nodes = self.wires[wire].nodes;
        if end == 1 {
            self.wires[wire].incoming = None;
        }
        if let Some(side) = self.wires[wire].held[end].take() {
            self.peers.get_mut(&(nodes[end], nodes[1 - end])).unwrap().closed(self.now, side);
        }
    }

    /// Does what a peer wants of the network; other events are the owner's.
    pub(crate) fn on_event(&mut self, node: usize, other: usize, event: Event) -> Option<Event> {
        match event {
            Event::Connect => {
                let works = !self.faults || self.random.chance(85);
                let wire = self.wires.len();
                self.wires.push(Wire {
                    nodes: [node, other],
                    held: [None; 2],
                    incoming: None,
                    last: [0; 2],
                    silent: false,
                    cut: false,
                });
                let at = self.now + self.latency();
                self.schedule(at, Due::Connected { wire, works });
                None
            }
            Event::Close { side, last } => {
                let wire = self.wire_of(node, other, side).expect("a connection to close");
                let end = if side == Side::Initiated { 0 } else { 1 };
                self.wires[wire].held[end] = None;
                if !last.is_empty() {
                    self.transmit(wire, end, Due::Bytes { wire, end: 1 - end, bytes: last });
                }
                self.transmit(wire, end, Due::Closed { wire, end: 1 - end });
                None
            }
            Event::Open { ref capabilities, .. } => {
                self.seen.opens += 1;
                assert_eq!(capabilities.host, self.locals[other].host);
                assert!(!capabilities.common.is_empty());
                Some(event)
            }
            Event::Suspended => {
                self.seen.suspensions += 1;
                Some(event)
            }
            Event::Available => {
                self.seen.resumptions += 1;
                Some(event)
            }
            Event::Unanswered { .. } => {
                self.seen.unanswered += 1;
                Some(event)
            }
            _ => Some(event),
        }
    }

    /// Puts what peers want to send onto the wires, in pieces.
    pub(crate) fn flush(&mut self) {
        for (node, other) in self.peers.keys().copied().collect::<Vec<_>>() {
            for side in [Side::Initiated, Side::Accepted] {
                while let Some(wire) = self.wire_of(node, other, side) {
                    let peer = self.peers.get_mut(&(node, other)).unwrap();
                    let unsent = peer.unsent(side);
                    if unsent.is_empty() {
                        break;
                    }
                    let count = if self.random.chance(70) {
                        unsent.len()
                    } else {
                        1 + self.random.below(unsent.len())
                    };
                    let bytes = unsent[..count].to_vec();
                    peer.sent(side, count);
                    let end = if side == Side::Initiated { 0 } else { 1 };
                    self.transmit(wire, end, Due::Bytes { wire, end: 1 - end, bytes });
                }
            }
        }
    }

    /// Something breaks: a connection is cut, or takes bytes and delivers none.
    pub(crate) fn break_something(&mut self) {
        let live: Vec<usize> = (0..self.wires.len())
            .filter(|wire| self.wires[*wire].held.iter().any(Option::is_some) && !self.wires[*wire].cut)
            .collect();
        let Some(wire) = self.random.pick(&live).copied() else { return };
        self.seen.cuts += 1;
        if self.random.chance(40) {
            self.wires[wire].silent = true;
            return;
        }
        self.wires[wire].cut = true;
        // What is under way is lost, and each end notices by itself.
        let mut kept = BinaryHeap::new();
        for entry in std::mem::take(&mut self.queue) {
            let lost = matches!(&entry.0.2,
                Due::Bytes { wire: of, .. } | Due::Closed { wire: of, .. } if *of == wire);
            if !lost {
                kept.push(entry);
            }
        }
        self.queue = kept;
        for end in 0..2 {
            let at = self.now + self.random.range(0, 5 * SECOND);
            self.schedule(at, Due::Closed { wire, end });
        }
    }

    /// Queues keep their limits.
    pub(crate) fn check_limits(&self) {
        for peer in self.peers.values() {
            let config = peer.config();
            assert!(peer.pending() <= config.most_pending && peer.requested() <= config.most_requested);
            for side in [Side::Initiated, Side::Accepted] {
                assert!(peer.unsent(side).len() <= config.most_unsent);
            }
        }
    }
}

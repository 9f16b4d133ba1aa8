//! Starting and matching: what discovery would do.
use std::net::{IpAddr, SocketAddr};

use rtps::Path;
use rtps::reader::{MatchedWriter, Reader, ReaderConfig};
use rtps::writer::{MatchedReader, Writer, WriterConfig};
use wire::{Duration, EntityId, EntityKind, Guid, GuidPrefix};

use super::config::Config;
use super::node::{PairNode, ReaderNode, WriterNode};
use super::run::{Control, Run, Side, WRITER};
use crate::coverage::Situation;
use crate::network::NodeId;
use crate::node::Observation;
use crate::sabotage::Sabotaged;
use crate::world::Process;

impl Run<'_> {
    pub(super) fn start_if_down(&mut self, id: NodeId, situation: Situation) {
        if self.guids.get(id.0).is_some_and(Option::is_none) {
            self.world.coverage.hit(situation);
            self.start(id);
        }
    }

    pub(super) fn start(&mut self, id: NodeId) {
        let kind = if id == WRITER { EntityKind::WriterNoKey } else { EntityKind::ReaderNoKey };
        let prefix = GuidPrefix(self.random.octets());
        let guid = Guid::new(prefix, EntityId::user(id.0 as u32 + 1, kind));
        self.world.monitor.name(prefix, format!("n{}", id.0));
        let Some(host) = self.world.process(id).map(|process| process.host) else { return };
        self.world.network.bind(host, 7_410 + id.0 as u16, id);
        let Config { reliable, retain, byte_limit, window, batch_delay, .. } = self.config;
        let node = if id == WRITER {
            self.judge.add_writer(guid, reliable, retain);
            let config = WriterConfig::new(guid, reliable);
            self.kept.clear();
            let config = WriterConfig { retain, byte_limit, window, batch_delay, ..config };
            PairNode::Writer(WriterNode::new(Writer::new(config)))
        } else {
            let Some(plan) = self.config.readers.get(id.0 - 1).copied() else { return };
            self.judge.add_reader(guid, plan.reliable, plan.wants_history);
            for group in [group(true), group(false)] {
                self.world.network.join(host, group, id);
            }
            let config = ReaderConfig::new(guid, plan.reliable);
            PairNode::Reader(ReaderNode::new(Reader::new(ReaderConfig {
                byte_limit: plan.byte_limit,
                ..config
            })))
        };
        let node = match self.sabotage {
            Some((sabotage, after)) if id == NodeId(1) => Sabotaged::new(node, sabotage, after),
            _ => Sabotaged::honest(node),
        };
        if let Some(slot) = self.guids.get_mut(id.0) {
            *slot = Some(guid);
        }
        self.world.start(id, node);
        // Each side learns of the other at a time of its own.
        let others: Vec<Guid> = match id {
            WRITER => self.guids.iter().skip(1).flatten().copied().collect(),
            _ => self.guids.first().copied().flatten().into_iter().collect(),
        };
        for other in others {
            let (writer, reader) = if id == WRITER { (guid, other) } else { (other, guid) };
            for side in [Side::Writer, Side::Reader] {
                let control = Control::Match(side, writer, reader);
                self.later(0, 150, control);
            }
        }
    }

    /// Schedules a match, unmatch or change of paths within a span of milliseconds.
    pub(super) fn later(&mut self, least: u64, most: u64, control: Control) {
        let nanos = self.random.within(least * 1_000_000..=most * 1_000_000);
        self.pending += 1;
        self.world.schedule(self.world.now().after(Duration::from_nanos(nanos as i64)), control);
    }

    pub(super) fn match_one(&mut self, side: Side, writer: Guid, reader: Guid, begins: bool) {
        let (Some(_), Some(reader_node)) = (self.node_of(writer), self.node_of(reader)) else { return };
        let Some(plan) = self.config.readers.get(reader_node.0 - 1).copied() else { return };
        if !begins && !self.judge.has_side(writer, reader, side == Side::Writer) {
            return;
        }
        match side {
            Side::Writer => {
                let direct = self.unicast(WRITER, reader_node, plan.ipv6);
                let group = Path {
                    destination: group(!plan.ipv6),
                    interface: 2,
                    local: None,
                    max_datagram: self.max_datagram,
                    flow: None,
                    link: None,
                };
                let (paths, direct) = match self.config.multicast {
                    true => (vec![group], Some(direct)),
                    false => (vec![direct], None),
                };
                let buffer = self.config.mix.receive_buffer as u32;
                let matched = MatchedReader {
                    guid: reader,
                    reliable: plan.reliable,
                    wants_history: plan.wants_history && self.config.retain,
                    paths,
                    direct,
                    receive_buffer: self.config.tells_buffer.then_some(buffer),
                };
                self.world.command(WRITER, |node, now| {
                    let PairNode::Writer(node) = node.inner_mut() else { return };
                    node.writer.match_reader(now, matched);
                    if begins {
                        node.note(Observation::ReaderMatched { writer, reader });
                    }
                });
                self.judge_node(WRITER);
            }
            Side::Reader => {
                let paths = vec![self.unicast(reader_node, WRITER, plan.ipv6)];
                let matched = MatchedWriter { guid: writer, reliable: self.config.reliable, paths };
                self.world.command(reader_node, |node, now| {
                    let PairNode::Reader(node) = node.inner_mut() else { return };
                    node.reader.match_writer(now, matched);
                    if begins {
                        node.note(Observation::WriterMatched { reader, writer });
                    }
                });
                self.judge_node(reader_node);
            }
        }
    }

    pub(super) fn unmatch_one(&mut self, side: Side, writer: Guid, reader: Guid, again: Option<u64>) {
        if let Some(millis) = again {
            self.later(1 + millis, 50 + millis, Control::Match(side, writer, reader));
        }
        match side {
            Side::Writer => {
                self.world.command(WRITER, |node, now| {
                    let PairNode::Writer(node) = node.inner_mut() else { return };
                    if node.writer.unmatch_reader(now, reader) {
                        node.note(Observation::ReaderUnmatched { writer, reader });
                    }
                });
                self.judge_node(WRITER);
            }
            Side::Reader => {
                let Some(node) = self.node_of(reader) else { return };
                self.world.command(node, |node, _| {
                    let PairNode::Reader(node) = node.inner_mut() else { return };
                    let was_matched = match again {
                        // Its participant was silent, and comes back.
                        Some(_) => node.reader.lose_writer(writer),
                        None => node.reader.unmatch_writer(writer),
                    };
                    if was_matched {
                        node.note(Observation::WriterUnmatched { reader, writer });
                    }
                });
                self.judge_node(node);
            }
        }
    }

    /// The path from one node to another.
    pub(super) fn unicast(&self, from: NodeId, to: NodeId, ipv6: bool) -> Path {
        let host = |id| self.world.process(id).map(|process: &Process| process.host);
        let same = host(from) == host(to);
        let addresses = host(to).map_or(&[] as &[_], |host| self.world.network.interfaces(host));
        let address = addresses.iter().flat_map(|i| i.addresses()).find(|a| a.is_ipv6() == ipv6).copied();
        let address = address.unwrap_or(IpAddr::from([127, 0, 0, 1]));
        let destination = SocketAddr::new(address, 7_410 + to.0 as u16);
        let largest = if same { self.config.mix.receive_buffer as u32 / 2 } else { self.max_datagram };
        Path::routed(destination, largest.min(Path::MAX_DATAGRAM))
    }
}

/// The group that fresh samples go to.
fn group(ipv4: bool) -> SocketAddr {
    let address = match ipv4 {
        true => IpAddr::from([239, 255, 0, 1]),
        false => IpAddr::from([0xff03, 0, 0, 0, 0, 0, 0, 1]),
    };
    SocketAddr::new(address, 7_401)
}

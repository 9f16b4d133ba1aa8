//! What faults do to the writer and its readers.
use rtps::Path;
use wire::Duration;

use super::node::PairNode;
use super::run::{Control, Run, Side, WRITER};
use crate::coverage::Situation;
use crate::faults::Fault;
use crate::network::NodeId;
use crate::sabotage::Sabotaged;

impl Run<'_> {
    pub(super) fn fault(&mut self, fault: Fault) {
        if self.world.inflict(&fault) {
            if fault == Fault::Calm {
                (1..self.guids.len()).for_each(|node| self.accept(NodeId(node)));
            }
            return;
        }
        self.world.trace.line(self.world.now(), format_args!("fault: {fault:?}"));
        match fault {
            Fault::Crash(node) => self.stop(node, Situation::Crash),
            Fault::Leave(node) => self.stop(node, Situation::Leave),
            Fault::Restart(node) | Fault::Join(node) => {
                let situation =
                    if matches!(fault, Fault::Restart(_)) { Situation::Restart } else { Situation::LateJoin };
                self.start_if_down(node, situation);
            }
            Fault::Refuse(node) => {
                self.world.command(node, |node, _| {
                    if let PairNode::Reader(node) = node.inner_mut() {
                        node.refuse();
                    }
                });
            }
            Fault::Accept(node) => self.accept(node),
            Fault::Renumber(node) => self.renumber(node),
            Fault::Unmatch { node, lasts } => self.rematch(node, lasts),
            _ => {}
        }
    }

    pub(super) fn stop(&mut self, node: NodeId, situation: Situation) {
        let Some(guid) = self.guids.get_mut(node.0).and_then(Option::take) else { return };
        self.world.coverage.hit(situation);
        self.note_counters(node);
        self.world.stop(node);
        self.judge.forget(guid);
        let lease = self.config.lease.as_nanos() as u64 / 1_000_000;
        let (least, most) = if situation == Situation::Leave { (0, 50) } else { (lease, lease) };
        if node == WRITER {
            for reader in self.guids.clone().into_iter().skip(1).flatten() {
                self.later(least, most, Control::Unmatch(Side::Reader, guid, reader, None));
            }
        } else if let Some(writer) = self.guids.first().copied().flatten() {
            self.later(least, most, Control::Unmatch(Side::Writer, writer, guid, None));
        }
    }

    /// Counts what a reader has to tell when it is gone or the run ends.
    pub(super) fn note_counters(&mut self, node: NodeId) {
        if let Some(PairNode::Reader(reader)) = self.world.node(node).map(Sabotaged::inner) {
            let (refused, held_back) = (reader.refused(), reader.reader.counters().held_back);
            self.world.coverage.add(Situation::SlowReader, refused);
            self.world.coverage.add(Situation::HeldBack, held_back);
        }
    }

    pub(super) fn accept(&mut self, node: NodeId) {
        self.world.command(node, |node, now| {
            if let PairNode::Reader(node) = node.inner_mut() {
                node.accept(now);
            }
        });
        self.judge_node(node);
    }

    pub(super) fn renumber(&mut self, node: NodeId) {
        let Some(host) = self.world.process(node).map(|process| process.host) else { return };
        self.world.coverage.hit(Situation::AddressChange);
        self.world.network.change_addresses(host);
        // The new way may carry less, or more again.
        let usual = self.config.max_datagram;
        let most = self.random.pick(&[usual, usual / 2, 600]).unwrap_or(usual);
        self.max_datagram = most.clamp(Path::MIN_DATAGRAM, usual);
        let Some(writer) = self.guids.first().copied().flatten() else { return };
        for reader in self.guids.clone().into_iter().skip(1).flatten() {
            for side in [Side::Writer, Side::Reader] {
                self.later(0, 400, Control::Repath(side, writer, reader));
            }
        }
    }

    /// Ends the matches of a node on one side or both, and begins them again.
    pub(super) fn rematch(&mut self, node: NodeId, lasts: Duration) {
        let Some(writer) = self.guids.first().copied().flatten() else { return };
        let sides =
            self.random.pick(&[&[Side::Writer] as &[Side], &[Side::Reader], &[Side::Writer, Side::Reader]]);
        let millis = lasts.as_nanos() as u64 / 1_000_000;
        let chosen = |index: usize| node == WRITER || node.0 == index;
        for reader in self.guids.clone().into_iter().enumerate().skip(1).filter(|(i, _)| chosen(*i)) {
            let Some(reader) = reader.1 else { continue };
            for side in sides.unwrap_or_default() {
                if self.judge.has_side(writer, reader, *side == Side::Writer) {
                    self.later(0, 5, Control::Unmatch(*side, writer, reader, Some(millis)));
                }
            }
        }
    }
}

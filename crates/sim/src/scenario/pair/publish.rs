//! What the application does: it writes, and removes what it no longer wants kept.
use rtps::writer::{Body, Change, WriteError};
use wire::message::PayloadKind;
use wire::parameter::InlineQos;
use wire::{Duration, Guid, Instant, SequenceNumber};

use super::node::PairNode;
use super::run::{Control, Run, WRITER};
use crate::coverage::Situation;
use crate::faults::Fault;
use crate::payload;
use crate::violation::Invariant;

impl Run<'_> {
    pub(super) fn write(&mut self) {
        let now = self.world.now();
        if self.left == 0 {
            return;
        }
        let Some(writer) = self.guids.first().copied().flatten().filter(|_| !self.world.is_stalled(WRITER))
        else {
            // A writer that is gone for good writes nothing more.
            let returns = |(at, fault): &(Instant, Fault)| {
                *at >= now && matches!(fault, Fault::Restart(WRITER) | Fault::Join(WRITER))
            };
            if !self.world.is_stalled(WRITER) && !self.config.mix.timeline.iter().any(returns) {
                self.left = 0;
            }
            return self.world.schedule(now.after(Duration::from_millis(5)), Control::Write);
        };
        let mut draws = self.random.fork();
        let len = self.config.sample_len(&mut draws);
        let shared = draws.coin();
        let result = self.world.command(WRITER, |node, now| {
            let PairNode::Writer(node) = node.inner_mut() else { return None };
            let number = node.writer.last().next();
            let payload = payload::make(writer, number, len);
            let mut inline_qos = Vec::new();
            if let Some(hash) = payload::key_hash(number) {
                InlineQos { key_hash: Some(hash), ..InlineQos::default() }.encode(&mut inline_qos);
            }
            let source_timestamp = payload::timestamp(number);
            let change = Change {
                kind: PayloadKind::Data,
                inline_qos: (!inline_qos.is_empty()).then_some(inline_qos.as_slice()),
                source_timestamp,
            };
            let body = match shared {
                true => Body::Shared(payload.as_slice().into()),
                false => Body::Copy(&payload),
            };
            let result = node.writer.write(now, &change, body);
            if draws.chance(50_000) {
                node.writer.flush();
            }
            Some(result)
        });
        match result.flatten() {
            Some(Ok(number)) => self.wrote(writer, number),
            Some(Err(WriteError::Full { .. })) => {
                self.world.coverage.hit(Situation::WindowFull);
                if self.config.depth.is_some() && self.kept.len() > 1 {
                    self.evict(writer);
                } else if self.config.retain {
                    // It keeps all and has no room for more.
                    self.left = 0;
                    return;
                }
                self.world.schedule(now.after(Duration::from_millis(2)), Control::Write);
            }
            Some(Err(error)) => self.world.fail(Invariant::WithinLimits, format!("write failed: {error}")),
            None => {}
        }
    }

    pub(super) fn wrote(&mut self, writer: Guid, number: SequenceNumber) {
        self.left -= 1;
        self.written += 1;
        let verdict = self.judge.wrote(writer, number);
        self.rule(verdict);
        self.kept.push_back(number);
        while self.config.depth.is_some_and(|depth| self.kept.len() > depth) {
            self.evict(writer);
        }
        let nanos = self.random.below(self.config.interval.as_nanos().max(1) as u64);
        // Now and then several at once.
        let wait = if self.random.chance(300_000) { 0 } else { nanos };
        self.world.schedule(self.world.now().after(Duration::from_nanos(wait as i64)), Control::Write);
    }

    pub(super) fn evict(&mut self, writer: Guid) {
        let Some(number) = self.kept.pop_front() else { return };
        let held = self.world.command(WRITER, |node, _| match node.inner_mut() {
            PairNode::Writer(node) => node.writer.remove(number),
            PairNode::Reader(_) => false,
        });
        if self.judge.removed(writer, number) && held == Some(true) {
            self.world.coverage.hit(Situation::Eviction);
        }
    }
}

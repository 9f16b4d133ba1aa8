//! What the applications do: they write, and remove what they no longer want kept.
use rtps::participant::PublishError;
use rtps::writer::{Body, Change, WriteError};
use wire::message::PayloadKind;
use wire::parameter::InlineQos;
use wire::{Duration, Guid, SequenceNumber};

use super::run::{Control, Run};
use crate::coverage::Situation;
use crate::payload;
use crate::violation::Invariant;

impl Run<'_> {
    pub(super) fn write(&mut self, writer: Guid) {
        let Some(place) = self.endpoints.get(&writer).copied() else { return };
        let Some(plan) = self.plan(place).cloned() else { return };
        let node = place.0;
        let now = self.world.now();
        if self.publishers.get(&writer).is_none_or(|publisher| publisher.left == 0) {
            return;
        }
        if self.world.is_stalled(node) {
            return self.world.schedule(now.after(Duration::from_millis(5)), Control::Write(writer));
        }
        let mut draws = self.random.fork();
        let len = plan.sample_len(&mut draws);
        let shared = draws.coin();
        let result = self.world.command(node, |node, now| {
            let participant = node.inner_mut().participant_mut();
            let number = participant.writer(writer.entity_id)?.last().next();
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
            let result = participant.write(now, writer.entity_id, &change, body);
            if draws.chance(50_000) {
                participant.writer_mut(writer.entity_id)?.flush();
            }
            Some(result)
        });
        match result.flatten() {
            Some(Ok(number)) => self.wrote(writer, number, plan.depth, plan.interval),
            Some(Err(PublishError::Write(WriteError::Full { .. }))) => {
                self.world.coverage.hit(Situation::WindowFull);
                let kept = self.publishers.get(&writer).map_or(0, |publisher| publisher.kept.len());
                if plan.depth.is_some() && kept > 1 {
                    self.evict(writer);
                } else if plan.durable {
                    // It keeps all and has no room for more.
                    if let Some(publisher) = self.publishers.get_mut(&writer) {
                        publisher.left = 0;
                    }
                    return;
                }
                self.world.schedule(now.after(Duration::from_millis(2)), Control::Write(writer));
            }
            Some(Err(error)) => self.world.fail(Invariant::WithinLimits, format!("write failed: {error}")),
            None => self.world.fail(Invariant::NoPanic, format!("{writer} is gone")),
        }
        self.judge_node(node);
    }

    fn wrote(&mut self, writer: Guid, number: SequenceNumber, depth: Option<usize>, interval: Duration) {
        self.written += 1;
        let verdict = self.judge.wrote(writer, number);
        self.rule(verdict);
        let Some(publisher) = self.publishers.get_mut(&writer) else { return };
        publisher.left -= 1;
        publisher.kept.push_back(number);
        let over = depth.map_or(0, |depth| publisher.kept.len().saturating_sub(depth));
        (0..over).for_each(|_| self.evict(writer));
        let nanos = self.random.below(interval.as_nanos().max(1) as u64);
        // Now and then several at once.
        let wait = if self.random.chance(300_000) { 0 } else { nanos };
        let at = self.world.now().after(Duration::from_nanos(wait as i64));
        self.world.schedule(at, Control::Write(writer));
    }

    fn evict(&mut self, writer: Guid) {
        let publisher = self.publishers.get_mut(&writer);
        let Some(number) = publisher.and_then(|publisher| publisher.kept.pop_front()) else { return };
        let Some((node, _)) = self.endpoints.get(&writer).copied() else { return };
        let wanted = self.judge.removed(writer, number);
        let held = self.world.command(node, |node, _| {
            node.inner_mut()
                .participant_mut()
                .writer_mut(writer.entity_id)
                .is_some_and(|writer| writer.remove(number))
        });
        if wanted && held == Some(true) {
            self.world.coverage.hit(Situation::Eviction);
        }
    }
}

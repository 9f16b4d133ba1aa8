//! What the applications do in turn: they write, dispose, unregister and take.
use wire::{Duration, Guid};

use super::application::Made;
use super::run::{Control, Run};
use super::seen::Kind;
use crate::coverage::Situation;

impl Run<'_> {
    pub(super) fn write(&mut self, writer: Guid) {
        let Some(endpoint) = self.endpoints.get(&writer) else { return };
        let (node, index) = (endpoint.node, endpoint.index);
        let Some(plan) = self.plan((node, index)).cloned() else { return };
        let now = self.world.now();
        let Some(left) = self.publishers.get(&writer).copied().filter(|left| *left > 0) else { return };
        if self.world.is_stalled(node) {
            return self.world.schedule(now.after(Duration::from_millis(5)), Control::Write(writer));
        }
        let mut draws = self.random.fork();
        let instances = self.config.topics.get(plan.topic).map_or(1, |topic| topic.instances);
        let instance = draws.below(u64::from(instances)) as u32;
        let kind = match draws.below(100) {
            0..6 => Kind::Dispose,
            6..10 => Kind::Unregister,
            _ => Kind::Data,
        };
        let (len, serialized, flushes) =
            (plan.writes.sample_len(&mut draws), draws.coin(), draws.chance(50_000));
        let made = self.act(node, |node, _| {
            let application = node.application();
            let writer = application.writer(index)?;
            let made = application.change(&writer, kind, instance, len, serialized);
            if flushes && writer.raw.flush().is_err() {
                return None;
            }
            Some(made)
        });
        self.judge_node(node);
        match made.flatten() {
            Some(Made::Done) => self.written += 1,
            Some(Made::Full) => {
                self.world.coverage.hit(Situation::WindowFull);
                return self.world.schedule(now.after(Duration::from_millis(2)), Control::Write(writer));
            }
            Some(Made::FullForGood) => {
                self.world.coverage.hit(Situation::WindowFull);
                self.publishers.insert(writer, 0);
                return;
            }
            Some(Made::Nothing) | None => {}
        }
        self.publishers.insert(writer, left - 1);
        let nanos = self.random.below(plan.writes.interval.as_nanos().max(1) as u64);
        // Now and then several at once.
        let wait = if self.random.chance(300_000) { 0 } else { nanos };
        self.world.schedule(now.after(Duration::from_nanos(wait as i64)), Control::Write(writer));
    }

    pub(super) fn take(&mut self, reader: Guid) {
        let Some(endpoint) = self.endpoints.get(&reader) else { return };
        let (node, index) = (endpoint.node, endpoint.index);
        let Some(pause) = self.plan((node, index)).map(|plan| plan.reads.pause) else { return };
        if !self.world.is_stalled(node) {
            self.act(node, |node, _| {
                let application = node.application();
                if let Some(reader) = application.reader(index).filter(|_| !application.is_refusing()) {
                    application.take_some(&reader);
                }
            });
            self.judge_node(node);
        }
        let wait = Duration::from_nanos(
            self.random.within(1_000_000..=pause.as_nanos().max(1_000_001) as u64) as i64,
        );
        self.world.schedule(self.world.now().after(wait), Control::Take(reader));
    }
}

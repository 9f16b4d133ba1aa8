//! What is checked once everything has arrived, and how a run ends: silence, a last word of every writer, and good-bye.
use std::collections::BTreeMap;
use std::sync::Arc;

use dds::InstanceState;
use dds::qos::LivelinessKind;
use wire::{Duration, Guid, GuidPrefix};

use super::judge::{ReaderRecord, WriterRecord};
use super::run::Run;
use super::seen::Kind;
use crate::coverage::Situation;
use crate::invariants::Broken;
use crate::network::NodeId;
use crate::sabotage::Sabotaged;
use crate::violation::Invariant;

impl Run<'_> {
    /// Everything from the moment that all has arrived.
    pub(super) fn finish(&mut self) {
        self.rest();
        self.rule(Self::check_instances);
        self.quiet();
        self.rule(Self::check_statuses);
        self.last_words();
        self.part();
    }

    /// What is not required for certain may still be under way, or not be taken.
    fn rest(&mut self) {
        let patience = self.backlog_time();
        self.advance(self.world.now().after(patience).after(Duration::from_millis(500)));
    }

    fn rule(&mut self, check: impl FnOnce(&mut Self) -> Result<(), Broken>) {
        if self.goes_on()
            && let Err((invariant, what)) = check(self)
        {
            self.world.fail(invariant, what);
        }
    }

    /// Every two endpoints that should match have matched each other.
    pub(super) fn check_matches(&mut self) {
        self.rule(|run| {
            for writer in run.endpoints.keys() {
                for reader in run.endpoints.keys() {
                    let (should, sides) = (run.should_match(*writer, *reader), run.judge.sides(*writer, *reader));
                    if sides != [should; 2] {
                        let what = format!(
                            "{writer} and {reader} should have matched: {should}; sides of writer and reader: {sides:?}"
                        );
                        return Err((Invariant::Matches, what));
                    }
                }
            }
            Ok(())
        });
    }

    /// The state of every instance at every reader is what the writers have said of it last.
    fn check_instances(&mut self) -> Result<(), Broken> {
        for (reader, record) in self.judge.readers() {
            if record.plan.reads.max_samples.is_some() && !record.plan.reliable {
                continue;
            }
            for (instance, view) in &record.views {
                let Some(last) = view.last() else { continue };
                let is_held = self.judge.ever_accepted(*reader).any(|(writer, w)| {
                    let Some((number, change)) = w.last_of(*instance) else { return false };
                    // Of one that is not reliable, or that had lost sight of the reader meanwhile, the end may not have come.
                    let may_lack_end = !w.plan.reliable
                        || !record.plan.reliable
                        || self.judge.before_service(writer, *reader).is_none_or(|before| number <= before);
                    self.judge.sides(writer, *reader)[1] && (change.kind != Kind::Unregister || may_lack_end)
                });
                if last.state == InstanceState::Alive && !is_held {
                    let what =
                        format!("{reader}: instance {instance} is alive without writers, after {last:?}");
                    return Err((Invariant::Generations, what));
                }
            }
            self.check_last_states(*reader, record)?;
        }
        Ok(())
    }

    /// Of an instance with one writer, the last state is the one that it has said last.
    fn check_last_states(&self, reader: Guid, record: &ReaderRecord) -> Result<(), Broken> {
        for (writer, w) in self.judge.ever_accepted(reader) {
            let Some((from, before)) = self.judge.required(writer, reader) else { continue };
            for (instance, view) in &record.views {
                let Some((number, change)) = w.last_of(*instance).filter(|(number, _)| *number >= from)
                else {
                    continue;
                };
                let older = record.plan.by_source && self.judge.is_older(reader, writer, number, change);
                // Its end may have been cleaned up before the match.
                let cleaned = number <= before && w.has_cleaned(0, *instance);
                if self.judge.writers_of(reader, *instance) > 1 || older || cleaned {
                    continue;
                }
                let Some(last) = view.last() else { continue };
                // A writer whose liveliness was lost has left its instances. Ordered by source timestamp, what comes again after a
                // match that ended was there before.
                let may_leave = w.plan.lease.is_some()
                    || record.plan.by_source
                    || self.judge.was_found_again(writer, reader, number);
                let left = may_leave && last.state == InstanceState::NotAliveNoWriters;
                let expires = w.plan.writes.lifespan.is_some();
                let good = match change.kind {
                    // By source timestamp the notice of an end may stand behind what came after it.
                    Kind::Data => {
                        last.state == InstanceState::Alive && (last.number == number || record.plan.by_source)
                            || expires
                    }
                    Kind::Dispose => last.state == InstanceState::NotAliveDisposed || expires,
                    Kind::Unregister => last.state != InstanceState::Alive,
                };
                if !good && !left {
                    let what = format!(
                        "{reader}: instance {instance} is {last:?}, but {writer} last said {change:?}, #{number}"
                    );
                    return Err((Invariant::Generations, what));
                }
            }
        }
        Ok(())
    }

    /// For two leases nothing but announcements is sent, no match ends, and at last no participant knows one that is gone.
    fn quiet(&mut self) {
        self.advance(self.world.now().after(Duration::from_secs(1)));
        let nodes: Vec<NodeId> = (0..self.prefixes.len()).map(NodeId).collect();
        let before: Vec<u64> = nodes.iter().map(|node| self.world.sent(*node)).collect();
        let lasts = self.config.lease.scaled(2, 1);
        self.advance(self.world.now().after(lasts));
        if !self.goes_on() {
            return;
        }
        let periods = lasts.as_nanos() / self.config.announce_period.as_nanos().max(1) + 2;
        // An announcement goes out once for each group, and to each other participant, known or configured.
        let each = if self.config.multicast { 4 } else { 0 } + nodes.len() as u64;
        // Liveliness is asserted several times in a lease to each other participant, and acknowledged.
        let plans = self.config.participants.iter().flat_map(|participant| &participant.endpoints);
        let shortest = plans.filter(|plan| plan.is_writer).filter_map(|plan| plan.lease).min();
        let assertions = shortest.map_or(0, |millis| lasts.as_nanos() / 1_000_000 * 4 / millis + 2) as u64;
        let most = periods as u64 * 2 * each + assertions * 2 * nodes.len() as u64;
        for (node, before) in nodes.into_iter().zip(before) {
            let sent = self.world.sent(node) - before;
            if sent > most {
                let what = format!("n{} sends {sent} datagrams in {periods} announcement periods", node.0);
                self.world.fail(Invariant::Quiet, what);
            }
            if let Some(dead) =
                self.known(node).into_iter().find(|prefix| !self.prefixes.contains(&Some(*prefix)))
            {
                let what = format!("n{} believes in {dead}, which has been gone for two leases", node.0);
                self.world.fail(Invariant::Matches, what);
            }
        }
        self.check_victim();
    }

    /// The participants that a node believes to be there.
    fn known(&self, node: NodeId) -> Vec<GuidPrefix> {
        let participant = self.world.node(node).and_then(|node| node.inner().participant());
        let found = participant.map(|own| own.get_discovered_participants()).unwrap_or_default();
        found.iter().map(|other| other.data.prefix).collect()
    }

    /// What the statuses say agrees with what is known.
    fn check_statuses(&mut self) -> Result<(), Broken> {
        for (guid, endpoint) in &self.endpoints {
            let Some(node) = self.world.node(endpoint.node).map(Sabotaged::inner) else { continue };
            node.host().set_now(self.world.clock(endpoint.node));
            let application = Arc::clone(node.application());
            let count = |matching: &dyn Fn(Guid) -> bool| {
                self.endpoints.keys().filter(|other| matching(**other)).count() as u64
            };
            let broken = |what: String| Err((Invariant::Statuses, format!("{guid}: {what}")));
            if let Some(writer) = application.writer(endpoint.index) {
                let expected = count(&|reader| self.should_match(*guid, reader));
                let matched = writer.raw.get_publication_matched_status();
                if u64::from(matched.current.count) != expected || matched.total.count < expected {
                    return broken(format!("{expected} readers, but {matched:?}"));
                }
                let refused = count(&|reader| self.is_refused(*guid, reader));
                let incompatible = writer.raw.get_offered_incompatible_qos_status().total.count;
                if incompatible > 0 {
                    self.world.coverage.hit(Situation::NotMatched);
                }
                if incompatible < refused {
                    return broken(format!("{incompatible} incompatible readers, there are {refused}"));
                }
                let missed = writer.raw.get_offered_deadline_missed_status().total.count;
                if let Some(record) = self.judge.writers().get(guid) {
                    self.check_deadline(*guid, missed, writer.plan.deadline, record.periods.values())?;
                }
                let manual = writer.plan.liveliness != LivelinessKind::Automatic;
                let lost = writer.raw.get_liveliness_lost_status().total.count;
                if (lost > 0) != (manual && writer.plan.lease.is_some()) {
                    return broken(format!("liveliness was lost {lost} times, of {:?}", writer.plan));
                }
            }
            let Some(reader) = application.reader(endpoint.index) else { continue };
            let Some(record) = self.judge.readers().get(guid) else { continue };
            let expected = count(&|writer| self.should_match(writer, *guid));
            let matched = reader.raw.get_subscription_matched_status();
            if u64::from(matched.current.count) != expected || matched.total.count < expected {
                return broken(format!("{expected} writers, but {matched:?}"));
            }
            let refused = count(&|writer| self.is_refused(writer, *guid));
            let incompatible = reader.raw.get_requested_incompatible_qos_status().total.count;
            if incompatible < refused {
                return broken(format!("{incompatible} incompatible writers, there are {refused}"));
            }
            let silent = count(&|writer| self.should_match(writer, *guid) && self.is_silent(writer));
            let liveliness = reader.raw.get_liveliness_changed_status();
            let counts = [liveliness.alive.count, liveliness.not_alive.count].map(u64::from);
            if counts != [expected - silent, silent] {
                return broken(format!("{silent} of {expected} writers are silent, but {liveliness:?}"));
            }
            let (untaken, dropped) = (self.judge.untaken(*guid), reader.dropped());
            if untaken > dropped {
                let what = format!("{guid} has not got {untaken} samples and knows the reason of {dropped}");
                return Err((Invariant::NoLoss, what));
            }
            let missed = reader.raw.get_requested_deadline_missed_status().total.count;
            if missed > 0 {
                self.world.coverage.hit(Situation::DeadlineMissed);
            }
            if record.at_once {
                let periods = record.views.values().map(|view| &view.periods);
                self.check_deadline(*guid, missed, record.plan.deadline, periods)?;
            }
        }
        Ok(())
    }

    fn check_deadline<'a>(
        &self,
        guid: Guid,
        missed: u64,
        deadline: Option<i64>,
        periods: impl Iterator<Item = &'a super::deadline::Periods>,
    ) -> Result<(), Broken> {
        let now = self.world.now();
        let millis = deadline.unwrap_or(i64::MAX / 1_000_000);
        let bounds = periods.map(|periods| periods.missed(now, millis));
        let (least, most) = bounds.fold((0, 0), |(least, most), (a, b)| (least + a, most + b));
        if (least..=most).contains(&missed) {
            return Ok(());
        }
        let what = format!("{guid} has missed {missed} deadlines of {deadline:?} ms, not {least} to {most}");
        Err((Invariant::Deadlines, what))
    }

    /// Two endpoints of one topic and type that meet, and do not match because of their QoS.
    fn is_refused(&self, writer: Guid, reader: Guid) -> bool {
        let place = |guid| self.endpoints.get(&guid).map(|endpoint| (endpoint.node, endpoint.index));
        let (Some(w), Some(r)) = (place(writer), place(reader)) else { return false };
        let participant = |node: NodeId| self.config.participants.get(node.0);
        let others = |node| participant(node).map(|plan| (plan.tag, plan.other_type));
        let (Some(w_plan), Some(r_plan)) = (self.plan(w), self.plan(r)) else { return false };
        let same = w_plan.is_writer
            && !r_plan.is_writer
            && w_plan.topic == r_plan.topic
            && others(w.0) == others(r.0);
        same && !w_plan.suits(r_plan)
    }

    /// A writer that has been asked for a sign of life, and has given none for longer than its lease: all have been quiet.
    fn is_silent(&self, writer: Guid) -> bool {
        let plan = self.judge.writers().get(&writer).map(|record| &record.plan);
        plan.is_some_and(|plan| plan.liveliness != LivelinessKind::Automatic && plan.lease.is_some())
    }

    /// Every writer writes every instance twice: of exclusive ones only the owner gets through the second time.
    fn last_words(&mut self) {
        let mut rounds: Vec<BTreeMap<(Guid, u32), i64>> = Vec::new();
        for _ in 0..2 {
            let round = self.write_everywhere();
            rounds.push(round);
            self.let_arrive();
            self.rest();
            if !self.goes_on() {
                return;
            }
        }
        let [first, second] = rounds.as_slice() else { return };
        self.rule(|run| run.check_owners(first, second));
    }

    /// One sample of every writer for every instance of its topic: their numbers.
    fn write_everywhere(&mut self) -> BTreeMap<(Guid, u32), i64> {
        let writers: Vec<Guid> = self.publishers.keys().copied().collect();
        let mut numbers = BTreeMap::new();
        for writer in writers {
            let Some(endpoint) = self.endpoints.get(&writer) else { continue };
            let (node, index) = (endpoint.node, endpoint.index);
            let topic = self.plan((node, index)).and_then(|plan| self.config.topics.get(plan.topic));
            for instance in 0..topic.map_or(0, |topic| topic.instances) {
                let made = self.act(node, |node, _| {
                    let application = node.application();
                    let writer = application.writer(index)?;
                    Some(application.change(&writer, Kind::Data, instance, 30, instance.is_multiple_of(2)))
                });
                self.judge_node(node);
                let last = self.judge.writers().get(&writer).map_or(0, WriterRecord::last);
                if made.flatten() == Some(super::application::Made::Done) {
                    self.written += 1;
                    numbers.insert((writer, instance), last);
                }
            }
        }
        numbers
    }

    /// In the second round, only the strongest of the writers that wrote in both got through.
    fn check_owners(
        &mut self,
        first: &BTreeMap<(Guid, u32), i64>,
        second: &BTreeMap<(Guid, u32), i64>,
    ) -> Result<(), Broken> {
        for (reader, record) in self.judge.readers() {
            let plan = &record.plan;
            if !plan.exclusive || !plan.reliable || plan.deadline.is_some() {
                continue;
            }
            let instances = self.config.topics.get(plan.topic).map_or(0, |topic| topic.instances);
            for instance in 0..instances {
                let writers =
                    self.judge.writers().iter().filter(|(guid, _)| self.should_match(**guid, *reader));
                let wrote = |guid: &Guid| {
                    first.contains_key(&(*guid, instance)) && second.contains_key(&(*guid, instance))
                };
                let writers: Vec<_> = writers.collect();
                // One that could not write, may be silent, is not heard for certain, or whose samples may expire on the way, may own
                // as well as not.
                let sure = |(guid, w): &(&Guid, &WriterRecord)| {
                    wrote(guid)
                        && w.plan.reliable
                        && w.plan.writes.lifespan.is_none()
                        && !self.is_silent(**guid)
                };
                if !writers.iter().all(sure) {
                    continue;
                }
                let rank =
                    |(guid, w): &(&Guid, &WriterRecord)| (w.plan.writes.strength, std::cmp::Reverse(**guid));
                let Some(owner) = writers.iter().copied().max_by_key(rank) else { continue };
                for (guid, _) in writers {
                    let Some(number) = second.get(&(*guid, instance)).copied() else { continue };
                    let got = record.taken.contains_key(&(*guid, number));
                    let may_lack = plan.by_source || plan.depth.is_some();
                    let is_owner = guid == owner.0;
                    if got && !is_owner || !got && is_owner && !may_lack {
                        let what = format!(
                            "{reader}, instance {instance}: taken #{number} of {guid}: {got}, but the owner is {}",
                            owner.0
                        );
                        return Err((Invariant::Ownership, what));
                    }
                }
            }
        }
        Ok(())
    }

    /// All participants leave but one, which forgets them; then it leaves too.
    fn part(&mut self) {
        if !self.goes_on() {
            return;
        }
        self.settled = false;
        let nodes: Vec<NodeId> = (0..self.prefixes.len())
            .map(NodeId)
            .filter(|node| self.prefixes.get(node.0).is_some_and(Option::is_some))
            .collect();
        let Some(stays) = self.random.pick(&nodes) else { return };
        for node in nodes.into_iter().filter(|node| *node != stays) {
            self.leave(node);
            self.judge_node(stays);
        }
        self.advance(self.world.now().after(self.config.lease.scaled(2, 1)).after(Duration::from_secs(1)));
        self.rule(|run| run.check_alone(stays));
        if self.goes_on() {
            self.leave(stays);
        }
        self.rule(|run| match run.released.iter().find(|(_, token)| token.strong_count() > 0) {
            Some((guid, _)) => {
                Err((Invariant::NothingHeld, format!("{guid} is deleted and still in memory")))
            }
            None => Ok(()),
        });
    }

    /// A participant that is alone holds nothing of others.
    fn check_alone(&mut self, node: NodeId) -> Result<(), Broken> {
        let held = |what: String| Err((Invariant::NothingHeld, format!("n{} is alone: {what}", node.0)));
        if let Some(known) = self.known(node).first() {
            return held(format!("it believes in {known}"));
        }
        let own = self.prefixes.get(node.0).copied().flatten();
        // Whatever readers still have is taken first.
        self.act(node, |node, _| {
            let application = node.application();
            application.readers().iter().for_each(|reader| application.take(reader));
        });
        self.judge_node(node);
        let Some(inner) = self.world.node(node).map(Sabotaged::inner) else { return Ok(()) };
        let endpoints = inner.participant().map(|own| own.get_discovered_endpoints()).unwrap_or_default();
        if let Some(other) = endpoints.iter().find(|endpoint| Some(endpoint.guid.prefix) != own) {
            return held(format!("it believes in {}", other.guid));
        }
        for reader in inner.application().readers() {
            let writers = reader.raw.get_matched_publications().len();
            let memory = reader.raw.held().map_err(|error| (Invariant::NoPanic, error.to_string()))?;
            if writers == 0
                && (memory.bytes, memory.waiting, memory.samples, memory.instances) != (0, 0, 0, 0)
            {
                return held(format!("{} has no writers and {memory:?}", reader.guid));
            }
        }
        for writer in inner.application().writers() {
            let readers = writer.raw.get_matched_subscriptions().len();
            let memory = writer.raw.held().map_err(|error| (Invariant::NoPanic, error.to_string()))?;
            if readers == 0 && !writer.plan.durable && memory.samples != 0 {
                return held(format!("{} has no readers and {memory:?}", writer.guid));
            }
        }
        Ok(())
    }
}

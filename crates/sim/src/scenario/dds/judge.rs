//! What the applications did and saw, and whether that agrees: matches, what is required of a stream, what excuses a gap.
//!
//! As for the streams of [`crate::invariants`], a service begins and ends with the writer's match, an acceptance with the reader's. What
//! is required of a reliable stream while both last is required of the application's takes here, so that HISTORY, LIFESPAN,
//! OWNERSHIP and DESTINATION_ORDER may keep samples from it: each as far as can be seen from outside that it may.
use std::collections::BTreeMap;

use wire::{Guid, Instant, SequenceNumber, Timestamp};

use super::config::EndpointPlan;
use super::deadline::Periods;
use super::seen::{Asked, Kind, Seen, Taken};
use super::view::View;
use crate::coverage::{Coverage, Situation};
use crate::invariants::Broken;
use crate::payload;
use crate::violation::Invariant;

/// All that the judge knows.
#[derive(Debug, Default)]
pub(super) struct Judge {
    writers: BTreeMap<Guid, WriterRecord>,
    readers: BTreeMap<Guid, ReaderRecord>,
    streams: BTreeMap<(Guid, Guid), Stream>,
    delivered: u64,
}

/// A writer, also one that is gone: what it wrote may still be under way.
#[derive(Debug)]
pub(super) struct WriterRecord {
    pub(super) plan: EndpointPlan,
    pub(super) lives: bool,
    /// No clock showed a later time when it was deleted: it unregistered then what it had written, or disposed of it.
    pub(super) deleted: Option<Timestamp>,
    /// It has changed its partition: who is matched with it again gets its history again.
    pub(super) moved: bool,
    /// Its changes; the first has number 1.
    pub(super) changes: Vec<Written>,
    /// Its DEADLINE, by instance.
    pub(super) periods: BTreeMap<u32, Periods>,
}

/// A change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) kind: Kind,
    pub(super) instance: u32,
    pub(super) source: Timestamp,
    pub(super) at: Instant,
}

/// A reader.
#[derive(Debug)]
pub(super) struct ReaderRecord {
    pub(super) plan: EndpointPlan,
    /// By writer and number: how often it was taken.
    pub(super) taken: BTreeMap<(Guid, i64), u32>,
    /// By instance.
    pub(super) views: BTreeMap<u32, View>,
    /// As of a writer.
    moved: bool,
    /// It has always taken at once.
    pub(super) at_once: bool,
    /// Writers that are not alive.
    pub(super) not_alive: u32,
    /// When a writer last came, went, or changed its liveliness.
    pub(super) changed_at: Instant,
}

#[derive(Debug, Default)]
struct Stream {
    /// The first number of the service that is required, if one lasts; and how many changes there were when it began.
    service: Option<(i64, i64)>,
    /// No number below is required, if an acceptance lasts.
    acceptance: Option<i64>,
    /// Acceptances that overlap the service, and all that ever were.
    acceptances: u32,
    ever: u32,
    services: u32,
}

/// What the clocks of hosts may have shown, for LIFESPAN.
pub(super) trait Clocks {
    /// The latest time that any wall clock may have shown until now.
    fn latest(&self) -> Timestamp;
}

impl WriterRecord {
    pub(super) fn last(&self) -> i64 {
        self.changes.len() as i64
    }

    pub(super) fn change(&self, number: i64) -> Option<&Written> {
        self.changes.get(usize::try_from(number - 1).ok()?)
    }

    /// The changes of an instance after a number, with their numbers.
    fn after(&self, number: i64, instance: u32) -> impl Iterator<Item = (i64, &Written)> {
        let from = usize::try_from(number).unwrap_or(0);
        let numbered = self.changes.iter().zip(1..).skip(from).map(|(change, number)| (number, change));
        numbered.filter(move |(_, change)| change.instance == instance)
    }

    /// True if HISTORY lets go of a sample by now.
    fn has_replaced(&self, number: i64) -> bool {
        let (Some(depth), Some(change)) = (self.plan.depth, self.change(number)) else { return false };
        let later = || self.after(number, change.instance);
        let newer = later().filter(|(_, change)| change.kind == Kind::Data).count();
        newer >= depth as usize || later().count() > 2 * depth as usize
    }

    /// True if the instance of a sample was disposed and unregistered after it.
    pub(super) fn has_cleaned(&self, number: i64, instance: u32) -> bool {
        let mut disposed = self.plan.writes.autodispose;
        self.after(number, instance).any(|(_, change)| {
            disposed |= change.kind == Kind::Dispose;
            disposed && change.kind == Kind::Unregister
        })
    }

    /// The last change of an instance, with its number.
    pub(super) fn last_of(&self, instance: u32) -> Option<(i64, &Written)> {
        self.after(0, instance).last()
    }
}

impl Judge {
    /// A writer or reader exists from now on.
    pub(super) fn add(&mut self, guid: Guid, plan: EndpointPlan) {
        if plan.is_writer {
            let (changes, periods) = (Vec::new(), BTreeMap::new());
            self.writers.insert(
                guid,
                WriterRecord { plan, lives: true, deleted: None, moved: false, changes, periods },
            );
        } else {
            let at_once = plan.reads.eager;
            self.readers.insert(
                guid,
                ReaderRecord {
                    plan,
                    taken: BTreeMap::new(),
                    views: BTreeMap::new(),
                    moved: false,
                    at_once,
                    not_alive: 0,
                    changed_at: Instant::START,
                },
            );
        }
    }

    /// A writer or reader is gone: nothing is required of it any more. `deleted` is the latest time that a clock shows, unless it has crashed.
    pub(super) fn forget(&mut self, guid: Guid, deleted: Option<Timestamp>) {
        if let Some(writer) = self.writers.get_mut(&guid) {
            (writer.lives, writer.deleted) = (false, deleted);
        }
        self.readers.remove(&guid);
        for ((writer, reader), stream) in &mut self.streams {
            if *writer == guid || *reader == guid {
                stream.service = None;
            }
        }
    }

    /// A writer or reader changes its partition.
    pub(super) fn moves(&mut self, guid: Guid) {
        if let Some(writer) = self.writers.get_mut(&guid) {
            writer.moved = true;
        } else if let Some(reader) = self.readers.get_mut(&guid) {
            reader.moved = true;
        }
    }

    /// A reader does not take at once any more.
    pub(super) fn slows(&mut self, reader: Guid) {
        if let Some(record) = self.readers.get_mut(&reader) {
            record.at_once = false;
        }
    }

    /// Samples taken so far.
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn writers(&self) -> &BTreeMap<Guid, WriterRecord> {
        &self.writers
    }

    pub(super) fn readers(&self) -> &BTreeMap<Guid, ReaderRecord> {
        &self.readers
    }

    pub(super) fn view_mut(&mut self, reader: Guid, instance: u32) -> Option<&mut View> {
        self.readers.get_mut(&reader)?.views.get_mut(&instance)
    }

    /// Whether the writer's side and the reader's have matched the other.
    pub(super) fn sides(&self, writer: Guid, reader: Guid) -> [bool; 2] {
        let stream = self.streams.get(&(writer, reader));
        stream.map_or([false; 2], |stream| [stream.service.is_some(), stream.acceptance.is_some()])
    }

    /// How many changes there were when the service that lasts began.
    pub(super) fn before_service(&self, writer: Guid, reader: Guid) -> Option<i64> {
        Some(self.streams.get(&(writer, reader))?.service?.1)
    }

    /// Writers that a reader has ever accepted.
    pub(super) fn ever_accepted(&self, reader: Guid) -> impl Iterator<Item = (Guid, &WriterRecord)> {
        let streams = self.streams.iter().filter(move |((_, of), stream)| *of == reader && stream.ever > 0);
        streams.filter_map(|((writer, _), _)| Some((*writer, self.writers.get(writer)?)))
    }

    /// Judges what an application saw or did.
    pub(super) fn observe(
        &mut self,
        now: Instant,
        seen: &Seen,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        match seen {
            Seen::Asks(asked) => self.ask(now, asked)?,
            Seen::Refused { writer } => {
                if let Some(record) = self.writers.get_mut(writer)
                    && let Some(change) = record.changes.pop()
                    && let Some(periods) = record.periods.get_mut(&change.instance)
                {
                    periods.undo();
                }
            }
            Seen::Taken(taken) => self.take(now, taken, coverage)?,
            Seen::Service { writer, reader, begins: true } => self.begin_service(*writer, *reader, coverage),
            Seen::Acceptance { writer, reader, begins: true } => {
                self.begin_acceptance(*writer, *reader, coverage);
                self.change(*reader, now);
            }
            Seen::Service { writer, reader, begins: false } => {
                if let Some(stream) = self.streams.get_mut(&(*writer, *reader)) {
                    stream.service = None;
                }
            }
            Seen::Acceptance { writer, reader, begins: false } => {
                if let Some(stream) = self.streams.get_mut(&(*writer, *reader)) {
                    stream.acceptance = None;
                }
                self.change(*reader, now);
            }
            Seen::Liveliness { reader, not_alive } => {
                self.change(*reader, now);
                if let Some(record) = self.readers.get_mut(reader) {
                    if *not_alive > record.not_alive {
                        coverage.hit(Situation::LivelinessLost);
                    }
                    record.not_alive = *not_alive;
                }
            }
            Seen::Odd(invariant, what) => return Err((*invariant, what.clone())),
        }
        Ok(())
    }

    fn change(&mut self, reader: Guid, now: Instant) {
        if let Some(record) = self.readers.get_mut(&reader) {
            record.changed_at = now;
        }
    }

    fn ask(&mut self, now: Instant, asked: &Asked) -> Result<(), Broken> {
        let Some(record) = self.writers.get_mut(&asked.writer) else { return Ok(()) };
        let Asked { kind, instance, source, .. } = *asked;
        record.changes.push(Written { kind, instance, source, at: now });
        if let Some(deadline) = record.plan.deadline {
            let periods = record.periods.entry(instance).or_default();
            match kind {
                Kind::Data => periods.begin(now, deadline),
                Kind::Dispose | Kind::Unregister => periods.end(now, deadline),
            }
        }
        match record.last() == asked.number {
            true => Ok(()),
            false => Err((Invariant::InOrder, format!("{} lost count at {}", asked.writer, asked.number))),
        }
    }

    fn begin_service(&mut self, writer: Guid, reader: Guid, coverage: &mut Coverage) {
        let (Some(w), Some(r)) = (self.writers.get(&writer), self.readers.get(&reader)) else { return };
        let first = if w.plan.durable && r.plan.durable { 1 } else { w.last() + 1 };
        let stream = self.streams.entry((writer, reader)).or_default();
        stream.service = Some((first, w.last()));
        stream.services += 1;
        stream.acceptances = u32::from(stream.acceptance.is_some());
        if stream.services > 1 {
            coverage.hit(match stream.acceptance {
                Some(_) => Situation::OneSidedRematch,
                None => Situation::Rematch,
            });
        }
    }

    fn begin_acceptance(&mut self, writer: Guid, reader: Guid, coverage: &mut Coverage) {
        let last = self.writers.get(&writer).map_or(0, WriterRecord::last);
        let stream = self.streams.entry((writer, reader)).or_default();
        stream.acceptances += 1;
        stream.acceptance = Some(if stream.acceptances > 1 { last + 1 } else { 0 });
        if stream.ever > 0 {
            coverage.hit(match stream.service {
                Some(_) => Situation::OneSidedRematch,
                None => Situation::Rematch,
            });
        }
        stream.ever += 1;
    }

    /// The numbers that are required of a stream: from the first on, and how many there were when the service began.
    pub(super) fn required(&self, writer: Guid, reader: Guid) -> Option<(i64, i64)> {
        let (w, r) = (self.writers.get(&writer)?, self.readers.get(&reader)?);
        let stream = self.streams.get(&(writer, reader))?;
        let ((first, before), floor) = (stream.service?, stream.acceptance?);
        let from = if w.plan.durable && r.plan.durable { first } else { first.max(floor) };
        (w.lives && w.plan.reliable && r.plan.reliable).then_some((from, before))
    }

    fn take(&mut self, now: Instant, taken: &Taken, coverage: &mut Coverage) -> Result<(), Broken> {
        let Taken { reader, writer, number, .. } = *taken;
        let (Some(record), Some(source)) = (self.readers.get_mut(&reader), self.writers.get(&writer)) else {
            let what = format!("{reader} was given #{number} of {writer}, which is not known");
            return if self.readers.contains_key(&reader) {
                Err((Invariant::NoPhantom, what))
            } else {
                Ok(())
            };
        };
        let ever = self.streams.get(&(writer, reader)).map_or(0, |stream| stream.ever);
        let Some(instance) = taken.instance else {
            return Err((Invariant::Intact, format!("{reader}: #{number} of {writer} has a wrong key")));
        };
        if ever == 0 {
            let what = format!("{reader} was given #{number} of {writer} without a match");
            return Err((Invariant::NoPhantom, what));
        }
        let most = if goes_on(source, record) { 1 } else { ever };
        record.at_once &= taken.at_once;
        if taken.at_once {
            coverage.hit(Situation::TakenInCallback);
        }
        if let Some(octets) = &taken.octets {
            check_data(source, taken, instance, octets)?;
            let times = record.taken.entry((writer, number)).or_default();
            *times += 1;
            if *times > most {
                let what = format!(
                    "{reader} was given #{number} of {writer} {times} times, not {most}, in {ever} matches"
                );
                return Err((Invariant::NoDuplicate, what));
            }
            self.delivered += 1;
            let history = self.streams.get(&(writer, reader)).and_then(|stream| stream.service);
            if history.is_some_and(|(_, before)| number <= before) {
                coverage.hit(Situation::History);
            }
        }
        let view = record.views.entry(instance).or_default();
        view.take(now, taken, &record.plan, [most, ever], coverage)?;
        self.check_owner(taken, instance, now, coverage)
    }

    /// The first sample that is required and has neither been taken nor is excused, in words.
    pub(super) fn pending(&self, clocks: &dyn Clocks) -> Option<Broken> {
        self.streams.keys().find_map(|(writer, reader)| {
            let (from, before) = self.required(*writer, *reader)?;
            let (w, r) = (self.writers.get(writer)?, self.readers.get(reader)?);
            let lacks = |number: &i64| {
                w.change(*number).is_some_and(|change| change.kind == Kind::Data)
                    && !r.taken.contains_key(&(*writer, *number))
                    && !self.is_excused((*writer, w), (*reader, r), *number, before, clocks)
            };
            let missing = (from..=w.last()).find(lacks)?;
            let instance = w.change(missing)?.instance;
            let passed = w.after(missing, instance).any(|(later, _)| r.taken.contains_key(&(*writer, later)));
            let rule = if passed { Invariant::NoLoss } else { Invariant::Converges };
            let last = w.last();
            Some((
                rule,
                format!(
                    "{reader} lacks #{missing} of {writer}, instance {instance} (of {last}, from {from})"
                ),
            ))
        })
    }

    /// How many samples of those written during the matches that last have not been taken by a reader, whatever the reason. Streams
    /// whose samples expire are left out: no writer tells of one that expires before it is sent.
    pub(super) fn untaken(&self, reader: Guid) -> u64 {
        let Some(record) = self.readers.get(&reader) else { return 0 };
        let streams = self.streams.keys().filter(|(_, of)| *of == reader);
        let counts = streams.filter_map(|(writer, _)| {
            let ((from, before), w) = (self.required(*writer, reader)?, self.writers.get(writer)?);
            // What HISTORY of the writer has replaced is irrelevant to the reader, which is a reason that is not counted.
            let untaken = |number: &i64| {
                w.change(*number).is_some_and(|change| change.kind == Kind::Data)
                    && !record.taken.contains_key(&(*writer, *number))
                    && !w.has_replaced(*number)
            };
            let counts = w.plan.writes.lifespan.is_none();
            counts.then(|| (from.max(before + 1)..=w.last()).filter(untaken).count() as u64)
        });
        counts.sum()
    }

    /// Whether a policy may have kept a sample from a reader.
    pub(super) fn is_excused(
        &self,
        (writer, w): (Guid, &WriterRecord),
        (reader, r): (Guid, &ReaderRecord),
        number: i64,
        before: i64,
        clocks: &dyn Clocks,
    ) -> bool {
        let Some(change) = w.change(number) else { return true };
        let instance = change.instance;
        // HISTORY of the writer.
        let replaced = w.has_replaced(number);
        // HISTORY of the reader.
        let view = r.views.get(&instance);
        let overtaken = r.plan.depth.zip(view).is_some_and(|(depth, view)| {
            let taken = view.taken_since(change.at, writer, number);
            taken + self.mortal(reader, writer, instance) >= depth as usize
        });
        // LIFESPAN.
        let expired = w.plan.writes.lifespan.is_some_and(|millis| {
            change.source.as_nanos().saturating_add(millis * 1_000_000) <= clocks.latest().as_nanos()
        });
        // DURABILITY_SERVICE: what was disposed and unregistered is not kept for those who come later.
        let cleaned = number <= before && w.has_cleaned(number, instance);
        replaced
            || overtaken
            || expired
            || cleaned
            || r.plan.by_source && self.is_older(reader, writer, number, change)
            || r.plan.exclusive && self.writers_of(reader, instance) > 1
    }

    /// Samples of an instance by other writers, of whatever time, that may have replaced one at a reader and expired themselves.
    fn mortal(&self, reader: Guid, writer: Guid, instance: u32) -> usize {
        let others = self.ever_accepted(reader).filter(|(other, _)| *other != writer);
        let mortal = others.filter(|(_, record)| record.plan.writes.lifespan.is_some());
        let changes = mortal.flat_map(|(_, record)| record.after(0, instance));
        changes.filter(|(_, change)| change.kind == Kind::Data).count()
    }

    /// Whether a change of an instance with a later source timestamp may have come before this one.
    pub(super) fn is_older(&self, reader: Guid, writer: Guid, number: i64, change: &Written) -> bool {
        self.ever_accepted(reader).any(|(other, record)| {
            let wrote = || record.last_of(change.instance).is_some();
            let by_deletion = record.deleted.is_some_and(|at| at >= change.source) && wrote();
            let by_change = || {
                record.after(0, change.instance).any(|(later, by)| {
                    let is_first = other != writer || later < number;
                    is_first && (by.source, other, later) >= (change.source, writer, number)
                })
            };
            by_deletion || by_change()
        })
    }

    /// Whether a reader has lost a writer after it took a sample, and found it again: the sample does not make its instance alive again.
    pub(super) fn was_found_again(&self, writer: Guid, reader: Guid, number: i64) -> bool {
        let (Some(w), Some(r)) = (self.writers.get(&writer), self.readers.get(&reader)) else { return false };
        let ever = self.streams.get(&(writer, reader)).map_or(0, |stream| stream.ever);
        ever > 1 && goes_on(w, r) && r.taken.contains_key(&(writer, number))
    }

    /// How many of the writers that a reader has ever accepted have written an instance.
    pub(super) fn writers_of(&self, reader: Guid, instance: u32) -> usize {
        self.ever_accepted(reader).filter(|(_, record)| record.last_of(instance).is_some()).count()
    }
}

/// A reliable reader that has lost a writer with its participant and found it again goes on where it was.
const fn goes_on(writer: &WriterRecord, reader: &ReaderRecord) -> bool {
    writer.plan.reliable && reader.plan.reliable && !writer.moved && !reader.moved
}

/// A sample with data is what was written.
fn check_data(source: &WriterRecord, taken: &Taken, instance: u32, bytes: &[u8]) -> Result<(), Broken> {
    let Taken { reader, writer, number, .. } = *taken;
    let Some(change) = source.change(number).filter(|change| change.kind == Kind::Data) else {
        let what = format!("{reader} was given #{number} of {writer}, which wrote {}", source.last());
        return Err((Invariant::NoPhantom, what));
    };
    payload::check(writer, SequenceNumber(number), bytes).map_err(|what| (Invariant::Intact, what))?;
    if (change.instance, change.source) != (instance, taken.source) {
        let what = format!("#{number} of {writer}: instance {instance}, {:?} for {change:?}", taken.source);
        return Err((Invariant::Intact, what));
    }
    let expires = source.plan.writes.lifespan.map(|millis| taken.source.as_nanos() + millis * 1_000_000);
    if expires.is_some_and(|expires| expires <= taken.wall.as_nanos()) {
        let what =
            format!("{reader} was given #{number} of {writer} at {:?}, after its lifespan", taken.wall);
        return Err((Invariant::Lifespan, what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use wire::EntityId;

    use super::*;
    use crate::random::Random;
    use crate::scenario::dds::Config;

    #[test]
    fn a_writer_that_is_deleted_unregisters_later_than_others_have_written() {
        let guid = |number| Guid { entity_id: EntityId([0, 0, number, 2]), ..Guid::default() };
        let (reader, writer, other) = (guid(1), guid(2), guid(3));
        let config = Config::draw(&mut Random::new(1));
        let plan = config.participants.iter().flat_map(|participant| &participant.endpoints).next().unwrap();
        let (mut judge, mut coverage) = (Judge::default(), Coverage::new());
        judge.add(reader, EndpointPlan { is_writer: false, ..plan.clone() });
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        for (name, instance) in [(writer, 1), (other, 1)] {
            judge.add(name, EndpointPlan { is_writer: true, ..plan.clone() });
            let begins = Seen::Acceptance { writer: name, reader, begins: true };
            judge.observe(Instant::START, &begins, &mut coverage).unwrap();
            let asked = Asked { writer: name, number: 1, kind: Kind::Data, instance, source: at(0) };
            judge.observe(Instant::START, &Seen::Asks(asked), &mut coverage).unwrap();
        }
        let change = Written { kind: Kind::Data, instance: 1, source: at(5), at: Instant::START };
        let is_older = |judge: &Judge, change| judge.is_older(reader, writer, 2, change);
        assert!(!is_older(&judge, &change));
        judge.forget(other, None);
        assert!(!is_older(&judge, &change));
        judge.forget(other, Some(at(4)));
        assert!(!is_older(&judge, &change));
        judge.forget(other, Some(at(5)));
        assert!(is_older(&judge, &change));
        assert!(!is_older(&judge, &Written { instance: 2, ..change }));
    }
}

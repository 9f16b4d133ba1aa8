//! Whether what SEDP has told of a participant is what that participant has said.
//!
//! A change that was forged takes the place of one that the participant makes later, which then counts as a duplicate. So of each
//! endpoint is remembered which change told of it, and the digest of its record. A participant of Punctual says in its
//! announcements what these amount to ([`EndpointsSummary`]): if the reader has something else, it reads everything again, and
//! what does not come again goes.
use alloc::vec::Vec;

use wire::discovery::EndpointsSummary;
use wire::md5::md5;
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant, SequenceNumber};

use wire::sorted::SortedMap;

/// The same writer is not read again before, whatever is announced.
const PAUSE: Duration = Duration::from_secs(1);
/// Where a summary did not fit after everything was read again, the same summary counts after this wait, which doubles so many times.
const WAIT: Duration = Duration::from_secs(3);
const DOUBLINGS: u32 = 7;

/// What a change of an SEDP writer has left behind.
#[derive(Clone, Copy, Debug)]
struct Record {
    number: SequenceNumber,
    digest: [u8; 16],
    /// It has come since the writer is read again.
    is_fresh: bool,
}

/// How far one writer was read.
#[derive(Debug)]
struct Reading {
    /// The digest of all records, until one changes.
    digest: Option<[u8; 16]>,
    /// Something has changed since the writer was asked how far it has got.
    has_news: bool,
    /// Everything is being read again: what the reader expected before, and at the last announcement.
    again: Option<(SequenceNumber, SequenceNumber)>,
    /// When that may be begun once more.
    again_after: Instant,
    /// The summary for which that was done last, how often in vain, and when the same summary counts again.
    summary: Option<EndpointsSummary>,
    in_vain: u32,
    counts_after: Instant,
    /// The last announcement did not fit: one alone may have been overtaken by a change.
    is_doubted: bool,
    /// Where the reader stood at the last announcement, if that was behind the writer.
    behind: Option<SequenceNumber>,
}

impl Reading {
    const fn new() -> Self {
        Self {
            digest: None,
            has_news: false,
            again: None,
            again_after: Instant::START,
            summary: None,
            in_vain: 0,
            counts_after: Instant::START,
            is_doubted: false,
            behind: None,
        }
    }
}

/// What is to be done with an SEDP writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Doubt {
    /// Nothing.
    None,
    /// It has got further than the reader.
    Behind,
    /// It is asked whether it has got as far as the reader.
    Unconfirmed,
    /// It is read from its first change on, once more.
    ReadAgain,
    /// It repeats nothing: it is read from this change on, as before.
    GoOn(SequenceNumber),
}

/// See the module. Writers are named by their GUIDs.
#[derive(Debug, Default)]
pub(super) struct Readings {
    records: SortedMap<Guid, Record>,
    readings: SortedMap<Guid, Reading>,
}

impl Readings {
    /// A change tells of an endpoint by these bytes.
    pub(super) fn note(&mut self, writer: Guid, number: SequenceNumber, endpoint: Guid, bytes: &[u8]) {
        let record = Record { number, digest: md5(bytes), is_fresh: true };
        self.records.insert(endpoint, record);
        self.changed(writer);
    }

    /// A change tells that an endpoint is gone, or there was no room for it: then it counts as not read.
    pub(super) fn note_gone(&mut self, writer: Guid, endpoint: Guid) {
        self.records.remove(&endpoint);
        self.changed(writer);
    }

    fn changed(&mut self, writer: Guid) {
        let reading = self.readings.get_or_insert_with(writer, Reading::new);
        (reading.digest, reading.has_news) = (None, true);
    }

    pub(super) fn forget(&mut self, writer: Guid) {
        let endpoints: Vec<Guid> = self.of(writer).map(|(guid, _)| guid).collect();
        for endpoint in endpoints {
            self.records.remove(&endpoint);
        }
        self.readings.remove(&writer);
    }

    /// The endpoints that a writer tells of, in order.
    fn of(&self, writer: Guid) -> impl Iterator<Item = (Guid, &Record)> {
        let (first, last) = all_of(writer.prefix);
        let writers = writer.entity_id == EntityId::SEDP_PUBLICATIONS_WRITER;
        let records = self.records.range(first..=last);
        records
            .filter(move |(guid, _)| guid.entity_id.is_writer() == writers)
            .map(|(guid, record)| (*guid, record))
    }

    /// A participant announces itself, and what one of its writers amounts to unless it is of another vendor; `next` is what the reader
    /// expects of that writer.
    pub(super) fn announced(
        &mut self,
        now: Instant,
        writer: Guid,
        next: SequenceNumber,
        summary: Option<EndpointsSummary>,
    ) -> Doubt {
        let reading = self.readings.get_or_insert_with(writer, Reading::new);
        if let Some((before, at)) = reading.again {
            reading.again = Some((before, next));
            if at != next {
                return Doubt::None;
            }
            reading.again = None;
            return Doubt::GoOn(before.max(next));
        }
        match summary {
            Some(summary) => self.compare(now, writer, next, summary),
            None if core::mem::take(&mut reading.has_news) => Doubt::Unconfirmed,
            None => Doubt::None,
        }
    }

    fn compare(
        &mut self,
        now: Instant,
        writer: Guid,
        next: SequenceNumber,
        announced: EndpointsSummary,
    ) -> Doubt {
        let have = next.prev();
        let known = self.readings.get(&writer).and_then(|reading| reading.digest);
        let digest = known.unwrap_or_else(|| digest_of(self.of(writer).map(|(_, record)| &record.digest)));
        let reading = self.readings.get_or_insert_with(writer, Reading::new);
        reading.digest = Some(digest);
        if announced.last > have {
            // It may be under way, but not for so long.
            let stands = reading.behind.replace(have) == Some(have);
            return if stands { Doubt::Behind } else { Doubt::None };
        }
        reading.behind = None;
        if announced == (EndpointsSummary { last: have, digest }) {
            (reading.summary, reading.in_vain, reading.is_doubted) = (None, 0, false);
            return Doubt::None;
        }
        if !core::mem::replace(&mut reading.is_doubted, true) {
            return Doubt::None;
        }
        let is_same = reading.summary == Some(announced);
        if now < reading.again_after || (is_same && now < reading.counts_after) {
            return Doubt::None;
        }
        reading.in_vain = if is_same { reading.in_vain.saturating_add(1) } else { 0 };
        reading.summary = Some(announced);
        reading.counts_after = now.after(WAIT.scaled(1 << reading.in_vain.min(DOUBLINGS), 1));
        Doubt::ReadAgain
    }

    /// Everything of a writer is read again from now on; `next` is what the reader expected of it.
    pub(super) fn begin(&mut self, now: Instant, writer: Guid, next: SequenceNumber) {
        let endpoints: Vec<Guid> = self.of(writer).map(|(guid, _)| guid).collect();
        for endpoint in endpoints {
            if let Some(record) = self.records.get_mut(&endpoint) {
                record.is_fresh = false;
            }
        }
        let reading = self.readings.get_or_insert_with(writer, Reading::new);
        (reading.again, reading.again_after) = (Some((next, SequenceNumber::ZERO)), now.after(PAUSE));
    }

    pub(super) fn is_again(&self, writer: Guid) -> bool {
        self.readings.get(&writer).is_some_and(|reading| reading.again.is_some())
    }

    /// Everything was read again: the endpoints that have not come go.
    pub(super) fn finish(&mut self, writer: Guid) -> Vec<Guid> {
        if let Some(reading) = self.readings.get_mut(&writer) {
            reading.again = None;
        }
        self.take(writer, |record| !record.is_fresh)
    }

    /// A writer has not got to `number`: the endpoints that such changes have told of go.
    pub(super) fn roll_back(&mut self, writer: Guid, number: SequenceNumber) -> Vec<Guid> {
        self.take(writer, |record| record.number >= number)
    }

    fn take(&mut self, writer: Guid, goes: impl Fn(&Record) -> bool) -> Vec<Guid> {
        let going: Vec<Guid> =
            self.of(writer).filter(|(_, record)| goes(record)).map(|(guid, _)| guid).collect();
        for endpoint in &going {
            self.note_gone(writer, *endpoint);
        }
        going
    }
}

/// The first and the last name of an endpoint of a participant.
const fn all_of(prefix: GuidPrefix) -> (Guid, Guid) {
    (Guid::new(prefix, EntityId([0; 4])), Guid::new(prefix, EntityId([0xff; 4])))
}

/// The digest of records in the order of entity ids.
pub(super) fn digest_of<'a>(records: impl Iterator<Item = &'a [u8; 16]>) -> [u8; 16] {
    let mut all = Vec::new();
    records.for_each(|digest| all.extend_from_slice(digest));
    md5(&all)
}

//! The judge: what was written, matched and delivered, and whether that agrees.
//!
//! A *service* of a stream (one writer, one reader) begins when the writer matches the reader and ends when it
//! unmatches it; an *acceptance* begins and ends with the reader's match of the writer. While both last:
//! - the first required number is 1 if history is retained and wanted; otherwise the one after the newest at the begin of
//!   the service, or, if this is not the first acceptance during the service, after the newest at the begin of the acceptance
//!   (what an earlier acceptance has acknowledged is gone);
//! - every required number that the writer has not removed is delivered, in order, if both are reliable.
//!
//! If both are reliable nothing is ever delivered twice, however often the match ends: in every acceptance the reader goes on with what it
//! has not taken. Best-effort streams are only delivered in order and never twice within an acceptance.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wire::{Guid, SequenceNumber};

use crate::coverage::{Coverage, Situation};
use crate::node::Observation;
use crate::payload;
use crate::violation::Invariant;

/// A broken rule and how.
pub type Broken = (Invariant, String);

/// All that the judge knows.
#[derive(Debug, Default)]
pub struct Judge {
    writers: BTreeMap<Guid, WriterRecord>,
    readers: BTreeMap<Guid, ReaderRecord>,
    streams: BTreeMap<(Guid, Guid), Stream>,
    delivered: u64,
}

#[derive(Debug)]
struct WriterRecord {
    reliable: bool,
    retains: bool,
    /// For each number, from 1, whether it was removed.
    removed: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct ReaderRecord {
    reliable: bool,
    wants_history: bool,
}

#[derive(Debug, Default)]
struct Stream {
    /// The first number of the service, if one lasts.
    service: Option<i64>,
    /// How many samples there were when it began.
    history: i64,
    services: u32,
    acceptance: Option<Acceptance>,
    /// What was delivered in acceptances that have ended, if that is not to be delivered again.
    before: BTreeSet<i64>,
    /// Acceptances that overlap the service.
    acceptances: u32,
    accepted_before: bool,
    /// The service began with history to deliver.
    has_history: bool,
}

#[derive(Debug, Default)]
struct Acceptance {
    /// No number below is required.
    floor: i64,
    /// How many samples there were when it began.
    history: i64,
    /// Every number up to here was delivered, skipped or reported as lost.
    done: i64,
    /// The numbers delivered.
    delivered: Vec<i64>,
}

impl WriterRecord {
    fn last(&self) -> i64 {
        self.removed.len() as i64
    }

    fn holds(&self, number: i64) -> bool {
        usize::try_from(number - 1).is_ok_and(|index| self.removed.get(index) == Some(&false))
    }
}

impl Stream {
    /// The reader ends the match.
    fn end_acceptance(&mut self, is_reliable: bool) {
        let ended = self.acceptance.take();
        self.before.extend(ended.filter(|_| is_reliable).iter().flat_map(|ended| &ended.delivered));
    }

    /// The first of these numbers that the writer holds and the reader has not got.
    fn first_missing(&self, record: &WriterRecord, numbers: Range<i64>) -> Option<i64> {
        numbers.into_iter().find(|number| record.holds(*number) && !self.before.contains(number))
    }
}

impl Judge {
    /// Nothing known.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer exists from now on.
    pub fn add_writer(&mut self, writer: Guid, reliable: bool, retains: bool) {
        self.writers.insert(writer, WriterRecord { reliable, retains, removed: Vec::new() });
    }

    /// A reader exists from now on.
    pub fn add_reader(&mut self, reader: Guid, reliable: bool, wants_history: bool) {
        self.readers.insert(reader, ReaderRecord { reliable, wants_history });
    }

    /// A writer or reader is gone: nothing is required of it any more.
    pub fn forget(&mut self, guid: Guid) {
        self.writers.remove(&guid);
        self.readers.remove(&guid);
        self.streams.retain(|(writer, reader), _| *writer != guid && *reader != guid);
    }

    /// A sample was written. Numbers must come without holes.
    pub fn wrote(&mut self, writer: Guid, number: SequenceNumber) -> Result<(), Broken> {
        let Some(record) = self.writers.get_mut(&writer) else { return Ok(()) };
        record.removed.push(false);
        match record.last() == number.0 {
            true => Ok(()),
            false => {
                let what = format!("{writer} numbered its change {} as {number}", record.last());
                Err((Invariant::InOrder, what))
            }
        }
    }

    /// A sample was removed from its writer's history. True if a reliable reader had not got it.
    pub fn removed(&mut self, writer: Guid, number: SequenceNumber) -> bool {
        if let Some(removed) = self.writers.get_mut(&writer).and_then(|record| {
            usize::try_from(number.0 - 1).ok().and_then(|index| record.removed.get_mut(index))
        }) {
            *removed = true;
        }
        self.streams.iter().filter(|((of, _), _)| *of == writer).any(|(_, stream)| {
            stream.acceptance.as_ref().is_some_and(|acceptance| acceptance.done < number.0)
        })
    }

    /// Samples delivered so far.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// True if the writer's side (or the reader's) has matched the other.
    pub fn has_side(&self, writer: Guid, reader: Guid, of_writer: bool) -> bool {
        self.streams.get(&(writer, reader)).is_some_and(|stream| match of_writer {
            true => stream.service.is_some(),
            false => stream.acceptance.is_some(),
        })
    }

    /// Judges what a node observed.
    pub fn observe(&mut self, observation: &Observation, coverage: &mut Coverage) -> Result<(), Broken> {
        match observation {
            Observation::ReaderMatched { writer, reader } => self.begin_service(*writer, *reader, coverage),
            Observation::ReaderUnmatched { writer, reader } => {
                if let Some(stream) = self.streams.get_mut(&(*writer, *reader)) {
                    stream.service = None;
                }
            }
            Observation::WriterMatched { reader, writer } => {
                self.begin_acceptance(*writer, *reader, coverage);
            }
            Observation::WriterUnmatched { reader, writer } => {
                let is_reliable = self.is_reliable(*writer, *reader);
                if let Some(stream) = self.streams.get_mut(&(*writer, *reader)) {
                    stream.end_acceptance(is_reliable);
                }
            }
            Observation::Delivered { reader, writer, number, payload, timestamp, key_hash } => {
                payload::check(*writer, *number, payload).map_err(|what| (Invariant::Intact, what))?;
                if (*timestamp, *key_hash) != (payload::timestamp(*number), payload::key_hash(*number)) {
                    let what =
                        format!("{number:?} of {writer}: timestamp {timestamp:?} or key hash {key_hash:?}");
                    return Err((Invariant::Intact, what));
                }
                self.deliver(*writer, *reader, number.0, coverage)?;
            }
            Observation::HasHistory { reader, writer } => self.check_history(*writer, *reader)?,
            Observation::Lost { reader, writer, first, count } => {
                coverage.hit(Situation::SampleLost);
                self.lose(*writer, *reader, first.0, *count)?;
            }
        }
        Ok(())
    }

    /// Something that is required and has not been delivered yet, in words.
    pub fn pending(&self) -> Option<String> {
        self.streams.iter().find_map(|((writer, reader), stream)| {
            let (from, record) = self.required(*writer, *reader)?;
            let done = stream.acceptance.as_ref()?.done;
            let missing = stream.first_missing(record, from.max(done + 1)..record.last() + 1)?;
            Some(format!("{reader} still lacks #{missing} of {writer} (of {}, from {from})", record.last()))
        })
    }

    fn begin_service(&mut self, writer: Guid, reader: Guid, coverage: &mut Coverage) {
        let (Some(w), Some(r)) = (self.writers.get(&writer), self.readers.get(&reader)) else { return };
        let first = if w.retains && r.wants_history { 1 } else { w.last() + 1 };
        let stream = self.streams.entry((writer, reader)).or_default();
        if stream.service.is_some() {
            return;
        }
        stream.service = Some(first);
        stream.history = w.last();
        stream.has_history = first <= w.last();
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
        let Some(w) = self.writers.get(&writer) else { return };
        let stream = self.streams.entry((writer, reader)).or_default();
        if stream.acceptance.is_some() {
            return;
        }
        stream.acceptances += 1;
        let floor = if stream.acceptances > 1 { w.last() + 1 } else { 0 };
        stream.acceptance = Some(Acceptance { floor, history: w.last(), ..Acceptance::default() });
        if stream.accepted_before {
            coverage.hit(match stream.service {
                Some(_) => Situation::OneSidedRematch,
                None => Situation::Rematch,
            });
        }
        stream.accepted_before = true;
    }

    /// The first number that is required of a stream, if anything is.
    fn required(&self, writer: Guid, reader: Guid) -> Option<(i64, &WriterRecord)> {
        let (w, r) = (self.writers.get(&writer)?, self.readers.get(&reader)?);
        let stream = self.streams.get(&(writer, reader))?;
        let (service, acceptance) = (stream.service?, stream.acceptance.as_ref()?);
        let from = if w.retains && r.wants_history { service } else { service.max(acceptance.floor) };
        self.is_reliable(writer, reader).then_some((from, w))
    }

    fn is_reliable(&self, writer: Guid, reader: Guid) -> bool {
        self.writers.get(&writer).is_some_and(|w| w.reliable)
            && self.readers.get(&reader).is_some_and(|r| r.reliable)
    }

    fn deliver(
        &mut self,
        writer: Guid,
        reader: Guid,
        number: i64,
        coverage: &mut Coverage,
    ) -> Result<(), Broken> {
        let phantom = |what: String| (Invariant::NoPhantom, what);
        // A writer that is gone may have samples under way; what it wrote is not known any more.
        let Some(last) = self.writers.get(&writer).map(WriterRecord::last) else { return Ok(()) };
        if number > last {
            return Err(phantom(format!("{reader} was given #{number} of {writer}, which wrote {last}")));
        }
        let skipped = self.skipped(writer, reader, number);
        let stream = self.streams.entry((writer, reader)).or_default();
        let Some(acceptance) = &mut stream.acceptance else {
            return Err(phantom(format!("{reader} was given #{number} of {writer} without a match")));
        };
        if acceptance.delivered.binary_search(&number).is_ok() || stream.before.contains(&number) {
            let what = format!("{reader} was given #{number} of {writer} twice");
            return Err((Invariant::NoDuplicate, what));
        }
        if number <= acceptance.done {
            let what = format!("{reader} was given #{number} of {writer} after #{}", acceptance.done);
            return Err((Invariant::InOrder, what));
        }
        if let Some(skipped) = skipped {
            let what = format!("{reader} was given #{number} of {writer} without #{skipped}");
            return Err((Invariant::NoLoss, what));
        }
        if stream.has_history && acceptance.delivered.is_empty() {
            coverage.hit(Situation::History);
        }
        acceptance.done = number;
        acceptance.delivered.push(number);
        self.delivered += 1;
        Ok(())
    }

    /// A required number between what is done and `number`, which is delivered now.
    fn skipped(&self, writer: Guid, reader: Guid, number: i64) -> Option<i64> {
        let (from, record) = self.required(writer, reader)?;
        let stream = self.streams.get(&(writer, reader))?;
        stream.first_missing(record, from.max(stream.acceptance.as_ref()?.done + 1)..number)
    }

    /// A reader says that it has what the writer held when the first of both had matched the other. Where one side has ended and begun
    /// the match alone, what the reader was told may be from before.
    fn check_history(&self, writer: Guid, reader: Guid) -> Result<(), Broken> {
        let Some((from, record)) = self.required(writer, reader) else { return Ok(()) };
        let Some(stream) = self.streams.get(&(writer, reader)) else { return Ok(()) };
        let Some(acceptance) =
            stream.acceptance.as_ref().filter(|_| stream.services + stream.acceptances == 2)
        else {
            return Ok(());
        };
        let until = stream.history.min(acceptance.history);
        let missing = stream.first_missing(record, from.max(acceptance.done + 1)..until + 1);
        missing.map_or(Ok(()), |missing| {
            let what =
                format!("{reader} says that it has what {writer} held up to #{until}; it lacks #{missing}");
            Err((Invariant::History, what))
        })
    }

    fn lose(&mut self, writer: Guid, reader: Guid, first: i64, count: u64) -> Result<(), Broken> {
        let Some(record) = self.writers.get(&writer) else { return Ok(()) };
        let end = first.saturating_add_unsigned(count);
        if end > record.last() + 1 {
            let what = format!(
                "{reader} was told that #{first}..#{end} of {writer} are lost; it wrote {}",
                record.last()
            );
            return Err((Invariant::NoPhantom, what));
        }
        if let Some((from, record)) = self.required(writer, reader)
            && let Some(stream) = self.streams.get(&(writer, reader))
            && let Some(lost) = stream.first_missing(record, from.max(first)..end)
        {
            let what = format!("{reader} was told that #{lost} of {writer} is lost");
            return Err((Invariant::NoLoss, what));
        }
        let stream = self.streams.get_mut(&(writer, reader));
        if let Some(acceptance) = stream.and_then(|stream| stream.acceptance.as_mut()) {
            acceptance.done = acceptance.done.max(end - 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Content filters of readers, evaluated where that saves traffic: changes that a reader does not get are GAPs to it (RTPS 2.5, 8.3.7.4).
//!
//! A reader whose filter is evaluated is never in step with others: it is served by datagrams of its own. So that is done only for readers
//! that have a path of their own, or share it with such readers alone.
//!
//! What a reader does not get, it is told by the GAP before the next change that it gets. Until then no HEARTBEAT to it announces these
//! changes, and none says that they are gone, for it would count them as lost.
use alloc::boxed::Box;
use core::fmt;

use wire::cursor::Endianness;
use wire::message::{Heartbeat, PayloadKind};
use wire::parameter::{InlineQos, ParameterList, StatusInfo};
use wire::{Guid, SequenceNumber};

use super::history::{History, Record, Source};
use super::{ReaderProxy, Writer};
use crate::Payload;

/// Answers for a serialized sample, encapsulation header included.
type Passes = dyn FnMut(&[u8]) -> bool + Send;

/// Says of a serialized sample, encapsulation header included, whether a reader wants it.
pub struct SampleFilter(Box<Passes>);

impl SampleFilter {
    /// A filter that asks a function. It is asked with the writer locked, again for each repair, and must say the same of the same sample.
    pub fn new(passes: impl FnMut(&[u8]) -> bool + Send + 'static) -> Self {
        Self(Box::new(passes))
    }

    /// Whether a sample passes.
    pub fn passes(&mut self, payload: &[u8]) -> bool {
        (self.0)(payload)
    }

    /// True if the change is a sample that does not pass. What ends an instance always passes: the reader may know it.
    pub(super) fn excludes<P: Payload>(&mut self, history: &History<P>, record: &Record) -> bool {
        if record.kind != PayloadKind::Data {
            return false;
        }
        let Some((source, inline_qos)) = history.payload(record) else { return false };
        if !inline_qos.is_empty() && has_status(inline_qos) {
            return false;
        }
        !self.passes(source.bytes())
    }
}

/// True if a change does something to its instance besides giving it a value, or that cannot be told.
fn has_status(inline_qos: &[u8]) -> bool {
    let list = ParameterList::parse(inline_qos, Endianness::Little);
    let read = list.ok().and_then(|(list, _)| InlineQos::read(&list).ok());
    read.is_none_or(|qos| qos.status_info != StatusInfo::ALIVE)
}

impl fmt::Debug for SampleFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SampleFilter")
    }
}

impl<P: Payload> Writer<P> {
    /// Filters that one writer evaluates at most; further readers get everything.
    pub const MOST_FILTERS: usize = 64;

    /// Sets the content filter of a matched reader, which holds for what was not sent to it yet; `None`, the default, sends everything. False
    /// if the reader is not matched.
    ///
    /// Samples that do not pass are not sent to it where that saves traffic: not to readers of the same process, along a flow, or by a path
    /// that a reader without a filter shares. The reader has to evaluate its filter in any case.
    pub fn set_filter(&mut self, reader: Guid, filter: Option<SampleFilter>) -> bool {
        let Ok(index) = self.readers.binary_search_by_key(&reader, |proxy| proxy.guid) else { return false };
        let others = self.readers.iter().filter(|proxy| proxy.filter.is_some() && proxy.guid != reader);
        let has_room = others.count() < Self::MOST_FILTERS;
        if let Some(proxy) = self.readers.get_mut(index) {
            if proxy.filter.is_none() && filter.is_none() {
                return true;
            }
            proxy.filter = filter.filter(|_| has_room);
        }
        self.ready = true;
        self.measure_paths();
        true
    }

    /// True if samples that its filter keeps away are not sent to a matched reader.
    pub fn is_filtered(&self, reader: Guid) -> bool {
        self.readers.iter().any(|proxy| proxy.guid == reader && proxy.is_filtered)
    }

    /// Finds the readers whose filters are evaluated here; true if there are some.
    pub(super) fn measure_filters(&mut self) -> bool {
        if self.readers.iter().all(|proxy| proxy.filter.is_none() && !proxy.is_filtered) {
            return false;
        }
        let mut any = false;
        for index in 0..self.readers.len() {
            let is_filtered = self.readers.get(index).is_some_and(|proxy| self.has_own_path(proxy));
            any |= is_filtered;
            if let Some(proxy) = self.readers.get_mut(index)
                && proxy.is_filtered != is_filtered
            {
                proxy.set_filtered(is_filtered);
            }
        }
        any
    }

    /// The first change that a HEARTBEAT may say to be there, as far as readers whose filters are evaluated have to know: those that one of
    /// them has not acknowledged itself are not gone.
    pub(super) fn first_announced(&self, reader: Option<usize>) -> SequenceNumber {
        let held = self.history.at_or_after(SequenceNumber::ZERO);
        let held = held.map_or(self.last.next(), |record| record.number);
        let all = self.readers.iter().enumerate();
        let concerned =
            all.filter(|(at, proxy)| proxy.is_filtered && reader.is_none_or(|reader| reader == *at));
        concerned.fold(held, |first, (_, proxy)| first.min(proxy.confirmed.max(proxy.start)))
    }

    /// A HEARTBEAT to one reader.
    pub(super) fn heartbeat_to(&mut self, index: usize, end: SequenceNumber, is_final: bool) -> Heartbeat {
        let first = self.first_announced(Some(index));
        let heartbeat = self.heartbeat_from(first, end, is_final);
        // Readers of one participant have filters of their own: what is said to one of them is not true of the others.
        let reader = self.readers.get(index).filter(|proxy| proxy.is_filtered);
        Heartbeat { reader_id: reader.map_or(heartbeat.reader_id, |proxy| proxy.guid.entity_id), ..heartbeat }
    }

    /// True if a reader has a filter, and no reader without one shares its path.
    fn has_own_path(&self, proxy: &ReaderProxy) -> bool {
        let shares = |other: &&ReaderProxy| other.paths.iter().any(|path| proxy.paths.contains(path));
        proxy.filter.is_some()
            && !proxy.is_flow
            && !proxy.is_local()
            && self.readers.iter().filter(shares).all(|other| other.filter.is_some())
    }
}

impl<P: Payload> Source<'_, P> {
    /// The payload.
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Slab(slab, range) => slab.get(range.clone()).unwrap_or_default(),
            Self::Handle(payload) => payload.as_ref(),
        }
    }
}

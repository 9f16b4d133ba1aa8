//! Puts changes of the history together into one datagram.
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use wire::message::encode::{
    self, DATA_FRAG_HEADER_LEN, DATA_HEADER_LEN, DataFragHeader, DataHeader, HEARTBEAT_LEN,
    INFO_DESTINATION_LEN, INFO_TIMESTAMP_LEN, MAX_GAP_LEN,
};
use wire::message::{Gap, Header, Heartbeat, PayloadKind};
use wire::{EntityId, FragmentNumber, GuidPrefix, SequenceNumber, SequenceNumberSet, Timestamp};

use super::history::{History, Place, Record, Source};
use crate::transmit::Transmit;
use crate::{Path, Payload};

/// Bytes of a datagram with one DATA, apart from its payload.
pub(crate) fn overhead(inline_qos: Option<&[u8]>) -> usize {
    (Header::LEN + INFO_DESTINATION_LEN + INFO_TIMESTAMP_LEN + DATA_HEADER_LEN + 3 + HEARTBEAT_LEN)
        .saturating_add(inline_qos.map_or(0, <[u8]>::len))
}

/// Bytes of a datagram of the history with one DATA, apart from its payload and inline QoS: it is for every reader.
pub(crate) const fn slab_around() -> usize {
    Header::LEN + INFO_TIMESTAMP_LEN + DATA_HEADER_LEN + 3 + HEARTBEAT_LEN
}

/// Bytes of a fragment such that a datagram of `datagram` bytes holds one; a multiple of four.
pub(crate) fn fragment_size(datagram: u32, inline_qos: Option<&[u8]>) -> u32 {
    let around = fragment_overhead(inline_qos);
    let room = (datagram as usize).saturating_sub(around).clamp(64, 65_000);
    (room & !3) as u32
}

/// Bytes of a datagram with one DATA_FRAG, apart from its payload.
fn fragment_overhead(inline_qos: Option<&[u8]>) -> usize {
    (Header::LEN + INFO_DESTINATION_LEN + INFO_TIMESTAMP_LEN + DATA_FRAG_HEADER_LEN + HEARTBEAT_LEN)
        .saturating_add(inline_qos.map_or(0, <[u8]>::len))
}

/// Bytes that stand for a sample in a datagram to readers of the same process.
const PLACEHOLDER: usize = 4;
/// No datagram with one placeholder is longer.
pub(crate) const VALUE_DATAGRAM: usize = Path::MIN_DATAGRAM as usize;

/// What became of a change that was to be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Added {
    /// It is in the datagram.
    Whole,
    /// It did not fit into what is left of the datagram.
    Full,
    /// It never fits a datagram of this size: it goes in fragments.
    Fragments,
}

/// A datagram in the making.
pub(crate) struct Datagram<'t, P> {
    out: &'t mut Transmit<P>,
    writer_id: EntityId,
    reader_id: EntityId,
    len: usize,
    limit: usize,
    empty: bool,
    /// It goes to readers of the same process alone: samples need not become bytes.
    local: bool,
    /// The timestamp in force, once an INFO_TS has been written.
    timestamp: Option<Option<Timestamp>>,
}

impl<'t, P: Payload> Datagram<'t, P> {
    /// Begins with the header and, for a single reader, its address: INFO_DST and reader id.
    pub(crate) fn begin(
        out: &'t mut Transmit<P>,
        prefix: GuidPrefix,
        writer_id: EntityId,
        destination: Option<wire::Guid>,
        limit: u32,
    ) -> Self {
        out.scratch(|bytes| {
            encode::header(bytes, prefix);
            if let Some(reader) = destination {
                encode::info_destination(bytes, reader.prefix);
            }
        });
        Self {
            writer_id,
            reader_id: destination.map_or(EntityId::UNKNOWN, |reader| reader.entity_id),
            len: out.len(),
            out,
            limit: limit as usize,
            empty: true,
            local: false,
            timestamp: None,
        }
    }

    /// It goes to readers of the same process alone, or not.
    pub(crate) fn local(self, local: bool) -> Self {
        Self { local, ..self }
    }

    /// True if no change and no GAP was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.empty
    }

    /// Adds a whole change.
    #[inline(never)]
    pub(crate) fn change(&mut self, history: &History<P>, record: &Record) -> Added {
        let Some((source, inline_qos)) = history.payload(record) else { return Added::Whole };
        if let Source::Handle(payload) = source
            && self.local
            && payload.is_value()
        {
            return self.value(payload, inline_qos, record);
        }
        // Changes that shared a datagram share one again: there, too, one timestamp stands for all that have it.
        let stamp = if self.timestamp == Some(record.timestamp) { 0 } else { INFO_TIMESTAMP_LEN };
        let len = stamp + DATA_HEADER_LEN + inline_qos.len() + source.len() + 3;
        let in_parts = matches!(source, Source::Handle(_)) && self.fragment_of(history, record).is_some();
        if in_parts || self.len.saturating_add(len + HEARTBEAT_LEN) > self.limit {
            return if in_parts || self.empty { Added::Fragments } else { Added::Full };
        }
        match (&record.place, source) {
            (Place::Slab { data, own_timestamp, .. }, Source::Slab(slab, _)) => {
                let mut start = data.start as usize;
                if self.timestamp != Some(record.timestamp) {
                    if *own_timestamp {
                        start = start.saturating_sub(timestamp_len(record.timestamp));
                    } else {
                        self.timestamp(record.timestamp);
                    }
                }
                self.slab(slab, start, data);
            }
            (_, Source::Handle(payload)) => {
                self.timestamp(record.timestamp);
                let len = payload.size();
                let padding = len.wrapping_neg() % 4;
                self.begin_data(record, inline_qos, len + padding);
                self.out.payload(payload.clone(), 0..len);
                self.pad(padding);
            }
            _ => {}
        }
        self.timestamp = Some(record.timestamp);
        self.empty = false;
        self.len = self.out.len();
        Added::Whole
    }

    /// Adds a change whose payload is a placeholder: its reader gets the handle.
    fn value(&mut self, payload: &P, inline_qos: &[u8], record: &Record) -> Added {
        let len = INFO_TIMESTAMP_LEN + DATA_HEADER_LEN + inline_qos.len() + PLACEHOLDER;
        if self.len.saturating_add(len + HEARTBEAT_LEN) > self.limit && !self.empty {
            return Added::Full;
        }
        self.timestamp(record.timestamp);
        self.begin_data(record, inline_qos, PLACEHOLDER);
        self.out.value(payload.clone());
        self.empty = false;
        self.len = self.out.len();
        Added::Whole
    }

    /// Adds what stands before the payload of a DATA submessage, padding included of so many bytes.
    fn begin_data(&mut self, record: &Record, inline_qos: &[u8], payload: usize) {
        let header = DataHeader {
            reader_id: self.reader_id,
            writer_id: self.writer_id,
            sequence_number: record.number,
            inline_qos: (!inline_qos.is_empty()).then_some(inline_qos),
            kind: record.kind,
        };
        self.out.scratch(|bytes| {
            let start = encode::begin_data(bytes, &header);
            let body = bytes.len().saturating_sub(start + 4) + payload;
            // The limit of a datagram, and that of inline QoS, keep this below 65,536.
            if let Some(field) = bytes.get_mut(start + 2..start + 4) {
                field.copy_from_slice(&(body as u16).to_le_bytes());
            }
        });
    }

    /// Adds a DATA submessage of a slab, with what stands before it from `start` on. In a slab it is for every reader; what is sent
    /// to one alone must not reach others of its participant, which may not be entitled to it.
    fn slab(&mut self, slab: &Arc<Vec<u8>>, start: usize, data: &Range<u32>) {
        const READER_ID: usize = 8;
        let end = data.end as usize;
        if self.reader_id == EntityId::UNKNOWN {
            return self.out.slab(slab, start..end);
        }
        let reader_id = self.reader_id.0;
        self.out.scratch(|bytes| {
            let at = bytes.len() + (data.start as usize).saturating_sub(start) + READER_ID;
            bytes.extend_from_slice(slab.get(start..end).unwrap_or_default());
            if let Some(field) = bytes.get_mut(at..at + reader_id.len()) {
                field.copy_from_slice(&reader_id);
            }
        });
    }

    /// Bytes of a fragment of this change in this datagram's size, if it goes in fragments.
    pub(crate) fn fragment_of(&self, history: &History<P>, record: &Record) -> Option<u32> {
        fragments_of(history, record, self.limit as u32).map(|(size, _)| size)
    }

    /// Adds fragment `index` (from 0); true if it is the last. Beyond the last it adds that one: the reader counts in the smaller
    /// fragments that its path had before, and learns from any fragment that they are larger now.
    #[inline(never)]
    pub(crate) fn fragment(&mut self, history: &History<P>, record: &Record, index: u32) -> bool {
        let Some((size, count)) = fragments_of(history, record, self.limit as u32) else { return true };
        let Some((source, inline_qos)) = history.payload(record) else { return true };
        let total = source.len();
        let index = index.min(count.saturating_sub(1));
        let start = (index as usize).saturating_mul(size as usize);
        let end = start.saturating_add(size as usize).min(total);
        self.timestamp(record.timestamp);
        let padding = (end - start).wrapping_neg() % 4;
        let header = DataFragHeader {
            reader_id: self.reader_id,
            writer_id: self.writer_id,
            sequence_number: record.number,
            first_fragment: FragmentNumber(index.saturating_add(1)),
            fragment_count: 1,
            // `fragment_size` keeps sizes below 65,536, and no sample is longer than 2^32 - 1 bytes.
            fragment_size: size as u16,
            sample_size: total as u32,
            inline_qos: (!inline_qos.is_empty()).then_some(inline_qos),
            is_key: record.kind == PayloadKind::Key,
        };
        self.out.scratch(|bytes| encode::data_frag_header(bytes, &header, end - start + padding));
        match source {
            Source::Slab(slab, range) => self.out.slab(slab, range.start + start..range.start + end),
            Source::Handle(payload) => self.out.payload(payload.clone(), start..end),
        }
        self.pad(padding);
        self.empty = false;
        self.len = self.out.len();
        index.saturating_add(1) >= count
    }

    /// Adds a GAP over `start..end`; false if it does not fit.
    pub(crate) fn gap(&mut self, start: SequenceNumber, end: SequenceNumber) -> bool {
        if self.len.saturating_add(MAX_GAP_LEN + HEARTBEAT_LEN) > self.limit {
            return false;
        }
        let gap = Gap {
            reader_id: self.reader_id,
            writer_id: self.writer_id,
            start,
            list: SequenceNumberSet::empty(end),
        };
        self.out.scratch(|bytes| encode::gap(bytes, &gap));
        self.empty = false;
        self.len = self.out.len();
        true
    }

    /// Adds the HEARTBEAT that ends a datagram, for which room was kept.
    pub(crate) fn heartbeat(&mut self, heartbeat: &Heartbeat) {
        let heartbeat = Heartbeat { reader_id: self.reader_id, writer_id: self.writer_id, ..*heartbeat };
        self.out.scratch(|bytes| encode::heartbeat(bytes, &heartbeat));
    }

    fn timestamp(&mut self, timestamp: Option<Timestamp>) {
        if self.timestamp != Some(timestamp) {
            self.out.scratch(|bytes| encode::info_timestamp(bytes, timestamp));
            self.timestamp = Some(timestamp);
        }
    }

    fn pad(&mut self, padding: usize) {
        if padding > 0 {
            self.out.scratch(|bytes| bytes.resize(bytes.len() + padding, 0));
        }
    }
}

/// Size and number of the fragments of a change for datagrams of `datagram` bytes; `None` if it goes whole.
///
/// A reader gets every fragment of a change in one size: that of the time when it was written, or, for a reader with a
/// smaller path, the size of that path.
#[inline(never)]
pub(crate) fn fragments_of<P: Payload>(
    history: &History<P>,
    record: &Record,
    datagram: u32,
) -> Option<(u32, u32)> {
    let (source, inline_qos) = history.payload(record)?;
    let len = source.len();
    let inline_qos = (!inline_qos.is_empty()).then_some(inline_qos);
    let written = match &record.place {
        Place::Large(id) => history.large(*id)?.fragment_size,
        _ => 0,
    };
    let size = if len.saturating_add(overhead(inline_qos)) > datagram as usize {
        let own = fragment_size(datagram, inline_qos);
        if written == 0 { own } else { own.min(written) }
    } else {
        written
    };
    (size > 0).then(|| (size, u32::try_from(len.div_ceil(size as usize)).unwrap_or(u32::MAX)))
}

/// Bytes of the datagrams that a change was laid out for when it was written. A reader whose path carries less gets it
/// alone, in fragments of its own size.
pub(crate) fn datagram_of<P: Payload>(history: &History<P>, record: &Record) -> usize {
    match &record.place {
        Place::Removed => 0,
        Place::Slab { slab, .. } => history.slab(*slab).map_or(0, |slab| slab.end + HEARTBEAT_LEN),
        Place::Large(id) => history.large(*id).map_or(0, |large| {
            let inline_qos = Some(large.inline_qos.as_slice());
            match large.fragment_size {
                0 => overhead(inline_qos).saturating_add(large.payload.size()),
                size => fragment_overhead(inline_qos).saturating_add(size as usize),
            }
        }),
    }
}

fn timestamp_len(timestamp: Option<Timestamp>) -> usize {
    if timestamp.is_some() { INFO_TIMESTAMP_LEN } else { 4 }
}

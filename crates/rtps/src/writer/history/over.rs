//! The only change that is held, written over by the next one.
use alloc::sync::Arc;

use wire::message::encode::{self, DataHeader, HEARTBEAT_LEN, INFO_TIMESTAMP_LEN};
use wire::message::{Header, Heartbeat, PayloadKind};
use wire::{EntityId, SequenceNumber, Timestamp};

use super::{DATA_AT, DATAGRAM_COST, Entry, History, Place, Record};
use crate::Payload;

impl<P: Payload> History<P> {
    /// Bytes of a datagram with one sample of `len` bytes, without inline QoS and HEARTBEAT.
    pub(crate) const fn len_over(&self, len: usize) -> usize {
        Header::LEN + INFO_TIMESTAMP_LEN + encode::DATA_HEADER_LEN + len.next_multiple_of(4)
    }

    /// The capacity of a slab of its own for a sample of `len` bytes, if [`History::write_over`] may have one of just that: there is only one
    /// change, in a slab without another handle.
    #[inline]
    pub(crate) fn capacity_over(&self, len: usize) -> Option<usize> {
        let entry = Entry { kind: PayloadKind::Data, inline_qos: None, timestamp: None };
        let (_, _, slab) = self.newest()?;
        let is_alone = self.records.len() == 1
            && self.slabs.len() == 1
            && self.larges.is_empty()
            && Arc::strong_count(&slab.bytes) == 1;
        let capacity = slab.bytes.capacity();
        (is_alone && capacity == self.new_capacity(&entry, len, 0)).then_some(capacity)
    }

    /// Writes a sample in the place of the only change, see [`History::capacity_over`], and the HEARTBEAT behind it.
    #[inline]
    pub(crate) fn write_over(
        &mut self,
        number: SequenceNumber,
        timestamp: Timestamp,
        payload: &[u8],
        heartbeat: &Heartbeat,
    ) {
        let (Some(record), Some(Some(slab))) = (self.records.back_mut(), self.slabs.back_mut()) else {
            return;
        };
        let bytes = Arc::make_mut(&mut slab.bytes);
        let before = DATA_AT + encode::DATA_HEADER_LEN;
        let begins = match &record.place {
            Place::Slab { data, payload, .. } => (data.start as usize, payload.start as usize),
            Place::Large(_) | Place::Removed => return,
        };
        let is_alike = record.kind == PayloadKind::Data
            && begins == (DATA_AT, before)
            && slab.end == before + payload.len()
            && encode::data_over(bytes, timestamp, number, payload, heartbeat);
        if !is_alike {
            bytes.truncate(Header::LEN);
            encode::info_timestamp(bytes, Some(timestamp));
            let header = DataHeader {
                reader_id: EntityId::UNKNOWN,
                writer_id: self.writer_id,
                sequence_number: number,
                inline_qos: None,
                kind: PayloadKind::Data,
            };
            encode::data(bytes, &header, payload);
            encode::heartbeat(bytes, heartbeat);
        }
        slab.end = bytes.len() - HEARTBEAT_LEN;
        (slab.last, slab.timestamp) = (number, Some(timestamp));
        slab.live_bytes = slab.end - Header::LEN;
        // Positions inside a datagram fit 32 bits.
        *record = Record {
            number,
            timestamp: slab.timestamp,
            kind: PayloadKind::Data,
            offset: self.end_offset,
            place: Place::Slab {
                slab: self.first_slab,
                data: DATA_AT as u32..slab.end as u32,
                payload: before as u32..(before + payload.len()) as u32,
                own_timestamp: true,
            },
        };
        let cost = (slab.end - Header::LEN) as u64 + DATAGRAM_COST;
        self.end_offset = self.end_offset.saturating_add(cost);
    }
}

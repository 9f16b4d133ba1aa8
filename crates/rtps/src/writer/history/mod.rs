//! History of a writer: slabs of pre-formatted DATA submessages, and large samples by handle.
//!
//! A slab is one datagram in the making: message header, then INFO_TS and DATA submessages. It is filled by the
//! writer alone, closed when it leaves or gets another handle, and shared from then on.
mod over;
mod record;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wire::message::encode::{self, DataHeader, HEARTBEAT_LEN, INFO_TIMESTAMP_LEN};
use wire::message::{Header, Heartbeat};
use wire::{EntityId, GuidPrefix, SequenceNumber};

use crate::Payload;
use crate::slab::{SlabPool, capacity_for};
pub(crate) use record::{Entry, Large, Place, Record, Slab, Source};

/// What a datagram costs a receive buffer beside its bytes: the kernel charges its own bookkeeping too.
pub(crate) const DATAGRAM_COST: u64 = 768;

/// Where the first DATA of a datagram begins, if its time is told before it.
const DATA_AT: usize = Header::LEN + INFO_TIMESTAMP_LEN;

#[derive(Debug)]
pub(crate) struct History<P> {
    prefix: GuidPrefix,
    writer_id: EntityId,
    records: VecDeque<Record>,
    removed: usize,
    slabs: VecDeque<Option<Slab>>,
    first_slab: u64,
    larges: VecDeque<Option<Large<P>>>,
    first_large: u64,
    /// True if the newest slab may still be appended to.
    open: bool,
    end_offset: u64,
    held_bytes: usize,
    /// Largest datagram that the paths carry.
    datagram: usize,
    pool: SlabPool,
}

impl<P: Payload> History<P> {
    pub(crate) fn new(prefix: GuidPrefix, writer_id: EntityId, idle_bytes: usize) -> Self {
        Self {
            prefix,
            writer_id,
            records: VecDeque::new(),
            removed: 0,
            slabs: VecDeque::new(),
            first_slab: 0,
            larges: VecDeque::new(),
            first_large: 0,
            open: false,
            end_offset: 0,
            held_bytes: 0,
            datagram: crate::Path::MAX_DATAGRAM as usize,
            pool: SlabPool::new(idle_bytes),
        }
    }

    /// Bytes of slabs (their capacity) and of large samples.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// The first change that is still held.
    pub(crate) fn first(&self) -> Option<SequenceNumber> {
        self.records.front().map(|record| record.number)
    }

    /// The payload of a change, in a slab or by handle, and its inline QoS.
    pub(crate) fn payload(&self, record: &Record) -> Option<(Source<'_, P>, &[u8])> {
        match &record.place {
            Place::Removed => None,
            Place::Slab { slab, data, payload, .. } => {
                let slab = &self.slab(*slab)?.bytes;
                let inline_qos =
                    slab.get(data.start as usize + encode::DATA_HEADER_LEN..payload.start as usize)?;
                // With its padding: the encapsulation options count it.
                Some((Source::Slab(slab, payload.start as usize..data.end as usize), inline_qos))
            }
            Place::Large(id) => {
                let large = self.large(*id)?;
                Some((Source::Handle(&large.payload), &large.inline_qos))
            }
        }
    }

    /// The first held change whose number is `from` or more.
    pub(crate) fn at_or_after(&self, from: SequenceNumber) -> Option<&Record> {
        self.records.range(self.index_of(from)..).find(|record| !matches!(record.place, Place::Removed))
    }

    /// The change with this number, if it is held.
    pub(crate) fn get(&self, number: SequenceNumber) -> Option<&Record> {
        self.at_or_after(number).filter(|record| record.number == number)
    }

    /// What the changes before `number` cost a receive buffer.
    pub(crate) fn offset_before(&self, number: SequenceNumber) -> u64 {
        self.records.get(self.index_of(number)).map_or(self.end_offset, |record| record.offset)
    }

    /// The place of the first record whose number is `number` or more.
    #[inline]
    fn index_of(&self, number: SequenceNumber) -> usize {
        let len = self.records.len();
        let Some(first) = self.records.front().map(|record| record.number) else { return 0 };
        // Mostly nothing was removed, and the place follows from the number.
        let guess = usize::try_from(number.distance_from(first)).unwrap_or(0).min(len);
        let is_it = match self.records.get(guess) {
            Some(record) => record.number == number,
            None => self.records.back().is_some_and(|last| last.number < number),
        };
        if is_it { guess } else { self.records.partition_point(|record| record.number < number) }
    }

    pub(crate) fn slab(&self, id: u64) -> Option<&Slab> {
        self.slabs.get(index(id, self.first_slab)?)?.as_ref()
    }

    pub(crate) fn large(&self, id: u64) -> Option<&Large<P>> {
        self.larges.get(index(id, self.first_large)?)?.as_ref()
    }

    /// The newest slab's number, if it is open.
    pub(crate) fn open_slab(&self) -> Option<u64> {
        let newest = self.slabs.len().checked_sub(1)?;
        (self.open && self.slabs.get(newest)?.is_some()).then_some(self.first_slab + newest as u64)
    }

    /// No slab grows beyond this many bytes from now on.
    pub(crate) fn set_datagram(&mut self, bytes: usize) {
        self.datagram = bytes;
    }

    /// Nothing more is appended to the newest slab.
    pub(crate) fn close(&mut self) {
        self.open = false;
    }

    /// The newest change, if it is in a slab, and the newest slab with its number; that is its own then.
    pub(crate) fn newest(&self) -> Option<(&Record, u64, &Slab)> {
        let record = self.records.back()?;
        let newest = (self.first_slab + self.slabs.len() as u64).wrapping_sub(1);
        let id = record.slab().filter(|id| *id == newest)?;
        Some((record, id, self.slabs.back()?.as_ref()?))
    }

    /// Puts a HEARTBEAT behind the data of a slab, and says so, if the slab has no other handle yet. Without one (`None`) it removes an older one.
    pub(crate) fn finish(&mut self, id: u64, heartbeat: Option<&Heartbeat>) -> Option<(&Slab, bool)> {
        let slab = self.slabs.get_mut(index(id, self.first_slab)?)?.as_mut()?;
        let bytes = Arc::get_mut(&mut slab.bytes);
        let inside = bytes.is_some();
        if let Some(bytes) = bytes {
            bytes.truncate(slab.end);
            if let Some(heartbeat) = heartbeat {
                encode::heartbeat(bytes, heartbeat);
            }
        }
        Some((slab, inside))
    }

    /// Bytes that `append` would add to `held_bytes`.
    pub(crate) fn cost(&self, entry: &Entry<'_>, max_payload: usize, target: usize) -> usize {
        if self.room(entry, max_payload) { 0 } else { self.new_capacity(entry, max_payload, target) }
    }

    /// Appends a change whose payload `fill` writes: at most `max_payload` bytes, or the change is taken back.
    /// A new slab has room for `target` bytes at least. `Ok(false)` if `fill` wrote more or no slab can hold it.
    pub(crate) fn append<E>(
        &mut self,
        number: SequenceNumber,
        entry: &Entry<'_>,
        max_payload: usize,
        target: usize,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let fresh = !self.room(entry, max_payload);
        if fresh && !self.open_new(entry, max_payload, target) {
            return Ok(false);
        }
        let writer_id = self.writer_id;
        let id = (self.first_slab + self.slabs.len() as u64).saturating_sub(1);
        let Some(Some(slab)) = self.slabs.back_mut() else { return Ok(false) };
        let restore = slab.end;
        let own_timestamp = fresh || slab.timestamp != entry.timestamp;
        let Some(bytes) = Arc::get_mut(&mut slab.bytes) else { return Ok(false) };
        bytes.truncate(restore);
        if own_timestamp {
            encode::info_timestamp(bytes, entry.timestamp);
        }
        let header = DataHeader {
            reader_id: EntityId::UNKNOWN,
            writer_id,
            sequence_number: number,
            inline_qos: entry.inline_qos,
            kind: entry.kind,
        };
        let data = encode::begin_data(bytes, &header);
        let payload = bytes.len();
        let filled = fill(bytes);
        let payload_end = bytes.len();
        if filled.is_err() || payload_end - payload > max_payload {
            bytes.truncate(restore);
            if fresh {
                self.drop_newest();
            }
            return filled.map(|()| false);
        }
        encode::finish_data(bytes, data);
        slab.end = bytes.len();
        slab.timestamp = entry.timestamp;
        slab.last = number;
        slab.live += 1;
        slab.live_bytes += slab.end - data + if own_timestamp { INFO_TIMESTAMP_LEN } else { 0 };
        let cost = (slab.end - restore) as u64 + if fresh { DATAGRAM_COST } else { 0 };
        // Positions inside a datagram fit 32 bits.
        let place = Place::Slab {
            slab: id,
            data: data as u32..slab.end as u32,
            payload: payload as u32..payload_end as u32,
            own_timestamp,
        };
        self.push(number, entry, place, cost);
        Ok(true)
    }

    /// What all changes so far cost a receive buffer.
    pub(crate) const fn end(&self) -> u64 {
        self.end_offset
    }

    /// Appends a change by its handle. `fragment_size` is 0 if it fits a datagram whole.
    pub(crate) fn append_large(
        &mut self,
        number: SequenceNumber,
        entry: &Entry<'_>,
        payload: P,
        fragment_size: u32,
    ) {
        self.open = false;
        let len = payload.size();
        let datagrams = if fragment_size == 0 { 1 } else { len.div_ceil(fragment_size as usize) };
        self.held_bytes += len;
        let id = self.first_large + self.larges.len() as u64;
        let inline_qos = entry.inline_qos.map(Vec::from).unwrap_or_default();
        self.larges.push_back(Some(Large { payload, inline_qos, fragment_size }));
        self.push(number, entry, Place::Large(id), len as u64 + DATAGRAM_COST * datagrams as u64);
    }

    /// Forgets a change.
    #[inline]
    pub(crate) fn remove(&mut self, number: SequenceNumber) -> bool {
        // Mostly it is the oldest.
        match self.records.pop_front_if(|record| record.number == number) {
            Some(record) => {
                self.release(record.place);
                self.sweep();
                true
            }
            None => self.remove_inside(number),
        }
    }

    fn remove_inside(&mut self, number: SequenceNumber) -> bool {
        let index = self.index_of(number);
        let Some(record) = self.records.get_mut(index).filter(|record| record.number == number) else {
            return false;
        };
        let place = core::mem::replace(&mut record.place, Place::Removed);
        if matches!(place, Place::Removed) {
            return false;
        }
        self.removed += 1;
        self.release(place);
        self.sweep();
        true
    }

    /// Forgets every change before `number`.
    #[inline]
    pub(crate) fn remove_before(&mut self, number: SequenceNumber) {
        if self.records.front().is_some_and(|record| record.number < number) {
            self.drop_before(number);
        }
    }

    fn drop_before(&mut self, number: SequenceNumber) {
        while let Some(record) = self.records.pop_front_if(|record| record.number < number) {
            match record.place {
                Place::Removed => self.removed = self.removed.saturating_sub(1),
                place => self.release(place),
            }
        }
        self.sweep();
    }

    /// Copies what lives in half-empty slabs before `before` into smaller ones.
    pub(crate) fn compact(&mut self, before: SequenceNumber) {
        let newest = self.slabs.len().saturating_sub(1);
        for position in 0..newest {
            let Some(Some(slab)) = self.slabs.get(position) else { continue };
            let wanted = Self::fixed_len() + slab.live_bytes + INFO_TIMESTAMP_LEN * slab.live as usize;
            let smaller = capacity_for(wanted).is_some_and(|capacity| capacity < slab.bytes.capacity());
            if slab.last < before && smaller {
                self.rewrite(position, wanted);
            }
        }
    }

    fn fixed_len() -> usize {
        Header::LEN + HEARTBEAT_LEN
    }

    fn rewrite(&mut self, position: usize, wanted: usize) {
        let prefix = self.prefix;
        let Some(mut new) = self.pool.take(wanted, |bytes| encode::header(bytes, prefix)) else { return };
        let Some(bytes) = Arc::get_mut(&mut new) else { return };
        let Some(Some(slab)) = self.slabs.get_mut(position) else { return };
        let id = self.first_slab + position as u64;
        let mut live_bytes = 0;
        let end = self.records.partition_point(|record| record.number <= slab.last);
        for record in self.records.range_mut(..end).rev() {
            let Place::Slab { slab: its, data, payload, own_timestamp } = &mut record.place else { continue };
            if *its != id {
                if *its < id { break } else { continue }
            }
            encode::info_timestamp(bytes, record.timestamp);
            let moved = bytes.len() as u32;
            bytes.extend_from_slice(
                slab.bytes.get(data.start as usize..data.end as usize).unwrap_or_default(),
            );
            *payload = payload.start - data.start + moved..payload.end - data.start + moved;
            *data = moved..bytes.len() as u32;
            *own_timestamp = true;
            live_bytes += data.len() + INFO_TIMESTAMP_LEN;
        }
        self.held_bytes = (self.held_bytes + new.capacity()).saturating_sub(slab.bytes.capacity());
        slab.end = new.len();
        slab.live_bytes = live_bytes;
        let old = core::mem::replace(&mut slab.bytes, new);
        self.pool.give(old);
    }

    fn push(&mut self, number: SequenceNumber, entry: &Entry<'_>, place: Place, cost: u64) {
        self.records.push_back(Record {
            number,
            timestamp: entry.timestamp,
            kind: entry.kind,
            offset: self.end_offset,
            place,
        });
        self.end_offset = self.end_offset.saturating_add(cost);
    }

    fn room(&self, entry: &Entry<'_>, max_payload: usize) -> bool {
        let Some(Some(slab)) = self.slabs.back().filter(|_| self.open) else { return false };
        let wanted = submessage_len(entry, max_payload) + HEARTBEAT_LEN;
        slab.end.saturating_add(wanted) <= slab.bytes.capacity().min(self.datagram)
    }

    fn new_capacity(&self, entry: &Entry<'_>, max_payload: usize, target: usize) -> usize {
        let wanted = Self::fixed_len().saturating_add(submessage_len(entry, max_payload)).max(target);
        capacity_for(wanted).unwrap_or(usize::MAX)
    }

    fn open_new(&mut self, entry: &Entry<'_>, max_payload: usize, target: usize) -> bool {
        let wanted = Self::fixed_len().saturating_add(submessage_len(entry, max_payload)).max(target);
        let prefix = self.prefix;
        let Some(bytes) = self.pool.take(wanted, |bytes| encode::header(bytes, prefix)) else { return false };
        let end = bytes.len();
        self.held_bytes += bytes.capacity();
        self.slabs.push_back(Some(Slab {
            bytes,
            end,
            last: SequenceNumber::ZERO,
            timestamp: None,
            live: 0,
            live_bytes: 0,
        }));
        self.open = true;
        true
    }

    fn drop_newest(&mut self) {
        if let Some(Some(slab)) = self.slabs.pop_back() {
            self.held_bytes = self.held_bytes.saturating_sub(slab.bytes.capacity());
            self.pool.give(slab.bytes);
        }
        self.open = false;
    }

    fn release(&mut self, place: Place) {
        match place {
            Place::Removed => {}
            Place::Slab { slab: id, data, own_timestamp, .. } => {
                let Some(place) = index(id, self.first_slab).and_then(|index| self.slabs.get_mut(index))
                else {
                    return;
                };
                let Some(slab) = place else { return };
                slab.live = slab.live.saturating_sub(1);
                let timestamp = if own_timestamp { INFO_TIMESTAMP_LEN } else { 0 };
                slab.live_bytes = slab.live_bytes.saturating_sub(data.len() + timestamp);
                if slab.live == 0 {
                    let newest = index(id, self.first_slab) == self.slabs.len().checked_sub(1);
                    if newest {
                        self.open = false;
                    }
                    let gone = index(id, self.first_slab).and_then(|index| self.slabs.get_mut(index)?.take());
                    if let Some(slab) = gone {
                        self.held_bytes = self.held_bytes.saturating_sub(slab.bytes.capacity());
                        self.pool.give(slab.bytes);
                    }
                }
            }
            Place::Large(id) => {
                let large = index(id, self.first_large).and_then(|index| self.larges.get_mut(index)?.take());
                if let Some(large) = large {
                    self.held_bytes = self.held_bytes.saturating_sub(large.payload.size());
                }
            }
        }
    }

    fn sweep(&mut self) {
        while self.slabs.pop_front_if(|slab| slab.is_none()).is_some() {
            self.first_slab += 1;
        }
        while self.larges.pop_front_if(|large| large.is_none()).is_some() {
            self.first_large += 1;
        }
        while self.records.pop_front_if(|record| matches!(record.place, Place::Removed)).is_some() {
            self.removed = self.removed.saturating_sub(1);
        }
        if self.removed > 16 && self.removed > self.records.len() / 2 {
            self.records.retain(|record| !matches!(record.place, Place::Removed));
            self.removed = 0;
        }
    }
}

/// Bytes of INFO_TS and DATA around a payload of `max_payload` bytes.
fn submessage_len(entry: &Entry<'_>, max_payload: usize) -> usize {
    let inline_qos = entry.inline_qos.map_or(0, <[u8]>::len);
    INFO_TIMESTAMP_LEN + encode::DATA_HEADER_LEN + inline_qos + max_payload.saturating_add(3)
}

fn index(id: u64, first: u64) -> Option<usize> {
    usize::try_from(id.checked_sub(first)?).ok()
}

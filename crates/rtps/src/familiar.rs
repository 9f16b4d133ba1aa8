//! Datagrams that are what the last one of the same writer was, but for number, time and payload.
//!
//! A writer that is at rest between its samples sends each in such a datagram: INFO_TS, a DATA without inline QoS, and a HEARTBEAT if it is
//! reliable. [`Familiar`] remembers all of the first that stays the same. What it recognises is what
//! [`interpret`](crate::receiver::interpret) would route, at a fraction of the cost; anything else it leaves to that.
use core::net::SocketAddr;

use wire::message::{Data, Header, Heartbeat, SerializedPayload};
use wire::{EntityId, Guid, GuidPrefix, SequenceNumber, Timestamp, VendorId};

use crate::reader::Source;
use crate::receiver::{Context, ToReader};

/// Submessage ids (RTPS 2.5, 9.4.5.1.1).
const INFO_TS: u8 = 0x09;
const DATA: u8 = 0x15;
const HEARTBEAT: u8 = 0x07;
/// Flags: little endian; of DATA that there is data, of HEARTBEAT that it is final.
const LITTLE: u8 = 0x01;
const PAYLOAD: u8 = 0x04;
const FINAL: u8 = 0x02;

/// Where the submessages begin, behind headers of four bytes each.
const TIME_AT: usize = Header::LEN + 4;
const DATA_AT: usize = TIME_AT + 8;
const PAYLOAD_AT: usize = DATA_AT + 4 + BEFORE_PAYLOAD;
/// Bytes of DATA before its payload: flags, an offset, two entity ids and a number.
const BEFORE_PAYLOAD: usize = 20;
/// Bytes of a HEARTBEAT with its header.
const HEARTBEAT_LEN: usize = 32;
/// The offset to inline QoS that begins right behind the number (RTPS 2.5, 9.4.5.4.3).
const TO_INLINE_QOS: u8 = 16;

/// What stays the same in the datagrams of one writer for the same readers. See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Familiar {
    /// Up to the time: the header, and that of INFO_TS.
    head: [u8; TIME_AT],
    /// Of DATA, behind its length and before its number.
    data: [u8; 12],
    /// The HEARTBEAT, up to its numbers and without the final flag; `None` of a best-effort writer.
    heartbeat: Option<[u8; 12]>,
}

/// A datagram that was recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Single<'a> {
    /// Who says it, and when.
    pub source: Source,
    /// Its sample.
    pub data: Data<'a>,
    /// Its HEARTBEAT, which does not assert liveliness.
    pub heartbeat: Option<Heartbeat>,
}

impl Familiar {
    /// What stays the same if the next datagram is like this one; `None` if it is of another form.
    pub fn of(datagram: &[u8]) -> Option<Self> {
        let head = *datagram.first_chunk::<TIME_AT>()?;
        let [r, t, p, s, major, ..] = head;
        let (_, time) = head.split_last_chunk::<4>()?;
        if [r, t, p, s] != Header::MAGIC || major != 2 || *time != [INFO_TS, LITTLE, 8, 0] {
            return None;
        }
        let fields = datagram.get(DATA_AT..)?.first_chunk::<16>()?;
        let (&[id, flags, ..], data) = fields.split_first_chunk::<4>()?;
        let data = *data.first_chunk::<12>()?;
        let [_, _, offset, high, ..] = data;
        if [id, flags, offset, high] != [DATA, LITTLE | PAYLOAD, TO_INLINE_QOS, 0] {
            return None;
        }
        let mut familiar = Self { head, data, heartbeat: None };
        let (_, behind) = familiar.payload(datagram)?;
        if !behind.is_empty() {
            let mut heartbeat = *behind.first_chunk::<12>()?;
            let [id, flags, low, high, ids @ ..] = &mut heartbeat;
            *flags &= !FINAL;
            let is_of_writer = ids.get(4..) == data.get(8..);
            if [*id, *flags, *low, *high] != [HEARTBEAT, LITTLE, (HEARTBEAT_LEN - 4) as u8, 0]
                || !is_of_writer
            {
                return None;
            }
            familiar.heartbeat = Some(heartbeat);
        }
        familiar.read(datagram).map(|_| familiar)
    }

    /// The writer.
    pub fn writer(&self) -> Guid {
        Guid::new(self.source(None).prefix, self.entities().1)
    }

    /// True if its datagrams are for this reader, as far as the reader is matched with the writer.
    pub fn is_for(&self, reader: EntityId) -> bool {
        let meant = |id: EntityId| id == EntityId::UNKNOWN || id == reader;
        let of_heartbeat = self.heartbeat.map(|[_, _, _, _, a, b, c, d, ..]| EntityId([a, b, c, d]));
        meant(self.entities().0) && of_heartbeat.is_none_or(meant)
    }

    /// Reads a datagram, if it is like the one that is remembered, and free of faults.
    #[inline]
    pub fn read<'a>(&self, datagram: &'a [u8]) -> Option<Single<'a>> {
        let fixed = datagram.first_chunk::<PAYLOAD_AT>()?;
        let same = fixed.first_chunk() == Some(&self.head)
            && fixed.get(DATA_AT..DATA_AT + 2) == Some(&[DATA, LITTLE | PAYLOAD])
            && fixed.get(DATA_AT + 4..DATA_AT + 16) == Some(&self.data);
        if !same {
            return None;
        }
        let (payload, behind) = self.payload(datagram)?;
        let (reader_id, writer_id) = self.entities();
        let sequence_number = number(fixed, DATA_AT + 16)?;
        if sequence_number < SequenceNumber::FIRST {
            return None;
        }
        let heartbeat = match &self.heartbeat {
            None if behind.is_empty() => None,
            Some(known) => Some(heartbeat(known, behind.try_into().ok()?, writer_id)?),
            None => return None,
        };
        let timestamp = Timestamp::from_wire(word(fixed, TIME_AT)?, word(fixed, TIME_AT + 4)?);
        let payload = Some(SerializedPayload { is_key: false, bytes: payload });
        Some(Single {
            source: self.source(timestamp),
            data: Data { reader_id, writer_id, sequence_number, inline_qos: None, payload },
            heartbeat,
        })
    }

    /// The payload, and what is behind it; `None` if it runs past the end or is too short for one.
    #[inline]
    fn payload<'a>(&self, datagram: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let len = datagram.get(DATA_AT + 2..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))?;
        let len = usize::from(len).checked_sub(BEFORE_PAYLOAD).filter(|len| *len >= 4)?;
        datagram.get(PAYLOAD_AT..)?.split_at_checked(len)
    }

    #[inline]
    fn source(&self, timestamp: Option<Timestamp>) -> Source {
        let [_, _, _, _, _, _, v0, v1, a, b, c, d, e, f, g, h, i, j, k, l, ..] = self.head;
        let prefix = GuidPrefix([a, b, c, d, e, f, g, h, i, j, k, l]);
        Source { prefix, timestamp, vendor: VendorId([v0, v1]) }
    }

    #[inline]
    fn entities(&self) -> (EntityId, EntityId) {
        let [_, _, _, _, a, b, c, d, e, f, g, h] = self.data;
        (EntityId([a, b, c, d]), EntityId([e, f, g, h]))
    }
}

impl<'a> Single<'a> {
    /// What is known about its submessages.
    #[inline]
    pub const fn context(&self, from: SocketAddr) -> Context {
        Context { source: self.source, from, addressed: false }
    }

    /// Its submessages in their order.
    #[inline]
    pub fn submessages(&self) -> impl Iterator<Item = ToReader<'a>> {
        let heartbeat = self.heartbeat.map(ToReader::Heartbeat);
        core::iter::once(ToReader::Data(self.data)).chain(heartbeat)
    }
}

/// The HEARTBEAT in these bytes, if it begins like the one that is known.
#[inline]
fn heartbeat(known: &[u8; 12], bytes: &[u8; HEARTBEAT_LEN], writer_id: EntityId) -> Option<Heartbeat> {
    let [_, flags, ..] = *bytes;
    let mut head = *bytes.first_chunk::<12>()?;
    if let Some(flags) = head.get_mut(1) {
        *flags &= !FINAL;
    }
    let (first, last) = (number(bytes, 12)?, number(bytes, 20)?);
    if head != *known || first < SequenceNumber::FIRST || last < first.prev() {
        return None;
    }
    let [_, _, _, _, a, b, c, d, ..] = *known;
    Some(Heartbeat {
        reader_id: EntityId([a, b, c, d]),
        writer_id,
        first,
        last,
        count: word(bytes, 28)?.cast_signed(),
        is_final: flags & FINAL != 0,
        liveliness: false,
    })
}

#[inline]
fn number(bytes: &[u8], at: usize) -> Option<SequenceNumber> {
    Some(SequenceNumber::from_words(word(bytes, at)?.cast_signed(), word(bytes, at + 4)?))
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

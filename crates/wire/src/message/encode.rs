//! Writing messages: each function appends to a buffer of the caller, little endian, and keeps it a multiple of four long.
//!
//! A buffer with enough capacity is never reallocated. `out` must begin at a multiple of four of the message, which is so
//! if it holds the message itself or only things that these functions wrote.
use alloc::vec::Vec;

use super::data::{DATA_KEY, DATA_PAYLOAD, INLINE_QOS, PayloadKind};
use super::fragments::{FRAG_KEY, HeartbeatFrag, NackFrag};
use super::header::Header;
use super::info::INVALIDATE;
use super::kind;
use super::reliability::{AckNack, FINAL, Gap, Heartbeat, LIVELINESS};
use crate::guid::{EntityId, GuidPrefix};
use crate::sequence_number::{Bitmap, FragmentNumber, SequenceNumber, SequenceNumberSet};
use crate::time::Timestamp;

/// Bytes of DATA before its inline QoS or payload, submessage header included.
pub const DATA_HEADER_LEN: usize = 24;
/// Bytes of DATA_FRAG before its inline QoS or payload, submessage header included.
pub const DATA_FRAG_HEADER_LEN: usize = 36;
/// Bytes of INFO_TS with a time.
pub const INFO_TIMESTAMP_LEN: usize = 12;
/// Bytes of INFO_DST.
pub const INFO_DESTINATION_LEN: usize = 16;
/// Bytes of HEARTBEAT.
pub const HEARTBEAT_LEN: usize = 32;
/// Bytes of HEARTBEAT_FRAG.
pub const HEARTBEAT_FRAG_LEN: usize = 28;
/// Bytes of an ACKNACK with 256 numbers, the longest.
pub const MAX_ACKNACK_LEN: usize = 60;
/// Bytes of a NACK_FRAG with 256 numbers, the longest.
pub const MAX_NACK_FRAG_LEN: usize = 64;
/// Bytes of a GAP with 256 numbers, the longest.
pub const MAX_GAP_LEN: usize = 64;

/// The fields of a DATA that is written.
#[derive(Clone, Copy, Debug)]
pub struct DataHeader<'a> {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// Number of the change.
    pub sequence_number: SequenceNumber,
    /// An encoded parameter list (little endian), sentinel included.
    pub inline_qos: Option<&'a [u8]>,
    /// What follows.
    pub kind: PayloadKind,
}

/// The fields of a DATA_FRAG that is written.
#[derive(Clone, Copy, Debug)]
pub struct DataFragHeader<'a> {
    /// The reader it is for; unknown means every matched one.
    pub reader_id: EntityId,
    /// The writer it is from.
    pub writer_id: EntityId,
    /// Number of the change.
    pub sequence_number: SequenceNumber,
    /// The first fragment here, 1 or more.
    pub first_fragment: FragmentNumber,
    /// Fragments here, 1 or more.
    pub fragment_count: u16,
    /// Bytes of every fragment but the last of the sample; a multiple of four keeps the fragments aligned.
    pub fragment_size: u16,
    /// Bytes of the whole payload, encapsulation header included.
    pub sample_size: u32,
    /// An encoded parameter list (little endian), sentinel included.
    pub inline_qos: Option<&'a [u8]>,
    /// True if the sample has only key members.
    pub is_key: bool,
}

/// Appends the header of a message of ours.
#[inline]
pub fn header(out: &mut Vec<u8>, prefix: GuidPrefix) {
    out.extend_from_slice(&Header::ours(prefix).to_bytes());
}

/// Appends INFO_TS; `None` ends the effect of an earlier one.
#[inline]
pub fn info_timestamp(out: &mut Vec<u8>, timestamp: Option<Timestamp>) {
    match timestamp {
        None => begin(out, kind::INFO_TS, INVALIDATE, 0),
        Some(timestamp) => {
            let (secs, fraction) = timestamp.to_wire();
            let bytes: [u8; INFO_TIMESTAMP_LEN] = words([start(kind::INFO_TS, 0, 8), secs, fraction]);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends INFO_DST.
#[inline]
pub fn info_destination(out: &mut Vec<u8>, prefix: GuidPrefix) {
    begin(out, kind::INFO_DST, 0, 12);
    out.extend_from_slice(&prefix.0);
}

/// Appends INFO_SRC.
pub fn info_source(out: &mut Vec<u8>, source: &Header) {
    begin(out, kind::INFO_SRC, 0, 20);
    let mut bytes = source.to_bytes();
    bytes[..4].fill(0);
    out.extend_from_slice(&bytes);
}

/// Appends the first part of a DATA and returns where it begins. The caller appends the payload (encapsulation header and
/// content) if `header.kind` says there is one, and then calls [`finish_data`] with that position.
#[inline]
pub fn begin_data(out: &mut Vec<u8>, header: &DataHeader<'_>) -> usize {
    let at = out.len();
    let inline_qos = header.inline_qos.unwrap_or(&[]);
    let flags = match header.kind {
        PayloadKind::None => 0,
        PayloadKind::Data => DATA_PAYLOAD,
        PayloadKind::Key => DATA_KEY,
    };
    // Until `finish_data`, the length says where the payload begins.
    let payload_at = DATA_HEADER_LEN.saturating_add(inline_qos.len());
    let (high, low) = header.sequence_number.to_words();
    let bytes: [u8; DATA_HEADER_LEN] = words([
        start(kind::DATA, flags | inline_qos_flag(header.inline_qos), payload_at),
        // Extra flags, and 16 bytes to the inline QoS.
        16 << 16,
        id(header.reader_id),
        id(header.writer_id),
        high.cast_unsigned(),
        low,
    ]);
    out.extend_from_slice(&bytes);
    out.extend_from_slice(inline_qos);
    at
}

/// Completes the DATA at `start`: pads it to a multiple of four and sets its length; 0 if it is too long for the field, so
/// that it has to be the last of its message.
///
/// If the payload is XCDR and bytes were padded here, their number goes into the last two bits of the encapsulation options
/// (XTypes 1.3, 7.6.3.1.2). Options of a payload that was already a multiple of four are left alone.
#[inline]
pub fn finish_data(out: &mut Vec<u8>, start: usize) {
    let padding = out.len().wrapping_neg() % 4;
    out.extend_from_slice([0, 0, 0].get(..padding).unwrap_or(&[]));
    let Some([_, flags, low, high, rest @ ..]) = out.get_mut(start..) else { return };
    let payload_at = usize::from(u16::from_le_bytes([*low, *high]));
    [*low, *high] = length_field(rest.len());
    if padding == 0 || *flags & (DATA_PAYLOAD | DATA_KEY) == 0 {
        return;
    }
    let payload = payload_at.checked_sub(4).and_then(|at| rest.get_mut(at..));
    if let Some([0, 0..=3 | 6..=0xb, _, options, ..]) = payload {
        *options = *options & !3 | padding as u8;
    }
}

/// Appends a whole DATA.
#[inline]
pub fn data(out: &mut Vec<u8>, header: &DataHeader<'_>, payload: &[u8]) {
    let start = begin_data(out, header);
    out.extend_from_slice(payload);
    finish_data(out, start);
}

/// Appends a DATA_FRAG without its payload of `payload_len` bytes, which travels right behind it. If another submessage
/// follows, the payload has to be padded to a multiple of four, and `payload_len` includes the padding.
#[inline]
pub fn data_frag_header(out: &mut Vec<u8>, header: &DataFragHeader<'_>, payload_len: usize) {
    let inline_qos = header.inline_qos.unwrap_or(&[]);
    let key = if header.is_key { FRAG_KEY } else { 0 };
    let len = (DATA_FRAG_HEADER_LEN - 4).saturating_add(inline_qos.len()).saturating_add(payload_len);
    begin(out, kind::DATA_FRAG, key | inline_qos_flag(header.inline_qos), len);
    out.extend_from_slice(&[0, 0, 28, 0]);
    between(out, header.reader_id, header.writer_id);
    sequence_number(out, header.sequence_number);
    u32s(out, [header.first_fragment.0]);
    out.extend_from_slice(&header.fragment_count.to_le_bytes());
    out.extend_from_slice(&header.fragment_size.to_le_bytes());
    u32s(out, [header.sample_size]);
    out.extend_from_slice(inline_qos);
}

/// Writes over what [`header`], [`info_timestamp`], [`data`] without inline QoS and [`heartbeat`] have written what they would write of another
/// sample of the same writer. False if the payload is not as long as the one before with its padding; then nothing is written.
#[inline]
pub fn data_over(
    datagram: &mut [u8],
    timestamp: Timestamp,
    number: SequenceNumber,
    payload: &[u8],
    heartbeat: &Heartbeat,
) -> bool {
    const BEFORE: usize = Header::LEN + INFO_TIMESTAMP_LEN + DATA_HEADER_LEN;
    let Some((before, rest)) = datagram.split_first_chunk_mut::<BEFORE>() else { return false };
    let Some((over, behind)) = rest.split_at_mut_checked(payload.len()) else { return false };
    let Ok(behind) = <&mut [u8; HEARTBEAT_LEN]>::try_from(behind) else { return false };
    let (secs, fraction) = timestamp.to_wire();
    let (high, low) = number.to_words();
    let time: [u8; 8] = words([secs, fraction]);
    let number: [u8; 8] = words([high.cast_unsigned(), low]);
    before[Header::LEN + 4..][..8].copy_from_slice(&time);
    before[BEFORE - 8..].copy_from_slice(&number);
    over.copy_from_slice(payload);
    *behind = heartbeat_octets(heartbeat);
    true
}

/// Appends HEARTBEAT.
#[inline]
pub fn heartbeat(out: &mut Vec<u8>, heartbeat: &Heartbeat) {
    out.extend_from_slice(&heartbeat_octets(heartbeat));
}

#[inline]
fn heartbeat_octets(heartbeat: &Heartbeat) -> [u8; HEARTBEAT_LEN] {
    let liveliness = if heartbeat.liveliness { LIVELINESS } else { 0 };
    let (first, last) = (heartbeat.first.to_words(), heartbeat.last.to_words());
    words([
        start(kind::HEARTBEAT, final_flag(heartbeat.is_final) | liveliness, HEARTBEAT_LEN - 4),
        id(heartbeat.reader_id),
        id(heartbeat.writer_id),
        first.0.cast_unsigned(),
        first.1,
        last.0.cast_unsigned(),
        last.1,
        heartbeat.count.cast_unsigned(),
    ])
}

/// Appends HEARTBEAT_FRAG.
pub fn heartbeat_frag(out: &mut Vec<u8>, heartbeat: &HeartbeatFrag) {
    begin(out, kind::HEARTBEAT_FRAG, 0, HEARTBEAT_FRAG_LEN - 4);
    between(out, heartbeat.reader_id, heartbeat.writer_id);
    sequence_number(out, heartbeat.sequence_number);
    u32s(out, [heartbeat.last_fragment.0, heartbeat.count.cast_unsigned()]);
}

/// Appends ACKNACK.
#[inline]
pub fn acknack(out: &mut Vec<u8>, acknack: &AckNack) {
    let words = acknack.set.bitmap().word_count() * 4;
    begin(out, kind::ACKNACK, final_flag(acknack.is_final), 24 + words);
    between(out, acknack.reader_id, acknack.writer_id);
    set(out, &acknack.set);
    u32s(out, [acknack.count.cast_unsigned()]);
}

/// Appends NACK_FRAG.
pub fn nack_frag(out: &mut Vec<u8>, nack: &NackFrag) {
    let words = nack.missing.bitmap().word_count() * 4;
    begin(out, kind::NACK_FRAG, 0, 28 + words);
    between(out, nack.reader_id, nack.writer_id);
    sequence_number(out, nack.sequence_number);
    u32s(out, [nack.missing.base().0]);
    bitmap(out, nack.missing.bitmap());
    u32s(out, [nack.count.cast_unsigned()]);
}

/// Appends GAP.
pub fn gap(out: &mut Vec<u8>, gap: &Gap) {
    let words = gap.list.bitmap().word_count() * 4;
    begin(out, kind::GAP, 0, 28 + words);
    between(out, gap.reader_id, gap.writer_id);
    sequence_number(out, gap.start);
    set(out, &gap.list);
}

/// Appends PAD so that the message grows by `len` bytes, a multiple of four; readers pass over it. Less than a header adds nothing.
pub fn pad(out: &mut Vec<u8>, len: usize) {
    let mut left = len & !3;
    while left >= 4 {
        // A length that needs more than 16 bits goes in several.
        let part = left.min(0xfff8);
        begin(out, kind::PAD, 0, part - 4);
        out.resize(out.len() + part - 4, 0);
        left -= part;
    }
}

/// Appends a submessage header: little endian, `len` bytes follow.
#[inline]
fn begin(out: &mut Vec<u8>, id: u8, flags: u8, len: usize) {
    out.extend_from_slice(&start(id, flags, len).to_le_bytes());
}

/// The word that a submessage header is.
#[inline]
fn start(id: u8, flags: u8, len: usize) -> u32 {
    let [low, high] = length_field(len);
    u32::from_le_bytes([id, flags | 1, low, high])
}

/// An entity id as if it were a word of a submessage.
#[inline]
const fn id(entity: EntityId) -> u32 {
    u32::from_le_bytes(entity.0)
}

/// The bytes of a submessage that has a fixed length: appended at once they cost less than one by one.
#[inline]
fn words<const N: usize, const LEN: usize>(words: [u32; N]) -> [u8; LEN] {
    const { assert!(LEN == 4 * N) };
    let mut bytes = [0; LEN];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// `octetsToNextHeader` for `len` bytes: 0, "to the end", for what the field cannot hold.
#[inline]
fn length_field(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(0).to_le_bytes()
}

#[inline]
const fn inline_qos_flag(inline_qos: Option<&[u8]>) -> u8 {
    if inline_qos.is_some() { INLINE_QOS } else { 0 }
}

#[inline]
const fn final_flag(is_final: bool) -> u8 {
    if is_final { FINAL } else { 0 }
}

#[inline]
fn between(out: &mut Vec<u8>, reader: EntityId, writer: EntityId) {
    out.extend_from_slice(&reader.0);
    out.extend_from_slice(&writer.0);
}

#[inline]
fn sequence_number(out: &mut Vec<u8>, number: SequenceNumber) {
    let (high, low) = number.to_words();
    u32s(out, [high.cast_unsigned(), low]);
}

fn set(out: &mut Vec<u8>, set: &SequenceNumberSet) {
    sequence_number(out, set.base());
    bitmap(out, set.bitmap());
}

fn bitmap(out: &mut Vec<u8>, bitmap: &Bitmap) {
    u32s(out, [bitmap.len()]);
    for word in bitmap.words().iter().take(bitmap.word_count()) {
        u32s(out, [*word]);
    }
}

#[inline]
fn u32s<const N: usize>(out: &mut Vec<u8>, numbers: [u32; N]) {
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

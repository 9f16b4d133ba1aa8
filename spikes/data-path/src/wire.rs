//! The few RTPS bytes the spike needs: header, INFO_TS, DATA, HEARTBEAT, ACKNACK, PAD (little endian).
use std::time::{SystemTime, UNIX_EPOCH};

pub type Prefix = [u8; 12];

/// RTPS header and INFO_TS: every datagram begins with these.
pub const PREFIX: usize = 32;
/// DATA header, sequence number and encapsulation; the payload follows.
pub const DATA: usize = 28;
pub const HEARTBEAT: usize = 32;
/// Bits of an ACKNACK bitmap.
pub const BITS: i64 = 256;

pub fn put_prefix(out: &mut Vec<u8>, prefix: &Prefix, clock: bool) {
    out.extend_from_slice(b"RTPS\x02\x05\x00\x00");
    out.extend_from_slice(prefix);
    put_time(out, clock);
}

pub fn put_time(out: &mut Vec<u8>, clock: bool) {
    let now = if clock {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    } else {
        Default::default()
    };
    let fraction = ((now.subsec_nanos() as u64) << 32) / 1_000_000_000;
    out.extend_from_slice(&[0x09, 1, 8, 0]);
    out.extend_from_slice(&(now.as_secs() as u32).to_le_bytes());
    out.extend_from_slice(&(fraction as u32).to_le_bytes());
}

fn put_sn(out: &mut Vec<u8>, seq: i64) {
    out.extend_from_slice(&((seq >> 32) as i32).to_le_bytes());
    out.extend_from_slice(&(seq as u32).to_le_bytes());
}

pub fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}

pub fn put_data(out: &mut Vec<u8>, writer: u32, seq: i64, payload: &[u8]) {
    let pad = padded(payload.len()) - payload.len();
    let len = (24 + payload.len() + pad) as u16;
    let mut head = [0u8; DATA];
    head[..8].copy_from_slice(&[0x15, 5, len as u8, (len >> 8) as u8, 0, 0, 16, 0]);
    head[12..16].copy_from_slice(&writer.to_be_bytes());
    head[16..20].copy_from_slice(&((seq >> 32) as i32).to_le_bytes());
    head[20..24].copy_from_slice(&(seq as u32).to_le_bytes());
    head[24..28].copy_from_slice(&[0, 1, 0, pad as u8]);
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    out.extend_from_slice(&[0; 3][..pad]);
}

pub fn put_heartbeat(out: &mut Vec<u8>, writer: u32, first: i64, last: i64, count: u32, ask: bool) {
    out.extend_from_slice(&[0x07, if ask { 1 } else { 3 }, 28, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&writer.to_be_bytes());
    put_sn(out, first);
    put_sn(out, last);
    out.extend_from_slice(&count.to_le_bytes());
}

pub fn put_acknack(
    out: &mut Vec<u8>,
    from: &Prefix,
    writer: u32,
    base: i64,
    missing: &[u32],
    bits: u32,
    count: u32,
) {
    out.extend_from_slice(b"RTPS\x02\x05\x00\x00");
    out.extend_from_slice(from);
    let words = bits.div_ceil(32) as usize;
    out.extend_from_slice(&[0x06, 3, 24 + 4 * words as u8, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&writer.to_be_bytes());
    put_sn(out, base);
    out.extend_from_slice(&bits.to_le_bytes());
    for w in missing.iter().take(words) {
        out.extend_from_slice(&w.to_le_bytes());
    }
    out.extend_from_slice(&count.to_le_bytes());
}

/// Fills up to `len` bytes (a multiple of four) with one PAD submessage.
pub fn put_pad(out: &mut Vec<u8>, len: usize) {
    if len >= 4 {
        out.extend_from_slice(&[0x01, 1, (len - 4) as u8, ((len - 4) >> 8) as u8]);
        out.resize(out.len() + len - 4, 0);
    }
}

pub enum Sub<'a> {
    Data { writer: u32, seq: i64, payload: &'a [u8] },
    Heartbeat { writer: u32, last: i64, ask: bool },
    AckNack { writer: u32, base: i64, bits: u32, words: [u32; 8] },
    Other,
}

/// A cursor that never indexes: every read is checked.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (a, b) = self.0.split_at_checked(n)?;
        self.0 = b;
        Some(a)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (a, b) = self.0.split_first_chunk::<N>()?;
        self.0 = b;
        Some(*a)
    }
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    fn sn(&mut self) -> Option<i64> {
        let high = self.array().map(i32::from_le_bytes)?;
        Some(((high as i64) << 32) | self.u32()? as i64)
    }
    fn entity(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn header(&mut self) -> Option<Prefix> {
        let magic: [u8; 8] = self.array()?;
        if !magic.starts_with(b"RTPS\x02") {
            return None;
        }
        self.array()
    }

    /// Offset of the next submessage and its kind and whole length; used to walk a slab for repairs.
    pub fn skip(&mut self) -> Option<(u8, usize, i64)> {
        let [kind, _] = self.array::<2>()?;
        let len = self.u16()? as usize;
        let mut body = Cursor(self.take(len)?);
        let seq = if kind == 0x15 { body.take(12).and_then(|_| body.sn()).unwrap_or(0) } else { 0 };
        Some((kind, len + 4, seq))
    }

    pub fn next(&mut self) -> Option<Sub<'a>> {
        let [kind, flags] = self.array::<2>()?;
        let len = self.u16()? as usize;
        let mut body = Cursor(self.take(len)?);
        match kind {
            0x15 => {
                body.u16()?;
                let to_qos = body.u16()?;
                body.u32()?;
                let writer = body.entity()?;
                let seq = body.sn()?;
                body.take((to_qos as usize).checked_sub(16)?)?;
                let encapsulation: [u8; 4] = body.array()?;
                let pad = (encapsulation[3] & 3) as usize;
                let payload = body.0.get(..body.0.len().checked_sub(pad)?)?;
                Some(Sub::Data { writer, seq, payload })
            }
            0x07 => {
                body.u32()?;
                let writer = body.entity()?;
                let (_first, last) = (body.sn()?, body.sn()?);
                Some(Sub::Heartbeat { writer, last, ask: flags & 2 == 0 })
            }
            0x06 => {
                body.u32()?;
                let writer = body.entity()?;
                let (base, bits) = (body.sn()?, body.u32()?);
                if bits as i64 > BITS || base < 1 {
                    return Some(Sub::Other);
                }
                let mut words = [0u32; 8];
                for w in words.iter_mut().take(bits.div_ceil(32) as usize) {
                    *w = body.u32()?;
                }
                Some(Sub::AckNack { writer, base, bits, words })
            }
            _ => Some(Sub::Other),
        }
    }
}

//! UDP datagrams out of the frames at an interface, those in fragments of IPv4, too; and what RTPS says in them. Written from the standards
//! alone: it shares nothing with what is judged.
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Fragmented datagrams that are looked at together; the oldest gives way.
const MOST_OPEN: usize = 64;

/// A whole datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Datagram {
    pub(crate) from: Ipv4Addr,
    pub(crate) to: Ipv4Addr,
    pub(crate) payload: Vec<u8>,
    /// When its last frame came, in nanoseconds since 1970.
    pub(crate) at: i64,
}

/// Source, destination and IPv4 identification.
type Name = (Ipv4Addr, Ipv4Addr, u16);

/// The fragments of a datagram that is not whole yet.
#[derive(Default)]
struct Open {
    begun: u64,
    pieces: BTreeMap<usize, Vec<u8>>,
    length: Option<usize>,
}

/// Puts datagrams together.
#[derive(Default)]
pub(crate) struct Datagrams {
    open: BTreeMap<Name, Open>,
    begun: u64,
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

impl Datagrams {
    /// A frame came: the datagram that is whole with it, if one is.
    pub(crate) fn take(&mut self, frame: &[u8], at: i64) -> Option<Datagram> {
        let packet = frame.get(14..).filter(|_| be16(frame, 12) == Some(0x0800))?;
        let header = usize::from(packet.first()? & 0x0f) * 4;
        let length = usize::from(be16(packet, 2)?);
        let (kind, place) = (*packet.get(9)?, be16(packet, 6)?);
        let address = |at: usize| Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?));
        let (from, to) = (address(12)?, address(16)?);
        // Padding of a short frame is behind the packet.
        let content = packet.get(header..length)?;
        if kind != 17 {
            return None;
        }
        let (is_last, offset) = (place & 0x2000 == 0, usize::from(place & 0x1fff) * 8);
        let whole = if is_last && offset == 0 {
            content.to_vec()
        } else {
            self.piece((from, to, be16(packet, 4)?), offset, content, is_last)?
        };
        Some(Datagram { from, to, payload: whole.get(8..)?.to_vec(), at })
    }

    fn piece(&mut self, name: Name, offset: usize, content: &[u8], is_last: bool) -> Option<Vec<u8>> {
        self.begun += 1;
        let open = self.open.entry(name).or_default();
        if open.pieces.is_empty() {
            open.begun = self.begun;
        }
        open.pieces.insert(offset, content.to_vec());
        if is_last {
            open.length = Some(offset + content.len());
        }
        let mut whole = Vec::new();
        for (offset, piece) in &open.pieces {
            if *offset == whole.len() {
                whole.extend_from_slice(piece);
            }
        }
        if open.length == Some(whole.len()) {
            self.open.remove(&name);
            return Some(whole);
        }
        while self.open.len() > MOST_OPEN {
            let oldest = *self.open.iter().min_by_key(|(_, open)| open.begun)?.0;
            self.open.remove(&oldest);
        }
        None
    }
}

/// What a message says of a sample of an application's writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// The writer: GUID prefix and entity id.
    pub(crate) writer: [u8; 16],
    pub(crate) number: u64,
    /// When the writer's program wrote it, by its own word, in nanoseconds since 1970.
    pub(crate) written: Option<i64>,
    /// The fragments that are here, from 1, and of how many.
    pub(crate) fragments: (u32, u32),
    pub(crate) of: u32,
}

const INFO_TS: u8 = 0x09;
const DATA: u8 = 0x15;
const DATA_FRAG: u8 = 0x16;
/// Bits of the kind of an entity that is built in.
const BUILT_IN: u8 = 0xc0;

/// A submessage with its order of bytes.
struct Sub<'m> {
    little: bool,
    flags: u8,
    body: &'m [u8],
}

impl Sub<'_> {
    fn four(&self, at: usize) -> Option<u32> {
        let bytes = self.body.get(at..at + 4)?.try_into().ok()?;
        Some(if self.little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn two(&self, at: usize) -> Option<u16> {
        let bytes = self.body.get(at..at + 2)?.try_into().ok()?;
        Some(if self.little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    /// RTPS 2.5, 9.3.2.1: seconds, and parts of a second of which there are 2^32.
    fn time(&self) -> Option<i64> {
        let (seconds, parts) = (i64::from(self.four(0)?), i64::from(self.four(4)?));
        Some(seconds * 1_000_000_000 + ((parts * 1_000_000_000) >> 32))
    }

    /// RTPS 2.5, 9.4.5.4 and 9.4.5.5.
    fn sample(&self, id: u8, prefix: &[u8], written: Option<i64>) -> Option<Seen> {
        let entity = self.body.get(8..12)?;
        let writer = <[u8; 16]>::try_from([prefix, entity].concat()).ok()?;
        if writer[15] & BUILT_IN != 0 {
            return None;
        }
        let number = u64::from(self.four(12)?) << 32 | u64::from(self.four(16)?);
        let (fragments, of) = if id == DATA {
            ((1, 1), 1)
        } else {
            let (first, count) = (self.four(20)?, self.two(24)?);
            let (each, size) = (self.two(26)?, self.four(28)?);
            ((first, first + u32::from(count) - 1), size.div_ceil(u32::from(each.max(1))))
        };
        Some(Seen { writer, number, written, fragments, of })
    }
}

/// The samples of applications in an RTPS message, whole or in part. What is none says nothing.
pub(crate) fn samples(message: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let (Some(b"RTPS"), Some(prefix), Some(mut rest)) =
        (message.get(..4), message.get(8..20), message.get(20..))
    else {
        return seen;
    };
    let mut written = None;
    while let [id, flags, length @ ..] = rest {
        let Some(length) = length.first_chunk::<2>() else { break };
        let little = flags & 1 != 0;
        let length =
            usize::from(if little { u16::from_le_bytes(*length) } else { u16::from_be_bytes(*length) });
        // Nothing said is up to the end, but for what has no body (RTPS 2.5, 9.4.5.1.3).
        let end = if length == 0 && !matches!(*id, INFO_TS | 0x01) { rest.len() } else { 4 + length };
        let Some(body) = rest.get(4..end) else { break };
        let sub = Sub { little, flags: *flags, body };
        match *id {
            INFO_TS => written = if sub.flags & 2 == 0 { sub.time() } else { None },
            DATA | DATA_FRAG => seen.extend(sub.sample(*id, prefix, written)),
            _ => {}
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(place: u16, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(20 + content.len()).unwrap();
        let mut frame = [[0; 12].as_slice(), &[0x08, 0x00, 0x45, 0]].concat();
        frame.extend(length.to_be_bytes());
        frame.extend([0, 7]);
        frame.extend(place.to_be_bytes());
        frame.extend([64, 17, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2]);
        frame.extend_from_slice(content);
        frame
    }

    #[test]
    fn fragments_in_any_order_make_the_datagram_when_the_last_one_has_come() {
        let whole: Vec<u8> = (0..40).collect();
        let mut datagrams = Datagrams::default();
        assert_eq!(datagrams.take(&packet(2, &whole[16..]), 1), None);
        assert_eq!(datagrams.take(&packet(0x2000, &whole[..8]), 2), None);
        let last = datagrams.take(&packet(0x2001, &whole[8..16]), 3).unwrap();
        assert_eq!((last.payload.as_slice(), last.at), (&whole[8..], 3));
        assert_eq!((last.from, last.to), ([10, 1, 0, 1].into(), [10, 1, 0, 2].into()));
        // One that is short is padded to the least frame.
        let mut short = packet(0, &whole[..10]);
        short.resize(60, 0xff);
        assert_eq!(datagrams.take(&short, 4).unwrap().payload, whole[8..10]);
        assert!(datagrams.open.is_empty());
    }

    #[test]
    fn a_message_tells_of_its_samples_and_when_they_were_written() {
        let mut message = b"RTPS\x02\x03\x01\x10abcdefghijkl".to_vec();
        // Half a second after the second 5, in the order of the sender.
        message.extend([0x09, 1, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0x80]);
        message.extend([0x15, 1, 24, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 3, 1, 0, 0, 0, 9, 0, 0, 0]);
        message.extend([0xff; 4]);
        // What is built in is of no application.
        message.extend([0x15, 0, 0, 20, 0, 0, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0xc2, 0, 0, 0, 0, 0, 0, 0, 1]);
        message.extend([0x16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        message.extend([0, 0, 0, 2, 0, 2, 0x04, 0, 0, 0, 0x0c, 1]);
        let seen = samples(&message);
        let writer = |entity: &[u8]| <[u8; 16]>::try_from([b"abcdefghijkl", entity].concat()).unwrap();
        let written = Some(5_500_000_000);
        let first = writer(&[0, 0, 1, 3]);
        assert_eq!(seen[0], Seen { writer: first, number: 1 << 32 | 9, written, fragments: (1, 1), of: 1 });
        let second = writer(&[0, 0, 2, 2]);
        assert_eq!(seen[1], Seen { writer: second, number: 1, written, fragments: (2, 3), of: 4 });
        assert_eq!(seen.len(), 2);
        assert_eq!(samples(b"RTPX"), []);
    }
}

//! What a message weighs on the wire: frames, headers, preamble and gap.
//!
//! A frame occupies a link for its bytes from destination address to payload, at least 60, and 24 more: preamble and
//! start of frame 8, frame check sequence 4, inter-frame gap 12 (IEEE 802.3). Gates count the same bytes; meters may
//! count fewer, see [`Counts`](crate::policing::Counts).

/// Bytes that a frame occupies a link beyond its header and payload: preamble, check sequence and gap.
pub const FRAME_AROUND: u64 = 24;
/// Least bytes of header and payload in a frame, without the check sequence.
pub const LEAST_FRAME: u64 = 60;
/// Ethernet header without VLAN tag, in bytes.
pub const ETHERNET_HEADER: u64 = 14;
/// UDP header, in bytes.
pub const UDP_HEADER: u64 = 8;
/// IPv4 header without options and UDP header, in bytes: the least that a frame of a flow has beside Ethernet's.
pub const UDP_IPV4_HEADERS: u64 = Ip::V4.header() + UDP_HEADER;
/// The most bytes that an untagged frame of 1,500 bytes payload occupies a link.
pub const LARGEST_FRAME: u64 = 1_538;

/// RTPS header, INFO_TS and DATA_FRAG header: the most that is around a fragment of a flow (RTPS 2.5, 9.4.5).
const AROUND_FRAGMENT: u64 = 20 + 12 + 36;
/// An INFO_DST, for which datagrams of fragments have room, and which those of a flow do not have.
const INFO_DST: u64 = 16;
/// A HEARTBEAT, for which datagrams of fragments have room, and which one of a message's has at most: the last.
const HEARTBEAT: u64 = 32;
/// RTPS header, INFO_DST, INFO_TS, DATA header, padding and HEARTBEAT: the most that is around a whole sample.
const AROUND_SAMPLE: u64 = 20 + 16 + 12 + 24 + 3 + 32;
/// The least that is around a fragment and around a whole sample: an INFO_TS says without a time that there is none, and nothing is
/// there that may be left out.
const LEAST_AROUND_FRAGMENT: u64 = 20 + 4 + 36;
const LEAST_AROUND_SAMPLE: u64 = 20 + 4 + 24;

/// The version of IP that carries a flow. Its headers have no options and no extension headers, which switches would not look behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Ip {
    /// IPv4 (RFC 791): 20 bytes of header.
    #[default]
    V4,
    /// IPv6 (RFC 8200): 40 bytes of header.
    V6,
}

impl Ip {
    /// Bytes of the header of each packet.
    pub const fn header(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// Bytes of Ethernet's, this version's and UDP's headers, with a tag of so many bytes.
    const fn headers(self, tag: u32) -> u64 {
        ETHERNET_HEADER + self.header() + UDP_HEADER + tag as u64
    }
}

/// How a message becomes datagrams. One datagram is one frame: there is no fragmentation by IP on a managed flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// The bytes of the message fill datagrams of at most `datagram` bytes, with no header of their own.
    Udp {
        /// Most bytes of UDP payload: on Ethernet 1,472 over IPv4, 1,452 over IPv6.
        datagram: u32,
        /// The version of IP that carries the datagrams.
        ip: Ip,
    },
    /// Punctual's own RTPS messages: a sample that fits goes whole, others in DATA_FRAG submessages, one for each datagram.
    /// The message is the serialized payload with its encapsulation header; inline QoS counts as part of it.
    Rtps {
        /// Most bytes of UDP payload: on Ethernet 1,472 over IPv4, 1,452 over IPv6.
        datagram: u32,
        /// The version of IP that carries the datagrams.
        ip: Ip,
    },
}

/// The frames of a message, or of any message that a flow may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    /// Number of frames at most, at least 1.
    pub count: u64,
    /// Bits that all frames of a message occupy a link at most.
    pub bits: u64,
    /// Bits of the largest frame.
    pub largest: u64,
    /// Bits of the smallest frame.
    pub smallest: u64,
    /// Bits of the smallest frame that a message may begin with.
    pub first: u64,
}

impl Framing {
    /// The version of IP that carries the datagrams.
    pub const fn ip(self) -> Ip {
        match self {
            Self::Udp { ip, .. } | Self::Rtps { ip, .. } => ip,
        }
    }

    /// The frames of any message of at least `least` and at most `most` bytes, also of several samples that share a datagram: they
    /// weigh no more together than the largest one. `tag` is as in [`Self::frames`].
    ///
    /// The largest sample has the most frames and bits. It need not have the largest frame: what goes whole fills its datagram further
    /// than fragments do, and a last fragment with a HEARTBEAT is larger than a full one.
    pub fn range(self, least: u32, most: u32, tag: u32) -> Option<Frames> {
        let heaviest = self.frames(most, tag)?;
        let header = self.ip().headers(tag);
        let (least, most) = (u64::from(least.min(most)), u64::from(most));
        let (largest, smallest, first) = match self {
            Self::Udp { datagram, .. } => {
                let datagram = u64::from(datagram);
                // Of a message of several frames, the last one may hold a single byte.
                let smallest = if most <= datagram { least } else { least.min(1) };
                let smallest = if least == most { heaviest.smallest } else { frame_bits(header + smallest) };
                (heaviest.largest, smallest, frame_bits(header + least.min(datagram)))
            }
            Self::Rtps { datagram, .. } => {
                let datagram = u64::from(datagram);
                let piece = datagram.checked_sub(AROUND_FRAGMENT + INFO_DST + HEARTBEAT)? & !3;
                let whole = datagram.checked_sub(AROUND_SAMPLE);
                let (some_whole, all_whole) =
                    (whole.is_some_and(|whole| least <= whole), whole.is_some_and(|whole| most <= whole));
                let full = most.checked_div(piece)?.saturating_mul(piece);
                let largest = match () {
                    () if all_whole => heaviest.largest,
                    () if some_whole => frame_bits(header + datagram),
                    () if full >= least => frame_bits(header + AROUND_FRAGMENT + piece + HEARTBEAT),
                    () => heaviest.largest,
                };
                let whole = some_whole.then(|| frame_bits(header + LEAST_AROUND_SAMPLE + least));
                let fragment = |bytes| frame_bits(header + LEAST_AROUND_FRAGMENT + bytes);
                // A last fragment may hold a single byte, which is padded to four.
                let last =
                    if least == most { (most - piece * (heaviest.count - 1)).next_multiple_of(4) } else { 4 };
                let cut = (!all_whole).then(|| fragment(last.min(piece)));
                let begun = (!all_whole).then(|| fragment(piece));
                let smallest = whole.into_iter().chain(cut).min()?;
                (largest, smallest, whole.into_iter().chain(begun).min()?)
            }
        };
        Some(Frames { largest, smallest, first, ..heaviest })
    }

    /// The least bits that the frames of a message of `bytes`, or of more, occupy a link.
    pub fn least_bits(self, bytes: u32, tag: u32) -> Option<u64> {
        let heaviest = self.frames(bytes, tag)?;
        let bytes = u64::from(bytes);
        let header = self.ip().headers(tag);
        let Self::Rtps { datagram, .. } = self else { return Some(heaviest.bits) };
        let datagram = u64::from(datagram);
        if bytes.saturating_add(AROUND_SAMPLE) <= datagram {
            return Some(frame_bits(header + LEAST_AROUND_SAMPLE + bytes));
        }
        let piece = datagram.checked_sub(AROUND_FRAGMENT + INFO_DST + HEARTBEAT)? & !3;
        let last = bytes.checked_sub(piece.checked_mul(heaviest.count - 1)?)?.next_multiple_of(4);
        let full = frame_bits(header + LEAST_AROUND_FRAGMENT + piece).checked_mul(heaviest.count - 1)?;
        full.checked_add(frame_bits(header + LEAST_AROUND_FRAGMENT + last))
    }

    /// The frames of a message of `bytes` with all that may be around it, with `tag` more bytes of header in each frame, such as a
    /// VLAN tag (4).
    ///
    /// `None` if a datagram has no room for data, or is above 65,507 bytes.
    pub fn frames(self, bytes: u32, tag: u32) -> Option<Frames> {
        self.padded(bytes, tag, 0)
    }

    /// The same where frames are padded to so many bytes more than the least.
    pub(crate) fn padded(self, bytes: u32, tag: u32, padded: u32) -> Option<Frames> {
        let frame_bits = |bytes: u64| frame_bits(bytes.max(LEAST_FRAME + u64::from(padded)));
        let bytes = u64::from(bytes);
        let header = self.ip().headers(tag);
        let (piece, around) = match self {
            Self::Udp { datagram, .. } | Self::Rtps { datagram, .. } if datagram > 65_507 => return None,
            Self::Udp { datagram, .. } => (u64::from(datagram), 0),
            Self::Rtps { datagram, .. } => {
                let datagram = u64::from(datagram);
                let room = datagram.checked_sub(AROUND_FRAGMENT + INFO_DST + HEARTBEAT)? & !3;
                if bytes.saturating_add(AROUND_SAMPLE) <= datagram {
                    let bits = frame_bits(header + AROUND_SAMPLE + bytes);
                    return Some(Frames { count: 1, bits, largest: bits, smallest: bits, first: bits });
                }
                // A last fragment is padded to a multiple of four.
                (room, AROUND_FRAGMENT)
            }
        };
        if piece == 0 {
            return None;
        }
        let count = bytes.div_ceil(piece).max(1);
        let last = bytes - piece * (count - 1);
        let last =
            if matches!(self, Self::Rtps { .. }) { last.next_multiple_of(4) + HEARTBEAT } else { last };
        let full = frame_bits(header + around + piece);
        let last = frame_bits(header + around + last);
        let bits = full * (count - 1) + last;
        let (largest, smallest) = if count > 1 { (full.max(last), full.min(last)) } else { (last, last) };
        let first = if count > 1 { full } else { last };
        Some(Frames { count, bits, largest, smallest, first })
    }
}

/// Bits that a frame with so many bytes of header and payload occupies a link.
pub fn frame_bits(bytes: u64) -> u64 {
    (bytes.max(LEAST_FRAME) + FRAME_AROUND) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: Framing = Framing::Udp { datagram: 1_472, ip: Ip::V4 };
    const RTPS: Framing = Framing::Rtps { datagram: 1_472, ip: Ip::V4 };
    const UDP6: Framing = Framing::Udp { datagram: 1_452, ip: Ip::V6 };
    const RTPS6: Framing = Framing::Rtps { datagram: 1_452, ip: Ip::V6 };

    #[test]
    fn messages_of_table_two() {
        for (bytes, count, nanoseconds) in
            [(192_192, 131, 1_606_704), (96_000, 66, 802_848), (64_000, 44, 535_232)]
        {
            let frames = UDP.frames(bytes, 0).unwrap();
            assert_eq!((frames.count, frames.bits), (count, nanoseconds));
            assert_eq!(frames.largest, LARGEST_FRAME * 8);
        }
    }

    #[test]
    fn overhead_is_counted_for_every_frame() {
        // Without headers the message would be 192,192 bytes: gap 6 of the analysis.
        assert!(UDP.frames(192_192, 0).unwrap().bits > 192_192 * 8);
        assert_eq!(UDP.frames(192_192, 4).unwrap().bits, UDP.frames(192_192, 0).unwrap().bits + 131 * 32);
        let rtps = RTPS.frames(192_196, 0).unwrap();
        assert_eq!((rtps.count, rtps.bits), (142, (192_196 + 142 * 134 + 32) * 8));
    }

    #[test]
    fn small_messages_are_padded_to_a_frame() {
        assert_eq!(
            UDP.frames(0, 0).unwrap(),
            Frames { count: 1, bits: 672, largest: 672, smallest: 672, first: 672 }
        );
        assert_eq!(RTPS.frames(4, 0).unwrap().bits, (42 + 107 + 4 + 24) * 8);
        let two = UDP.frames(1_473, 0).unwrap();
        assert_eq!((two.count, two.largest, two.smallest), (2, 12_304, 672));
    }

    #[test]
    fn the_largest_whole_sample_and_the_first_in_fragments() {
        assert_eq!(RTPS.frames(1_472 - 107, 0).unwrap().count, 1);
        assert_eq!(RTPS.frames(1_472 - 106, 0).unwrap().count, 2);
    }

    /// RFC 8200, 3: 40 bytes of header in each frame, and so 20 bytes less in it where it is full.
    #[test]
    fn headers_of_ipv6_are_counted_in_every_frame() {
        let frames = UDP6.frames(192_192, 0).unwrap();
        assert_eq!((frames.count, frames.largest), (133, LARGEST_FRAME * 8));
        assert_eq!(frames.bits, (192_192 + 133 * (14 + 40 + 8 + 24)) * 8);
        assert_eq!(RTPS6.frames(4, 0).unwrap().bits, (62 + 107 + 4 + 24) * 8);
        // Nothing is padded: the headers alone are more than the least frame.
        let least = UDP6.frames(0, 0).unwrap();
        assert_eq!((least.bits, UDP6.range(0, 9_000, 0).unwrap().smallest), (86 * 8, 87 * 8 - 8));
        let (most, least) = (RTPS6.range(5, 1_404, 4).unwrap(), RTPS6.least_bits(5, 4).unwrap());
        assert_eq!((most.largest, most.first), ((1_538 + 4) * 8, (62 + 4 + 48 + 5 + 24) * 8));
        assert_eq!(least, (62 + 4 + 48 + 5 + 24) * 8);
    }

    #[test]
    fn a_datagram_without_room_is_refused() {
        assert_eq!(Framing::Udp { datagram: 0, ip: Ip::V4 }.frames(1, 0), None);
        assert_eq!(Framing::Rtps { datagram: 119, ip: Ip::V4 }.frames(100, 0), None);
        assert_eq!(Framing::Udp { datagram: 65_508, ip: Ip::V4 }.frames(1, 0), None);
    }
}

//! What becomes of a sample on the wire, written from the documents and by counting datagram after datagram: RTPS 2.5, 9.4.5,
//! and IEEE 802.3 and 802.1Q.
use alloc::vec;
use alloc::vec::Vec;

use crate::random::Random;

/// RTPS 2.5, 9.4.5: the header of a message.
const RTPS_HEADER: u64 = 20;
/// INFO_TS with a time, and one that says that there is none.
const INFO_TS: [u64; 2] = [12, 4];
const INFO_DST: u64 = 16;
/// DATA without inline QoS, before its payload.
const DATA: u64 = 24;
/// DATA_FRAG without inline QoS, before its fragment.
const DATA_FRAG: u64 = 36;
const HEARTBEAT: u64 = 32;
/// Ethernet and UDP, and between them IPv4 (RFC 791, 3.1) or IPv6 (RFC 8200, 3).
const HEADERS: u64 = 14 + 8;
const IPV4: u64 = 20;
const IPV6: u64 = 40;
const UDP: u64 = 8;
/// The header of a fragment of IPv6 (RFC 8200, 4.5).
const FRAGMENT: u64 = 8;
/// Preamble and start of frame, check sequence, gap.
const AROUND: u64 = 8 + 4 + 12;
/// Bytes of the smallest frame on the wire, with preamble, check sequence and gap.
pub const SMALLEST_FRAME: u64 = 64 + 20;
/// Bytes of the largest frame without a tag, of 1,500 bytes of payload.
pub const LARGEST_FRAME: u64 = 1_538;

/// How samples become datagrams, one in each frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// The bytes of the sample fill datagrams of so many bytes.
    Udp {
        /// Most bytes of UDP payload.
        datagram: u64,
    },
    /// RTPS: DATA, or DATA_FRAG with one fragment in each datagram.
    Rtps {
        /// Most bytes of UDP payload.
        datagram: u64,
    },
}

/// The samples of a writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Samples {
    /// How they become datagrams.
    pub framing: Framing,
    /// Bytes of the smallest one; with RTPS, its encapsulation header included.
    pub least: u64,
    /// Bytes of the largest one.
    pub most: u64,
    /// Whether IPv6 carries them, and not IPv4.
    pub ipv6: bool,
}

/// What a writer may leave out of its datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extras {
    /// Nothing: time, destination, padding and HEARTBEAT are there.
    All,
    /// There is a HEARTBEAT, and neither destination nor padding.
    Usual,
    /// Nothing is there that is not needed.
    None,
}

/// Bytes on the wire of a datagram in its frame, with a tag of so many bytes.
pub fn on_wire(datagram: u64, tag: u64, ipv6: bool) -> u64 {
    let ip = if ipv6 { IPV6 } else { IPV4 };
    (HEADERS + ip + tag + datagram + AROUND).max(SMALLEST_FRAME)
}

/// Bytes on the wire of each frame of a datagram with so many bytes of UDP payload, without a tag, as IP cuts it for a path with this MTU: all fragments but
/// the last hold a multiple of eight bytes (RFC 791, 3.2; RFC 8200, 4.5).
pub fn in_fragments(datagram: u64, mtu: u64, ipv6: bool) -> Vec<u64> {
    let ip = if ipv6 { IPV6 } else { IPV4 };
    let packet = UDP + datagram;
    if ip + packet <= mtu {
        return vec![on_wire(datagram, 0, ipv6)];
    }
    let header = if ipv6 { IPV6 + FRAGMENT } else { IPV4 };
    let piece = mtu.saturating_sub(header).max(8) / 8 * 8;
    // UDP is in what is cut.
    let frame = |piece: u64| (HEADERS - UDP + header + piece + AROUND).max(SMALLEST_FRAME);
    cut(packet, piece).into_iter().map(frame).collect()
}

/// What a frame takes of a link with this tag behind one with another. A switch pads what has less than the least size without its tag,
/// and takes no padding off; `early` says whether it does so always, or only where the frame would be too small there.
pub fn retagged(bytes: u64, before: u64, after: u64, early: bool) -> u64 {
    let untagged = bytes.saturating_sub(before);
    if early {
        untagged.max(bytes.min(SMALLEST_FRAME)) + after
    } else {
        (untagged + after).max(bytes.min(SMALLEST_FRAME))
    }
}

impl Samples {
    /// Bytes of a fragment: room is kept for everything that may be beside it, and it is a multiple of four.
    fn fragment(&self, datagram: u64) -> u64 {
        datagram.saturating_sub(RTPS_HEADER + INFO_DST + INFO_TS[0] + DATA_FRAG + HEARTBEAT) / 4 * 4
    }

    /// The largest sample that goes whole in a datagram, if any does.
    fn largest_whole(datagram: u64) -> Option<u64> {
        datagram.checked_sub(RTPS_HEADER + INFO_DST + INFO_TS[0] + DATA + 3 + HEARTBEAT)
    }

    /// How many datagrams a sample becomes at most; 0 if a datagram has no room for data.
    pub fn count(&self, bytes: u64) -> u64 {
        let piece = match self.framing {
            Framing::Udp { datagram } => datagram,
            Framing::Rtps { datagram } => self.fragment(datagram),
        };
        if piece == 0 { 0 } else { bytes.div_ceil(piece).max(1) }
    }

    /// Bytes of the datagrams of a sample; empty if a datagram has no room for data.
    pub fn datagrams(&self, bytes: u64, extras: Extras) -> Vec<u64> {
        match self.framing {
            Framing::Udp { datagram: 0 } => Vec::new(),
            Framing::Udp { datagram } => cut(bytes, datagram),
            Framing::Rtps { datagram } => {
                let time = INFO_TS[usize::from(extras == Extras::None)];
                let heartbeat = if extras == Extras::None { 0 } else { HEARTBEAT };
                let beside = if extras == Extras::All { INFO_DST + 3 } else { 0 };
                if Self::largest_whole(datagram).is_some_and(|most| bytes <= most) {
                    return vec![RTPS_HEADER + beside + time + DATA + bytes + heartbeat];
                }
                let fragment = self.fragment(datagram);
                if fragment == 0 {
                    return Vec::new();
                }
                let pieces = cut(bytes, fragment).into_iter();
                let mut datagrams: Vec<u64> =
                    pieces.map(|piece| RTPS_HEADER + time + DATA_FRAG + piece.div_ceil(4) * 4).collect();
                if let Some(last) = datagrams.last_mut() {
                    *last += heartbeat;
                }
                datagrams
            }
        }
    }

    /// The frames on a link with a tag of so many bytes.
    pub fn frames(&self, bytes: u64, extras: Extras, tag: u64) -> Vec<u64> {
        self.datagrams(bytes, extras).into_iter().map(|datagram| on_wire(datagram, tag, self.ipv6)).collect()
    }

    /// Samples at and around which the number or the size of frames changes, from the largest to the smallest.
    pub fn edges(&self) -> Vec<u64> {
        let mut sizes = vec![self.most, self.least];
        let mut around = |size: u64| {
            sizes.extend((0..=4).flat_map(|by| [size.saturating_sub(by), size + by]));
        };
        let piece = match self.framing {
            Framing::Udp { datagram } => datagram,
            Framing::Rtps { datagram } => {
                around(Self::largest_whole(datagram).unwrap_or(0));
                self.fragment(datagram)
            }
        }
        .max(1);
        around(piece);
        around(self.most / piece * piece);
        around(self.least.div_ceil(piece) * piece);
        sizes.retain(|size| (self.least..=self.most).contains(size));
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        sizes.dedup();
        sizes
    }

    /// The bytes of a datagram with as many small samples as it has room for, if the writer may send two in the place of the
    /// largest one.
    fn batch(&self) -> Option<u64> {
        let Framing::Rtps { datagram } = self.framing else { return None };
        let whole = RTPS_HEADER + INFO_DST + INFO_TS[0] + DATA + self.most + 3 + HEARTBEAT;
        let room = (whole.min(datagram) / 4 * 4).checked_sub(RTPS_HEADER + HEARTBEAT)?;
        let two = 2 * (INFO_TS[0] + DATA + self.least.div_ceil(4) * 4);
        // Samples between the least and the most fill the room to the last four bytes.
        (two <= room).then_some(RTPS_HEADER + room + HEARTBEAT)
    }

    /// Messages that are worth sending, as frames on a link with a tag of so many bytes: the heaviest first; then those at the edges,
    /// several samples in one datagram, ones without what may be left out, and samples of random sizes.
    pub fn messages(&self, tag: u64, some: usize, random: &mut Random) -> Vec<Vec<u64>> {
        let mut messages = vec![self.frames(self.most, Extras::All, tag)];
        if let Framing::Rtps { .. } = self.framing {
            messages.push(self.frames(self.most, Extras::None, tag));
            messages.push(self.frames(self.least, Extras::None, tag));
        }
        if let Some(batch) = self.batch() {
            messages.push(vec![on_wire(batch, tag, self.ipv6)]);
        }
        messages.extend(self.edges().into_iter().map(|size| self.frames(size, Extras::All, tag)));
        for _ in 0..some {
            let extras = [Extras::All, Extras::Usual, Extras::None][random.index(3)];
            messages.push(self.frames(random.between(self.least, self.most), extras, tag));
        }
        let mut distinct: Vec<Vec<u64>> = Vec::new();
        for message in messages {
            if !message.is_empty() && !distinct.contains(&message) {
                distinct.push(message);
            }
        }
        distinct
    }
}

/// Pieces of at most so many bytes; one even of nothing.
fn cut(bytes: u64, piece: u64) -> Vec<u64> {
    let mut pieces = Vec::new();
    let mut left = bytes;
    while left > piece {
        pieces.push(piece);
        left -= piece;
    }
    pieces.push(left);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rtps(least: u64, most: u64) -> Samples {
        Samples { framing: Framing::Rtps { datagram: 1_472 }, least, most, ipv6: false }
    }

    #[test]
    fn a_smaller_sample_may_have_the_larger_frame() {
        let samples = rtps(5, 1_404);
        assert_eq!(samples.frames(1_365, Extras::All, 0), [1_538]);
        assert_eq!(samples.frames(1_404, Extras::All, 0), [1_490, 214]);
        assert_eq!(samples.frames(1_404, Extras::None, 4), [1_486, 178]);
        let largest = |messages: &[Vec<u64>]| messages.iter().flatten().max().copied();
        assert_eq!(largest(&samples.messages(0, 0, &mut Random::new(1))), Some(1_538));
        // The last fragment is a full one, and has a HEARTBEAT.
        assert_eq!(rtps(0, 2_712).frames(2_712, Extras::All, 0), [1_490, 1_522]);
    }

    #[test]
    fn small_samples_share_a_datagram_that_is_no_larger_than_that_of_the_largest() {
        assert_eq!(rtps(4, 1_404).batch(), Some(1_472));
        assert_eq!(rtps(4, 100).batch(), Some(204));
        assert_eq!(rtps(100, 100).batch(), None);
    }

    #[test]
    fn frames_have_a_least_size_with_their_tags() {
        assert_eq!([0, 17, 18, 19].map(|bytes| on_wire(bytes, 0, false)), [84, 84, 84, 85]);
        assert_eq!([0, 14, 15].map(|bytes| on_wire(bytes, 4, false)), [84, 84, 85]);
        // With IPv6 even one without data is above the least size.
        assert_eq!([0, 1].map(|bytes| on_wire(bytes, 0, true)), [86, 87]);
        assert_eq!([84, 90].map(|bytes| retagged(bytes, 4, 0, false)), [84, 86]);
        // Padding that was put in place of a tag stays.
        assert_eq!(retagged(retagged(84, 4, 0, false), 0, 4, false), 88);
        assert_eq!([84, 86, 90].map(|bytes| retagged(bytes, 4, 4, false)), [84, 86, 90]);
        assert_eq!([84, 86, 90].map(|bytes| retagged(bytes, 4, 4, true)), [88, 88, 90]);
    }

    /// By hand: 4,000 bytes are 4,008 with the header of UDP. Of those 1,480 fit in a packet of IPv4, and 1,448 in one of IPv6.
    #[test]
    fn datagrams_are_cut_at_multiples_of_eight_bytes() {
        assert_eq!(in_fragments(4_000, 1_500, false), [1_538, 1_538, 24 + 34 + 1_048]);
        assert_eq!(in_fragments(4_000, 1_500, true), [24 + 1_510, 24 + 1_510, 24 + 62 + 1_112]);
        assert_eq!(in_fragments(1_452, 1_500, true), [1_538]);
        assert_eq!(in_fragments(1_453, 1_500, true), [24 + 62 + 1_448, 24 + 62 + 13]);
        // What is left of 1,280 bytes is a multiple of eight, of 1,285 it is not.
        assert_eq!(in_fragments(1_233, 1_280, true), [24 + 62 + 1_232, 24 + 62 + 9]);
        assert_eq!(in_fragments(1_238, 1_285, true), [24 + 62 + 1_232, 24 + 62 + 14]);
    }

    #[test]
    fn edges_are_within_the_range() {
        let samples = rtps(5, 5_000);
        let edges = samples.edges();
        assert!(edges.is_sorted_by(|one, other| one > other) && edges.first() == Some(&5_000));
        for size in [5, 1_365, 1_366, 1_356, 4_068, 4_069] {
            assert!(edges.contains(&size), "{size}");
        }
        assert!(edges.iter().all(|size| (5..=5_000).contains(size)));
    }
}

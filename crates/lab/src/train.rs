//! What a network card does with what the kernel hands it over: it cuts trains of datagrams into frames, and finishes checksums.
//!
//! The kernel would do that in the sender's system call, frame by frame, and the sender's core is also that of the switch: 35 frames took
//! 100 us in which no frame passed the switch. So the hosts of emulated links leave it to the links, as hosts with cards do.
use system::Error;

/// Bytes that the kernel puts in front of a frame: `struct virtio_net_hdr` of linux/virtio_net.h, in the order of the machine.
pub(crate) const FACTS: usize = 10;
/// Bytes of the longest train with what is in front of it: an IPv4 packet behind an Ethernet header.
const LONGEST: usize = FACTS + 14 + 65_535;
/// The checksum is to be finished.
const NEEDS_SUM: u8 = 1;
/// A single frame; a train of UDP datagrams.
const SINGLE: u8 = 0;
const TRAIN: u8 = 5;
/// Bytes of an Ethernet header, the shortest of IPv4, and that of UDP.
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
/// The most datagrams of a train: UDP_MAX_SEGMENTS of linux/udp.h. More could keep the links busy for milliseconds.
const MOST: usize = 128;
/// Bytes of the headers of a frame of a train, with the longest header of IPv4.
const HEADERS: usize = ETHERNET + 60 + UDP;

/// What came at an interface at once: a frame, or a train of them.
#[derive(Debug)]
pub struct Heard {
    bytes: Box<[u8]>,
    /// Bytes that are there, with the facts in front.
    length: usize,
    train: Option<Train>,
}

/// How a train is cut.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// Where the UDP header is, and where the next datagram begins, both from the Ethernet header.
    udp: usize,
    next: usize,
    /// Bytes of each datagram but the last, and how many have been cut off.
    each: usize,
    cut: u16,
}

impl Default for Heard {
    fn default() -> Self {
        Self { bytes: vec![0; LONGEST].into(), length: 0, train: None }
    }
}

impl Heard {
    /// Where the kernel writes to.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// So many bytes have come. What is no frame, and what no card of this kind would be given, is nothing.
    pub(crate) fn came(&mut self, length: usize) {
        self.length = 0;
        self.train = None;
        let Some((&mut [flags, kind, _, _, each_0, each_1, start_0, start_1, place_0, place_1], frame)) =
            self.bytes.get_mut(..length).and_then(|bytes| bytes.split_first_chunk_mut::<FACTS>())
        else {
            return;
        };
        let [each, start, place] = [[each_0, each_1], [start_0, start_1], [place_0, place_1]]
            .map(|two| usize::from(u16::from_ne_bytes(two)));
        match kind {
            SINGLE if flags & NEEDS_SUM != 0 && finish(frame, start, place).is_none() => return,
            SINGLE => {}
            TRAIN => {
                let begin = start + UDP;
                let plain = frame.get(12..15).is_some_and(|place| matches!(place, [8, 0, 0x45..=0x4f]));
                let fits = (ETHERNET + IPV4..=HEADERS - UDP).contains(&start) && frame.len() > begin;
                let few = frame.len().saturating_sub(begin) <= each * MOST;
                if !plain || !fits || !few {
                    return;
                }
                self.train = Some(Train { udp: start, next: begin, each, cut: 0 });
            }
            _ => return,
        }
        self.length = length;
    }

    /// The next frame of what came replaces what is in `frame`; false if there is none.
    pub fn next(&mut self, frame: &mut Vec<u8>) -> bool {
        let Some(whole) = self.bytes.get(FACTS..self.length) else { return false };
        frame.clear();
        let Some(train) = &mut self.train else {
            self.length = 0;
            frame.extend_from_slice(whole);
            return true;
        };
        let end = (train.next + train.each).min(whole.len());
        let (Some(headers), Some(payload)) = (whole.get(..train.udp + UDP), whole.get(train.next..end))
        else {
            return false;
        };
        frame.extend_from_slice(headers);
        frame.extend_from_slice(payload);
        let done = headed(frame, train.udp, train.cut).is_some();
        (train.next, train.cut) = (end, train.cut.wrapping_add(1));
        if end == whole.len() {
            self.length = 0;
        }
        done
    }
}

/// Makes the headers of a datagram of a train those of a datagram of its own; the `number`th from 0.
fn headed(frame: &mut [u8], udp: usize, number: u16) -> Option<()> {
    let (headers, datagram) = frame.split_at_mut_checked(udp)?;
    let ip = headers.get_mut(ETHERNET..)?;
    let bytes = u16::try_from(datagram.len()).ok()?;
    let total = bytes.checked_add(u16::try_from(ip.len()).ok()?)?;
    ip.get_mut(2..4)?.copy_from_slice(&total.to_be_bytes());
    let identification = u16::from_be_bytes(ip.get(4..6)?.try_into().ok()?).wrapping_add(number);
    ip.get_mut(4..6)?.copy_from_slice(&identification.to_be_bytes());
    ip.get_mut(10..12)?.fill(0);
    let sum = !folded(summed(ip, 0));
    ip.get_mut(10..12)?.copy_from_slice(&sum.to_be_bytes());
    datagram.get_mut(4..6)?.copy_from_slice(&bytes.to_be_bytes());
    datagram.get_mut(6..8)?.fill(0);
    // RFC 768: addresses, protocol and length are part of the sum, and a sum of 0 is sent as its complement.
    let pseudo = summed(ip.get(12..20)?, 17 + u64::from(bytes));
    let sum = match !folded(summed(datagram, pseudo)) {
        0 => 0xffff,
        sum => sum,
    };
    datagram.get_mut(6..8)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Finishes the checksum of what begins at `start`; it is `place` behind that, and the sum that was written there before is part of it.
fn finish(frame: &mut [u8], start: usize, place: usize) -> Option<()> {
    let covered = frame.get_mut(start..)?;
    let sum = match !folded(summed(covered, 0)) {
        0 => 0xffff,
        sum => sum,
    };
    covered.get_mut(place..place + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Adds 16 bits at a time, as RFC 1071 says, the last odd byte as if a zero followed; as for less than 2^32 bytes, nothing is carried out.
fn summed(bytes: &[u8], sum: u64) -> u64 {
    let (fours, rest) = bytes.as_chunks::<4>();
    // Four bytes at a time are the same modulo 2^16 - 1.
    let sum = fours.iter().fold(sum, |sum, four| sum + u64::from(u32::from_be_bytes(*four)));
    let mut last = [0; 4];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    sum + u64::from(u32::from_be_bytes(last))
}

/// A sum in 16 bits, with what is carried out added again.
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(0)
}

/// Whether the kernel hands trains over whole: since Linux 6.2 packet sockets know them. An older one would lose them.
pub(crate) fn handed_over() -> Result<bool, Error> {
    const RELEASE: &str = "/proc/sys/kernel/osrelease";
    let release = std::fs::read_to_string(RELEASE).map_err(Error::system(RELEASE))?;
    Ok(knows_trains(&release))
}

fn knows_trains(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|text| text.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts in front of a frame.
    fn facts(flags: u8, kind: u8, [each, start, place]: [u16; 3]) -> Vec<u8> {
        let mut facts = vec![flags, kind, 0, 0];
        facts.extend([each, start, place].iter().flat_map(|number| number.to_ne_bytes()));
        facts
    }

    /// A packet of UDP over IPv4 behind an Ethernet header, as the kernel leaves it to a card: checksums are not there.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![2; 12];
        bytes.extend([8, 0, 0x45, 0xb8]);
        bytes.extend(u16::try_from(28 + payload.len()).unwrap().to_be_bytes());
        bytes.extend([0xff, 0xfe, 0x40, 0, 64, 17, 0, 0, 10, 1, 0, 1, 239, 255, 0, 9]);
        bytes.extend([0x1d, 0x0c, 0x1c, 0xe9]);
        bytes.extend(u16::try_from(8 + payload.len()).unwrap().to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(payload);
        bytes
    }

    fn frames(facts: &[u8], frame: &[u8]) -> Vec<Vec<u8>> {
        let mut heard = Heard::default();
        let length = facts.len() + frame.len();
        heard.room()[..facts.len()].copy_from_slice(facts);
        heard.room()[facts.len()..length].copy_from_slice(frame);
        heard.came(length);
        let mut frames = Vec::new();
        let mut frame = Vec::new();
        while heard.next(&mut frame) {
            frames.push(frame.clone());
        }
        frames
    }

    /// The sum over a whole header, or datagram with its pseudo header, with the checksum in it is all ones.
    fn holds(frame: &[u8]) -> bool {
        let (ip, udp) = (&frame[14..34], &frame[34..]);
        let pseudo = [&ip[12..20], &[0, 17], &udp[4..6]].concat();
        let plain = |bytes: &[u8]| {
            let words =
                bytes.chunks(2).map(|two| u64::from(two[0]) << 8 | u64::from(*two.get(1).unwrap_or(&0)));
            folded(words.sum())
        };
        plain(ip) == 0xffff && plain(&[&pseudo, udp].concat()) == 0xffff
    }

    #[test]
    fn a_train_becomes_frames_with_headers_of_their_own() {
        let payload: Vec<u8> = (0..2_501_u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
        let cut = frames(&facts(1, TRAIN, [1_000, 34, 6]), &packet(&payload));
        assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [1_042, 1_042, 543]);
        assert_eq!(cut.iter().flat_map(|frame| frame[42..].to_vec()).collect::<Vec<_>>(), payload);
        for (frame, number) in cut.iter().zip([[0xff, 0xfe], [0xff, 0xff], [0, 0]]) {
            assert!(holds(frame), "{frame:02x?}");
            assert_eq!((&frame[..16], &frame[18..20]), (&packet(&[])[..16], &number[..]));
            assert_eq!(usize::from(u16::from_be_bytes([frame[16], frame[17]])), frame.len() - 14);
            assert_eq!(usize::from(u16::from_be_bytes([frame[38], frame[39]])), frame.len() - 34);
        }
    }

    #[test]
    fn a_frame_passes_as_it_is_but_for_its_checksum() {
        let frame = [7; 61];
        assert_eq!(frames(&facts(0, SINGLE, [0; 3]), &frame), [frame.to_vec()]);
        // The kernel leaves the sum of the pseudo header where the checksum belongs.
        let mut left = packet(&[5; 33]);
        let pseudo = folded(summed(&left[26..34], 17 + 41));
        left[40..42].copy_from_slice(&pseudo.to_be_bytes());
        let finished = frames(&facts(1, SINGLE, [0, 34, 6]), &left);
        let [frame] = finished.as_slice() else { panic!("{finished:?}") };
        let mut expected = packet(&[5; 33]);
        headed(&mut expected, 34, 0).unwrap();
        assert_eq!(frame[34..], expected[34..]);
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        let good = packet(&[1; 3_000]);
        for (facts, frame) in [
            (facts(1, TRAIN, [0, 34, 6]), &good[..]),
            (facts(1, TRAIN, [23, 34, 6]), &good),
            (facts(1, TRAIN, [1_000, 33, 6]), &good),
            (facts(1, TRAIN, [1_000, 75, 6]), &good),
            (facts(1, TRAIN, [1_000, 34, 6]), &good[..42]),
            (facts(1, TRAIN, [1_000, 34, 6]), &[0; 99]),
            (facts(1, 1, [1_000, 34, 16]), &good),
            (facts(1, SINGLE, [0, 9_999, 6]), &good),
            (facts(1, SINGLE, [0, 34, 9_999]), &good),
            (Vec::new(), &[1; 9]),
        ] {
            assert!(frames(&facts, frame).is_empty(), "{facts:?}");
        }
    }

    /// Whatever a host makes its kernel say: no more frames than a train has, and no more bytes than came.
    #[test]
    fn any_octets_become_a_few_frames() {
        let (mut random, mut cut) = (1_u64, 0);
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..20_000 {
            let mut bytes = packet(&vec![9; usize::try_from(next(5_000)).unwrap()]);
            bytes.truncate(usize::try_from(next(6_000)).unwrap());
            let changed = usize::try_from(next(60)).unwrap();
            let value = u8::try_from(next(256)).unwrap();
            bytes.get_mut(changed).into_iter().for_each(|octet| *octet = value);
            let kind = [SINGLE, TRAIN, 1, 4][usize::try_from(next(4)).unwrap()];
            let numbers = [next(2_000), 20 + next(60), next(12)].map(|number| u16::try_from(number).unwrap());
            let made = frames(&facts(u8::try_from(next(4)).unwrap(), kind, numbers), &bytes);
            assert!(made.len() <= MOST);
            assert!(made.iter().all(|frame| frame.len() <= bytes.len()));
            cut += usize::from(made.len() > 1);
        }
        assert!(cut > 500, "{cut}");
    }

    #[test]
    fn kernels_since_6_2_know_trains() {
        let known = ["6.2.0", "6.18.44-fc", "7.0", "10.1"].map(knows_trains);
        let unknown = ["6.1.0-13-amd64", "5.19", "6", ""].map(knows_trains);
        assert_eq!((known, unknown), ([true; 4], [false; 4]));
    }
}

//! The messages that a writer may send: which datagrams, and what they take of the wire. Written from RTPS 2.5, 9.4.5, IEEE 802.3 and
//! `docs/wire.md`, "Assured flows".
use crate::draw::Draw;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    Udp,
    Rtps,
}

/// The samples of a flow as the network file says them.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    pub(crate) framing: Framing,
    pub(crate) datagram: u64,
    pub(crate) least: u64,
    pub(crate) size: u64,
    /// Whether it goes over IPv6.
    pub(crate) six: bool,
}

/// What a message of RTPS begins with, and its submessages without what they carry.
const HEADER: u64 = 20;
const DESTINATION: u64 = 8 + 8;
const TIME: u64 = 4 + 8;
const NO_TIME: u64 = 4;
const DATA: u64 = 4 + 20;
const FRAGMENT: u64 = 4 + 32;
const HEARTBEAT: u64 = 4 + 28;
/// What every serialized sample begins with.
const ENCAPSULATION: u64 = 4;
/// The largest of what pads data to whole words.
const PADDING: u64 = 3;

/// Ethernet without its check sequence, and UDP.
const HEADERS: u64 = 14 + 8;
/// What the version of IP puts between them: RFC 791, 3.1, and RFC 8200, 3.
const INTERNET: [u64; 2] = [5 * 4, 8 + 2 * 16];
/// The least frame with and without its check sequence, and what is around a frame with it.
const LEAST: u64 = 64;
const CHECK: u64 = 4;
const AROUND: u64 = 8 + 12;
/// The least that a frame takes of the wire.
pub(crate) const LEAST_ON_WIRE: u64 = LEAST + AROUND;

/// What a datagram takes of the wire where frames have a tag of so many bytes; `six` over IPv6.
pub(crate) fn on_wire(datagram: u64, tag: u64, six: bool) -> u64 {
    (HEADERS + INTERNET[usize::from(six)] + datagram + tag + CHECK).max(LEAST) + AROUND
}

/// What the largest frame of a link takes, of nobody in particular.
pub(crate) fn largest_on_wire(mtu: u64, tag: u64) -> u64 {
    14 + tag + mtu + CHECK + AROUND
}

/// What a frame takes of the next link. A switch pads what has less than the least size without its tag, and takes no padding off;
/// `early` says whether it does so before it knows the next link, or only where the frame would be too small there.
pub(crate) fn carried(bytes: u64, tag: u64, next: u64, early: bool) -> u64 {
    if early { (bytes - tag).max(LEAST_ON_WIRE) + next } else { (bytes - tag + next).max(LEAST_ON_WIRE) }
}

impl Samples {
    fn largest_whole(&self) -> u64 {
        self.datagram.saturating_sub(HEADER + DESTINATION + TIME + DATA + PADDING + HEARTBEAT)
    }

    fn fragment(&self) -> u64 {
        let room = self.datagram.saturating_sub(HEADER + DESTINATION + TIME + FRAGMENT + HEARTBEAT);
        room - room % 4
    }

    /// The datagrams of a sample of so many bytes; `full` with everything that may stand beside it, else with nothing.
    fn message(&self, bytes: u64, full: bool) -> Vec<u64> {
        let pieces = |total: u64, most: u64| {
            let count = total.div_ceil(most).max(1);
            (0..count).map(|index| (total - index * most).min(most)).collect::<Vec<u64>>()
        };
        if self.framing == Framing::Udp {
            return pieces(bytes, self.datagram);
        }
        let payload = bytes + ENCAPSULATION;
        let time = if full { TIME } else { NO_TIME };
        let heartbeat = if full { HEARTBEAT } else { 0 };
        if payload <= self.largest_whole() {
            let beside = if full { DESTINATION + PADDING } else { 0 };
            return vec![HEADER + beside + time + DATA + payload + heartbeat];
        }
        let mut datagrams: Vec<u64> = pieces(payload, self.fragment())
            .into_iter()
            .map(|piece| HEADER + time + FRAGMENT + piece.next_multiple_of(4))
            .collect();
        *datagrams.last_mut().unwrap() += heartbeat;
        datagrams
    }

    /// The datagrams of the largest sample with all that may be beside it.
    pub(crate) fn heaviest(&self) -> Vec<u64> {
        self.message(self.size, true)
    }

    /// As many small samples in one datagram as fit into one that the largest sample might have.
    fn together(&self) -> Option<u64> {
        let whole = HEADER + DESTINATION + TIME + DATA + self.size + ENCAPSULATION + PADDING + HEARTBEAT;
        let most = whole.min(self.datagram);
        let each = TIME + DATA + (self.least + ENCAPSULATION).next_multiple_of(4);
        let room = most.checked_sub(HEADER + HEARTBEAT)?;
        (self.framing == Framing::Rtps && room >= 2 * each).then(|| most - room % 4)
    }

    /// Messages that may be worth sending, the heaviest first: at the sizes at which frames change, and at some others.
    pub(crate) fn messages(&self, draw: &mut Draw) -> Vec<Vec<u64>> {
        let mut sizes = vec![self.least];
        let mut edge = |payload: u64| {
            sizes.extend([payload, payload + 1, payload + 2, payload + 4]);
            sizes.extend([1, 2, 3, 4, 8].map(|less| payload.saturating_sub(less)));
        };
        match self.framing {
            Framing::Udp => {
                edge(self.datagram);
                edge(self.size / self.datagram * self.datagram);
                // What is padded, and what is no longer.
                edge(18);
            }
            Framing::Rtps => {
                edge(self.largest_whole() - self.largest_whole().min(ENCAPSULATION));
                let fragment = self.fragment().max(4);
                edge(fragment.saturating_sub(ENCAPSULATION));
                edge((self.size / fragment * fragment).saturating_sub(ENCAPSULATION));
                edge(((self.size + ENCAPSULATION) / fragment * fragment).saturating_sub(ENCAPSULATION));
            }
        }
        sizes.extend((0..3).map(|_| draw.range(self.least, self.size)));
        sizes.retain(|size| (self.least..=self.size).contains(size));
        sizes.sort_unstable();
        sizes.dedup();
        let mut messages = vec![self.heaviest()];
        messages.extend(sizes.iter().flat_map(|size| [true, false].map(|full| self.message(*size, full))));
        messages.push(self.message(self.size, false));
        messages.extend(self.together().map(|datagram| vec![datagram]));
        let heaviest = messages.remove(0);
        messages.retain(|message| *message != heaviest);
        messages.sort();
        messages.dedup();
        messages.insert(0, heaviest);
        messages
    }
}

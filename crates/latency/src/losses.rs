//! The flows of a bound with losses: how its latency is shared among first transmissions, repairs and questions, and what each of
//! these flows is (docs/decisions/0016-losses.md).
use alloc::vec::Vec;

use crate::framing::Framing;
use crate::network::{Flow, Policing, Port, Subscriber};
use crate::repair::{Conduct, MOST_UNDER_WAY, Ways};
use crate::units::time_of;

/// The least bytes of a datagram beside the messages: an RTPS header, INFO_DST and a HEARTBEAT, or ACKNACK.
pub const LEAST_DATAGRAM: u32 = 64;
/// The most bytes of a question: one with an ACKNACK and four NACK_FRAGs, all of them with the largest sets.
pub const QUESTION: u32 = 352;
/// Bytes around a whole sample in a datagram that repeats it.
const AROUND_SAMPLE: u32 = 107;
/// How the latency is shared, one after the other until there is room: parts of 16 for the first transmission, and how many times
/// the way of a repair repairs are apart.
const SHARES: [(u64, u64); 7] = [(2, 1), (4, 1), (8, 1), (1, 1), (2, 4), (4, 4), (8, 4)];

/// The losses and times that a bound allows for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// So many frames.
    pub frames: u32,
    /// The longest time that a host takes to do what is due, in picoseconds.
    pub reaction: u64,
    /// By how much clocks of hosts run apart from a perfect one, in parts of a million.
    pub drift: u32,
    /// Hosts count in steps of so many picoseconds: all waits and spacings are whole ones. Not 0.
    pub step: u64,
}

/// How the latency is shared: the limits of the three flows, the spacing, and the waits with which these are enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// Limits of the three flows, and what else counts.
    pub ways: Ways,
    /// The waits of both hosts.
    pub conduct: Conduct,
}

impl Allowed {
    /// Each way to share a limit that is tried, the first one first. `limit` is in picoseconds, and of the subscriber that wants the least.
    pub fn shares(self, flow: &Flow, limit: u64) -> impl Iterator<Item = Shares> + use<> {
        let separation = flow.separation;
        SHARES.into_iter().filter_map(move |share| self.share(separation, limit, share))
    }

    /// The longest ways with which a sample takes no longer than `limit`, if its first transmission takes `parts` of 16 of that at most.
    fn share(&self, separation: u64, limit: u64, (parts, apart): (u64, u64)) -> Option<Shares> {
        let under_way = separation.checked_mul(MOST_UNDER_WAY - 1)?;
        let whole = |time: u64| time.checked_div(self.step)?.checked_mul(self.step);
        let sample = whole((limit / 16).checked_mul(parts)?.min(under_way)).filter(|sample| *sample > 0)?;
        let with = |steps: u64| {
            let way = steps.checked_mul(self.step)?;
            let spacing = way.checked_mul(apart)?;
            let (reaction, drift) = (self.reaction, self.drift);
            let ways = Ways { sample, question: way, repair: way, spacing, reaction, drift };
            let conduct = self.in_steps(ways.conduct(self.frames)?)?;
            let latest = ways.latest(&conduct, self.frames)?.sum()?;
            (latest <= limit).then_some(Shares { ways, conduct })
        };
        let (mut low, mut high) = (1, limit.checked_div(self.step)?.max(1));
        with(low)?;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if with(middle).is_some() {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        with(low)
    }

    /// Waits that are whole steps, and no shorter.
    fn in_steps(&self, conduct: Conduct) -> Option<Conduct> {
        let up = |time: u64| time.div_ceil(self.step).checked_mul(self.step);
        Some(Conduct {
            heartbeat: up(conduct.heartbeat)?,
            patience: up(conduct.patience)?,
            again: up(conduct.again)?,
        })
    }
}

impl Flow {
    /// How much later than it should what a gate takes for the first frame of a message may be handed over if frames may be lost: those before it may
    /// be lost on the way to the gate, which must not find the next message too early then. `port` is the first one. `None` if numbers are out of range.
    pub fn jitter_with_losses(&self, port: &Port) -> Option<u64> {
        let frames = self.frames(port)?;
        let behind = if frames.count > 1 { time_of(frames.bits, port.rate)? } else { 0 };
        self.jitter.checked_add(self.emitting())?.checked_add(behind)
    }

    /// The most bytes of a datagram that repeats a part of a sample.
    pub fn repair_datagram(&self) -> u32 {
        let (Framing::Rtps { datagram, .. } | Framing::Udp { datagram, .. }) = self.framing;
        match self.framing.frames(self.largest_message, 0) {
            Some(frames) if frames.count == 1 => {
                self.largest_message.saturating_add(AROUND_SAMPLE).min(datagram)
            }
            _ => datagram,
        }
    }

    /// The flow of repairs to a subscriber of this flow, or of its questions, without its way: a datagram of at most `most` bytes in each spacing.
    pub fn beside(&self, shares: &Shares, most: u32, jitter: u64, policing: Policing) -> Self {
        Self {
            largest_message: most,
            smallest_message: LEAST_DATAGRAM.min(most),
            framing: Framing::Udp { datagram: most, ip: self.framing.ip() },
            tag: self.tag,
            separation: shares.ways.spacing,
            maximum_separation: None,
            jitter,
            emission: 0,
            slack: 0,
            policing,
            tree: Vec::new(),
            subscribers: alloc::vec![Subscriber {
                hop: 0,
                limit: shares.ways.repair,
                maximum_separation: None
            }],
            importance: self.importance,
            bundle: None,
        }
    }
}

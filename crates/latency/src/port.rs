//! One egress port: a link served by strict priority without preemption, and what arrives at its queues.
//!
//! Levels are numbers; a bigger one is served first. Within a level frames leave in the order of their arrival.

use crate::units::{SECOND, bits_in, rate_of, scale_down};

/// What a flow offers at most to a port, in bits on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arrival {
    /// Whole messages: at most `bits * ceil((t + jitter) / separation)` in any window of length `t`.
    ///
    /// This is what a gate lets through, and what a publisher sends that keeps its minimum separation.
    Messages {
        /// Bits of the largest message.
        bits: u64,
        /// Least time between two messages, in picoseconds; not 0.
        separation: u64,
        /// How much nearer to each other frames of different messages may come, in picoseconds.
        jitter: u64,
    },
    /// A token bucket: at most `burst + rate * t` in any window of length `t`.
    Bucket {
        /// Bits at once.
        burst: u64,
        /// Bits per second.
        rate: u64,
    },
}

/// The link by which a flow reaches the device of the port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ingress {
    /// Which link; flows with the same number share it.
    pub link: u32,
    /// Bits per second of the link.
    pub rate: u64,
    /// How much the time from the end of reception to the queue varies, in picoseconds.
    pub variation: u64,
}

/// A flow at a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Contender {
    /// The level it is queued in; a bigger one is served first.
    pub level: u8,
    /// What arrives at most.
    pub arrival: Arrival,
    /// Bits of its smallest frame.
    pub smallest_frame: u64,
    /// Bits of its largest frame.
    pub largest_frame: u64,
    /// The link it comes by; `None` if it comes from the memory of the host, all at once.
    pub ingress: Option<Ingress>,
}

/// Traffic of no flow, a token bucket: control above all levels, or what shares a queue with flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Bits at once.
    pub burst: u64,
    /// Bits per second.
    pub rate: u64,
}

/// The server of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Server {
    /// Bits per second; not 0.
    pub rate: u64,
    /// Bits of the largest piece of best-effort traffic that cannot be interrupted: a frame, or with preemption
    /// (IEEE 802.1Qbu) a fragment; 0 if there is none.
    pub best_effort: u64,
    /// Traffic above all levels.
    pub control: Option<Control>,
    /// Bits of the largest frame of that.
    pub control_frame: u64,
    /// Traffic of no flow in the queue of each level.
    pub beside: Option<Control>,
    /// Bits of the largest frame of that.
    pub beside_frame: u64,
    /// Bits that the link could send while a frame waits for what no queue holds: for the link to wake, and for what a card has taken.
    pub ahead: u64,
}

impl Server {
    /// A server of flows and best effort, and of nothing else.
    pub const fn new(rate: u64, best_effort: u64) -> Self {
        Self { rate, best_effort, control: None, control_frame: 0, beside: None, beside_frame: 0, ahead: 0 }
    }

    /// Control and what is beside a level, together; `None` inside if there is neither.
    pub(crate) fn unadmitted(&self) -> Option<Option<Control>> {
        Some(match (self.control, self.beside) {
            (Some(one), Some(other)) => Some(Control {
                burst: one.burst.checked_add(other.burst)?,
                rate: one.rate.checked_add(other.rate)?,
            }),
            (one, other) => one.or(other),
        })
    }

    /// Burst and rate of what is beside a level.
    pub(crate) fn beside_level(&self) -> (u64, u64) {
        self.beside.map_or((0, 0), |beside| (beside.burst, beside.rate))
    }
}

impl Arrival {
    /// Bits at once, if the arrival is widened to a token bucket.
    pub fn burst(&self) -> Option<u64> {
        match *self {
            Self::Messages { bits, jitter, .. } => bits.checked_add(bits_in(jitter, self.rate()?)?),
            Self::Bucket { burst, .. } => Some(burst),
        }
    }

    /// Bits per second in the long run, rounded up.
    pub fn rate(&self) -> Option<u64> {
        match *self {
            Self::Messages { bits, separation, .. } => rate_of(bits, separation),
            Self::Bucket { rate, .. } => Some(rate),
        }
    }

    /// Bits of a higher level's flow that delay others at once, beside its rate.
    ///
    /// A message that has only begun to arrive cannot have been sent further than time has passed since, so a flow of
    /// whole messages counts `bits * (1 - utilisation)` only. A token bucket counts its whole burst: it gives no such
    /// promise (the factor in MIDAS's equation 4 is unsound there).
    pub(crate) fn interference(&self, server_rate: u64) -> Option<u64> {
        match *self {
            Self::Messages { bits, separation, .. } => {
                let least_rate = scale_down(bits, SECOND, separation)?;
                self.burst()?.checked_sub(scale_down(bits, least_rate, server_rate)?)
            }
            Self::Bucket { burst, .. } => Some(burst),
        }
    }
}

/// Bits that the link could send while a frame of `level` has come and waits for a frame of a lower level, or of best effort, and for
/// what no queue holds.
pub fn blocking(server: &Server, contenders: &[Contender], level: u8) -> u64 {
    let lower = contenders.iter().filter(|other| other.level < level).map(|other| other.largest_frame);
    lower.fold(server.best_effort, u64::max).saturating_add(server.ahead)
}

/// Bits per second of control, of the flows at `level` and above, and of what is beside them; `None` unless the server is faster than that.
pub(crate) fn stable_rate(server: &Server, contenders: &[Contender], level: u8) -> Option<u64> {
    let control = server.unadmitted()?.map_or(0, |unadmitted| unadmitted.rate);
    let sum = contenders
        .iter()
        .filter(|other| other.level >= level)
        .try_fold(control, |sum, other| sum.checked_add(other.arrival.rate()?))?;
    (sum < server.rate).then_some(sum)
}

/// Bits of the smallest frame of `level`; `None` if the level is empty.
pub(crate) fn least_frame(contenders: &[Contender], level: u8) -> Option<u64> {
    contenders.iter().filter(|other| other.level == level).map(|other| other.smallest_frame).min()
}

//! The words of sessions: who, between what, in which class, how much.
use alloc::string::String;
use core::fmt;
use core::net::IpAddr;

use latency::units::{NANOSECOND, bits_in, rate_of};

/// The number of an autonomous system, which is one domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Asn(pub u32);

/// A border link, as both of its domains call it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LinkId(pub u32);

/// A class of DiffServ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// No guarantee; nothing is reserved in it.
    BestEffort,
    /// Assured forwarding 1: continuous data.
    Af1,
    /// Assured forwarding 4: states.
    Af4,
    /// Expedited forwarding: alarms.
    Ef,
    /// Control of the network itself; sessions cannot have it.
    Control,
}

impl Class {
    /// The code point that a sender marks its packets with.
    pub fn dscp(self) -> u8 {
        match self {
            Self::BestEffort => 0,
            Self::Af1 => 12,
            Self::Af4 => 34,
            Self::Ef => 46,
            Self::Control => 48,
        }
    }

    /// A session may reserve in it.
    pub fn is_reservable(self) -> bool {
        matches!(self, Self::Af1 | Self::Af4 | Self::Ef)
    }
}

/// Addresses that agree in their first bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Prefix {
    /// One of the addresses.
    pub address: IpAddr,
    /// How many bits agree.
    pub length: u8,
}

impl Prefix {
    /// The address is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, other, width) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(u32::from(own)), u128::from(u32::from(other)), 32_u32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (u128::from(own), u128::from(other), 128),
            _ => return false,
        };
        let Some(rest) = width.checked_sub(u32::from(self.length)) else { return false };
        (own ^ other).checked_shr(rest).unwrap_or(0) == 0
    }
}

/// What a flow, or several together, send at most: a token bucket with a peak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TSpec {
    /// Bits per second of IP packets.
    pub rate: u64,
    /// Bytes.
    pub bucket: u64,
    /// Bits per second.
    pub peak: u64,
    /// Bytes: a smaller packet counts as this.
    pub least_unit: u32,
    /// Bytes of the largest packet.
    pub largest_packet: u32,
}

/// Bits per second and bytes above these are no traffic of one flow.
const MOST_RATE: u64 = 1 << 50;
const MOST_BUCKET: u64 = 1 << 45;

impl TSpec {
    /// Packets of `size` bytes, `separation` nanoseconds or more apart. `None` for no packets, or all of them at once.
    pub fn of_packets(size: u32, separation: u64) -> Option<Self> {
        let rate = rate_of(u64::from(size).checked_mul(8)?, separation.checked_mul(NANOSECOND)?)?;
        let bucket = u64::from(size);
        let spec = Self { rate, bucket, peak: rate, least_unit: size, largest_packet: size };
        spec.is_valid().then_some(spec)
    }

    /// A sender can keep to it, and sums of many fit into numbers.
    pub fn is_valid(&self) -> bool {
        let sizes = 0 < self.least_unit && self.least_unit <= self.largest_packet;
        let bucket = u64::from(self.largest_packet) <= self.bucket && self.bucket <= MOST_BUCKET;
        sizes && bucket && 0 < self.rate && self.rate <= self.peak && self.peak <= MOST_RATE
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            rate: self.rate.saturating_add(other.rate),
            bucket: self.bucket.saturating_add(other.bucket),
            peak: self.peak.saturating_add(other.peak),
            least_unit: self.least_unit.min(other.least_unit),
            largest_packet: self.largest_packet.max(other.largest_packet),
        }
    }

    /// All together; `None` of none.
    pub fn sum<'a>(of: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        of.into_iter().copied().reduce(|sum, next| sum.plus(&next))
    }

    /// With no higher rate than this.
    pub fn lowered_to(&self, rate: u64) -> Self {
        Self { rate: self.rate.min(rate), ..*self }
    }

    /// Bytes that come at once at most where the delay before varied by `jitter` nanoseconds.
    pub fn burst_after(&self, jitter: u64) -> u64 {
        let bits = jitter.checked_mul(NANOSECOND).and_then(|jitter| bits_in(jitter, self.rate));
        bits.map_or(u64::MAX, |bits| self.bucket.saturating_add(bits.div_ceil(8)))
    }

    /// It asks for no more of anything that is reserved than the other does.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.rate <= other.rate && self.bucket <= other.bucket && self.largest_packet <= other.largest_packet
    }
}

/// A session: the domain of its caller, and a number of its own there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SessionId {
    /// The domain of the caller.
    pub origin: Asn,
    /// Never used again.
    pub number: u64,
}

/// Which way a flow of a session goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the caller to the callees.
    Forward,
    /// From the callees to the caller.
    Reverse,
}

/// What a flow carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FlowKind {
    /// Samples.
    Data,
    /// Acknowledgements of a reliable session.
    AckNack,
    /// Announcements of participants and endpoints.
    Discovery,
}

/// How the domains of a path are asked for what a tunnel carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Asking {
    /// Each domain asks the next one.
    #[default]
    HopByHop,
    /// The first domain asks each of them itself, where the agreements on the path let it (single hop).
    Direct,
}

/// A flow in one direction between the caller's domain and one domain of callees: what one `reserveCommit` is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LegId {
    /// The session.
    pub session: SessionId,
    /// Which of its flows; the second copy of a flow has 128 added.
    pub flow: u8,
    /// The domain of the callees.
    pub peer: Asn,
}

impl LegId {
    /// Added to the number of a flow for its second copy: no session has so many flows.
    const SECOND: u8 = 0x80;

    /// It is the second copy of a flow.
    pub fn is_second_copy(&self) -> bool {
        self.flow & Self::SECOND != 0
    }

    /// The other copy: the second one of the first, and the first one of the second.
    pub fn other_copy(&self) -> Self {
        Self { flow: self.flow ^ Self::SECOND, ..*self }
    }

    /// The first copy of the flow, whichever copy this is.
    pub fn first_copy(&self) -> Self {
        Self { flow: self.number(), ..*self }
    }

    /// The place of the flow in its session, whichever copy this is.
    pub fn number(&self) -> u8 {
        self.flow & !Self::SECOND
    }
}

/// A way through domains, chosen by the first of them, that keeps its path while it exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct TunnelId {
    /// The first domain.
    pub origin: Asn,
    /// Never used again.
    pub number: u64,
}

/// What domains reserve: all that one tunnel carries in one class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AggregateId {
    /// The tunnel.
    pub tunnel: TunnelId,
    /// The class.
    pub class: Class,
}

/// Orders what one domain says of an aggregate: by its starts, then by a count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessageId {
    /// The start of the manager.
    pub epoch: u32,
    /// Counts within it.
    pub number: u64,
}

/// Why something was refused or ended: by whom, on which link, what is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The domain that refuses.
    pub asn: Asn,
    /// The border link that is the reason, if one is.
    pub link: Option<LinkId>,
    /// What was wrong.
    pub reason: Reason,
}

/// A short text in a message: printable characters of ASCII, [`Text::MOST`] at most.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Text(String);

impl Text {
    /// Characters of the longest one.
    pub const MOST: usize = 120;

    /// What fits of a text; what cannot be printed becomes a question mark.
    pub fn fitting(text: &str) -> Self {
        let plain = |at: char| if Self::is_plain(at) { at } else { '?' };
        Self(text.chars().take(Self::MOST).map(plain).collect())
    }

    /// A text that is one already.
    pub(crate) fn exact(text: String) -> Option<Self> {
        (text.len() <= Self::MOST && text.chars().all(Self::is_plain)).then_some(Self(text))
    }

    fn is_plain(at: char) -> bool {
        at == ' ' || at.is_ascii_graphic()
    }

    /// It.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A device of a domain that did not do what was wanted of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceFault {
    /// What its operator calls it.
    pub device: Text,
    /// What was wrong.
    pub what: Text,
}

/// What was wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The request contradicts itself or a limit of the manager.
    Invalid,
    /// There is no such user.
    UnknownUser,
    /// There is no such session service.
    UnknownService,
    /// The contract is not valid now.
    ContractExpired,
    /// The contract or the agreement is not about this class.
    ClassNotAgreed,
    /// The contract, service or agreement is not about this destination.
    DestinationNotAgreed(Asn),
    /// The quota of the contract: bits per second that are missing, and that are left.
    Quota {
        /// Missing.
        missing: u64,
        /// Left.
        offer: u64,
    },
    /// The contract allows no more sessions.
    TooManySessions,
    /// The network service is full, whatever else is free: bits per second.
    ServiceFull {
        /// Missing.
        missing: u64,
        /// Left.
        offer: u64,
    },
    /// The source address is of another domain: its owner, if known, is to be asked.
    ForeignSource {
        /// The owner.
        owner: Option<Asn>,
    },
    /// No domain has this address.
    UnknownDestination(IpAddr),
    /// No path has what is needed: every domain of it must say its delay in the class, and all together meet the limit.
    NoPath {
        /// The least sum of any path that says all, in nanoseconds.
        offer: Option<u64>,
    },
    /// There is no valid agreement toward the next domain.
    NoAgreement,
    /// Bits per second that are missing, and all that this aggregate could have.
    Rate {
        /// Missing.
        missing: u64,
        /// Could be had.
        offer: u64,
    },
    /// Bytes at once that are missing, and all that this aggregate could have.
    Burst {
        /// Missing.
        missing: u64,
        /// Could be had.
        offer: u64,
    },
    /// Nanoseconds that are missing, and the delay that can be had up to and with this domain.
    Delay {
        /// Missing.
        missing: u64,
        /// Could be had.
        offer: u64,
    },
    /// More packets may be lost than is allowed: of a million.
    Loss {
        /// Missing.
        missing: u32,
        /// The loss that can be had.
        offer: u32,
    },
    /// The callee does not want it.
    CalleeRefused,
    /// No answer in time.
    NoAnswer,
    /// The link does not work.
    LinkDown,
    /// Other requests are being set up: to be tried again.
    Busy,
    /// The session is not known there.
    UnknownSession,
    /// The caller stopped it.
    Stopped,
    /// Its time is over.
    TimeOver,
    /// A device could not be set up, or does not hold any more what it held.
    Device(DeviceFault),
    /// The AAA server of the caller's domain does not grant it, or no longer: what it says.
    NotAuthorized(Text),
    /// No grant could be had of the AAA server, or no record of the session be begun: why.
    AaaUnavailable(Text),
    /// The operator of the caller's domain has ended it, by its AAA server.
    Aborted,
    /// What the AAA server granted has run out, and was not renewed.
    GrantOver,
    /// Two copies need paths without a domain in common apart from the first and the last, and there are none: a domain that the fastest paths share,
    /// or none where there is one path only.
    NotDisjoint {
        /// The domain.
        shared: Option<Asn>,
    },
    /// The domain that the flow leaves cannot send two copies of it.
    CannotDuplicate,
    /// The agreement of the link does not let the first domain of the path ask for itself.
    DirectNotAgreed,
    /// An endpoint of it has another address now, and this session has taken its place.
    Moved(SessionId),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AS {}", self.asn.0)?;
        if let Some(link) = self.link {
            write!(f, ", link {}", link.0)?;
        }
        match &self.reason {
            Reason::Invalid => write!(f, ": the request is not valid"),
            Reason::UnknownUser => write!(f, ": unknown user"),
            Reason::UnknownService => write!(f, ": unknown session service"),
            Reason::ContractExpired => write!(f, ": the contract is not valid now"),
            Reason::ClassNotAgreed => write!(f, ": the class is not agreed"),
            Reason::DestinationNotAgreed(asn) => write!(f, ": AS {} is no agreed destination", asn.0),
            Reason::Quota { missing, offer } => {
                write!(f, ": the quota lacks {missing} bit/s; {offer} bit/s are left")
            }
            Reason::TooManySessions => write!(f, ": the contract allows no more sessions"),
            Reason::ServiceFull { missing, offer } => {
                write!(f, ": the network service lacks {missing} bit/s; {offer} bit/s are left")
            }
            Reason::ForeignSource { owner: Some(owner) } => {
                write!(f, ": the source address is of AS {}, whose manager is to be asked", owner.0)
            }
            Reason::ForeignSource { owner: None } => write!(f, ": the source address is of no known domain"),
            Reason::UnknownDestination(address) => write!(f, ": no known domain has {address}"),
            Reason::NoPath { offer: Some(offer) } => write!(f, ": no path; the best one takes {offer} ns"),
            Reason::NoPath { offer: None } => {
                write!(f, ": no path whose domains all tell their delay in the class")
            }
            Reason::NoAgreement => write!(f, ": no valid agreement with the next domain"),
            Reason::Rate { missing, offer } => write!(f, ": {missing} bit/s are missing; {offer} can be had"),
            Reason::Burst { missing, offer } => {
                write!(f, ": {missing} bytes at once are missing; {offer} can be had")
            }
            Reason::Delay { missing, offer } => {
                write!(f, ": {missing} ns are missing; {offer} ns can be had")
            }
            Reason::Loss { missing, offer } => {
                write!(f, ": {missing} packets of a million too many may be lost; {offer} can be had")
            }
            Reason::CalleeRefused => write!(f, ": the callee refuses"),
            Reason::NoAnswer => write!(f, ": no answer in time"),
            Reason::LinkDown => write!(f, ": the link is down"),
            Reason::Busy => write!(f, ": too many set-ups under way; try again"),
            Reason::UnknownSession => write!(f, ": the session is not known"),
            Reason::Stopped => write!(f, ": stopped by the caller"),
            Reason::TimeOver => write!(f, ": its time is over"),
            Reason::Device(DeviceFault { device, what }) => write!(f, ": {device} is not set up: {what}"),
            Reason::NotAuthorized(what) => write!(f, ": it is not authorized: {what}"),
            Reason::AaaUnavailable(what) => write!(f, ": nothing is admitted without the AAA server: {what}"),
            Reason::Aborted => write!(f, ": ended by the operator, at its AAA server"),
            Reason::GrantOver => write!(f, ": its authorization has run out, and was not renewed"),
            Reason::NotDisjoint { shared: Some(asn) } => {
                write!(f, ": two copies need two disjoint paths, and those that are known share AS {}", asn.0)
            }
            Reason::NotDisjoint { shared: None } => {
                write!(
                    f,
                    ": two copies need two disjoint paths, and one path alone is known within the limit"
                )
            }
            Reason::Moved(SessionId { origin, number }) => {
                write!(f, ": it has moved; session {}-{number} has taken its place", origin.0)
            }
            Reason::DirectNotAgreed => {
                write!(f, ": the agreement does not let the first domain of the path ask for itself")
            }
            Reason::CannotDuplicate => {
                write!(f, ": the back-end of this domain cannot send two copies of a flow")
            }
        }
    }
}

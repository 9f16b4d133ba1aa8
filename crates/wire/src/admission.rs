//! What participants and the resource manager say to each other, over topics of DDS itself: requests, verdicts,
//! measurements, and the manager's report. See `docs/decisions/0009-admission.md`.
//!
//! A *pair* is one assured writer and one assured reader; it is the key of every sample but the report. Times are in
//! nanoseconds, sizes in bytes. Numbers of 0 mean "none" where the field says so.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use derive::DdsType;

use crate::session::{SESSION_TOPIC, TELLER_TOPIC};
use crate::{Guid, GuidPrefix};

/// Topic of [`Request`]: reliable, transient local, one sample kept of a pair. A pair that is no longer wanted is disposed.
pub const REQUEST_TOPIC: &str = "punctual/admission/request";
/// Topic of [`Verdict`]: reliable, transient local, one sample kept of a pair.
pub const VERDICT_TOPIC: &str = "punctual/admission/verdict";
/// Topic of [`Measured`]: best effort, one sample kept of a pair.
pub const MEASURED_TOPIC: &str = "punctual/admission/measured";
/// Topic of [`Report`]: reliable, volatile: what was said before a reader came is the past.
pub const REPORT_TOPIC: &str = "punctual/admission/report";

/// Topic of [`Identity`] of participants that ask: reliable, transient local, one sample kept. Managers read it.
pub const IDENTITY_TOPIC: &str = "punctual/admission/identity";
/// Topic of [`Identity`] of managers: the same, and participants read it.
pub const MANAGER_TOPIC: &str = "punctual/admission/manager";

/// Whether what is written to a topic decides about the network: requests, verdicts, those about sessions, and the identities behind them. Participants of Punctual send these to each other's ports of
/// discovery, and so in the class that a network may have for it.
pub fn is_control(topic: &str) -> bool {
    [REQUEST_TOPIC, VERDICT_TOPIC, IDENTITY_TOPIC, MANAGER_TOPIC, SESSION_TOPIC, TELLER_TOPIC]
        .contains(&topic)
}

/// The participant that an instance with this canonical key (XCDR version 2, big endian) belongs to; `None` if it is no key of the type.
pub type InstanceOwner = fn(&[u8]) -> Option<GuidPrefix>;

/// The participant that may publish an instance of a topic: about a pair, that of its reader; about a manager, its own.
/// `None` for all other topics, also for that of verdicts: their keys do not name the manager.
pub fn instance_owner(topic: &str) -> Option<InstanceOwner> {
    match topic {
        REQUEST_TOPIC | MEASURED_TOPIC => Some(|key| prefix_at(key, 16)),
        REPORT_TOPIC | IDENTITY_TOPIC | MANAGER_TOPIC | TELLER_TOPIC => Some(|key| prefix_at(key, 0)),
        _ => None,
    }
}

/// The prefix of the GUID that begins at this byte of a key.
fn prefix_at(key: &[u8], start: usize) -> Option<GuidPrefix> {
    Some(GuidPrefix(*key.get(start..)?.first_chunk()?))
}

/// Name of the type [`Request`] in announcements.
pub const REQUEST_TYPE: &str = "punctual::admission::Request";
/// Name of the type [`Verdict`] in announcements.
pub const VERDICT_TYPE: &str = "punctual::admission::Verdict";
/// Name of the type [`Measured`] in announcements.
pub const MEASURED_TYPE: &str = "punctual::admission::Measured";
/// Name of the type [`Report`] in announcements.
pub const REPORT_TYPE: &str = "punctual::admission::Report";

/// Name of the type [`Identity`] in announcements.
pub const IDENTITY_TYPE: &str = "punctual::admission::Identity";

/// Most bytes of a reason, and of a topic's name.
pub const MOST_TEXT: usize = 1024;
/// The most lost frames that a bound is stated for.
pub const MOST_LOST: u8 = 4;
/// Most bytes of a report.
pub const MOST_REPORT: usize = 16 << 20;

/// An address of IPv4 or IPv6 and a UDP port.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[dds(final, crate = "crate")]
pub struct Socket {
    /// The address, unspecified if unknown.
    pub address: Address,
    /// The port, 0 if unknown.
    pub port: u16,
}

/// An address of IPv4 or IPv6 in 16 bytes, one of IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2). So each address has one form.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[dds(final, crate = "crate")]
pub struct Address {
    bytes: [u8; 16],
}

/// The losses that a request is to allow for, and the sockets of both sides for the flows of repairs (docs/decisions/0016-losses.md).
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[dds(final, crate = "crate")]
pub struct Losses {
    /// So many frames may be lost, 1 to [`MOST_LOST`]; with any other number nothing is asked for.
    pub frames: u8,
    /// Where repairs and HEARTBEATs that go alone leave the writer's participant; they go where its flow goes.
    pub repairs: Socket,
    /// Where ACKNACK and NACK_FRAG leave the reader's participant ...
    pub questions: Socket,
    /// ... and where the writer's participant receives them.
    pub answered_at: Socket,
    /// They may be lost in any time of this length.
    pub within: u64,
    /// How long the writer can repeat a sample: 2^64 - 1 if for as long as it is needed.
    pub kept: u64,
}

impl Losses {
    /// Nothing else if it asks for nothing.
    pub fn asked(&self) -> Option<&Self> {
        (1..=MOST_LOST).contains(&self.frames).then_some(self)
    }
}

/// The waits that both sides of a pair keep that is admitted with losses; both keep the same. Times are by their own clocks.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[dds(final, crate = "crate")]
pub struct Repairs {
    /// So many frames may be lost; 0 if the bound is that of samples of which nothing is lost. Then the rest says nothing.
    pub frames: u8,
    /// DSCP that the writer's host gives repairs and HEARTBEATs that go alone, 0 to 63.
    pub repairs_dscp: u8,
    /// DSCP that the reader's host gives ACKNACK and NACK_FRAG, 0 to 63.
    pub questions_dscp: u8,
    /// The most bytes of UDP payload of a repair.
    pub datagram: u32,
    /// Where repairs leave; they go where the flow goes.
    pub repairs: Socket,
    /// Where questions leave ...
    pub questions: Socket,
    /// ... and where they go.
    pub answered_at: Socket,
    /// The frames may be lost in any time of this length.
    pub within: u64,
    /// A writer that waits for an acknowledgement asks for it so long after a sample, and again each time.
    pub heartbeat: u64,
    /// A reader asks for a sample so long after it was announced.
    pub patience: u64,
    /// A reader asks again so long after it has asked.
    pub again: u64,
    /// Least time from the return of a send call of such a datagram to the next one, on either side.
    pub spacing: u64,
    /// Worst-case latency of a sample of which nothing is lost.
    pub without: u64,
}

/// What a writer promises about its messages, and what its participant adds to it.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[dds(final, crate = "crate")]
pub struct Contract {
    /// Bytes of its largest sample, serialized, with the encapsulation header and inline QoS.
    pub largest_message: u32,
    /// Bytes of its smallest sample, the same way; at most the largest.
    pub smallest_message: u32,
    /// Most bytes of UDP payload in a datagram that it sends.
    pub datagram: u32,
    /// Least time between the beginnings of two messages; not 0.
    pub minimum_separation: u64,
    /// Most time between the beginnings of two messages; 0 if it promises none.
    pub maximum_separation: u64,
    /// How much later than the send call the host may hand the first frame to its port.
    pub jitter: u64,
    /// Most time from the first frame of a message handed over to the last one.
    pub emission: u64,
    /// How much longer than that what polices the flow waits for the rest of a message, which is promised nothing then.
    pub slack: u64,
    /// If not all flows can be admitted, those with the smaller number yield.
    pub importance: u8,
}

/// What a writer announces about itself: its contract, and where its flow leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OfferedAssurance {
    /// What it promises.
    pub contract: Contract,
    /// The socket that its first transmissions to admitted readers leave from; port 0 if it has none.
    pub source: Socket,
    /// Its repairs for readers whose latency has to hold although frames are lost.
    pub repairs: Option<OfferedRepairs>,
}

/// The repairs of a writer whose participant keeps the rules of a bound with losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfferedRepairs {
    /// The socket that repairs and HEARTBEATs that go alone leave from.
    pub source: Socket,
    /// How long it can repeat a sample, counted from its first transmission: no shorter than that. 2^64 - 1 if for as long as it is needed.
    pub kept: u64,
}

/// What a reader announces about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestedAssurance {
    /// Maximum latency that it asks for; not 0.
    pub maximum_latency: u64,
    /// Most time between two messages that it accepts; 0 if it does not matter.
    pub maximum_separation: u64,
    /// True: it takes nothing from a writer whose flow is not assured.
    pub is_required: bool,
    /// The losses that the maximum latency is to allow for; `None` if it is that of a sample of which nothing is lost.
    pub losses: Option<RequestedLosses>,
}

/// The losses that a reader's maximum latency is to allow for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestedLosses {
    /// So many frames may be lost, 1 to [`MOST_LOST`] ...
    pub frames: u8,
    /// ... in any time of this length, which is at least twice the maximum latency.
    pub within: u64,
    /// The socket that ACKNACK and NACK_FRAG leave from; port 0 if it has none.
    pub source: Socket,
}

/// What the reader of a pair does at present. The writer follows: it sends only to a reader that takes what it sends.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[dds(crate = "crate")]
pub enum Stage {
    /// It is not matched with the writer: it waits for a verdict, or does not run without one.
    #[default]
    Waiting,
    /// It is matched, and takes what comes from the writer's participant without a bound.
    Unassured,
    /// It is matched, and takes the flow that was admitted.
    Assured,
}

/// The reader's participant asks for an assured flow from a writer.
#[derive(DdsType, Clone, PartialEq, Eq, Debug, Default)]
#[dds(appendable, crate = "crate")]
pub struct Request {
    /// GUID of the writer.
    #[dds(key)]
    pub writer: [u8; 16],
    /// GUID of the reader.
    #[dds(key)]
    pub reader: [u8; 16],
    /// Larger for each change of what is asked for; a verdict repeats it. A sample that differs from the one before in its
    /// `stage` alone has the same serial and asks for nothing new.
    pub serial: u64,
    /// What is written.
    #[dds(bound = 1024)]
    pub topic: String,
    /// What the writer announced.
    pub contract: Contract,
    /// Maximum latency that the reader asks for, from the send call to the kernel's reception of the last frame. 0: its participant has
    /// refused the pair by itself; nothing is asked for, and the sample only tells the writer's participant the `stage`.
    pub maximum_latency: u64,
    /// Most time between two messages that the reader accepts; 0 if it does not matter.
    pub maximum_separation: u64,
    /// Where the writer's flow leaves, and nothing else does.
    pub source: Socket,
    /// Where the reader's participant receives.
    pub destination: Socket,
    /// What the reader does at present.
    pub stage: Stage,
    /// GUID of the participant of the manager that is asked, whose verdicts count at both ends of the pair; zeros if none is known yet.
    /// A sample that differs from the one before in this alone has the same serial.
    pub manager: [u8; 16],
    /// The losses that the maximum latency is to allow for. A manager that knows nothing of it passes it over, and its verdict says nothing of losses.
    pub losses: Losses,
}

/// How a verdict ends: numbers of [`Verdict::state`].
#[derive(DdsType, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[dds(crate = "crate")]
pub enum State {
    /// Asked, and not yet decided or not yet installed.
    #[default]
    Pending,
    /// The network is set up: [`Verdict::bound`] holds while the lease lasts.
    Admitted,
    /// It cannot be admitted: the reason and the offer say why and what could be.
    Refused,
    /// It was admitted and is no longer: the reason says why.
    Revoked,
}

/// The manager's answer for a pair. It is a lease: a participant that does not hear it again within [`Verdict::lease`] has lost it.
#[derive(DdsType, Clone, PartialEq, Eq, Debug, Default)]
#[dds(appendable, crate = "crate")]
pub struct Verdict {
    /// GUID of the writer.
    #[dds(key)]
    pub writer: [u8; 16],
    /// GUID of the reader.
    #[dds(key)]
    pub reader: [u8; 16],
    /// The request that this answers.
    pub serial: u64,
    /// Larger for every start of a manager on the same store: older ones count for nothing.
    pub epoch: u64,
    /// What was decided.
    pub state: State,
    /// Worst-case latency from the send call to the reception of the last frame; 0 unless admitted.
    pub bound: u64,
    /// How long this holds after it was heard, unless it is heard again.
    pub lease: u64,
    /// Where the writer's flow must leave.
    pub source: Socket,
    /// Where the writer must send.
    pub destination: Socket,
    /// DSCP that the writer's host gives the flow, 0 to 63.
    pub dscp: u8,
    /// Bytes on the wire that one message may have, counted as gates count: each frame at least 60, and 24 more.
    pub octets: u32,
    /// Least time from the return of a send call to the next one.
    pub separation: u64,
    /// The reason in words, if refused or revoked.
    #[dds(bound = 1024)]
    pub reason: String,
    /// A maximum latency that would be admitted; 0 if none is known.
    pub offered_latency: u64,
    /// A minimum separation with which it would be admitted; 0 if none is known.
    pub offered_separation: u64,
    /// The waits that both sides keep, if it is admitted with losses.
    pub losses: Repairs,
}

/// What a reader has seen of an assured flow since it was admitted.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[dds(appendable, crate = "crate")]
pub struct Measured {
    /// GUID of the writer.
    #[dds(key)]
    pub writer: [u8; 16],
    /// GUID of the reader.
    #[dds(key)]
    pub reader: [u8; 16],
    /// Samples received.
    pub samples: u64,
    /// Samples later than the bound.
    pub late: u64,
    /// Samples lost.
    pub lost: u64,
    /// Latency of the worst sample.
    pub worst: u64,
    /// Median latency of the samples of the last second, at most 1/16 above the true one.
    pub median: u64,
    /// How far the clocks of both hosts may differ; 0 if they are one clock, 2^64 - 1 if that is not known.
    pub clock_error: u64,
}

/// The manager's view, as JSON: flows with what was promised and measured, switches, refusals.
#[derive(DdsType, Clone, PartialEq, Eq, Debug, Default)]
#[dds(appendable, crate = "crate")]
pub struct Report {
    /// GUID of the manager's participant.
    #[dds(key)]
    pub manager: [u8; 16],
    /// The epoch of the manager.
    pub epoch: u64,
    /// The report as JSON.
    #[dds(bound = 16777216)]
    pub json: String,
}

/// The certificate of a participant, shown once: with it all signatures under its requests or verdicts are verified ([`crate::seal`]).
#[derive(DdsType, Clone, PartialEq, Eq, Debug, Default)]
#[dds(appendable, crate = "crate")]
pub struct Identity {
    /// GUID of the participant.
    #[dds(key)]
    pub participant: [u8; 16],
    /// The epoch of a manager; 0 of a participant that asks.
    pub epoch: u64,
    /// The certificate, X.509 in DER.
    #[dds(bound = 2048)]
    pub certificate: Vec<u8>,
    /// By its key, over the certificate, the participant and the epoch.
    #[dds(bound = 72)]
    pub signature: Vec<u8>,
}

impl Socket {
    /// As an address of the standard library; `None` if the address or the port is unknown.
    pub fn addr(self) -> Option<SocketAddr> {
        (!self.address.is_unspecified() && self.port != 0)
            .then(|| SocketAddr::new(self.address.ip(), self.port))
    }
}

impl From<SocketAddr> for Socket {
    /// Without the zone of a link-local address, which means nothing elsewhere.
    fn from(addr: SocketAddr) -> Self {
        Self { address: addr.ip().into(), port: addr.port() }
    }
}

impl Address {
    /// As an address of the standard library.
    pub const fn ip(self) -> IpAddr {
        Ipv6Addr::from_octets(self.bytes).to_canonical()
    }

    /// The 16 bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.bytes
    }

    /// An address of 16 bytes, one of IPv4 mapped into IPv6.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self { bytes }
    }

    /// Whether it is one of IPv4.
    pub const fn is_ipv4(self) -> bool {
        self.ip().is_ipv4()
    }

    /// Whether it is no address: 0.0.0.0 or ::.
    pub const fn is_unspecified(self) -> bool {
        self.ip().is_unspecified()
    }

    /// Whether it is that of a group.
    pub const fn is_multicast(self) -> bool {
        self.ip().is_multicast()
    }
}

impl Default for Address {
    /// 0.0.0.0.
    fn default() -> Self {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED).into()
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Self {
        let bytes = match ip {
            IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
            IpAddr::V6(six) => six.octets(),
        };
        Self { bytes }
    }
}

impl From<[u8; 4]> for Address {
    fn from(four: [u8; 4]) -> Self {
        IpAddr::from(four).into()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ip().fmt(f)
    }
}

impl Request {
    /// The pair: writer and reader.
    pub fn pair(&self) -> (Guid, Guid) {
        (Guid::from_bytes(self.writer), Guid::from_bytes(self.reader))
    }
}

impl Verdict {
    /// The pair: writer and reader.
    pub fn pair(&self) -> (Guid, Guid) {
        (Guid::from_bytes(self.writer), Guid::from_bytes(self.reader))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdr::DdsType;

    #[test]
    fn addresses_of_both_versions_have_one_form() {
        for text in ["10.1.2.3", "0.0.0.0", "fd00::1", "::", "ff05::9"] {
            let ip: IpAddr = text.parse().unwrap();
            let address = Address::from(ip);
            assert_eq!((address.ip(), Address::from_bytes(address.bytes())), (ip, address));
        }
        let mapped: IpAddr = "::ffff:10.1.2.3".parse().unwrap();
        assert_eq!(Address::from(mapped), Address::from([10, 1, 2, 3]));
        let socket = Socket::from("[fd00::1%3]:7411".parse::<SocketAddr>().unwrap());
        assert_eq!(socket.addr(), Some("[fd00::1]:7411".parse().unwrap()));
        assert_eq!(Socket { port: 0, ..socket }.addr(), None);
        assert_eq!(Socket { address: Address::default(), port: 7 }.addr(), None);
    }

    #[test]
    fn every_sample_has_a_greatest_size() {
        assert!(Request::MAX_SERIALIZED_SIZE_XCDR2.is_some());
        assert!(Verdict::MAX_SERIALIZED_SIZE_XCDR2.is_some());
        assert!(Measured::MAX_SERIALIZED_SIZE_XCDR2.is_some());
        assert!(Report::MAX_SERIALIZED_SIZE_XCDR2.is_some_and(|bytes| bytes > MOST_REPORT));
    }
}

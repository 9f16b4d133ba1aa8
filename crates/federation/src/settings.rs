//! What a gateway may take: sizes, times, limits.
use core::fmt;

/// Sizes, times and limits of a gateway. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Bytes of the largest datagram that is made: 512 to 65,000. Events that do not fit are cut, and small ones gathered.
    pub datagram: usize,
    /// How many gateways an event may reach one after the other: 1 is peers only.
    pub ttl: u8,
    /// Bytes of the body of the largest event.
    pub event: usize,
    /// Bytes that are sent to a peer, or a group of peers, before the first of them is acknowledged.
    pub flight: usize,
    /// Bytes of events that are kept for a peer, or a group of peers, until they are acknowledged: those that wait while a connection is suspended
    /// among them.
    pub held: usize,
    /// How long after a transfer that is not acknowledged its peer is asked, if a round trip takes no longer; it doubles up to `repair_most`.
    pub repair: u64,
    /// The longest time between two questions.
    pub repair_most: u64,
    /// How long nothing may come of a peer before it is dead. A quarter of it is the longest time between two datagrams to a peer.
    pub lease: u64,
    /// Gateways of the federation that are known at most, itself not counted.
    pub gateways: usize,
    /// Different subscriptions of a gateway.
    pub interests: usize,
}

impl Default for Settings {
    /// Datagrams of 1,400 bytes, peers only, events of 1 MiB, 128 KiB under way, 4 MiB kept, questions after 10 ms and up to 200 ms, a lease of 2
    /// seconds, 64 gateways, 256 subscriptions.
    fn default() -> Self {
        const MS: u64 = 1_000_000;
        Self {
            datagram: 1_400,
            ttl: 1,
            event: 1 << 20,
            flight: 128 << 10,
            held: 4 << 20,
            repair: 10 * MS,
            repair_most: 200 * MS,
            lease: 2_000 * MS,
            gateways: 64,
            interests: 256,
        }
    }
}

impl Settings {
    /// The least pause before a receiver is asked how far it is, and the longest.
    pub(crate) const fn pauses(&self) -> (u64, u64) {
        (self.repair, self.repair_most)
    }

    /// The same within what works.
    pub(crate) fn within(self) -> Self {
        Self {
            datagram: self.datagram.clamp(512, 65_000),
            ttl: self.ttl.max(1),
            repair: self.repair.max(2),
            repair_most: self.repair_most.max(self.repair),
            lease: self.lease.max(8),
            gateways: self.gateways.clamp(1, 1_024),
            interests: self.interests.clamp(1, 1_024),
            ..self
        }
    }
}

/// Something would be above a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LimitError {
    /// More peers than [`Settings::gateways`], or this one is there already or is the gateway itself.
    Peer,
    /// More different subscriptions than [`Settings::interests`], or more text than a record has room for.
    Interests,
    /// A text is longer than it may be: 255 bytes of a type or a source, 4,096 of an expression, 1,024 of a parameter; 100 parameters.
    Text,
    /// More groups than a gateway has: 16.
    Groups,
}

impl fmt::Display for LimitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Peer => "the peer is there already, is this gateway, or is one more than the settings allow",
            Self::Interests => "one subscription more than the settings allow, or than a record has room for",
            Self::Text => {
                "a text is too long: 255 bytes for a type or a source, 4,096 for an expression, 1,024 for a parameter"
            }
            Self::Groups => "a gateway has 16 groups at most",
        })
    }
}

impl core::error::Error for LimitError {}

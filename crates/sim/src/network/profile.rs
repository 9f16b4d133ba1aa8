//! What a network segment does to the datagrams that cross it.
use std::fmt;

use wire::Duration;

use crate::random::Random;

/// The behaviour of every link of a segment. Probabilities are in parts per million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Chance that a datagram (each fragment of a fragmented one) is lost, independent of all others.
    pub loss: u32,
    /// Chance that a datagram begins a burst of losses on its link.
    pub burst: u32,
    /// Mean number of datagrams lost in a burst.
    pub burst_length: u32,
    /// Chance that a datagram arrives twice.
    pub duplicate: u32,
    /// Chance that a datagram is held back for up to `reorder_delay`, so that later ones overtake it.
    pub reorder: u32,
    /// Longest time that a datagram is held back.
    pub reorder_delay: Duration,
    /// Time that every datagram takes.
    pub delay: Duration,
    /// Most additional time; the order on the link is kept.
    pub jitter: Duration,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// True if larger packets are fragmented, false if they vanish.
    pub fragments: bool,
}

impl Profile {
    /// An Ethernet without faults.
    pub const CALM: Self = Self {
        loss: 0,
        burst: 0,
        burst_length: 0,
        duplicate: 0,
        reorder: 0,
        reorder_delay: Duration::ZERO,
        delay: Duration::from_micros(50),
        jitter: Duration::from_micros(20),
        mtu: 1_500,
        fragments: true,
    };

    /// The same lines without faults: delay, MTU and fragmentation stay.
    pub const fn calmed(&self) -> Self {
        Self { loss: 0, burst: 0, duplicate: 0, reorder: 0, ..*self }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ppm: u32| f64::from(ppm) / 10_000.0;
        write!(
            f,
            "loss {} %, bursts {} % of about {}, duplicates {} %, held back {} % up to {} us, delay {}+{} us, MTU {}{}",
            percent(self.loss),
            percent(self.burst),
            self.burst_length,
            percent(self.duplicate),
            percent(self.reorder),
            self.reorder_delay.as_nanos() / 1_000,
            self.delay.as_nanos() / 1_000,
            self.jitter.as_nanos() / 1_000,
            self.mtu,
            if self.fragments { "" } else { " without fragmentation" },
        )
    }
}

/// A random duration up to `most`.
pub(super) fn up_to(random: &mut Random, most: Duration) -> Duration {
    let nanos = most.as_nanos().max(0) as u64;
    if nanos == 0 { Duration::ZERO } else { Duration::from_nanos(random.within(0..=nanos) as i64) }
}

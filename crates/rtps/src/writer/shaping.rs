//! A token bucket that everything passes that a writer sends: samples, fragments, repairs, gaps and heartbeats.
use core::net::SocketAddr;

use wire::{Duration, Instant};

use crate::path::Path;

/// How much a writer may send, in bytes of IP packets.
///
/// A datagram counts once, with its headers of IP and UDP, however many paths take it: so each destination of the writer gets, in any
/// time `t`, at most `bucket` bytes and what `rate` comes to in `t`. Readers of the same participant cost nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenBucket {
    /// Bits per second, 1 or more.
    pub rate: u64,
    /// Bytes that may leave at once after a silence, [`TokenBucket::LEAST`] or more.
    pub bucket: u32,
    /// Most bytes of an IP packet, [`TokenBucket::LEAST`] or more. At most [`TokenBucket::LARGEST`] and `bucket` of them are used. A larger
    /// sample goes in fragments.
    pub largest_packet: u32,
}

impl TokenBucket {
    /// Bytes of the least bucket: the smallest datagram that every path is taken to carry, with headers.
    pub const LEAST: u32 = Path::MIN_DATAGRAM + HEADERS_V6;
    /// Bytes of the largest packet: no datagram is cut by IP on Ethernet, where its parts would have headers that are not counted.
    pub const LARGEST: u32 = 1_500;

    /// A bucket whose packets are as large as it and Ethernet let them be.
    pub const fn new(rate: u64, bucket: u32) -> Self {
        Self { rate, bucket, largest_packet: Self::LARGEST }
    }

    /// Most bytes of UDP payload in a datagram.
    pub(super) fn datagram(&self) -> u32 {
        let packet = self.largest_packet.min(self.bucket).min(Self::LARGEST);
        packet.saturating_sub(HEADERS_V6).max(Path::MIN_DATAGRAM)
    }

    /// Nanoseconds that fill these bytes, rounded up.
    fn fills(&self, bytes: u64) -> u128 {
        (u128::from(bytes) * 8 * SECOND).div_ceil(u128::from(self.rate.max(1)))
    }
}

/// Bytes of the headers of IPv4 and UDP.
const HEADERS_V4: u32 = 20 + 8;
/// Bytes of the headers of IPv6 and UDP.
const HEADERS_V6: u32 = 40 + 8;
const SECOND: u128 = 1_000_000_000;

/// The state of a token bucket, kept as the time when it is full again: tokens need no clock then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    bucket: TokenBucket,
    full_at: Instant,
    /// A datagram may leave as soon as the bucket is full after this time, or earlier.
    slack: Duration,
    /// When the last datagram was handed out that is not confirmed yet to have left.
    leaving: Option<Instant>,
}

impl Shaper {
    /// A full one.
    pub(super) fn new(bucket: TokenBucket) -> Self {
        let packet = u64::from(bucket.datagram() + HEADERS_V6);
        let rest = u64::from(bucket.bucket).saturating_sub(packet);
        // Rounded down: the other way the bucket would be larger than it is.
        let slack = u128::from(rest) * 8 * SECOND / u128::from(bucket.rate.max(1));
        Self { bucket, full_at: Instant::START, slack: nanos(slack), leaving: None }
    }

    /// One that takes the place of another one, or of none. It is empty, so that nothing that left before counts for it.
    pub(super) fn taking_over(bucket: TokenBucket, now: Instant, before: Option<&Self>) -> Self {
        let fills = nanos(bucket.fills(u64::from(bucket.bucket)));
        Self {
            full_at: now.after(fills),
            leaving: before.and_then(|before| before.leaving),
            ..Self::new(bucket)
        }
    }

    /// What it lets through.
    pub(super) const fn bucket(&self) -> TokenBucket {
        self.bucket
    }

    /// It is `now`, after everything that was handed out has left. While a datagram leaves, no token comes: its bytes count from when it
    /// has left, however long the system took for that.
    pub(super) fn returned(&mut self, now: Instant) {
        if let Some(since) = self.leaving.take() {
            self.full_at = self.full_at.after(now.since(since));
        }
    }

    /// When there are tokens for a datagram of any size.
    pub(super) fn opens_at(&self) -> Instant {
        let (full, slack) = (self.full_at.as_nanos(), self.slack.as_nanos());
        Instant::from_nanos(full.saturating_sub(u64::try_from(slack).unwrap_or(0)))
    }

    /// A datagram of `len` bytes of UDP payload is handed out for these paths; false if none of them needs tokens.
    pub(super) fn hand_out(&mut self, now: Instant, len: usize, paths: &[Path]) -> bool {
        let headers =
            paths.iter().filter(|path| **path != Path::IN_PROCESS).map(|path| match path.destination {
                SocketAddr::V4(_) => HEADERS_V4,
                SocketAddr::V6(_) => HEADERS_V6,
            });
        let Some(headers) = headers.max() else { return false };
        let bytes = u64::from(headers).saturating_add(len as u64);
        self.full_at = self.full_at.max(now).after(nanos(self.bucket.fills(bytes)));
        self.leaving = Some(now);
        true
    }
}

/// A time of so many nanoseconds, or of as many as there can be.
fn nanos(nanoseconds: u128) -> Duration {
    Duration::from_nanos(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

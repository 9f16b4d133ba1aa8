//! Where participants speak from, for threads that receive: what comes from elsewhere in their name does not count.
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtps::network;
use wire::{Duration, GuidPrefix, Instant};

use crate::host::BY_LINK;

/// Discovery is told at most so often that something came from elsewhere.
const DOUBT_PERIOD: Duration = Duration::from_millis(100);

/// A participant as it is known by its socket addresses.
pub(crate) struct Speaker {
    sources: Arc<[SocketAddr]>,
    doubt_after: AtomicU64,
}

impl Speaker {
    pub(crate) fn new(sources: Arc<[SocketAddr]>) -> Arc<Self> {
        Arc::new(Self { sources, doubt_after: AtomicU64::new(0) })
    }

    /// True if it speaks from there.
    pub(super) fn is_at(&self, from: SocketAddr) -> bool {
        let from = network::source(from);
        self.sources.iter().any(|source| source.port() == from.port() && source.ip() == from.ip())
    }

    /// Something came in its name from elsewhere: true if discovery is to be told.
    pub(super) fn doubt(&self, now: Instant) -> bool {
        let after = self.doubt_after.load(Ordering::Relaxed);
        let next = now.after(DOUBT_PERIOD).as_nanos();
        let order = Ordering::Relaxed;
        now.as_nanos() >= after && self.doubt_after.compare_exchange(after, next, order, order).is_ok()
    }
}

/// The participant that a link leads to, if a datagram came through shared memory: the link has seen to it that the header names it.
pub(super) fn linked(from: SocketAddr, datagram: &[u8]) -> Option<GuidPrefix> {
    let is_linked = from == BY_LINK;
    datagram.get(8..20).filter(|_| is_linked)?.first_chunk().map(|prefix| GuidPrefix(*prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discovery_is_told_once_in_a_while() {
        let speaker = Speaker::new([SocketAddr::from(([10, 0, 0, 1], 7411))].into());
        let at = |millis| Instant::START.after(Duration::from_millis(millis));
        assert!(speaker.doubt(at(1)) && !speaker.doubt(at(100)) && speaker.doubt(at(101)));
        assert!(speaker.is_at("10.0.0.1:7411".parse().unwrap()));
        assert!(speaker.is_at("[::ffff:10.0.0.1]:7411".parse().unwrap()));
        assert!(!speaker.is_at("10.0.0.1:7410".parse().unwrap()));
        assert!(!speaker.is_at("10.0.0.2:7411".parse().unwrap()));
    }
}

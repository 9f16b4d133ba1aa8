//! What all packets of a flow come to.
use core::net::IpAddr;

/// By this part a flow has more than its packets need: programs do not write to the nanosecond.
const SPARE: u64 = 64;
const SECOND: u128 = 1_000_000_000;

/// Packets that come again and again.
#[derive(Clone, Copy, Debug)]
struct Part {
    separation: u64,
    burst: u32,
}

/// The packets of a flow. Each counts as one of the largest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    parts: alloc::vec::Vec<Part>,
    largest: u32,
}

/// Bytes of an IP packet with so many bytes of UDP payload.
pub(crate) fn packet(to: IpAddr, payload: u32) -> u32 {
    let headers = if to.is_ipv4() { 20 + 8 } else { 40 + 8 };
    payload.saturating_add(headers)
}

impl Load {
    /// Packets of so many bytes at most, `burst` of them at once and one in each separation in the long run.
    pub(crate) fn add(&mut self, packet: u32, separation: u64, burst: u32) {
        self.parts.push(Part { separation: separation.max(1), burst: burst.max(1) });
        self.largest = self.largest.max(packet);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes of the largest packet.
    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }

    /// Bits per second.
    pub(crate) fn rate(&self) -> u64 {
        self.part_rate().saturating_add(1)
    }

    /// Bits per second of one of several writers, which together have no more than the rate of all their packets.
    pub(crate) fn part_rate(&self) -> u64 {
        let bits = u128::from(self.largest) * 8 * SECOND;
        let rates = self.parts.iter().map(|part| bits.div_ceil(u128::from(part.separation)));
        let rate = u64::try_from(rates.sum::<u128>()).unwrap_or(u64::MAX);
        rate.saturating_add(rate / SPARE)
    }

    /// Bytes at once that a writer may send of that: the packet more is left for what its host and routers before the edge delay.
    pub(crate) fn part_bucket(&self) -> u64 {
        let packets: u64 = self.parts.iter().map(|part| u64::from(part.burst)).sum();
        packets.saturating_mul(u64::from(self.largest))
    }

    /// Bytes at once: of each part its burst, and one more that a program has written too late or too early.
    pub(crate) fn bucket(&self) -> u64 {
        let packets: u64 = self.parts.iter().map(|part| u64::from(part.burst) + 1).sum();
        packets.saturating_mul(u64::from(self.largest))
    }
}

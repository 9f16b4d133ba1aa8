//! What AF sends beyond its contract, where that is marked down and not dropped: by which keys and contracts the program in `colour.c` tells it from
//! the rest, which codepoints it gets, and when it is beyond.
//!
//! The program looks at packets before policers do. What is beyond the contract gets a bit in its mark and goes past the policer, all else goes through
//! it. So what is admitted never is more than policers let through, whatever the program does.
use std::net::{IpAddr, Ipv6Addr};

use wan::Class;

use crate::entry::{Tuple, waiting};
use crate::policing::Contract;

/// The bit of a mark that says that the packet is beyond a contract. Codes of classes are below it.
pub(crate) const EXCESS: u32 = 0x40;
/// Bits of the largest bucket that the program counts: two gigabytes.
const MOST_BITS: u64 = 1 << 34;

/// Bytes of a key: source, destination, both ports, protocol.
pub type KeyBytes = [u8; 40];
/// Bytes of a contract: rate, bucket, least packet, traffic class of what is beyond it already.
pub type ContractBytes = [u8; 24];

/// The codepoint of what a class sends beyond its contract: the highest drop precedence of its group (RFC 2597). Other classes have none, and what is
/// beyond is dropped.
pub fn excess(class: Class) -> Option<u8> {
    match class {
        Class::Af4 => Some(38),
        Class::Af1 => Some(14),
        Class::BestEffort | Class::Ef | Class::Control => None,
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// The key of packets of a flow.
pub(crate) fn of_tuple(tuple: &Tuple) -> KeyBytes {
    let mut bytes = [0; 40];
    put(&mut bytes, 0, &mapped(tuple.source));
    put(&mut bytes, 16, &mapped(tuple.destination));
    put(&mut bytes, 32, &tuple.source_port.to_be_bytes());
    put(&mut bytes, 34, &tuple.destination_port.to_be_bytes());
    put(&mut bytes, 36, &[tuple.protocol]);
    bytes
}

/// The key of packets with a label.
pub(crate) fn of_segment(segment: Ipv6Addr) -> KeyBytes {
    let mut bytes = [0; 40];
    put(&mut bytes, 16, &segment.octets());
    bytes
}

/// When packets are beyond a contract: what a policer would drop, which is what its queue has no room for any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Bits per second.
    pub rate: u64,
    /// Bits at once.
    pub most: u64,
    /// Bytes: a smaller packet counts as this.
    pub least: u32,
}

impl Bucket {
    /// That of a contract. A sender whose packets come together now and then, because it stood still, is not beyond its contract as long as policers
    /// let them wait: the last place of their queue is left free, since both clocks may be a moment apart.
    pub fn of(contract: &Contract) -> Self {
        let least = u64::from(contract.least.max(1));
        let waits = (waiting(contract) - 1).saturating_mul(least);
        let most = contract.bucket.saturating_add(waits).saturating_mul(8).min(MOST_BITS);
        Self { rate: contract.rate.max(1), most, least: contract.least.max(1) }
    }

    /// As the program reads it. What has come with the codepoint of excess of this class was beyond a contract before.
    pub(crate) fn bytes(&self, class: Class) -> ContractBytes {
        let mut bytes = [0; 24];
        put(&mut bytes, 0, &self.rate.to_ne_bytes());
        put(&mut bytes, 8, &self.most.to_ne_bytes());
        put(&mut bytes, 16, &self.least.to_ne_bytes());
        put(&mut bytes, 20, &[excess(class).unwrap_or(0) << 2]);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use testkit::random::Random;
    use wan::{Demand, LinkId, Place};

    use super::*;
    use crate::policing::Policing;

    /// Bits times nanoseconds of a second.
    const SECOND: u128 = 1_000_000_000;

    /// The rule of `colour.c`, in wider numbers.
    struct Colours {
        bucket: Bucket,
        used: u128,
        at: u64,
    }

    impl Colours {
        fn is_beyond(&mut self, now: u64, size: u32) -> bool {
            let passed = u128::from(now - self.at);
            self.at = now;
            self.used = self.used.saturating_sub(passed * u128::from(self.bucket.rate));
            let cost = u128::from(size.max(self.bucket.least)) * 8 * SECOND;
            if self.used + cost > u128::from(self.bucket.most) * SECOND {
                return true;
            }
            self.used += cost;
            false
        }
    }

    /// A class of HTB with its queue: it sends while its bucket is not in debt.
    struct Policer {
        rate: u128,
        full: i128,
        tokens: i128,
        at: u64,
        least: u32,
        waits: std::collections::VecDeque<u32>,
        room: usize,
    }

    impl Policer {
        /// What leaves until then: when, and how large.
        fn leaves(&mut self, now: u64) -> Vec<(u64, u32)> {
            let mut left = Vec::new();
            while let Some(size) = self.waits.front().copied() {
                let wait = if self.tokens >= 0 { 0 } else { self.tokens.unsigned_abs().div_ceil(self.rate) };
                let at = self.at + u64::try_from(wait).unwrap();
                if at > now {
                    break;
                }
                self.pass(at);
                self.tokens -= i128::from(size.max(self.least)) * 8_000_000_000;
                self.waits.pop_front();
                left.push((at, size));
            }
            self.pass(now);
            left
        }

        fn pass(&mut self, now: u64) {
            let more = u128::from(now - self.at) * self.rate;
            self.tokens = (self.tokens + i128::try_from(more).unwrap()).min(self.full);
            self.at = now;
        }
    }

    /// A sender that keeps to its contract is never marked down, also if its packets come late and together; of one that does not, policers drop
    /// nothing that was not marked down, and no more is admitted than is counted.
    #[test]
    fn what_is_marked_down_is_what_policers_would_drop() {
        let mut random = Random::new(61);
        let (mut within, mut beyond) = (0, 0);
        for _ in 0..300 {
            let largest = u32::try_from(random.range(28, 1_500)).unwrap();
            let least = if random.chance(50) { largest } else { (largest / 2).max(28) };
            let bucket = random.range(largest.into(), 6_000);
            let contract = Contract { rate: random.range(20_000, 5_000_000), bucket, least, largest };
            // Up to nine tenths of what their queue has room for.
            let late = u128::from(least) * 8 * SECOND * 9 / 10 / u128::from(contract.rate);
            for keeps in [true, false] {
                let mut colours = Colours { bucket: Bucket::of(&contract), used: 0, at: 0 };
                let full = i128::from(bucket.saturating_sub(least.into()).max(1)) * 8_000_000_000;
                let mut policer = Policer {
                    rate: crate::policing::policed_rate(contract.rate).into(),
                    full,
                    tokens: full,
                    at: 0,
                    least,
                    waits: Default::default(),
                    room: usize::try_from(waiting(&contract)).unwrap(),
                };
                let demand = Demand {
                    from: Place::Border(LinkId(1)),
                    to: Place::Edges,
                    class: Class::Af4,
                    rate: contract.rate,
                    burst: bucket,
                    least_packet: least,
                    largest_packet: largest,
                };
                let load = Policing::Classes.on_wire(&demand, 0);
                let (mut sent, mut came, mut wire) = (0_u64, 0_u64, 0_u128);
                let most = u128::from(bucket) * 8 * SECOND;
                let mut tokens = most;
                for _ in 0..300 {
                    let size = if random.chance(50) { least } else { largest };
                    let cost = u128::from(size) * 8 * SECOND;
                    let pause = if keeps {
                        let owed = cost.saturating_sub(tokens).div_ceil(contract.rate.into());
                        u64::try_from(owed).unwrap()
                            + if random.chance(5) { random.below_u64(30_000_000) } else { 0 }
                    } else {
                        random.below_u64(400_000)
                    };
                    sent += pause;
                    tokens = most.min(tokens + u128::from(pause) * u128::from(contract.rate));
                    tokens = tokens.saturating_sub(cost);
                    came = came.max(sent + random.below_u64(u64::try_from(late).unwrap() + 1));
                    let left = policer.leaves(came);
                    if colours.is_beyond(came, size) {
                        assert!(!keeps, "{contract:?}: a packet of {size} at {came} is marked down");
                        beyond += 1;
                    } else {
                        assert!(
                            policer.waits.len() < policer.room,
                            "{contract:?}: {size} at {came} is dropped"
                        );
                        policer.waits.push_back(size);
                        within += 1;
                    }
                    for (at, size) in left.into_iter().chain(policer.leaves(came)) {
                        // A tunnel of 40 bytes, and 38 around each frame.
                        wire += u128::from(size + 78) * 8 * SECOND;
                        let room =
                            u128::from(load.burst) * 8 * SECOND + u128::from(at) * u128::from(load.rate);
                        assert!(wire <= room, "{contract:?}: {wire} of {room} at {at}");
                    }
                }
            }
        }
        assert!(within > 10_000 && beyond > 10_000, "{within} within, {beyond} beyond");
    }

    #[test]
    fn keys_are_those_of_the_program_in_c() {
        let tuple = Tuple {
            source: IpAddr::from([10, 1, 0, 2]),
            destination: IpAddr::from([10, 3, 0, 2]),
            protocol: 17,
            source_port: 7_400,
            destination_port: 7_411,
        };
        let bytes = of_tuple(&tuple);
        assert_eq!(bytes[8..16], [0, 0, 0xff, 0xff, 10, 1, 0, 2]);
        assert_eq!(bytes[24..], [0, 0, 0xff, 0xff, 10, 3, 0, 2, 0x1c, 0xe8, 0x1c, 0xf3, 17, 0, 0, 0]);
        let segment = "fd40:1::7:2:0:4".parse().unwrap();
        assert_eq!(of_segment(segment)[16..32], segment.octets());
    }
}

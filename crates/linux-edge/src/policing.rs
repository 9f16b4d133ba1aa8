//! How devices hold traffic to contracts, and how much is on the wire of what they let through.
use wan::{Demand, Place};

use crate::domain::{AROUND, ETHERNET, LEAST_FRAME, TUNNEL};
use crate::ledger::Load;

/// Bytes of a label of MPLS.
const LABEL: u64 = 4;
/// Bytes of two of them: that of a tunnel, and that of the port by which a domain is left.
const LABELS: u64 = 2 * LABEL;
/// Nanoseconds in which a meter of Open vSwitch counts.
const TICK: u64 = 1_000_000;
/// A meter counts thousands of bits per second, and of bits at once.
const KILO: u64 = 1_000;

/// Nanoseconds from one change of the meters of an aggregate at a border to the next at least. Each begins with full buckets.
pub const BETWEEN_CHANGES: u64 = 1_000_000_000;

/// What holds traffic to contracts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policing {
    /// Classes of HTB, at routers whose tunnels are headers of IPv6.
    Classes,
    /// Meters of Open vSwitch, one for bytes and one for packets, at switches whose tunnels are labels of MPLS. Those of flows do not change, those of
    /// aggregates at borders at most each [`BETWEEN_CHANGES`].
    Meters,
}

/// What a policer lets through, counted in bytes of IP packets. At a border these are those inside the tunnel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Contract {
    /// Bits per second.
    pub rate: u64,
    /// Bytes at once.
    pub bucket: u64,
    /// Bytes: a smaller packet counts as this.
    pub least: u32,
    /// Bytes of the largest packet.
    pub largest: u32,
}

impl Contract {
    /// That of an aggregate.
    pub fn of(demand: &Demand) -> Self {
        Self {
            rate: demand.rate,
            bucket: demand.burst,
            least: demand.least_packet,
            largest: demand.largest_packet,
        }
    }
}

/// A pair of meters that lets all through that keeps to a contract: the first one counts frames of Ethernet in bits, the second one packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meters {
    /// Thousands of bits per second.
    pub rate: u64,
    /// Thousands of bits at once.
    pub burst: u64,
    /// Packets per second.
    pub packets: u64,
    /// Packets at once.
    pub packets_at_once: u64,
}

/// Bits per second that a policer lets through in the long run: `tc` counts whole bytes, and rounding is against us.
pub const fn policed_rate(rate: u64) -> u64 {
    rate.div_ceil(8).saturating_mul(8)
}

/// Units that come in so many nanoseconds at a rate per second.
fn meanwhile(rate: u128, time: u64) -> u128 {
    (rate * u128::from(time)).div_ceil(1_000_000_000)
}

fn small(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Bytes before each packet of IP that meters count of what comes from there: the header of Ethernet, and at a border the label of the tunnel.
pub const fn headers(from: Place) -> u64 {
    match from {
        Place::Edges => ETHERNET,
        Place::Border(_) => ETHERNET + LABEL,
    }
}

impl Meters {
    /// Those for a contract of what comes from there, at a switch that may keep packets for so many nanoseconds before it counts them.
    pub fn of(contract: &Contract, from: Place, processing: u64) -> Self {
        let headers = u128::from(headers(from));
        let least = u128::from(contract.least.max(1));
        let (rate, bucket) = (u128::from(contract.rate), u128::from(contract.bucket));
        let frames = (rate * (least + headers)).div_ceil(least);
        let packets = rate.div_ceil(8 * least).max(1);
        let at_once = bucket.div_ceil(least).max(1);
        // Packets that have waited come together, and the last tick may be counted only with the next packet.
        let late = processing.saturating_add(TICK);
        let bytes = (bucket + at_once * headers).max(u128::from(contract.largest) + headers);
        let bits = bytes * 8 + meanwhile(frames, late);
        Self {
            rate: small(frames.div_ceil(KILO.into()).max(1)),
            burst: small(bits.div_ceil(KILO.into()).max(1)),
            packets: small(packets),
            packets_at_once: small(at_once + meanwhile(packets, late)),
        }
    }

    /// What is on the wire of what they let through, before any delay.
    ///
    /// The smallest frame beside the packet itself is enough for every size: for what is around large ones with two labels, and for small ones
    /// that are filled up, which a sender that breaks its contract may send whatever its contract says.
    fn on_wire(&self, from: Place) -> Load {
        let around = u128::from(LEAST_FRAME - headers(from));
        let (rate, packets) = (u128::from(self.rate) * u128::from(KILO), u128::from(self.packets));
        // A tick may be counted before it is over.
        let bits = u128::from(self.burst) * u128::from(KILO) + meanwhile(rate, TICK);
        let at_once = u128::from(self.packets_at_once) + meanwhile(packets, TICK);
        Load { rate: small(rate + packets * 8 * around), burst: small(bits.div_ceil(8) + at_once * around) }
    }
}

/// Bytes that classes let through at once of what is reserved.
///
/// A class lets through what a flow may send and the difference between its largest and its smallest packet. At a border there is one for
/// the aggregate. At edges there is one for each flow, and all their differences together are less than all their bursts.
fn class_burst(demand: &Demand) -> u64 {
    if demand.least_packet == demand.largest_packet {
        return demand.burst;
    }
    let more = match demand.from {
        Place::Edges => demand.burst,
        Place::Border(_) => u64::from(demand.largest_packet.saturating_sub(demand.least_packet)),
    };
    demand.burst.saturating_add(more)
}

/// What meters let through that are changed as often as they may: a bucket more at first, and one for each change after that.
fn changed(load: Load) -> Load {
    let again = (u128::from(load.burst) * 8 * 1_000_000_000).div_ceil(BETWEEN_CHANGES.into());
    Load { rate: load.rate.saturating_add(small(again)), burst: load.burst.saturating_mul(2) }
}

impl Policing {
    /// Bytes that a tunnel puts before each packet.
    pub const fn tunnel(self) -> u64 {
        match self {
            Self::Classes => TUNNEL,
            Self::Meters => LABELS,
        }
    }

    /// What a demand is on the wire before any delay, at devices that may keep packets for so many nanoseconds.
    pub fn on_wire(self, demand: &Demand, processing: u64) -> Load {
        match self {
            Self::Classes => {
                let (least, added) = (u64::from(demand.least_packet.max(1)), TUNNEL + AROUND);
                let rate = u128::from(policed_rate(demand.rate)) * u128::from(least + added);
                let burst = class_burst(demand);
                let packets = burst.div_ceil(least);
                Load {
                    rate: small(rate.div_ceil(u128::from(least))),
                    burst: burst.saturating_add(packets.saturating_mul(added)),
                }
            }
            Self::Meters => {
                let load = Meters::of(&Contract::of(demand), demand.from, processing).on_wire(demand.from);
                match demand.from {
                    Place::Edges => load,
                    Place::Border(_) => changed(load),
                }
            }
        }
    }

    /// What flows are on the wire that have policers of their own, as far as that may be more than what their aggregate is: each is rounded up.
    pub fn flows_on_wire(self, contracts: impl Iterator<Item = Contract>, processing: u64) -> Load {
        match self {
            Self::Classes => Load::default(),
            Self::Meters => contracts.fold(Load::default(), |sum, contract| {
                let load = Meters::of(&contract, Place::Edges, processing).on_wire(Place::Edges);
                Load { rate: sum.rate.saturating_add(load.rate), burst: sum.burst.saturating_add(load.burst) }
            }),
        }
    }

    /// The largest rate at which a demand is never more than so many bits per second on the wire.
    pub fn offer(self, wire: u64, demand: &Demand, processing: u64) -> u64 {
        let fits = |rate: u64| self.on_wire(&Demand { rate, ..*demand }, processing).rate <= wire;
        let (mut fitting, mut too_much) = (0, wire.saturating_add(1));
        if !fits(fitting) {
            return 0;
        }
        while too_much - fitting > 1 {
            let between = fitting + (too_much - fitting) / 2;
            *if fits(between) { &mut fitting } else { &mut too_much } = between;
        }
        // Ports count whole bytes.
        fitting / 8 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_offered_fits() {
        for packet in [1, 28, 37, 64, 333, 1_028, 1_500] {
            for wire in [0, 999, 10_000, 300_000, 5_000_001, 99_999_999] {
                for policing in [Policing::Classes, Policing::Meters] {
                    for from in [Place::Edges, Place::Border(wan::LinkId(1))] {
                        let demand = Demand {
                            from,
                            to: Place::Edges,
                            class: wan::Class::Ef,
                            rate: 0,
                            burst: packet.into(),
                            least_packet: packet,
                            largest_packet: packet,
                        };
                        let rate = policing.offer(wire, &demand, 0);
                        let demand = Demand { rate, ..demand };
                        let load = policing.on_wire(&demand, 0);
                        let is_within = rate == 0 || load.rate <= wire;
                        let more = policing.on_wire(&Demand { rate: rate + 8, ..demand }, 0);
                        assert!(more.rate > wire, "{policing:?} {packet} {wire} {from:?}: {rate} is not all");
                        assert!(is_within, "{policing:?} {packet} {wire} {from:?}: {rate} {load:?}");
                    }
                }
            }
        }
    }

    /// A token bucket that counts as Open vSwitch does: in whole milliseconds, bits or thousandths of packets.
    struct Bucket {
        rate: u64,
        most: u64,
        level: u64,
        used: u64,
    }

    impl Bucket {
        fn new(rate: u64, most: u64) -> Self {
            Self { rate, most: most * 1_000, level: most * 1_000, used: 0 }
        }

        fn passes(&mut self, now: u64, size: u64) -> bool {
            let ticks = now / TICK - self.used / TICK;
            self.used = now;
            self.level = self.most.min(self.level + ticks * self.rate);
            let passes = self.level >= size;
            self.level -= if passes { size } else { 0 };
            passes
        }
    }

    #[test]
    fn meters_let_a_flow_pass_that_keeps_to_its_contract_and_no_more_than_is_counted() {
        let mut random = testkit::random::Random::new(52);
        let mut changes = 0;
        for _ in 0..200 {
            let largest = u32::try_from(random.range(28, 1_500)).unwrap_or(64);
            let least = if random.chance(50) { largest } else { (largest / 2).max(28) };
            let from = if random.chance(50) { Place::Edges } else { Place::Border(wan::LinkId(1)) };
            // The header of Ethernet, and the label that comes with a packet from a neighbour.
            let before = if from == Place::Edges { 14 } else { 18 };
            let (rate, processing) = (random.range(20_000, 5_000_000), random.below_u64(2_000_000));
            let bucket = random.range(largest.into(), 6_000);
            let contract = Contract { rate, bucket, least, largest };
            let meters = Meters::of(&contract, from, processing);
            for keeps in [true, false] {
                let mut bytes = Bucket::new(meters.rate, meters.burst);
                let mut packets = Bucket::new(meters.packets, meters.packets_at_once);
                // In billionths of a bit: what the flow may still send, and what it has put on the wire beyond the rate that is counted.
                let full = u128::from(bucket) * 8_000_000_000;
                let (mut tokens, mut beyond, mut now, mut counted_at) = (full, 0_u128, 0_u64, 0_u64);
                let load = meters.on_wire(from);
                let load = if from == Place::Edges { load } else { changed(load) };
                let mut may_change = 0;
                for _ in 0..400 {
                    // Who keeps to nothing sends smaller ones, too.
                    let size = match random.below(10) {
                        0..=5 => least,
                        6 | 7 if !keeps => 20,
                        _ => largest,
                    };
                    let cost = u128::from(size.max(least)) * 8_000_000_000;
                    if keeps && tokens < cost {
                        let wait = small((cost - tokens).div_ceil(rate.into()));
                        now += wait;
                        tokens += u128::from(wait) * u128::from(rate);
                    } else if random.chance(5) || !keeps {
                        let wait = random.below_u64(if keeps { 20_000_000 } else { 300_000 });
                        now += wait;
                        tokens = full.min(tokens + u128::from(wait) * u128::from(rate));
                    }
                    tokens = tokens.saturating_sub(cost);
                    // It is counted later, and what comes after it is not counted before.
                    counted_at = counted_at.max(now + random.below_u64(processing + 1));
                    let bits = (u64::from(size) + before) * 8;
                    // A meter that is changed begins with a full bucket: as often as it may be, when its bucket is empty.
                    if from != Place::Edges && counted_at >= may_change && bytes.level < bits * 1_000 {
                        may_change = counted_at + BETWEEN_CHANGES;
                        bytes = Bucket { used: counted_at, ..Bucket::new(meters.rate, meters.burst) };
                        packets = Bucket {
                            used: counted_at,
                            ..Bucket::new(meters.packets, meters.packets_at_once)
                        };
                        changes += 1;
                    }
                    let passes = bytes.passes(counted_at, bits) && packets.passes(counted_at, 1_000);
                    assert!(passes || !keeps, "{contract:?} by {meters:?}: a packet of {size} at {now} ns");
                    if passes {
                        // Ports fill small frames up to 84 bytes.
                        let wire = (u64::from(size) + 38 + 8).max(84);
                        beyond += u128::from(wire) * 8_000_000_000;
                        let room = u128::from(load.burst) * 8_000_000_000
                            + u128::from(counted_at) * u128::from(load.rate);
                        assert!(beyond <= room, "{contract:?} by {meters:?}: {beyond} of {room}");
                    }
                }
            }
        }
        assert!(changes > 100, "{changes} changes of meters");
    }
}

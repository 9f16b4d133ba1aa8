//! All that goes from one host to another without a contract of its own: how much of it there may be.
//!
//! The parts of an aggregate know nothing of each other, so that together they are a token bucket ([`latency::bundle::unrelated`]). A gate holds
//! it to that by a bucket, which rounds the time that each frame takes up to a nanosecond: rate and burst have room for that.
use alloc::vec::Vec;

use latency::bundle::{Apart, Bundle};
use latency::framing::{ETHERNET_HEADER, Framing, Ip, UDP_HEADER, frame_bits};
use latency::network::{Flow, Policing, Port};
use latency::policing::Counts;
use latency::units::NANOSECOND;
use serde::{Deserialize, Serialize};
use wire::admission::Contract;

/// Bytes around the data in a datagram of RTPS at most: header, INFO_DST, INFO_TS, DATA or DATA_FRAG, inline QoS with key hash and status, padding,
/// and a HEARTBEAT (RTPS 2.5, 9.4.5).
pub const AROUND: u32 = 20 + 16 + 12 + 36 + 32 + 4 + 32;
/// Bytes of a datagram that acknowledges, or asks for an acknowledgement: header, INFO_DST, INFO_TS, and ACKNACK with 256 bits, NACK_FRAG, or HEARTBEAT.
pub const CONTROL: u32 = 20 + 16 + 12 + 28 + 32;
/// The most bytes of UDP payload in a datagram.
const LARGEST_DATAGRAM: u32 = 65_507;
/// Bytes of the header of a fragment of IPv6 (RFC 8200, 4.5): as many as that of UDP has.
const FRAGMENT_HEADER: u32 = 8;
/// Least bytes of a datagram in a fragment of IPv6 that is not the last one: the MTU of a path is 1,280 bytes or more (RFC 8200, 5). A host takes it from ICMPv6
/// messages, which any host can forge, so that no larger one is certain.
const LEAST_FRAGMENT: u32 = 1_280 - 40 - FRAGMENT_HEADER;
/// Most bytes of padding in the last fragment of a datagram of IPv4 that nothing else counts. Its header (20) and a single byte are padded to 46 bytes; 8 of the
/// padding are counted as the UDP header that each frame has here, and that a later fragment has not.
const PADDING: u32 = 46 - 20 - 1 - 8;
/// By this part the rate of a bucket is larger than that of what it has to let through.
const SPARE: u64 = 64;
/// Nanoseconds for each frame of a burst, for what the gate rounds up; and some for what else is not exact.
const ROUNDING: u64 = 2;
const AT_LEAST: u64 = 1_000;

/// What an aggregate offers, without tags, in bits; the fields are those of [`Bundle`] and [`Apart`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Aggregate {
    /// Frames of one message of each part.
    pub frames: u64,
    /// Bits that they occupy a link.
    pub bits: u64,
    /// Bits of the largest frame.
    pub largest: u64,
    /// Bits of the smallest one.
    pub smallest: u64,
    /// Bits that come at once besides, because messages are late.
    pub late: u64,
    /// The same for a byte in each frame.
    pub late_each: u64,
    /// Bits per second.
    pub rate: u64,
    /// The same for a byte in each frame.
    pub rate_each: u64,
}

/// Bytes of UDP payload in a frame of 1,500 bytes.
const fn full(ip: Ip) -> u32 {
    match ip {
        Ip::V4 => 1_472,
        Ip::V6 => 1_452,
    }
}

/// A part of an aggregate: datagrams that come again and again. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    ip: Ip,
    /// Most frames of a message, and the bytes in each of them behind the headers of Ethernet, IP and UDP, all frames taken to be of one size.
    frames: u32,
    bytes: u32,
    /// Most of these bytes in a single frame.
    largest: u32,
    separation: u64,
    /// How much later than it should a message comes.
    jitter: u64,
    emission: u64,
}

impl Part {
    /// Samples of a writer, `burst` of them at once; `None` if a fragment is larger than a datagram, or numbers are out of range.
    ///
    /// A sample that is larger than a fragment goes in several, which have that size or a larger one, each in a datagram of its own or several in one.
    pub(crate) fn samples(
        ip: Ip,
        (largest, fragment): (u32, u32),
        often: (u64, u32),
        late: (u64, u64),
    ) -> Option<Self> {
        let fragments = largest.div_ceil(fragment.max(1)).max(1);
        let datagram = if fragments == 1 { largest } else { fragment }.checked_add(AROUND)?;
        if datagram > LARGEST_DATAGRAM {
            return None;
        }
        Self::cut(ip, (largest.checked_add(fragments.checked_mul(AROUND)?)?, fragments), often, late)
    }

    /// Datagrams of so many bytes of UDP payload, `burst` of them at once.
    pub(crate) fn of(ip: Ip, bytes: u32, often: (u64, u32), late: (u64, u64)) -> Option<Self> {
        Self::cut(ip, (bytes, 1), often, late)
    }

    /// Full frames, `burst` of them at once.
    pub(crate) fn full(ip: Ip, often: (u64, u32), late: (u64, u64)) -> Option<Self> {
        Self::carried(ip, (1, full(ip)), full(ip), often, late)
    }

    /// So many bytes of UDP payload in at most so many datagrams, of which IP cuts those that are larger than a frame. The bytes may be spread over the datagrams
    /// in any way.
    ///
    /// A datagram of `n` bytes has `ceil(n / piece)` frames. So all datagrams together have at most one frame each, and one more for each `piece` of all
    /// bytes without the last byte of each datagram.
    ///
    /// A fragment of IPv4 has up to 1,480 bytes, and the header of UDP is among those of the first one. To count 1,472 bytes and a header of UDP for each frame
    /// is no less, but for the padding of the last fragment. Over IPv6 the header of the fragment is counted in each frame in place of that of UDP, and the
    /// header of UDP as data.
    fn cut(ip: Ip, (bytes, datagrams): (u32, u32), often: (u64, u32), late: (u64, u64)) -> Option<Self> {
        let (piece, header, padding) = match ip {
            Ip::V4 => (full(ip), 0, PADDING),
            Ip::V6 => (LEAST_FRAGMENT, FRAGMENT_HEADER, 0),
        };
        let bytes = bytes.checked_add(datagrams.checked_mul(header)?)?.max(datagrams);
        let further = bytes.checked_sub(datagrams)? / piece;
        let frames = datagrams.checked_add(further)?;
        let all = bytes.checked_add(further.checked_mul(padding)?)?;
        Self::carried(ip, (frames, all.div_ceil(frames)), bytes.min(full(ip)), often, late)
    }

    fn carried(
        ip: Ip,
        (frames, bytes): (u32, u32),
        largest: u32,
        (separation, burst): (u64, u32),
        (jitter, emission): (u64, u64),
    ) -> Option<Self> {
        // Messages that come together are as late as if each had come a separation after the one before.
        let late = separation.checked_mul(u64::from(burst.checked_sub(1)?))?;
        let jitter = jitter.checked_add(late)?;
        Some(Self { ip, frames, bytes, largest, separation, jitter, emission })
    }

    /// Bits that the largest frame occupies a link.
    fn largest_frame(&self) -> u64 {
        frame_bits(ETHERNET_HEADER + self.ip.header() + UDP_HEADER + u64::from(self.largest))
    }

    fn flow(&self) -> Option<Flow> {
        let time = |nanoseconds: u64| nanoseconds.checked_mul(NANOSECOND);
        Some(Flow {
            largest_message: self.frames.checked_mul(self.bytes)?,
            smallest_message: 0,
            framing: Framing::Udp { datagram: self.bytes, ip: self.ip },
            tag: 0,
            separation: time(self.separation).filter(|separation| *separation > 0)?,
            maximum_separation: None,
            jitter: time(self.jitter)?,
            emission: time(self.emission)?,
            policing: Policing::Trusted,
            slack: 0,
            tree: Vec::new(),
            subscribers: Vec::new(),
            importance: 0,
            bundle: None,
        })
    }
}

impl Aggregate {
    /// What parts of one version of IP are together, with a contract in which the flow has what it is for each of them; `None` if there is none, or
    /// numbers are out of range. The importance is left to others.
    pub(crate) fn of(parts: &[Part], port: &Port) -> Option<(Self, Contract)> {
        let flows = parts.iter().map(Part::flow).collect::<Option<Vec<_>>>()?;
        let flow = latency::bundle::unrelated(&flows, port)?;
        let Bundle { count, bits, smallest, apart, .. } = flow.bundle?;
        let (apart, ip) = (apart?, flow.framing.ip());
        let largest = parts.iter().map(Part::largest_frame).max()?;
        let spare = |rate: u64| rate.checked_add(rate / SPARE)?.checked_add(1);
        let aggregate = Self {
            frames: count,
            bits,
            largest,
            smallest,
            late: apart.late,
            late_each: apart.late_each,
            rate: spare(apart.rate)?,
            rate_each: spare(apart.rate_each)?,
        };
        let frames = count.checked_add(apart.late_each.div_ceil(8))?;
        let contract = Contract {
            largest_message: flow.largest_message,
            smallest_message: 0,
            datagram: full(ip),
            minimum_separation: parts.iter().map(|part| part.separation).min()?,
            maximum_separation: 0,
            jitter: flow.jitter.div_ceil(NANOSECOND),
            emission: flow.emission.div_ceil(NANOSECOND),
            slack: frames.checked_mul(ROUNDING)?.checked_add(AT_LEAST)?,
            importance: 0,
        };
        Some((aggregate, contract))
    }

    /// The flow of a contract as that of the aggregate, behind a gate with a bucket.
    pub(crate) fn applied(&self, flow: Flow) -> Flow {
        let ip = flow.framing.ip();
        Flow {
            framing: Framing::Udp { datagram: full(ip), ip },
            policing: Policing::Meter { rate_step: 1, burst_step: 8, counts: Counts::Wire },
            maximum_separation: None,
            bundle: Some(Bundle {
                count: self.frames,
                bits: self.bits,
                largest: self.largest,
                smallest: self.smallest,
                apart: Some(Apart {
                    late: self.late,
                    late_each: self.late_each,
                    rate: self.rate,
                    rate_each: self.rate_each,
                }),
            }),
            ..flow
        }
    }
}

/// The bucket of a gate that lets through no more than this burst, in bits, and rate, in bits per second: its bytes, and the time in nanoseconds that
/// fills it. `None` if it is out of range.
pub(crate) fn bucket(burst: u64, rate: u64) -> Option<(u32, u64)> {
    let bytes = burst / 8;
    let time = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate.max(1)));
    Some((u32::try_from(bytes).ok()?, u64::try_from(time).ok()?.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frames::wire::in_fragments;
    use gate::{Gate, Kind};
    use latency::network::{Buffer, Imperfections};
    use latency::policing::Enforcement;

    const MS: u64 = 1_000_000;

    fn port() -> Port {
        Port {
            rate: 1_000_000_000,
            propagation: 0,
            least_multiplexing: 0,
            most_multiplexing: 0,
            keeps_order: true,
            queues: 1,
            best_effort: 0,
            control: None,
            tag: 0,
            largest_frame: 1_538,
            buffer: Buffer::Shared(1 << 40),
            imperfections: Imperfections::default(),
        }
    }

    fn frames(ip: Ip, mtu: u32, payload: u32) -> Vec<u32> {
        let frames = in_fragments(payload.into(), mtu.into(), ip == Ip::V6);
        frames.into_iter().map(|bytes| bytes as u32).collect()
    }

    /// MTUs of paths that a host of this version may believe in.
    fn mtus(ip: Ip) -> &'static [u32] {
        if ip == Ip::V4 { &[1_500] } else { &[1_280, 1_281, 1_287, 1_400, 1_492, 1_500] }
    }

    /// However a vendor packs a sample, it has no more frames and bits than its part, and no larger frame.
    #[test]
    fn no_packing_of_a_sample_is_more_than_its_part() {
        let sizes = [1, 100, 1_000, 1_072, 1_080, 1_300, 1_320, 1_321, 1_472, 4_000, 14_720, 48_000, 65_000];
        let fragments = [64, 1_024, 1_080, 1_081, 1_320, 1_321, 1_400, 2_792, 2_793, 8_000, 65_000];
        for (ip, largest) in [Ip::V4, Ip::V6].into_iter().flat_map(|ip| sizes.map(|size| (ip, size))) {
            for (least, fragment) in fragments.iter().flat_map(|least| fragments.map(|size| (*least, size))) {
                if fragment < least {
                    continue;
                }
                let part = Part::samples(ip, (largest, least), (MS, 1), (0, 0)).unwrap();
                let (aggregate, _) = Aggregate::of(&[part], &port()).unwrap();
                let pieces = largest.div_ceil(fragment);
                // Several pieces in a datagram, as many as there is room for, with all that may be around each.
                for (together, mtu) in [1, 2, 3, 7, pieces]
                    .into_iter()
                    .flat_map(|count| mtus(ip).iter().map(move |mtu| (count, *mtu)))
                {
                    let most = LARGEST_DATAGRAM / (fragment.min(largest) + AROUND);
                    let together = together.clamp(1, most.max(1));
                    let (mut sent, mut all) = (0, Vec::new());
                    while sent < largest {
                        let data = (largest - sent).min(fragment.saturating_mul(together));
                        all.extend(frames(ip, mtu, data + AROUND * data.div_ceil(fragment)));
                        sent += data;
                    }
                    let bits: u64 = all.iter().map(|bytes| u64::from(*bytes) * 8).sum();
                    let told = (ip, mtu, largest, (least, fragment), together, &aggregate, all.len(), bits);
                    assert!(all.len() as u64 <= aggregate.frames && bits <= aggregate.bits, "{told:?}");
                    assert!(u64::from(*all.iter().max().unwrap()) * 8 <= aggregate.largest, "{told:?}");
                    assert!(u64::from(*all.iter().min().unwrap()) * 8 >= aggregate.smallest, "{told:?}");
                }
            }
            assert!(
                Part::samples(ip, (70_000, 65_400), (MS, 1), (0, 0)).is_none(),
                "no datagram is so large"
            );
            assert!(Part::samples(ip, (u32::MAX, 64), (MS, 1), (0, 0)).is_none());
            assert!(Part::of(ip, 100, (MS, 0), (0, 0)).is_none());
            let (full, _) = Aggregate::of(&[Part::full(ip, (MS, 1), (0, 0)).unwrap()], &port()).unwrap();
            assert_eq!((full.frames, full.bits, full.largest), (1, 1_538 * 8, 1_538 * 8));
        }
    }

    /// A datagram of IPv6 by hand: 1,500 bytes of UDP are 1,508 with its header, of which 1,232 go in a first fragment for an MTU of 1,280 bytes.
    #[test]
    fn headers_of_fragments_of_ipv6_are_counted_in_each_frame() {
        let of = |bytes| {
            let part = Part::of(Ip::V6, bytes, (MS, 1), (0, 0)).unwrap();
            let (aggregate, contract) = Aggregate::of(&[part], &port()).unwrap();
            assert_eq!(contract.datagram, 1_452);
            (aggregate.frames, aggregate.bits / 8, aggregate.largest / 8)
        };
        // Ethernet 14, IPv6 40, fragments 8, and 24 around the frame.
        assert_eq!(of(1_500), (2, 1_508 + 2 * (14 + 40 + 8 + 24), 1_538));
        assert_eq!(of(1_224), (1, 1_232 + 86, 1_232 + 86));
        assert_eq!(of(1_225), (2, 1_234 + 2 * 86, 1_233 + 86));
        assert_eq!(of(0), (1, 8 + 86, 8 + 86));
    }

    /// What comes as described never exceeds the bucket that a gate is given for it, at any rate.
    #[test]
    fn what_is_described_finds_room_in_the_bucket() {
        let described = [(MS, 1, 80), (10 * MS, 3, 4_000), (MS / 50, 1, 1_400)];
        let of = |ip| described.map(|described| mtus(ip).iter().map(move |mtu| (ip, *mtu, described)));
        for (ip, mtu, (separation, burst, bytes)) in [Ip::V4, Ip::V6].into_iter().flat_map(of).flatten() {
            let frames = |payload| frames(ip, mtu, payload);
            let parts = [
                Part::of(ip, bytes, (separation, burst), (0, 0)).unwrap(),
                Part::of(ip, CONTROL, (separation, 1), (MS / 10, 0)).unwrap(),
            ];
            let (aggregate, contract) = Aggregate::of(&parts, &port()).unwrap();
            let flow = Flow {
                separation: contract.minimum_separation * NANOSECOND,
                jitter: contract.jitter * NANOSECOND,
                slack: contract.slack * NANOSECOND,
                tree: alloc::vec![latency::network::Hop { port: 0, parent: None }],
                subscribers: alloc::vec![latency::network::Subscriber {
                    hop: 0,
                    limit: u64::MAX,
                    maximum_separation: None
                }],
                ..parts[0].flow().unwrap()
            };
            let flow = aggregate.applied(flow);
            let alone = latency::units::time_of(aggregate.bits, port().rate).unwrap();
            let Ok(Enforcement::Meter(meter)) = flow.enforcement(&[port()], alone) else {
                panic!("{:?}", flow.check(&[port()]))
            };
            let (capacity, time) = bucket(meter.burst, meter.rate).unwrap();
            let contract = gate::Contract {
                kind: Kind::Bucket,
                octets: capacity,
                separation: time,
                tolerance: 0,
                window: 0,
                dscp: 10,
            };
            let mut gate = Gate::new(contract);
            // Each message as early as may be behind the first ones, which come late and so together.
            for step in 0..3_000_u64 {
                let now = 1_000_000_000 + step * separation;
                let messages = if step == 0 { u64::from(burst) } else { 1 };
                for _ in 0..messages {
                    for frame in frames(bytes) {
                        assert!(gate.judge(now, frame).passes(), "{separation} {step}: {contract:?}");
                    }
                }
                // The other part's, of which those of a tenth of a millisecond come together at first.
                let late = if step == 0 { 1 + MS / 10 / separation } else { 1 };
                for _ in 0..late {
                    assert!(
                        gate.judge(now, frames(CONTROL)[0]).passes(),
                        "{separation} {step}: {contract:?}"
                    );
                }
            }
            // And no more than the analysis counts with.
            for time in [0, 1, 1_000, MS, 1_000 * MS] {
                let analysed =
                    meter.burst + (u128::from(meter.rate) * u128::from(time)).div_ceil(1_000_000_000) as u64;
                assert!(contract.most_in(time) * 8 <= analysed, "{contract:?}");
            }
        }
    }
}

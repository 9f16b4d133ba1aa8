//! All that goes from one host to another without a contract of its own: how much of it there may be.
//!
//! The parts of an aggregate know nothing of each other, so that together they are a token bucket ([`latency::bundle::unrelated`]). A gate holds
//! it to that by a bucket, which rounds the time that each frame takes up to a nanosecond: rate and burst have room for that.
use alloc::vec::Vec;

use latency::bundle::{Apart, Bundle};
use latency::framing::{Framing, Ip};
use latency::network::{Flow, Policing, Port};
use latency::policing::Counts;
use latency::units::NANOSECOND;
use serde::{Deserialize, Serialize};
use wire::admission::Contract;

/// Bytes of UDP payload in a frame of 1,500 bytes.
const FULL: u32 = 1_472;
/// Bytes around the data in a datagram of RTPS at most: header, INFO_DST, INFO_TS, DATA or DATA_FRAG, inline QoS with key hash and status, padding,
/// and a HEARTBEAT (RTPS 2.5, 9.4.5).
pub(crate) const AROUND: u32 = 20 + 16 + 12 + 36 + 32 + 4 + 32;
/// Bytes of a datagram that acknowledges, or asks for an acknowledgement: header, INFO_DST, INFO_TS, and ACKNACK with 256 bits, NACK_FRAG, or HEARTBEAT.
pub(crate) const CONTROL: u32 = 20 + 16 + 12 + 28 + 32;
/// The most bytes of UDP payload in a datagram.
const LARGEST_DATAGRAM: u32 = 65_507;
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

/// A part of an aggregate: datagrams that come again and again. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Bytes of UDP payload of one message.
    bytes: u32,
    separation: u64,
    /// How much later than it should a message comes.
    jitter: u64,
    emission: u64,
}

impl Part {
    /// Samples of a writer, `burst` of them at once; `None` if a fragment is larger than a datagram, or numbers are out of range.
    ///
    /// What is larger than a fragment goes in several, each in a datagram of its own or several in one: that is less. A datagram that is larger
    /// than a frame goes in fragments of IPv4, which have no more frames than full ones of UDP would be, and no more bytes.
    pub(crate) fn samples(
        (largest, fragment): (u32, u32),
        (separation, burst): (u64, u32),
        (jitter, emission): (u64, u64),
    ) -> Option<Self> {
        let fragments = largest.div_ceil(fragment.max(1)).max(1);
        let datagram = if fragments == 1 { largest } else { fragment }.checked_add(AROUND)?;
        if datagram > LARGEST_DATAGRAM {
            return None;
        }
        let bytes = match fragments {
            1 => datagram,
            _ => datagram.div_ceil(FULL).checked_mul(FULL)?.checked_mul(fragments)?,
        };
        Self::of(bytes, (separation, burst), (jitter, emission))
    }

    /// Datagrams of so many bytes, `burst` of them at once.
    pub(crate) fn of(
        bytes: u32,
        (separation, burst): (u64, u32),
        (jitter, emission): (u64, u64),
    ) -> Option<Self> {
        // Messages that come together are as late as if each had come a separation after the one before.
        let late = separation.checked_mul(u64::from(burst.checked_sub(1)?))?;
        Some(Self { bytes, separation, jitter: jitter.checked_add(late)?, emission })
    }

    fn flow(&self) -> Option<Flow> {
        let time = |nanoseconds: u64| nanoseconds.checked_mul(NANOSECOND);
        Some(Flow {
            largest_message: self.bytes,
            smallest_message: 0,
            framing: Framing::Udp { datagram: FULL, ip: Ip::V4 },
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
    /// What parts are together, with a contract in which the flow has what it is for each of them; `None` if there is none, or numbers are out of
    /// range. The importance is left to others.
    pub(crate) fn of(parts: &[Part], port: &Port) -> Option<(Self, Contract)> {
        let flows = parts.iter().map(Part::flow).collect::<Option<Vec<_>>>()?;
        let flow = latency::bundle::unrelated(&flows, port)?;
        let Bundle { count, bits, largest, smallest, apart } = flow.bundle?;
        let apart = apart?;
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
            datagram: FULL,
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
        Flow {
            framing: Framing::Udp { datagram: FULL, ip: Ip::V4 },
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
    use gate::contract::wire_octets;
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

    /// The frames on the wire of a datagram with so many bytes of UDP payload, as IPv4 cuts it.
    fn frames(payload: u32) -> Vec<u32> {
        let mut left = payload + 8;
        let mut frames = Vec::new();
        while left > 0 {
            let piece = left.min(1_480);
            frames.push(wire_octets(14 + 20 + piece));
            left -= piece;
        }
        frames
    }

    /// However a vendor packs a sample, it has no more frames and bits than its part, and no larger frame.
    #[test]
    fn no_packing_of_a_sample_is_more_than_its_part() {
        for largest in [1, 100, 1_000, 1_320, 1_321, 1_472, 4_000, 14_720, 48_000, 65_000] {
            for fragment in [64, 1_024, 1_344, 1_400, 8_000, 65_000] {
                let part = Part::samples((largest, fragment), (MS, 1), (0, 0)).unwrap();
                let (aggregate, _) = Aggregate::of(&[part], &port()).unwrap();
                let pieces = largest.div_ceil(fragment);
                // Several pieces in a datagram, as many as there is room for, with all that may be around each.
                for together in [1, 2, 3, 7, pieces] {
                    let most = LARGEST_DATAGRAM / (fragment.min(largest) + AROUND);
                    let together = together.clamp(1, most.max(1));
                    let (mut sent, mut all) = (0, Vec::new());
                    while sent < largest {
                        let data = (largest - sent).min(fragment.saturating_mul(together));
                        all.extend(frames(data + AROUND * data.div_ceil(fragment)));
                        sent += data;
                    }
                    let bits: u64 = all.iter().map(|bytes| u64::from(*bytes) * 8).sum();
                    let told = (largest, fragment, together, &aggregate, all.len(), bits);
                    assert!(all.len() as u64 <= aggregate.frames && bits <= aggregate.bits, "{told:?}");
                    assert!(u64::from(*all.iter().max().unwrap()) * 8 <= aggregate.largest, "{told:?}");
                    assert!(u64::from(*all.iter().min().unwrap()) * 8 >= aggregate.smallest, "{told:?}");
                }
            }
        }
        assert!(Part::samples((70_000, 65_400), (MS, 1), (0, 0)).is_none(), "no datagram is so large");
        assert!(Part::samples((u32::MAX, 64), (MS, 1), (0, 0)).is_none());
        assert!(Part::of(100, (MS, 0), (0, 0)).is_none());
    }

    /// What comes as described never exceeds the bucket that a gate is given for it, at any rate.
    #[test]
    fn what_is_described_finds_room_in_the_bucket() {
        for (separation, burst, bytes) in [(MS, 1, 80), (10 * MS, 3, 4_000), (MS / 50, 1, 1_400)] {
            let parts = [
                Part::of(bytes, (separation, burst), (0, 0)).unwrap(),
                Part::of(CONTROL, (separation, 1), (MS / 10, 0)).unwrap(),
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

//! What a flow offers to its hops, derived a second time: which frames its samples become, what its gate or meter lets through, and
//! how far they spread. Written from RTPS 2.5 (9.4.5), IEEE 802.3 and 802.1Q and docs/plan.md; it calls nothing of the code that admits.
//!
//! The largest and smallest frames are not computed in closed form: samples at all sizes where frames change are looked at.
use alloc::vec::Vec;

use crate::framing::{Framing, Ip};
use crate::network::{Flow, Port};
use crate::policing::{Counts, Enforcement};
use crate::port::{Arrival, Contender};

/// Picoseconds in a second, and in a millisecond.
const SECOND: i128 = 1_000_000_000_000;
const MILLISECOND: i128 = 1_000_000_000;
const MILLION: i128 = 1_000_000;
/// Bits of the smallest frame on the wire: 64 bytes, preamble and gap.
const LEAST: i128 = 84 * 8;
/// Bytes around header and payload of a frame: preamble, check sequence, gap.
const AROUND: i128 = 24;
/// Bytes of the headers of Ethernet, IPv4 and UDP: the least that a meter counts of a frame.
const HEADERS: i128 = 42;

/// What messages of a flow are on a link, in bits.
#[derive(Clone, Copy)]
struct Weight {
    /// Of the heaviest message, and its frames.
    most: i128,
    count: i128,
    /// Of the largest frame, of the smallest, and of the smallest that comes first.
    largest: i128,
    smallest: i128,
    first: i128,
}

/// The datagrams of a sample: so many of one length, and a last one.
struct Datagrams {
    full: i128,
    of: i128,
    last: i128,
}

/// With everything that may be in datagrams, or with what must be.
fn datagrams(framing: Framing, bytes: i128, everything: bool) -> Option<Datagrams> {
    let (size, whole, piece) = match framing {
        Framing::Udp { datagram, .. } => (i128::from(datagram), -1, i128::from(datagram)),
        Framing::Rtps { datagram, .. } => {
            let size = i128::from(datagram);
            // Header, INFO_DST, INFO_TS, then DATA with padding or DATA_FRAG, and HEARTBEAT.
            (size, size - (20 + 16 + 12) - 24 - 3 - 32, (size - (20 + 16 + 12) - 36 - 32).div_euclid(4) * 4)
        }
    };
    if piece <= 0 || size > 65_507 {
        return None;
    }
    if bytes <= whole {
        let beside = if everything { 16 + 12 + 3 + 32 } else { 4 };
        return Some(Datagrams { full: 0, of: 0, last: 20 + beside + 24 + bytes });
    }
    let full = (bytes - 1).max(0).div_euclid(piece);
    let rest = bytes - full * piece;
    Some(match framing {
        Framing::Udp { .. } => Datagrams { full, of: piece, last: rest },
        Framing::Rtps { .. } => {
            let before = if everything { 20 + 12 + 36 } else { 20 + 4 + 36 };
            let heartbeat = if everything { 32 } else { 0 };
            let padded = (rest + 3).div_euclid(4) * 4;
            Datagrams { full, of: before + piece, last: before + padded + heartbeat }
        }
    })
}

/// By how much the fixed header of IPv6 (RFC 8200, 3) is longer than that of IPv4 (RFC 791, 3.1).
const LONGER: i128 = 40 - 20;

fn frame(framing: Framing, datagram: i128, tag: i128, grown: i128) -> i128 {
    let longer = match framing {
        Framing::Udp { ip: Ip::V4, .. } | Framing::Rtps { ip: Ip::V4, .. } => 0,
        Framing::Udp { ip: Ip::V6, .. } | Framing::Rtps { ip: Ip::V6, .. } => LONGER,
    };
    ((HEADERS + longer + tag + datagram + AROUND) * 8).max(LEAST + grown)
}

/// Sizes from the smallest to the largest sample at which frames change.
fn sizes(flow: &Flow) -> Vec<i128> {
    let (least, most) = (i128::from(flow.smallest_message), i128::from(flow.largest_message));
    let (piece, whole) = match flow.framing {
        Framing::Udp { datagram, .. } => (i128::from(datagram), 0),
        Framing::Rtps { datagram, .. } => {
            ((i128::from(datagram) - 116).div_euclid(4) * 4, i128::from(datagram) - 107)
        }
    };
    let piece = piece.max(1);
    let mut sizes = alloc::vec![least, most];
    for around in [whole, piece, most / piece * piece, (least / piece + 1) * piece] {
        sizes.extend((-4..=4).map(|by| around + by));
    }
    sizes.retain(|size| (least..=most).contains(size));
    sizes
}

/// Bytes of the tags of its frames on the link of a port: those of the link, and of the VLAN of a flow that is in one.
pub(super) fn tags(flow: &Flow, port: &Port) -> i128 {
    i128::from(port.tag) + i128::from(flow.tag)
}

/// What messages may weigh on a link with such a tag, where padding may make the smallest frame so much larger.
fn weight(flow: &Flow, tag: i128, grown: i128) -> Option<Weight> {
    if let Some(bundle) = &flow.bundle {
        let (count, added) = (i128::from(bundle.count), tag * 8);
        let smallest = i128::from(bundle.smallest);
        let padded = if smallest < LEAST + grown { grown } else { 0 };
        let most = i128::from(bundle.bits) + count * (added + padded);
        let largest = (i128::from(bundle.largest) + added).max(LEAST + grown);
        return Some(Weight { most, count, largest, smallest, first: smallest });
    }
    let mut weight = Weight { most: 0, count: 0, largest: 0, smallest: i128::MAX, first: i128::MAX };
    for size in sizes(flow) {
        for everything in [true, false] {
            let Datagrams { full, of, last } = datagrams(flow.framing, size, everything)?;
            let whole = frame(flow.framing, of, tag, grown);
            let longest = if full > 0 { whole } else { 0 };
            weight.most = weight.most.max(full * whole + frame(flow.framing, last, tag, grown));
            weight.count = weight.count.max(full + 1);
            weight.largest = weight.largest.max(longest).max(frame(flow.framing, last, tag, grown));
            // It need not be padded so far.
            let (whole, last) = (frame(flow.framing, of, tag, 0), frame(flow.framing, last, tag, 0));
            weight.smallest = weight.smallest.min(if full > 0 { whole.min(last) } else { last });
            weight.first = weight.first.min(if full > 0 { whole } else { last });
        }
    }
    // Several small samples fill a datagram if the largest one does not fit into one.
    if let Framing::Rtps { datagram, .. } = flow.framing {
        let two = 20 + 2 * (12 + 24 + i128::from(flow.smallest_message)) + 32;
        let room = i128::from(datagram) / 4 * 4;
        let frame = frame(flow.framing, room, tag, grown);
        if two <= room && frame <= weight.most {
            weight.largest = weight.largest.max(frame);
        }
    }
    Some(weight)
}

/// How much later than the first frame of a message another one may be handed over: not at all where there is no other one.
pub(super) fn emitting(flow: &Flow) -> Option<u64> {
    let several = flow.bundle.is_some() || weight(flow, 0, 0)?.count > 1;
    Some(if several { flow.emission } else { 0 })
}

/// Bits of the smallest and of the largest frame on a link, not padded behind the first.
pub(super) fn frames(flow: &Flow, port: &Port) -> Option<[i128; 2]> {
    let weight = weight(flow, tags(flow, port), 0)?;
    Some([weight.smallest, weight.largest])
}

/// What the publisher sends as a bundle of flows that are not in step, where their frames have so many bytes more than header and payload:
/// bits of a message of each, bits besides because messages are late, and bits per second, by a clock that is slow.
fn flood(flow: &Flow, bytes: i128, drift: i128) -> Option<[i128; 3]> {
    let bundle = flow.bundle.as_ref()?;
    let apart = bundle.apart?;
    let once = i128::from(bundle.bits) + i128::from(bundle.count) * 8 * (bytes - AROUND);
    let [late, rate] = [(apart.late, apart.late_each), (apart.rate, apart.rate_each)]
        .map(|(bare, each)| by_another_clock(i128::from(bare) + i128::from(each) * bytes, drift)[1]);
    Some([once, late, rate])
}

/// Picoseconds of bits at a rate, rounded down and up.
fn time(bits: i128, rate: u64) -> [i128; 2] {
    let (work, rate) = (bits * SECOND, i128::from(rate.max(1)));
    [work.div_euclid(rate), (work + rate - 1).div_euclid(rate)]
}

/// A time by one clock that is least, and most, by another one.
fn by_another_clock(time: i128, drift: i128) -> [i128; 2] {
    let least = MILLION - drift;
    [(time * least).div_euclid(MILLION), up(time * MILLION, least.max(1))]
}

/// By how much clocks run apart at the host's port.
fn drift_of(flow: &Flow, ports: &[Port]) -> Option<i128> {
    let drift = ports.get(flow.tree.first()?.port)?.imperfections.drift.into();
    (drift < MILLION).then_some(drift)
}

fn up(value: i128, by: i128) -> i128 {
    (value + by - 1).div_euclid(by)
}

/// Whether the contender claims no less than the flow may offer, hop by hop; the first hop where it does not.
pub(super) fn check(
    flow: &Flow,
    ports: &[Port],
    shares: &[u64],
    enforcement: &Enforcement,
    claimed: &[Contender],
) -> Result<(), usize> {
    let mut hops: Vec<Hop> = Vec::with_capacity(flow.tree.len());
    for (index, place) in flow.tree.iter().enumerate() {
        let hop = hop_of(flow, ports, shares, enforcement, &hops, index).ok_or(index)?;
        let port = ports.get(place.port).ok_or(index)?;
        let said = claimed.get(index).ok_or(index)?;
        let before = hop.parent.and_then(|parent| flow.tree.get(parent)).map(|hop| hop.port);
        if !hop.covered(said) || !caps(flow, said, port, before, ports) {
            return Err(index);
        }
        hops.push(hop);
    }
    let first = hops.first().ok_or(0_usize)?;
    let share = i128::from(*shares.first().ok_or(0_usize)?);
    let port = flow.tree.first().and_then(|hop| ports.get(hop.port)).ok_or(0_usize)?;
    if passes(flow, port, share, first.weight, enforcement) { Ok(()) } else { Err(0) }
}

/// The cap of a link holds where frames have no longer tags behind it; the smallest may be padded there.
fn caps(flow: &Flow, said: &Contender, port: &Port, before: Option<usize>, ports: &[Port]) -> bool {
    let Some(ingress) = said.ingress else { return true };
    let Some((index, before)) = before.and_then(|index| Some((index, ports.get(index)?))) else {
        return false;
    };
    let varies = port.most_multiplexing.saturating_sub(port.least_multiplexing);
    usize::try_from(ingress.link) == Ok(index)
        && port.tag <= before.tag
        && i128::from(ingress.rate) * LEAST >= i128::from(before.rate) * (LEAST + tags(flow, port) * 8)
        && ingress.variation >= varies
}

/// What a flow may offer to a hop, in bits and picoseconds.
struct Hop {
    parent: Option<usize>,
    weight: Weight,
    /// How far the frames of a message may be apart.
    spread: i128,
    largest: i128,
    smallest: i128,
    /// Bits, separation and jitter of messages; or burst and rate.
    messages: Option<[i128; 3]>,
    bucket: Option<[i128; 2]>,
}

impl Hop {
    fn covered(&self, said: &Contender) -> bool {
        let frames = i128::from(said.largest_frame) >= self.largest
            && i128::from(said.smallest_frame) <= self.smallest;
        let arrival = match (said.arrival, self.messages, self.bucket) {
            (Arrival::Messages { bits, separation, jitter }, Some([most, apart, early]), _) => {
                i128::from(bits) >= most && i128::from(separation) <= apart && i128::from(jitter) >= early
            }
            (Arrival::Bucket { burst, rate }, _, Some([most, fast])) => {
                i128::from(burst) >= most && i128::from(rate) >= fast
            }
            _ => false,
        };
        frames && arrival
    }
}

fn hop_of(
    flow: &Flow,
    ports: &[Port],
    shares: &[u64],
    enforcement: &Enforcement,
    hops: &[Hop],
    index: usize,
) -> Option<Hop> {
    let port = ports.get(flow.tree.get(index)?.port)?;
    let parent = flow.tree.get(index)?.parent;
    // A switch may pad a frame that is too small without its tag, and puts the tag on then.
    let tag = tags(flow, port);
    let grown = if parent.is_some() { tag * 8 } else { 0 };
    let weight = weight(flow, tag, grown)?;
    let drift = drift_of(flow, ports)?;
    // By a publisher, or behind a gate, whose clock is fast.
    let fast = |time: u64| by_another_clock(time.into(), drift)[0];
    let separation = match enforcement {
        Enforcement::Gate(gate) if parent.is_some() => fast(gate.separation),
        _ => fast(flow.separation),
    };
    let handed = i128::from(flow.jitter) + i128::from(emitting(flow)?);
    let Some(parent) = parent else {
        let bucket = flood(flow, AROUND + tag, drift).map(|[once, late, rate]| [once + late, rate]);
        return Some(Hop {
            parent: None,
            weight,
            spread: handed,
            largest: weight.largest,
            smallest: weight.smallest,
            messages: bucket.is_none().then_some([weight.most, separation, handed]),
            bucket,
        });
    };
    let (above, before) = (hops.get(parent)?, ports.get(flow.tree.get(parent)?.port)?);
    let share = i128::from(*shares.get(parent)?);
    let policed = *enforcement != Enforcement::Trust;
    let largest = weight.largest;
    let carried = i128::from(port.largest_frame) * 8;
    let varies = i128::from(port.most_multiplexing.saturating_sub(port.least_multiplexing));
    let quickest = if policed && parent > 0 { LEAST } else { above.weight.smallest };
    let [quickest, _] = time(quickest, before.rate);
    let spread = varies
        + match enforcement {
            Enforcement::Gate(gate) if parent == 0 => {
                by_another_clock(i128::from(gate.tolerance) + i128::from(gate.window), drift)[1]
            }
            _ => above.spread + share - quickest,
        };
    let hop = Hop {
        parent: Some(parent),
        weight,
        spread,
        largest,
        smallest: if policed { LEAST } else { weight.smallest },
        messages: None,
        bucket: None,
    };
    if let Enforcement::Meter(meter) = enforcement {
        let first = hops.first()?;
        let (from, own) = (ports.get(flow.tree.first()?.port)?, i128::from(*shares.first()?));
        let since = spread - (first.spread + own - time(first.weight.smallest, from.rate)[0]);
        let (burst, rate) = (i128::from(meter.burst), i128::from(meter.rate));
        // Of a frame, so many bits may be on the wire for so many that are counted.
        let (wire, counted) = match meter.counts {
            Counts::Wire => (LEAST + grown, LEAST),
            Counts::Frame => (LEAST + grown, HEADERS * 8),
        };
        let filled = match meter.counts {
            Counts::Wire => 0,
            Counts::Frame => up(rate * MILLISECOND, SECOND),
        };
        let rate = up(by_another_clock(rate, drift)[1] * wire, counted);
        let burst = up((burst + filled) * wire, counted) + up(rate * since.max(0), SECOND);
        return Some(Hop { largest: burst.min(carried), bucket: Some([burst, rate]), ..hop });
    }
    let small = i128::from(flow.bundle.as_ref().map_or(0, |bundle| bundle.smallest)) < LEAST + grown;
    if let Some([once, late, rate]) = flood(flow, AROUND + tag + if small { tag } else { 0 }, drift) {
        let burst = once + late + up(rate * (spread - handed), SECOND);
        return Some(Hop { bucket: Some([burst, rate]), ..hop });
    }
    let (bits, largest, on_link) = match enforcement {
        Enforcement::Gate(gate) => {
            let bits = up(i128::from(gate.octets) * 8 * (LEAST + grown), LEAST);
            (bits, bits.min(carried), bits.min(i128::from(before.largest_frame) * 8))
        }
        _ => (weight.most, largest, above.largest.max(LEAST + grown)),
    };
    // What is added behind the link takes none of its time.
    let rate = i128::from(before.rate.max(1));
    let message = (bits * LEAST * SECOND).div_euclid((LEAST + grown) * rate);
    let [_, frames] = time(on_link, before.rate);
    // The link before sends one bit after the other: parts of two messages that come together are no longer than the spread.
    let in_turn = flow.bundle.is_none() && port.tag == before.tag && separation >= message;
    let jitter = if in_turn { spread.min((spread + 2 * frames - message).max(0)) } else { spread };
    Some(Hop { largest, messages: Some([bits, separation, jitter]), ..hop })
}

/// Whether all that keeps the contract passes the gate or the meter, if no frame takes longer than the share at the host's port.
fn passes(flow: &Flow, port: &Port, share: i128, weight: Weight, enforcement: &Enforcement) -> bool {
    let Some(emitting) = emitting(flow).map(i128::from) else { return false };
    let drift = i128::from(port.imperfections.drift);
    // By the clock of the gate or meter.
    let short = |time: i128| by_another_clock(time, drift)[0];
    let long = |time: i128| by_another_clock(time, drift)[1];
    let separation = short(flow.separation.into());
    let jitter = i128::from(flow.jitter);
    let fastest = |bits: i128| time(bits, port.rate)[0];
    let slowest = |bits: i128| time(bits, port.rate)[1];
    match enforcement {
        Enforcement::Trust => true,
        Enforcement::Gate(gate) => {
            let window = i128::from(gate.window);
            let last = emitting + share - fastest(weight.first);
            // Behind the first frame of the heaviest message there is time for the rest of it.
            let late = share - fastest(weight.most) + slowest(weight.largest - weight.first);
            let early = long(jitter + late);
            let opens = i128::from(gate.separation);
            let early = if early + window >= opens { early + window } else { early };
            i128::from(gate.octets) * 8 >= weight.most
                && opens <= separation
                && (weight.count == 1 || window >= long(last))
                && i128::from(gate.tolerance) >= early
        }
        Enforcement::Meter(meter) => {
            let rate = i128::from(meter.rate);
            let counted = match meter.counts {
                Counts::Wire => weight.most,
                Counts::Frame => weight.most - weight.count * AROUND * 8,
            };
            let waits = share - fastest(weight.smallest);
            let spread = long(jitter + emitting + waits);
            let in_turn = flow.bundle.is_none() && separation >= long(slowest(counted));
            let together = (spread + long(slowest(2 * weight.largest)) - short(fastest(counted))).max(0);
            let early = if in_turn { spread.min(together) } else { spread };
            let around = if meter.counts == Counts::Wire { AROUND } else { 0 };
            let (burst, enough) = match flood(flow, around + tags(flow, port), drift) {
                Some([once, late, fast]) => {
                    (once + long(late) + up(rate * long(waits), SECOND), rate >= fast)
                }
                None => (counted + up(rate * early, SECOND), rate * separation >= counted * SECOND),
            };
            let needed = match meter.counts {
                Counts::Wire => burst,
                Counts::Frame => {
                    let filling = up(rate * MILLISECOND, SECOND);
                    up(burst + filling, (rate * MILLISECOND).div_euclid(SECOND).max(1)) * filling
                }
            };
            enough && i128::from(meter.burst) >= needed
        }
    }
}

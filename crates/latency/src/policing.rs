//! What holds a flow to its contract at the first switch, with the parameters that let every conforming message pass.
use crate::framing::{ETHERNET_HEADER, FRAME_AROUND, Frames, UDP_IPV4_HEADERS, frame_bits};
use crate::network::{Flow, FlowError, Policing, Port};
use crate::units::{
    MILLISECOND, bits_in, least_bits_in, least_time_of, rate_of, scale_down, scale_up, time_of,
};

/// Parts of a whole in which the drift of clocks is given.
pub const MILLION: u32 = 1_000_000;

/// The least time, in picoseconds, that may pass by one clock while another one shows `time`, if they run apart by `drift` parts of a
/// million at most.
pub fn shrunk(time: u64, drift: u32) -> Option<u64> {
    scale_down(time, MILLION.checked_sub(drift)?.into(), MILLION.into())
}

/// The most time, in picoseconds, that may pass by one clock while another one shows `time`; `None` also if they may stand still.
pub fn stretched(time: u64, drift: u32) -> Option<u64> {
    scale_up(time, MILLION.into(), MILLION.checked_sub(drift)?.into())
}

/// A message gate: at most `octets` in a window of `window` from the first frame of a message; the next message opens
/// a window not before `separation` less `tolerance` after. All times are by its own clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gate {
    /// Bytes of a message, counted as in [`crate::framing`].
    pub octets: u64,
    /// Picoseconds between messages.
    pub separation: u64,
    /// Picoseconds by which a message may be early.
    pub tolerance: u64,
    /// Picoseconds from the first frame of a message to its last.
    pub window: u64,
}

/// What a token bucket counts of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// What the frame occupies of the wire, as in [`crate::framing`].
    Wire,
    /// From destination address to payload, as meters of Open vSwitch: neither check sequence nor preamble nor gap, and
    /// padding only if it is still there. Small frames take more of the wire than is counted, up to twice as much.
    /// Their buckets are filled up in whole milliseconds.
    Frame,
}

/// How often a bucket of Open vSwitch is filled up, in picoseconds: what a millisecond brings comes at its end. After a pause it gets
/// no more than the whole milliseconds within burst / rate bring, so that a bucket of less than one is never filled.
const FILLED_EACH: u64 = MILLISECOND;

/// Bytes of the smallest frame that a flow's meter can see, which is one of UDP over IPv4: without padding and tag.
const LEAST_COUNTED: u64 = ETHERNET_HEADER + UDP_IPV4_HEADERS;

impl Counts {
    /// What a bucket gets at a time, in bits, rounded up.
    fn filling(self, rate: u64) -> Option<u64> {
        match self {
            Self::Wire => Some(0),
            Self::Frame => bits_in(FILLED_EACH, rate),
        }
    }

    /// The capacity of a bucket that lets through all that one of `burst` bits does which is filled all the time. What is missing up
    /// to the next filling must not be missing to a message, and after a pause, too, it has to be full but for that.
    fn filled(self, burst: u64, rate: u64) -> Option<u64> {
        let filling = self.filling(rate)?;
        if filling == 0 {
            return Some(burst);
        }
        let least = least_bits_in(FILLED_EACH, rate)?.max(1);
        burst.checked_add(filling)?.div_ceil(least).checked_mul(filling)
    }

    /// The most bits that are counted of a message: with padding and tags.
    fn most(self, frames: &Frames) -> Option<u64> {
        match self {
            Self::Wire => Some(frames.bits),
            Self::Frame => frames.bits.checked_sub(frames.count.checked_mul(FRAME_AROUND * 8)?),
        }
    }

    /// The bytes that are counted of each frame besides header and payload.
    fn around(self, tag: u32) -> u64 {
        match self {
            Self::Wire => FRAME_AROUND + u64::from(tag),
            Self::Frame => u64::from(tag),
        }
    }

    /// The most bits that frames of which `bits` were counted where they enter the first switch occupy a link on which they have `tag`
    /// bytes more than untagged ones; rounded up.
    ///
    /// What is too small without its tag may be padded and tagged then. So with `n` bytes counted, without padding and tag, a frame
    /// occupies the link for `max(n, 60) + tag + 24`, and one that occupied `n` of the wire for `max(n, 84) + tag`. In proportion to `n`
    /// that is most for the least `n`.
    fn on_wire(self, bits: u64, tag: u32) -> Option<u64> {
        let least = frame_bits(0);
        let counted = match self {
            Self::Wire => least,
            Self::Frame => LEAST_COUNTED * 8,
        };
        scale_up(bits, least + u64::from(tag) * 8, counted)
    }
}

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meter {
    /// Bits at once, of those that it counts.
    pub burst: u64,
    /// Bits per second, of those that it counts.
    pub rate: u64,
    /// What it counts.
    pub counts: Counts,
}

impl Meter {
    /// Burst and rate of what it lets through, in bits on a wire with `tag` bytes of header more than untagged frames, whatever the frames.
    /// What has been filled in at the beginning of a window may be of the time before it, and its clock may be fast.
    pub(crate) fn lets_through(&self, tag: u32, drift: u32) -> Option<(u64, u64)> {
        let burst = self.burst.checked_add(self.counts.filling(self.rate)?)?;
        let rate = stretched(self.rate, drift)?;
        Some((self.counts.on_wire(burst, tag)?, self.counts.on_wire(rate, tag)?))
    }
}

impl Gate {
    /// The bits of a message that it lets through, on a wire with `tag` bytes of header more than untagged frames, whatever the frames: it
    /// counts with the tags of the first link. Where tags are shorter, who wants to harm others sends frames that lose least.
    pub(crate) fn lets_through(&self, tag: u32) -> Option<u64> {
        Counts::Wire.on_wire(self.octets.checked_mul(8)?, tag)
    }
}

/// What enforces the contract of a flow, with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforcement {
    /// Nothing.
    Trust,
    /// A gate.
    Gate(Gate),
    /// A meter.
    Meter(Meter),
}

impl Flow {
    /// What is to be programmed where the flow enters the first switch, given its share (picoseconds) at the
    /// publisher's port: the delay that no frame of it exceeds there.
    pub fn enforcement(&self, ports: &[Port], first_share: u64) -> Result<Enforcement, FlowError> {
        let port = self.port(ports, 0)?;
        let frames = self.frames(port).ok_or(FlowError::Framing { hop: 0 })?;
        let alone = least_time_of(frames.bits, port.rate).ok_or(FlowError::Number)?;
        let spare = first_share.checked_sub(alone).ok_or(FlowError::Share { hop: 0 })?;
        let enforcement = match self.policing {
            Policing::Trusted => Some(Enforcement::Trust),
            Policing::Gate { tick } => {
                self.gate(port, &frames, first_share, spare, tick).map(Enforcement::Gate)
            }
            Policing::Meter { rate_step, burst_step, counts } => {
                let steps = (rate_step, burst_step);
                self.meter(port, &frames, first_share, steps, counts).map(Enforcement::Meter)
            }
        };
        enforcement.ok_or(FlowError::Number)
    }

    /// The first frame leaves the host before the rest of its message, so its delay varies by what the share has
    /// beyond the message; the last frame comes at most the share and the emission after the first.
    fn gate(&self, port: &Port, frames: &Frames, share: u64, spare: u64, tick: u64) -> Option<Gate> {
        let least_first = frames.first;
        let sizes = time_of(frames.largest.checked_sub(least_first)?, port.rate)?;
        let drift = port.imperfections.drift;
        let by_its_clock = |time: u64| stretched(time, drift)?.checked_next_multiple_of(tick);
        let tolerance = by_its_clock(self.jitter.checked_add(spare)?.checked_add(sizes)?)?;
        let window = if frames.count > 1 {
            let stretch = share.checked_sub(least_time_of(least_first, port.rate)?)?;
            let needed = self.emission.checked_add(stretch)?;
            by_its_clock(needed.checked_add(self.slack)?)?
        } else {
            0
        };
        // A gate whose early message could meet the window of the one before needs room for that window, too.
        let early = tolerance.checked_add(window)?;
        // The publisher's clock may be fast.
        let separation = shrunk(self.separation, drift)?;
        let separation = Some(separation - separation.checked_rem(tick)?).filter(|it| *it > 0)?;
        let tolerance = if early >= separation { early } else { tolerance };
        Some(Gate { octets: frames.bits / 8, separation, tolerance, window })
    }

    /// Of no frame more is counted than it occupies the link, so that what is counted of a message does not come faster
    /// than over a link where nothing else counts.
    fn meter(
        &self,
        port: &Port,
        frames: &Frames,
        share: u64,
        (rate_step, burst_step): (u64, u64),
        counts: Counts,
    ) -> Option<Meter> {
        let counted = counts.most(frames)?;
        let drift = port.imperfections.drift;
        // All of it by its own clock.
        let separation = shrunk(self.separation, drift)?;
        let spread = self.input_spread(port, share)?;
        let apart = self.bundle.and_then(|bundle| bundle.apart);
        let (late, rate, jitter) = match apart {
            // What is late at the publisher is known in bits.
            Some(apart) => {
                let (late, rate) = apart.around(counts.around(self.tag_at(port)), drift)?;
                (stretched(late, drift)?, rate, stretched(spread.checked_sub(self.spread()?)?, drift)?)
            }
            None => {
                let (rate, spread) = (rate_of(counted, separation)?, stretched(spread, drift)?);
                let in_turn = || serialised(spread, separation, counted, frames.largest, port.rate, drift);
                (0, rate, if self.bundle.is_some() { spread } else { in_turn()? })
            }
        };
        let rate = rate.checked_next_multiple_of(rate_step)?;
        let slack = stretched(self.slack, drift)?;
        let burst = counted.checked_add(late)?.checked_add(bits_in(jitter.checked_add(slack)?, rate)?)?;
        let burst = counts.filled(burst, rate)?;
        Some(Meter { burst: burst.checked_next_multiple_of(burst_step)?, rate, counts })
    }

    /// How far apart the frames of a message may be where they enter the first switch, measured from when the first
    /// could have come.
    pub(crate) fn input_spread(&self, port: &Port, share: u64) -> Option<u64> {
        let grown = share.checked_sub(least_time_of(self.frames(port)?.smallest, port.rate)?)?;
        self.spread()?.checked_add(grown)
    }
}

/// The jitter, as in [`Arrival::Messages`](crate::port::Arrival::Messages), of messages of at most `bits` in frames of
/// at most `frame` bits that come by a link of `rate` and are queued behind it, each within `spread`; messages begin to
/// spread `separation` after each other or later.
///
/// Let the frames of a message be received within `s` after some instant `b`, the `b` of the next message be at least the
/// separation after, and each frame be queued between `least` and `most` after its reception; `spread` is
/// `s + most - least`. Of two messages whose `b` are `k` separations apart, look at what is queued in a window from `a` to
/// `a + t`. Frames of the earlier one were received between `a - most` and its `b + s`, those of the later one between its
/// `b` and `a + t - least`. These two times are together at most `spread + t - k * separation` long; in each the link
/// brings its rate and one frame that had begun before. So both parts together are no more than one message unless `t` is
/// at least `k * separation - (spread - message + 2 frames)`; messages between them are whole, one for each separation.
/// If the separation is at least the time of a message, such a window is too short for parts of one message more. What
/// varies from reception to queue counts once, in the spread: it moves where the two times begin and end, not what the
/// link can bring in them. Spread and separation are by a clock that runs apart from the link's by `drift` parts of a million at most.
pub(crate) fn serialised(
    spread: u64,
    separation: u64,
    bits: u64,
    frame: u64,
    rate: u64,
    drift: u32,
) -> Option<u64> {
    let message = shrunk(least_time_of(bits, rate)?, drift)?;
    if separation < stretched(time_of(bits, rate)?, drift)? {
        return Some(spread);
    }
    let frames = stretched(time_of(frame, rate)?.checked_mul(2)?, drift)?;
    Some(spread.min(spread.checked_add(frames)?.saturating_sub(message)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_smallest_frame_is_counted_for_half() {
        let least = LEAST_COUNTED * 8;
        assert_eq!(Counts::Frame.on_wire(least, 0), Some(frame_bits(0)));
        assert_eq!(Counts::Frame.on_wire(1_000, 0), Some(2_000));
        assert_eq!(Counts::Frame.on_wire(u64::MAX / 2 + 1, 0), None);
        assert_eq!(Counts::Wire.on_wire(u64::MAX, 0), Some(u64::MAX));
        // A tag comes beside the padding. 88 / 42 of 1,000 are 2,095.2.
        assert_eq!(Counts::Frame.on_wire(least, 4), Some(frame_bits(0) + 32));
        assert_eq!(Counts::Frame.on_wire(1_000, 4), Some(2_096));
        assert_eq!(Counts::Wire.on_wire(frame_bits(0), 4), Some(frame_bits(0) + 32));
    }

    /// Whatever the frame, it takes no more of the wire than the curve allows for what was counted of it.
    #[test]
    fn no_frame_takes_more_than_the_curve_allows() {
        for tag in [0, 4, 18, 19, 255] {
            for bytes in LEAST_COUNTED..2_000 {
                let wire = frame_bits(bytes) + u64::from(tag) * 8;
                assert!(Counts::Frame.on_wire(bytes * 8, tag) >= Some(wire), "{bytes} bytes, tag {tag}");
                assert!(
                    Counts::Wire.on_wire(frame_bits(bytes), tag) >= Some(wire),
                    "{bytes} bytes, tag {tag}"
                );
            }
        }
    }

    #[test]
    fn of_a_message_padding_and_tags_are_counted() {
        let frames = |bytes, tag| {
            crate::framing::Framing::Udp { datagram: 1_472, ip: crate::framing::Ip::V4 }
                .frames(bytes, tag)
                .unwrap()
        };
        assert_eq!(Counts::Frame.most(&frames(0, 0)), Some(60 * 8));
        assert_eq!(Counts::Frame.most(&frames(18, 0)), Some(60 * 8));
        assert_eq!(Counts::Frame.most(&frames(19, 0)), Some(61 * 8));
        assert_eq!(Counts::Frame.most(&frames(1_473, 4)), Some((1_518 + 60) * 8));
        assert_eq!(Counts::Wire.most(&frames(1_473, 4)), Some((1_542 + 84) * 8));
    }

    /// SplitMix64.
    struct Random(testkit::random::Random);

    impl Random {
        fn range(&mut self, low: u64, high: u64) -> u64 {
            self.0.range(low, high)
        }
    }

    /// Picoseconds of a byte at 1 Gb/s.
    const OCTET: u64 = 8_000;

    /// When frames are queued, and their bytes: some messages, each as early or as late as it may be, that come by a link
    /// which sends one frame after the other. `None` if the link could not have sent them so.
    fn queued(
        random: &mut Random,
        bytes: &[u64],
        separation: u64,
        s: u64,
        varies: u64,
    ) -> Option<Vec<(u64, u64)>> {
        let mut begin = 0;
        let mut received: Vec<(u64, u64)> = Vec::new();
        let mut queued = Vec::new();
        for _ in 0..random.range(2, 4) {
            let late = random.range(0, 1) == 1;
            let rest: u64 = bytes.iter().skip(1).sum();
            let mut at = if late { begin + s.checked_sub(rest * OCTET)? } else { begin };
            for (index, frame) in bytes.iter().enumerate() {
                at += if index > 0 { frame * OCTET } else { 0 };
                received.push((at, *frame));
                // The late ones held for long and the early ones not at all come nearest to each other.
                let nearest = if late { varies } else { 0 };
                let held = if random.range(0, 3) > 0 { nearest } else { random.range(0, varies) };
                queued.push((at + held, *frame));
            }
            begin += separation + if random.range(0, 4) > 0 { 0 } else { random.range(0, separation) };
        }
        received.sort_unstable();
        let sent = received.windows(2).all(|pair| pair[1].0 - pair[0].0 >= pair[1].1 * OCTET);
        queued.sort_unstable();
        sent.then_some(queued)
    }

    /// Whether windows hold no more bytes than messages with the jitter bring.
    fn fits(queued: &[(u64, u64)], message: u64, separation: u64, jitter: u64) -> bool {
        (0..queued.len()).all(|first| {
            let mut sum = 0;
            queued[first..].iter().all(|(at, bytes)| {
                sum += bytes;
                sum <= message * ((at - queued[first].0 + jitter) / separation + 1)
            })
        })
    }

    /// No window holds more than the jitter of serialised messages says; with a frame less it would be too little.
    #[test]
    fn serialised_messages_have_the_jitter_that_is_said() {
        let (mut judged, mut less) = (0, 0);
        for seed in 0..20_000 {
            let mut random = Random(testkit::random::Random::new(seed));
            let bytes: Vec<u64> = (0..random.range(1, 6))
                .map(|_| [1_538, random.range(84, 1_538)][random.range(0, 1) as usize])
                .collect();
            let message: u64 = bytes.iter().sum();
            let separation = message * OCTET * random.range(100, 400) / 100;
            let s = message * OCTET * random.range(100, 300) / 100;
            let varies = separation * random.range(0, 100) / 100;
            let Some(queued) = queued(&mut random, &bytes, separation, s, varies) else { continue };
            let frame = *bytes.iter().max().unwrap();
            let said = serialised(s + varies, separation, message * 8, frame * 8, 1_000_000_000, 0).unwrap();
            judged += 1;
            assert!(fits(&queued, message, separation, said), "seed {seed}");
            less += u64::from(!fits(&queued, message, separation, said.saturating_sub(frame * OCTET)));
        }
        assert!(judged > 5_000 && less > 100, "{judged} judged, {less} refute less");
    }
}

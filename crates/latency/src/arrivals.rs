//! How the arrivals of a flow grow from hop to hop.
//!
//! A flow has a *share* at each of its hops: a delay, agreed when it was admitted, that no frame of it exceeds there.
//! What arrives at the next hop depends on the shares before it and on nothing else, so a change at one port changes
//! no arrival anywhere. If every port keeps its shares as long as all have kept theirs, no frame can be the first to
//! exceed one; so cycles of ports do no harm.
use alloc::vec::Vec;

use crate::framing::{FRAME_AROUND, LEAST_FRAME};
use crate::network::{Flow, FlowError, Port};
use crate::policing::{Enforcement, serialised, shrunk, stretched};
use crate::port::{Arrival, Contender, Ingress};
use crate::units::{bits_in, least_time_of, scale_up};

/// The least bits that any frame occupies a link.
const LEAST_BITS: u64 = (LEAST_FRAME + FRAME_AROUND) * 8;

impl Flow {
    /// What the flow offers to its ports, given its shares (picoseconds) at the hops. Levels are 0.
    ///
    /// The share of a hop matters to the hops behind it only, so with the shares of the first `n` hops the answer is for
    /// the first `n + 1`, or for all.
    pub fn contenders(&self, ports: &[Port], shares: &[u64]) -> Result<Vec<Contender>, FlowError> {
        let mut offering = Offering::new(self, ports);
        (0..self.tree.len().min(shares.len().saturating_add(1))).map(|_| offering.next(shares)).collect()
    }

    fn first_contender(&self, ports: &[Port]) -> Result<(u64, Contender), FlowError> {
        let frames = self.frames(self.port(ports, 0)?).ok_or(FlowError::Framing { hop: 0 })?;
        let spread = self.spread().ok_or(FlowError::Number)?;
        let tag = self.tag_at(self.port(ports, 0)?);
        let bucket = self.bundle.map_or(Some(None), |bundle| bundle.bucket(tag.into(), self.drift(ports)));
        let arrival = match bucket.ok_or(FlowError::Number)? {
            Some((burst, rate)) => Arrival::Bucket { burst, rate },
            None => {
                // By a publisher whose clock is fast.
                let separation = shrunk(self.separation, self.drift(ports)).filter(|it| *it > 0);
                let separation = separation.ok_or(FlowError::Number)?;
                Arrival::Messages { bits: frames.bits, separation, jitter: spread }
            }
        };
        let (smallest_frame, largest_frame) = (frames.smallest, frames.largest);
        Ok((spread, Contender { level: 0, arrival, smallest_frame, largest_frame, ingress: None }))
    }

    /// The spread of messages at the hop `index`, and what the flow offers there.
    fn contender(
        &self,
        ports: &[Port],
        enforcement: &Enforcement,
        first_share: u64,
        link: Link,
        index: usize,
    ) -> Result<(u64, Contender), FlowError> {
        let number = FlowError::Number;
        let (first, before, port) =
            (self.port(ports, 0)?, self.port(ports, link.hop)?, self.port(ports, index)?);
        let frames = self.frames(port).ok_or(FlowError::Framing { hop: index })?;
        let frames_before = self.frames(before).ok_or(FlowError::Framing { hop: link.hop })?;
        let policed = *enforcement != Enforcement::Trust;
        let drift = self.drift(ports);
        // What a policed flow sends besides its promise may come in the smallest frames, which leave first.
        let least = if policed && link.hop > 0 { LEAST_BITS } else { frames_before.smallest };
        let least = least_time_of(least, before.rate).ok_or(number)?;
        let later = link.share.checked_sub(least).ok_or(FlowError::Share { hop: link.hop })?;
        let arrived = match enforcement {
            Enforcement::Gate(gate) if link.hop == 0 => {
                let by_its_clock = gate.tolerance.checked_add(gate.window);
                by_its_clock.and_then(|time| stretched(time, drift))
            }
            _ => link.spread.checked_add(later),
        };
        let variation = port.variation();
        let spread = arrived.and_then(|arrived| arrived.checked_add(variation)).ok_or(number)?;
        // A switch may pad what is too small without its tag, and padding stays beside a tag.
        let tag = self.tag_at(port);
        let padded = LEAST_BITS + u64::from(tag) * 8;
        // What a gate or a meter lets through may be frames of any size, whatever the flow's own.
        let bits = match enforcement {
            Enforcement::Gate(gate) => gate.lets_through(tag),
            _ => self.padded_bits(port),
        };
        let bits = bits.ok_or(number)?;
        // The rate of the link in bits as they are behind it.
        let padded_rate = scale_up(before.rate, padded, LEAST_BITS).ok_or(number)?;
        // A bucket grows by what varies behind where it stands.
        let grown = |(burst, rate): (u64, u64), input: u64| {
            let burst = burst.checked_add(bits_in(spread.checked_sub(input)?, rate)?)?;
            Some(Arrival::Bucket { burst, rate })
        };
        let bundled = self.bundle.map_or(Some(None), |bundle| bundle.bucket(bundle.added(tag), drift));
        let bundled = bundled.ok_or(number)?;
        let arrival = match (enforcement, bundled) {
            (Enforcement::Meter(meter), _) => {
                // Where the flow enters the first switch.
                let bucket = meter.lets_through(tag, drift).ok_or(number)?;
                let input = self.input_spread(first, first_share).ok_or(number)?;
                grown(bucket, input).ok_or(number)?
            }
            // At the publisher.
            (Enforcement::Trust, Some(bucket)) => {
                self.spread().and_then(|input| grown(bucket, input)).ok_or(number)?
            }
            (Enforcement::Gate(_) | Enforcement::Trust, _) => {
                // The clock of the gate, or of the publisher, may be fast.
                let separation = match enforcement {
                    Enforcement::Gate(gate) => gate.separation,
                    _ => self.separation,
                };
                let separation = shrunk(separation, drift).filter(|it| *it > 0).ok_or(number)?;
                let jitter = if port.tag != before.tag || self.bundle.is_some() {
                    // Parts of messages may weigh more or less than before, or belong to different messages: only the
                    // spread is known.
                    spread
                } else {
                    let frame = if policed {
                        bits.min(u64::from(before.largest_frame.max(port.largest_frame)) * 8)
                    } else {
                        frames_before.largest.max(padded)
                    };
                    // Bits that are added behind the link take none of its time.
                    let frame = scale_up(frame, padded_rate, before.rate).ok_or(number)?;
                    serialised(spread, separation, bits, frame, padded_rate, 0).ok_or(number)?
                };
                Arrival::Messages { bits, separation, jitter }
            }
        };
        let at_once = match arrival {
            Arrival::Messages { bits, .. } => bits,
            Arrival::Bucket { burst, .. } => burst,
        };
        let largest_frame =
            if policed { at_once.min(u64::from(port.largest_frame) * 8) } else { frames.largest.max(padded) };
        // The cap of a link is known in bits of that link: with longer headers behind it, it is not used.
        let number = self.tree.get(link.hop).and_then(|hop| u32::try_from(hop.port).ok());
        let link = number.ok_or(FlowError::Port { hop: link.hop })?;
        let ingress = (port.tag <= before.tag).then_some(Ingress { link, rate: padded_rate, variation });
        // The share is kept for whatever the guard lets through, because the arrivals at the next hop rest on it.
        let smallest_frame = if policed { frames.smallest.min(LEAST_BITS) } else { frames.smallest };
        Ok((spread, Contender { level: 0, arrival, smallest_frame, largest_frame, ingress }))
    }
}

/// What a flow offers to hop after hop, while its shares become known.
pub(crate) struct Offering<'f> {
    flow: &'f Flow,
    ports: &'f [Port],
    /// From the second hop on.
    enforcement: Option<Enforcement>,
    /// At the hops so far.
    spreads: Vec<u64>,
}

impl<'f> Offering<'f> {
    pub(crate) fn new(flow: &'f Flow, ports: &'f [Port]) -> Self {
        Self { flow, ports, enforcement: None, spreads: Vec::with_capacity(flow.tree.len()) }
    }

    /// What it offers to the next hop, given the shares of the hops before.
    pub(crate) fn next(&mut self, shares: &[u64]) -> Result<Contender, FlowError> {
        let index = self.spreads.len();
        let parent = self.flow.tree.get(index).ok_or(FlowError::Tree { hop: index })?.parent;
        let (spread, contender) = match (parent, shares.first()) {
            (Some(parent), Some(first)) => {
                let enforcement = match self.enforcement {
                    Some(enforcement) => enforcement,
                    None => *self.enforcement.insert(self.flow.enforcement(self.ports, *first)?),
                };
                let share = *shares.get(parent).ok_or(FlowError::Share { hop: parent })?;
                let spread = *self.spreads.get(parent).ok_or(FlowError::Tree { hop: index })?;
                let link = Link { hop: parent, share, spread };
                self.flow.contender(self.ports, &enforcement, *first, link, index)?
            }
            _ => self.flow.first_contender(self.ports)?,
        };
        self.spreads.push(spread);
        Ok(contender)
    }
}

/// The way to a hop: from which hop, with which share and spread there.
struct Link {
    hop: usize,
    share: u64,
    spread: u64,
}

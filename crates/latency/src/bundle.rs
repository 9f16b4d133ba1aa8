//! Several flows that the network cannot tell apart, admitted as one.
//!
//! Switches tell flows apart by addresses and ports. Several writers of a participant that know nothing of us send from
//! one port to one group, so that their samples are one flow to every queue, meter and path. Their messages are not in
//! step; all that is known is what may come in a window. Of `bits` each separation `P`, up to `J` late, no more than
//! `bits (1 + J / P)` comes at once and `bits / P` in the long run: the bundle is a token bucket with the sums of both.
//! If all separations and delays are the same, the flows together are one flow with the messages of all, which says more.
use alloc::vec::Vec;

use crate::framing::{FRAME_AROUND, Frames, LEAST_FRAME, frame_bits};
use crate::network::{Flow, Port};
use crate::policing::stretched;
use crate::units::{rate_of, scale_up};

/// The flows of a bundle together, without tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bundle {
    /// Frames of one message of each flow.
    pub count: u64,
    /// Bits that they occupy a link.
    pub bits: u64,
    /// Bits of the largest frame.
    pub largest: u64,
    /// Bits of the smallest frame that any of the flows may send.
    pub smallest: u64,
    /// What they send besides and for how long, unless all come at the same distances.
    pub apart: Option<Apart>,
}

/// Flows with separations of their own. What is around frames ([`FRAME_AROUND`], and tags) is counted apart, for each byte that frames
/// have more.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Apart {
    /// Bits that come at once besides a message of each flow, because messages are late.
    pub late: u64,
    /// The same for a byte in each frame.
    pub late_each: u64,
    /// Bits per second.
    pub rate: u64,
    /// The same for a byte in each frame.
    pub rate_each: u64,
}

impl Apart {
    /// With another flow, that is late by as much.
    fn with(&self, frames: &Frames, separation: u64, late: u64) -> Option<Self> {
        let each = frames.count.checked_mul(8)?;
        let bits = frames.bits.checked_sub(each.checked_mul(FRAME_AROUND)?)?;
        Some(Self {
            late: self.late.checked_add(scale_up(bits, late, separation)?)?,
            late_each: self.late_each.checked_add(scale_up(each, late, separation)?)?,
            rate: self.rate.checked_add(rate_of(bits, separation)?)?,
            rate_each: self.rate_each.checked_add(rate_of(each, separation)?)?,
        })
    }

    /// Bits at once besides a message of each flow, and bits per second, with so many bytes in each frame besides header and payload, where
    /// clocks run apart by `drift` parts of a million.
    pub(crate) fn around(&self, bytes: u64, drift: u32) -> Option<(u64, u64)> {
        let late = self.late.checked_add(self.late_each.checked_mul(bytes)?)?;
        let rate = self.rate.checked_add(self.rate_each.checked_mul(bytes)?)?;
        Some((stretched(late, drift)?, stretched(rate, drift)?))
    }
}

impl Bundle {
    pub(crate) fn frames(&self, tag: u32) -> Option<Frames> {
        let tag = u64::from(tag).checked_mul(8)?;
        Some(Frames {
            count: self.count,
            bits: self.bits.checked_add(self.count.checked_mul(tag)?)?,
            largest: self.largest.checked_add(tag)?,
            // A frame that is padded may hold the tag instead.
            smallest: self.smallest,
            first: self.smallest,
        })
    }

    /// Bytes that a frame of any flow may have more on a link with such a tag, if switches pad frames that are too small without it.
    pub(crate) fn added(&self, tag: u32) -> u64 {
        let tag = u64::from(tag);
        if self.smallest < frame_bits(LEAST_FRAME + tag) { 2 * tag } else { tag }
    }

    /// Bits of a message of each flow on such a link.
    pub(crate) fn padded_bits(&self, tag: u32) -> Option<u64> {
        self.bits.checked_add(self.count.checked_mul(self.added(tag) * 8)?)
    }

    /// Burst and rate on a link where frames have `added` bytes more than without tags, unless the flows are in step.
    pub(crate) fn bucket(&self, added: u64, drift: u32) -> Option<Option<(u64, u64)>> {
        let Some(apart) = self.apart else { return Some(None) };
        let (late, rate) = apart.around(FRAME_AROUND.checked_add(added)?, drift)?;
        let message = self.bits.checked_add(self.count.checked_mul(added.checked_mul(8)?)?)?;
        Some(Some((message.checked_add(late)?, rate)))
    }
}

/// The flows as one flow; trees, policing and subscribers are those of the first, whose subscribers get the least limit
/// of the others at the same hop. Separations between messages of the single flows are not promised any more.
///
/// Limits, like bounds, are those of the flow whose messages take longest to be handed over; of another one both are less by as much as
/// its messages take less.
/// `None` if there is no flow, one is a bundle itself or goes another way, or numbers do not fit.
pub fn bundle(flows: &[Flow], port: &Port) -> Option<Flow> {
    together(flows, port, true)
}

/// The same where nothing is known of how the flows stand to each other, not even that they stay in step if they begin so: what comes
/// is always that of a token bucket.
pub fn unrelated(flows: &[Flow], port: &Port) -> Option<Flow> {
    together(flows, port, false)
}

fn together(flows: &[Flow], port: &Port, keep_step: bool) -> Option<Flow> {
    let first = flows.first()?;
    if flows.iter().any(|flow| flow.bundle.is_some() || flow.tree != first.tree || flow.tag != first.tag) {
        return None;
    }
    let untagged = Port { tag: 0, ..*port };
    let emission = flows.iter().map(Flow::emitting).max()?;
    let spreads: Vec<u64> = flows.iter().map(Flow::spread).collect::<Option<_>>()?;
    let spread = spreads.iter().copied().max()?;
    let mut sum = Bundle { count: 0, bits: 0, largest: 0, smallest: u64::MAX, apart: None };
    let mut apart = Apart::default();
    let mut flow = first.clone();
    for (other, late) in flows.iter().zip(&spreads) {
        let bare = Flow { tag: 0, ..other.clone() };
        let frames = bare.frames(&untagged)?;
        sum.count = sum.count.checked_add(frames.count)?;
        sum.bits = sum.bits.checked_add(frames.bits)?;
        sum.largest = sum.largest.max(frames.largest);
        sum.smallest = sum.smallest.min(frames.smallest);
        apart = apart.with(&frames, other.separation, *late)?;
        flow.largest_message = flow.largest_message.max(other.largest_message);
        flow.smallest_message = flow.smallest_message.min(other.smallest_message);
        flow.slack = flow.slack.max(other.slack);
        flow.importance = flow.importance.max(other.importance);
    }
    let spared = |other: &Flow| emission.saturating_sub(other.emitting());
    for subscriber in &mut flow.subscribers {
        let same = |other: &Flow| {
            let least = other.subscribers.iter().filter(|other| other.hop == subscriber.hop);
            least.map(|subscriber| subscriber.limit.saturating_add(spared(other))).min()
        };
        subscriber.limit = flows.iter().filter_map(same).min().unwrap_or(subscriber.limit);
    }
    let same = |(flow, late): (&Flow, &u64)| (flow.separation, *late) == (first.separation, spread);
    let in_step = keep_step && flows.iter().zip(&spreads).all(same);
    sum.apart = (!in_step).then_some(apart);
    // Together they are the spread of the latest flow.
    (flow.jitter, flow.emission) = (spread.checked_sub(emission)?, emission);
    flow.maximum_separation = None;
    flow.bundle = Some(sum);
    Some(flow)
}

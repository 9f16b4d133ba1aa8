//! Several flows that the network cannot tell apart, admitted as one.
//!
//! Switches tell flows apart by addresses and ports. Several writers of a participant that know nothing of us send from
//! one port to one group, so that their samples are one flow to every queue, meter and path. Their messages are not in
//! step; all that is known is what may come in a window. In any time of `k` separations `P` a writer with separation
//! `P_i` begins at most `k * ceil(P / P_i)` messages, so that together they send no more than one flow would that has
//! all of these as one message every `P`.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::framing::Frames;
use crate::network::{Flow, Port};

/// What the flows of a bundle send in one separation of the bundle, without tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bundle {
    /// Frames of all messages.
    pub count: u64,
    /// Bits that they occupy a link.
    pub bits: u64,
    /// Bits of the largest frame.
    pub largest: u64,
    /// Bits of the smallest frame that any of the flows may send.
    pub smallest: u64,
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
}

/// The flows as one flow; trees, policing and subscribers are those of the first, whose subscribers get the least limit
/// of the others at the same hop. Separations between messages of the single flows are not promised any more.
///
/// Among their separations the one is taken with which the bundle has the least rate. `None` if there is no flow, one is
/// a bundle itself or goes another way, or numbers do not fit.
pub fn bundle(flows: &[Flow], port: &Port) -> Option<Flow> {
    let first = flows.first()?;
    if flows.iter().any(|flow| flow.bundle.is_some() || flow.tree != first.tree) {
        return None;
    }
    let untagged = Port { tag: 0, ..*port };
    let mut best: Option<(u64, Bundle)> = None;
    let framed: Vec<(Frames, u64)> =
        flows.iter().map(|flow| Some((flow.frames(&untagged)?, flow.separation))).collect::<Option<_>>()?;
    let mut tried = BTreeSet::new();
    for separation in flows.iter().map(|flow| flow.separation).filter(|separation| tried.insert(*separation))
    {
        let mut sum = Bundle { count: 0, bits: 0, largest: 0, smallest: u64::MAX };
        for (frames, own) in &framed {
            let times = separation.checked_add(own.checked_sub(1)?)?.checked_div(*own)?;
            sum.count = sum.count.checked_add(frames.count.checked_mul(times)?)?;
            sum.bits = sum.bits.checked_add(frames.bits.checked_mul(times)?)?;
            sum.largest = sum.largest.max(frames.largest);
            sum.smallest = sum.smallest.min(frames.smallest);
        }
        let less = |(other, than): &(u64, Bundle)| {
            u128::from(sum.bits) * u128::from(*other) < u128::from(than.bits) * u128::from(separation)
        };
        if best.as_ref().is_none_or(less) {
            best = Some((separation, sum));
        }
    }
    let (separation, sum) = best?;
    let mut flow = first.clone();
    for other in flows.iter().skip(1) {
        flow.largest_message = flow.largest_message.max(other.largest_message);
        flow.smallest_message = flow.smallest_message.min(other.smallest_message);
        flow.jitter = flow.jitter.max(other.jitter);
        flow.emission = flow.emission.max(other.emission);
        flow.slack = flow.slack.max(other.slack);
        flow.importance = flow.importance.max(other.importance);
        for subscriber in &mut flow.subscribers {
            let same = other.subscribers.iter().filter(|other| other.hop == subscriber.hop);
            subscriber.limit = same.map(|other| other.limit).fold(subscriber.limit, u64::min);
        }
    }
    flow.separation = separation;
    flow.maximum_separation = None;
    flow.bundle = Some(sum);
    Some(flow)
}

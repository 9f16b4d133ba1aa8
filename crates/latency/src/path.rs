//! Bounds from the first frame at the publisher's port to the last frame's reception: the sum over the hops, and concatenated left-over service.
use alloc::vec::Vec;

use crate::busy::delay_of_later;
use crate::framing::{LEAST_FRAME, frame_bits};
use crate::linear::{LeftOver, left_over};
use crate::network::{Emission, Flow, Port};
use crate::port::{Contender, Server};
use crate::units::{least_time_of, time_of};
use crate::work::Work;

/// How an end-to-end bound was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathMethod {
    /// Sum of the bounds of the hops, each with the links that feed it (TFA++ of network calculus).
    Sum,
    /// Concatenation of the service that is left for the flow at each hop, which pays for its own message once (SFA).
    Concatenation,
    /// A linear program over all that is known of a frame on its way (PLP).
    LinearProgram,
}

/// An end-to-end bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathBound {
    /// From the moment when the host hands the first frame of a message to its port to the reception of the last frame, in picoseconds.
    pub latency: u64,
    /// How it was found.
    pub method: PathMethod,
}

/// What is known of a port on the way of a flow.
#[derive(Clone, Copy, Debug)]
pub struct HopView<'v> {
    /// The port.
    pub port: &'v Port,
    /// The server of the port, with the blocking that is to be assumed.
    pub server: Server,
    /// All flows of the port with their levels.
    pub contenders: &'v [Contender],
    /// Which of them is the flow.
    pub index: usize,
    /// Bound of the delay of the flow's level there, in picoseconds.
    pub delay: u64,
}

/// What the way adds besides the hops' delays: emission of what has several frames, propagation and multiplexing at their longest, in
/// picoseconds.
pub fn fixed_latency<'v>(flow: &Flow, ports: impl Iterator<Item = &'v Port>) -> Option<u64> {
    passage(ports)?.checked_add(flow.emitting())
}

/// Propagation and multiplexing at their longest, in picoseconds.
fn passage<'v>(ports: impl Iterator<Item = &'v Port>) -> Option<u64> {
    ports
        .into_iter()
        .try_fold(0_u64, |sum, port| sum.checked_add(port.propagation)?.checked_add(port.most_multiplexing))
}

/// The least latency of any message along the way, in picoseconds: the first instant at which it can be whole.
///
/// All frames of the smallest message leave the first port one after the other; its last one passes the others.
pub fn least_latency<'v>(flow: &Flow, ports: impl Iterator<Item = &'v Port>) -> Option<u64> {
    let mut sum = 0_u64;
    for (index, port) in ports.into_iter().enumerate() {
        let bits = if index == 0 && flow.bundle.is_none() {
            flow.framing.least_bits(flow.smallest_message, flow.tag_at(port))?
        } else {
            flow.frames(port)?.smallest
        };
        sum = sum.checked_add(least_time_of(bits, port.rate)?)?;
        sum = sum.checked_add(port.propagation)?.checked_add(port.least_multiplexing)?;
    }
    Some(sum)
}

/// The least of the sound bounds of a flow along hops from the publisher's port on: of `part`, which is one of the flows in it if it is a
/// bundle, and otherwise the flow itself.
pub fn path_bound(flow: &Flow, part: &Flow, hops: &[HopView<'_>]) -> Option<PathBound> {
    let emission = part.emission(flow, hops.first()?.port);
    path_bound_with(flow, emission, hops, &left_overs(hops), &Work::unlimited())
}

/// The same for what is handed over like that, where it is known what the flow is left with at each hop, as [`left_over`] says; with its
/// work counted.
pub fn path_bound_with(
    flow: &Flow,
    emission: Emission,
    hops: &[HopView<'_>],
    services: &[Option<LeftOver>],
    work: &Work,
) -> Option<PathBound> {
    let sum = sum_with(emission, hops, work).map(|latency| PathBound { latency, method: PathMethod::Sum });
    let concatenation = concatenation_with(flow, emission, hops, services)
        .map(|latency| PathBound { latency, method: PathMethod::Concatenation });
    sum.into_iter().chain(concatenation).min_by_key(|bound| bound.latency)
}

/// The sum of the delays of the hops: a frame waits at each of them, and at the first one up to the emission after the first frame of its
/// message.
pub fn sum_bound(flow: &Flow, hops: &[HopView<'_>]) -> Option<u64> {
    sum_with(flow.emission(flow, hops.first()?.port), hops, &Work::unlimited())
}

fn sum_with(emission: Emission, hops: &[HopView<'_>], work: &Work) -> Option<u64> {
    let (first, later) = hops.split_first()?;
    let sum = passage(hops.iter().map(|hop| hop.port))?.checked_add(entry(emission, first, work)?)?;
    later.iter().try_fold(sum, |sum, hop| sum.checked_add(hop.delay))
}

/// Most time from the moment when the first frame of a message is handed to the publisher's port to the moment when any frame of it has been
/// sent there, in picoseconds.
///
/// Another frame comes up to the emission after the first one. If the link had nothing of its level or above to send between, the first
/// one is not among what that frame waits for: had it come last, too, all would have kept the delay. Else the other one comes so long
/// after the start of a busy period, which has an end.
fn entry(emission: Emission, hop: &HopView<'_>, work: &Work) -> Option<u64> {
    let apart = hop.delay.checked_add(emission.longest)?;
    if emission.longest == 0 {
        return Some(apart);
    }
    let less = || {
        let level = hop.contenders.get(hop.index)?.level;
        let first = least_time_of(emission.first, hop.port.rate)?;
        let between = delay_of_later(&hop.server, hop.contenders, level, emission.longest, work)?;
        Some(hop.delay.max(apart.saturating_sub(first)).max(between.min(apart)))
    };
    Some(less().unwrap_or(apart))
}

/// Latencies of left-over services, a frame for each store-and-forward hop between, and the flow's burst at the least
/// rate that is left. Other flows of a level are taken as first-in first-out, hop by hop.
///
/// `None` if nothing is left at a hop, if links have headers of different length, if frames of the flow may be padded on their way, or if
/// they may overtake each other on their way into a queue: then a frame may wait for those that came after it.
pub fn concatenation_bound(flow: &Flow, hops: &[HopView<'_>]) -> Option<u64> {
    concatenation_with(flow, flow.emission(flow, hops.first()?.port), hops, &left_overs(hops))
}

fn left_overs(hops: &[HopView<'_>]) -> Vec<Option<LeftOver>> {
    hops.iter().map(|hop| left_over(&hop.server, hop.contenders, hop.index)).collect()
}

fn concatenation_with(
    flow: &Flow,
    emission: Emission,
    hops: &[HopView<'_>],
    services: &[Option<LeftOver>],
) -> Option<u64> {
    let first = hops.first()?;
    keeps_shape(flow, hops.iter().map(|hop| hop.port)).then_some(())?;
    let frame = flow.frames(first.port)?.largest;
    let services: Vec<LeftOver> = services.iter().copied().collect::<Option<_>>()?;
    let mut latency = passage(hops.iter().map(|hop| hop.port))?.checked_add(emission.longest)?;
    for (index, service) in services.iter().enumerate() {
        latency = latency.checked_add(service.latency)?;
        if index + 1 < services.len() {
            latency = latency.checked_add(time_of(frame, service.rate)?)?;
        }
    }
    let burst = first.contenders.get(first.index)?.arrival.burst()?;
    let rate = services.iter().map(|service| service.rate).min()?;
    latency.checked_add(time_of(burst, rate)?)
}

/// Whether frames of a flow keep their sizes and their order along ports.
pub(crate) fn keeps_shape<'v>(flow: &Flow, ports: impl Iterator<Item = &'v Port> + Clone) -> bool {
    let Some(first) = ports.clone().next() else { return false };
    let Some(frames) = flow.frames(first) else { return false };
    let overtakes = |port: &Port| port.variation() > 0 && !port.keeps_order;
    // What is too small without its tag may be padded behind the first link.
    let tag = flow.tag_at(first);
    let grows = tag > 0 && frames.smallest < frame_bits(LEAST_FRAME + u64::from(tag));
    !grows && !ports.into_iter().any(|port| port.tag != first.tag || overtakes(port))
}

/// The most time between two messages at a subscriber, in picoseconds: the writer's, and the variation of the latency.
pub fn separation_at_subscriber(writer: u64, bound: u64, least: u64) -> Option<u64> {
    writer.checked_add(bound.checked_sub(least)?)
}

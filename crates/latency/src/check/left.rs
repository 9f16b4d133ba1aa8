//! The bound of a flow along a way from what other flows leave to it at each hop, for limits that rest on it (Le Boudec and Thiran,
//! propositions 1.4.6 and 6.4.1).
use alloc::vec::Vec;

use super::{UNIT, offered};
use crate::certificate::{Certificate, PortCertificate};
use crate::network::Port;
use crate::port::{Arrival, Contender};

/// Bits at once and bits per second of what is offered; rounded up.
pub(super) fn bucket(arrival: Arrival) -> Option<[i128; 2]> {
    Some(match arrival {
        Arrival::Messages { separation: 0, .. } => return None,
        Arrival::Messages { bits, separation, jitter } => {
            let (bits, apart) = (i128::from(bits), i128::from(separation));
            let rate = up(bits * UNIT, apart);
            [bits + up(i128::from(jitter) * rate, UNIT), rate]
        }
        Arrival::Bucket { burst, rate } => [burst.into(), rate.into()],
    })
}

fn up(value: i128, by: i128) -> i128 {
    (value + by - 1).div_euclid(by)
}

/// What a flow of a higher level takes at once before a frame below begins: of whole messages the last one has been sent by then as
/// long as it took to come.
fn in_the_way(flow: &Contender, link: i128) -> Option<i128> {
    let [burst, _] = bucket(flow.arrival)?;
    Some(match flow.arrival {
        Arrival::Messages { bits, separation, .. } => {
            let bits = i128::from(bits);
            let least = (bits * UNIT).div_euclid(separation.into());
            burst - (bits * least).div_euclid(link.max(1))
        }
        Arrival::Bucket { .. } => burst,
    })
}

/// What a flow is left with at a port: picoseconds until it is served, and bits per second then.
fn service(evidence: &PortCertificate, at: usize) -> Option<[i128; 2]> {
    let link = i128::from(evidence.server.rate);
    let own = evidence.contenders.get(at)?;
    let below = evidence.contenders.iter().filter(|flow| flow.level < own.level);
    let below = below.map(|flow| flow.largest_frame).max().unwrap_or(0);
    let mut bits = i128::from(evidence.server.best_effort.max(below)) + i128::from(evidence.server.ahead);
    let mut fast = link;
    if let Some(control) = evidence.server.control {
        bits += i128::from(control.burst);
        fast -= i128::from(control.rate);
    }
    for flow in evidence.contenders.iter().filter(|flow| flow.level > own.level) {
        bits += in_the_way(flow, link)?;
        fast -= bucket(flow.arrival)?[1];
    }
    let mut left = fast;
    if let Some(beside) = evidence.server.beside {
        bits += i128::from(beside.burst);
        left -= i128::from(beside.rate);
    }
    for (_, flow) in evidence.contenders.iter().enumerate().filter(|(index, _)| *index != at) {
        if flow.level == own.level {
            let [burst, rate] = bucket(flow.arrival)?;
            bits += burst;
            left -= rate;
        }
    }
    // What is left has to be more than the flow asks for.
    (fast > 0 && left > bucket(own.arrival)?[1]).then(|| [up(bits * UNIT, fast), left])
}

/// Whether frames of the flow keep their order and their sizes along a way.
pub(super) fn is_steady(certificate: &Certificate, ports: &[&Port]) -> bool {
    let Some(first) = ports.first() else { return false };
    let grown = offered::tags(&certificate.flow, first) * 8;
    let Some([smallest, _]) = offered::frames(&certificate.flow, first) else { return false };
    // A switch pads what is less than 64 bytes without its tag.
    let is_padded = grown > 0 && smallest < 84 * 8 + grown;
    let keeps = |port: &&Port| port.keeps_order || port.most_multiplexing <= port.least_multiplexing;
    !is_padded && ports.iter().all(|port| port.tag == first.tag) && ports.iter().all(keeps)
}

/// Picoseconds from the first frame to the last one's reception, if services are concatenated; `None` if they cannot be.
pub(super) fn concatenated(certificate: &Certificate, ports: &[Port], subscriber: usize) -> Option<u128> {
    let flow = &certificate.flow;
    let way = flow.way_to(flow.subscribers.get(subscriber)?.hop);
    let along: Vec<&Port> =
        way.iter().map(|hop| ports.get(flow.tree.get(*hop)?.port)).collect::<Option<_>>()?;
    is_steady(certificate, &along).then_some(())?;
    let [_, frame] = offered::frames(flow, along.first()?)?;
    let (mut latency, mut slowest) = (i128::from(offered::emitting(flow)?), i128::MAX);
    let mut burst = None;
    for (place, (hop, port)) in way.iter().zip(&along).enumerate() {
        let evidence = certificate.ports.get(*hop)?;
        let at = evidence.flows.iter().position(|flow| *flow == certificate.id)?;
        let [wait, rate] = service(evidence, at)?;
        latency += wait + i128::from(port.propagation) + i128::from(port.most_multiplexing);
        if place + 1 < way.len() {
            latency += up(frame * UNIT, rate);
        }
        slowest = slowest.min(rate);
        if burst.is_none() {
            burst = Some(bucket(evidence.contenders.get(at)?.arrival)?[0]);
        }
    }
    u128::try_from(latency + up(burst? * UNIT, slowest)).ok()
}

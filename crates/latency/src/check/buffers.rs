//! Whether buffers hold what queues may hold, from the curves of a certificate: the sum of lines is looked at wherever it bends.
use super::{Bundle, MOST_INSTANTS, Side, UNIT, bucket, bundles, instants};
use crate::certificate::{Claim, PortCertificate};
use crate::network::{Buffer, Port};
use crate::port::Control;

/// The level whose queue, or with those above whose queues, could not be shown to fit; `None` inside for numbers too large.
pub(super) fn check(evidence: &PortCertificate, port: &Port) -> Result<(), Option<u8>> {
    match port.buffer {
        Buffer::Shared(bytes) => {
            let Some(claim) = evidence.claims.iter().min_by_key(|claim| claim.level) else { return Ok(()) };
            let most = most_held(evidence, port, claim).ok_or(None)?;
            if most <= octets_of(bytes) { Ok(()) } else { Err(Some(claim.level)) }
        }
        Buffer::PerQueue(bytes) => evidence.claims.iter().try_for_each(|claim| {
            let own = evidence.contenders.iter().filter(|flow| flow.level == claim.level);
            let mut own = bundles(own).ok_or(None)?;
            own.extend(bucket(port.imperfections.beside));
            let delay = i128::from(claim.delay);
            // What comes while a frame waits as long as it may.
            let waits: i128 = own.iter().map(|bundle| bundle.with_jumps(delay, delay)).sum();
            let fits = waits <= octets_of(bytes)
                || most_held(evidence, port, claim).ok_or(None)? <= octets_of(bytes);
            if fits { Ok(()) } else { Err(Some(claim.level)) }
        }),
    }
}

fn octets_of(bytes: u64) -> i128 {
    i128::from(bytes) * 8 * UNIT
}

/// The most that queues of a level and above hold within its busy period, with a frame on the wire.
fn most_held(evidence: &PortCertificate, port: &Port, claim: &Claim) -> Option<i128> {
    let flows = || evidence.contenders.iter().filter(|flow| flow.level >= claim.level);
    let below = evidence.contenders.iter().filter(|flow| flow.level < claim.level);
    let below = below.map(|flow| flow.largest_frame).max().unwrap_or(0);
    let lower = i128::from(evidence.server.best_effort.max(below));
    let lower = (lower + i128::from(evidence.server.ahead)) * UNIT;
    let rate = i128::from(evidence.server.rate);
    let mut all = bundles(flows())?;
    let unadmitted = [port.control, port.imperfections.beside];
    all.extend(unadmitted.into_iter().filter_map(bucket));
    // A frame of theirs is no larger than the burst.
    let largest = |bucket: Control| bucket.burst.min(u64::from(port.largest_frame) * 8);
    let unadmitted = unadmitted.into_iter().flatten().map(largest);
    let frame = flows().map(|flow| flow.largest_frame).chain(unadmitted).max().unwrap_or(0);
    let pause = i128::from(claim.pause);
    let mut breaks = instants(&all, pause)?;
    breaks.extend([lower.div_euclid(rate), lower.div_euclid(rate) + 1, pause]);
    breaks.retain(|at| 0 < *at && *at <= pause);
    breaks.sort_unstable();
    breaks.dedup();
    if breaks.len().checked_mul(all.len())? > MOST_INSTANTS * 100 {
        return None;
    }
    // Between whole picoseconds a link brings no more than this.
    let between: i128 = all.iter().filter_map(|bundle| bundle.line).map(|(_, slope)| slope).sum();
    let held = |jumped: i128, at: i128| {
        let come: i128 = all.iter().map(|bundle| bundle.with_jumps(jumped, at)).sum();
        come - (rate * at - lower).max(0)
    };
    let (mut start, mut most) = (0, 0);
    for end in breaks {
        most = most.max(held(start, start)).max(held(start, end));
        for bundle in &all {
            if let Some(at) = bend(bundle, start) {
                let near = [at, at + 1].into_iter().filter(|at| (start..end).contains(at));
                most = near.map(|at| held(start, at)).fold(most, i128::max);
            }
        }
        start = end;
    }
    Some(most + between + i128::from(frame) * UNIT)
}

/// Where the line of the link and that of the flows cross, if nothing jumps after `start`.
fn bend(bundle: &Bundle, start: i128) -> Option<i128> {
    let (link_base, link_slope) = bundle.line?;
    let (base, slope) = bundle.side(Side::Flows, start);
    (base - link_base).checked_div(link_slope - slope)
}

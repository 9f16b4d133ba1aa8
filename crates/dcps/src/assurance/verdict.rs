//! What of a verdict is believed. Verdicts are not authenticated: whatever they say, a writer sends to the reader alone, from its own
//! socket, and no more slowly than it has declared itself.
use core::net::{IpAddr, SocketAddr};

use rtps::Path;
use wire::admission::{MOST_LOST, OfferedAssurance, Repairs, Request, Verdict};
use wire::{Duration, GuidPrefix, Instant};

use super::pair::duration;

/// A verdict of admission that is in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    /// The participant of the manager that has given it.
    pub(super) manager: GuidPrefix,
    /// The request that it answers.
    pub(super) serial: u64,
    pub(super) bound: u64,
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) dscp: u8,
    pub(super) separation: Duration,
    /// The waits that both sides keep, if it is with losses.
    pub(super) repairs: Option<Repairs>,
    /// When it ends unless it is repeated.
    pub(super) until: Instant,
}

impl Grant {
    /// True if it says the same, whenever it ends.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let same = Self { manager: self.manager, serial: self.serial, until: self.until, ..other.clone() };
        *self == same
    }
}

/// Until when a verdict holds that was heard now.
pub(super) fn lease_end(now: Instant, verdict: &Verdict) -> Instant {
    now.after(duration(verdict.lease))
}

/// The grant at the side of the reader; `None` if the verdict is not one that was asked for.
pub(super) fn for_reader(verdict: &Verdict, request: &Request) -> Option<Grant> {
    let separation = duration(request.contract.minimum_separation);
    let is_enough = (1..=request.maximum_latency).contains(&verdict.bound);
    let grant = grant(verdict, separation)?;
    let is_asked = match (request.losses.asked(), &grant.repairs) {
        (None, None) => true,
        (Some(asked), Some(kept)) => {
            kept.frames == asked.frames
                && kept.within == asked.within
                && kept.repairs == asked.repairs
                && kept.questions == asked.questions
                && kept.answered_at == asked.answered_at
        }
        _ => false,
    };
    (is_asked && is_enough && verdict.source == request.source).then_some(grant)
}

/// The grant at the side of the writer, whose reader has announced these addresses; `None` if it would make the writer send anywhere
/// else, from elsewhere, or more slowly than it has declared.
pub(super) fn for_writer(
    verdict: &Verdict,
    offered: &OfferedAssurance,
    announced: &[SocketAddr],
) -> Option<Grant> {
    let grant = grant(verdict, duration(offered.contract.minimum_separation))?;
    let to = grant.destination;
    let is_meant = announced.contains(&to) || is_organisation_local(to.ip());
    let repairs = offered.repairs.map(|repairs| repairs.source);
    let is_own = grant.repairs.is_none_or(|kept| repairs == Some(kept.repairs));
    (is_own && is_meant && verdict.source == offered.source).then_some(grant)
}

/// What holds at both sides.
fn grant(verdict: &Verdict, separation: Duration) -> Option<Grant> {
    let (source, destination) = (verdict.source.addr()?, verdict.destination.addr()?);
    let to = destination.ip();
    let is_broadcast = matches!(to, IpAddr::V4(four) if four.is_broadcast());
    let is_address = source.is_ipv4() == destination.is_ipv4()
        && !is_broadcast
        && (!to.is_multicast() || is_organisation_local(to));
    let paced = match duration(verdict.separation) {
        Duration::ZERO => separation,
        said => said,
    };
    let is_plausible =
        is_address && verdict.bound > 0 && verdict.lease > 0 && verdict.dscp < 64 && paced <= separation;
    let repairs = Some(verdict.losses).filter(|kept| kept.frames > 0);
    let is_plausible = is_plausible && repairs.as_ref().is_none_or(is_kept);
    is_plausible.then_some(Grant {
        repairs,
        manager: GuidPrefix::UNKNOWN,
        serial: verdict.serial,
        bound: verdict.bound,
        source,
        destination,
        dscp: verdict.dscp,
        separation: paced,
        until: Instant::START,
    })
}

/// Whether these are times, sizes and classes that can be kept.
fn is_kept(kept: &Repairs) -> bool {
    let times = [kept.heartbeat, kept.patience, kept.again, kept.spacing];
    (1..=MOST_LOST).contains(&kept.frames)
        && times.iter().all(|time| (1..i64::MAX.unsigned_abs()).contains(time))
        && kept.heartbeat >= kept.spacing
        && kept.again >= kept.spacing
        && kept.datagram >= Path::MIN_DATAGRAM
        && kept.repairs_dscp < 64
        && kept.questions_dscp < 64
        && [kept.repairs, kept.questions, kept.answered_at].iter().all(|socket| socket.addr().is_some())
}

/// Groups that an organisation gives out by itself: 239.192.0.0/14 (RFC 2365, 6.2), and those of IPv6 with the scope of an organisation that are
/// given out for a time, ff18::/16 (RFC 4291, 2.7).
const fn is_organisation_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [first, second, ..] = four.octets();
            first == 239 && second & 0xfc == 192
        }
        IpAddr::V6(six) => six.segments()[0] == 0xff18,
    }
}

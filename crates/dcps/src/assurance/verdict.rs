//! What of a verdict is believed. Verdicts are not authenticated: whatever they say, a writer sends to the reader alone, from its own
//! socket, and no more slowly than it has declared itself.
use core::net::{Ipv4Addr, SocketAddrV4};

use wire::admission::{OfferedAssurance, Request, Verdict};
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
    pub(super) source: SocketAddrV4,
    pub(super) destination: SocketAddrV4,
    pub(super) dscp: u8,
    pub(super) separation: Duration,
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
    (is_enough && verdict.source == request.source).then_some(grant)
}

/// The grant at the side of the writer, whose reader has announced these addresses; `None` if it would make the writer send anywhere
/// else, from elsewhere, or more slowly than it has declared.
pub(super) fn for_writer(
    verdict: &Verdict,
    offered: &OfferedAssurance,
    announced: &[SocketAddrV4],
) -> Option<Grant> {
    let grant = grant(verdict, duration(offered.contract.minimum_separation))?;
    let to = grant.destination;
    let is_meant = announced.contains(&to) || is_organisation_local(*to.ip());
    (is_meant && verdict.source == offered.source).then_some(grant)
}

/// What holds at both sides.
fn grant(verdict: &Verdict, separation: Duration) -> Option<Grant> {
    let (source, destination) = (verdict.source.addr()?, verdict.destination.addr()?);
    let to = *destination.ip();
    let is_address = !to.is_broadcast() && (!to.is_multicast() || is_organisation_local(to));
    let paced = match duration(verdict.separation) {
        Duration::ZERO => separation,
        said => said,
    };
    let is_plausible =
        is_address && verdict.bound > 0 && verdict.lease > 0 && verdict.dscp < 64 && paced <= separation;
    is_plausible.then_some(Grant {
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

/// 239.192.0.0/14, groups that an organisation gives out by itself (RFC 2365, 6.2).
const fn is_organisation_local(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    first == 239 && second & 0xfc == 192
}

//! Between the words of `wan` and those of the local socket.
use wan::{
    AggregateId, Asking, Asn, Class, Direction, FlowKind, FlowRequest, HeldAggregate, LegId, OpenLeg, Reason,
    Refusal, SessionId, SessionRequest, TSpec,
};

use crate::domain_file::{DomainFile, class, class_name};
use crate::protocol::{Admitted, AggregateStatus, Bound, BoundKind, Flow, Refused, SessionAsked};

const KINDS: [(&str, FlowKind); 3] =
    [("data", FlowKind::Data), ("acknack", FlowKind::AckNack), ("discovery", FlowKind::Discovery)];
const ASKING: [(&str, Asking); 2] = [("hop-by-hop", Asking::HopByHop), ("direct", Asking::Direct)];
const DIRECTIONS: [(&str, Direction); 2] = [("forward", Direction::Forward), ("reverse", Direction::Reverse)];

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, it)| *it);
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(known, _)| *known).collect();
        format!("\"{}\" is none of {}", name.escape_default(), known.join(", "))
    })
}

fn name_of<'n, T: PartialEq>(all: &[(&'n str, T)], it: &T) -> &'n str {
    all.iter().find(|(_, known)| known == it).map_or("", |(name, _)| name)
}

/// The class of a name.
pub(crate) fn class_of(name: &str) -> Result<Class, String> {
    class(name).ok_or_else(|| format!("\"{}\" is no class: write ef, af4 or af1", name.escape_default()))
}

/// What a session is called.
pub(crate) fn session_name(id: SessionId) -> String {
    format!("{}-{}", id.origin.0, id.number)
}

/// The session of a name.
pub(crate) fn session_of(name: &str) -> Result<SessionId, String> {
    let parts = name.split_once('-').and_then(|(origin, number)| {
        Some(SessionId { origin: Asn(origin.parse().ok()?), number: number.parse().ok()? })
    });
    parts.ok_or_else(|| {
        format!(
            "\"{}\" is no session: they are called as 65001-7, by domain and number",
            name.escape_default()
        )
    })
}

fn flow_request(flow: &Flow) -> Result<FlowRequest, String> {
    let desired = TSpec {
        rate: flow.rate,
        bucket: flow.bucket,
        peak: flow.rate,
        least_unit: flow.largest_packet,
        largest_packet: flow.largest_packet,
    };
    if !desired.is_valid() {
        return Err("the traffic of a flow makes no sense: its rate and largest packet are above 0, and its bucket holds the largest packet".to_owned());
    }
    Ok(FlowRequest {
        kind: named(&KINDS, &flow.kind)?,
        direction: named(&DIRECTIONS, &flow.direction)?,
        protocol: flow.protocol,
        source_port: flow.source_port,
        destination_port: flow.destination_port,
        class: class_of(&flow.class)?,
        desired,
        least_rate: flow.least_rate,
        limit: flow.limit,
        most_loss: flow.most_loss,
        copies: flow.copies,
        asking: named(&ASKING, &flow.asking)?,
    })
}

/// A flow as programs of callees are told.
pub(crate) fn flow(of: &FlowRequest) -> Flow {
    Flow {
        kind: name_of(&KINDS, &of.kind).to_owned(),
        direction: name_of(&DIRECTIONS, &of.direction).to_owned(),
        protocol: of.protocol,
        source_port: of.source_port,
        destination_port: of.destination_port,
        class: class_name(of.class).to_owned(),
        rate: of.desired.rate,
        bucket: of.desired.bucket,
        largest_packet: of.desired.largest_packet,
        least_rate: of.least_rate,
        limit: of.limit,
        most_loss: of.most_loss,
        copies: of.copies,
        asking: name_of(&ASKING, &of.asking).to_owned(),
    }
}

/// A session that is asked for, by what the file calls users and services.
///
/// # Errors
/// What is unknown or makes no sense.
pub(crate) fn request(asked: &SessionAsked, file: &DomainFile) -> Result<SessionRequest, String> {
    // Names that the file does not have get numbers that it does not have: `wan` says then that the user or the service is unknown.
    let unknown = |numbers: &std::collections::BTreeMap<String, u32>| {
        (0..=u32::MAX).rev().find(|id| !numbers.values().any(|other| other == id)).unwrap_or(0)
    };
    let number = |numbers: &std::collections::BTreeMap<String, u32>, name: &str| {
        numbers.get(name).copied().unwrap_or_else(|| unknown(numbers))
    };
    Ok(SessionRequest {
        user: number(&file.users, &asked.user),
        service: number(&file.services, &asked.service),
        caller: asked.caller,
        callees: asked.callees.clone(),
        flows: asked.flows.iter().map(flow_request).collect::<Result<_, _>>()?,
        lasts: asked.lasts,
    })
}

/// Which copy of a flow, from 1.
fn copy(leg: &LegId) -> u8 {
    1 + u8::from(leg.is_second_copy())
}

fn numbers(domains: &[Asn]) -> Vec<u32> {
    domains.iter().map(|asn| asn.0).collect()
}

/// A flow of a session that is there, with its bound.
pub(crate) fn open_leg(of: &OpenLeg) -> Bound {
    Bound {
        flow: of.leg.number(),
        to: of.leg.peer.0,
        copy: copy(&of.leg),
        path: numbers(&of.path),
        kind: BoundKind::of(of.loss),
        delay: of.delay,
        loss: of.loss,
        price: of.price,
        rate: of.flow.desired.rate,
        bucket: of.flow.desired.bucket,
        dscp: of.flow.class.dscp(),
    }
}

/// A flow that was admitted, with its bound.
fn bound(of: &wan::Bound) -> Bound {
    Bound {
        flow: of.leg.number(),
        to: of.leg.peer.0,
        copy: copy(&of.leg),
        path: numbers(&of.path),
        delay: of.delay,
        kind: BoundKind::of(of.loss),
        loss: of.loss,
        price: of.price,
        rate: of.traffic.rate,
        bucket: of.traffic.bucket,
        dscp: of.dscp,
    }
}

/// The answer to a session that is admitted.
pub(crate) fn admitted(
    id: SessionId,
    peers: &[Asn],
    bounds: &[wan::Bound],
    ends: u64,
    caveat: Option<&str>,
) -> Admitted {
    Admitted {
        session: session_name(id),
        peers: numbers(peers),
        bounds: bounds.iter().map(bound).collect(),
        ends,
        caveat: caveat.map(str::to_owned),
    }
}

/// A refusal in words that programs can tell apart.
pub(crate) fn refused(refusal: &Refusal) -> Refused {
    let (mut missing_offer, mut unit, mut other) = ((None, None), None, None);
    let mut amount = |missing: u64, offer: u64, of: &'static str| {
        missing_offer = (Some(missing), Some(offer));
        unit = Some(of);
    };
    let reason = match &refusal.reason {
        Reason::Invalid => "invalid",
        Reason::UnknownUser => "unknown-user",
        Reason::UnknownService => "unknown-service",
        Reason::ContractExpired => "contract-expired",
        Reason::ClassNotAgreed => "class-not-agreed",
        Reason::DestinationNotAgreed(asn) => {
            other = Some(asn.0);
            "destination-not-agreed"
        }
        Reason::Quota { missing, offer } => {
            amount(*missing, *offer, "bit/s");
            "quota"
        }
        Reason::TooManySessions => "too-many-sessions",
        Reason::ServiceFull { missing, offer } => {
            amount(*missing, *offer, "bit/s");
            "service-full"
        }
        Reason::ForeignSource { owner } => {
            other = owner.map(|asn| asn.0);
            "foreign-source"
        }
        Reason::UnknownDestination(_) => "unknown-destination",
        Reason::NoPath { offer } => {
            (missing_offer, unit) = ((None, *offer), offer.map(|_| "ns"));
            "no-path"
        }
        Reason::NoAgreement => "no-agreement",
        Reason::Rate { missing, offer } => {
            amount(*missing, *offer, "bit/s");
            "rate"
        }
        Reason::Burst { missing, offer } => {
            amount(*missing, *offer, "bytes");
            "burst"
        }
        Reason::Delay { missing, offer } => {
            amount(*missing, *offer, "ns");
            "delay"
        }
        Reason::Loss { missing, offer } => {
            amount(u64::from(*missing), u64::from(*offer), "ppm");
            "loss"
        }
        Reason::CalleeRefused => "callee-refused",
        Reason::NoAnswer => "no-answer",
        Reason::LinkDown => "link-down",
        Reason::Busy => "busy",
        Reason::UnknownSession => "unknown-session",
        Reason::Stopped => "stopped",
        Reason::TimeOver => "time-over",
        Reason::Device(_) => "device",
        Reason::NotAuthorized(_) => "not-authorized",
        Reason::AaaUnavailable(_) => "aaa-unavailable",
        Reason::Aborted => "aborted",
        Reason::GrantOver => "grant-over",
        Reason::NotDisjoint { .. } => "not-disjoint",
        Reason::CannotDuplicate => "cannot-duplicate",
        Reason::DirectNotAgreed => "direct-not-agreed",
        Reason::Moved(_) => "moved",
    };
    Refused {
        asn: refusal.asn.0,
        link: refusal.link.map(|link| link.0),
        reason: reason.to_owned(),
        missing: missing_offer.0,
        offer: missing_offer.1,
        unit: unit.map(str::to_owned),
        other,
        text: refusal.to_string(),
    }
}

/// What passes a domain.
pub(crate) fn aggregate(id: AggregateId, held: &HeldAggregate) -> AggregateStatus {
    let asked = &held.asked;
    AggregateStatus {
        tunnel: format!("{}-{}", id.tunnel.origin.0, id.tunnel.number),
        class: class_name(id.class).to_owned(),
        path: numbers(&asked.path),
        rate: asked.traffic.rate,
        bucket: asked.traffic.bucket,
        label_in: (asked.position > 0).then_some(held.label_in),
        label_out: held.label_out,
        link_out: held.link_out.map(|link| link.0),
    }
}

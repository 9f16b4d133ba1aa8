//! What clients are shown of sessions and profiles.
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use wan_server::protocol::{BoundKind, Flow};

use crate::body::{ApplicationServer, Device, Ports};
use crate::record::{Session, State, Why};
use crate::refusal::{remedy, text};
use crate::service_file::{Profile, ProfileStatus};
use crate::uuid::Uuid;

/// Milliseconds since 1970 as RFC 3339 has them.
pub(crate) fn time(milliseconds: u64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(milliseconds) * 1_000_000);
    at.ok().and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_else(|| "9999-12-31T23:59:59Z".to_owned())
}

/// The word for a state.
pub(crate) fn status(state: State) -> &'static str {
    match state {
        State::Requested => "REQUESTED",
        State::Available { .. } => "AVAILABLE",
        State::Unavailable { .. } => "UNAVAILABLE",
    }
}

/// A session as CAMARA has it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info<'s> {
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'s Device>,
    application_server: &'s ApplicationServer,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_ports: Option<&'s Ports>,
    #[serde(skip_serializing_if = "Option::is_none")]
    application_server_ports: Option<&'s Ports>,
    qos_profile: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sink: Option<&'s str>,
    session_id: Uuid,
    duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    qos_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_info: Option<Why>,
}

/// What a client is shown of a session.
pub fn info(session: &Session) -> Info<'_> {
    let promised = u64::from(session.duration);
    let (since, until, why, duration) = match session.state {
        State::Requested => (None, None, None, promised),
        State::Available { since, until } => (Some(since), Some(until), None, promised),
        State::Unavailable { why, since, at } => {
            let lasted = since.map_or(promised, |since| (at.saturating_sub(since) / 1_000).max(1));
            (since, Some(at), Some(why), lasted)
        }
    };
    Info {
        device: session.device.as_ref(),
        application_server: &session.application_server,
        device_ports: session.device_ports.as_ref(),
        application_server_ports: session.application_server_ports.as_ref(),
        qos_profile: &session.qos_profile,
        sink: session.sink.as_deref(),
        session_id: session.id,
        duration,
        started_at: since.map(time),
        expires_at: until.map(time),
        qos_status: status(session.state),
        status_info: why,
    }
}

/// A flow of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FlowShown<'s> {
    direction: &'static str,
    protocol: u8,
    /// 0 is any.
    source_port: u16,
    destination_port: u16,
    class: &'s str,
    rate: u64,
    burst: u64,
    largest_packet: u32,
    limit: u64,
}

/// What a domain of servers was promised of a flow.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BoundShown<'s> {
    flow: u8,
    domain: u32,
    copy: u8,
    path: &'s [u32],
    /// Whether the delay is one of every packet, or of what arrives.
    kind: BoundKind,
    delay: u64,
    /// Packets of a million that do not arrive, at most.
    loss: u32,
    rate: u64,
    burst: u64,
    dscp: u8,
}

/// Who refused or ended it, and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RefusedShown<'s> {
    domain: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<u32>,
    reason: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offer: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'s str>,
    text: String,
    remedy: String,
}

/// The bounds of a session, or why it has none.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bounds<'s> {
    session_id: Uuid,
    qos_status: &'static str,
    flows: Vec<FlowShown<'s>>,
    bounds: Vec<BoundShown<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caveat: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedShown<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'s str>,
}

fn flow(of: &Flow) -> FlowShown<'_> {
    FlowShown {
        direction: if of.direction == "forward" { "upstream" } else { "downstream" },
        protocol: of.protocol,
        source_port: of.source_port,
        destination_port: of.destination_port,
        class: &of.class,
        rate: of.rate,
        burst: of.bucket,
        largest_packet: of.largest_packet,
        limit: of.limit,
    }
}

/// What a client is shown of the bounds of its session: they hold only while it is available.
pub fn bounds(session: &Session) -> Bounds<'_> {
    let holds = matches!(session.state, State::Available { .. });
    let admitted = session.admitted.as_ref().filter(|_| holds);
    let bounds = admitted.iter().flat_map(|admitted| &admitted.bounds).map(|bound| BoundShown {
        flow: bound.flow,
        domain: bound.to,
        copy: bound.copy,
        path: &bound.path,
        kind: bound.kind,
        delay: bound.delay,
        loss: bound.loss,
        rate: bound.rate,
        burst: bound.bucket,
        dscp: bound.dscp,
    });
    Bounds {
        session_id: session.id,
        qos_status: status(session.state),
        flows: session.asked.flows.iter().map(flow).collect(),
        bounds: bounds.collect(),
        caveat: admitted.and_then(|admitted| admitted.caveat.as_deref()),
        refused: session.refused.as_ref().map(|why| RefusedShown {
            domain: why.asn,
            link: why.link,
            reason: &why.reason,
            missing: why.missing,
            offer: why.offer,
            unit: why.unit.as_deref(),
            text: text(why),
            remedy: remedy(why),
        }),
        note: session.note.as_deref(),
    }
}

/// A quantity with a unit.
#[derive(PartialEq, Eq, Debug, Serialize)]
struct Quantity {
    value: u64,
    unit: &'static str,
}

/// A profile as CAMARA has it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileInfo<'s> {
    name: &'s str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'s str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_min_upstream_rate: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_min_downstream_rate: Option<Quantity>,
    min_duration: Quantity,
    max_duration: Quantity,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet_delay_budget: Option<Quantity>,
}

/// Bits per second in a unit of which there are at most 1,024, rounded down: what is said to be reserved is.
fn rate(bits: u64) -> Quantity {
    let units = [(1, "bps"), (1_000, "kbps"), (1_000_000, "Mbps"), (1_000_000_000, "Gbps")];
    let found = units.iter().find(|(scale, _)| bits / scale <= 1_024);
    let (scale, unit) = found.copied().unwrap_or((1_000_000_000_000, "Tbps"));
    Quantity { value: (bits / scale).min(1_024), unit }
}

/// A time in the largest unit of which it is a whole number, or rounded up.
fn delay(nanoseconds: u64) -> Quantity {
    let units = [
        (1_000_000_000, "Seconds"),
        (1_000_000, "Milliseconds"),
        (1_000, "Microseconds"),
        (1, "Nanoseconds"),
    ];
    let fits = |scale: u64| nanoseconds.div_ceil(scale) <= 2_147_483_647;
    let whole = units.iter().find(|(scale, _)| nanoseconds.is_multiple_of(*scale) && fits(*scale));
    let (scale, unit) = whole
        .or_else(|| units.iter().rev().find(|(scale, _)| fits(*scale)))
        .copied()
        .unwrap_or((1_000_000_000, "Seconds"));
    Quantity { value: nanoseconds.div_ceil(scale), unit }
}

/// The word for the status of a profile.
pub(crate) fn profile_status(profile: &Profile) -> &'static str {
    match profile.status {
        ProfileStatus::Active => "ACTIVE",
        ProfileStatus::Inactive => "INACTIVE",
        ProfileStatus::Deprecated => "DEPRECATED",
    }
}

/// What a client is shown of a profile.
pub fn profile_info(profile: &Profile) -> ProfileInfo<'_> {
    let seconds = |value: u32| Quantity { value: value.into(), unit: "Seconds" };
    let limits = [&profile.upstream, &profile.downstream].into_iter().flatten().map(|flow| flow.limit);
    ProfileInfo {
        name: &profile.name,
        description: profile.description.as_deref(),
        status: profile_status(profile),
        target_min_upstream_rate: profile.upstream.as_ref().map(|flow| rate(flow.rate)),
        target_min_downstream_rate: profile.downstream.as_ref().map(|flow| rate(flow.rate)),
        min_duration: seconds(profile.least_duration),
        max_duration: seconds(profile.most_duration),
        packet_delay_budget: limits.max().map(delay),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded_down_and_delays_up() {
        for (bits, value, unit) in [
            (1, 1, "bps"),
            (1_024, 1_024, "bps"),
            (1_025, 1, "kbps"),
            (1_000_000, 1_000, "kbps"),
            (1_500_000, 1, "Mbps"),
            (u64::MAX, 1_024, "Tbps"),
        ] {
            assert_eq!(rate(bits), Quantity { value, unit }, "{bits}");
        }
        for (nanoseconds, value, unit) in [
            (1, 1, "Nanoseconds"),
            (25_000_000, 25, "Milliseconds"),
            (1_500_000, 1_500, "Microseconds"),
            (2_000_000_000, 2, "Seconds"),
            (3_600_000_000_001, 3_600_001, "Milliseconds"),
        ] {
            assert_eq!(delay(nanoseconds), Quantity { value, unit }, "{nanoseconds}");
        }
        assert_eq!(time(1_717_243_200_000), "2024-06-01T12:00:00Z");
    }
}

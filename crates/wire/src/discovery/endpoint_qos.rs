//! QoS policies as parameters (RTPS 2.5, table 9.14; XTypes 1.3, 7.6.3.1 and 7.6.3.4).
use alloc::string::String;
use alloc::vec::Vec;

use super::{MAX_PARTITIONS, name, required};
use crate::cursor::Cursor;
use crate::parameter::{Parameter, ParameterError, ParameterReason, ParameterWriter, pid, value};
use crate::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History,
    Liveliness, LivelinessKind, Ownership, Presentation, Reliability, ReliabilityKind, ResourceLimits,
    TypeConsistency,
};

/// Appends RELIABILITY and DURABILITY, which older peers do not know the defaults of, and what is not the default.
pub(super) fn write(list: &mut ParameterWriter<'_>, qos: &EndpointQos) {
    let default = EndpointQos::reader();
    list.with(pid::RELIABILITY, |out| {
        let kind: u32 = match qos.reliability.kind {
            ReliabilityKind::BestEffort => 1,
            ReliabilityKind::Reliable => 2,
        };
        out.extend_from_slice(&kind.to_le_bytes());
        value::put_duration(out, qos.reliability.max_blocking_time);
    });
    list.octets(pid::DURABILITY, &(qos.durability as u32).to_le_bytes());
    if qos.durability_service != default.durability_service {
        list.with(pid::DURABILITY_SERVICE, |out| {
            value::put_duration(out, qos.durability_service.cleanup_delay);
            put_history(out, qos.durability_service.history);
            put_limits(out, &qos.durability_service.limits);
        });
    }
    let durations = [
        (pid::DEADLINE, qos.deadline, default.deadline),
        (pid::LATENCY_BUDGET, qos.latency_budget, default.latency_budget),
        (pid::LIFESPAN, qos.lifespan, default.lifespan),
        (pid::TIME_BASED_FILTER, qos.time_based_filter, default.time_based_filter),
    ];
    for (pid, duration, default) in durations {
        if duration != default {
            list.with(pid, |out| value::put_duration(out, duration));
        }
    }
    if qos.liveliness != default.liveliness {
        list.with(pid::LIVELINESS, |out| {
            out.extend_from_slice(&(qos.liveliness.kind as u32).to_le_bytes());
            value::put_duration(out, qos.liveliness.lease_duration);
        });
    }
    // Also a strength of 0, and that of a reader, who has none: RustDDS takes EXCLUSIVE without it for SHARED.
    let exclusive = qos.ownership == Ownership::Exclusive;
    let numbers = [
        (pid::OWNERSHIP, qos.ownership as i32),
        (pid::OWNERSHIP_STRENGTH, qos.ownership_strength),
        (pid::DESTINATION_ORDER, qos.destination_order as i32),
        (pid::TRANSPORT_PRIORITY, qos.transport_priority),
    ];
    for (pid, number) in numbers {
        if number != 0 || (exclusive && pid == pid::OWNERSHIP_STRENGTH) {
            list.octets(pid, &number.to_le_bytes());
        }
    }
    if qos.presentation != default.presentation {
        list.with(pid::PRESENTATION, |out| {
            out.extend_from_slice(&(qos.presentation.access_scope as u32).to_le_bytes());
            let flags = [qos.presentation.coherent_access, qos.presentation.ordered_access];
            out.extend(flags.map(u8::from));
        });
    }
    write_lists(list, qos);
    if qos.history != default.history {
        list.with(pid::HISTORY, |out| put_history(out, qos.history));
    }
    if qos.resource_limits != default.resource_limits {
        list.with(pid::RESOURCE_LIMITS, |out| put_limits(out, &qos.resource_limits));
    }
    if qos.type_consistency != default.type_consistency {
        list.with(pid::TYPE_CONSISTENCY_ENFORCEMENT, |out| put_type_consistency(out, &qos.type_consistency));
    }
}

fn write_lists(list: &mut ParameterWriter<'_>, qos: &EndpointQos) {
    let data = [
        (pid::USER_DATA, &qos.user_data),
        (pid::TOPIC_DATA, &qos.topic_data),
        (pid::GROUP_DATA, &qos.group_data),
    ];
    for (pid, bytes) in data {
        if !bytes.is_empty() {
            list.with(pid, |out| value::put_octets(out, bytes));
        }
    }
    if !qos.partition.is_empty() {
        list.with(pid::PARTITION, |out| {
            let start = out.len();
            value::put_len(out, qos.partition.len());
            for name in &qos.partition {
                let padding = start.wrapping_sub(out.len()) % 4;
                out.extend_from_slice([0, 0, 0].get(..padding).unwrap_or(&[]));
                value::put_text(out, name);
            }
        });
    }
    if !qos.representation.is_empty() {
        list.with(pid::DATA_REPRESENTATION, |out| {
            value::put_len(out, qos.representation.len());
            for id in &qos.representation {
                out.extend_from_slice(&id.0.to_le_bytes());
            }
        });
    }
}

/// Reads one parameter into `qos`; false if it is no QoS policy, or is PARTITION (see `partition`).
pub(super) fn read(qos: &mut EndpointQos, parameter: &Parameter<'_>) -> Result<bool, ParameterError> {
    let (pid, fields) = (parameter.pid, &mut parameter.cursor());
    match pid {
        pid::RELIABILITY => qos.reliability = required(pid, reliability(fields))?,
        pid::DURABILITY => qos.durability = required(pid, durability(fields))?,
        pid::DURABILITY_SERVICE => qos.durability_service = required(pid, durability_service(fields))?,
        pid::DEADLINE => qos.deadline = required(pid, value::duration(fields))?,
        pid::LATENCY_BUDGET => qos.latency_budget = required(pid, value::duration(fields))?,
        pid::LIFESPAN => qos.lifespan = required(pid, value::duration(fields))?,
        pid::TIME_BASED_FILTER => qos.time_based_filter = required(pid, value::duration(fields))?,
        pid::LIVELINESS => qos.liveliness = required(pid, liveliness(fields))?,
        pid::OWNERSHIP => qos.ownership = required(pid, ownership(fields))?,
        pid::OWNERSHIP_STRENGTH => qos.ownership_strength = required(pid, fields.i32())?,
        pid::DESTINATION_ORDER => qos.destination_order = required(pid, destination_order(fields))?,
        pid::TRANSPORT_PRIORITY => qos.transport_priority = required(pid, fields.i32())?,
        pid::PRESENTATION => qos.presentation = required(pid, presentation(fields))?,
        pid::USER_DATA => qos.user_data = required(pid, value::octets(fields))?,
        pid::TOPIC_DATA => qos.topic_data = required(pid, value::octets(fields))?,
        pid::GROUP_DATA => qos.group_data = required(pid, value::octets(fields))?,
        pid::DATA_REPRESENTATION => qos.representation = required(pid, representation(fields))?,
        pid::HISTORY => qos.history = required(pid, history(fields))?,
        pid::RESOURCE_LIMITS => qos.resource_limits = required(pid, limits(fields))?,
        pid::TYPE_CONSISTENCY_ENFORCEMENT => qos.type_consistency = required(pid, type_consistency(fields))?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Reads PARTITION. It is read apart from the others, once per record, because it is the one parameter that costs an allocation
/// per eight bytes. Names stand at multiples of four, so that `count` of them take 8 * `count` - 3 bytes at least.
pub(super) fn partition(fields: &mut Cursor<'_>) -> Result<Vec<String>, ParameterError> {
    let wrong = ParameterError { pid: pid::PARTITION, reason: ParameterReason::Value };
    let count = fields.u32().and_then(|count| usize::try_from(count).ok()).ok_or(wrong)?;
    if count > MAX_PARTITIONS || count > fields.remaining().saturating_add(3) / 8 {
        return Err(wrong);
    }
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        fields.align(4).ok_or(wrong)?;
        names.push(name(pid::PARTITION, fields)?);
    }
    Ok(names)
}

fn reliability(fields: &mut Cursor<'_>) -> Option<Reliability> {
    let kind = match fields.u32()? {
        1 => ReliabilityKind::BestEffort,
        2 => ReliabilityKind::Reliable,
        _ => return None,
    };
    Some(Reliability { kind, max_blocking_time: value::duration(fields)? })
}

fn durability(fields: &mut Cursor<'_>) -> Option<Durability> {
    Some(match fields.u32()? {
        0 => Durability::Volatile,
        1 => Durability::TransientLocal,
        2 => Durability::Transient,
        3 => Durability::Persistent,
        _ => return None,
    })
}

fn durability_service(fields: &mut Cursor<'_>) -> Option<DurabilityService> {
    let cleanup_delay = value::duration(fields)?;
    Some(DurabilityService { cleanup_delay, history: history(fields)?, limits: limits(fields)? })
}

/// A depth below 1 (some peers send zeros where they mean nothing) counts as 1.
fn history(fields: &mut Cursor<'_>) -> Option<History> {
    let (kind, depth) = (fields.u32()?, fields.i32()?);
    match kind {
        0 => Some(History::KeepLast(u32::try_from(depth).unwrap_or(0).max(1))),
        1 => Some(History::KeepAll),
        _ => None,
    }
}

fn put_history(out: &mut Vec<u8>, history: History) {
    let (kind, depth) = match history {
        History::KeepLast(depth) => (0u32, i32::try_from(depth).unwrap_or(i32::MAX)),
        History::KeepAll => (1, 1),
    };
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&depth.to_le_bytes());
}

/// A limit below 1 is none: -1 is the standard's word for it, 0 what some peers send.
fn limits(fields: &mut Cursor<'_>) -> Option<ResourceLimits> {
    let mut limit = || Some(u32::try_from(fields.i32()?).ok().filter(|limit| *limit > 0));
    Some(ResourceLimits {
        max_samples: limit()?,
        max_instances: limit()?,
        max_samples_per_instance: limit()?,
    })
}

fn put_limits(out: &mut Vec<u8>, limits: &ResourceLimits) {
    for limit in [limits.max_samples, limits.max_instances, limits.max_samples_per_instance] {
        let limit = limit.map_or(-1, |limit| i32::try_from(limit).unwrap_or(i32::MAX));
        out.extend_from_slice(&limit.to_le_bytes());
    }
}

fn liveliness(fields: &mut Cursor<'_>) -> Option<Liveliness> {
    let kind = match fields.u32()? {
        0 => LivelinessKind::Automatic,
        1 => LivelinessKind::ManualByParticipant,
        2 => LivelinessKind::ManualByTopic,
        _ => return None,
    };
    Some(Liveliness { kind, lease_duration: value::duration(fields)? })
}

fn ownership(fields: &mut Cursor<'_>) -> Option<Ownership> {
    Some(match fields.u32()? {
        0 => Ownership::Shared,
        1 => Ownership::Exclusive,
        _ => return None,
    })
}

fn destination_order(fields: &mut Cursor<'_>) -> Option<DestinationOrder> {
    Some(match fields.u32()? {
        0 => DestinationOrder::ByReceptionTimestamp,
        1 => DestinationOrder::BySourceTimestamp,
        _ => return None,
    })
}

fn presentation(fields: &mut Cursor<'_>) -> Option<Presentation> {
    let access_scope = match fields.u32()? {
        0 => AccessScope::Instance,
        1 => AccessScope::Topic,
        2 => AccessScope::Group,
        _ => return None,
    };
    let coherent_access = value::boolean(fields)?;
    Some(Presentation { access_scope, coherent_access, ordered_access: value::boolean(fields)? })
}

fn representation(fields: &mut Cursor<'_>) -> Option<Vec<DataRepresentation>> {
    let count = usize::try_from(fields.u32()?).ok()?;
    let mut ids = Cursor::new(fields.take(count.checked_mul(2)?)?, fields.endianness());
    let mut representation = Vec::with_capacity(count);
    while let Some(id) = ids.u16() {
        representation.push(DataRepresentation(id.cast_signed()));
    }
    Some(representation)
}

/// A kind above 1 is a vendor's softer form of "allow". Flags that are not there (the last came later) keep their default.
fn type_consistency(fields: &mut Cursor<'_>) -> Option<TypeConsistency> {
    let default = TypeConsistency::default();
    Some(TypeConsistency {
        allow_type_coercion: fields.u16()? != 0,
        ignore_sequence_bounds: value::boolean(fields).unwrap_or(default.ignore_sequence_bounds),
        ignore_string_bounds: value::boolean(fields).unwrap_or(default.ignore_string_bounds),
        ignore_member_names: value::boolean(fields).unwrap_or(default.ignore_member_names),
        prevent_type_widening: value::boolean(fields).unwrap_or(default.prevent_type_widening),
        force_type_validation: value::boolean(fields).unwrap_or(default.force_type_validation),
    })
}

fn put_type_consistency(out: &mut Vec<u8>, rule: &TypeConsistency) {
    out.extend_from_slice(&u16::from(rule.allow_type_coercion).to_le_bytes());
    let flags = [
        rule.ignore_sequence_bounds,
        rule.ignore_string_bounds,
        rule.ignore_member_names,
        rule.prevent_type_widening,
        rule.force_type_validation,
    ];
    out.extend(flags.map(u8::from));
}

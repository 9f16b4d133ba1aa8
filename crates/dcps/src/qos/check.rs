//! Whether QoS makes sense, is supported, and may be changed (DDS 1.4, 2.2.3, table of policies).
use alloc::format;
use alloc::string::String;

use wire::Duration;
use wire::discovery::{MAX_NAME, MAX_PARTITIONS};
use wire::qos::{
    DataRepresentation, Durability, DurabilityService, EndpointQos, History, Presentation, ResourceLimits,
};

use super::{DataReaderQos, DataWriterQos, OfferedAssurance, assurance};
use crate::error::{Error, ReturnCode};

impl DataWriterQos {
    /// Checks every value, and the values against each other.
    ///
    /// # Errors
    /// `BadParameter`, `InconsistentPolicy` or `Unsupported`, with the policy and its values.
    pub fn check(&self) -> Result<(), Error> {
        let qos = &self.endpoint;
        endpoint(qos)?;
        own_limits(self.byte_limit, self.instance_limit)?;
        positive("LIFESPAN", "duration", qos.lifespan)?;
        not_negative("RELIABILITY", "max_blocking_time", qos.reliability.max_blocking_time)?;
        let service = &qos.durability_service;
        not_negative("DURABILITY_SERVICE", "service_cleanup_delay", service.cleanup_delay)?;
        history("DURABILITY_SERVICE", service.history, service.limits)?;
        if !(0..=63).contains(&qos.transport_priority) {
            return Err(Error::new(
                ReturnCode::BadParameter,
                "TRANSPORT_PRIORITY",
                format!("value {} is not a DSCP", qos.transport_priority),
                "use 0 (best effort) to 63: the value becomes the DSCP of the writer's packets",
            ));
        }
        self.flow_controller.map_or(Ok(()), |controller| controller.check(self.assurance.is_some()))?;
        if self.session_flow_controller.is_some() {
            let other = if self.flow_controller.is_some() { "a token bucket" } else { "ASSURANCE" };
            if self.flow_controller.is_some() || self.assurance.is_some() {
                return Err(Error::new(
                    ReturnCode::InconsistentPolicy,
                    "FLOW_CONTROL",
                    format!("the token bucket of sessions beside {other}"),
                    "leave one of them out: each says how much the writer sends",
                ));
            }
        }
        self.assurance.as_ref().map_or(Ok(()), OfferedAssurance::check)
    }

    /// Checks whether an enabled writer may change from this QoS to `new`, which is checked too.
    ///
    /// # Errors
    /// `ImmutablePolicy`, or what `check` says of `new`.
    pub fn check_change(&self, new: &Self) -> Result<(), Error> {
        immutable(&self.endpoint, &new.endpoint)?;
        assurance::presence_unchanged(self.assurance.is_some(), new.assurance.is_some())?;
        own_limits_unchanged((self.byte_limit, self.instance_limit), (new.byte_limit, new.instance_limit))?;
        let flows = |qos: &Self| (qos.flow_controller, qos.session_flow_controller);
        if flows(self) != flows(new) {
            return Err(unchangeable("FLOW_CONTROL"));
        }
        new.check()
    }
}

impl DataReaderQos {
    /// Checks every value, and the values against each other.
    ///
    /// # Errors
    /// `BadParameter`, `InconsistentPolicy` or `Unsupported`, with the policy and its values.
    pub fn check(&self) -> Result<(), Error> {
        let qos = &self.endpoint;
        endpoint(qos)?;
        own_limits(self.byte_limit, self.instance_limit)?;
        not_negative("TIME_BASED_FILTER", "minimum_separation", qos.time_based_filter)?;
        let lifecycle = &self.reader_data_lifecycle;
        not_negative(
            "READER_DATA_LIFECYCLE",
            "autopurge_nowriter_samples_delay",
            lifecycle.autopurge_nowriter_samples_delay,
        )?;
        not_negative(
            "READER_DATA_LIFECYCLE",
            "autopurge_disposed_samples_delay",
            lifecycle.autopurge_disposed_samples_delay,
        )?;
        if qos.deadline < qos.time_based_filter {
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                "DEADLINE",
                format!(
                    "period {} is shorter than TIME_BASED_FILTER minimum_separation {}",
                    qos.deadline, qos.time_based_filter
                ),
                "samples that the filter takes out would miss the deadline: make the period at least the separation",
            ));
        }
        self.assurance.as_ref().map_or(Ok(()), |wanted| {
            wanted.check()?;
            wanted.check_with(qos)
        })
    }

    /// Checks whether an enabled reader may change from this QoS to `new`, which is checked too.
    ///
    /// # Errors
    /// `ImmutablePolicy`, or what `check` says of `new`.
    pub fn check_change(&self, new: &Self) -> Result<(), Error> {
        immutable(&self.endpoint, &new.endpoint)?;
        assurance::presence_unchanged(self.assurance.is_some(), new.assurance.is_some())?;
        own_limits_unchanged((self.byte_limit, self.instance_limit), (new.byte_limit, new.instance_limit))?;
        new.check()
    }
}

fn endpoint(qos: &EndpointQos) -> Result<(), Error> {
    if qos.durability > Durability::TransientLocal {
        return Err(Error::new(
            ReturnCode::Unsupported,
            "DURABILITY",
            format!("kind {:?} is not supported", qos.durability),
            "use TransientLocal: late readers get the history while the writer lives",
        ));
    }
    presentation(qos.presentation)?;
    partition(&qos.partition)?;
    let data = [
        ("USER_DATA", qos.user_data.len()),
        ("TOPIC_DATA", qos.topic_data.len()),
        ("GROUP_DATA", qos.group_data.len()),
    ];
    let (largest, _) = data.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
    data_octets(largest, data.into_iter().fold(0, |sum, (_, bytes)| sum.saturating_add(bytes)))?;
    for (index, representation) in qos.representation.iter().enumerate() {
        if qos.representation.iter().take(index).any(|other| other == representation) {
            return Err(Error::new(
                ReturnCode::BadParameter,
                "DATA_REPRESENTATION",
                format!("id {} is listed twice", representation.0),
                "list each representation once, the preferred one first",
            ));
        }
        if ![DataRepresentation::XCDR1, DataRepresentation::XCDR2].contains(representation) {
            return Err(Error::new(
                ReturnCode::Unsupported,
                "DATA_REPRESENTATION",
                format!("id {} is not supported", representation.0),
                "use 0 (XCDR1) or 2 (XCDR2)",
            ));
        }
    }
    positive("DEADLINE", "period", qos.deadline)?;
    positive("LIVELINESS", "lease_duration", qos.liveliness.lease_duration)?;
    not_negative("LATENCY_BUDGET", "duration", qos.latency_budget)?;
    history("HISTORY", qos.history, qos.resource_limits)
}

/// Most bytes of USER_DATA, TOPIC_DATA and GROUP_DATA together: an announcement ends at 65,536 bytes.
pub const MAX_DATA_OCTETS: usize = 32_768;
/// Most bytes of PARTITION, each name counted with eight more.
pub const MAX_PARTITION_OCTETS: usize = 16_384;

pub(super) fn data_octets(place: &'static str, bytes: usize) -> Result<(), Error> {
    if bytes <= MAX_DATA_OCTETS {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::BadParameter,
        place,
        format!("{bytes} bytes of USER_DATA, TOPIC_DATA and GROUP_DATA together"),
        "use at most 32768: they travel in every announcement; publish larger data as a topic",
    ))
}

pub(super) fn presentation(presentation: Presentation) -> Result<(), Error> {
    if presentation == Presentation::default() {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::Unsupported,
        "PRESENTATION",
        format!("{presentation:?} is not supported"),
        "use access scope Instance without coherent or ordered access",
    ))
}

pub(super) fn partition(names: &[String]) -> Result<(), Error> {
    let wrong = |what: String, advice| Err(Error::new(ReturnCode::BadParameter, "PARTITION", what, advice));
    if names.len() > MAX_PARTITIONS {
        return wrong(format!("{} names", names.len()), "use at most 256 names; a name may be a pattern");
    }
    if let Some(name) = names.iter().find(|name| name.len() > MAX_NAME || name.contains('\0')) {
        return wrong(format!("name {name:?}"), "use names of at most 256 bytes without a NUL");
    }
    let bytes = names.iter().fold(0, |sum: usize, name| sum.saturating_add(name.len()).saturating_add(8));
    if bytes > MAX_PARTITION_OCTETS {
        return wrong(
            format!("{bytes} bytes of names"),
            "use at most 16384, each name counted with eight more: they travel in every announcement",
        );
    }
    Ok(())
}

fn history(place: &'static str, history: History, limits: ResourceLimits) -> Result<(), Error> {
    let all = [
        ("max_samples", limits.max_samples),
        ("max_instances", limits.max_instances),
        ("max_samples_per_instance", limits.max_samples_per_instance),
    ];
    for (name, limit) in all {
        if limit == Some(0) {
            return Err(Error::new(
                ReturnCode::BadParameter,
                "RESOURCE_LIMITS",
                format!("{name} is 0"),
                "use 1 or more, or no limit",
            ));
        }
    }
    if let (Some(samples), Some(per_instance)) = (limits.max_samples, limits.max_samples_per_instance)
        && samples < per_instance
    {
        return Err(Error::new(
            ReturnCode::InconsistentPolicy,
            "RESOURCE_LIMITS",
            format!("max_samples {samples} is less than max_samples_per_instance {per_instance}"),
            "make max_samples at least max_samples_per_instance",
        ));
    }
    let History::KeepLast(depth) = history else { return Ok(()) };
    if depth == 0 {
        return Err(Error::new(ReturnCode::BadParameter, place, "depth is 0", "use 1 or more"));
    }
    if let Some(limit) = limits.max_samples_per_instance.filter(|limit| *limit < depth) {
        return Err(Error::new(
            ReturnCode::InconsistentPolicy,
            place,
            format!("depth {depth} is more than max_samples_per_instance {limit}"),
            "make the depth at most max_samples_per_instance",
        ));
    }
    Ok(())
}

fn positive(place: &'static str, name: &'static str, value: Duration) -> Result<(), Error> {
    if value > Duration::ZERO {
        return Ok(());
    }
    let what = format!("{name} of {value}");
    Err(Error::new(ReturnCode::BadParameter, place, what, "use more than zero, or infinite"))
}

fn not_negative(place: &'static str, name: &'static str, value: Duration) -> Result<(), Error> {
    if value >= Duration::ZERO {
        return Ok(());
    }
    let what = format!("{name} of {value}");
    Err(Error::new(ReturnCode::BadParameter, place, what, "use zero or more, or infinite"))
}

const LEAST_BYTES: usize = 1_024;

fn own_limits(bytes: usize, instances: u32) -> Result<(), Error> {
    if bytes < LEAST_BYTES || instances == 0 {
        return Err(Error::new(
            ReturnCode::BadParameter,
            "RESOURCE_LIMITS",
            format!("byte_limit {bytes}, instance_limit {instances}"),
            "use a byte_limit of 1024 or more and an instance_limit of 1 or more",
        ));
    }
    Ok(())
}

fn own_limits_unchanged(old: (usize, u32), new: (usize, u32)) -> Result<(), Error> {
    if old == new { Ok(()) } else { Err(unchangeable("RESOURCE_LIMITS")) }
}

pub(super) fn immutable(old: &EndpointQos, new: &EndpointQos) -> Result<(), Error> {
    let service = |qos: &EndpointQos| -> DurabilityService { qos.durability_service };
    let policies = [
        ("DURABILITY", old.durability == new.durability),
        ("DURABILITY_SERVICE", service(old) == service(new)),
        ("LIVELINESS", old.liveliness == new.liveliness),
        ("RELIABILITY", old.reliability == new.reliability),
        ("OWNERSHIP", old.ownership == new.ownership),
        ("DESTINATION_ORDER", old.destination_order == new.destination_order),
        ("PRESENTATION", old.presentation == new.presentation),
        ("HISTORY", old.history == new.history),
        ("RESOURCE_LIMITS", old.resource_limits == new.resource_limits),
        ("DATA_REPRESENTATION", old.representation == new.representation),
        ("TYPE_CONSISTENCY_ENFORCEMENT", old.type_consistency == new.type_consistency),
    ];
    match policies.into_iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((policy, _)) => Err(unchangeable(policy)),
    }
}

pub(super) fn unchangeable(policy: &'static str) -> Error {
    Error::new(
        ReturnCode::ImmutablePolicy,
        policy,
        "cannot be changed once the entity is enabled",
        "set it before, or make a new entity",
    )
}

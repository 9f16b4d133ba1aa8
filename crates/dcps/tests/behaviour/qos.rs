//! QoS that makes no sense, is not supported or cannot be changed is refused with what to do.
use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::{Error, ReturnCode};
use wire::Duration;
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, History, LivelinessKind, Ownership,
    ReliabilityKind,
};

fn writer(change: impl FnOnce(&mut DataWriterQos)) -> Result<(), Error> {
    let mut qos = DataWriterQos::default();
    change(&mut qos);
    qos.check()
}

fn reader(change: impl FnOnce(&mut DataReaderQos)) -> Result<(), Error> {
    let mut qos = DataReaderQos::default();
    change(&mut qos);
    qos.check()
}

#[track_caller]
fn refused(result: Result<(), Error>, code: ReturnCode, place: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.code, error.place), (code, place), "{error}");
    assert!(!error.what.is_empty() && !error.advice.is_empty());
}

#[test]
fn defaults_are_good() {
    assert_eq!(writer(|_| {}), Ok(()));
    assert_eq!(reader(|_| {}), Ok(()));
}

#[test]
fn what_is_not_supported_says_so() {
    use ReturnCode::Unsupported;
    assert_eq!(writer(|qos| qos.endpoint.durability = Durability::TransientLocal), Ok(()));
    refused(writer(|qos| qos.endpoint.durability = Durability::Transient), Unsupported, "DURABILITY");
    refused(reader(|qos| qos.endpoint.durability = Durability::Persistent), Unsupported, "DURABILITY");
    refused(
        reader(|qos| qos.endpoint.presentation.access_scope = AccessScope::Topic),
        Unsupported,
        "PRESENTATION",
    );
    refused(writer(|qos| qos.endpoint.presentation.coherent_access = true), Unsupported, "PRESENTATION");
    refused(writer(|qos| qos.endpoint.presentation.ordered_access = true), Unsupported, "PRESENTATION");
    let xml = vec![DataRepresentation::XML];
    refused(writer(|qos| qos.endpoint.representation = xml), Unsupported, "DATA_REPRESENTATION");
}

#[test]
fn type_consistency_is_what_the_reader_likes_and_stays_so() {
    let changes: [fn(&mut wire::qos::TypeConsistency); 6] = [
        |rules| rules.allow_type_coercion ^= true,
        |rules| rules.ignore_sequence_bounds ^= true,
        |rules| rules.ignore_string_bounds ^= true,
        |rules| rules.ignore_member_names ^= true,
        |rules| rules.prevent_type_widening ^= true,
        |rules| rules.force_type_validation ^= true,
    ];
    let old = DataReaderQos::default();
    for change in changes {
        assert_eq!(reader(|qos| change(&mut qos.endpoint.type_consistency)), Ok(()));
        let mut new = old.clone();
        change(&mut new.endpoint.type_consistency);
        refused(old.check_change(&new), ReturnCode::ImmutablePolicy, "TYPE_CONSISTENCY_ENFORCEMENT");
    }
}

#[test]
fn transport_priority_is_a_dscp() {
    for value in [0, 1, 46, 63] {
        assert_eq!(writer(|qos| qos.endpoint.transport_priority = value), Ok(()));
    }
    for value in [-1, 64, i32::MAX] {
        refused(
            writer(|qos| qos.endpoint.transport_priority = value),
            ReturnCode::BadParameter,
            "TRANSPORT_PRIORITY",
        );
    }
}

#[test]
fn depth_and_limits_fit_together() {
    let with = |depth: u32, samples: Option<u32>, per_instance: Option<u32>| {
        writer(|qos| {
            qos.endpoint.history = History::KeepLast(depth);
            qos.endpoint.resource_limits.max_samples = samples;
            qos.endpoint.resource_limits.max_samples_per_instance = per_instance;
        })
    };
    assert_eq!(with(3, None, Some(3)), Ok(()));
    assert_eq!(with(3, Some(3), Some(3)), Ok(()));
    refused(with(4, None, Some(3)), ReturnCode::InconsistentPolicy, "HISTORY");
    refused(with(1, Some(2), Some(3)), ReturnCode::InconsistentPolicy, "RESOURCE_LIMITS");
    refused(with(0, None, None), ReturnCode::BadParameter, "HISTORY");
    refused(with(1, Some(0), None), ReturnCode::BadParameter, "RESOURCE_LIMITS");
    refused(writer(|qos| qos.byte_limit = 1_023), ReturnCode::BadParameter, "RESOURCE_LIMITS");
    assert_eq!(reader(|qos| qos.byte_limit = 1_024), Ok(()));
    refused(reader(|qos| qos.instance_limit = 0), ReturnCode::BadParameter, "RESOURCE_LIMITS");
    let service = |qos: &mut DataWriterQos| qos.endpoint.durability_service.history = History::KeepLast(0);
    refused(writer(service), ReturnCode::BadParameter, "DURABILITY_SERVICE");
}

#[test]
fn a_deadline_is_not_shorter_than_the_filter() {
    let with = |deadline: i64| {
        reader(|qos| {
            qos.endpoint.deadline = Duration::from_nanos(deadline);
            qos.endpoint.time_based_filter = Duration::from_nanos(1_000);
        })
    };
    assert_eq!(with(1_000), Ok(()));
    refused(with(999), ReturnCode::InconsistentPolicy, "DEADLINE");
}

#[test]
fn durations_have_a_least_value() {
    use ReturnCode::BadParameter;
    let (zero, negative) = (Duration::ZERO, Duration::from_nanos(-1));
    refused(writer(|qos| qos.endpoint.deadline = zero), BadParameter, "DEADLINE");
    refused(writer(|qos| qos.endpoint.lifespan = zero), BadParameter, "LIFESPAN");
    refused(reader(|qos| qos.endpoint.liveliness.lease_duration = zero), BadParameter, "LIVELINESS");
    assert_eq!(writer(|qos| qos.endpoint.latency_budget = zero), Ok(()));
    refused(writer(|qos| qos.endpoint.latency_budget = negative), BadParameter, "LATENCY_BUDGET");
    assert_eq!(writer(|qos| qos.endpoint.reliability.max_blocking_time = zero), Ok(()));
    refused(writer(|qos| qos.endpoint.reliability.max_blocking_time = negative), BadParameter, "RELIABILITY");
    refused(reader(|qos| qos.endpoint.time_based_filter = negative), BadParameter, "TIME_BASED_FILTER");
    refused(
        reader(|qos| qos.reader_data_lifecycle.autopurge_disposed_samples_delay = negative),
        BadParameter,
        "READER_DATA_LIFECYCLE",
    );
}

#[test]
fn some_policies_cannot_be_changed_once_enabled() {
    type Change = fn(&mut wire::qos::EndpointQos);
    let fixed: [(&str, Change); 8] = [
        ("DURABILITY", |qos| qos.durability = Durability::TransientLocal),
        ("LIVELINESS", |qos| qos.liveliness.kind = LivelinessKind::ManualByTopic),
        ("RELIABILITY", |qos| qos.reliability.kind = ReliabilityKind::BestEffort),
        ("OWNERSHIP", |qos| qos.ownership = Ownership::Exclusive),
        ("DESTINATION_ORDER", |qos| qos.destination_order = DestinationOrder::BySourceTimestamp),
        ("HISTORY", |qos| qos.history = History::KeepAll),
        ("RESOURCE_LIMITS", |qos| qos.resource_limits.max_samples = Some(9)),
        ("DATA_REPRESENTATION", |qos| qos.representation = vec![DataRepresentation::XCDR2]),
    ];
    let old = DataWriterQos::default();
    for (policy, change) in fixed {
        let mut new = old.clone();
        change(&mut new.endpoint);
        refused(old.check_change(&new), ReturnCode::ImmutablePolicy, policy);
    }
    let open: [Change; 8] = [
        |qos| qos.deadline = Duration::from_secs(1),
        |qos| qos.latency_budget = Duration::from_millis(1),
        |qos| qos.lifespan = Duration::from_secs(1),
        |qos| qos.ownership_strength = 9,
        |qos| qos.partition = vec!["p".to_owned()],
        |qos| qos.transport_priority = 46,
        |qos| qos.user_data = vec![1],
        |qos| qos.time_based_filter = Duration::from_secs(1),
    ];
    for change in open {
        let mut new = old.clone();
        change(&mut new.endpoint);
        assert_eq!(old.check_change(&new), Ok(()));
        let old = DataReaderQos::default();
        let mut new = old.clone();
        change(&mut new.endpoint);
        assert_eq!(old.check_change(&new), Ok(()));
    }
    let mut new = old.clone();
    new.byte_limit *= 2;
    refused(old.check_change(&new), ReturnCode::ImmutablePolicy, "RESOURCE_LIMITS");
    let mut new = old.clone();
    new.endpoint.transport_priority = 64;
    refused(old.check_change(&new), ReturnCode::BadParameter, "TRANSPORT_PRIORITY");
}

#[test]
fn an_error_reads_as_code_place_fault_and_advice() {
    let error = writer(|qos| qos.endpoint.transport_priority = 99).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BAD_PARAMETER: TRANSPORT_PRIORITY: value 99 is not a DSCP; use 0 (best effort) to 63: the value becomes the \
         DSCP of the writer's packets"
    );
}

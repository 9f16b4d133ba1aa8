//! The requested/offered table: every policy, at the boundary and just past it.
use super::*;
use alloc::string::ToString;
use alloc::vec;
use wire::qos::{AccessScope, EndpointQos, Liveliness, Reliability};
use wire::{EntityId, Guid, GuidPrefix};

fn endpoint(octet: u8, qos: EndpointQos) -> EndpointData {
    let guid = Guid::new(GuidPrefix([1; 12]), EntityId([0, 0, 1, octet]));
    EndpointData::new(guid, "T".into(), "Type".into(), qos)
}

fn reasons(writer: impl FnOnce(&mut EndpointQos), reader: impl FnOnce(&mut EndpointQos)) -> Vec<Mismatch> {
    let (mut offer, mut request) = (EndpointQos::writer(), EndpointQos::reader());
    writer(&mut offer);
    reader(&mut request);
    compare(&endpoint(2, offer), &endpoint(7, request)).err().unwrap_or_default()
}

/// Every pair of values, `weakest` first: it matches exactly if the writer's is not weaker.
fn ordered<T: Copy + PartialOrd>(
    weakest: &[T],
    set: impl Fn(&mut EndpointQos, T),
    mismatch: impl Fn(T, T) -> Mismatch,
    policy: PolicyId,
) {
    for offered in weakest {
        for requested in weakest {
            let expected = if offered >= requested { vec![] } else { vec![mismatch(*offered, *requested)] };
            assert!(expected.iter().all(|reason| reason.policy_id() == Some(policy)));
            assert!(expected.iter().all(Mismatch::is_incompatible_qos));
            assert_eq!(reasons(|qos| set(qos, *offered), |qos| set(qos, *requested)), expected);
        }
    }
}

/// At the boundary, one nanosecond past it, and at both ends: it matches exactly if the writer's is not longer.
fn spans(
    set: impl Fn(&mut EndpointQos, Duration),
    mismatch: impl Fn(Duration, Duration) -> Mismatch,
    policy: PolicyId,
) {
    let second = Duration::from_secs(1);
    let longer = Duration::from_nanos(1_000_000_001);
    for (offered, requested) in [
        (second, second),
        (longer, second),
        (second, longer),
        (Duration::INFINITE, second),
        (Duration::INFINITE, Duration::INFINITE),
        (Duration::ZERO, second),
        (second, Duration::ZERO),
    ] {
        let expected = if offered <= requested { vec![] } else { vec![mismatch(offered, requested)] };
        assert!(expected.iter().all(|reason| reason.policy_id() == Some(policy)));
        assert_eq!(reasons(|qos| set(qos, offered), |qos| set(qos, requested)), expected);
    }
}

#[test]
fn defaults_match() {
    assert_eq!(reasons(|_| {}, |_| {}), []);
}

#[test]
fn kinds_with_an_order() {
    ordered(
        &[Reliability::BEST_EFFORT.kind, Reliability::RELIABLE.kind],
        |qos, kind| qos.reliability.kind = kind,
        |offered, requested| Mismatch::Reliability { offered, requested },
        PolicyId::RELIABILITY,
    );
    ordered(
        &[Durability::Volatile, Durability::TransientLocal, Durability::Transient, Durability::Persistent],
        |qos, kind| qos.durability = kind,
        |offered, requested| Mismatch::Durability { offered, requested },
        PolicyId::DURABILITY,
    );
    ordered(
        &[LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic],
        |qos, kind| qos.liveliness.kind = kind,
        |offered, requested| Mismatch::LivelinessKind { offered, requested },
        PolicyId::LIVELINESS,
    );
    ordered(
        &[DestinationOrder::ByReceptionTimestamp, DestinationOrder::BySourceTimestamp],
        |qos, kind| qos.destination_order = kind,
        |offered, requested| Mismatch::DestinationOrder { offered, requested },
        PolicyId::DESTINATION_ORDER,
    );
}

#[test]
fn durations_at_the_boundary() {
    spans(
        |qos, span| qos.deadline = span,
        |offered, requested| Mismatch::Deadline { offered, requested },
        PolicyId::DEADLINE,
    );
    spans(
        |qos, span| qos.latency_budget = span,
        |offered, requested| Mismatch::LatencyBudget { offered, requested },
        PolicyId::LATENCY_BUDGET,
    );
    spans(
        |qos, span| qos.liveliness = Liveliness { kind: LivelinessKind::Automatic, lease_duration: span },
        |offered, requested| Mismatch::LivelinessLease { offered, requested },
        PolicyId::LIVELINESS,
    );
}

#[test]
fn ownership_is_equal_or_not() {
    for offered in [Ownership::Shared, Ownership::Exclusive] {
        for requested in [Ownership::Shared, Ownership::Exclusive] {
            let found = reasons(|qos| qos.ownership = offered, |qos| qos.ownership = requested);
            let expected =
                if offered == requested { vec![] } else { vec![Mismatch::Ownership { offered, requested }] };
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn presentation_in_all_its_combinations() {
    let scopes = [AccessScope::Instance, AccessScope::Topic, AccessScope::Group];
    let all = || {
        scopes.into_iter().flat_map(|access_scope| {
            [(false, false), (false, true), (true, false), (true, true)].map(
                |(coherent_access, ordered_access)| Presentation {
                    access_scope,
                    coherent_access,
                    ordered_access,
                },
            )
        })
    };
    for offered in all() {
        for requested in all() {
            let good = offered.access_scope >= requested.access_scope
                && offered.coherent_access >= requested.coherent_access
                && offered.ordered_access >= requested.ordered_access;
            let expected = if good { vec![] } else { vec![Mismatch::Presentation { offered, requested }] };
            assert_eq!(
                reasons(|qos| qos.presentation = offered, |qos| qos.presentation = requested),
                expected
            );
        }
    }
}

#[test]
fn the_first_representation_of_the_writer_is_in_the_readers_list() {
    let (x1, x2) = (DataRepresentation::XCDR1, DataRepresentation::XCDR2);
    for (offered, accepted, good) in [
        (vec![], vec![], true),
        (vec![], vec![x1], true),
        (vec![x1], vec![], true),
        (vec![], vec![x2], false),
        (vec![x2], vec![], false),
        (vec![x2, x1], vec![x1, x2], true),
        (vec![x1, x2], vec![x2], false),
        (vec![DataRepresentation::XML], vec![x1, x2], false),
    ] {
        let found = reasons(
            |qos| qos.representation.clone_from(&offered),
            |qos| qos.representation.clone_from(&accepted),
        );
        assert_eq!(found.is_empty(), good, "{offered:?} {accepted:?}");
        let policy = found.first().and_then(Mismatch::policy_id);
        assert_eq!(policy, (!good).then_some(PolicyId::DATA_REPRESENTATION));
    }
}

#[test]
fn policies_that_only_one_side_has_never_matter() {
    assert_eq!(
        reasons(
            |qos| {
                qos.lifespan = Duration::ZERO;
                qos.ownership_strength = 7;
                qos.transport_priority = 7;
                qos.user_data = vec![1];
                qos.history = wire::qos::History::KeepAll;
            },
            |qos| qos.time_based_filter = Duration::from_secs(1),
        ),
        []
    );
}

#[test]
fn names_and_partitions_differ_without_being_incompatible_qos() {
    let writer = endpoint(2, EndpointQos { partition: vec!["a".into()], ..EndpointQos::writer() });
    let reader = EndpointData { type_name: "Other".into(), ..endpoint(7, EndpointQos::reader()) };
    let found = compare(&writer, &reader).unwrap_err();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|reason| !reason.is_incompatible_qos()));
    assert_eq!(found[0].to_string(), "type: writer \"Type\", reader \"Other\"");
    assert_eq!(found[1].to_string(), "PARTITION: writer [\"a\"], reader []");
    let elsewhere = EndpointData { topic_name: "U".into(), ..reader };
    let found = compare(&writer, &elsewhere).unwrap_err();
    assert_eq!(found, [Mismatch::Topic { writer: "T".into(), reader: "U".into() }]);
}

#[test]
fn every_reason_is_told_at_once() {
    let found = reasons(
        |qos| {
            qos.reliability = Reliability::BEST_EFFORT;
            qos.deadline = Duration::INFINITE;
        },
        |qos| {
            qos.reliability = Reliability::RELIABLE;
            qos.deadline = Duration::from_millis(5);
            qos.durability = Durability::Transient;
        },
    );
    let policies: Vec<_> = found.iter().filter_map(Mismatch::policy_id).collect();
    assert_eq!(policies, [PolicyId::RELIABILITY, PolicyId::DURABILITY, PolicyId::DEADLINE]);
    assert_eq!(found[2].to_string(), "DEADLINE: offered infinite, requested 5 ms");
}

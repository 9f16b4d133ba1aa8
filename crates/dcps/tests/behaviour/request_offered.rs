//! What a reader asks for against what a writer offers: every policy that is compared, each pair of values below, at and above the
//! boundary, from the announcement of one participant to the statuses of both (DDS 1.4, 2.2.3, table of policies).

use crate::domain::{Domain, ms};
use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::status::{IncompatibleQos, Matched, StatusMask};
use rtps::discovery::PolicyId;
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, DurabilityService, EndpointQos, History,
    LivelinessKind, Ownership, Presentation, ReliabilityKind, ResourceLimits,
};
use wire::{Duration, EntityId};

/// A writer on the first participant and a reader on the second, announced with one QoS after the other. Their machines keep
/// the defaults, so that values are tried too that only other vendors' endpoints have.
struct Table {
    domain: Domain,
    writer: EntityId,
    reader: EntityId,
}

/// What both sides were told of one pair.
#[derive(PartialEq, Debug)]
struct Told {
    matched: bool,
    /// The policies at fault, as the writer was told.
    offered: Vec<PolicyId>,
    /// As the reader was told.
    requested: Vec<PolicyId>,
}

impl Told {
    fn a_match() -> Self {
        Self { matched: true, offered: vec![], requested: vec![] }
    }

    fn at_fault(policies: &[PolicyId]) -> Self {
        Self { matched: false, offered: policies.to_vec(), requested: policies.to_vec() }
    }
}

impl Table {
    fn new() -> Self {
        let mut domain = Domain::new();
        let writer = domain.writer(0, DataWriterQos::default());
        let reader = domain.reader(1, DataReaderQos::default());
        Self { domain, writer, reader }
    }

    /// A new writer with this offer meets a reader with this request.
    fn compare(&mut self, offer: &dyn Fn(&mut EndpointQos), request: &dyn Fn(&mut EndpointQos)) -> Told {
        let (mut offered, mut requested) = (EndpointQos::writer(), EndpointQos::reader());
        offer(&mut offered);
        request(&mut requested);
        let now = self.domain.now;
        assert!(self.domain.hosts[0].discovery.remove_endpoint(now, self.writer));
        self.domain.announce(1, self.reader, requested);
        let before = self.statuses();
        self.domain.announce(0, self.writer, offered);
        let after = self.statuses();
        let matched = after.writer.0.current.count == 1;
        for (status, _) in [&after.writer, &after.reader] {
            assert_eq!((status.current.count, status.total.change), (matched.into(), matched.into()));
        }
        Told {
            matched,
            offered: faults(&before.writer.1, &after.writer.1),
            requested: faults(&before.reader.1, &after.reader.1),
        }
    }

    fn statuses(&mut self) -> Statuses {
        let writer = self.domain.data_writer(0, self.writer);
        let is_told = writer.status_changes().intersects(StatusMask::OFFERED_INCOMPATIBLE_QOS);
        let of_writer = (writer.publication_matched(), writer.offered_incompatible_qos());
        assert_eq!(is_told, of_writer.1.total.change > 0);
        let reader = self.domain.data_reader(1, self.reader);
        let is_told = reader.status_changes().intersects(StatusMask::REQUESTED_INCOMPATIBLE_QOS);
        let of_reader = (reader.subscription_matched(), reader.requested_incompatible_qos());
        assert_eq!(is_told, of_reader.1.total.change > 0);
        Statuses { writer: of_writer, reader: of_reader }
    }
}

struct Statuses {
    writer: (Matched, IncompatibleQos),
    reader: (Matched, IncompatibleQos),
}

/// The policies that were found at fault between two readings.
fn faults(before: &IncompatibleQos, after: &IncompatibleQos) -> Vec<PolicyId> {
    let count = |status: &IncompatibleQos, policy| {
        let entry = status.policies.iter().find(|(id, _)| *id == policy);
        entry.map_or(0, |(_, count)| *count)
    };
    let mut found = Vec::new();
    for (policy, now) in &after.policies {
        match now - count(before, *policy) {
            0 => {}
            1 => found.push(*policy),
            more => panic!("{policy:?} counted {more} times"),
        }
    }
    assert_eq!(after.total.change, u64::from(!found.is_empty()), "an endpoint counts once");
    assert!(found.is_empty() || after.last_policy.is_some_and(|last| found.contains(&last)));
    found
}

/// Every pair of the values of one policy: `fits` says which of them match.
fn every_pair<V: Clone + std::fmt::Debug>(
    policy: PolicyId,
    values: &[V],
    set: impl Fn(&mut EndpointQos, V),
    fits: impl Fn(&V, &V) -> bool,
) {
    let mut table = Table::new();
    for offered in values {
        for requested in values {
            let told = table.compare(&|qos| set(qos, offered.clone()), &|qos| set(qos, requested.clone()));
            let expected = if fits(offered, requested) { Told::a_match() } else { Told::at_fault(&[policy]) };
            assert_eq!(told, expected, "{policy:?}: offered {offered:?}, requested {requested:?}");
        }
    }
}

/// Spans around a boundary, to the nanosecond.
fn spans() -> [Duration; 5] {
    let nanos = |nanos| Duration::from_nanos(nanos);
    [nanos(99_999_999), nanos(100_000_000), nanos(100_000_001), ms(3_600_000), Duration::INFINITE]
}

#[test]
fn reliability() {
    let kinds = [ReliabilityKind::BestEffort, ReliabilityKind::Reliable];
    every_pair(PolicyId::RELIABILITY, &kinds, |qos, kind| qos.reliability.kind = kind, |o, r| o >= r);
}

#[test]
fn the_blocking_time_is_not_compared() {
    let mut table = Table::new();
    for (offered, requested) in [(1, 100), (100, 1)] {
        let told = table.compare(&|qos| qos.reliability.max_blocking_time = ms(offered), &|qos| {
            qos.reliability.max_blocking_time = ms(requested)
        });
        assert_eq!(told, Told::a_match());
    }
}

#[test]
fn durability() {
    let kinds =
        [Durability::Volatile, Durability::TransientLocal, Durability::Transient, Durability::Persistent];
    every_pair(PolicyId::DURABILITY, &kinds, |qos, kind| qos.durability = kind, |o, r| o >= r);
}

#[test]
fn deadline() {
    every_pair(PolicyId::DEADLINE, &spans(), |qos, span| qos.deadline = span, |o, r| o <= r);
}

#[test]
fn latency_budget() {
    let mut values = vec![Duration::ZERO];
    values.extend(spans());
    every_pair(PolicyId::LATENCY_BUDGET, &values, |qos, span| qos.latency_budget = span, |o, r| o <= r);
}

#[test]
fn liveliness() {
    let kinds =
        [LivelinessKind::Automatic, LivelinessKind::ManualByParticipant, LivelinessKind::ManualByTopic];
    every_pair(PolicyId::LIVELINESS, &kinds, |qos, kind| qos.liveliness.kind = kind, |o, r| o >= r);
    let lease = |qos: &mut EndpointQos, span| qos.liveliness.lease_duration = span;
    every_pair(PolicyId::LIVELINESS, &spans(), lease, |o, r| o <= r);
    // Kind and lease at fault are one policy at fault.
    let told = Table::new().compare(&|_| {}, &|qos| {
        qos.liveliness.kind = LivelinessKind::ManualByTopic;
        qos.liveliness.lease_duration = ms(1);
    });
    assert_eq!(told, Told::at_fault(&[PolicyId::LIVELINESS]));
}

#[test]
fn ownership() {
    let kinds = [Ownership::Shared, Ownership::Exclusive];
    every_pair(PolicyId::OWNERSHIP, &kinds, |qos, kind| qos.ownership = kind, |o, r| o == r);
}

#[test]
fn destination_order() {
    let kinds = [DestinationOrder::ByReceptionTimestamp, DestinationOrder::BySourceTimestamp];
    every_pair(PolicyId::DESTINATION_ORDER, &kinds, |qos, kind| qos.destination_order = kind, |o, r| o >= r);
}

#[test]
fn presentation() {
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    let scopes = [AccessScope::Instance, AccessScope::Topic, AccessScope::Group];
    let of_scope = |access_scope| {
        flags.map(|(coherent_access, ordered_access)| Presentation {
            access_scope,
            coherent_access,
            ordered_access,
        })
    };
    let values = scopes.map(of_scope).concat();
    every_pair(
        PolicyId::PRESENTATION,
        &values,
        |qos, presentation| qos.presentation = presentation,
        |offered, requested| {
            offered.access_scope >= requested.access_scope
                && (offered.coherent_access || !requested.coherent_access)
                && (offered.ordered_access || !requested.ordered_access)
        },
    );
}

#[test]
fn data_representation() {
    let (xcdr1, xcdr2) = (DataRepresentation::XCDR1, DataRepresentation::XCDR2);
    let values = [vec![], vec![xcdr1], vec![xcdr2], vec![xcdr1, xcdr2], vec![xcdr2, xcdr1]];
    every_pair(
        PolicyId::DATA_REPRESENTATION,
        &values,
        |qos, representation| qos.representation = representation,
        |offered, requested| {
            let used = offered.first().copied().unwrap_or(xcdr1);
            requested.contains(&used) || requested.is_empty() && used == xcdr1
        },
    );
}

#[test]
fn partitions_that_differ_are_no_incompatible_qos() {
    let mut table = Table::new();
    let apart = Told { matched: false, offered: vec![], requested: vec![] };
    let lists: [&[&str]; 5] = [&[], &[""], &["a"], &["a*", "b"], &["*"]];
    let fits = [
        [true, true, false, false, true],
        [true, true, false, false, true],
        [false, false, true, true, true],
        [false, false, true, true, true],
        [true, true, true, true, false],
    ];
    for (offered, row) in lists.iter().zip(fits) {
        for (requested, fits) in lists.iter().zip(row) {
            let set = |qos: &mut EndpointQos, names: &[&str]| {
                qos.partition = names.iter().map(|name| (*name).to_owned()).collect();
            };
            let told = table.compare(&|qos| set(qos, offered), &|qos| set(qos, requested));
            let expected = if fits { &Told::a_match() } else { &apart };
            assert_eq!(&told, expected, "offered {offered:?}, requested {requested:?}");
        }
    }
}

#[test]
fn policies_that_are_not_compared_part_nobody() {
    type Change = fn(&mut EndpointQos);
    let changes: [Change; 12] = [
        |qos| qos.durability_service = DurabilityService { cleanup_delay: ms(9), ..qos.durability_service },
        |qos| qos.lifespan = ms(1),
        |qos| qos.user_data = vec![1],
        |qos| qos.topic_data = vec![1],
        |qos| qos.group_data = vec![1],
        |qos| qos.ownership_strength = -1,
        |qos| qos.time_based_filter = ms(1),
        |qos| qos.transport_priority = 63,
        |qos| qos.history = History::KeepAll,
        |qos| qos.resource_limits = ResourceLimits { max_samples: Some(1), ..ResourceLimits::default() },
        |qos| qos.type_consistency.prevent_type_widening = true,
        |qos| qos.reliability.max_blocking_time = Duration::INFINITE,
    ];
    let mut table = Table::new();
    for change in changes {
        assert_eq!(table.compare(&change, &|_| {}), Told::a_match());
        assert_eq!(table.compare(&|_| {}, &change), Told::a_match());
    }
}

#[test]
fn every_policy_at_fault_is_counted_and_the_pair_once() {
    let told = Table::new().compare(&|qos| qos.deadline = ms(2), &|qos| {
        qos.deadline = ms(1);
        qos.ownership = Ownership::Exclusive;
        qos.durability = Durability::TransientLocal;
        qos.partition = vec!["elsewhere".to_owned()];
    });
    assert_eq!(told, Told::at_fault(&[PolicyId::DURABILITY, PolicyId::DEADLINE, PolicyId::OWNERSHIP]));
}

#[test]
fn a_changed_deadline_ends_and_makes_matches() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, DataWriterQos::default());
    let reader = domain.reader(1, DataReaderQos::default());
    domain.set_reader_qos(1, reader, |qos| qos.endpoint.deadline = ms(100));
    let offered = domain.data_writer(0, writer).offered_incompatible_qos();
    assert_eq!((offered.total.count, offered.last_policy), (1, Some(PolicyId::DEADLINE)));
    assert_eq!(domain.data_writer(0, writer).publication_matched().current.count, 0);
    domain.set_writer_qos(0, writer, |qos| qos.endpoint.deadline = ms(101));
    assert_eq!(domain.data_reader(1, reader).requested_incompatible_qos().total.count, 2);
    domain.set_writer_qos(0, writer, |qos| qos.endpoint.deadline = ms(100));
    let published = domain.data_writer(0, writer).publication_matched();
    assert_eq!((published.current.count, published.total.count), (1, 2));
}

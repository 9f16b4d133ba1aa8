//! Policies that a writer and a reader act on together, and the statuses that both are told, between two participants.

use crate::domain::{Domain, ms};
use dcps::InstanceState;
use dcps::qos::{DataReaderQos, DataWriterQos};
use dcps::reader::DropReason;
use dcps::status::StatusMask;
use wire::qos::{History, LivelinessKind, Ownership, Reliability};
use wire::{Duration, EntityId};

const NANO: Duration = Duration::from_nanos(1);

/// A reader that keeps all and is reliable, unless changed.
fn requested(change: impl FnOnce(&mut DataReaderQos)) -> DataReaderQos {
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    change(&mut qos);
    qos
}

fn offered(change: impl FnOnce(&mut DataWriterQos)) -> DataWriterQos {
    let mut qos = DataWriterQos::default();
    qos.endpoint.history = History::KeepAll;
    change(&mut qos);
    qos
}

#[test]
fn what_is_lost_is_repeated_if_both_sides_are_reliable_and_lost_otherwise() {
    let best_effort = Reliability::BEST_EFFORT;
    for (offer, request, repeats) in [
        (Reliability::RELIABLE, Reliability::RELIABLE, true),
        (Reliability::RELIABLE, best_effort, false),
        (best_effort, best_effort, false),
    ] {
        let mut domain = Domain::new();
        let writer = domain.writer(0, offered(|qos| qos.endpoint.reliability = offer));
        let reader = domain.reader(1, requested(|qos| qos.endpoint.reliability = request));
        for value in 0..5 {
            domain.hosts[0].mute = (1..=3).contains(&value);
            domain.write(0, writer, 1, value).unwrap();
        }
        domain.wait(ms(1_000));
        let (lost, values) = match repeats {
            true => (0, vec![0, 1, 2, 3, 4]),
            false => (3, vec![0, 4]),
        };
        let expected: Vec<_> = values.into_iter().map(Some).collect();
        assert_eq!(domain.values(1, reader), expected);
        let machine = domain.data_reader(1, reader);
        assert_eq!(machine.status_changes().intersects(StatusMask::SAMPLE_LOST), lost > 0);
        let status = machine.sample_lost();
        assert_eq!((status.total.count, machine.dropped(DropReason::Lost).count), (lost, lost));
        assert!(!machine.status_changes().intersects(StatusMask::SAMPLE_LOST));
    }
}

#[test]
fn what_the_writers_history_replaced_before_it_came_is_lost_to_the_reader() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, offered(|qos| qos.endpoint.history = History::KeepLast(1)));
    let reader = domain.reader(1, requested(|_| {}));
    domain.hosts[0].mute = true;
    for value in 0..5 {
        domain.write(0, writer, 1, value).unwrap();
    }
    domain.hosts[0].mute = false;
    domain.wait(ms(1_000));
    assert_eq!(domain.values(1, reader), [Some(4)]);
    assert_eq!(domain.data_reader(1, reader).sample_lost().total.count, 4);
}

const LEASE: Duration = ms(300);

fn with_lease(domain: &mut Domain, kind: LivelinessKind) -> (EntityId, EntityId) {
    let writer = domain.writer(
        0,
        offered(|qos| {
            qos.endpoint.liveliness.kind = kind;
            qos.endpoint.liveliness.lease_duration = LEASE;
        }),
    );
    let reader = domain.reader(
        1,
        requested(|qos| {
            qos.endpoint.liveliness.kind = kind;
            qos.endpoint.liveliness.lease_duration = LEASE;
        }),
    );
    (writer, reader)
}

/// Writers that are alive and that are not, as the reader is told.
fn alive(domain: &mut Domain, reader: EntityId) -> (u32, u32) {
    let status = domain.data_reader(1, reader).liveliness_changed();
    (status.alive.count, status.not_alive.count)
}

#[test]
fn automatic_liveliness_is_that_of_the_participant() {
    let mut domain = Domain::new();
    let (writer, reader) = with_lease(&mut domain, LivelinessKind::Automatic);
    domain.write(0, writer, 7, 1).unwrap();
    domain.wait(ms(10_000));
    assert_eq!(alive(&mut domain, reader), (1, 0), "nobody has to say anything");
    assert_eq!(domain.data_writer(0, writer).liveliness_lost().total.count, 0);
    domain.hosts[0].mute = true;
    let mut silent = 0;
    while alive(&mut domain, reader) == (1, 0) {
        domain.wait(ms(1));
        silent += 1;
        assert!(silent <= 300, "the lease has ended");
    }
    assert!(silent > 100, "the last sign of life was at most one period before");
    assert_eq!(alive(&mut domain, reader), (0, 1));
    let states: Vec<_> = domain.take(1, reader).iter().map(|sample| sample.info.instance_state).collect();
    assert_eq!(states, [InstanceState::NotAliveNoWriters; 2]);
    domain.hosts[0].mute = false;
    domain.wait(LEASE);
    assert_eq!(alive(&mut domain, reader), (1, 0));
}

/// The way in which a writer of a manual kind shows that it lives.
type Sign = fn(&mut Domain, EntityId);

fn ends_with_the_lease(kind: LivelinessKind, sign: Sign) {
    let mut domain = Domain::new();
    let (writer, reader) = with_lease(&mut domain, kind);
    for _ in 0..3 {
        sign(&mut domain, writer);
        domain.wait(Duration::from_nanos(LEASE.as_nanos() - 1));
        assert_eq!(alive(&mut domain, reader), (1, 0), "{kind:?}");
        assert_eq!(domain.data_writer(0, writer).liveliness_lost().total.count, 0);
    }
    domain.wait(NANO);
    assert_eq!(alive(&mut domain, reader), (0, 1), "{kind:?}");
    let machine = domain.data_writer(0, writer);
    assert!(machine.status_changes().intersects(StatusMask::LIVELINESS_LOST));
    let status = machine.liveliness_lost();
    assert_eq!((status.total.count, status.total.change), (1, 1));
    sign(&mut domain, writer);
    assert_eq!(alive(&mut domain, reader), (1, 0));
    domain.wait(LEASE);
    assert_eq!(domain.data_writer(0, writer).liveliness_lost().total.count, 2);
}

#[test]
fn manual_liveliness_lasts_for_the_lease_after_a_sign_of_life() {
    ends_with_the_lease(LivelinessKind::ManualByTopic, |domain, writer| {
        domain.write(0, writer, 1, 1).unwrap();
    });
    ends_with_the_lease(LivelinessKind::ManualByTopic, |domain, writer| domain.assert_writer(0, writer));
    ends_with_the_lease(LivelinessKind::ManualByParticipant, |domain, writer| {
        domain.write(0, writer, 1, 1).unwrap();
    });
    ends_with_the_lease(LivelinessKind::ManualByParticipant, |domain, _| domain.assert_participant(0));
}

#[test]
fn a_sign_of_life_counts_for_one_writer_or_for_all_of_its_participant() {
    for (kind, others) in [(LivelinessKind::ManualByParticipant, 2), (LivelinessKind::ManualByTopic, 1)] {
        let mut domain = Domain::new();
        let (writer, reader) = with_lease(&mut domain, kind);
        let qos = domain.data_writer(0, writer).qos().clone();
        let silent = domain.writer(0, qos);
        for _ in 0..5 {
            domain.write(0, writer, 1, 1).unwrap();
            domain.wait(ms(200));
        }
        assert_eq!(alive(&mut domain, reader), (others, 2 - others), "{kind:?}");
        let lost = domain.data_writer(0, silent).liveliness_lost().total.count;
        assert_eq!(
            (lost, domain.data_writer(0, writer).liveliness_lost().total.count),
            (u64::from(2 - others), 0)
        );
    }
}

#[test]
fn a_changed_strength_moves_ownership() {
    let mut domain = Domain::new();
    let with = |strength| {
        offered(|qos| {
            qos.endpoint.ownership = Ownership::Exclusive;
            qos.endpoint.ownership_strength = strength;
        })
    };
    let (weak, strong) = (domain.writer(0, with(1)), domain.writer(0, with(2)));
    let reader = domain.reader(1, requested(|qos| qos.endpoint.ownership = Ownership::Exclusive));
    let both = |domain: &mut Domain| {
        domain.write(0, strong, 7, 2).unwrap();
        domain.write(0, weak, 7, 1).unwrap();
        domain.wait(ms(100));
        domain.values(1, reader)
    };
    assert_eq!(both(&mut domain), [Some(2)]);
    domain.set_writer_qos(0, weak, |qos| qos.endpoint.ownership_strength = 3);
    assert_eq!(both(&mut domain), [Some(2), Some(1)], "it becomes the owner by its next sample");
    assert_eq!(both(&mut domain), [Some(1)]);
    assert_eq!(domain.data_reader(1, reader).dropped(DropReason::Ownership).count, 2);
}

#[test]
fn a_changed_lifespan_counts_at_both_sides_for_later_samples() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, offered(|_| {}));
    let reader = domain.reader(1, requested(|_| {}));
    domain.write(0, writer, 7, 1).unwrap();
    domain.set_writer_qos(0, writer, |qos| qos.endpoint.lifespan = ms(200));
    domain.write(0, writer, 7, 2).unwrap();
    domain.wait(Duration::from_nanos(199_999_999));
    assert_eq!(domain.data_reader(1, reader).samples(), 2);
    domain.wait(NANO);
    assert_eq!(domain.values(1, reader), [Some(1)]);
    assert_eq!(domain.data_reader(1, reader).dropped(DropReason::Expired).count, 1);
}

#[test]
fn both_sides_miss_a_deadline_at_the_same_moment() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, offered(|qos| qos.endpoint.deadline = ms(100)));
    let reader = domain.reader(1, requested(|qos| qos.endpoint.deadline = ms(100)));
    let missed = |domain: &mut Domain| {
        let offered = domain.data_writer(0, writer).offered_deadline_missed().total.count;
        (offered, domain.data_reader(1, reader).requested_deadline_missed().total.count)
    };
    for _ in 0..3 {
        domain.write(0, writer, 7, 1).unwrap();
        domain.wait(Duration::from_nanos(99_999_999));
        assert_eq!(missed(&mut domain), (0, 0));
    }
    domain.wait(NANO);
    assert_eq!(missed(&mut domain), (1, 1));
    // The wire fails: the reader misses what the writer has kept.
    domain.hosts[0].mute = true;
    for _ in 0..4 {
        domain.write(0, writer, 7, 2).unwrap();
        domain.wait(ms(50));
    }
    assert_eq!(missed(&mut domain), (1, 3));
}

#[test]
fn matches_come_and_go_at_both_sides() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, offered(|_| {}));
    let reader = domain.reader(1, requested(|_| {}));
    let bits = (StatusMask::PUBLICATION_MATCHED, StatusMask::SUBSCRIPTION_MATCHED);
    assert!(domain.data_writer(0, writer).status_changes().intersects(bits.0));
    assert!(domain.data_reader(1, reader).status_changes().intersects(bits.1));
    let (reader_guid, writer_guid) = (domain.guid(1, reader), domain.guid(0, writer));
    let published = domain.data_writer(0, writer).publication_matched();
    assert_eq!((published.total.change, published.last_endpoint), (1, Some(reader_guid.into())));
    let subscribed = domain.data_reader(1, reader).subscription_matched();
    assert_eq!((subscribed.total.change, subscribed.last_endpoint), (1, Some(writer_guid.into())));
    domain.write(0, writer, 7, 1).unwrap();
    let now = domain.now;
    domain.hosts[0].discovery.shutdown(now);
    domain.wait(ms(100));
    let subscribed = domain.data_reader(1, reader).subscription_matched();
    assert_eq!((subscribed.current.count, subscribed.current.change, subscribed.total.change), (0, -1, 0));
    assert_eq!(domain.values(1, reader), [Some(1), None], "its instance is left without writers");
}

#[test]
fn data_are_available_until_they_are_looked_for() {
    let mut domain = Domain::new();
    let writer = domain.writer(0, offered(|_| {}));
    let reader = domain.reader(1, requested(|_| {}));
    let bit = StatusMask::DATA_AVAILABLE;
    assert!(!domain.data_reader(1, reader).status_changes().intersects(bit));
    domain.write(0, writer, 7, 1).unwrap();
    assert!(domain.data_reader(1, reader).status_changes().intersects(bit));
    domain.take(1, reader);
    assert!(!domain.data_reader(1, reader).status_changes().intersects(bit));
}

//! The states of instances as a table, generations and ranks, and every form of read and take.

use crate::desk::{Desk, data, handle, key, ms, value, writer};
use dcps::reader::{DropReason, Request, Which};
use dcps::status::StatusMask;
use dcps::{
    InstanceState, InstanceStates, ReturnCode, SampleState, SampleStates, States, ViewState, ViewStates,
};
use wire::Duration;
use wire::cdr::Representation;
use wire::parameter::StatusInfo;

/// What happens to instance 7.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Writer 1 or 2 writes.
    Write(u8),
    Dispose(u8),
    Unregister(u8),
    /// Both in one change.
    End(u8),
    /// The writer goes silent.
    Silent(u8),
    /// The writer is gone.
    Gone(u8),
    Take,
}

use InstanceState::{Alive, NotAliveDisposed as Disposed, NotAliveNoWriters as NoWriters};
use Step::{Dispose, End, Gone, Silent, Take, Unregister, Write};

fn apply(desk: &mut Desk, step: Step) {
    match step {
        Write(from) => {
            desk.write(from, 7, 0);
        }
        Dispose(from) => {
            desk.dispose(from, 7);
        }
        Unregister(from) => {
            desk.unregister(from, 7);
        }
        End(from) => {
            desk.end(from, 7, StatusInfo::DISPOSED | StatusInfo::UNREGISTERED);
        }
        Silent(from) => desk.reader.set_liveliness(desk.now, writer(from), false),
        Gone(from) => {
            desk.reader.unmatch_publication(desk.now, writer(from));
        }
        Take => {
            desk.take();
        }
    }
}

/// State of the instance and its generation counts.
type Seen = (InstanceState, u32, u32);

#[test]
fn instance_states_follow_the_table() {
    // Steps, then the state of the instance (none: it is forgotten, or has no samples), and its generation counts.
    let table: [(&[Step], Option<Seen>); 21] = [
        (&[Write(1)], Some((Alive, 0, 0))),
        (&[Write(1), Dispose(1)], Some((Disposed, 0, 0))),
        (&[Write(1), Dispose(2)], Some((Disposed, 0, 0))),
        (&[Write(1), Unregister(1)], Some((NoWriters, 0, 0))),
        (&[Write(1), Unregister(2)], Some((Alive, 0, 0))),
        (&[Write(1), Write(2), Unregister(1)], Some((Alive, 0, 0))),
        (&[Write(1), Write(2), Unregister(1), Unregister(2)], Some((NoWriters, 0, 0))),
        (&[Write(1), End(1)], Some((Disposed, 0, 0))),
        (&[Write(1), Silent(1)], Some((NoWriters, 0, 0))),
        (&[Write(1), Gone(1)], Some((NoWriters, 0, 0))),
        (&[Write(1), Dispose(1), Gone(1)], Some((Disposed, 0, 0))),
        (&[Write(1), Dispose(1), Write(1)], Some((Alive, 1, 0))),
        (&[Write(1), Dispose(1), Write(2)], Some((Alive, 1, 0))),
        (&[Write(1), Unregister(1), Write(1)], Some((Alive, 0, 1))),
        (&[Write(1), Silent(1), Write(1)], Some((Alive, 0, 1))),
        (&[Write(1), Dispose(1), Write(1), Unregister(1), Write(2)], Some((Alive, 1, 1))),
        (&[Dispose(1)], Some((Disposed, 0, 0))),
        (&[Unregister(1)], None),
        (&[Write(1), Take, Unregister(1), Take], None),
        (&[Write(1), End(1), Take], None),
        // Forgotten, so that counting begins anew.
        (&[Write(1), End(1), Take, Write(1)], Some((Alive, 0, 0))),
    ];
    for (steps, expected) in table {
        let mut desk = Desk::new(|_| {});
        steps.iter().for_each(|step| apply(&mut desk, *step));
        let samples = desk.access(&Request::READ);
        let seen = samples.last().map(|sample| {
            let info = &sample.info;
            (info.instance_state, info.disposed_generation_count, info.no_writers_generation_count)
        });
        assert_eq!(seen, expected, "{steps:?}");
        let ends = samples.iter().filter(|sample| !sample.info.valid_data).count();
        assert!(ends <= 1, "{steps:?}: {ends} samples without data");
    }
}

#[test]
fn an_instance_is_kept_while_it_is_disposed_and_registered() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 0);
    desk.dispose(1, 7);
    desk.take();
    assert_eq!(desk.reader.instances(), 1);
    desk.write(1, 7, 1);
    let info = desk.take()[0].info;
    assert_eq!((info.disposed_generation_count, info.view_state), (1, ViewState::New));
    desk.dispose(1, 7);
    desk.dispose(1, 7);
    assert_eq!(desk.values(), [None], "it is told once");
    desk.unregister(1, 7);
    assert_eq!(desk.reader.instances(), 0);
}

#[test]
fn view_states() {
    let mut desk = Desk::new(|_| {});
    let views = |desk: &mut Desk, request: &Request| {
        desk.access(request).iter().map(|sample| sample.info.view_state).collect::<Vec<_>>()
    };
    desk.write(1, 7, 0);
    desk.write(1, 7, 1);
    assert_eq!(views(&mut desk, &Request { max: 1, ..Request::READ }), [ViewState::New]);
    assert_eq!(views(&mut desk, &Request::TAKE), [ViewState::NotNew; 2]);
    desk.unregister(1, 7);
    desk.write(1, 7, 2);
    assert_eq!(views(&mut desk, &Request::TAKE), [ViewState::New; 2], "it is alive again");
}

#[test]
fn ranks_count_within_the_collection_and_to_the_present() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 0);
    desk.dispose(1, 7);
    desk.write(1, 7, 1);
    desk.write(1, 7, 2);
    desk.unregister(1, 7);
    desk.write(1, 7, 3);
    let ranks = |desk: &mut Desk, max| {
        let samples = desk.access(&Request { max, ..Request::READ });
        let rank =
            |info: &dcps::SampleInfo| (info.sample_rank, info.generation_rank, info.absolute_generation_rank);
        samples.iter().map(|sample| rank(&sample.info)).collect::<Vec<_>>()
    };
    // Data 0 | data 1, 2, no writers | data 3; the earlier dispose was replaced by the later end.
    assert_eq!(ranks(&mut desk, 9), [(4, 2, 2), (3, 1, 1), (2, 1, 1), (1, 1, 1), (0, 0, 0)]);
    assert_eq!(ranks(&mut desk, 2), [(1, 1, 2), (0, 0, 1)]);
}

#[test]
fn reading_leaves_taking_removes() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 0);
    assert!(desk.reader.status_changes().intersects(StatusMask::DATA_AVAILABLE));
    let first = desk.access(&Request::READ);
    assert!(!desk.reader.status_changes().intersects(StatusMask::DATA_AVAILABLE));
    assert_eq!(first[0].info.sample_state, SampleState::NotRead);
    desk.write(1, 7, 1);
    let not_read = Request { states: States::NOT_READ, ..Request::READ };
    assert!(desk.reader.has_samples(desk.now, States::NOT_READ));
    assert_eq!(desk.access(&not_read).iter().map(value).collect::<Vec<_>>(), [Some(1)]);
    assert!(!desk.reader.has_samples(desk.now, States::NOT_READ));
    assert!(desk.reader.has_samples(desk.now, States::ANY));
    let again = desk.take();
    assert!(again.iter().all(|sample| sample.info.sample_state == SampleState::Read));
    assert_eq!((again.len(), desk.reader.samples()), (2, 0));
    assert_eq!(first[0].payload, again[0].payload, "a handle stays good after the sample was taken");
}

#[test]
fn states_select() {
    let mut desk = Desk::new(|_| {});
    for id in 1..=3 {
        desk.write(1, id, id);
    }
    desk.dispose(1, 2);
    desk.unregister(1, 3);
    let ids = |desk: &mut Desk, states| {
        let samples = desk.access(&Request { states, ..Request::READ });
        samples.iter().filter_map(value).collect::<Vec<_>>()
    };
    let instance = |instance| States { instance, ..States::ANY };
    assert_eq!(ids(&mut desk, instance(InstanceStates::ALIVE)), [1]);
    assert_eq!(ids(&mut desk, instance(InstanceStates::NOT_ALIVE_DISPOSED)), [2]);
    assert_eq!(ids(&mut desk, instance(InstanceStates::NOT_ALIVE_NO_WRITERS)), [3]);
    assert_eq!(ids(&mut desk, instance(InstanceStates::NOT_ALIVE)), [2, 3]);
    assert_eq!(ids(&mut desk, States { view: ViewStates::NEW, ..States::ANY }), [0; 0]);
    desk.write(1, 4, 4);
    assert_eq!(ids(&mut desk, States { view: ViewStates::NEW, ..States::ANY }), [4]);
    desk.write(1, 4, 5);
    assert_eq!(ids(&mut desk, States { sample: SampleStates::NOT_READ, ..States::ANY }), [5]);
    assert_eq!(ids(&mut desk, States { sample: SampleStates::READ, ..States::ANY }), [1, 2, 3, 4, 5]);
}

#[test]
fn instances_one_by_one() {
    let mut desk = Desk::new(|_| {});
    for id in [30, 10, 20] {
        desk.write(1, id, id);
        desk.write(1, id, id + 1);
    }
    let values = |desk: &mut Desk, which| {
        desk.access(&Request { which, ..Request::TAKE }).iter().filter_map(value).collect::<Vec<_>>()
    };
    assert_eq!(values(&mut desk, Which::Instance(handle(20))), [20, 21]);
    assert_eq!(values(&mut desk, Which::Instance(handle(20))), [0; 0]);
    assert_eq!(values(&mut desk, Which::NextInstance(Some(handle(10)))), [30, 31], "20 has none left");
    assert_eq!(values(&mut desk, Which::NextInstance(None)), [10, 11]);
    desk.write(1, 10, 12);
    assert_eq!(values(&mut desk, Which::NextInstance(Some(handle(5)))), [12], "5 need not be known");
    assert_eq!(values(&mut desk, Which::NextInstance(Some(handle(30)))), [0; 0]);
    let unknown = Request { which: Which::Instance(handle(99)), ..Request::TAKE };
    let error = desk.reader.access(desk.now, &unknown, &mut Vec::new()).unwrap_err();
    assert_eq!(error.code, ReturnCode::BadParameter);
}

#[test]
fn the_most_samples_and_a_predicate() {
    let mut desk = Desk::new(|_| {});
    for number in 0..10 {
        desk.write(1, number % 2, number);
    }
    let two = Request { max: 2, ..Request::TAKE };
    assert_eq!(desk.access(&two).iter().filter_map(value).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(desk.access(&Request { max: 0, ..Request::TAKE }), []);
    let mut out = Vec::new();
    let large = |_: &dcps::SampleInfo, payload: Option<&dcps::reader::Payload>| {
        payload.is_some_and(|payload| payload.bytes().get(8).is_some_and(|octet| *octet >= 7))
    };
    let found = desk.reader.access_where(desk.now, &Request::TAKE, large, &mut out).unwrap();
    assert_eq!((found, out.iter().filter_map(value).collect::<Vec<_>>()), (3, vec![8, 7, 9]));
    assert_eq!(desk.values(), [4, 6, 1, 3, 5].map(Some));
}

#[test]
fn lookup_and_key_value() {
    let mut desk = Desk::new(|_| {});
    desk.write(1, 7, 0);
    assert_eq!(desk.reader.lookup_instance(&data(7, 9), false), Ok(Some(handle(7))));
    assert_eq!(desk.reader.lookup_instance(&key(7), true), Ok(Some(handle(7))));
    assert_eq!(desk.reader.lookup_instance(&key(8), true), Ok(None));
    assert_eq!(desk.reader.lookup_instance(&[1], true).unwrap_err().code, ReturnCode::BadParameter);
    let mut out = Vec::new();
    desk.reader.key_value(handle(7), Representation::Xcdr1, &mut out).unwrap();
    assert_eq!(out, key(7));
    let error = desk.reader.key_value(handle(8), Representation::Xcdr1, &mut out).unwrap_err();
    assert_eq!(error.code, ReturnCode::BadParameter);
}

#[test]
fn liveliness_and_matches_are_levels() {
    let mut desk = Desk::new(|_| {});
    let status = desk.reader.subscription_matched();
    assert_eq!((status.total.count, status.total.change, status.current.count), (3, 3, 3));
    assert_eq!(desk.reader.liveliness_changed().alive.count, 3);
    desk.reader.set_liveliness(desk.now, writer(1), false);
    desk.reader.set_liveliness(desk.now, writer(1), false);
    let status = desk.reader.liveliness_changed();
    assert_eq!((status.alive.count, status.alive.change), (2, -1));
    assert_eq!((status.not_alive.count, status.not_alive.change), (1, 1));
    assert_eq!(status.last_publication, Some(writer(1).into()));
    assert_eq!(desk.reader.liveliness_changed().not_alive.change, 0);
    desk.reader.unmatch_publication(desk.now, writer(1));
    let status = desk.reader.liveliness_changed();
    assert_eq!((status.alive.count, status.not_alive.count, status.not_alive.change), (2, 0, -1));
    let status = desk.reader.subscription_matched();
    assert_eq!((status.total.change, status.current.count, status.current.change), (0, 2, -1));
    assert_eq!(desk.reader.status_changes(), StatusMask::NONE);
    assert_eq!(desk.reader.publications().count(), 2);
}

#[test]
fn incompatible_writers_are_counted_by_policy() {
    use rtps::discovery::{Mismatch, PolicyId};
    use wire::qos::{LivelinessKind, ReliabilityKind};
    let mut desk = Desk::new(|_| {});
    let partition = Mismatch::Partition { writer: vec![], reader: vec![] };
    desk.reader.not_matched(std::slice::from_ref(&partition));
    assert!(!desk.reader.status_changes().intersects(StatusMask::REQUESTED_INCOMPATIBLE_QOS));
    let (offered, requested) = (ReliabilityKind::BestEffort, ReliabilityKind::Reliable);
    let reliability = Mismatch::Reliability { offered, requested };
    let (offered, requested) = (LivelinessKind::Automatic, LivelinessKind::ManualByTopic);
    let kind = Mismatch::LivelinessKind { offered, requested };
    let lease = Mismatch::LivelinessLease { offered: ms(2), requested: ms(1) };
    desk.reader.not_matched(std::slice::from_ref(&reliability));
    desk.reader.not_matched(&[kind, lease, partition, reliability]);
    assert!(desk.reader.status_changes().intersects(StatusMask::REQUESTED_INCOMPATIBLE_QOS));
    let status = desk.reader.requested_incompatible_qos();
    assert_eq!((status.total.count, status.last_policy), (2, Some(PolicyId::LIVELINESS)));
    assert_eq!(status.policies, [(PolicyId::LIVELINESS, 1), (PolicyId::RELIABILITY, 2)]);
}

#[test]
fn lost_samples_are_counted() {
    use rtps::reader::Sink;
    let mut desk = Desk::new(|_| {});
    let now = desk.now;
    desk.reader.sink(now).lost(writer(1), wire::SequenceNumber(5), 3);
    let status = desk.reader.sample_lost();
    assert_eq!((status.total.count, status.total.change), (3, 3));
    let drop = desk.reader.dropped(DropReason::Lost);
    assert_eq!((drop.count, drop.last), (3, Some((writer(1), wire::SequenceNumber(7), now.wall))));
    assert_eq!(Duration::from_nanos(now.wall.as_nanos()), ms(1_000));
}

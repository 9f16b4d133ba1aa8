//! Writers and readers hear of their sessions over domains: statuses, listeners, and the token bucket of a session; in virtual time.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dds::qos::{DataWriterQos, Durability, History, Publishing, Reliability};
use dds::session::{SessionState, TokenBucket};
use dds::{DataWriter, Duration, Guid, NO_STATUS, QosKind, ReturnCode};
use wire::session::{SESSION_TOPIC, SESSION_TYPE, SessionVerdict};

use crate::fixture::*;

/// Room for one packet, and again for one each 800 ms.
const BUCKET: TokenBucket = TokenBucket { rate: 3_040, bucket: 304, largest_packet: 304 };

/// Who tells of sessions, as `punctual reserve` does.
fn teller(participant: &dds::DomainParticipant) -> DataWriter<SessionVerdict> {
    let topic = participant
        .create_topic::<SessionVerdict>(SESSION_TOPIC, SESSION_TYPE, QosKind::Default, None, NO_STATUS)
        .unwrap();
    let mut qos = DataWriterQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.history = History::KeepLast(1);
    publisher(participant).create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

fn verdict(writer: Guid, reader: Guid, state: SessionState) -> SessionVerdict {
    SessionVerdict {
        writer: writer.to_bytes(),
        reader: reader.to_bytes(),
        state,
        session: "65001-7".to_owned(),
        limit: 20_000_000,
        bound: 9_000_000,
        rate: BUCKET.rate,
        bucket: BUCKET.bucket.into(),
        largest_packet: BUCKET.largest_packet,
        lease: 30_000_000_000,
        ..SessionVerdict::default()
    }
}

#[test]
fn a_writer_follows_its_session_and_both_ends_hear_of_it() {
    let (mut desk, here, there) = two();
    let third = desk.participant();
    let (heard, states) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
    let (count, seen) = (Arc::clone(&heard), Arc::clone(&states));
    let writer = here
        .writer::<Reading>("Readings")
        .qos(DataWriterQos::default())
        .session_flow_controller(Publishing::Asynchronous)
        .on_session_changed(move |writer, status| {
            assert_eq!(writer.sessions()[0].writer, writer.guid().unwrap());
            count.fetch_add(status.total.change, Ordering::SeqCst);
        })
        .create()
        .unwrap();
    let reader = there
        .reader::<Reading>("Readings")
        .reliable()
        .keep_all()
        .on_session_changed(move |reader, _| {
            seen.lock().unwrap().push(reader.sessions()[0].state);
        })
        .create()
        .unwrap();
    let teller = teller(&third);
    desk.run(Duration::from_secs(10));
    let burst = |values: std::ops::Range<i64>| {
        for value in values {
            writer.write(&reading(u32::try_from(value).unwrap(), value)).unwrap();
        }
    };
    // Without a session nothing waits.
    burst(0..20);
    desk.run(millis(50));
    assert_eq!(values(&reader).len(), 20);
    assert!(writer.sessions().is_empty() && reader.sessions().is_empty());

    let (of_writer, of_reader) = (writer.guid().unwrap(), reader.guid().unwrap());
    let granted = verdict(of_writer, of_reader, SessionState::Granted);
    teller.write(&granted).unwrap();
    desk.run(Duration::from_secs(2));
    let session = &writer.sessions()[0];
    assert_eq!((session.state, session.session.as_str()), (SessionState::Granted, "65001-7"));
    assert_eq!((session.bound, session.bucket), (Some(millis(9)), Some(BUCKET)));
    assert_eq!(reader.sessions()[0].bound, Some(millis(9)));
    burst(100..150);
    desk.run(millis(50));
    let at_once = values(&reader).len();
    assert!(at_once < 10, "one packet may leave at once, and {at_once} samples came");

    // A detour is told, and the bucket stays.
    teller.write(&SessionVerdict { detours: 1, bound: 12_000_000, loss: 40, ..granted }).unwrap();
    desk.run(millis(500));
    let now = &reader.sessions()[0];
    assert_eq!((now.detours, now.bound, now.loss), (1, Some(millis(12)), 40));
    // It is refused: what has waited leaves.
    let refused = SessionVerdict {
        reason: "there is too little".to_owned(),
        ..verdict(of_writer, of_reader, SessionState::Refused)
    };
    teller.write(&refused).unwrap();
    desk.run(Duration::from_secs(1));
    assert_eq!(values(&reader).len() + at_once, 50);
    let session = &writer.sessions()[0];
    assert_eq!((session.reason.as_str(), session.bound), ("there is too little", None));
    // What is not told again is over.
    desk.run(Duration::from_secs(40));
    assert_eq!(writer.sessions()[0].state, SessionState::Over);
    assert_eq!(heard.load(Ordering::SeqCst), 4);
    let expected = [SessionState::Granted, SessionState::Granted, SessionState::Refused, SessionState::Over];
    assert_eq!(*states.lock().unwrap(), expected);
}

#[test]
fn who_does_not_ask_hears_nothing_and_has_no_hidden_endpoints() {
    let (mut desk, here, there) = two();
    let third = desk.participant();
    let writer = writer(&here, |_| {});
    let reader = reader(&there, |_| {});
    let teller = teller(&third);
    desk.run(Duration::from_secs(10));
    assert!(teller.get_matched_subscriptions().is_empty());
    let told = verdict(writer.guid().unwrap(), reader.guid().unwrap(), SessionState::Granted);
    teller.write(&told).unwrap();
    desk.run(Duration::from_secs(10));
    assert!(writer.sessions().is_empty() && reader.sessions().is_empty());
}

#[test]
fn a_flow_controller_of_sessions_is_alone_and_stays() {
    let (_desk, here, _) = two();
    let both = here
        .writer::<Reading>("Readings")
        .flow_controller(dds::qos::FlowController::token_bucket(8_000, 2_000))
        .session_flow_controller(Publishing::Synchronous)
        .create();
    assert_eq!(both.map(drop).unwrap_err().code, ReturnCode::InconsistentPolicy);
    let writer = writer(&here, |_| {});
    let mut qos = writer.get_qos();
    qos.session_flow_controller = Some(Publishing::Asynchronous);
    let refused = writer.set_qos(QosKind::Specific(qos)).unwrap_err();
    assert_eq!(refused.code, ReturnCode::ImmutablePolicy);
}

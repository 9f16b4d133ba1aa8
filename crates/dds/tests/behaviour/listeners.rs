//! Who is called for what: the entity's listener, its group's, its participant's (DDS 1.4, 2.2.4.2.3), and what callbacks may do.
use std::sync::{Arc, Mutex};

use dds::qos::{DataWriterQos, Ownership, Reliability};
use dds::status::Matched;
use dds::{
    AnyDataReaderListener, DataReader, DataReaderListener, DataWriter, DataWriterListener, NO_STATUS,
    QosKind, RawDataReader, States, StatusMask, Subscriber, SubscriberListener, TopicListener,
};

use crate::fixture::*;

const DATA: StatusMask = StatusMask::DATA_AVAILABLE;
const MATCHED: StatusMask = StatusMask::SUBSCRIPTION_MATCHED;

#[test]
fn a_status_goes_to_the_first_listener_that_is_for_it() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let writer = writer(&here, |_| {});
    there.set_listener(Some(log.listener("participant")), DATA | MATCHED | StatusMask::LIVELINESS_CHANGED);
    let subscriber =
        there.create_subscriber(QosKind::Default, Some(log.listener("subscriber")), DATA | MATCHED).unwrap();
    let reader = subscriber
        .create_datareader::<Reading>(&topic(&there), QosKind::Default, Some(log.listener("reader")), DATA)
        .unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), ["subscriber: subscription matched 1", "participant: alive 1 not alive 0"]);
    let mut expect = |who: &str| {
        writer.write(&reading(1, 1)).unwrap();
        desk.run(millis(1));
        assert_eq!(log.read(), [format!("{who}: data available")]);
    };
    expect("reader");
    reader.set_listener(Some(log.listener("reader")), MATCHED);
    expect("subscriber");
    subscriber.set_listener(None, NO_STATUS);
    expect("participant");
    subscriber.set_listener(Some(log.listener("subscriber")), DATA);
    expect("subscriber");
    reader.set_listener(Some(log.listener("reader")), DATA);
    expect("reader");
    // A listener that is for nothing hides nothing, and without any nobody is called.
    reader.set_listener(Some(log.listener("reader")), NO_STATUS);
    expect("subscriber");
    subscriber.set_listener(None, NO_STATUS);
    there.set_listener(None, NO_STATUS);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(log.read(), [""; 0]);
    assert!(reader.get_status_changes().intersects(DATA), "it is still set");
}

#[test]
fn statuses_of_writers_and_topics_go_up_as_well() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let mask = StatusMask::PUBLICATION_MATCHED
        | StatusMask::OFFERED_INCOMPATIBLE_QOS
        | StatusMask::INCONSISTENT_TOPIC;
    here.set_listener(Some(log.listener("participant")), mask);
    let publisher = here
        .create_publisher(QosKind::Default, Some(log.listener("publisher")), StatusMask::PUBLICATION_MATCHED)
        .unwrap();
    let _writer = writer_of(&publisher, |_| {});
    let matching = reader(&there, |_| {});
    let _other = reader(&there, |qos| qos.endpoint.ownership = Ownership::Exclusive);
    settle(&mut desk);
    let mut called = log.read();
    called.sort();
    assert_eq!(
        called,
        ["participant: offered incompatible qos 6", "publisher: publication matched 1"],
        "6 is OWNERSHIP"
    );
    publisher.set_listener(None, NO_STATUS);
    matching.get_subscriber().delete_datareader(&matching).unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), ["participant: publication matched 0"]);
    // Another type under the same name.
    let foreign = desk.participant();
    let other = foreign.create_topic::<Text>("Readings", "Other", QosKind::Default, None, NO_STATUS).unwrap();
    let _foreign =
        subscriber(&foreign).create_datareader::<Text>(&other, QosKind::Default, None, NO_STATUS).unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), ["participant: inconsistent topic 1"]);
    let own: Arc<dyn TopicListener> = log.listener("topic");
    topic(&here).set_listener(Some(own), StatusMask::INCONSISTENT_TOPIC);
    let third = desk.participant();
    let other = third.create_topic::<Text>("Readings", "Third", QosKind::Default, None, NO_STATUS).unwrap();
    let _third =
        subscriber(&third).create_datareader::<Text>(&other, QosKind::Default, None, NO_STATUS).unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), ["topic: inconsistent topic 2"]);
}

#[test]
fn data_on_readers_comes_first_and_instead_of_data_available() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let writer = writer(&here, |_| {});
    let subscriber = there
        .create_subscriber(
            QosKind::Default,
            Some(log.listener("subscriber")),
            StatusMask::DATA_ON_READERS | DATA,
        )
        .unwrap();
    let reader = reader_of(&subscriber, |_| {});
    reader.set_listener(Some(log.listener("reader")), DATA);
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(log.read(), ["subscriber: data on readers"]);
    // Heartbeats and time are no data.
    desk.run(millis(5_000));
    assert_eq!(log.read(), [""; 0]);
    assert_eq!(subscriber.get_status_changes(), NO_STATUS, "the listener was called for it");
    assert!(reader.get_status_changes().intersects(DATA), "but not the reader's");
    subscriber.notify_datareaders();
    assert_eq!(log.read(), ["reader: data available"]);
    assert!(!reader.get_status_changes().intersects(DATA));
    reader.set_listener(None, NO_STATUS);
    subscriber.notify_datareaders();
    assert_eq!(log.read(), ["subscriber: data available"]);
    values(&reader);
    subscriber.notify_datareaders();
    assert_eq!(log.read(), [""; 0], "nothing is there");
    // The participant's listener is asked if the subscriber's is not for it.
    subscriber.set_listener(None, NO_STATUS);
    there.set_listener(Some(log.listener("participant")), StatusMask::DATA_ON_READERS);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(log.read(), ["participant: data on readers"]);
}

#[test]
fn data_on_readers_is_a_status_of_the_subscriber() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |_| {});
    let subscriber = subscriber(&there);
    let (one, other) = (reader_of(&subscriber, |_| {}), reader_of(&subscriber, |_| {}));
    settle(&mut desk);
    let condition = subscriber.get_statuscondition();
    assert!(!condition.get_trigger_value());
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(subscriber.get_status_changes(), StatusMask::DATA_ON_READERS);
    assert!(condition.get_trigger_value());
    assert_eq!(subscriber.get_datareaders(States::NOT_READ).len(), 2);
    values(&one);
    assert!(condition.get_trigger_value(), "the other has data that nobody looked for");
    values(&other);
    assert!(!condition.get_trigger_value());
}

#[test]
fn matches_found_while_an_entity_is_made_are_told_with_their_counts() {
    let (mut desk, here, there) = two();
    let _writer = writer(&here, |_| {});
    let _reader = reader(&here, |_| {});
    settle(&mut desk);
    let log = Log::default();
    let mask = StatusMask::PUBLICATION_MATCHED;
    let made = publisher(&there)
        .create_datawriter::<Reading>(&topic(&there), QosKind::Default, Some(log.listener("writer")), mask)
        .unwrap();
    // What is in the same participant, or known already, matches at once.
    let _reader = subscriber(&there)
        .create_datareader::<Reading>(&topic(&there), QosKind::Default, Some(log.listener("reader")), MATCHED)
        .unwrap();
    assert_eq!(
        log.read(),
        ["writer: publication matched 1", "reader: subscription matched 2", "writer: publication matched 2"]
    );
    assert_eq!(made.get_publication_matched_status().total.change, 0, "the listener has read it");
}

/// Does everything that a callback may do.
struct Busy {
    log: Log,
    answers: DataWriter<Reading>,
    made: Mutex<Option<DataReader<Reading>>>,
}

impl DataReaderListener<Reading> for Busy {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        while let Some(sample) = reader.take_next_sample().unwrap() {
            let Some(data) = sample.data else { continue };
            self.answers.write(&reading(data.sensor, data.value + 1)).unwrap();
        }
    }

    fn on_subscription_matched(&self, reader: &DataReader<Reading>, status: Matched) {
        self.log.write(format!("matched {}", status.current.count));
        let subscriber = reader.get_subscriber();
        assert_eq!(subscriber.get_participant().get_qos(), Default::default());
        assert_eq!(reader.get_qos().endpoint.reliability, Reliability::RELIABLE);
        let mut qos = subscriber.get_qos();
        qos.group_data = vec![1];
        subscriber.set_qos(QosKind::Specific(qos)).unwrap();
        let mut qos = reader.get_qos();
        qos.endpoint.deadline = millis(1_000_000);
        reader.set_qos(QosKind::Specific(qos)).unwrap();
        let made = subscriber.get_participant().create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        *self.made.lock().unwrap() = Some(reader_of(&made, |_| {}));
    }
}

#[test]
fn callbacks_may_write_take_create_and_change_qos() {
    let (mut desk, here, there) = two();
    let answers = publisher(&there)
        .create_datawriter::<Reading>(&named_topic(&there, "Answers"), QosKind::Default, None, NO_STATUS)
        .unwrap();
    let busy = Arc::new(Busy { log: Log::default(), answers, made: Mutex::default() });
    let asked = reader(&there, |_| {});
    asked.set_listener(Some(Arc::clone(&busy) as _), DATA | MATCHED);
    let writer = writer(&here, |qos| qos.endpoint.deadline = millis(1_000));
    let answered = subscriber(&here)
        .create_datareader::<Reading>(&named_topic(&here, "Answers"), QosKind::Default, None, NO_STATUS)
        .unwrap();
    settle(&mut desk);
    writer.write(&reading(1, 41)).unwrap();
    desk.run(millis(1));
    assert_eq!(values(&answered), [42]);
    assert_eq!(busy.log.read(), ["matched 1"]);
    let made = busy.made.lock().unwrap().take().unwrap();
    assert_eq!(made.get_subscription_matched_status().current.count, 1);
    asked.set_listener(None, NO_STATUS);
}

/// Looks at its own entity while QoS is changed.
struct Looker(Log);

impl DataWriterListener<Reading> for Looker {
    fn on_publication_matched(&self, writer: &DataWriter<Reading>, status: Matched) {
        let deadline = writer.get_qos().endpoint.deadline;
        self.0.write(format!("{} at {} ms", status.current.count, deadline.as_nanos() / 1_000_000));
    }
}

#[test]
fn a_callback_that_a_change_of_qos_causes_sees_the_change() {
    let (mut desk, here, _there) = two();
    let log = Log::default();
    let _reader = reader(&here, |qos| qos.endpoint.deadline = millis(100));
    let writer = writer(&here, |qos| qos.endpoint.deadline = millis(100));
    writer.set_listener(Some(Arc::new(Looker(log.clone()))), StatusMask::PUBLICATION_MATCHED);
    desk.run(millis(10));
    let deadline = |count| {
        let mut qos = writer.get_qos();
        qos.endpoint.deadline = millis(count);
        writer.set_qos(QosKind::Specific(qos)).unwrap();
    };
    deadline(101);
    deadline(99);
    assert_eq!(log.read(), ["0 at 101 ms", "1 at 99 ms"]);
}

struct Panicker(Log);

impl DataReaderListener<Reading> for Panicker {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        self.0.write(format!("{:?}", values(reader)));
        panic!("a callback panics, as the test {} wants it to", "a_panic_in_a_callback_ends_that_call_alone");
    }
}

#[test]
fn a_panic_in_a_callback_ends_that_call_alone() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let writer = writer(&here, |_| {});
    let reader = reader(&there, |_| {});
    reader.set_listener(Some(Arc::new(Panicker(log.clone()))), DATA);
    settle(&mut desk);
    for value in [1, 2] {
        writer.write(&reading(1, value)).unwrap();
        desk.run(millis(1));
    }
    assert_eq!(log.read(), ["[1]", "[2]"]);
    desk.run(millis(100));
    writer.wait_for_acknowledgments(millis(100)).unwrap();
}

/// Writes to the topic that it listens to.
struct Echo {
    writer: DataWriter<Reading>,
    depth: Mutex<(u32, u32)>,
}

impl DataReaderListener<Reading> for Echo {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        {
            let mut depth = self.depth.lock().unwrap();
            depth.0 += 1;
            depth.1 = depth.1.max(depth.0);
        }
        for value in values(reader).into_iter().filter(|value| *value < 100) {
            self.writer.write(&reading(1, value + 1)).unwrap();
        }
        self.depth.lock().unwrap().0 -= 1;
    }
}

#[test]
fn calls_of_one_entity_follow_each_other_even_if_they_cause_each_other() {
    let (_desk, here, _there) = two();
    let writer = writer(&here, |_| {});
    let echo = Arc::new(Echo { writer: writer.clone(), depth: Mutex::default() });
    let reader = reader(&here, |_| {});
    reader.set_listener(Some(Arc::clone(&echo) as _), DATA);
    writer.write(&reading(1, 0)).unwrap();
    assert_eq!(echo.depth.lock().unwrap().1, 1, "never within each other");
    assert_eq!(writer.write(&reading(1, 100)).unwrap().0, 102, "all hundred were written");
    reader.set_listener(None, NO_STATUS);
}

#[test]
fn nobody_is_called_for_what_was_deleted() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    here.set_listener(Some(log.listener("participant")), StatusMask(u32::MAX));
    let writer = writer(&here, |_| {});
    let own = reader(&here, |_| {});
    let reader = reader(&there, |_| {});
    settle(&mut desk);
    log.read();
    own.get_subscriber().delete_datareader(&own).unwrap();
    assert_eq!(log.read(), ["participant: publication matched 1"], "the writer, but not the deleted reader");
    here.delete_contained_entities().unwrap();
    settle(&mut desk);
    assert_eq!(log.read(), [""; 0]);
    assert_eq!(reader.get_subscription_matched_status().current.count, 0);
    drop(writer);
}

#[test]
fn the_host_keeps_a_thread_as_long_as_somebody_listens() {
    let (desk, here, _there) = two();
    let log = Log::default();
    assert!(!desk.keeps_thread(0));
    let (one, other) = (reader(&here, |_| {}), writer(&here, |_| {}));
    one.set_listener(Some(log.listener("one")), DATA);
    assert!(desk.keeps_thread(0) && !desk.keeps_thread(1));
    other.set_listener(Some(log.listener("other")), StatusMask::LIVELINESS_LOST);
    one.set_listener(Some(log.listener("one again")), DATA);
    one.set_listener(None, NO_STATUS);
    assert!(desk.keeps_thread(0), "the writer's is still there");
    other.get_publisher().delete_datawriter(&other).unwrap();
    assert!(!desk.keeps_thread(0));
    here.set_listener(Some(log.listener("participant")), StatusMask::DATA_ON_READERS);
    assert!(desk.keeps_thread(0));
    here.set_listener(None, NO_STATUS);
    assert!(!desk.keeps_thread(0));
}

/// A listener of a subscriber that takes in `on_data_on_readers`, as the standard suggests.
struct Taker(Log);

impl AnyDataReaderListener for Taker {
    fn on_data_available(&self, _: &RawDataReader) {
        self.0.write("data available");
    }
}

impl SubscriberListener for Taker {
    fn on_data_on_readers(&self, subscriber: &Subscriber) {
        let readers = subscriber.get_datareaders(States::NOT_READ);
        self.0.write(format!("{} with data", readers.len()));
        subscriber.notify_datareaders();
    }
}

#[test]
fn readers_are_notified_from_within_on_data_on_readers() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let writer = writer(&here, |_: &mut DataWriterQos| {});
    let subscriber = subscriber(&there);
    let (one, other) = (reader_of(&subscriber, |_| {}), reader_of(&subscriber, |_| {}));
    subscriber.set_listener(Some(Arc::new(Taker(log.clone()))), StatusMask::DATA_ON_READERS | DATA);
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(log.read(), ["2 with data", "data available", "data available"]);
    assert_eq!((values(&one), values(&other)), (vec![1], vec![1]));
}

/// Takes what comes, and takes itself away at a value that is less than zero.
struct Guest {
    _told: Arc<()>,
}

impl DataReaderListener<Reading> for Guest {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        if values(reader).into_iter().any(|value| value < 0) {
            reader.set_listener(None, NO_STATUS);
        }
    }
}

#[test]
fn a_listener_that_was_taken_away_is_kept_by_nobody() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |_| {});
    let reader = reader(&there, |_| {});
    let guest = Arc::new(());
    let come = || reader.set_listener(Some(Arc::new(Guest { _told: Arc::clone(&guest) })), DATA);
    come();
    settle(&mut desk);
    writer.write(&reading(1, 1)).unwrap();
    desk.run(millis(1));
    assert_eq!(Arc::strong_count(&guest), 2);
    come();
    assert_eq!(Arc::strong_count(&guest), 2, "the one before was called, and is gone");
    writer.write(&reading(1, -1)).unwrap();
    desk.run(millis(1));
    assert_eq!(Arc::strong_count(&guest), 1, "it has gone by itself");
    come();
    reader.set_listener(None, NO_STATUS);
    assert_eq!(Arc::strong_count(&guest), 1);
}

/// Writes down whether its status is set, and takes nothing.
struct Onlooker(Log);

impl DataReaderListener<Reading> for Onlooker {
    fn on_data_available(&self, reader: &DataReader<Reading>) {
        self.0.write(format!("{}", reader.get_status_changes().intersects(DATA)));
    }
}

#[test]
fn data_that_a_listener_was_told_of_are_no_change_any_more() {
    let (mut desk, here, there) = two();
    let log = Log::default();
    let writer = writer(&here, |_| {});
    let reader = reader(&there, |_| {});
    reader.set_listener(Some(Arc::new(Onlooker(log.clone()))), DATA);
    settle(&mut desk);
    for value in [1, 2] {
        writer.write(&reading(1, value)).unwrap();
        desk.run(millis(1));
        assert!(!reader.get_status_changes().intersects(DATA));
    }
    assert_eq!(log.read(), ["false", "false"]);
    reader.set_listener(None, NO_STATUS);
    writer.write(&reading(1, 3)).unwrap();
    desk.run(millis(1));
    assert!(reader.get_status_changes().intersects(DATA), "nobody was told");
}

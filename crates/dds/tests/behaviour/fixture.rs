//! What most tests need: a keyed type, endpoints in one line, and listeners that write down what they are called for.
use std::sync::{Arc, Mutex};

use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::status::{
    DeadlineMissed, IncompatibleQos, InconsistentTopic, LivelinessChanged, LivelinessLost, Matched,
    SampleLost, SampleRejected,
};
use dds::{
    AnyDataReaderListener, AnyDataWriterListener, DataReader, DataReaderListener, DataWriter,
    DataWriterListener, DomainParticipant, DomainParticipantListener, Duration, NO_STATUS, Publisher,
    PublisherListener, QosKind, RawDataReader, RawDataWriter, States, Subscriber, SubscriberListener, Topic,
    TopicListener,
};
use derive::DdsType;

use crate::desk::Desk;

/// A sample: the key and something to tell samples apart.
#[derive(DdsType, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Reading {
    #[dds(key)]
    pub(crate) sensor: u32,
    pub(crate) value: i64,
}

/// What others may mean by a reading: no sample of it can be one, nor the other way round.
#[derive(DdsType, Clone, PartialEq, Debug, Default)]
pub(crate) struct Text {
    #[dds(key)]
    pub(crate) sensor: String,
    pub(crate) text: String,
}

pub(crate) const fn reading(sensor: u32, value: i64) -> Reading {
    Reading { sensor, value }
}

pub(crate) const fn millis(count: i64) -> Duration {
    Duration::from_millis(count)
}

/// Two participants on two hosts.
pub(crate) fn two() -> (Desk, DomainParticipant, DomainParticipant) {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    (desk, here, there)
}

/// Long enough for discovery, short beside a lease.
pub(crate) fn settle(desk: &mut Desk) {
    desk.run(Duration::from_secs(1));
}

/// Long enough for who says goodbye to be gone: writers are kept for a moment, so that their last samples are read.
pub(crate) fn part(desk: &mut Desk) {
    desk.run(millis(400));
}

/// The topic "Readings" of a participant.
pub(crate) fn topic(participant: &DomainParticipant) -> Topic {
    named_topic(participant, "Readings")
}

pub(crate) fn named_topic(participant: &DomainParticipant, name: &str) -> Topic {
    participant.lookup_topicdescription(name).unwrap_or_else(|| {
        participant.create_topic::<Reading>(name, "Reading", QosKind::Default, None, NO_STATUS).unwrap()
    })
}

pub(crate) fn publisher(participant: &DomainParticipant) -> Publisher {
    participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap()
}

pub(crate) fn subscriber(participant: &DomainParticipant) -> Subscriber {
    participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap()
}

/// A writer with a publisher of its own; reliable, KEEP_LAST 1.
pub(crate) fn writer(
    participant: &DomainParticipant,
    tune: impl FnOnce(&mut DataWriterQos),
) -> DataWriter<Reading> {
    writer_of(&publisher(participant), tune)
}

pub(crate) fn writer_of(publisher: &Publisher, tune: impl FnOnce(&mut DataWriterQos)) -> DataWriter<Reading> {
    let mut qos = publisher.get_default_datawriter_qos();
    tune(&mut qos);
    let topic = topic(publisher.get_participant());
    publisher.create_datawriter::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

/// A reader with a subscriber of its own; reliable, KEEP_ALL.
pub(crate) fn reader(
    participant: &DomainParticipant,
    tune: impl FnOnce(&mut DataReaderQos),
) -> DataReader<Reading> {
    reader_of(&subscriber(participant), tune)
}

pub(crate) fn reader_of(
    subscriber: &Subscriber,
    tune: impl FnOnce(&mut DataReaderQos),
) -> DataReader<Reading> {
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    tune(&mut qos);
    let topic = topic(subscriber.get_participant());
    subscriber.create_datareader::<Reading>(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

pub(crate) fn keep_all(qos: &mut DataWriterQos) {
    qos.endpoint.history = History::KeepAll;
}

/// Takes all values that are there.
pub(crate) fn values(reader: &DataReader<Reading>) -> Vec<i64> {
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    samples.iter().filter_map(|sample| sample.data).map(|data| data.value).collect()
}

/// What listeners were called for, in turn.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    /// What was written since the last call.
    pub(crate) fn read(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A listener that writes with its name before it.
    pub(crate) fn listener(&self, name: &'static str) -> Arc<Recorder> {
        Arc::new(Recorder { name, log: self.clone() })
    }
}

/// A listener of any kind that writes down what it is called for.
pub(crate) struct Recorder {
    name: &'static str,
    log: Log,
}

impl Recorder {
    fn note(&self, what: impl std::fmt::Display) {
        self.log.write(format!("{}: {what}", self.name));
    }
}

macro_rules! reader_callbacks {
    ($reader:ty) => {
        fn on_data_available(&self, _: &$reader) {
            self.note("data available");
        }
        fn on_requested_deadline_missed(&self, _: &$reader, status: DeadlineMissed) {
            self.note(format!("requested deadline missed {}", status.total.count));
        }
        fn on_requested_incompatible_qos(&self, _: &$reader, status: IncompatibleQos) {
            self.note(format!("requested incompatible qos {}", status.last_policy.unwrap().0));
        }
        fn on_sample_lost(&self, _: &$reader, status: SampleLost) {
            self.note(format!("sample lost {}", status.total.count));
        }
        fn on_sample_rejected(&self, _: &$reader, status: SampleRejected) {
            self.note(format!("sample rejected {}", status.total.count));
        }
        fn on_liveliness_changed(&self, _: &$reader, status: LivelinessChanged) {
            self.note(format!("alive {} not alive {}", status.alive.count, status.not_alive.count));
        }
        fn on_subscription_matched(&self, _: &$reader, status: Matched) {
            self.note(format!("subscription matched {}", status.current.count));
        }
    };
}

macro_rules! writer_callbacks {
    ($writer:ty) => {
        fn on_offered_deadline_missed(&self, _: &$writer, status: DeadlineMissed) {
            self.note(format!("offered deadline missed {}", status.total.count));
        }
        fn on_offered_incompatible_qos(&self, _: &$writer, status: IncompatibleQos) {
            self.note(format!("offered incompatible qos {}", status.last_policy.unwrap().0));
        }
        fn on_liveliness_lost(&self, _: &$writer, status: LivelinessLost) {
            self.note(format!("liveliness lost {}", status.total.count));
        }
        fn on_publication_matched(&self, _: &$writer, status: Matched) {
            self.note(format!("publication matched {}", status.current.count));
        }
    };
}

impl DataReaderListener<Reading> for Recorder {
    reader_callbacks!(DataReader<Reading>);
}

impl AnyDataReaderListener for Recorder {
    reader_callbacks!(RawDataReader);
}

impl SubscriberListener for Recorder {
    fn on_data_on_readers(&self, _: &Subscriber) {
        self.note("data on readers");
    }
}

impl DataWriterListener<Reading> for Recorder {
    writer_callbacks!(DataWriter<Reading>);
}

impl AnyDataWriterListener for Recorder {
    writer_callbacks!(RawDataWriter);
}

impl PublisherListener for Recorder {}

impl TopicListener for Recorder {
    fn on_inconsistent_topic(&self, _: &Topic, status: InconsistentTopic) {
        self.note(format!("inconsistent topic {}", status.total.count));
    }
}

impl DomainParticipantListener for Recorder {}

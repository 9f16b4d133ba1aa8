//! A writer that promises, a reader that asks, and a resource manager that says what a test wants.
use dds::assurance::{PairAssurance, Stage, State};
use dds::qos::{
    DataReaderQos, DataWriterQos, Durability, History, OfferedAssurance, Reliability, RequestedAssurance,
    WhenRefused,
};
use dds::serialized::DropReason;
use dds::{
    DataReader, DataWriter, DomainParticipant, Duration, NO_STATUS, QosKind, ReturnCode, States, Topic,
};
use derive::DdsType;
use wire::admission::{
    MEASURED_TOPIC, MEASURED_TYPE, Measured, REQUEST_TOPIC, REQUEST_TYPE, Request, Socket, VERDICT_TOPIC,
    VERDICT_TYPE, Verdict,
};

use crate::desk::Desk;

/// A sample without greatest size.
#[derive(DdsType, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Frame {
    pub(crate) number: u32,
    pub(crate) octets: Vec<u8>,
}

/// Bytes of a serialized [`Frame`] around its own: encapsulation header, number and length.
pub(crate) const AROUND: u32 = 12;

pub(crate) const fn millis(count: i64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) const fn micros(count: i64) -> Duration {
    Duration::from_micros(count)
}

/// Everybody on a host of his own, in this order; the manager comes when a test wants it.
pub(crate) struct Scene {
    pub(crate) writes: DomainParticipant,
    pub(crate) reads: DomainParticipant,
    /// Last: without it there is no time.
    pub(crate) desk: Desk,
}

pub(crate) const WRITER_HOST: usize = 0;
pub(crate) const READER_HOST: usize = 1;

impl Scene {
    pub(crate) fn new() -> Self {
        let mut desk = Desk::new();
        let (writes, reads) = (desk.participant(), desk.participant());
        Self { writes, reads, desk }
    }

    /// A manager, which has found everybody by now.
    pub(crate) fn manager(&mut self) -> Manager {
        let manager = Manager::new(self.desk.participant());
        self.settle();
        manager
    }

    pub(crate) fn settle(&mut self) {
        self.desk.run(millis(500));
    }
}

pub(crate) fn offered() -> OfferedAssurance {
    OfferedAssurance { maximum_size: Some(4_000 + AROUND), ..OfferedAssurance::every(millis(5)) }
}

pub(crate) fn wanted() -> RequestedAssurance {
    RequestedAssurance::within(millis(3))
}

pub(crate) fn or_fail() -> RequestedAssurance {
    RequestedAssurance { when_refused: WhenRefused::Fail, ..wanted() }
}

pub(crate) fn topic(participant: &DomainParticipant) -> Topic {
    participant.lookup_topicdescription("Frames").unwrap_or_else(|| {
        participant.create_topic::<Frame>("Frames", "Frame", QosKind::Default, None, NO_STATUS).unwrap()
    })
}

/// Reliable and KEEP_ALL.
pub(crate) fn writer(
    participant: &DomainParticipant,
    assurance: Option<OfferedAssurance>,
    tune: impl FnOnce(&mut DataWriterQos),
) -> DataWriter<Frame> {
    let mut qos = DataWriterQos { assurance, ..DataWriterQos::default() };
    qos.endpoint.history = History::KeepAll;
    tune(&mut qos);
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let topic = topic(participant);
    publisher.create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

/// Reliable and KEEP_ALL.
pub(crate) fn reader(
    participant: &DomainParticipant,
    assurance: Option<RequestedAssurance>,
    tune: impl FnOnce(&mut DataReaderQos),
) -> DataReader<Frame> {
    let mut qos = DataReaderQos { assurance, ..DataReaderQos::default() };
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    tune(&mut qos);
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let topic = topic(participant);
    subscriber.create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

pub(crate) fn frame(number: u32, octets: u32) -> Frame {
    Frame { number, octets: vec![7; octets as usize] }
}

/// The numbers of all samples that are there, which are taken.
pub(crate) fn numbers(reader: &DataReader<Frame>) -> Vec<u32> {
    let samples = reader.take(usize::MAX, States::ANY).unwrap();
    samples.iter().filter_map(|sample| sample.data.as_ref()).map(|data| data.number).collect()
}

/// The one pair that an endpoint has.
pub(crate) fn only(pairs: &[PairAssurance]) -> (State, Stage, String) {
    let [pair] = pairs else { panic!("one pair, not {pairs:?}") };
    (pair.state, pair.stage, pair.reason.clone())
}

pub(crate) fn is_timeout(error: &dds::Error) -> bool {
    error.code == ReturnCode::Timeout
}

/// An ordinary participant that publishes verdicts.
pub(crate) struct Manager {
    pub(crate) participant: DomainParticipant,
    requests: DataReader<Request>,
    pub(crate) verdicts: DataWriter<Verdict>,
    measured: DataReader<Measured>,
}

impl Manager {
    pub(crate) fn new(participant: DomainParticipant) -> Self {
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let make = |name: &str, type_name: &str, of: fn(&DomainParticipant, &str, &str) -> Topic| {
            of(&participant, name, type_name)
        };
        let mut reads = DataReaderQos::default();
        reads.endpoint.reliability = Reliability::RELIABLE;
        reads.endpoint.durability = Durability::TransientLocal;
        reads.endpoint.history = History::KeepAll;
        let mut writes = DataWriterQos::default();
        writes.endpoint.durability = Durability::TransientLocal;
        // As the resource manager: what was said holds for its lease.
        writes.writer_data_lifecycle.autodispose_unregistered_instances = false;
        let requests = make(REQUEST_TOPIC, REQUEST_TYPE, topic_of::<Request>);
        let verdicts = make(VERDICT_TOPIC, VERDICT_TYPE, topic_of::<Verdict>);
        let measured = make(MEASURED_TOPIC, MEASURED_TYPE, topic_of::<Measured>);
        let best_effort = DataReaderQos::default();
        let requests =
            subscriber.create_datareader(&requests, QosKind::Specific(reads), None, NO_STATUS).unwrap();
        let measured =
            subscriber.create_datareader(&measured, QosKind::Specific(best_effort), None, NO_STATUS).unwrap();
        let verdicts =
            publisher.create_datawriter(&verdicts, QosKind::Specific(writes), None, NO_STATUS).unwrap();
        Self { participant, requests, verdicts, measured }
    }

    /// What was asked since the last call; a sample that tells of the end of a pair is left out.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let samples = self.requests.take(usize::MAX, States::ANY).unwrap();
        samples.into_iter().filter_map(|sample| sample.data).collect()
    }

    /// How many samples about requests have come since the last call, of whatever kind.
    pub(crate) fn heard(&self) -> usize {
        self.requests.take(usize::MAX, States::ANY).unwrap().len()
    }

    /// How many pairs it knows of.
    pub(crate) fn known(&self) -> usize {
        self.requests.held().unwrap().instances
    }

    /// How many requests it did not get because others than the reader's participant had written them.
    pub(crate) fn dropped(&self) -> u64 {
        self.requests.dropped(DropReason::Unauthorized).count
    }

    /// The last request.
    pub(crate) fn request(&self) -> Request {
        self.requests().pop().expect("a request")
    }

    /// How many requests were withdrawn since the last call.
    pub(crate) fn withdrawn(&self) -> usize {
        let samples = self.requests.take(usize::MAX, States::ANY).unwrap();
        samples.iter().filter(|sample| sample.data.is_none()).count()
    }

    pub(crate) fn measured(&self) -> Vec<Measured> {
        let samples = self.measured.take(usize::MAX, States::ANY).unwrap();
        samples.into_iter().filter_map(|sample| sample.data).collect()
    }

    pub(crate) fn say(&self, verdict: &Verdict) {
        self.verdicts.write(verdict).unwrap();
    }
}

fn topic_of<T: dds::DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    name: &str,
    type_name: &str,
) -> Topic {
    participant.create_topic::<T>(name, type_name, QosKind::Default, None, NO_STATUS).unwrap()
}

/// Admits a request, with a lease of a second and class 46.
pub(crate) fn admission(request: &Request) -> Verdict {
    Verdict {
        writer: request.writer,
        reader: request.reader,
        serial: request.serial,
        epoch: 1,
        state: State::Admitted,
        bound: 1_000_000,
        lease: 1_000_000_000,
        source: request.source,
        destination: request.destination,
        dscp: 46,
        octets: 10_000,
        separation: request.contract.minimum_separation,
        ..Verdict::default()
    }
}

/// Refuses a request, with an offer.
pub(crate) fn refusal(request: &Request, reason: &str) -> Verdict {
    Verdict {
        state: State::Refused,
        bound: 0,
        reason: reason.to_owned(),
        offered_latency: 7_000_000,
        offered_separation: 9_000_000,
        source: Socket::default(),
        destination: Socket::default(),
        ..admission(request)
    }
}

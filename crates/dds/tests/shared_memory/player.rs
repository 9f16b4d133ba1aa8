//! A participant with shared memory that writes one topic and reads another.
use std::sync::Arc;

use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos, Durability, History, Reliability};
use dds::serialized::DropReason;
use dds::{
    Condition, DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant,
    DomainParticipantFactory, NO_STATUS, QosKind, States, StatusMask, Transport, WaitSet,
};

use testkit::patience::{LIMIT, patiently_or};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub(crate) struct Ball {
    #[dds(key)]
    pub(crate) player: u32,
    pub(crate) number: u64,
    pub(crate) octets: Vec<u8>,
}

pub(crate) struct Player {
    pub(crate) participant: DomainParticipant,
    pub(crate) writer: DataWriter<Ball>,
    pub(crate) reader: DataReader<Ball>,
}

/// With shared memory, as by default.
pub(crate) fn sharing() -> Config {
    let config = Config::default();
    assert!(config.shared_memory.enabled);
    config
}

/// Without.
pub(crate) fn apart() -> Config {
    let mut config = Config::default();
    config.shared_memory.enabled = false;
    config
}

impl Player {
    pub(crate) fn new(topics: [&str; 2], config: &Config) -> Self {
        Self::with(topics, config, Durability::Volatile, |_| None)
    }

    /// With a listener that may write.
    pub(crate) fn with(
        [throws, catches]: [&str; 2],
        config: &Config,
        durability: Durability,
        listener: impl FnOnce(DataWriter<Ball>) -> Option<Arc<dyn DataReaderListener<Ball>>>,
    ) -> Self {
        let factory = DomainParticipantFactory::get_instance();
        let participant =
            factory.create_participant_with(0, QosKind::Default, config, None, NO_STATUS).unwrap();
        let [out, back] = [throws, catches].map(|name| {
            participant.create_topic::<Ball>(name, "Ball", QosKind::Default, None, NO_STATUS).unwrap()
        });
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = DataWriterQos::default();
        qos.endpoint.durability = durability;
        qos.endpoint.history = History::KeepAll;
        // A busy machine may keep a reader waiting for long.
        qos.endpoint.reliability.max_blocking_time = limit();
        let writer = publisher.create_datawriter(&out, QosKind::Specific(qos), None, NO_STATUS).unwrap();
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = durability;
        qos.endpoint.history = History::KeepAll;
        let listener = listener(DataWriter::clone(&writer));
        let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
        let reader = subscriber.create_datareader(&back, QosKind::Specific(qos), listener, mask).unwrap();
        Self { participant, writer, reader }
    }

    /// Waits until it is matched with so many at both topics.
    pub(crate) fn meet(&self, count: u32) {
        let met = || {
            let readers = self.writer.get_publication_matched_status().current.count;
            let writers = self.reader.get_subscription_matched_status().current.count;
            ((readers, writers) == (count, count)).then_some(())
        };
        patiently_or(|| "they never met".to_owned(), met);
    }

    /// Lines of the report that begin so.
    pub(crate) fn reported(&self, what: &str) -> usize {
        self.participant.report().iter().filter(|line| line.starts_with(what)).count()
    }

    /// Waits until the report has that many lines that begin so.
    pub(crate) fn expect(&self, count: usize, what: &str) {
        let missing = || format!("{count} times {what:?}: {:#?}", self.participant.report());
        patiently_or(missing, || (self.reported(what) == count).then_some(()));
    }

    /// Waits until a line of the report says so.
    pub(crate) fn expect_line(&self, what: &str) {
        let says = || self.participant.report().iter().any(|line| line.contains(what)).then_some(());
        patiently_or(|| format!("{what:?}: {:#?}", self.participant.report()), says);
    }

    /// Waits until samples travel so, both ways.
    pub(crate) fn expect_transport(&self, expected: Transport) {
        let reader = self.writer.get_matched_subscriptions()[0];
        let writer = self.reader.get_matched_publications()[0];
        let found = || {
            let out = self.writer.get_matched_subscription_transport(reader).unwrap();
            [out, self.reader.get_matched_publication_transport(writer).unwrap()]
        };
        patiently_or(|| format!("{:?}", found()), || (found() == [expected; 2]).then_some(()));
        assert!(self.writer.get_matched_subscription_transport(writer).is_err());
    }

    pub(crate) fn throw(&self, number: u64, len: usize) {
        self.writer.write(&ball(number, len)).unwrap();
    }

    pub(crate) fn waits(&self) -> WaitSet {
        let waits = WaitSet::new();
        waits.attach_condition(self.reader.create_readcondition(States::NOT_READ).into()).unwrap();
        waits
    }

    /// Waits for the next ball.
    pub(crate) fn catch(&self, waits: &WaitSet, active: &mut Vec<Condition>, ball: &mut Ball) {
        while self.reader.take_into(ball).unwrap().is_none() {
            waits.wait_into(active, limit()).unwrap();
        }
    }

    /// Waits for balls of these numbers, one after the other.
    pub(crate) fn catch_all(&self, numbers: std::ops::Range<u64>, len: usize) {
        let (waits, mut active, mut caught) = (self.waits(), Vec::new(), Ball::default());
        for number in numbers {
            self.catch(&waits, &mut active, &mut caught);
            assert!(
                caught == ball(number, len),
                "number {} of {} bytes in place of {number}: {:?}, {:?}, {:?}",
                caught.number,
                caught.octets.len(),
                self.reader.counters(),
                self.reader.get_subscription_matched_status(),
                DropReason::ALL.map(|reason| self.reader.dropped(reason).count),
            );
        }
    }

    pub(crate) fn leave(&self) {
        DomainParticipantFactory::get_instance().delete_participant(&self.participant).unwrap();
    }
}

/// Its bytes depend on its number.
pub(crate) fn ball(number: u64, len: usize) -> Ball {
    Ball { player: 1, number, octets: vec![number as u8; len] }
}

pub(crate) fn limit() -> dds::Duration {
    dds::Duration::from_nanos(i64::try_from(LIMIT.as_nanos()).unwrap())
}

/// Two that have a link with each other.
pub(crate) fn linked() -> [Player; 2] {
    let pair = [Player::new(["There", "Back"], &sharing()), Player::new(["Back", "There"], &sharing())];
    for player in &pair {
        player.expect(1, "shared memory with");
        player.meet(1);
    }
    pair
}

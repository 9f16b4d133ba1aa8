//! A fork without exec: the child is told, and does no harm to its parent.
use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos, History, Reliability};
use dds::{
    DataReader, DataWriter, DdsType, DomainParticipant, DomainParticipantFactory, Duration, Error, NO_STATUS,
    QosKind, ReturnCode, States, WaitSet,
};
use forks::{Ended, in_child};

use crate::PATIENCE;
use crate::namespace::alone;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    pub(crate) number: u64,
    pub(crate) octets: Vec<u8>,
}

pub(crate) struct End {
    pub(crate) participant: DomainParticipant,
    pub(crate) writer: DataWriter<Note>,
    reader: DataReader<Note>,
}

/// Writes one topic and reads another.
pub(crate) fn end([out, back]: [&str; 2], config: &Config) -> End {
    let factory = DomainParticipantFactory::get_instance();
    let participant = factory.create_participant_with(0, QosKind::Default, config, None, NO_STATUS).unwrap();
    let [out, back] = [out, back].map(|name| {
        participant.create_topic::<Note>(name, "Note", QosKind::Default, None, NO_STATUS).unwrap()
    });
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
    let mut qos = DataWriterQos::default();
    qos.endpoint.history = History::KeepAll;
    let writer = publisher.create_datawriter(&out, QosKind::Specific(qos), None, NO_STATUS).unwrap();
    let mut qos = DataReaderQos::default();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.history = History::KeepAll;
    let reader = subscriber.create_datareader(&back, QosKind::Specific(qos), None, NO_STATUS).unwrap();
    End { participant, writer, reader }
}

impl End {
    pub(crate) fn meet(&self) {
        self.writer.wait_for_readers(1, PATIENCE).unwrap();
        self.reader.wait_for_writers(1, PATIENCE).unwrap();
    }

    fn write(&self, number: u64) {
        self.writer.write(&Note { number, octets: vec![number as u8; 20_000] }).unwrap();
    }

    fn expect(&self, number: u64) {
        let waits = WaitSet::new();
        waits.attach_condition(self.reader.create_readcondition(States::NOT_READ).into()).unwrap();
        loop {
            if let Some(sample) = self.reader.take_next_sample().unwrap() {
                return assert_eq!(sample.data.map(|note| note.number), Some(number));
            }
            waits.wait(Duration::from_secs(20)).unwrap();
        }
    }
}

fn is_told<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.code, ReturnCode::PreconditionNotMet, "{error}");
    let said = error.to_string();
    assert!(said.contains("fork") && said.contains("exec"), "{said}");
}

fn forked(config: &Config) {
    let [one, other] = [end(["There", "Back"], config), end(["Back", "There"], config)];
    [&one, &other].into_iter().for_each(End::meet);
    (0..10).for_each(|number| one.write(number));
    (0..10).for_each(|number| other.expect(number));
    let waits = WaitSet::new();
    waits.attach_condition(one.reader.create_readcondition(States::NOT_READ).into()).unwrap();
    let handles = [&one, &other].map(|end| (end.participant.clone(), end.writer.clone()));
    let ended = in_child(PATIENCE, || {
        let factory = DomainParticipantFactory::get_instance();
        for end in [&one, &other] {
            is_told(end.writer.write(&Note::default()));
            is_told(end.writer.dispose(&Note::default()));
            is_told(end.writer.loan(100_000));
            is_told(end.writer.wait_for_acknowledgments(Duration::from_secs(1)));
            is_told(end.writer.set_qos(QosKind::Default));
            is_told(end.reader.take(1, States::ANY));
            is_told(end.reader.read(1, States::ANY));
            is_told(end.participant.create_publisher(QosKind::Default, None, NO_STATUS).map(drop));
            is_told(end.participant.create_raw_topic("Other", "Note", QosKind::Default).map(drop));
            is_told(end.participant.assert_liveliness());
            is_told(end.participant.delete_contained_entities());
            is_told(factory.delete_participant(&end.participant));
        }
        is_told(waits.wait(Duration::from_secs(1)).map(drop));
        let fresh = WaitSet::new();
        fresh.attach_condition(one.reader.create_readcondition(States::NOT_READ).into()).unwrap();
        is_told(fresh.wait(Duration::from_secs(1)).map(drop));
        assert!(one.participant.report().iter().any(|line| line.contains("fork")));
        assert!(factory.lookup_participant(0).is_none(), "the parent's");
        drop((handles, one, other, waits, fresh));
        // Its own works, beside those of the parent.
        let own = end(["Other", "Another"], config);
        let peer = end(["Another", "Other"], config);
        [&own, &peer].into_iter().for_each(End::meet);
        own.write(1);
        peer.expect(1);
        factory.delete_participant(&own.participant).unwrap();
    });
    assert_eq!(ended.unwrap(), Ended::Returned);
}

#[test]
fn a_child_is_told_and_its_parent_goes_on() {
    for shared_memory in [false, true] {
        alone(|| {
            let mut config = Config::default();
            config.shared_memory.enabled = shared_memory;
            let [one, other] = [end(["A", "B"], &config), end(["B", "A"], &config)];
            [&one, &other].into_iter().for_each(End::meet);
            one.write(0);
            other.expect(0);
            forked(&config);
            // What `forked` dropped were copies; these were open in the child, too.
            (1..100).for_each(|number| one.write(number));
            (1..100).for_each(|number| other.expect(number));
            other.write(7);
            one.expect(7);
            // Discovery is still heard.
            let third = end(["B", "A"], &config);
            third.meet();
            let factory = DomainParticipantFactory::get_instance();
            for end in [&one, &other, &third] {
                factory.delete_participant(&end.participant).unwrap();
            }
        });
    }
}

//! How many datagrams a round trip of samples takes, in virtual time: one each way, with all that reliability needs.

use std::cell::Cell;
use std::sync::Arc;

use crate::desk::Desk;
use dcps::status::StatusMask;
use dds::{DataReader, DataReaderListener, DataWriter, DomainParticipant, QosKind, States, WaitSet};
use derive::DdsType;
use wire::Duration;

#[derive(DdsType, Clone, PartialEq, Debug)]
struct Ball {
    number: u64,
}

/// Throws back what it catches.
struct Wall(DataWriter<Ball>);

impl DataReaderListener<Ball> for Wall {
    fn on_data_available(&self, reader: &DataReader<Ball>) {
        while let Some(sample) = reader.take_next_sample().unwrap() {
            self.0.write(&sample.data.unwrap()).unwrap();
        }
    }
}

/// Takes what comes.
struct Bag;

impl DataReaderListener<Ball> for Bag {
    fn on_data_available(&self, reader: &DataReader<Ball>) {
        while reader.take_next_sample().unwrap().is_some() {}
    }
}

fn writer(participant: &DomainParticipant, topic: &str) -> DataWriter<Ball> {
    let topic = participant.create_topic::<Ball>(topic, "Ball", QosKind::Default, None, StatusMask::NONE);
    let publisher = participant.create_publisher(QosKind::Default, None, StatusMask::NONE).unwrap();
    publisher.create_datawriter(&topic.unwrap(), QosKind::Default, None, StatusMask::NONE).unwrap()
}

fn reader(
    participant: &DomainParticipant,
    topic: &str,
    listener: Option<Arc<dyn DataReaderListener<Ball>>>,
) -> DataReader<Ball> {
    let topic = participant.create_topic::<Ball>(topic, "Ball", QosKind::Default, None, StatusMask::NONE);
    let subscriber = participant.create_subscriber(QosKind::Default, None, StatusMask::NONE).unwrap();
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = wire::qos::Reliability::RELIABLE;
    let mask = if listener.is_some() { StatusMask::DATA_AVAILABLE } else { StatusMask::NONE };
    subscriber.create_datareader(&topic.unwrap(), QosKind::Specific(qos), listener, mask).unwrap()
}

/// A player and a wall.
struct Court {
    player: DataWriter<Ball>,
    catches: DataReader<Ball>,
    waits: WaitSet,
    _wall: DataReader<Ball>,
    thrown: Cell<u64>,
    /// Last, because it is the clock of the others.
    desk: Desk,
}

impl Court {
    fn new(delay: Duration) -> Self {
        let mut desk = Desk::new();
        let (here, there) = (desk.participant(), desk.participant());
        let (player, catches) = (writer(&here, "There"), reader(&here, "Back", None));
        let wall = reader(&there, "There", Some(Arc::new(Wall(writer(&there, "Back")))));
        desk.run(Duration::from_secs(2));
        desk.delay(delay);
        let waits = WaitSet::new();
        waits.attach_condition(catches.create_readcondition(States::ANY).into()).unwrap();
        Self { desk, player, catches, waits, _wall: wall, thrown: Cell::new(0) }
    }

    /// A round trip.
    fn play(&self) {
        let number = self.thrown.get() + 1;
        self.thrown.set(number);
        self.player.write(&Ball { number }).unwrap();
        self.waits.wait(Duration::from_secs(60)).unwrap();
        let ball = self.catches.take_next_sample().unwrap().unwrap();
        assert_eq!(ball.data.unwrap(), Ball { number });
    }
}

#[test]
fn a_round_trip_is_two_datagrams_however_long_it_takes() {
    // One way, in microseconds. From 10 ms on the first question is due before the answer is there.
    for delay in [1, 12, 100, 333, 1_000, 2_500, 4_999, 5_000, 9_000] {
        let mut court = Court::new(Duration::from_micros(delay));
        (0..10).for_each(|_| court.play());
        court.desk.record();
        const ROUNDS: usize = 6_000;
        (0..ROUNDS).for_each(|_| court.play());
        let count = court.desk.recorded().len();
        assert_eq!(count, 2 * ROUNDS, "datagrams, {delay} us each way");
    }
}

#[test]
fn rounds_with_pauses_between_them_need_a_datagram_more_at_most() {
    for pause in [1, 5, 10, 15, 20, 30, 200] {
        let mut court = Court::new(Duration::from_micros(20));
        for round in 0..520 {
            if round == 20 {
                court.desk.record();
            }
            court.desk.run(Duration::from_millis(pause));
            court.play();
        }
        // The player reads on after the answer, so that its acknowledgement has no sample to go with.
        let count = court.desk.recorded().len();
        assert!((1_000..=1_500).contains(&count), "{count} datagrams, {pause} ms between");
    }
}

#[test]
fn what_is_lost_with_an_acknowledgement_in_it_is_repeated() {
    let mut court = Court::new(Duration::from_micros(20));
    court.desk.lose(100, 7);
    (0..2_000).for_each(|_| court.play());
    court.desk.heal();
    court.player.wait_for_acknowledgments(Duration::from_secs(1)).unwrap();
}

#[test]
fn an_acknowledgement_waits_for_no_answer_that_does_not_come() {
    let mut desk = Desk::new();
    let (here, there) = (desk.participant(), desk.participant());
    let (writer, _reader) = (writer(&here, "There"), reader(&there, "There", Some(Arc::new(Bag))));
    desk.run(Duration::from_secs(2));
    desk.record();
    for number in 0..100 {
        writer.write(&Ball { number }).unwrap();
        // Less than the first wait for an acknowledgement: a sample asks itself.
        desk.run(Duration::from_millis(12));
        assert_eq!(desk.recorded().len(), 2, "a sample and its acknowledgement, {number}");
    }
}

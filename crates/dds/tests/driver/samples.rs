//! What a round trip of samples costs in system calls, from write to take and back: two at each side, as that of a datagram.
use std::sync::Arc;

use dds::qos::{DataReaderQos, Reliability};
use dds::{
    Condition, DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant,
    DomainParticipantFactory, NO_STATUS, QosKind, States, StatusMask, WaitSet,
};

use crate::calls::{ROUNDS, check};
use crate::namespace::alone;
use crate::process::is_alone;

#[derive(DdsType, Clone, Debug, Default)]
struct Ball {
    #[dds(key)]
    player: u32,
    number: u64,
}

/// Throws on one topic and catches on the other.
struct Player {
    participant: DomainParticipant,
    writer: DataWriter<Ball>,
    reader: DataReader<Ball>,
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

impl Player {
    fn new([throws, catches]: [&str; 2], is_wall: bool) -> Self {
        let factory = DomainParticipantFactory::get_instance();
        let participant = factory.create_participant(0, QosKind::Default, None, NO_STATUS).unwrap();
        let [out, back] = [throws, catches].map(|name| {
            participant.create_topic::<Ball>(name, "Ball", QosKind::Default, None, NO_STATUS).unwrap()
        });
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let writer = publisher.create_datawriter::<Ball>(&out, QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::RELIABLE;
        let listener = is_wall.then(|| Arc::new(Wall(writer.clone())) as Arc<dyn DataReaderListener<Ball>>);
        let mask = if is_wall { StatusMask::DATA_AVAILABLE } else { NO_STATUS };
        let reader = subscriber.create_datareader(&back, QosKind::Specific(qos), listener, mask).unwrap();
        Self { participant, writer, reader }
    }

    fn waits(&self) -> WaitSet {
        let waits = WaitSet::new();
        waits.attach_condition(self.reader.create_readcondition(States::NOT_READ).into()).unwrap();
        waits
    }

    fn meet(&self) {
        let status = self.writer.get_statuscondition();
        status.set_enabled_statuses(StatusMask::PUBLICATION_MATCHED);
        let waits = WaitSet::new();
        waits.attach_condition(status.into()).unwrap();
        while self.writer.get_publication_matched_status().current.count == 0 {
            waits.wait(limit()).unwrap();
        }
    }

    fn throw(&self, number: u64) {
        self.writer.write(&Ball { player: 1, number }).unwrap();
    }

    /// Waits for the next ball.
    fn catch(&self, waits: &WaitSet, active: &mut Vec<Condition>, ball: &mut Ball) {
        while self.reader.take_into(ball).unwrap().is_none() {
            waits.wait_into(active, limit()).unwrap();
        }
    }

    /// Throws, waits, and throws again.
    fn serve(&self) {
        let (waits, mut active, mut ball) = (self.waits(), Vec::new(), Ball::default());
        for number in 1..=ROUNDS {
            self.throw(number);
            self.catch(&waits, &mut active, &mut ball);
            assert_eq!(ball.number, number);
        }
    }

    fn leave(&self) {
        DomainParticipantFactory::get_instance().delete_participant(&self.participant).unwrap();
    }
}

fn limit() -> dds::Duration {
    dds::Duration::from_nanos(i64::try_from(crate::PATIENCE.as_nanos()).unwrap())
}

#[test]
fn by_waitsets() {
    if !is_alone() {
        return check("samples::by_waitsets");
    }
    alone(|| {
        let (one, other) = (Player::new(["There", "Back"], false), Player::new(["Back", "There"], false));
        one.meet();
        other.meet();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (waits, mut active, mut ball) = (other.waits(), Vec::new(), Ball::default());
                for number in 1..=ROUNDS {
                    other.catch(&waits, &mut active, &mut ball);
                    other.throw(number);
                }
            });
            one.serve();
        });
        one.leave();
        other.leave();
    });
}

#[test]
fn by_a_listener_at_one_side() {
    if !is_alone() {
        return check("samples::by_a_listener_at_one_side");
    }
    alone(|| {
        let (one, wall) = (Player::new(["There", "Back"], false), Player::new(["Back", "There"], true));
        one.meet();
        wall.meet();
        one.serve();
        one.leave();
        wall.leave();
    });
}

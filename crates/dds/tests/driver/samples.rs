//! What a round trip of samples costs in system calls, from write to take and back: two at each side, as that of a datagram, with
//! all that reliability needs.
use std::os::unix::process::parent_id;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use dds::config::Config;
use dds::qos::{DataReaderQos, Reliability};
use dds::{
    Condition, DataReader, DataReaderListener, DataWriter, DdsType, DomainParticipant,
    DomainParticipantFactory, NO_STATUS, QosKind, States, StatusMask, WaitSet,
};

use crate::namespace::alone;
use crate::process::is_alone;
use crate::strace::{Call, system_calls};

/// Round trips before counting begins: threads have found their duties, and buffers their size.
const WARM: u64 = 300;
/// Round trips that are counted.
const ROUNDS: u64 = 6_000;
/// System calls that a side may have on top, whatever the number of round trips.
const ON_TOP: u64 = 12;
/// How long nothing has to happen in a thread for calls that come because time goes by: after 2 ms the socket's own thread takes over
/// from one that has stopped reading, which two gaps can add up to, and after 20 ms an answer is asked for.
const PAUSE: f64 = 0.001;
/// Calls that a pause may cost a thread at most: asking for the socket and waiting for it, and a HEARTBEAT and an ACKNACK each way.
const OF_A_PAUSE: u64 = 12;
/// Calls of all other threads of both sides in a second: their sleeps.
const OF_A_SECOND: f64 = 500.0;
/// The call that shows where counting begins and where it ends; nobody else makes it.
const MARK: &str = "getppid";

fn mark() {
    let _ = parent_id();
}

/// Counts every system call of both threads that write and take, and of the whole process. Only what time brings is not of the round
/// trips; on a machine that is busy with other things that may be much.
fn check(test: &str) {
    let Some(threads) = system_calls(test) else { return };
    let marks = |calls: &[Call]| -> Vec<f64> {
        calls.iter().filter(|call| call.name == MARK).map(|call| call.at).collect()
    };
    let sides: Vec<_> = threads.iter().filter(|calls| !marks(calls).is_empty()).collect();
    assert_eq!(sides.len(), 2, "threads that write and take");
    let (mut from, mut to, mut all_pauses) = (f64::INFINITY, 0.0_f64, 0);
    for calls in sides {
        let [begin, end] = marks(calls)[..] else { panic!("two marks: {:?}", marks(calls)) };
        (from, to) = (from.min(begin), to.max(end));
        let counted: Vec<_> = calls.iter().filter(|call| call.at > begin && call.at < end).collect();
        let pauses = counted.windows(2).filter(|pair| pair[1].at - pair[0].at > PAUSE).count() as u64;
        all_pauses += pauses;
        println!("{test}: {} calls in {ROUNDS} round trips with {pauses} pauses", counted.len());
        let other = |call: &&&Call| !["sendto", "sendmsg", "recvfrom"].contains(&call.name.as_str());
        let others: Vec<_> = counted.iter().filter(other).take(20).map(|call| &call.name).collect();
        let most = 2 * ROUNDS + ON_TOP + OF_A_PAUSE * pauses;
        assert!(counted.len() as u64 <= most, "{} above {most}, others first: {others:?}", counted.len());
    }
    let counted = threads.iter().flatten().filter(|call| call.at > from && call.at < to).count() as u64;
    let by_time = ((to - from) * OF_A_SECOND).ceil() as u64;
    println!("{test}: {counted} calls of the process in {:.2} s", to - from);
    let most = 4 * ROUNDS + 2 * ON_TOP + OF_A_PAUSE * all_pauses + by_time;
    assert!(counted <= most, "{counted} of the whole process, above {most}");
}

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
struct Wall {
    writer: DataWriter<Ball>,
    caught: AtomicU64,
}

impl DataReaderListener<Ball> for Wall {
    fn on_data_available(&self, reader: &DataReader<Ball>) {
        while let Some(sample) = reader.take_next_sample().unwrap() {
            self.writer.write(&sample.data.unwrap()).unwrap();
            if [WARM, WARM + ROUNDS].contains(&(self.caught.fetch_add(1, SeqCst) + 1)) {
                mark();
            }
        }
    }
}

impl Player {
    fn new([throws, catches]: [&str; 2], is_wall: bool) -> Self {
        let factory = DomainParticipantFactory::get_instance();
        let mut config = Config::default();
        // What is counted here is what sockets take.
        config.shared_memory.enabled = false;
        let participant =
            factory.create_participant_with(0, QosKind::Default, &config, None, NO_STATUS).unwrap();
        let [out, back] = [throws, catches].map(|name| {
            participant.create_topic::<Ball>(name, "Ball", QosKind::Default, None, NO_STATUS).unwrap()
        });
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS).unwrap();
        let writer = publisher.create_datawriter::<Ball>(&out, QosKind::Default, None, NO_STATUS).unwrap();
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::RELIABLE;
        let wall = || Wall { writer: writer.clone(), caught: AtomicU64::new(0) };
        let listener = is_wall.then(|| Arc::new(wall()) as Arc<dyn DataReaderListener<Ball>>);
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
        for number in 1..=WARM + ROUNDS {
            self.throw(number);
            self.catch(&waits, &mut active, &mut ball);
            assert_eq!(ball.number, number);
            if [WARM, WARM + ROUNDS].contains(&number) {
                mark();
            }
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
                for number in 1..=WARM + ROUNDS {
                    other.catch(&waits, &mut active, &mut ball);
                    other.throw(number);
                    if [WARM, WARM + ROUNDS].contains(&number) {
                        mark();
                    }
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

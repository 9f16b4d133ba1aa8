//! Managers that come, go, and are none: whose verdicts count.
use dds::assurance::{Stage, State};
use dds::{DataReader, DataWriter, DomainParticipantFactory, Duration};
use wire::admission::{Request, Verdict};

use crate::fixture::*;

/// The lease of verdicts here, in nanoseconds: that of the resource manager.
const LEASE: u64 = 6_000_000_000;

/// Lets time pass; managers answer what they are asked, and repeat each two seconds what they have admitted, as the resource manager does.
fn serve(scene: &mut Scene, managers: &mut [&mut Answering], time: Duration) {
    for _ in 0..time.as_nanos() / millis(100).as_nanos() {
        scene.desk.run(millis(100));
        managers.iter_mut().for_each(|manager| manager.answer());
    }
}

/// A manager that admits whatever names it.
struct Answering {
    manager: Manager,
    epoch: u64,
    admitted: Vec<Request>,
    ticks: u64,
}

impl Answering {
    fn new(scene: &mut Scene, epoch: u64) -> Self {
        Self { manager: scene.manager(), epoch, admitted: Vec::new(), ticks: 0 }
    }

    fn answer(&mut self) {
        self.ticks += 1;
        let own = wire::Guid::new(self.manager.participant.prefix(), wire::EntityId::PARTICIPANT).to_bytes();
        for request in self.manager.requests() {
            let is_meant = request.manager == own || request.manager == [0; 16];
            self.admitted.retain(|known| known.pair() != request.pair());
            if is_meant {
                self.manager.say(&self.verdict(&request));
                self.admitted.push(request);
            }
        }
        if self.ticks.is_multiple_of(20) {
            self.admitted.iter().for_each(|request| self.manager.say(&self.verdict(request)));
        }
    }

    fn verdict(&self, request: &Request) -> Verdict {
        Verdict { epoch: self.epoch, lease: LEASE, ..admission(request) }
    }

    /// It says goodbye.
    fn stop(self) {
        DomainParticipantFactory::get_instance().delete_participant(&self.manager.participant).unwrap();
    }
}

struct Pair {
    writer: DataWriter<Frame>,
    reader: DataReader<Frame>,
    number: u32,
}

impl Pair {
    fn new(scene: &Scene) -> Self {
        Self {
            writer: writer(&scene.writes, Some(offered()), |_| {}),
            reader: reader(&scene.reads, Some(wanted()), |_| {}),
            number: 0,
        }
    }

    /// Both sides say so, and samples arrive along the flow.
    fn is_assured(&mut self, scene: &mut Scene, when: &str) {
        for pairs in [self.writer.assurance(), self.reader.assurance()] {
            assert_eq!(only(&pairs), (State::Admitted, Stage::Assured, String::new()), "{when}");
        }
        self.number += 1;
        scene.desk.record();
        self.writer.write(&frame(self.number, 10)).unwrap();
        scene.desk.run(millis(20));
        assert_eq!(numbers(&self.reader), [self.number], "{when}");
        let left = scene.desk.recorded();
        assert!(left.iter().any(|left| left.from.port() == 50_000), "{when}");
    }

    /// How often either side was told of another assurance.
    fn changes(&self) -> u64 {
        self.reader.get_assurance_changed_status().total.count
    }
}

#[test]
fn nobody_else_jumps_the_epoch_of_a_manager() {
    let mut scene = Scene::new();
    let mut manager = Answering::new(&mut scene, 7);
    let mut pair = Pair::new(&scene);
    serve(&mut scene, &mut [&mut manager], Duration::from_secs(1));
    pair.is_assured(&mut scene, "at first");
    let changes = pair.changes();
    let liar = scene.manager();
    let request = manager.admitted.last().unwrap().clone();
    let last = Verdict { epoch: u64::MAX, ..admission(&request) };
    let nowhere = [9; 16];
    liar.say(&Verdict { writer: nowhere, reader: nowhere, ..last.clone() });
    liar.say(&Verdict { writer: nowhere, ..last.clone() });
    liar.say(&Verdict { reader: nowhere, ..last.clone() });
    for state in [State::Pending, State::Refused, State::Revoked, State::Admitted] {
        for serial in [request.serial, request.serial + 1, u64::MAX] {
            liar.say(&Verdict { state, serial, dscp: 1, lease: 1, ..last.clone() });
            scene.desk.run(millis(10));
            pair.is_assured(&mut scene, &format!("after a lie: {state:?} of serial {serial}"));
        }
    }
    liar.verdicts.dispose(&last).unwrap();
    serve(&mut scene, &mut [&mut manager], Duration::from_secs(20));
    pair.is_assured(&mut scene, "long after the lies");
    assert_eq!(pair.changes(), changes, "nothing has changed meanwhile");
    for participant in [&scene.writes, &scene.reads] {
        let report = participant.report().join("\n");
        assert!(report.contains("of other managers"), "{report}");
    }
}

#[test]
fn a_manager_with_a_new_store_wins_back_what_the_one_before_has_left() {
    let mut scene = Scene::new();
    let mut first = Answering::new(&mut scene, 1_795_470_978_274);
    let mut pair = Pair::new(&scene);
    serve(&mut scene, &mut [&mut first], Duration::from_secs(1));
    pair.is_assured(&mut scene, "at first");
    let changes = pair.changes();
    first.stop();
    let mut second = Answering::new(&mut scene, 1);
    serve(&mut scene, &mut [&mut second], Duration::from_secs(1));
    assert_eq!(second.admitted.len(), 1, "it is asked within an announcement");
    serve(&mut scene, &mut [&mut second], Duration::from_secs(20));
    pair.is_assured(&mut scene, "under the second one");
    assert_eq!(pair.changes(), changes, "the pair has not noticed");
}

#[test]
fn a_manager_that_was_killed_and_starts_again_keeps_its_pairs() {
    for away in [100, 1_500, 4_000, 9_000, 40_000] {
        let mut scene = Scene::new();
        let mut first = Answering::new(&mut scene, 4);
        let mut pair = Pair::new(&scene);
        serve(&mut scene, &mut [&mut first], Duration::from_secs(1));
        pair.is_assured(&mut scene, "at first");
        let changes = pair.changes();
        // It is silent from now on, and its lease of a participant goes on for a while.
        scene.desk.isolate(2);
        scene.desk.run(millis(away));
        let mut second = Answering::new(&mut scene, 5);
        serve(&mut scene, &mut [&mut second], Duration::from_secs(4));
        pair.is_assured(&mut scene, &format!("{away} ms later"));
        if away < 2_000 {
            assert_eq!(pair.changes(), changes, "{away} ms: the pair has not noticed");
        }
    }
}

#[test]
fn one_that_was_there_first_and_answers_nobody_keeps_nobody() {
    let mut scene = Scene::new();
    let _silent = scene.manager();
    let mut pair = Pair::new(&scene);
    scene.desk.run(Duration::from_secs(8));
    assert_eq!(only(&pair.reader.assurance()).0, State::Refused);
    let mut manager = Answering::new(&mut scene, 1);
    serve(&mut scene, &mut [&mut manager], Duration::from_secs(1));
    pair.is_assured(&mut scene, "once there is one that answers");
    // Nor those who come later and may find the silent one first.
    let _another = scene.manager();
    let mut later = Pair::new(&scene);
    later.reader = reader(&scene.desk.participant(), Some(wanted()), |_| {});
    serve(&mut scene, &mut [&mut manager], Duration::from_secs(12));
    let assured = later.reader.assurance();
    assert!(assured.iter().all(|pair| pair.state == State::Admitted), "{assured:?}");
    assert_eq!(assured.len(), 2);
}

#[test]
fn what_one_manager_promises_reader_and_writer_hear_of_the_same_one() {
    let mut scene = Scene::new();
    // The writer's participant finds one manager first, the reader's another.
    scene.desk.cut(3, 0);
    scene.desk.cut(2, 1);
    let mut one = Answering::new(&mut scene, 9);
    let mut two = Answering::new(&mut scene, 2);
    let mut pair = Pair::new(&scene);
    scene.settle();
    scene.desk.heal();
    serve(&mut scene, &mut [&mut one, &mut two], Duration::from_secs(30));
    pair.is_assured(&mut scene, "with two managers");
    let changes = pair.changes();
    serve(&mut scene, &mut [&mut one, &mut two], Duration::from_secs(20));
    pair.is_assured(&mut scene, "later");
    assert_eq!(pair.changes(), changes, "it stays with one of them");
    assert_eq!(one.admitted.len() + two.admitted.len(), 1, "one of them is asked");
}

#[test]
fn a_manager_that_has_never_answered_the_writer_is_no_reason_to_send_nothing() {
    let mut scene = Scene::new();
    let mut manager = Answering::new(&mut scene, 1);
    // The verdicts do not reach the writer's participant.
    scene.desk.cut(2, WRITER_HOST);
    let pair = Pair::new(&scene);
    serve(&mut scene, &mut [&mut manager], Duration::from_secs(2));
    assert_eq!(only(&pair.reader.assurance()).1, Stage::Assured);
    assert_eq!(only(&pair.writer.assurance()).1, Stage::Waiting);
    serve(&mut scene, &mut [&mut manager], Duration::from_secs(3));
    pair.writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(20));
    assert_eq!(numbers(&pair.reader), [1], "without its flow");
    let (state, stage, reason) = only(&pair.writer.assurance());
    assert_eq!((state, stage), (State::Refused, Stage::Unassured));
    assert!(reason.contains("has not come"), "{reason}");
}

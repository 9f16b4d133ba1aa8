//! What participants that were lost and found again hear anew, and what readers of pairs that were unmatched meanwhile are not given again.
use dds::Duration;
use dds::assurance::{Stage, State};
use dds::qos::{DataReaderQos, DataWriterQos, Durability};
use wire::admission::Verdict;

use crate::fixture::*;

const MANAGER_HOST: usize = 2;
/// Longer than any lease of a participant.
const LONG: Duration = Duration::from_secs(25);

fn for_long(verdict: Verdict) -> Verdict {
    Verdict { lease: 3_600_000_000_000, ..verdict }
}

#[test]
fn requests_are_heard_again_by_those_who_had_lost_the_participant_of_the_reader() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    manager.say(&for_long(admission(&manager.request())));
    scene.settle();
    assert_eq!(only(&writer.assurance()), (State::Admitted, Stage::Assured, String::new()));
    assert_eq!(manager.request().stage, Stage::Assured);
    // The participant of the reader goes on hearing both.
    scene.desk.cut(1, WRITER_HOST);
    scene.desk.cut(1, MANAGER_HOST);
    scene.desk.run(LONG);
    assert_eq!((writer.assurance().len(), manager.withdrawn()), (0, 1));
    assert_eq!(only(&reader.assurance()).0, State::Admitted);
    scene.desk.heal();
    scene.desk.run(Duration::from_secs(4));
    let request = manager.request();
    assert_eq!(request.stage, Stage::Assured);
    manager.say(&for_long(admission(&request)));
    scene.settle();
    assert_eq!(only(&writer.assurance()), (State::Admitted, Stage::Assured, String::new()));
    writer.write(&frame(1, 100)).unwrap();
    scene.settle();
    assert_eq!(numbers(&reader), [1]);
}

#[test]
fn a_pair_that_is_admitted_again_goes_on_where_it_was() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let durable = |qos: &mut DataWriterQos| qos.endpoint.durability = Durability::TransientLocal;
    let writer = writer(&scene.writes, Some(offered()), durable);
    let durable = |qos: &mut DataReaderQos| qos.endpoint.durability = Durability::TransientLocal;
    let reader = reader(&scene.reads, Some(or_fail()), durable);
    scene.settle();
    let request = manager.request();
    let mut got = Vec::new();
    for round in 0..3 {
        manager.say(&for_long(admission(&request)));
        scene.settle();
        assert_eq!(only(&writer.assurance()).1, Stage::Assured);
        for number in 20 * round..20 * round + 10 {
            writer.write(&frame(number, 100)).unwrap();
            scene.desk.run(millis(10));
        }
        got.extend(numbers(&reader));
        manager.say(&Verdict { state: State::Revoked, ..admission(&request) });
        scene.settle();
        assert_eq!(only(&reader.assurance()), (State::Revoked, Stage::Waiting, String::new()));
        for number in 20 * round + 10..20 * round + 20 {
            writer.write(&frame(number, 100)).unwrap();
            scene.desk.run(millis(10));
        }
        assert_eq!(numbers(&reader), [0_u32; 0]);
    }
    manager.say(&for_long(admission(&request)));
    scene.desk.run(Duration::from_secs(1));
    got.extend(numbers(&reader));
    assert_eq!(got, (0..60).collect::<Vec<_>>());
}

/// A host that had no address for flows for a time has sockets for repairs and for questions again.
#[test]
fn sockets_of_repairs_and_questions_come_back_with_the_address() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let _writer = writer(&scene.writes, Some(offered()), |_| {});
    let wanted = dds::qos::RequestedAssurance::within(Duration::from_secs(1));
    let wanted = wanted.losses(2, Duration::from_secs(2));
    let reader = reader(&scene.reads, Some(wanted), |_| {});
    scene.settle();
    let first = manager.request().losses;
    assert!(first.frames == 2 && first.repairs.port > 0 && first.questions.port > 0, "{first:?}");
    for (host, reason) in [(WRITER_HOST, "no socket for a flow"), (READER_HOST, "no socket for questions")] {
        scene.desk.displace(host, true);
        scene.settle();
        let (state, _, said) = only(&reader.assurance());
        assert!(state == State::Refused && said.contains(reason), "{said}");
        scene.desk.displace(host, false);
        scene.settle();
    }
    let again = manager.request().losses;
    assert!(again.repairs.port > 0 && again.questions.port > 0, "{again:?}");
    assert!(again.repairs != first.repairs && again.questions != first.questions, "{first:?} {again:?}");
}

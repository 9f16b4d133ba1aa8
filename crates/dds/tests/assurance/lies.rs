//! Verdicts and requests that nobody sensible would publish: nothing follows from them.
use dds::assurance::{Stage, State};
use wire::admission::{Request, Socket, Verdict};

use crate::fixture::*;

#[test]
fn a_writer_sends_to_addresses_of_its_reader_alone() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    let at = |address: [u8; 4], port: u16| Socket { address, port };
    let honest = Verdict { lease: 3_600_000_000_000, ..admission(&request) };
    let to = |destination| Verdict { destination, ..honest.clone() };
    let lies = [
        to(at([0, 0, 0, 0], 7_411)),
        to(at([10, 0, 0, 2], 0)),
        to(at([10, 0, 0, 2], 7_412)),
        to(at([10, 0, 0, 3], 7_411)),
        to(at([255, 255, 255, 255], 7_411)),
        to(at([10, 0, 0, 255], 7_411)),
        to(at([127, 0, 0, 1], 7_411)),
        to(at([224, 0, 0, 1], 7_411)),
        to(at([239, 255, 0, 1], 7_400)),
        to(at([239, 191, 255, 255], 7_411)),
        to(at([239, 196, 0, 0], 7_411)),
        Verdict { source: at([10, 0, 0, 1], 50_001), ..honest.clone() },
        Verdict { source: at([10, 0, 0, 9], 50_000), ..honest.clone() },
        Verdict { dscp: 64, ..honest.clone() },
        Verdict { lease: 0, ..honest.clone() },
        Verdict { bound: 0, ..honest.clone() },
        Verdict { separation: request.contract.minimum_separation + 1, ..honest.clone() },
        Verdict { separation: u64::MAX, ..honest.clone() },
    ];
    scene.desk.record();
    for lie in &lies {
        manager.say(lie);
        scene.desk.run(millis(20));
        assert_eq!(only(&writer.assurance()).0, State::Pending, "{lie:?}");
        // Even a reader that takes it makes the writer not believe it.
        assert_ne!(only(&writer.assurance()).1, Stage::Assured, "{lie:?}");
    }
    assert!(scene.desk.recorded().iter().all(|left| left.from.port() == 7_411));
    manager.say(&honest);
    scene.desk.run(millis(50));
    assert_eq!(only(&writer.assurance()).1, Stage::Assured);
    assert_eq!(only(&reader.assurance()).1, Stage::Assured);
    // While it holds, lies about it change nothing either.
    for lie in &lies {
        manager.say(lie);
        scene.desk.run(millis(20));
        assert_eq!(only(&writer.assurance()).1, Stage::Assured, "{lie:?}");
    }
    let limit = Verdict { separation: request.contract.minimum_separation, ..honest.clone() };
    let pace = Verdict { bound: request.maximum_latency, lease: u64::MAX, ..limit };
    manager.say(&pace);
    scene.desk.run(millis(20));
    assert_eq!(reader.assurance()[0].bound, Some(millis(3)));
}

#[test]
fn a_bound_above_what_was_asked_for_is_none() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let _writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    manager.say(&Verdict { bound: request.maximum_latency + 1, ..admission(&request) });
    scene.desk.run(millis(50));
    assert_eq!(only(&reader.assurance()).0, State::Pending);
    let report = scene.reads.report().join("\n");
    assert!(report.contains("1 not believed"), "{report}");
}

#[test]
fn pairs_that_do_not_exist_are_not_kept_beyond_a_few() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    let name = |number: u16, guid: [u8; 16]| {
        let mut guid = guid;
        guid[12..14].copy_from_slice(&number.to_be_bytes());
        guid
    };
    for number in 100..1_000 {
        let [there, here] = [name(number, request.writer), name(number, request.reader)];
        manager.say(&Verdict { writer: there, ..admission(&request) });
        manager.say(&Verdict { reader: here, ..admission(&request) });
        manager.say(&Verdict { writer: here, reader: there, ..admission(&request) });
    }
    scene.desk.run(millis(500));
    manager.say(&admission(&request));
    scene.desk.run(millis(100));
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs).1, Stage::Assured);
    }
}

#[test]
fn a_verdict_that_comes_before_its_pair_is_known_counts() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    // The writer's participant does not hear of the reader for a while, but of the verdict.
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    scene.settle();
    scene.desk.cut(READER_HOST, WRITER_HOST);
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    manager.say(&Verdict { lease: 3_600_000_000_000, ..admission(&manager.request()) });
    scene.desk.run(millis(100));
    assert_eq!(only(&reader.assurance()).1, Stage::Assured);
    assert_eq!(writer.assurance(), []);
    scene.desk.heal();
    scene.desk.run(millis(1_500));
    assert_eq!(only(&writer.assurance()).1, Stage::Assured);
}

#[test]
fn a_forged_request_makes_a_writer_send_to_nobody_else() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(or_fail()), |_| {});
    scene.settle();
    let request = manager.request();
    let forged = Request {
        stage: Stage::Assured,
        serial: u64::MAX,
        destination: Socket { address: [10, 0, 0, 9], port: 9 },
        ..request
    };
    let publisher =
        manager.participant.create_publisher(dds::QosKind::Default, None, dds::NO_STATUS).unwrap();
    let topic = manager.participant.lookup_topicdescription(wire::admission::REQUEST_TOPIC).unwrap();
    let mut qos = dds::qos::DataWriterQos::default();
    qos.endpoint.durability = dds::qos::Durability::TransientLocal;
    let forger = publisher
        .create_datawriter::<Request>(&topic, dds::QosKind::Specific(qos), None, dds::NO_STATUS)
        .unwrap();
    scene.settle();
    scene.desk.record();
    forger.write(&forged).unwrap();
    scene.desk.run(millis(100));
    writer.write(&frame(1, 10)).unwrap();
    scene.desk.run(millis(100));
    // Without a verdict it holds the pair back; the reader takes nothing that it did not agree to.
    assert_eq!(only(&writer.assurance()).1, Stage::Waiting);
    assert_eq!(numbers(&reader), []);
    assert!(scene.desk.recorded().iter().all(|left| left.to.ip().to_string() != "10.0.0.9"));
}

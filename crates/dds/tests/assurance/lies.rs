//! Verdicts and requests that nobody sensible would publish: nothing follows from them.
use dds::assurance::{Stage, State};
use dds::qos::{DataWriterQos, Durability};
use dds::{DataWriter, DomainParticipant, Duration, NO_STATUS, QosKind};
use wire::admission::{
    MEASURED_TOPIC, MEASURED_TYPE, Measured, REQUEST_TOPIC, REQUEST_TYPE, Request, Socket, Verdict,
};

use crate::fixture::*;

#[test]
fn a_writer_sends_to_addresses_of_its_reader_alone() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    let at = |address: [u8; 4], port: u16| Socket { address: address.into(), port };
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

/// Requests of somebody who has no part in the pair.
struct Forger {
    _participant: DomainParticipant,
    requests: DataWriter<Request>,
    measured: DataWriter<Measured>,
}

impl Forger {
    fn new(scene: &mut Scene) -> Self {
        let participant = scene.desk.participant();
        let requests = forged_writer(&participant, REQUEST_TOPIC, REQUEST_TYPE, |qos| {
            (qos.byte_limit, qos.endpoint.durability) = (64 << 20, Durability::TransientLocal);
        });
        let measured = forged_writer(&participant, MEASURED_TOPIC, MEASURED_TYPE, |_| {});
        scene.settle();
        Self { _participant: participant, requests, measured }
    }
}

fn forged_writer<T: dds::DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    name: &str,
    type_name: &str,
    tune: impl FnOnce(&mut DataWriterQos),
) -> DataWriter<T> {
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS).unwrap();
    let topic = participant.create_topic::<T>(name, type_name, QosKind::Default, None, NO_STATUS).unwrap();
    let mut qos = DataWriterQos::default();
    tune(&mut qos);
    publisher.create_datawriter(&topic, QosKind::Specific(qos), None, NO_STATUS).unwrap()
}

#[test]
fn a_request_counts_only_from_the_participant_of_its_reader() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    manager.say(&Verdict { lease: 3_600_000_000_000, ..admission(&request) });
    scene.desk.run(millis(100));
    let genuine = manager.request();
    let forger = Forger::new(&mut scene);
    let mut number = 0;
    let mut runs = |scene: &mut Scene, what: &str| {
        scene.desk.run(millis(50));
        number += 1;
        writer.write(&frame(number, 10)).unwrap();
        scene.desk.run(millis(50));
        assert_eq!(numbers(&reader), [number], "{what}");
        for pairs in [writer.assurance(), reader.assurance()] {
            assert_eq!(only(&pairs).1, Stage::Assured, "{what}");
        }
        assert_eq!(manager.heard(), 0, "the manager gets {what}");
    };
    for stage in [Stage::Waiting, Stage::Unassured, Stage::Assured] {
        for serial in [genuine.serial, genuine.serial + 1, u64::MAX] {
            let forged = Request { stage, serial, ..genuine.clone() };
            forger.requests.write(&forged).unwrap();
            runs(&mut scene, &format!("a copy with {stage:?} and serial {serial}"));
        }
    }
    forger.requests.dispose(&genuine).unwrap();
    runs(&mut scene, "a dispose");
    forger.requests.write(&genuine).unwrap();
    forger.requests.unregister_instance(&genuine).unwrap();
    runs(&mut scene, "an unregistration");
    // What is wanted no longer is so, whatever others have said of it.
    forger.requests.write(&genuine).unwrap();
    reader.get_subscriber().delete_datareader(&reader).unwrap();
    scene.desk.run(millis(100));
    assert_eq!(manager.withdrawn(), 1);
    assert_eq!(writer.assurance(), []);
}

#[test]
fn a_flood_of_requests_about_pairs_of_others_is_dropped_before_it_is_kept() {
    const FLOOD: u32 = 10_000;
    let mut scene = Scene::new();
    let manager = scene.manager();
    let writer = writer(&scene.writes, Some(offered()), |_| {});
    let reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    let forger = Forger::new(&mut scene);
    for number in 0..FLOOD {
        let mut there = request.reader;
        there[12..14].copy_from_slice(&u16::try_from(number).unwrap().to_be_bytes());
        forger.requests.write(&Request { reader: there, ..request.clone() }).unwrap();
        if number % 100 == 0 {
            scene.desk.run(millis(1));
        }
    }
    scene.desk.run(Duration::from_secs(1));
    assert_eq!((manager.heard(), manager.known()), (0, 1));
    assert_eq!(manager.dropped(), u64::from(FLOOD));
    manager.say(&admission(&request));
    scene.desk.run(millis(100));
    for pairs in [writer.assurance(), reader.assurance()] {
        assert_eq!(only(&pairs).1, Stage::Assured);
    }
    let report = scene.writes.report().join("\n");
    assert!(report.contains("10000 requests of participants that they are not about"), "{report}");
}

#[test]
fn what_a_reader_has_measured_counts_only_from_its_participant() {
    let mut scene = Scene::new();
    let manager = scene.manager();
    let _writer = writer(&scene.writes, Some(offered()), |_| {});
    let _reader = reader(&scene.reads, Some(wanted()), |_| {});
    scene.settle();
    let request = manager.request();
    let forger = Forger::new(&mut scene);
    let forged =
        Measured { writer: request.writer, reader: request.reader, late: 999, ..Measured::default() };
    forger.measured.write(&forged).unwrap();
    scene.desk.run(millis(100));
    assert_eq!(manager.measured(), []);
}

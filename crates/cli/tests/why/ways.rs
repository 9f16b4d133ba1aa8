//! Which way the samples of matched pairs take.
use std::sync::Arc;

use cli::explain::{Scene, json, summary};
use dds::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos};
use serde_json::{Value, json};
use wire::VendorId;
use wire::discovery::{ParticipantData, SharedMemory};

use crate::live::{Background, run, talker};
use crate::namespace::alone;
use crate::stage::Stage;

const TALKER: SharedMemory = SharedMemory { host: 1, network_namespace: 2, nonce: 3, user: 1_000 };
const LISTENER: SharedMemory = SharedMemory { nonce: 4, ..TALKER };

/// A talker and a listener, whatever they announce of themselves, and the pair that they are.
fn scene(change: impl Fn([&mut ParticipantData; 2])) -> Scene {
    let mut stage = Stage::new();
    let _ends = (
        stage.writer("T", "Reading", PublisherQos::default(), DataWriterQos::default()),
        stage.reader("T", "Reading", SubscriberQos::default(), DataReaderQos::default()),
    );
    let mut scene = stage.scene(None);
    let [talker, listener] = [&stage.talker, &stage.listener].map(|participant| participant.prefix());
    let mut both = [talker, listener].map(|prefix| ParticipantData::clone(&scene.participants[&prefix]));
    let [one, other] = &mut both;
    change([one, other]);
    scene.participants.extend(both.map(|data| (data.prefix, Arc::new(data))));
    scene
}

/// The last line and the pair as JSON.
fn told(change: impl Fn([&mut ParticipantData; 2])) -> (String, Value) {
    let scene = scene(change);
    let line = summary(&scene).pop().unwrap();
    let start = "topic \"T\": writer of \"talker\" (Punctual at 10.0.0.1) to reader of \"listener\" (Punctual at 10.0.0.2): ";
    let way = line.strip_prefix(start).unwrap_or_else(|| panic!("{line}")).to_owned();
    let mut pair = json(Some(&scene), &[])["matched_pairs"][0].clone();
    let [writer, reader] = ["writer", "reader"].map(|end| pair.as_object_mut().unwrap().remove(end).unwrap());
    let ends = scene.endpoints.iter().map(|data| Value::from(data.guid.to_string()));
    assert!(
        ends.clone().any(|end| end == writer) && ends.clone().any(|end| end == reader) && writer != reader
    );
    (way, pair)
}

#[test]
fn what_both_announce_decides() {
    let share = |[one, other]: [&mut ParticipantData; 2], theirs: SharedMemory| {
        one.shared_memory = Some(TALKER);
        other.shared_memory = Some(theirs);
    };
    let (way, pair) = told(|both| share(both, LISTENER));
    assert_eq!(way, "shared memory");
    let shared =
        json!({ "topic": "T", "transport": "shared memory", "addresses": [], "not_shared_memory": null });
    assert_eq!(pair, shared);
    let udp = "UDP to 10.0.0.2:7411";
    let (way, pair) = told(|both| share(both, SharedMemory { host: 9, ..LISTENER }));
    assert_eq!(way, udp);
    assert_eq!((&pair["transport"], &pair["addresses"]), (&"UDP".into(), &json!(["10.0.0.2:7411"])));
    let (way, pair) = told(|both| share(both, SharedMemory { user: 0, ..LISTENER }));
    assert_eq!(way, format!("{udp}, not shared memory: they run as users 1000 and 0"));
    assert_eq!(pair["not_shared_memory"], "they run as users 1000 and 0");
    let (way, _) = told(|both| share(both, SharedMemory { network_namespace: 9, ..LISTENER }));
    assert_eq!(
        way,
        format!("{udp}, not shared memory: they are in two network namespaces, as containers are")
    );
    // Of two hosts, as far as can be seen.
    assert_eq!(told(|_| {}).0, udp);
    let (way, _) = told(|[one, other]| {
        one.shared_memory = Some(TALKER);
        other.metatraffic_unicast.clone_from(&one.metatraffic_unicast);
        other.vendor = VendorId::CYCLONE;
    });
    assert_eq!(
        way,
        format!("{udp}, not shared memory: \"listener\" (Punctual at 10.0.0.2) is of Cyclone DDS")
    );
}

#[test]
fn of_many_pairs_the_first_are_told_and_json_has_all() {
    let mut stage = Stage::new();
    let (writer, reader) = (DataWriterQos::default, DataReaderQos::default);
    let _ends: Vec<_> = (0..25)
        .map(|number| {
            let name = format!("T{number:02}");
            let written = stage.writer(&name, "Reading", PublisherQos::default(), writer());
            (written, stage.reader(&name, "Reading", SubscriberQos::default(), reader()))
        })
        .collect();
    let scene = stage.scene(None);
    let lines = summary(&scene);
    assert_eq!((lines.len(), lines[45].as_str()), (25 + 21, "and 5 other pairs that match: --json"));
    assert_eq!(json(Some(&scene), &[])["matched_pairs"].as_array().unwrap().len(), 25);
}

#[test]
fn what_is_taken_between_processes_is_told() {
    alone(|| {
        let talker = talker(&[]);
        let sharing = Background::start(&["echo", "Readings", "--participant-id", "7"]);
        let apart =
            Background::start(&["echo", "Readings", "--shared-memory", "off", "--participant-id", "9"]);
        let (code, said) = run(&["why", "Readings", "--duration", "5s"]);
        let start = "topic \"Readings\": writer of \"punctual pub\" (Punctual at 127.0.0.1) to reader of \"punctual echo\" (Punctual at 127.0.0.1): ";
        let ways: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(start)).collect();
        assert_eq!((code, ways.len()), (Some(0), 2), "{said}");
        assert!(ways.contains(&"shared memory"), "{said}");
        let off = "UDP to 127.0.0.1:7429, not shared memory: \"punctual echo\" (Punctual at 127.0.0.1) has it switched off, or may not";
        assert!(ways.contains(&off), "{said}");
        assert!(said.contains("to a reader here, by shared memory\n"), "{said}");
        let (_, said) = run(&["why", "Readings", "--duration", "5s", "--shared-memory", "off", "--json"]);
        let seen: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(seen["received"]["ways"], json!(["UDP"]), "{said}");
        for background in [talker, sharing, apart] {
            assert_eq!(background.interrupt().0, Some(0));
        }
    });
}

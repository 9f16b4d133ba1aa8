//! Layers over each other, what is wrong in them, and where values come from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;
use std::net::IpAddr;

use dds::config::{Interfaces, ParticipantId};
use dds::qos::{History, ReliabilityKind};
use settings::{Settings, Sources};

const FILE: &str = r#"domain = 3
interfaces = ["eth1"]
peers = ["robot.local:7410", "192.0.2.9"]

[participant.discovery]
static-peers = ["192.0.2.1"]
lease-duration = "30 s"

[participant.shared-memory]
enabled = false

[[topics]]
name = "arm/*"
byte-limit = 2048
[topics.qos]
history = { keep-last = 10 }
reliability = { kind = "reliable" }
[topics.writer]
lifespan = "2 s"

[[topics]]
name = "arm/joint"
qos = { history = "keep-all" }
"#;

fn of(file: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
    let mut resolve = |host: &str| match host {
        "robot.local" => {
            Ok(["192.0.2.7", "2001:db8::7"].map(|text| text.parse::<IpAddr>().unwrap()).to_vec())
        }
        _ => Err(io::Error::new(io::ErrorKind::NotFound, "the name is not known")),
    };
    let sources = Sources {
        file: (!file.is_empty()).then(|| ("s.toml".to_owned(), file.to_owned())),
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    Settings::of(&sources, &mut resolve).map_err(|problem| problem.to_string())
}

/// Value and origin.
fn explained(settings: &Settings, key: &str) -> (String, String) {
    let found = settings.explain().into_iter().find(|explained| explained.key == key).unwrap();
    (found.value, found.origin.to_string())
}

#[test]
fn each_layer_lies_over_those_before() {
    let settings = of(FILE, &[]).unwrap();
    assert_eq!(settings.domain, 3);
    assert_eq!(settings.config.network.interfaces, Interfaces::Named(vec!["eth1".to_owned()]));
    let peers: Vec<String> = settings.config.discovery.static_peers.iter().map(ToString::to_string).collect();
    assert_eq!(peers, ["192.0.2.1", "192.0.2.7:7410", "192.0.2.9"]);
    assert!(!settings.config.shared_memory.enabled);
    // What the file does not say.
    assert_eq!(settings.config.discovery.participant_id, ParticipantId::FirstFree);

    let settings = of(
        FILE,
        &[
            ("PUNCTUAL_DOMAIN", "7"),
            ("PUNCTUAL_INTERFACES", "192.0.2.3, 192.0.2.4"),
            ("PUNCTUAL_PEERS", "robot.local"),
            ("PUNCTUAL_SHARED_MEMORY_ENABLED", "true"),
            ("PUNCTUAL_DISCOVERY_LEASE_DURATION", "1 min"),
            ("PUNCTUAL_DISCOVERY_PARTICIPANT_ID", "{ fixed = 4 }"),
            ("PUNCTUAL_THREADS_CORES", "[1, 2]"),
            ("PUNCTUAL_TIER", "long"),
            ("HOME", "/"),
        ],
    )
    .unwrap();
    assert_eq!(settings.domain, 7);
    assert!(matches!(&settings.config.network.interfaces, Interfaces::WithAddress(two) if two.len() == 2));
    let peers: Vec<String> = settings.config.discovery.static_peers.iter().map(ToString::to_string).collect();
    assert_eq!(peers, ["192.0.2.1", "192.0.2.7"]);
    assert!(settings.config.shared_memory.enabled);
    assert_eq!(settings.config.discovery.lease_duration, dds::Duration::from_secs(60));
    assert_eq!(settings.config.discovery.participant_id, ParticipantId::Fixed(4));
    assert_eq!(settings.config.threads.cores, [1, 2]);

    assert_eq!(of("", &[]).unwrap().config, dds::config::Config::default());
}

#[test]
fn later_rules_lie_over_earlier_ones() {
    let settings = of(FILE, &[]).unwrap();
    let writer = settings.writer_qos("arm/joint");
    assert_eq!(writer.endpoint.history, History::KeepAll);
    assert_eq!(writer.endpoint.lifespan, dds::Duration::from_secs(2));
    assert_eq!(writer.byte_limit, 2048);
    let reader = settings.reader_qos("arm/joint");
    assert_eq!(reader.endpoint.reliability.kind, ReliabilityKind::Reliable);
    assert_eq!(reader.endpoint.lifespan, dds::Duration::INFINITE);
    assert_eq!(settings.reader_qos("arm/x").endpoint.history, History::KeepLast(10));
    assert_eq!(settings.writer_qos("leg/x"), dds::qos::DataWriterQos::default());
}

#[test]
fn each_value_has_an_origin() {
    let settings = of(FILE, &[("PUNCTUAL_NETWORK_MULTICAST", "false")]).unwrap();
    let pair = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
    for (key, found) in [
        ("domain", pair("3", "s.toml:1:1")),
        ("participant.network.interfaces", pair(r#"{"named":["eth1"]}"#, "s.toml:2:1")),
        ("participant.discovery.lease-duration", pair(r#""30 s""#, "s.toml:7:1")),
        ("participant.discovery.announce-period", pair(r#""3 s""#, "default")),
        ("participant.shared-memory.enabled", pair("false", "s.toml:10:1")),
        ("participant.network.multicast", pair("false", "PUNCTUAL_NETWORK_MULTICAST")),
    ] {
        assert_eq!(explained(&settings, key), found, "{key}");
    }
    let topic = settings.explain_topic("arm/joint");
    for (key, origin) in [
        ("writer.history", "s.toml:23:9"),
        ("writer.lifespan", "s.toml:19:1"),
        ("reader.lifespan", "default"),
        ("reader.reliability", "s.toml:17:1"),
        ("writer.byte-limit", "s.toml:14:1"),
        ("writer.deadline", "default"),
    ] {
        let found = topic.iter().find(|explained| explained.key == key).unwrap();
        assert_eq!(found.origin.to_string(), origin, "{key}");
    }
}

#[test]
fn what_is_wrong_has_a_place() {
    for (file, told) in [
        ("domain = 3\nx = ", "s.toml:2:"),
        ("domain = \"three\"", "s.toml:1:10: invalid type: string"),
        ("[participant.network]\nmulticats = true", "s.toml:2:1: unknown field `multicats`, expected one of"),
        ("[participant.discovery]\nlease-duration = \"soon\"", "s.toml:2:18: "),
        ("domain = 233", "s.toml:1:1: the domain 233 is not in 0 to 232"),
        (
            "peers = [\"192.0.2.1\",\n  \"nowhere\"]",
            "s.toml:2:3: \"nowhere\": the name is not known; give an address",
        ),
        ("peers = [\"robot.local:0\"]", "s.toml:1:10: \"robot.local:0\": \"0\" is no port"),
        ("[participant.shared-memory]\nenabled = true\nring = 5", "s.toml:3:1: "),
        ("[participant.discovery]\nlease-duration = \"1 s\"", "s.toml:2:1: "),
        ("[[topics]]\nname = \"a\"\n[[topics]]\nname = \"b\"\nbyte-limit = 1", "s.toml:3:1: "),
        ("[[topics]]\nqos = { history = \"keep-some\" }", "s.toml:2:19: unknown variant `keep-some`"),
    ] {
        let said = of(file, &[]).unwrap_err();
        assert!(said.starts_with(told), "{file}: {said}");
    }
    for (name, value, told) in [
        ("PUNCTUAL_DOMAIN", "three", "PUNCTUAL_DOMAIN: \"three\": invalid type: string"),
        ("PUNCTUAL_DOMAIN", "233", "PUNCTUAL_DOMAIN: the domain 233"),
        (
            "PUNCTUAL_NETWORK_MULTICATS",
            "true",
            "PUNCTUAL_NETWORK_MULTICATS: there is no such variable; there are PUNCTUAL_NETWORK_FAMILY",
        ),
        ("PUNCTUAL_SHARED_MEMORY_RING", "5", "PUNCTUAL_SHARED_MEMORY_RING: "),
        ("PUNCTUAL_PEERS", "nowhere", "PUNCTUAL_PEERS: \"nowhere\": the name is not known"),
        ("PUNCTUAL_INTERFACES", "", "PUNCTUAL_INTERFACES: "),
        ("PUNCTUAL_DISCOVERY_LEASE_DURATION", "\n]", "PUNCTUAL_DISCOVERY_LEASE_DURATION: "),
    ] {
        let said = of("", &[(name, value)]).unwrap_err();
        assert!(said.starts_with(told), "{name}: {said}");
    }
}

//! QoS and configuration in files, with the feature `serde`: what is said, what is the default, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at once")]

use dds::Duration;
use dds::config::{Config, Family, Interfaces, ParticipantId};
use dds::qos::{
    DataReaderQos, DataRepresentation, DataWriterQos, Durability, History, OfferedAssurance, ReliabilityKind,
    RequestedAssurance, TopicQos, WhenRefused,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[track_caller]
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(read::<T>(&text).as_ref(), Ok(value), "{text}");
}

#[test]
fn nothing_said_is_the_default() {
    assert_eq!(read("{}"), Ok(DataWriterQos::default()));
    assert_eq!(read("{}"), Ok(DataReaderQos::default()));
    assert_eq!(read(r#"{"endpoint": {}}"#), Ok(DataWriterQos::default()));
    assert_eq!(read(r#"{"endpoint": {}}"#), Ok(DataReaderQos::default()));
    assert_eq!(read("{}"), Ok(TopicQos::default()));
    assert_eq!(read("{}"), Ok(Config::default()));
}

#[test]
fn what_is_said_counts_and_the_rest_is_the_default() {
    let text = r#"{
        "endpoint": {
            "history": {"keep-last": 10},
            "durability": "transient-local",
            "deadline": "1.5 s",
            "reliability": {"kind": "best-effort"},
            "representation": ["xcdr2"]
        },
        "assurance": {"minimum-separation": "10 ms"}
    }"#;
    let mut expected = DataWriterQos::default();
    expected.endpoint.history = History::KeepLast(10);
    expected.endpoint.durability = Durability::TransientLocal;
    expected.endpoint.deadline = Duration::from_millis(1_500);
    expected.endpoint.reliability.kind = ReliabilityKind::BestEffort;
    expected.endpoint.representation = vec![DataRepresentation::XCDR2];
    expected.assurance = Some(OfferedAssurance::every(Duration::from_millis(10)));
    assert_eq!(read(text), Ok(expected));
    let text = r#"{"assurance": {"maximum-latency": "5 ms", "when-refused": "fail"}}"#;
    let mut assurance = RequestedAssurance::within(Duration::from_millis(5));
    assurance.when_refused = WhenRefused::Fail;
    assert_eq!(read(text), Ok(DataReaderQos { assurance: Some(assurance), ..DataReaderQos::default() }));
    let text = r#"{
        "discovery": {"participant-id": {"fixed": 3}, "static-peers": ["192.0.2.7", "[2001:db8::7]:7410"]},
        "network": {"interfaces": {"named": ["eth1"]}, "family": "both", "spin": "20 us"}
    }"#;
    let mut expected = Config::default();
    expected.discovery.participant_id = ParticipantId::Fixed(3);
    expected.discovery.static_peers =
        ["192.0.2.7", "[2001:db8::7]:7410"].iter().map(|peer| peer.parse().unwrap()).collect();
    expected.network.interfaces = Interfaces::Named(vec!["eth1".to_owned()]);
    expected.network.family = Family::Both;
    expected.network.spin = std::time::Duration::from_micros(20);
    assert_eq!(read(text), Ok(expected));
}

#[test]
fn what_was_written_comes_back() {
    let mut writer = DataWriterQos::default();
    writer.endpoint.user_data = vec![0, 255];
    writer.endpoint.partition = vec!["hall *".to_owned()];
    writer.endpoint.lifespan = Duration::from_nanos(1);
    writer.assurance = Some(OfferedAssurance::every(Duration::from_micros(7)));
    comes_back(&writer);
    comes_back(&DataReaderQos::default());
    comes_back(&TopicQos::default());
    comes_back(&Config::default());
}

#[test]
fn what_is_unknown_or_wrong_is_named() {
    for (text, expected) in [
        (r#"{"endpiont": {}}"#, "endpiont"),
        (r#"{"endpoint": {"histroy": "keep-all"}}"#, "histroy"),
        (r#"{"endpoint": {"history": "keep-some"}}"#, "keep-some"),
        (r#"{"endpoint": {"deadline": "soon"}}"#, "\"soon\" is no duration"),
        (r#"{"endpoint": {"representation": ["xcdr3"]}}"#, "give xcdr1, xcdr2 or xml"),
        (r#"{"assurance": {}}"#, "minimum-separation"),
    ] {
        let error = read::<DataWriterQos>(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let error = read::<Config>(r#"{"discovery": {"static-peers": ["somewhere"]}}"#).unwrap_err();
    assert!(error.contains("192.0.2.7:7410"), "{error}");
    // What makes no sense is found by `check`, as ever.
    let config = read::<Config>(r#"{"buffers": {"send": 0}}"#).unwrap();
    assert!(config.check().unwrap_err().to_string().contains("buffers.send"));
}

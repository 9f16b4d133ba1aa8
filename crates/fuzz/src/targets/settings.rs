//! QoS and configuration from files: they are refused, or are written and read as the same; what is checked says what is wrong.
use std::io;

use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos};
use serde_json::{from_slice, from_str, to_string};
use settings::{Origin, Settings, Sources};

const WRITER: &str = r#"{"endpoint": {"history": {"keep-last": 10}, "deadline": "1.5 s", "reliability": {"kind": "reliable"},
    "representation": ["xcdr2"], "partition": ["a*"], "lifespan": "infinite"}, "assurance": {"minimum-separation": "10 ms"}}"#;
const READER: &str = r#"{"endpoint": {"history": "keep-all", "time-based-filter": "20 us", "resource-limits": {"max-samples": 7}},
    "assurance": {"maximum-latency": "5 ms", "when-refused": "fail"}, "byte-limit": 4096}"#;
const CONFIG: &str = r#"{"discovery": {"participant-id": {"fixed": 3}, "static-peers": ["192.0.2.7", "[2001:db8::7]:7410"]},
    "network": {"interfaces": {"with-address": ["192.0.2.1"]}, "spin": "20 us"}, "threads": {"priority": 3, "cores": [1]}}"#;

/// Valid files.
pub(super) fn files() -> Vec<Vec<u8>> {
    [WRITER, READER, CONFIG].map(|text| text.as_bytes().to_vec()).into()
}

/// A file of any of these kinds.
pub fn settings_file(bytes: &[u8]) {
    if let Ok(qos) = from_slice::<DataWriterQos>(bytes) {
        assert_eq!(from_str::<DataWriterQos>(&to_string(&qos).unwrap_or_default()).ok(), Some(qos));
    }
    if let Ok(qos) = from_slice::<DataReaderQos>(bytes) {
        assert_eq!(from_str::<DataReaderQos>(&to_string(&qos).unwrap_or_default()).ok(), Some(qos));
    }
    if let Ok(config) = from_slice::<Config>(bytes) {
        if let Err(error) = config.check() {
            assert!(!error.what.is_empty(), "an error says what is wrong");
        }
        assert_eq!(from_str::<Config>(&to_string(&config).unwrap_or_default()).ok(), Some(config));
    }
}

/// Files of settings, in TOML.
pub(super) fn toml_files() -> Vec<Vec<u8>> {
    [TOML, "domain = 7\npeers = [\"192.0.2.7\"]\n[participant.network]\nmulticast = false\n"]
        .map(|text| text.as_bytes().to_vec())
        .into()
}

const TOML: &str = r#"domain = 3
interfaces = ["eth1", "192.0.2.1"]
peers = ["robot.local:7410", "[2001:db8::7]:7410"]
participant.discovery = { static-peers = ["192.0.2.7"], lease-duration = "30 s", participant-id = { fixed = 4 } }
[participant.shared-memory]
ring = 4194304
[[topics]]
name = "arm/*"
byte-limit = 4096
qos = { history = { keep-last = 10 }, partition = ["a*"] }
writer = { lifespan = "2 s" }
reader = { time-based-filter = "20 us" }
"#;

/// A file of settings, as it is and as the value of a variable: it is refused with a place, or each value has an origin.
pub fn settings_toml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut resolve = |_: &str| Err(io::Error::other("no names here"));
    let file = Sources { file: Some(("fuzz.toml".to_owned(), text.clone())), variables: Vec::new() };
    match Settings::of(&file, &mut resolve) {
        Ok(settings) => {
            assert!(settings.config.check().is_ok(), "what is not refused is right");
            assert!(settings.explain().len() > 20 && settings.explain_topic("arm/joint").len() > 40);
        }
        Err(problem) => {
            let is_placed = matches!(&problem.origin, Origin::File { line: 1.., column: 1.., .. });
            assert!(is_placed && !problem.what.is_empty(), "what is wrong has a place: {problem}");
        }
    }
    for name in ["PUNCTUAL_PEERS", "PUNCTUAL_DISCOVERY_LEASE_DURATION", "PUNCTUAL_NETWORK_INTERFACES"] {
        let variables = vec![(name.to_owned(), text.clone())];
        if let Err(problem) = Settings::of(&Sources { file: None, variables }, &mut resolve) {
            assert_eq!(problem.origin, Origin::Variable(name.to_owned()), "{problem}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        toml_files().iter().for_each(|file| settings_toml(file));
        from_str::<DataWriterQos>(WRITER).unwrap();
        from_str::<DataReaderQos>(READER).unwrap();
        from_str::<Config>(CONFIG).unwrap();
    }
}

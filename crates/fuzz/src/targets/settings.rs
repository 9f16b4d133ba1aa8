//! QoS and configuration from files: they are refused, or are written and read as the same; what is checked says what is wrong.
use dds::config::Config;
use dds::qos::{DataReaderQos, DataWriterQos};
use serde_json::{from_slice, from_str, to_string};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        from_str::<DataWriterQos>(WRITER).unwrap();
        from_str::<DataReaderQos>(READER).unwrap();
        from_str::<Config>(CONFIG).unwrap();
    }
}

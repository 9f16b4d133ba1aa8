//! Files of predictions: each is refused with a place that exists, or predicted with numbers that can be.
use predict::{COARSE, LEAST_RECORDS, Path, Stages, predict, read_path, read_records};

use super::files::is_placed;

const PATH: &str = "[stages]\nserialise = { sample = \"1 us\", byte = \"0.5 ns\" }\nstore = { sample = \"90 us\" }\ndeliver = { sample = \"20 us\" }\n\
    spread = \"30 %\"\n\n[[hop]]\nrate = \"100 Mb/s\"\npropagation = \"5 us\"\ndelay = \"1 us\"\nload = \"30 %\"\nframe = 300\nloss = \"1 %\"\n\n\
    [[topic]]\nname = \"a\"\nsize = 120\nseparation = \"10 ms\"\nburst = 3\nreaders = 4\nmulticast = true\nreliability = \"reliable\"\n\
    heartbeat = \"50 ms\"\n\n[[topic]]\nname = \"b\"\nsize = 9_000\nseparation = \"20 ms\"\narrivals = \"random\"\ndurability = \"persistent\"\n";
const RECORDS: &str = "{\"kind\":\"second\",\"at_s\":1}\n{\"kind\":\"sum\",\"samples_per_s\":1000.0,\"megabytes_per_s\":0.064,\"latency_us\":\
    {\"p50\":30.5,\"p90\":40.0,\"p99\":60.0,\"p99.9\":90.0,\"count\":2000}}\n{\"topic\":{\"size\":500,\"separation\":\"2 ms\",\"readers\":3},\
    \"hops\":[{\"rate\":\"1 Gb/s\",\"loss\":\"1 %\"}],\"latency_us\":{\"p50\":50.0}}\n";

/// Valid files.
pub(super) fn files() -> Vec<Vec<u8>> {
    vec![PATH.as_bytes().to_vec()]
}

/// Valid records.
pub(super) fn records() -> Vec<Vec<u8>> {
    vec![RECORDS.as_bytes().to_vec()]
}

/// A file of stages, hops and topics.
pub fn prediction_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let path = match read_path("file", &text) {
        Ok(path) => path,
        Err(problem) => return is_placed(&text, &problem),
    };
    // The first topics: the work is in proportion to their number, and to that of hops.
    for number in 0..path.topics.len().min(2) {
        let stages = path.stages.unwrap_or(Stages::default());
        let Ok(predicted) = predict(&path, &stages, number, COARSE) else { continue };
        let percentiles = predicted.percentiles;
        assert!(percentiles.iter().all(|value| value.is_finite() && *value >= 0.0), "{percentiles:?}");
        assert!(percentiles.is_sorted(), "{percentiles:?}");
        assert!(predicted.stages.iter().all(|stage| stage.mean.is_finite()), "{:?}", predicted.stages);
    }
}

/// Measurements. A calibration predicts each of them some thousand times: here the first ones are predicted once.
pub fn prediction_records(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match read_records("file", &text) {
        Ok(records) => {
            for record in &records {
                assert!(record.topic.size > 0 && record.topic.separation > 0, "{record:?}");
                let measured = record.percentiles.iter().flatten();
                assert!(measured.into_iter().all(|value| value.is_finite() && *value > 0.0), "{record:?}");
            }
            for record in records.into_iter().take(LEAST_RECORDS) {
                let path = Path { hops: record.hops, stages: None, topics: vec![record.topic] };
                let Ok(predicted) = predict(&path, &Stages::default(), 0, COARSE) else { continue };
                let percentiles = predicted.percentiles;
                assert!(
                    percentiles.iter().all(|value| value.is_finite() && *value >= 0.0),
                    "{percentiles:?}"
                );
            }
        }
        Err(problem) => is_placed(&text, &problem),
    }
}

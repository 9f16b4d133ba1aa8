//! `punctual predict`: what docs/predict.md shows, and a QoS file that other commands read.
use crate::{Folder, block, run};

const PAGE: &str = include_str!("../../../../docs/predict.md");
const RECORDS: &str = include_str!("../../../../docs/measurements/prediction-records.jsonl");

#[test]
fn the_page_shows_what_is_predicted_and_the_profile_is_read_by_others() {
    let folder = Folder::new();
    let file = block(PAGE, "```toml");
    std::fs::write(folder.join("ward.toml"), file).unwrap();
    std::fs::write(folder.join("host.jsonl"), RECORDS).unwrap();
    let page = block(PAGE, "$ punctual predict ward.toml --calibrate host.jsonl\n");
    let (code, out, told) = run(&folder, &["predict", "ward.toml", "--calibrate", "host.jsonl"]);
    assert_eq!((code, told.as_str()), (0, ""), "{out}");
    assert_eq!(out.trim_end(), page.trim_end(), "the page shows something else");

    let with = ["predict", "ward.toml", "--calibrate", "host.jsonl", "--into", "ward.xml"];
    let (code, out, _) = run(&folder, &with);
    assert!(code == 0 && out.contains("written: ward.xml, profile predicted::predicted"), "{out}");
    assert!(out.contains("left out: ward/stop: no DEADLINE, since samples come at random times"), "{out}");
    let (code, out, told) = run(&folder, &["qos", "check", "ward.xml"]);
    assert_eq!(code, 0, "{out}{told}");
    let profile = std::fs::read_to_string(folder.join("ward.xml")).unwrap();
    let deadlines = profile.matches("<deadline>").count();
    assert_eq!((deadlines, profile.matches("<latency_budget>").count()), (2, 2), "{profile}");
    // The share of a host is for people, and as bytes that participants announce.
    let values = profile.split("<value>").nth(1).and_then(|rest| rest.split("</value>").next()).unwrap();
    let bytes: Vec<u8> = values.split(", ").map(|byte| byte.parse().unwrap()).collect();
    let announced = String::from_utf8(bytes).unwrap();
    assert!(profile.contains(&format!("<!-- {announced} -->")), "{profile}");
    let share = announced.strip_prefix("punctual.host-share=").unwrap().strip_suffix("us;").unwrap();
    let share = share.parse::<f64>().unwrap() * 1_000.0;
    let (code, out, told) =
        run(&folder, &["qos", "show", "ward.xml", "predicted::predicted", "--topic", "ward/pose"]);
    assert_eq!(code, 0, "{out}{told}");

    let (code, out, _) = run(&folder, &["predict", "ward.toml", "--calibrate", "host.jsonl", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && all["is_bound"] == false && all["topics"][0]["topic"] == "ward/pose", "{out}");
    // No host takes less on average, and none takes more than all is predicted to take.
    for topic in all["topics"].as_array().unwrap() {
        let stage = |names: &[&str]| -> f64 {
            let stages = topic["stages"].as_array().unwrap().iter();
            let of = stages.filter(|stage| names.iter().any(|name| stage["stage"] == *name));
            of.map(|stage| stage["mean_ns"].as_f64().unwrap()).sum()
        };
        let writer = stage(&["serialise", "write", "store", "send"]);
        let reader = stage(&["receive", "deserialise", "deliver"]);
        assert!(share >= writer.max(reader) && writer > 0.0 && reader > 0.0, "{share}: {topic}");
    }
    assert!(all["topics"][0]["percentiles"]["p50"]["interval_90_ns"][1].as_f64().unwrap() > 0.0);

    // What is wrong changes nothing.
    std::fs::remove_file(folder.join("ward.xml")).unwrap();
    let (code, _, told) = run(&folder, &["predict", "ward.toml", "--into", "ward.xml"]);
    assert!(code == 2 && told.contains("--calibrate"), "{told}");
    std::fs::write(folder.join("few.jsonl"), RECORDS.lines().next().unwrap()).unwrap();
    let (code, _, told) =
        run(&folder, &["predict", "ward.toml", "--calibrate", "few.jsonl", "--into", "ward.xml"]);
    assert!(code == 2 && told.contains("few.jsonl: 1 records are too few"), "{told}");
    std::fs::write(folder.join("full.toml"), file.replace("\"10 ms\"", "\"10 us\"")).unwrap();
    let (code, out, _) =
        run(&folder, &["predict", "full.toml", "--calibrate", "host.jsonl", "--into", "ward.xml"]);
    assert!(code == 1 && out.contains("no prediction: "), "{out}");
    std::fs::write(folder.join("wrong.toml"), file.replace("size = 16", "size = -1")).unwrap();
    let (code, _, told) = run(&folder, &["predict", "wrong.toml"]);
    assert!(
        code == 2 && told.contains("wrong.toml:") && told.contains("-1 is not a number from 1"),
        "{told}"
    );
    let (code, _, told) = run(&folder, &["predict", "missing.toml"]);
    assert!(code == 2 && told.contains("missing.toml"), "{told}");
    assert!(!folder.join("ward.xml").exists(), "nothing is written");
}

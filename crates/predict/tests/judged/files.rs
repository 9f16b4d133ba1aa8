//! Files that people write: what is read, and what is wrong with its place.
use predict::{Arrivals, Durability, Reliability, read_path, read_records};

const PATH: &str = r#"[stages]
serialise = { byte = "0.5 ns" }
write = { sample = "2 us" }
spread = "30 %"

[[hop]]
rate = "100 Mb/s"
propagation = "5 us"
load = "30 %"

[[topic]]
name = "ward/pose"
size = 120
separation = "10 ms"

[[topic]]
name = "ward/stop"
size = 16
separation = "100 ms"
arrivals = "random"
readers = 4
reliability = "reliable"
durability = "persistent"
heartbeat = "50 ms"
"#;

#[test]
fn a_path_is_read_and_what_is_left_out_is_usual() {
    let path = read_path("p.toml", PATH).unwrap();
    let stages = path.stages.unwrap();
    assert_eq!((stages.serialise.byte, stages.write.base, stages.spread), (0.5, 2_000.0, 0.3));
    assert_eq!(stages.deliver.base, 0.0);
    let hop = path.hops[0];
    assert_eq!((hop.rate, hop.propagation, hop.load, hop.frame), (100_000_000, 5_000_000, 300_000, 1_538));
    let [pose, stop] = &path.topics[..] else { panic!() };
    assert_eq!((pose.readers, pose.burst, pose.arrivals), (1, 1, Arrivals::Periodic));
    assert_eq!((pose.reliability, pose.heartbeat), (Reliability::BestEffort, 20_000_000_000));
    assert_eq!((stop.readers, stop.arrivals, stop.durability), (4, Arrivals::Random, Durability::Persistent));
}

#[test]
fn each_mistake_is_told_with_its_place() {
    testkit::each_is_told(
        PATH,
        &[
            ("rate = \"100 Mb/s\"", "rate = \"100 MB/s\"", "p.toml:7:8: \"100 MB/s\" is not a rate"),
            ("load = \"30 %\"", "load = \"101 %\"", "p.toml:9:8: \"101 %\" is not a part"),
            ("size = 120", "size = 0", "p.toml:13:8: 0 is not a number from 1 to 16777216"),
            ("size = 120", "", "p.toml:11:1: the topic says no size\n  write size = 120"),
            ("separation = \"10 ms\"", "separation = \"0 ms\"", "the topic says no separation above 0"),
            ("name = \"ward/stop\"", "name = \"ward/pose\"", "p.toml:16:1: ward/pose is there twice"),
            ("readers = 4", "reader = 4", "unknown field `reader`"),
            ("\"persistent\"", "\"for ever\"", "unknown variant `for ever`"),
        ],
        |text| read_path("p.toml", text).err().map(|problem| problem.to_string()).unwrap_or_default(),
    );
    let told = |text: &str| read_path("p.toml", text).unwrap_err().to_string();
    assert!(told("").contains("there is no topic"));
    assert!(told(&"[[hop]]\nrate = \"1 Gb/s\"\n".repeat(17)).contains("more than 16 hops"));
    assert!(told(&"#".repeat((1 << 20) + 1)).contains("more than 1048576 bytes"));
}

/// What `punctual perf sub --json` prints, with the hops that were passed.
const RECORD: &str = r#"{"kind":"second","at_s":1,"taken":10,"bytes":640,"lost":0,"latency_us":{}}
{"kind":"sum","taken":2000,"samples_per_s":1000.0,"megabytes_per_s":0.064,"lost":0,"latency_us":{"min":20.0,"p50":30.5,"p90":40.0,"p99":60.0,"p99.9":90.0,"p99.99":100.0,"max":100.0,"count":2000},"qos":"best effort"}

{"topic":{"size":500,"separation":"2 ms","readers":3},"hops":[{"rate":"1 Gb/s"}],"latency_us":{"p50":50.0}}
"#;

#[test]
fn records_are_what_perf_prints() {
    let records = read_records("r.json", RECORD).unwrap();
    assert_eq!(records.len(), 2, "the line of a second is no record");
    assert_eq!((records[0].topic.size, records[0].topic.separation), (64, 1_000_000_000));
    assert_eq!(records[0].percentiles[0], Some(30_500.0));
    assert_eq!(records[0].percentiles[3], None, "2,000 samples say nothing of p99.9");
    assert_eq!((records[1].topic.readers, records[1].hops.len()), (3, 1));
    testkit::each_is_told(
        RECORD,
        &[
            ("\"p50\":50.0", "\"p5\":50.0", "r.json:4:1: the record has no median"),
            ("\"size\":500,", "", "r.json:4:1: the record has no size"),
            ("\"1 Gb/s\"", "\"fast\"", "\"fast\" is not a rate"),
            ("\"1 Gb/s\"", "\"1 Gb/s\",\"loss\":\"85 %\"", "r.json:4:1: the hops lose more than 75 %"),
            ("\"latency_us\":{\"p50\"", "\"latency_us\":{{\"p50\"", "r.json:4:"),
        ],
        |text| read_records("r.json", text).err().map(|problem| problem.to_string()).unwrap_or_default(),
    );
    let many = RECORD.lines().last().unwrap().to_owned() + "\n";
    assert!(
        read_records("r.json", &many.repeat(301)).unwrap_err().to_string().contains("more than 300 records")
    );
    let lossy = many
        .replace("\"1 Gb/s\"", "\"1 Gb/s\",\"loss\":\"1 %\"")
        .replace("\"readers\"", "\"reliability\":\"reliable\",\"readers\"");
    assert_eq!(read_records("r.json", &lossy.repeat(60)).unwrap().len(), 60);
    let told = read_records("r.json", &lossy.repeat(61)).unwrap_err().to_string();
    assert!(told.contains("r.json:61:1: more than 60 reliable records of paths that lose samples"), "{told}");
}

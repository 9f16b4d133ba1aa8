//! `record` and `replay` as processes over loopback, each test in a network namespace of its own: what is replayed is what was recorded.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use lab_turn::Folder;
use recording::{Channel, End, Entry, Item, Recording};
use testkit::background::Background;
use testkit::namespace::alone;
use wire::qos::{Durability, ReliabilityKind};

const READING: &str = "struct Reading { @key uint32 sensor; double celsius; };";
const POSE: &str = "module robot { enum Mode { IDLE, @value(7) BUSY }; typedef sequence<float, 8> Joints;
    @mutable struct Pose { @key string<12> arm; @optional Joints joints; Mode mode; }; };";

fn punctual(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What it printed, if all went well.
fn done(arguments: &[&str]) -> String {
    let output = punctual(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {:?} {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A command in the background.
fn start(arguments: &[&str]) -> Background {
    Background::start(&mut punctual(arguments))
}

/// The path of a file in the folder, as an argument.
fn path(folder: &Folder, name: &str) -> String {
    folder.0.join(name).to_str().unwrap().to_owned()
}

/// A topic as it was recorded: its channel, and what came.
type Topic = (Channel, Vec<Entry>);

/// What is in a recording, by topic.
fn topic(file: &str, name: &str) -> Topic {
    let mut recording = Recording::new(std::fs::File::open(Path::new(file)).unwrap());
    let (mut found, mut entries) = (Vec::new(), Vec::new());
    while let Some(item) = recording.next().unwrap() {
        match item {
            Item::Channel(number, channel) => found.push((number, channel)),
            Item::Entry(entry) => entries.push(entry),
            Item::Foreign(topic, why) => panic!("{topic}: {why}"),
        }
    }
    let found: Vec<_> = found.into_iter().filter(|(_, channel)| channel.topic == name).collect();
    assert_eq!(found.len(), 1, "{name}");
    let (number, channel) = &found[0];
    entries.retain(|entry| entry.channel == *number);
    ((**channel).clone(), entries)
}

/// Nanoseconds from the first to the last.
fn span((_, entries): &Topic) -> u64 {
    let times = || entries.iter().map(|entry| entry.time);
    times().max().unwrap() - times().min().unwrap()
}

/// The bytes of samples and keys in their order.
fn data((_, entries): &Topic) -> Vec<(Option<End>, &[u8])> {
    entries.iter().map(|entry| (entry.end, entry.data.as_slice())).collect()
}

/// Two topics with 20 samples in a second, one of which is disposed at the end.
fn record(file: &str) {
    let recording = start(&["record", "-o", file, "--exclude", "Sec*"]);
    let poses = start(&[
        "pub",
        "arm/Poses",
        "{arm: left, joints: [1, 2.5], mode: BUSY}",
        "{arm: right}",
        "--type",
        POSE,
        "--count",
        "10",
        "--rate",
        "20",
        "--reliability",
        "best-effort",
        "--partition",
        "hall",
        "--timeout",
        "60s",
    ]);
    let readings = [
        "pub",
        "Readings",
        "{sensor: 7, celsius: 21.5}",
        "{sensor: 8, celsius: -3}",
        "--type",
        READING,
        "--count",
        "10",
        "--rate",
        "20",
        "--durability",
        "transient-local",
        "--timeout",
        "60s",
    ];
    done(&readings);
    done(&[
        "pub",
        "Readings",
        "{sensor: 8}",
        "--type",
        READING,
        "--dispose",
        "--durability",
        "transient-local",
        "--timeout",
        "60s",
    ]);
    assert!(poses.end().status.success());
    let output = recording.interrupt();
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("40 samples of 2 topics in "), "{said}");
}

#[test]
fn what_is_replayed_is_what_was_recorded() {
    alone(|| {
        let folder = Folder::new();
        let (first, second) = (path(&folder, "first.mcap"), path(&folder, "second.mcap"));
        record(&first);
        let (readings, poses) = (topic(&first, "Readings"), topic(&first, "arm/Poses"));
        assert_eq!((readings.1.len(), poses.1.len()), (21, 20));
        assert_eq!(readings.1[20].end, Some(End::Disposed));
        let qos = readings.0.qos.clone().unwrap();
        assert_eq!(
            (qos.durability, qos.reliability.kind),
            (Durability::TransientLocal, ReliabilityKind::Reliable)
        );
        let qos = poses.0.qos.clone().unwrap();
        assert_eq!(
            (qos.partition, qos.reliability.kind),
            (vec!["hall".to_owned()], ReliabilityKind::BestEffort)
        );
        assert_eq!((poses.0.type_name.as_str(), poses.0.keyed), ("robot::Pose", Some(true)));
        let listed = done(&["replay", &first, "--list"]);
        assert!(listed.contains("Readings: 21 samples of Reading, reliable\n"), "{listed}");

        // Recorded once more while it is replayed: the same but for the times.
        let recording = start(&["record", "-o", &second]);
        let said = done(&["replay", &first, "--wait-for", "1", "--timeout", "60s"]);
        assert!(said.contains("40 samples of 2 topics replayed"), "{said}");
        assert!(recording.interrupt().status.success());
        for (one, other) in [(&readings, topic(&second, "Readings")), (&poses, topic(&second, "arm/Poses"))] {
            assert_eq!(data(one), data(&other));
            assert_eq!(
                (&one.0.idl, &one.0.type_name, one.0.keyed),
                (&other.0.idl, &other.0.type_name, other.0.keyed)
            );
            let (recorded, replayed) = (one.0.qos.clone().unwrap(), other.0.qos.clone().unwrap());
            assert_eq!(
                (recorded.reliability.kind, recorded.durability, recorded.partition, recorded.history),
                (replayed.reliability.kind, replayed.durability, replayed.partition, replayed.history)
            );
            // No sample comes early; what comes late makes it longer, or shorter if it is the first one.
            assert!(span(&other) >= span(one) / 2, "{} {}", span(one), span(&other));
        }
    });
}

#[test]
fn of_a_topic_only_what_passes_a_filter_is_recorded() {
    alone(|| {
        let folder = Folder::new();
        let file = path(&folder, "hot.mcap");
        let filter = "Read*=celsius > 20 AND sensor <> 9";
        let recording = start(&["record", "-o", &file, "--filter", filter]);
        let samples = ["{sensor: 7, celsius: 21.5}", "{sensor: 8, celsius: -3}", "{sensor: 9, celsius: 30}"];
        let more = [
            "--type",
            READING,
            "--count",
            "4",
            "--rate",
            "20",
            "--durability",
            "transient-local",
            "--timeout",
            "60s",
        ];
        done(&[&["pub", "Readings"][..], &samples, &more].concat());
        let other =
            ["pub", "Other", "{sensor: 8, celsius: -3}", "--type", READING, "--count", "4", "--rate", "20"];
        done(&[&other[..], &["--durability", "transient-local", "--timeout", "60s"]].concat());
        let output = recording.interrupt();
        let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.contains("8 samples of 2 topics in "), "{said}");
        // What the filter keeps away is not lost.
        assert!(!said.contains("did not arrive"), "{said}");
        let (readings, other) = (topic(&file, "Readings"), topic(&file, "Other"));
        assert_eq!((readings.1.len(), other.1.len()), (4, 4));
        assert!(readings.1.iter().all(|entry| entry.data == readings.1[0].data));

        // A filter of members that a type does not have ends the recording, and says which there are.
        let recording =
            start(&["record", "-o", &file, "--overwrite", "--filter", "Readings=fahrenheit > 90"]);
        let publishing = start(&[&["pub", "Readings", "{sensor: 7}"][..], &more].concat());
        let output = recording.end();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains("there is no field `fahrenheit`"), "{said}");
        assert!(said.contains("sensor, celsius"), "{said}");
        publishing.interrupt();
    });
}

#[test]
fn parts_of_a_recording_are_replayed_as_fast_as_asked_for() {
    alone(|| {
        let folder = Folder::new();
        let file = path(&folder, "a.mcap");
        record(&file);
        let echo = start(&["echo", "Readings", "--type", READING, "--count", "30", "--timeout", "60s"]);
        // Two rounds: a loop goes on until the reader has enough.
        let replay = start(&["replay", &file, "Read*", "--rate", "max", "--loop", "--delay", "2s"]);
        let echoed = echo.end();
        let output = replay.interrupt();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(echoed.stdout).unwrap();
        assert!(echoed.status.success(), "{text}{}", String::from_utf8_lossy(&echoed.stderr));
        assert!(
            text.contains(r#"{"sensor": 7, "celsius": 21.5}"#) && text.contains("# disposed: "),
            "{text}"
        );
        // From the middle on, and twice as fast.
        let said = done(&["replay", &file, "--start", "400ms", "--rate", "2", "--delay", "0s"]);
        let samples: u32 = said.split(' ').next().unwrap().parse().unwrap();
        assert!((1..40).contains(&samples), "{said}");
    });
}

#[test]
fn files_that_are_cut_or_none_and_disks_that_are_full() {
    alone(|| {
        let folder = Folder::new();
        let (whole, cut, text) =
            (path(&folder, "whole.mcap"), path(&folder, "cut.mcap"), path(&folder, "text"));
        record(&whole);
        let bytes = std::fs::read(&whole).unwrap();
        let (_, readings) = topic(&whole, "Readings");
        // Behind the last sample of the topic: its bytes are nowhere else, and the index is gone.
        let last = readings.last().unwrap().data.clone();
        let at = bytes.windows(last.len()).rposition(|window| window == last).unwrap() + last.len();
        std::fs::write(&cut, &bytes[..at]).unwrap();
        let output = punctual(&["replay", &cut, "--delay", "0s"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("the file is cut off after {at} bytes; the ")), "{said}");
        assert!(String::from_utf8(output.stdout).unwrap().contains(" samples of 2 topics replayed"));

        std::fs::write(&text, READING).unwrap();
        for (arguments, code, told) in [
            (&["replay", &text][..], 2, "this is no MCAP file"),
            (&["replay", "/nowhere.mcap"], 2, "/nowhere.mcap: No such file"),
            (&["replay", &whole, "Circle"], 2, "nothing in it is to be replayed; --list shows"),
            (&["record", "-o", &whole], 2, "there is such a file; give another name, or --overwrite"),
            (
                &["record", "-o", "/dev/full", "--overwrite"],
                3,
                "/dev/full: the disk is full. The recording ends here",
            ),
        ] {
            let output = punctual(arguments).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
            assert!(said.contains(told), "{arguments:?}: {said}");
        }
        assert_eq!(std::fs::read(&whole).unwrap(), bytes);
    });
}

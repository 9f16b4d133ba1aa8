//! QoS files on the command line: what is wrong is told with its place, and two processes match as their profiles say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};

use lab_turn::Folder;
use testkit::background::Background;
use testkit::namespace::alone;
use testkit::patience::patiently;

const PLANT: &str = r#"<dds>
  <qos_library name="Plant">
    <qos_profile name="Base" is_default_qos="true">
      <datawriter_qos>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
        <deadline><period><sec>5</sec></period></deadline>
      </datawriter_qos>
      <publisher_qos><partition><name><element>left</element></name></partition></publisher_qos>
      <subscriber_qos><partition><name><element>left</element></name></partition></subscriber_qos>
    </qos_profile>
    <qos_profile name="Strict" base_name="Base">
      <datareader_qos>
        <reliability><kind>RELIABLE_RELIABILITY_QOS</kind></reliability>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
      </datareader_qos>
      <datareader_qos topic_filter="Fast*">
        <deadline><period><sec>1</sec></period></deadline>
      </datareader_qos>
    </qos_profile>
  </qos_library>
</dds>
"#;

fn punctual(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Exit code, and what was printed and told.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = punctual(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Writes a file into the folder; its path as an argument.
fn file_in(folder: &Folder, name: &str, text: &str) -> String {
    folder.file(name, text).to_str().unwrap().to_owned()
}

#[test]
fn check_tells_all_that_is_wrong_with_its_line() {
    let folder = Folder::new();
    let good = file_in(&folder, "plant.xml", PLANT);
    assert_eq!(
        run(&["qos", "check", &good]),
        (Some(0), format!("{good}: 2 profiles, nothing is wrong\n"), String::new())
    );
    let wrong =
        file_in(&folder, "wrong.xml", &PLANT.replace("TRANSIENT_LOCAL_DURABILITY_QOS", "TRANSIENT_LOCAL"));
    let (code, printed, _) = run(&["qos", "check", &wrong]);
    assert_eq!(code, Some(1));
    let excerpt = format!(
        "{wrong}:5:21: \"TRANSIENT_LOCAL\" is none of the standard's words here\n  5 |         <durability><kind>TRANSIENT_LOCAL</kind></durability>\n    |                     ^\n  write TRANSIENT_LOCAL_DURABILITY_QOS;"
    );
    assert!(printed.starts_with(&excerpt), "{printed}");
    assert!(printed.contains(&format!("{wrong}:14:21: ")), "{printed}");
    // Whoever uses it gets the same, and nothing is opened.
    let (code, _, told) = run(&["echo", "Slow", "--qos-file", &wrong, "--qos-profile", "Plant::Base"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains(&excerpt), "{told}");
    let note = file_in(&folder, "note.xml", "<dds>\n<types/></dds>");
    let (code, printed, _) = run(&["qos", "check", &note]);
    assert_eq!(code, Some(0));
    assert!(printed.starts_with(&format!("note: {note}:2:1: <types> is not read")), "{printed}");
    let (code, _, told) = run(&["qos", "check", "/nowhere.xml"]);
    assert!(code == Some(2) && told.contains("/nowhere.xml: No such file"), "{told}");
}

#[test]
fn show_says_which_line_a_value_comes_from() {
    let folder = Folder::new();
    let file = file_in(&folder, "plant.xml", PLANT);
    let (code, printed, _) = run(&["qos", "show", &file, "Plant::Strict", "--changed"]);
    assert_eq!(code, Some(0));
    let expected = format!(
        "Plant::Strict
  Publisher  {file}:8
    partition.name  \"left\"  {file}:8  Plant::Base
  Subscriber  {file}:9
    partition.name  \"left\"  {file}:9  Plant::Base
  DataWriter  {file}:4
    durability.kind  TRANSIENT_LOCAL_DURABILITY_QOS  {file}:5  Plant::Base
    deadline.period  5 s                             {file}:6  Plant::Base
  DataReader  {file}:12
    durability.kind   TRANSIENT_LOCAL_DURABILITY_QOS  {file}:14  Plant::Strict
    reliability.kind  RELIABLE_RELIABILITY_QOS        {file}:13  Plant::Strict
  DataReader, topics \"Fast*\"  {file}:16
    deadline.period  1 s  {file}:17  Plant::Strict
"
    );
    assert_eq!(printed, expected);
    let (_, printed, _) = run(&["qos", "show", &file, "punctual::alarms", "--topic", "x", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let find = |set: usize, key: &str| {
        json[set]["values"].as_array().unwrap().iter().find(|value| value["key"] == key).unwrap().clone()
    };
    assert_eq!(json[0]["entity"], "DataWriter");
    assert_eq!(find(0, "transport_priority.value")["value"], "46");
    assert_eq!(find(0, "liveliness.lease_duration")["profile"], "punctual::alarms");
    assert!(find(1, "deadline.period")["profile"].is_null());
    let (code, _, told) = run(&["qos", "show", &file, "Plant::Strikt"]);
    assert!(code == Some(2) && told.contains("did you mean Plant::Strict?"), "{told}");
    let (code, printed, _) = run(&["qos", "built-in"]);
    assert!(code == Some(0) && printed.contains("<qos_library name=\"punctual\">"), "{printed}");
}

#[test]
fn a_profile_that_is_not_given_or_not_there_is_told() {
    let folder = Folder::new();
    let file = file_in(&folder, "plant.xml", &PLANT.replace(" is_default_qos=\"true\"", ""));
    let (code, _, told) = run(&["echo", "Slow", "--qos-file", &file]);
    let expected =
        "--qos-file: the file has no default profile; give --qos-profile, one of Plant::Base, Plant::Strict";
    assert!(code == Some(2) && told.contains(expected), "{told}");
    let (code, _, told) = run(&["pub", "Slow", "--qos-profile", "punctual::alarm"]);
    assert!(code == Some(2) && told.contains("did you mean punctual::alarms?"), "{told}");
}

/// A process that writes a sample with the default profile of the file, and stays.
fn writer(topic: &str, file: &str) -> Background {
    let arguments = [
        "pub",
        topic,
        "{sensor: 7, celsius: 21.5}",
        "--type",
        "Reading",
        "--wait-for",
        "0",
        "--stay",
        "--loopback",
        "--qos-file",
        file,
    ];
    Background::start(&mut punctual(&arguments))
}

#[test]
fn processes_with_profiles_that_fit_match_and_others_are_told_why_not() {
    let folder = Folder::new();
    let file = file_in(&folder, "plant.xml", PLANT);
    let reader = |topic: &'static str, profile: &'static str| {
        let file = file.clone();
        move || {
            run(&[
                "echo",
                topic,
                "--type",
                "Reading",
                "--count",
                "1",
                "--timeout",
                "60s",
                "--loopback",
                "--qos-file",
                &file,
                "--qos-profile",
                profile,
            ])
        }
    };
    alone(|| {
        // The reader comes later: it gets the sample because both are TRANSIENT_LOCAL and in the partition `left`.
        let slow = writer("Slow", &file);
        let (code, printed, told) = reader("Slow", "Plant::Strict")();
        assert_eq!((code, printed.trim()), (Some(0), r#"{"sensor": 7, "celsius": 21.5}"#), "{told}");
        slow.interrupt();
        // For this topic the reader asks for a sample each second, and the writer promises one each five.
        let _fast = writer("FastTopic", &file);
        let told = file_in(&folder, "told.txt", "");
        let arguments = [
            "echo",
            "FastTopic",
            "--type",
            "Reading",
            "--loopback",
            "--qos-file",
            &file,
            "--qos-profile",
            "Plant::Strict",
        ];
        let asking = Background::start(punctual(&arguments).stderr(std::fs::File::create(&told).unwrap()));
        let reason = "DEADLINE: offered 5 s, requested 1 s";
        patiently("the reason why they do not match", || {
            std::fs::read_to_string(&told).unwrap().contains(reason).then_some(())
        });
        asking.interrupt();
    });
}

#[test]
fn measurements_run_with_a_profile() {
    alone(|| {
        let common = ["--loopback", "--json", "--count", "100", "--qos-profile", "punctual::alarms"];
        let reading = Background::start(punctual(&["perf", "sub"]).args(common));
        let (code, written, told) = run(&[&["perf", "pub"][..], &common].concat());
        assert_eq!(code, Some(0), "{told}");
        let read = String::from_utf8(reading.end().stdout).unwrap();
        for (printed, counted) in [(written, "written"), (read, "taken")] {
            let sum: serde_json::Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
            assert_eq!(sum["qos"], "profile punctual::alarms", "{printed}");
            assert_eq!(sum[counted], 100, "{printed}");
        }
        // The reader asks for RELIABLE, and a profile with BEST_EFFORT is refused by it.
        let folder = Folder::new();
        let told = file_in(&folder, "told.txt", "");
        let _writing = Background::start(&mut punctual(&[
            "perf",
            "pub",
            "--loopback",
            "--qos-profile",
            "punctual::continuous",
        ]));
        let arguments = [
            "echo",
            "PunctualLoad",
            "--loopback",
            "--hex",
            "--type-name",
            "punctual::Load",
            "--qos-profile",
            "punctual::alarms",
        ];
        let asking = Background::start(punctual(&arguments).stderr(std::fs::File::create(&told).unwrap()));
        let reason = "RELIABILITY: offered BEST_EFFORT, requested RELIABLE";
        patiently("the reason why they do not match", || {
            std::fs::read_to_string(&told).unwrap().contains(reason).then_some(())
        });
        asking.interrupt();
    });
}

//! `pub`, `echo`, `ls` and `why` with a partner that is not there yet, is another one than expected, or says something wrong.
use std::io::Write as _;
use std::process::{Output, Stdio};

use crate::live::{Background, punctual, run, talker};
use crate::namespace::alone;

#[test]
fn a_writer_of_another_type_is_told_at_once() {
    alone(|| {
        let talker = talker(&[]);
        let other = "struct Other { @key uint32 sensor; string celsius; };";
        let echo =
            Background::start(&["echo", "Readings", "--type", other, "--count", "1", "--timeout", "5s"]);
        let (code, shown, told) = echo.end_with_errors();
        assert_eq!((code, shown.as_str()), (Some(1), ""), "{told}");
        let differs = "is another one: celsius: written as double, read as string: its samples are not shown";
        assert_eq!(told.matches(differs).count(), 1, "it is told once: {told}");
        // What is advised helps.
        let advised = ["echo", "Readings", "--durability", "volatile"];
        let echo = Background::start(&[&advised[..], &["--count", "1", "--timeout", "60s"]].concat());
        let again = run(&["pub", "Readings", "sensor: 2", "--type", "Reading", "--timeout", "60s"]);
        assert_eq!(again, (Some(0), String::new()));
        assert_eq!(echo.end().0, Some(0));
        assert_eq!(talker.interrupt().0, Some(0));
    });
}

#[test]
fn a_reader_of_another_type_is_told_to_the_writer() {
    alone(|| {
        let echo = Background::start(&["echo", "Readings", "--type", "Reading"]);
        let other = "struct Other { long x; };";
        let (code, said) = run(&["pub", "Readings", "x: 1", "--type", other, "--timeout", "8s"]);
        assert_eq!(code, Some(1));
        let differs = "is another one: sensor: written as int32, read as uint32: nothing is written to it";
        assert!(said.contains(differs), "{said}");
        assert_eq!(echo.interrupt().0, Some(0));
    });
}

#[test]
fn echo_waits_for_a_writer_whose_type_it_needs() {
    alone(|| {
        let echo = Background::start(&["echo", "Readings", "--count", "1", "--timeout", "60s"]);
        std::thread::sleep(std::time::Duration::from_secs(3));
        let written = run(&["pub", "Readings", "sensor: 7", "--type", "Reading", "--timeout", "60s"]);
        assert_eq!(written, (Some(0), String::new()));
        let (code, shown, told) = echo.end_with_errors();
        assert_eq!((code, shown.as_str()), (Some(0), "{\"sensor\": 7, \"celsius\": 0.0}\n"), "{told}");
        assert!(told.starts_with("no writer of \"Readings\" is there yet: waiting for one"), "{told}");
        let (code, said) = run(&["echo", "Nothing", "--timeout", "500ms"]);
        assert_eq!((code, said.as_str()), (Some(1), "no writer of \"Nothing\" came in 500 ms\n"));
    });
}

#[test]
fn pub_takes_over_the_type_that_readers_tell() {
    alone(|| {
        let other = "struct Other { @key uint32 wheel; sequence<string> words; };";
        let echo =
            Background::start(&["echo", "Wheels", "--type", other, "--count", "1", "--timeout", "60s"]);
        let written = run(&["pub", "Wheels", "{wheel: 3, words: [a, b]}", "--timeout", "60s"]);
        assert_eq!(written, (Some(0), String::new()));
        let (code, shown) = echo.end();
        assert_eq!((code, shown.as_str()), (Some(0), "{\"wheel\": 3, \"words\": [\"a\", \"b\"]}\n"));
        let (code, said) = run(&["pub", "Nothing", "x: 1", "--timeout", "500ms"]);
        assert_eq!(code, Some(2));
        assert!(
            said.contains("pub: which type? No participant tells that of \"Nothing\". Give --type"),
            "{said}"
        );
    });
}

#[test]
fn a_wrong_line_of_standard_input_has_its_number_and_others_are_written() {
    alone(|| {
        let echo =
            Background::start(&["echo", "Readings", "--type", "Reading", "--count", "2", "--timeout", "60s"]);
        let mut publish = punctual(&["pub", "Readings", "--type", "Reading", "--timeout", "60s"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        publish.stdin.take().unwrap().write_all(b"sensor: 1\nsensor: warm\nsensor: 3\n").unwrap();
        let Output { status, stderr, .. } = publish.wait_with_output().unwrap();
        let told = String::from_utf8(stderr).unwrap();
        assert!(
            told.contains("standard input, line 2, column 13: member sensor: expected a number"),
            "{told}"
        );
        assert_eq!(status.code(), Some(1));
        let (code, shown) = echo.end();
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("\"sensor\": 1,") && shown.contains("\"sensor\": 3,"), "{shown}");
    });
}

#[test]
fn samples_that_reach_no_reader_are_told() {
    alone(|| {
        let (code, said) = run(&["pub", "Readings", "sensor: 1", "--type", "Reading", "--wait-for", "0"]);
        assert_eq!(code, Some(0));
        assert!(said.contains("no reader of \"Readings\" was there"), "{said}");
    });
}

#[test]
fn a_watch_that_was_cut_short_says_how_long_it_was() {
    alone(|| {
        for verb in ["ls", "why"] {
            let watch = Background::start(&[verb, "--duration", "50s"]);
            std::thread::sleep(std::time::Duration::from_secs(2));
            let (_, said) = watch.interrupt();
            assert!(!said.contains("50 s") && said.contains(" s"), "{verb}: {said}");
        }
        let pong = run(&["pong", "--duration", "100ms"]).1;
        assert!(pong.starts_with("0 answered") && !pong.contains("for each"), "{pong}");
    });
}

#[test]
fn a_peer_has_a_name() {
    alone(|| {
        let talker = talker(&["--no-multicast"]);
        let (code, listed) = run(&["ls", "--duration", "4s", "--no-multicast", "--peer", "localhost"]);
        assert_eq!(code, Some(0), "{listed}");
        assert!(listed.contains("topic \"Readings\""), "{listed}");
        assert_eq!(talker.interrupt().0, Some(0));
    });
    let (code, said) = run(&["ls", "--peer", "no-such-host.invalid"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--peer no-such-host.invalid: "), "{said}");
    assert!(said.contains("give an address or the name of a host"), "{said}");
}

#[test]
fn samples_that_are_not_of_the_described_type_are_a_finding() {
    alone(|| {
        let talker = Background::start(&[
            "pub",
            "Poses",
            "x: 1",
            "--type",
            "@final struct Pose { long x; };",
            "--representation",
            "xcdr2",
            "--rate",
            "20",
            "--wait-for",
            "0",
        ]);
        let listener = Background::start(&["echo", "Poses", "--hex"]);
        let (code, said) = run(&["why", "Poses", "--type", "struct Pose { long x; };", "--duration", "5s"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("cannot be read as the type that was described"), "{said}");
        assert!(said.contains("put @final before the struct"), "{said}");
        let (code, said) =
            run(&["why", "Poses", "--type", "@final struct Pose { long x; };", "--duration", "5s"]);
        assert_eq!(code, Some(0), "{said}");
        drop((talker, listener));
    });
}

//! `ping`, `pong` and `perf` as processes over loopback, each test in a network namespace of its own. What they measure is not
//! judged here, only that it was counted right.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use testkit::background::Background;
use testkit::namespace::{alone, bare};

fn punctual(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// A command in the background.
fn start(arguments: &str) -> Background {
    Background::start(punctual(arguments).stdout(Stdio::piped()))
}

/// The sum that a command has printed with --json, last.
fn sum(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}: {text}{errors}", output.status);
    let sum: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(sum["kind"], "sum", "{text}");
    sum
}

#[test]
fn every_ping_is_answered_and_counted_once() {
    alone(|| {
        for arrival in ["waitset", "listener"] {
            let pong = start(&format!("pong --json --arrival {arrival}"));
            let common = format!("ping --json --timeout 60s --lost-after 30s --arrival {arrival}");
            let max = sum(&punctual(&format!("{common} --rate max --count 300")).output().unwrap());
            assert_eq!((&max["sent"], &max["answered"], &max["lost"]), (&300.into(), &300.into(), &0.into()));
            assert_eq!(
                (&max["round_trip_us"]["count"], &max["since_due_us"]["count"]),
                (&300.into(), &0.into())
            );
            assert_eq!(
                (&max["one_way"]["there_us"]["count"], &max["one_way"]["clock_error_us"]),
                (&300.into(), &0.0.into())
            );
            let paced = format!("{common} --rate 500 --count 100 --size 20k --best-effort");
            let paced = sum(&punctual(&paced).output().unwrap());
            assert_eq!((&paced["answered"], &paced["since_due_us"]["count"]), (&100.into(), &100.into()));
            assert_eq!(sum(&pong.interrupt())["answered"], 400);
        }
    });
}

#[test]
fn nobody_to_answer_is_bad_news_and_an_interrupt_is_not() {
    alone(|| {
        let output = punctual("ping --timeout 200ms").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            text,
            "no participant answers in domain 0: start `punctual pong` there, or see `punctual why`\n"
        );
        let pong = start("pong");
        let ping = start("ping --rate 1000");
        // A line each second shows that it is at work.
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        let text = String::from_utf8(ping.interrupt().stdout).unwrap();
        assert!(text.contains("answered, 0 lost") && text.contains("round trip"), "{text}");
        assert_eq!(pong.interrupt().status.code(), Some(0));
    });
}

#[test]
fn a_load_arrives_whole_with_and_without_instances() {
    alone(|| {
        for (sub, publish) in [
            ("", "--size 100"),
            ("--keyed", "--keys 10 --batch 500us"),
            ("--arrival listener", "--rate 5k --size 3000"),
            ("--keyed --keep-last 1000", "--keys 3 --keep-last 1000"),
        ] {
            let reader = start(&format!("perf sub --json --count 1000 {sub}"));
            let written =
                sum(&punctual(&format!("perf pub --json --count 1000 {publish}")).output().unwrap());
            let taken = sum(&reader.end());
            assert_eq!(
                (&written["written"], &written["acknowledged"]),
                (&1000.into(), &true.into()),
                "{publish}"
            );
            let counts =
                ["taken", "lost", "out_of_order", "writers"].map(|name| taken[name].as_u64().unwrap());
            assert_eq!(counts, [1000, 0, 0, 1], "{publish}");
            assert_eq!((&taken["latency_us"]["count"], &taken["other_clock"]), (&1000.into(), &0.into()));
        }
    });
}

#[test]
fn the_quick_start_shows_samples_and_latencies() {
    bare(|| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/quick-start");
        let command = env!("CARGO_BIN_EXE_punctual");
        let output = Command::new(script).arg("inside").env("PUNCTUAL_COMMAND", command).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let count = |wanted: &str| text.lines().filter(|line| line.contains(wanted)).count();
        for (wanted, lines) in [
            // Words that a shell would take apart are quoted.
            ("pub Readings --type 'struct Reading { @key uint32 sensor; double celsius; };' '{", 1),
            (r#"reader| {"sensor": 1, "celsius": 21.5}"#, 2),
            (r#"reader| {"sensor": 2, "celsius": 19.0}"#, 2),
            ("reader| 4000 samples from 1 writers", 1),
            ("reader| latency ", 1),
            ("writer| 4000 written", 1),
            ("ping| round trip ", 1),
            ("quick-start: done", 1),
        ] {
            assert_eq!(count(wanted), lines, "{wanted}: {text}");
        }
    });
}

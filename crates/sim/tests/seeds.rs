//! The tier's number of seeds of every scenario: no rule is broken, and in a large run everything required is reached.
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]
use std::process::Command;

use sim::report;
use sim::runner::{self, Options};
use sim::scenario::ALL;

fn run(name: &str, number: &str) {
    let scenario = sim::scenario::by_name(name).unwrap();
    let seeds = tiers::current().seeds(number);
    let summary = runner::run(scenario, seeds, Options { jobs: 2, keep_going: false }, &|_, _| {});
    println!("{}", report::table(scenario, &summary));
    assert!(summary.is_good(scenario), "{}", report::table(scenario, &summary));
}

#[test]
fn pair() {
    run("pair", "sim.seeds");
}

#[test]
fn dds() {
    run("dds", "sim.dds_seeds");
}

#[test]
fn links() {
    run("links", "sim.links_seeds");
}

#[test]
fn every_scenario_has_its_test() {
    let tested = ["pair", "dds", "links"];
    let names: Vec<_> = ALL.iter().map(|scenario| scenario.name()).collect();
    assert_eq!(names, tested);
}

#[test]
fn the_command_line_runs_replays_and_lists() {
    let sim = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_sim")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = sim(&["run", "--scenario", "pair", "--seeds", "3", "--start", "5"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("samples delivered"), "{text}");
    let (code, text) = sim(&["replay", "--scenario", "pair", "--seed", "5", "--trace"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("HEARTBEAT") && text.contains("no rule was broken"), "{text}");
    let (code, text) = sim(&["list"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("no-loss"), "{text}");
    assert_eq!(sim(&["run", "--scenario", "nonesuch"]).0, Some(2));
    assert_eq!(sim(&["replay", "--scenario", "nonesuch", "--seed", "1"]).0, Some(2));
}

//! Networks of an independent review, whose simulator once found frames above bounds and promises, or whose planning took seconds.
//!
//! Its figures are facts: what was found then may happen still, so a flow has a larger bound by now, or is refused.
use std::path::Path;

use plan::{ADMITTED, Arguments, REFUSED};
use serde_json::Value;

use crate::command::{arguments, flow, json};

/// Plans the network, certified and simulated: evidence holds, and nothing is above a bound.
fn planned(name: &str, seeds: u64) -> Value {
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/refuted").join(name);
    let (code, report) = json(&Arguments { certify: true, simulate: Some(seeds), ..arguments(&network) });
    assert!(code == ADMITTED || code == REFUSED, "{report}");
    assert_eq!(report["simulation"]["violations"], 0, "{}", report["simulation"]);
    assert_eq!(
        report["certificates"]["wrong"].as_array().map(Vec::len),
        Some(0),
        "{}",
        report["certificates"]
    );
    report
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn bound(report: &Value, name: &str) -> u64 {
    number(&flow(report, name)["subscribers"][0]["bound_ps"])
}

/// 1,386.728 us were claimed, and 1,425.128 found.
#[test]
fn largest_frame() {
    assert!(bound(&planned("largest-frame.toml", 6), "victim") >= 1_425_128_000);
}

/// 1,577.600 us were promised, and 1,616.000 found.
#[test]
fn largest_frame_promise() {
    let report = planned("largest-frame-promise.toml", 6);
    let victim = flow(&report, "victim");
    assert_eq!(victim["admitted"], false, "{victim}");
}

/// 25.540 us were claimed for the last port of the sixth flow, and 28.000 found.
#[test]
fn largest_frame_line() {
    let report = planned("largest-frame-line.toml", 1);
    let hop = &flow(&report, "f5")["hops"][3];
    assert!(number(&hop["bound_ps"]) >= 28_000_000, "{hop}");
}

/// 33,471.032 us were claimed, and 34,961.560 found.
#[test]
fn shorter_tags() {
    assert!(bound(&planned("shorter-tags.toml", 6), "victim") >= 34_961_560_000);
}

/// 33,471.032 us were promised, and 34,962.264 found.
#[test]
fn shorter_tags_promise() {
    let report = planned("shorter-tags-promise.toml", 6);
    let victim = flow(&report, "victim");
    assert_eq!(victim["admitted"], false, "{victim}");
}

/// 19,777 bytes were claimed to be the most that a port holds, and 20,940 found.
#[test]
fn control_in_buffer() {
    let report = planned("control-in-buffer.toml", 6);
    let port = report["ports"].as_array().unwrap().iter().find(|port| port["port"] == "s to d").unwrap();
    assert!(number(&port["backlog_octets"]) >= 20_940, "{port}");
}

/// 3,595.9 us were claimed, and 3,730.5 found with frames that overtake each other.
#[test]
fn overtaking() {
    assert!(bound(&planned("overtaking.toml", 6), "x") >= 3_730_500_000);
}

/// 24 flows at one port: 613 million steps for one of them.
#[test]
fn one_port_of_24_flows() {
    let report = planned("oneport-1029.toml", 0);
    assert!(number(&report["steps"]) < 200_000_000, "{}", report["steps"]);
    assert_eq!(report["certificates"]["hold"], report["admitted"]);
}

/// 14 flows at one port, which they load nearly in full: two thousand million steps, nearly a thousand million for one of them.
#[test]
fn one_port_of_14_flows() {
    let report = planned("oneport-1040.toml", 1);
    assert!(number(&report["steps"]) < 200_000_000, "{}", report["steps"]);
    let certificates = &report["certificates"];
    let beyond = certificates["too_large"].as_array().unwrap().len() as u64;
    assert_eq!(number(&certificates["hold"]) + beyond, number(&report["admitted"]), "{certificates}");
}

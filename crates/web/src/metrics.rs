//! The metrics of Prometheus, in its text format.
use std::fmt::Write as _;

use crate::record::{Record, Standing};

/// The type of the answer.
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the interface counts of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub(crate) connections: usize,
    pub(crate) listeners: usize,
    pub(crate) questions: u64,
    pub(crate) denied: u64,
}

/// A family: its name, type and help, and its samples with their labels.
struct Family<'t> {
    text: &'t mut String,
    name: &'static str,
}

impl Family<'_> {
    fn sample(&mut self, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.text.push_str(self.name);
        for (index, (name, value)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{name}=\"{}\"", if index == 0 { '{' } else { ',' }, escaped(value));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

fn family<'t>(text: &'t mut String, name: &'static str, kind: &str, help: &str) -> Family<'t> {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    Family { text, name }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds as seconds.
fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

/// Everything.
pub(crate) fn metrics(record: &mut Record, own: Own) -> String {
    let mut text = String::new();
    let alarms = record.alarms().len();
    let manages = u8::from(record.standing == Standing::Manages);
    family(
        &mut text,
        "punctual_manages",
        "gauge",
        "1 if this manager manages, 0 if it stands by or has not begun",
    )
    .sample(&[], manages);
    let mut events = family(&mut text, "punctual_events_total", "counter", "What has happened, by kind");
    for (what, count) in &record.counts {
        events.sample(&[("what", what)], count);
    }
    let mut frames = family(
        &mut text,
        "punctual_frames_total",
        "counter",
        "Frames of flows that were dropped or are missing, by place",
    );
    for place in record.places() {
        frames.sample(&[("place", &place.place), ("topic", &place.topic), ("how", place.how)], place.frames);
    }
    for (name, kind, help, value) in [
        ("punctual_web_connections", "gauge", "Connections to this interface", own.connections as u64),
        ("punctual_web_listeners", "gauge", "Listeners to its events", own.listeners as u64),
        (
            "punctual_web_questions_total",
            "counter",
            "Requests that were tried without being made",
            own.questions,
        ),
        (
            "punctual_web_denied_total",
            "counter",
            "Requests by other names or origins, or without the token",
            own.denied,
        ),
    ] {
        family(&mut text, name, kind, help).sample(&[], value);
    }
    let Some(snapshot) = &record.snapshot else { return text };
    let report = &snapshot.report;
    for (name, help, value) in [
        ("punctual_requests", "Requests that are known", report.requests),
        ("punctual_admitted", "Requests that are admitted", report.admitted),
        ("punctual_operations", "Changes of the network under way", report.operations),
        ("punctual_alarms", "What is wrong now", alarms),
        ("punctual_other_managers", "Other managers in the domain", report.managers.len()),
    ] {
        family(&mut text, name, "gauge", help).sample(&[], value);
    }
    family(&mut text, "punctual_started_seconds", "gauge", "When the manager started, in seconds since 1970")
        .sample(&[], seconds(snapshot.started.saturating_mul(1_000_000)));
    let mut ready =
        family(&mut text, "punctual_switch_ready", "gauge", "1 if the switch has what it is to have");
    for switch in &report.switches {
        ready.sample(&[("switch", &switch.name)], u8::from(switch.state == "ready"));
    }
    let mut gates = family(
        &mut text,
        "punctual_gates_ready",
        "gauge",
        "1 if the gates of the switch have what they are to have",
    );
    for switch in &report.switches {
        if let Some(there) = switch.gates {
            gates.sample(&[("switch", &switch.name)], u8::from(there));
        }
    }
    let mut load = family(
        &mut text,
        "punctual_link_load_ratio",
        "gauge",
        "The part of a link's time that admitted flows may take",
    );
    for link in &snapshot.links {
        let ratio = format!("{}.{:06}", link.load / 1_000_000, link.load % 1_000_000);
        load.sample(&[("from", &link.from), ("to", &link.to)], ratio);
    }
    let mut up = family(&mut text, "punctual_link_up", "gauge", "0 if a port of the link is down");
    for link in &snapshot.links {
        up.sample(&[("from", &link.from), ("to", &link.to)], u8::from(link.up));
    }
    let mut undecided = family(
        &mut text,
        "punctual_link_undecided",
        "gauge",
        "1 if the manager's LLDP has not come over the cable for 30 rounds, so that it is not known where it is plugged in",
    );
    for link in &snapshot.links {
        undecided.sample(&[("from", &link.from), ("to", &link.to)], u8::from(link.cable == "undecided"));
    }
    type Value = fn(&control::report::PairReport) -> Option<String>;
    let families: [(&'static str, &str, &str, Value); 8] = [
        ("punctual_flow_admitted", "gauge", "1 if the flow is admitted", |pair| {
            Some(u8::from(pair.state == "admitted").to_string())
        }),
        ("punctual_flow_promised_seconds", "gauge", "The latency that is promised", |pair| {
            (pair.state == "admitted").then(|| seconds(pair.promised))
        }),
        (
            "punctual_flow_worst_case_seconds",
            "gauge",
            "The worst case with the flows that there are now",
            |pair| (pair.state == "admitted").then(|| seconds(pair.present)),
        ),
        (
            "punctual_flow_measured_median_seconds",
            "gauge",
            "Median latency of the last second, as the reader says",
            |pair| pair.measured.map(|measured| seconds(measured.median)),
        ),
        (
            "punctual_flow_measured_worst_seconds",
            "gauge",
            "Latency of the worst sample, as the reader says",
            |pair| pair.measured.map(|measured| seconds(measured.worst)),
        ),
        ("punctual_flow_samples_total", "counter", "Samples that the reader has received", |pair| {
            pair.measured.map(|measured| measured.samples.to_string())
        }),
        ("punctual_flow_late_total", "counter", "Samples that were later than promised", |pair| {
            pair.measured.map(|measured| measured.late.to_string())
        }),
        ("punctual_flow_lost_total", "counter", "Samples that the reader has lost", |pair| {
            pair.measured.map(|measured| measured.lost.to_string())
        }),
    ];
    for (name, kind, help, value) in families {
        let mut flows = family(&mut text, name, kind, help);
        for pair in &report.pairs {
            let Some(value) = value(pair) else { continue };
            let labels = [
                ("topic", pair.topic.as_str()),
                ("from", &pair.from),
                ("to", &pair.to),
                ("writer", &pair.writer),
                ("reader", &pair.reader),
            ];
            flows.sample(&labels, value);
        }
    }
    text
}

//! `punctual grm status`: what a manager has promised, to whom, and what was measured.
use clap::Args;
use control::report::ReservedStatus;
use dds::qos::{Durability, Reliability};
use dds::{Condition, DataReader, Duration, NO_STATUS, QosKind, States, WaitSet};
use serde_json::Value;
use wire::admission::{REPORT_TOPIC, REPORT_TYPE, Report};

use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{print, progress};
use crate::span;
use crate::stop::Stop;

/// Command line of `punctual grm status`.
#[derive(Args, Clone, Debug)]
pub(super) struct Arguments {
    /// How long it waits for a manager.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = span::parse)]
    time: Duration,
    /// Prints the report as JSON; times are in nanoseconds.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    domain: DomainOptions,
}

/// Waits for the report of a manager, and prints it.
pub(super) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual grm status")?;
    let topic =
        participant.create_topic::<Report>(REPORT_TOPIC, REPORT_TYPE, QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.durability = Durability::TransientLocal;
    let reader = subscriber.create_datareader::<Report>(&topic, QosKind::Specific(qos), None, NO_STATUS)?;
    progress("looking for a manager");
    let report = wait(&reader, arguments.time, stop)?;
    progress("");
    let Some(report) = report else {
        eprintln!(
            "no manager in domain {} has told anything in {}: is `punctual grm` running, and on this network?",
            participant.get_domain_id(),
            arguments.time
        );
        return Ok(Outcome::BadNews);
    };
    if arguments.json {
        print(format_args!("{}", report.json));
        return Ok(Outcome::Done);
    }
    let view: Value = serde_json::from_str(&report.json)
        .map_err(|error| Failure::System(format!("the manager's report cannot be read: {error}")))?;
    text(&view).iter().for_each(|line| print(format_args!("{line}")));
    Ok(Outcome::Done)
}

fn wait(reader: &DataReader<Report>, time: Duration, stop: &Stop) -> Result<Option<Report>, Failure> {
    let waits = WaitSet::new();
    waits.attach_condition(Condition::from(reader.create_readcondition(States::NOT_READ)))?;
    waits.attach_condition(stop.condition())?;
    // Nobody within the time is an answer, too.
    let _ = waits.wait(time);
    Ok(reader.take_next_sample()?.and_then(|sample| sample.data))
}

/// The report for people.
fn text(view: &Value) -> Vec<String> {
    let pairs = list(view, "pairs");
    let admitted = pairs.iter().filter(|pair| words(pair, "state") == "admitted").count();
    let mut lines =
        vec![format!("epoch {}: {} requests, {admitted} admitted", number(view, "epoch"), pairs.len())];
    if !pairs.is_empty() {
        lines.push(String::new());
        lines.push("Flows (times in microseconds)".to_owned());
    }
    pairs.iter().for_each(|pair| flow(pair, &mut lines));
    lines.push(String::new());
    lines.push("Switches".to_owned());
    for switch in list(view, "switches") {
        let gates = match switch.get("gates").and_then(Value::as_bool) {
            Some(true) => format!(", {} contracts in its gates", number(switch, "contracts")),
            Some(false) => ", its gates cannot be reached".to_owned(),
            None => format!(", {} meters", number(switch, "meters")),
        };
        let groups = match number(switch, "groups") {
            0 => String::new(),
            groups => format!(", {groups} of them copied by groups"),
        };
        lines.push(format!(
            "  {} ({:#x}): {}, {} entries for flows{groups}, {} for everything else, {} addresses learned{gates}",
            words(switch, "name"),
            number(switch, "datapath"),
            words(switch, "state"),
            number(switch, "flows"),
            number(switch, "entries"),
            number(switch, "addresses"),
        ));
    }
    for refused in list(view, "refused_switches") {
        let (id, why) = (refused.get(0).and_then(Value::as_u64), refused.get(1).and_then(Value::as_str));
        lines.push(format!("  {:#x} is refused: {}", id.unwrap_or_default(), why.unwrap_or_default()));
    }
    lines.push(String::new());
    let reserved =
        view.get("reserved").and_then(|class| serde_json::from_value::<ReservedStatus>(class.clone()).ok());
    lines.push(reserved.map_or_else(|| "Discovery: unknown".to_owned(), |class| class.to_string()));
    lines.push(String::new());
    lines.push("Hosts".to_owned());
    for host in list(view, "hosts") {
        let addresses: Vec<&str> = list(host, "addresses").iter().filter_map(Value::as_str).collect();
        let addresses = if addresses.is_empty() { "not seen yet".to_owned() } else { addresses.join(", ") };
        lines.push(format!("  {} at {}: {addresses}", words(host, "name"), words(host, "switch")));
    }
    let managers = list(view, "managers");
    if !managers.is_empty() {
        lines.push(String::new());
        lines.push("Other managers".to_owned());
    }
    for other in managers {
        let (who, name, place) = (words(other, "participant"), words(other, "name"), words(other, "address"));
        let what = match words(other, "role") {
            "unknown" => {
                "does not show that it knows the file of this network; stop it if it is none of yours"
            }
            role => role,
        };
        lines.push(format!("  participant {who} \"{name}\" at {place}: {what}"));
    }
    lines
}

fn flow(pair: &Value, lines: &mut Vec<String>) {
    let state = words(pair, "state");
    let ends = format!("{} to {}", words(pair, "source"), words(pair, "destination"));
    let topic = words(pair, "topic");
    if state != "admitted" {
        lines.push(format!(
            "  {} {topic}: {ends}, asked for {}",
            state.to_uppercase(),
            micros(pair, "maximum_latency")
        ));
        lines.push(format!("    {}", words(pair, "reason")));
        for (key, what) in [("offered_latency", "a limit"), ("offered_separation", "a separation")] {
            if number(pair, key) > 0 {
                lines.push(format!("    would be admitted with {what} of {}", micros(pair, key)));
            }
        }
        return;
    }
    lines.push(format!(
        "  admitted {topic}: {ends}, promised {}, worst case now {}, asked for {}",
        micros(pair, "promised"),
        micros(pair, "present"),
        micros(pair, "maximum_latency")
    ));
    if words(pair, "destination") != words(pair, "reader_at") {
        let others = number(pair, "readers").saturating_sub(1);
        let with = match others {
            0 => "nobody else now".to_owned(),
            1 => "1 other reader".to_owned(),
            others => format!("{others} other readers"),
        };
        lines.push(format!(
            "    sent once and copied by switches: to {}, with {with}",
            words(pair, "reader_at")
        ));
    }
    if let Some(measured) = pair.get("measured").filter(|measured| !measured.is_null()) {
        lines.push(format!(
            "    measured: {} samples, {} late, {} lost, worst {}, median {} (clocks within {})",
            number(measured, "samples"),
            number(measured, "late"),
            number(measured, "lost"),
            micros(measured, "worst"),
            micros(measured, "median"),
            micros(measured, "clock_error")
        ));
    }
    for hop in list(pair, "hops") {
        lines.push(format!(
            "    - {}: level {}, DSCP {}, {} promised",
            words(hop, "port"),
            number(hop, "level"),
            number(hop, "dscp"),
            micros(hop, "share")
        ));
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn words<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or("?")
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn micros(value: &Value, key: &str) -> String {
    let nanoseconds = number(value, key);
    format!("{}.{:03}", nanoseconds / 1_000, nanoseconds % 1_000)
}

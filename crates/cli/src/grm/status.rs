//! `punctual grm status`: what a manager has promised, to whom, and what was measured.
use std::time::Instant;

use clap::Args;
use control::report::ReservedStatus;
use dds::qos::{Durability, Reliability};
use dds::{Condition, DataReader, Duration, NO_STATUS, QosKind, States, WaitSet};
use serde_json::Value;
use wire::admission::{MOST_REPORT, REPORT_TOPIC, REPORT_TYPE, Report};

use crate::domain::DomainOptions;
use crate::exit::{Failure, Outcome};
use crate::output::{print, progress};
use crate::span;
use crate::stop::Stop;
use crate::utc;

/// Command line of `punctual grm status`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm status                         what is promised, to whom, and what was measured\n  \
    punctual grm status --interface eth0        in the network of this interface\n  \
    punctual grm status --json | jq '.pairs[] | select(.state != \"admitted\")'    for programs\n\n\
    Exit code: 0 it is shown; 1 no manager has answered. See docs/grm.md.")]
pub(super) struct Arguments {
    /// How long it waits for a manager.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = span::parse)]
    timeout: Duration,
    /// Prints the report as JSON; times are in nanoseconds.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    domain: DomainOptions,
}

/// Waits for a report that was written after the call, and prints it.
pub(super) fn run(arguments: &Arguments, stop: &Stop) -> Result<Outcome, Failure> {
    let participant = arguments.domain.join("punctual grm status")?;
    let topic =
        participant.create_topic::<Report>(REPORT_TOPIC, REPORT_TYPE, QosKind::Default, None, NO_STATUS)?;
    let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
    let mut qos = subscriber.get_default_datareader_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    // What was written before this reader was known is the past.
    qos.endpoint.durability = Durability::Volatile;
    qos.byte_limit = 3 * MOST_REPORT;
    let began = Instant::now();
    let reader = subscriber.create_datareader::<Report>(&topic, QosKind::Specific(qos), None, NO_STATUS)?;
    progress("looking for a manager");
    let report = wait(&reader, arguments.timeout, stop)?;
    progress("");
    let Some(report) = report else {
        eprintln!(
            "no manager in domain {} has told anything in {}: is `punctual grm` running, and on this network?",
            participant.get_domain_id(),
            arguments.timeout
        );
        return Ok(Outcome::BadNews);
    };
    let mut view: Value = serde_json::from_str(&report.json)
        .map_err(|error| Failure::System(format!("the manager's report cannot be read: {error}")))?;
    // Clocks of other hosts say nothing of that: the manager has written it since it has known this reader.
    let age = began.elapsed();
    if arguments.json {
        if let Some(view) = view.as_object_mut() {
            view.insert("age_at_most".to_owned(), u64::try_from(age.as_nanos()).unwrap_or(u64::MAX).into());
        }
        print(format_args!("{view}"));
        return Ok(Outcome::Done);
    }
    text(&view, age).iter().for_each(|line| print(format_args!("{line}")));
    Ok(Outcome::Done)
}

fn wait(reader: &DataReader<Report>, time: Duration, stop: &Stop) -> Result<Option<Report>, Failure> {
    let waits = WaitSet::new();
    waits.attach_condition(Condition::from(reader.create_readcondition(States::NOT_READ)))?;
    waits.attach_condition(stop.condition())?;
    // No manager within the time is an answer, too.
    let _ = waits.wait(time);
    Ok(reader.take_next_sample()?.and_then(|sample| sample.data))
}

/// The report for people.
fn text(view: &Value, age: std::time::Duration) -> Vec<String> {
    let pairs = list(view, "pairs");
    let time = |key| utc::show(i64::try_from(number(view, key)).unwrap_or(i64::MAX));
    let mut lines = vec![
        format!(
            "{} by the manager's clock, at most {:.1} s ago; it runs since {}",
            time("time"),
            age.as_secs_f64(),
            time("started")
        ),
        format!(
            "the manager of epoch {} leads; its store: {}",
            number(view, "epoch"),
            words(view, "store").escape_debug()
        ),
        format!("{} requests, {} admitted", number(view, "requests"), number(view, "admitted")),
        words(view, "access").to_owned(),
    ];
    let file = words(view, "network_file");
    if !matches!(file, "" | "?") {
        lines.push(format!("Network file: {file}"));
    }
    if !pairs.is_empty() {
        lines.push(String::new());
        lines.push("Flows".to_owned());
    }
    pairs.iter().for_each(|pair| flow(pair, &mut lines));
    if let Some(more @ 1..) = number(view, "requests").checked_sub(pairs.len() as u64) {
        lines.push(format!("  and {more} more, less important or not admitted"));
    }
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
        let drained = match switch.get("drained").and_then(Value::as_bool) {
            Some(true) => ", drained",
            _ => "",
        };
        lines.push(format!(
            "  {} ({:#x}): {}{drained}, {} entries for flows{groups}, {} for everything else, {} addresses learned{gates}",
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
    plugged(view, &mut lines);
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
            "stands by" if other.get("shares_store") == Some(&Value::Bool(true)) => {
                "stands by, and shares the store"
            }
            role => role,
        };
        lines.push(format!("  participant {who} \"{name}\" at {place}: {what}"));
    }
    lines
}

/// What is wrong with cables, and what is plugged in by its own word.
fn plugged(view: &Value, lines: &mut Vec<String>) {
    let (cabling, plugged) = (list(view, "cabling"), list(view, "plugged"));
    if !cabling.is_empty() {
        lines.extend([String::new(), "Wrong cabling".to_owned()]);
    }
    lines.extend(cabling.iter().map(|alarm| format!("  {}", words(alarm, "what"))));
    if !plugged.is_empty() {
        lines.extend([String::new(), "Plugged in, by its own word (LLDP)".to_owned()]);
    }
    for found in plugged {
        let planned = match words(found, "planned") {
            "" => "nothing in the network file".to_owned(),
            planned => format!("{planned} in the network file"),
        };
        let name = match words(found, "system_name") {
            "" => String::new(),
            name => format!("{name:?}, "),
        };
        lines.push(format!(
            "  at port {} of {} ({planned}): {name}chassis {}, port {}",
            number(found, "port"),
            words(found, "switch"),
            words(found, "chassis"),
            words(found, "port_id")
        ));
    }
}

fn flow(pair: &Value, lines: &mut Vec<String>) {
    let state = words(pair, "state");
    let ends = ends(pair);
    let topic = words(pair, "topic");
    if state != "admitted" {
        lines.push(format!(
            "  {} {topic}: {ends}, asked for {}",
            state.to_uppercase(),
            time(pair, "maximum_latency")
        ));
        if !words(pair, "reason").is_empty() {
            lines.push(format!("    {}", words(pair, "reason")));
        }
        for (key, what) in [("offered_latency", "a limit"), ("offered_separation", "a separation")] {
            if number(pair, key) > 0 {
                lines.push(format!("    would be admitted with {what} of {}", time(pair, key)));
            }
        }
        return;
    }
    lines.push(format!(
        "  admitted {topic}: {ends}, promised {}, worst case now {}, asked for {}",
        time(pair, "promised"),
        time(pair, "present"),
        time(pair, "maximum_latency")
    ));
    if let Some(losses) = pair.get("losses").filter(|losses| !losses.is_null()) {
        lines.push(format!(
            "    with {} frames lost within {}; without losses {}; heartbeat {}, patience {}, again {}, repairs and questions {} apart",
            number(losses, "frames"),
            time(losses, "within"),
            time(losses, "without"),
            time(losses, "heartbeat"),
            time(losses, "patience"),
            time(losses, "again"),
            time(losses, "spacing")
        ));
    }
    if words(pair, "destination") != words(pair, "reader_at") {
        let others = number(pair, "readers").saturating_sub(1);
        let with = match others {
            0 => "no other reader now".to_owned(),
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
            "    measured: {} samples, {} late, {} lost, worst {}, median {} ({})",
            number(measured, "samples"),
            number(measured, "late"),
            number(measured, "lost"),
            time(measured, "worst"),
            time(measured, "median"),
            clocks(measured)
        ));
    }
    for hop in list(pair, "hops") {
        lines.push(format!(
            "    - {}: level {}, DSCP {}, {} promised",
            words(hop, "port"),
            number(hop, "level"),
            number(hop, "dscp"),
            time(hop, "share")
        ));
    }
}

/// Where a flow goes from and to: hosts by their names, with the addresses and ports.
fn ends(pair: &Value) -> String {
    let end = |host: &str, socket: &str| match words(pair, host) {
        host if words(pair, socket).starts_with(host) => words(pair, socket).to_owned(),
        host => format!("{host} ({})", words(pair, socket)),
    };
    format!("{} to {}", end("from", "source"), end("to", "destination"))
}

fn clocks(measured: &Value) -> String {
    match measured.get("clock_error").and_then(Value::as_u64) {
        Some(0) => "one clock".to_owned(),
        Some(_) => format!("clocks within {}", time(measured, "clock_error")),
        None => "how far the clocks differ is not known".to_owned(),
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

fn time(value: &Value, key: &str) -> Duration {
    Duration::from_nanos(i64::try_from(number(value, key)).unwrap_or(i64::MAX))
}

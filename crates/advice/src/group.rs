//! Topics by class: a QoS profile for each class, in the XML of the OMG, and a flow file for the network.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::advise::Advice;
use crate::rules::Class;
use crate::topics::Topic;

/// A policy as an element, for the writer, the reader or both.
struct Element {
    of_writer: bool,
    of_reader: bool,
    text: String,
}

/// A policy, and what stands in its element: its value is a word or a time in nanoseconds.
fn element(policy: &str, value: &str) -> Option<Element> {
    let kind = |name: &str| format!("<{policy}><kind>{value}_{name}_QOS</kind></{policy}>");
    let time = |inner: &str| {
        let nanoseconds: u64 = value.parse().ok()?;
        let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        Some(format!("<{inner}><sec>{seconds}</sec><nanosec>{rest}</nanosec></{inner}>"))
    };
    let within = |inner: &str| Some(format!("<{policy}>{}</{policy}>", time(inner)?));
    let (of_writer, of_reader, text) = match policy {
        "reliability" => (true, true, kind("RELIABILITY")),
        "durability" => (true, true, kind("DURABILITY")),
        "history" => (true, true, kind("HISTORY")),
        "ownership" => (true, true, kind("OWNERSHIP")),
        "deadline" => (true, true, within("period")?),
        "latency_budget" => (false, true, within("duration")?),
        "lifespan" => (true, false, within("duration")?),
        "time_based_filter" => (false, true, within("minimum_separation")?),
        "liveliness" => {
            let lease = time("lease_duration")?;
            (true, true, format!("<liveliness><kind>AUTOMATIC_LIVELINESS_QOS</kind>{lease}</liveliness>"))
        }
        _ => return None,
    };
    Some(Element { of_writer, of_reader, text })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Topics of a class with what is advised for them.
fn of(advised: &[(Topic, Advice)], class: Class) -> impl Iterator<Item = &(Topic, Advice)> {
    advised.iter().filter(move |(_, advice)| advice.class == Some(class))
}

/// Policies by name, as [`Advice`] has them: a word or a time in nanoseconds, and why.
type Policies = BTreeMap<String, (String, String)>;

/// The QoS file of these topics: a profile for each class, which inherits from the one that is built in, with policies by topic.
pub fn profile_file(library: &str, advised: &[(Topic, Advice)]) -> String {
    let profiles = Class::ALL.into_iter().filter_map(|class| {
        let topics: Vec<(&str, &Policies)> =
            of(advised, class).map(|(topic, advice)| (topic.name.as_str(), &advice.policies)).collect();
        let base = format!("punctual::{}", class.name());
        (!topics.is_empty()).then(|| profile(class.name(), Some(&base), None, &topics))
    });
    file(library, profiles)
}

/// A QoS file with one profile that has these policies of topics, and USER_DATA of participants if some is given, and nothing else.
pub fn policy_file(
    library: &str,
    name: &str,
    user_data: Option<&str>,
    topics: &[(&str, &Policies)],
) -> String {
    file(library, [profile(name, None, user_data, topics)])
}

fn file(library: &str, profiles: impl IntoIterator<Item = String>) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<dds xmlns=\"http://www.omg.org/spec/DDS-XML\">");
    let _ = writeln!(out, "  <qos_library name=\"{}\">", escaped(library));
    out.extend(profiles);
    out.push_str("  </qos_library>\n</dds>\n");
    out
}

fn profile(name: &str, base: Option<&str>, user_data: Option<&str>, topics: &[(&str, &Policies)]) -> String {
    let mut out = String::new();
    let base = base.map(|base| format!(" base_name=\"{base}\"")).unwrap_or_default();
    let _ = writeln!(out, "    <qos_profile name=\"{}\"{base}>", escaped(name));
    if let Some(text) = user_data {
        let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
        let _ = writeln!(out, "      <!-- {} -->", escaped(text));
        let _ = writeln!(out, "      <domain_participant_qos>");
        let _ = writeln!(out, "        <user_data><value>{}</value></user_data>", bytes.join(", "));
        let _ = writeln!(out, "      </domain_participant_qos>");
    }
    for (topic, policies) in topics {
        let elements: Vec<Element> =
            policies.iter().filter_map(|(policy, (value, _))| element(policy, value)).collect();
        for is_writer in [true, false] {
            let tag = if is_writer { "datawriter_qos" } else { "datareader_qos" };
            let topic = escaped(topic);
            let _ = writeln!(out, "      <{tag} topic_filter=\"{topic}\">");
            for element in &elements {
                if if is_writer { element.of_writer } else { element.of_reader } {
                    let _ = writeln!(out, "        {}", element.text);
                }
            }
            let _ = writeln!(out, "      </{tag}>");
        }
    }
    out.push_str("    </qos_profile>\n");
    out
}

/// Who yields: a class of more importance takes the place of one of less.
const fn importance(class: Class) -> u8 {
    match class {
        Class::Continuous => 50,
        Class::State => 100,
        Class::Alarms => 200,
    }
}

/// A time in nanoseconds, as people write it.
fn time(nanoseconds: u64) -> String {
    diagnostics::written(nanoseconds.saturating_mul(1_000))
}

/// Names as a list of TOML. They have no quotes and backslashes.
fn names(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", quoted.join(", "))
}

/// The flow file of these topics, by class, the most important first.
pub fn flow_file(advised: &[(Topic, Advice)]) -> String {
    let mut out = String::new();
    for class in Class::ALL.into_iter().rev() {
        for (topic, _) in of(advised, class) {
            let _ = writeln!(out, "[[topic]]  # {}, DSCP {}", class.name(), class.dscp());
            let _ = writeln!(out, "name = \"{}\"", topic.name);
            if !topic.from.is_empty() {
                let _ = writeln!(out, "from = {}", names(&topic.from));
            }
            if !topic.to.is_empty() {
                let _ = writeln!(out, "to = {}", names(&topic.to));
            }
            let _ = writeln!(out, "size = {}", topic.size);
            let _ = writeln!(out, "separation = \"{}\"", time(topic.separation));
            if topic.burst > 1 {
                let _ = writeln!(out, "burst = {}", topic.burst);
            }
            if let Some(latency) = topic.latency {
                let _ = writeln!(out, "latency = \"{}\"", time(latency));
            }
            let _ = writeln!(out, "importance = {}\n", importance(class));
        }
    }
    out
}

//! What a plan promises, read from its report, and the network that it is about.
use std::collections::BTreeMap;

use serde_json::Value;

use crate::drawn::Drawn;
use crate::guards::{GateRule, MeterRule, Rule};
use crate::messages::largest_on_wire;
use crate::run::{CONTROL, Hop, Network, Node, Port, Stream};

/// Picoseconds that an byte takes at one bit per second.
const OCTET_SECOND: u64 = 8_000_000_000_000;
/// Bytes of a frame that can be interrupted which keep the link, by `docs/plan.md`.
const NOT_INTERRUPTED: u64 = 143;

/// What is promised of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The flow of the file.
    pub(crate) flow: usize,
    /// For each hop the delay of every frame there, the less of what is promised and what is computed.
    pub(crate) delays: Vec<u64>,
    /// For each hop that ends at a subscriber its bound, which is no larger than the limit.
    pub(crate) bounds: Vec<Option<u64>>,
}

/// A planned network.
pub(crate) struct Planned {
    pub(crate) network: Network,
    /// Of the first streams; behind them is control.
    pub(crate) claims: Vec<Claim>,
    /// For each port, the most bytes in all its queues, and the room that there is, for each queue if it says so.
    pub(crate) backlogs: Vec<Option<(u64, Option<u64>, bool)>>,
}

/// Nodes and ports as the documents mean them.
fn ports(drawn: &Drawn) -> (Vec<Node>, Vec<Port>) {
    let count = drawn.hosts.len() + drawn.switches.len();
    let node = |node| match drawn.model_of(node) {
        None => Node::Host,
        Some(model) => Node::Switch { least: model.least, most: model.most, keeps_order: model.keeps_order },
    };
    let mut ports = Vec::new();
    for cable in &drawn.cables {
        let models = || cable.ends.iter().filter_map(|end| drawn.model_of(*end));
        let tag = models().map(|model| model.overhead).max().unwrap_or(0);
        let mtu = models().map(|model| model.mtu).min().unwrap_or(1_500);
        for [from, to] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
            let frame = largest_on_wire(mtu, tag + Drawn::vlan_tag(drawn.has_vlans()));
            let below = match drawn.model_of(from) {
                None if drawn.hosts[from].best_effort => frame,
                Some(model) if drawn.best_effort && model.preemption => frame.min(NOT_INTERRUPTED),
                Some(_) if drawn.best_effort => frame,
                _ => 0,
            };
            let (byte, propagation) = (OCTET_SECOND / cable.rate, cable.propagation);
            ports.push(Port { from, to, byte, propagation, below, largest: frame, tag });
        }
    }
    ((0..count).map(node).collect(), ports)
}

pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The ports by their names.
pub(crate) fn names(drawn: &Drawn, ports: &[Port]) -> BTreeMap<String, usize> {
    let name = |port: &Port| format!("{} to {}", drawn.node_name(port.from), drawn.node_name(port.to));
    ports.iter().map(name).zip(0..).collect()
}

/// Reads a report.
pub(crate) fn planned(drawn: &Drawn, report: &Value) -> Planned {
    let (nodes, ports) = ports(drawn);
    let names = names(drawn, &ports);
    let (mut streams, mut claims, mut rules) = (Vec::new(), Vec::new(), Vec::new());
    let mut guards: BTreeMap<String, Option<usize>> = BTreeMap::new();
    let reports: BTreeMap<&str, &Value> = report["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| (flow["name"].as_str().unwrap(), flow))
        .collect();
    for (flow, asked) in drawn.flows.iter().enumerate() {
        let name = drawn.flow_name(flow);
        let report = reports[&*name];
        if report["admitted"] != true {
            continue;
        }
        let (hops, delays) = way(report, &names, &ports);
        let bound = |hop: &Hop| {
            // What is promised to a flow in a bundle is its own.
            let member = report["members"].as_array().map_or(report, |members| {
                members.iter().find(|member| member["name"] == format!("f{flow}")).unwrap()
            });
            let subscribers = member["subscribers"].as_array().unwrap();
            let to = drawn.node_name(ports[hop.port].to);
            let here = subscribers.iter().find(|subscriber| subscriber["host"] == *to)?;
            let (bound, limit) = (number(here, "bound_ps"), number(here, "limit_ps"));
            assert!(bound <= limit, "{here}");
            // Of a flow with losses what holds for a frame that is not lost.
            Some(here["first_transmission_ps"].as_u64().unwrap_or(bound))
        };
        let bounds: Vec<Option<u64>> = hops.iter().map(bound).collect();
        assert_eq!(bounds.iter().flatten().count(), asked.subscribers.len());
        let guard = *guards.entry(name).or_insert_with(|| {
            let rule = rule(&report["enforcement"])?;
            rules.push(rule);
            Some(rules.len() - 1)
        });
        streams.push(Stream { hops, guard, tag: Drawn::vlan_tag(asked.vlan) });
        claims.push(Claim { flow, delays, bounds });
    }
    let mut backlogs = vec![None; ports.len()];
    for port in report["ports"].as_array().unwrap() {
        let at = names[port["port"].as_str().unwrap()];
        let backlog = port["backlog_octets"].as_u64().unwrap_or(u64::MAX);
        backlogs[at] = Some((backlog, port["buffer_octets"].as_u64(), port["buffer_per_queue"] == true));
    }
    if drawn.control.is_some() {
        let used = (0..ports.len()).filter(|port| {
            let flows = streams.iter().flat_map(|stream| &stream.hops).any(|hop| hop.port == *port);
            flows && drawn.model_of(ports[*port].from).is_some()
        });
        let at = |port| Stream { hops: vec![Hop { port, level: CONTROL, after: None }], guard: None, tag: 0 };
        let control: Vec<Stream> = used.map(at).collect();
        streams.extend(control);
    }
    Planned { network: Network { nodes, ports, streams, rules }, claims, backlogs }
}

/// The hops of an admitted flow, and the delays that are promised there.
pub(crate) fn way(report: &Value, names: &BTreeMap<String, usize>, ports: &[Port]) -> (Vec<Hop>, Vec<u64>) {
    let mut hops: Vec<Hop> = Vec::new();
    let mut delays = Vec::new();
    for hop in report["hops"].as_array().unwrap() {
        let port = names[hop["port"].as_str().unwrap()];
        let after = hops.iter().position(|before| ports[before.port].to == ports[port].from);
        assert_eq!(after.is_none(), hops.is_empty(), "a tree begins at its publisher: {report}");
        let level = usize::try_from(number(hop, "level")).unwrap();
        hops.push(Hop { port, level, after });
        let bound = hop["bound_ps"].as_u64().unwrap_or(u64::MAX);
        delays.push(number(hop, "share_ps").min(bound));
    }
    (hops, delays)
}

pub(crate) fn rule(enforcement: &Value) -> Option<Rule> {
    match enforcement["kind"].as_str().unwrap() {
        "trusted" => None,
        "gate" => Some(Rule::Gate(GateRule {
            bytes: number(enforcement, "octets"),
            separation: number(enforcement, "separation_ps"),
            tolerance: number(enforcement, "tolerance_ps"),
            window: number(enforcement, "window_ps"),
        })),
        "meter" => Some(Rule::Meter(MeterRule {
            burst: number(enforcement, "burst_bits"),
            rate: number(enforcement, "rate"),
            counts_wire: enforcement["counts"] == "wire",
        })),
        other => panic!("{other}"),
    }
}

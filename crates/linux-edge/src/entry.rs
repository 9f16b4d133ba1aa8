//! What a back-end puts into routers for what it holds, and takes away again: each entry is a few rules that belong together.
use std::net::{IpAddr, Ipv6Addr};

use serde_json::{Value, json};
use wan::Class;

use crate::copy::{Copy, destination};
use crate::demotion::{Bucket, EXCESS, KeyBytes, of_segment, of_tuple};
use crate::domain::{Family, TUNNEL};
use crate::policing::{Contract, policed_rate};
use crate::program::{Program, Step, field, matches, meta, object, rule, set};

/// Routing tables of tunnels are numbered from here.
const TABLES: u32 = 0x0001_0000;
/// The preference of the rules that choose them.
const PREFERENCE: u32 = 1_000;
/// Who has put a rule there, for the kernel and for `ip`: by this number rules of a manager are told from those of others.
pub(crate) const PROTOCOL: u8 = 137;
/// The bit of a mark that says that the packet has left its tunnel here. Codes of classes are below it.
pub(crate) const FROM_TUNNEL: u32 = 0x80;
/// What of a mark says which tunnel a packet goes into: one that is beyond its contract goes into the same.
const KEPT: u32 = !EXCESS;
/// The most packets that wait for a policer.
const MOST_WAITING: u64 = 1_000;

/// Packets of one flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tuple {
    /// Where they come from.
    pub source: IpAddr,
    /// Where they go to.
    pub destination: IpAddr,
    /// The protocol of IP.
    pub protocol: u8,
    /// The port they come from; 0 is any, for senders whose port the system chooses.
    pub source_port: u16,
    /// The port they go to.
    pub destination_port: u16,
}

impl Tuple {
    /// Whether a packet may be of both.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let any = |tuple: &Self| Self { source_port: 0, ..*tuple };
        let has_any = self.source_port == 0 || other.source_port == 0;
        self == other || (has_any && any(self) == any(other))
    }
}

/// The segments of a label, for IPv4 and IPv6 inside.
pub type Segments = [(Family, Ipv6Addr); 2];

/// What belongs together at a router.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Entry {
    /// That an aggregate is held, at the first router.
    Held {
        /// Its number.
        slot: u16,
        /// Its record.
        text: String,
    },
    /// A flow is let in at an edge.
    Flow {
        /// Where.
        router: usize,
        /// The interface toward its hosts.
        interface: String,
        /// Its number.
        slot: u16,
        /// Its record.
        text: String,
        /// The mark of its aggregate.
        mark: u32,
        /// What it may send.
        contract: Contract,
        /// Its packets.
        tuples: Vec<Tuple>,
        /// Its packets are sent into a second tunnel, too. What lets the flow in and what duplicates it is told in one transaction: no
        /// packet meets one of both alone, and a manager that is killed leaves no record of a copy that is not sent.
        copy: Option<Copy>,
        /// Its class, if what is beyond the contract is marked down. That goes into the first tunnel alone.
        demoted: Option<Class>,
    },
    /// What has a mark is put into a tunnel.
    Tunnel {
        /// Where.
        router: usize,
        /// The number of the aggregate.
        slot: u16,
        /// Its mark.
        mark: u32,
        /// An interface by which it leaves.
        interface: String,
        /// Where the tunnel goes.
        segments: Segments,
    },
    /// Packets with a label are let in at a border.
    Label {
        /// Where.
        router: usize,
        /// The interface toward the neighbour.
        interface: String,
        /// The number of the aggregate.
        slot: u16,
        /// Its mark.
        mark: u32,
        /// What it may send.
        contract: Contract,
        /// What the packets are sent to.
        segments: Segments,
        /// What they are sent to from here on; none if the tunnel ends here.
        next: Option<Segments>,
        /// Their class, if what is beyond the contract is marked down.
        demoted: Option<Class>,
    },
}

/// The device in which policers of an interface are.
pub fn policer(interface: &str) -> String {
    format!("ifb-{interface}")
}

/// The version of IP of a tuple, if both addresses have the same.
pub fn family(tuple: &Tuple) -> Option<Family> {
    match (tuple.source, tuple.destination) {
        (IpAddr::V4(_), IpAddr::V4(_)) => Some(Family::V4),
        (IpAddr::V6(_), IpAddr::V6(_)) => Some(Family::V6),
        _ => None,
    }
}

fn labels(segments: &Segments) -> impl Iterator<Item = KeyBytes> {
    segments.iter().map(|(_, segment)| of_segment(*segment))
}

/// The name of the chain of a flow.
pub(crate) fn flow_chain(slot: u16) -> String {
    format!("flow-{slot:x}")
}

fn label_chain(slot: u16, family: Family) -> String {
    format!("label-{slot:x}-{}", if family == Family::V4 { 4 } else { 6 })
}

/// The map that a tuple is looked up in.
fn flows(tuple: &Tuple) -> &'static str {
    match (family(tuple), tuple.source_port) {
        (Some(Family::V4), 0) => "from-any4",
        (Some(Family::V4), _) => "flows4",
        (_, 0) => "from-any6",
        _ => "flows6",
    }
}

/// Packets that wait for a policer at most.
pub(crate) fn waiting(contract: &Contract) -> u64 {
    (contract.bucket / u64::from(contract.least.max(1)) + 1).clamp(2, MOST_WAITING)
}

/// What is within contracts and what is beyond is told apart before policers, where the latter is marked down.
fn colours(
    router: usize,
    interface: &str,
    keys: impl Iterator<Item = KeyBytes>,
    contract: &Contract,
    demoted: Option<Class>,
) -> Vec<Program> {
    let Some(class) = demoted else { return Vec::new() };
    let bytes = Bucket::of(contract).bytes(class);
    keys.map(|key| Program::colour(router, interface, key, Some(bytes))).collect()
}

fn no_colours(
    router: usize,
    interface: &str,
    keys: impl Iterator<Item = KeyBytes>,
    demoted: Option<Class>,
) -> Vec<Program> {
    let keys = keys.filter(|_| demoted.is_some());
    keys.map(|key| Program::colour(router, interface, key, None)).collect()
}

/// Gives a packet the mark of its aggregate; that it is beyond the contract is kept, where that is marked.
fn marking(mark: u32, demoted: Option<Class>) -> Value {
    let value = match demoted {
        Some(_) => json!({ "|": [meta("mark"), mark] }),
        None => json!(mark),
    };
    set(meta("mark"), value)
}

/// What `tc` says of a class that holds to a contract, and of the queue in it.
///
/// HTB sends while its bucket is not in debt: so a bucket that is smaller by the smallest packet lets a flow pass that keeps to its contract.
fn policing(router: usize, device: &str, class: u16, contract: &Contract) -> [Program; 2] {
    let least = contract.least.max(1);
    let rate = policed_rate(contract.rate);
    let burst = contract.bucket.saturating_sub(least.into()).max(1);
    let waiting = waiting(contract);
    let lines = [
        format!(
            "class replace dev {device} parent 1: classid 1:{class:x} htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} \
             quantum 1600 mpu {least}"
        ),
        format!("qdisc replace dev {device} parent 1:{class:x} pfifo limit {waiting}"),
    ];
    lines.map(|line| Program::tc(router, line))
}

/// What is done to packets of a flow.
fn flow_rules(
    slot: u16,
    text: &str,
    (mark, demoted): (u32, Option<Class>),
    contract: &Contract,
    copy: Option<&Copy>,
) -> Vec<Value> {
    let chain = flow_chain(slot);
    let mut rules = vec![
        rule(&chain, vec![too_large(contract.largest.into()), json!({ "drop": null })], None),
        rule(&chain, vec![json!({ "counter": null }), marking(mark, demoted)], Some(text)),
    ];
    rules.extend(copy.map(|copy| rule(&chain, vec![json!({ "counter": null })], Some(&copy.text))));
    rules
}

/// What is done to packets with a label.
fn label_rules(
    chain: &str,
    (mark, demoted): (u32, Option<Class>),
    contract: &Contract,
    next: Option<Ipv6Addr>,
) -> [Value; 2] {
    let mut told = vec![json!({ "counter": null }), marking(mark, demoted)];
    told.extend(next.map(|next| set(field("ip6", "daddr"), json!(next.to_string()))));
    let largest = u64::from(contract.largest) + TUNNEL;
    [rule(chain, vec![too_large(largest), json!({ "drop": null })], None), rule(chain, told, None)]
}

fn held(slot: u16, text: &str) -> Value {
    let element = json!({ "elem": { "val": u32::from(slot), "comment": text } });
    object("add", "element", json!({ "name": "held", "elem": [element] }))
}

fn not_held(slot: u16) -> Value {
    object("delete", "element", json!({ "name": "held", "elem": [u32::from(slot)] }))
}

/// Whether a program does nothing but take away that an aggregate is held.
pub(crate) fn ends_record(program: &Program) -> bool {
    let is_of_record = |command: &Value| {
        command.pointer("/delete/element/name").and_then(Value::as_str).is_some_and(|name| name == "held")
    };
    matches!(&program.step, Step::Nft(commands) if commands.iter().all(is_of_record))
}

fn emptied(chain: &str) -> Value {
    object("flush", "chain", json!({ "name": chain }))
}

/// The routes of a tunnel.
fn tunnel_routes(router: usize, slot: u16, interface: &str, segments: &Segments) -> Vec<Program> {
    let table = TABLES + u32::from(slot);
    let lines = |(family, segment): &(Family, Ipv6Addr)| {
        // One for what has its mark, and one for doubles.
        [format!("default table {table}"), format!("{} protocol {PROTOCOL}", destination(*family, slot))].map(
            |to| {
                let line =
                    format!("route replace {to} encap seg6 mode encap.red segs {segment} dev {interface}");
                Program::ip_of(*family, router, line)
            },
        )
    };
    segments.iter().flat_map(lines).collect()
}

impl Entry {
    /// Which entry it is: there is one at most with the same.
    pub(crate) fn key(&self) -> (u8, usize, &str, u16) {
        match self {
            Self::Held { slot, .. } => (0, 0, "", *slot),
            Self::Tunnel { router, slot, .. } => (1, *router, "", *slot),
            Self::Label { router, interface, slot, .. } => (2, *router, interface, *slot),
            Self::Flow { router, interface, slot, .. } => (3, *router, interface, *slot),
        }
    }

    /// What puts it there.
    pub fn add(&self) -> Vec<Program> {
        match self {
            Self::Held { slot, text } => vec![Program::nft(0, vec![held(*slot, text)])],
            Self::Flow { router, interface, slot, text, mark, contract, tuples, copy, demoted } => {
                let device = policer(interface);
                let mut programs: Vec<Program> = policing(*router, &device, *slot, contract).into();
                programs
                    .extend(tuples.iter().map(|tuple| Program::tc(*router, filter(&device, *slot, tuple))));
                programs.extend(colours(*router, interface, tuples.iter().map(of_tuple), contract, *demoted));
                let chain = flow_chain(*slot);
                let mut commands = vec![object("add", "chain", json!({ "name": chain }))];
                commands.extend(flow_rules(*slot, text, (*mark, *demoted), contract, copy.as_ref()));
                commands.extend(tuples.iter().map(|tuple| element("add", tuple, &chain)));
                commands.extend(copy.iter().flat_map(Copy::add));
                programs.push(Program::nft(*router, commands));
                programs
            }
            Self::Tunnel { router, slot, mark, interface, segments } => {
                let table = TABLES + u32::from(*slot);
                let line = |(family, _): &(Family, Ipv6Addr)| {
                    let line = format!(
                        "rule add fwmark {mark:#x}/{KEPT:#x} lookup {table} pref {PREFERENCE} protocol {PROTOCOL}"
                    );
                    Program::ip_of(*family, *router, line)
                };
                let rules = segments.iter().map(line);
                tunnel_routes(*router, *slot, interface, segments).into_iter().chain(rules).collect()
            }
            Self::Label { router, interface, slot, mark, contract, segments, next, demoted } => {
                let device = policer(interface);
                let mut programs: Vec<Program> = policing(*router, &device, *slot, contract).into();
                programs.extend(colours(*router, interface, labels(segments), contract, *demoted));
                let mut commands = Vec::new();
                for (at, (family, segment)) in segments.iter().enumerate() {
                    programs.push(Program::tc(
                        *router,
                        format!(
                            "filter add dev {device} parent 1: protocol ipv6 prio {slot} u32 match ip6 dst {segment}/128 flowid 1:{slot:x}"
                        ),
                    ));
                    let next = next.and_then(|next| next.get(at).map(|(_, next)| *next));
                    if next.is_none() {
                        let action = match family {
                            Family::V4 => "End.DX4 nh4 0.0.0.0",
                            Family::V6 => "End.DT6 table 254",
                        };
                        let line = format!(
                            "route replace {segment}/128 encap seg6local action {action} dev {interface}"
                        );
                        programs.push(Program::ip_of(Family::V6, *router, line));
                    }
                    let chain = label_chain(*slot, *family);
                    commands.push(object("add", "chain", json!({ "name": chain })));
                    commands.extend(label_rules(&chain, (*mark, *demoted), contract, next));
                    commands.push(label_element("add", segment, &chain));
                }
                programs.push(Program::nft(*router, commands));
                programs
            }
        }
    }

    /// Whether steps of its change into another one with the same key need the order in which they are told.
    pub(crate) fn is_ordered(&self, to: &Self) -> bool {
        let demoted = |entry: &Self| matches!(entry, Self::Flow { demoted: Some(_), .. });
        !demoted(self) && demoted(to)
    }

    /// What makes another one with the same key of it, without a packet that meets neither; `None` if that is not possible.
    pub(crate) fn change(&self, to: &Self) -> Option<Vec<Program>> {
        match (self, to) {
            (Self::Held { slot, .. }, Self::Held { text, .. }) => {
                Some(vec![Program::nft(0, vec![not_held(*slot), held(*slot, text)])])
            }
            (Self::Tunnel { mark: before, .. }, Self::Tunnel { router, slot, mark, interface, segments })
                if before == mark =>
            {
                Some(tunnel_routes(*router, *slot, interface, segments))
            }
            (
                Self::Label { segments: before, next: before_next, demoted: before_demoted, .. },
                Self::Label { router, interface, slot, mark, contract, segments, next, demoted },
            ) if before == segments
                && before_next.is_some() == next.is_some()
                && before_demoted == demoted =>
            {
                let mut commands = Vec::new();
                for (at, (family, _)) in segments.iter().enumerate() {
                    let chain = label_chain(*slot, *family);
                    commands.push(emptied(&chain));
                    let next = next.and_then(|next| next.get(at).map(|(_, next)| *next));
                    commands.extend(label_rules(&chain, (*mark, *demoted), contract, next));
                }
                let mut programs: Vec<Program> =
                    policing(*router, &policer(interface), *slot, contract).into();
                programs.extend(colours(*router, interface, labels(segments), contract, *demoted));
                programs.push(Program::nft(*router, commands));
                Some(programs)
            }
            (
                Self::Flow { tuples: before, copy: copied, demoted: was_demoted, .. },
                Self::Flow { router, interface, slot, text, mark, contract, tuples, copy, demoted },
            ) if before == tuples => {
                let mut commands = vec![emptied(&flow_chain(*slot))];
                commands.extend(flow_rules(*slot, text, (*mark, *demoted), contract, copy.as_ref()));
                commands.extend(match (copied, copy) {
                    (Some(_), Some(to)) => to.change(),
                    (None, Some(to)) => to.add(),
                    (Some(copied), None) => copied.remove(),
                    (None, None) => Vec::new(),
                });
                let keys = || tuples.iter().map(of_tuple);
                let colours = colours(*router, interface, keys(), contract, *demoted);
                let mut programs: Vec<Program> =
                    policing(*router, &policer(interface), *slot, contract).into();
                // What is beyond the contract meets rules that keep its mark, as long as it is told apart.
                if was_demoted.is_none() {
                    programs.push(Program::nft(*router, commands));
                    programs.extend(colours);
                } else {
                    let gone = was_demoted.filter(|_| demoted.is_none());
                    programs.extend(colours);
                    programs.extend(no_colours(*router, interface, keys(), gone));
                    programs.push(Program::nft(*router, commands));
                }
                Some(programs)
            }
            _ => None,
        }
    }

    /// What takes it away.
    pub fn remove(&self) -> Vec<Program> {
        match self {
            Self::Held { slot, .. } => vec![Program::nft(0, vec![not_held(*slot)])],
            Self::Flow { router, interface, slot, tuples, copy, demoted, .. } => {
                let chain = flow_chain(*slot);
                let mut commands: Vec<Value> =
                    tuples.iter().map(|tuple| element("delete", tuple, &chain)).collect();
                commands.extend(chain_removal(&chain));
                commands.extend(copy.iter().flat_map(Copy::remove));
                let device = policer(interface);
                let mut programs = vec![Program::nft(*router, commands)];
                programs.extend(no_colours(*router, interface, tuples.iter().map(of_tuple), *demoted));
                programs.extend(unpolicing(*router, &device, *slot));
                programs
            }
            Self::Tunnel { router, slot, mark, segments, .. } => {
                let table = TABLES + u32::from(*slot);
                let line = |(family, _): &(Family, Ipv6Addr)| {
                    [
                        format!(
                            "rule del fwmark {mark:#x}/{KEPT:#x} lookup {table} pref {PREFERENCE} protocol {PROTOCOL}"
                        ),
                        format!("route flush table {table}"),
                        format!("route del {}", destination(*family, *slot)),
                    ]
                    .map(|line| Program::ip_of(*family, *router, line))
                };
                segments.iter().flat_map(line).collect()
            }
            Self::Label { router, interface, slot, segments, next, demoted, .. } => {
                let (mut commands, mut programs) = (Vec::new(), Vec::new());
                for (family, segment) in segments {
                    let chain = label_chain(*slot, *family);
                    commands.push(label_element("delete", segment, &chain));
                    commands.extend(chain_removal(&chain));
                    if next.is_none() {
                        programs.push(Program::ip_of(
                            Family::V6,
                            *router,
                            format!("route del {segment}/128"),
                        ));
                    }
                }
                programs.insert(0, Program::nft(*router, commands));
                programs.extend(no_colours(*router, interface, labels(segments), *demoted));
                programs.extend(unpolicing(*router, &policer(interface), *slot));
                programs
            }
        }
    }
}

fn unpolicing(router: usize, device: &str, slot: u16) -> [Program; 2] {
    let lines = [
        format!("filter del dev {device} parent 1: prio {slot}"),
        format!("class del dev {device} classid 1:{slot:x}"),
    ];
    lines.map(|line| Program::tc(router, line))
}

fn chain_removal(chain: &str) -> [Value; 2] {
    [emptied(chain), object("delete", "chain", json!({ "name": chain }))]
}

fn too_large(largest: u64) -> Value {
    matches(">", meta("length"), json!(largest))
}

fn element(verb: &str, tuple: &Tuple, chain: &str) -> Value {
    let mut key =
        vec![json!(tuple.source.to_string()), json!(tuple.destination.to_string()), json!(tuple.protocol)];
    key.extend((tuple.source_port != 0).then(|| json!(tuple.source_port)));
    key.push(json!(tuple.destination_port));
    let key = json!({ "concat": key });
    let verdict = json!({ "goto": { "target": chain } });
    object(verb, "element", json!({ "name": flows(tuple), "elem": [[key, verdict]] }))
}

fn label_element(verb: &str, segment: &Ipv6Addr, chain: &str) -> Value {
    let verdict = json!({ "goto": { "target": chain } });
    object(verb, "element", json!({ "name": "labels", "elem": [[segment.to_string(), verdict]] }))
}

/// Headers without options, which the rules of the edge make sure of.
fn filter(device: &str, slot: u16, tuple: &Tuple) -> String {
    let (protocol, word, least) =
        if family(tuple) == Some(Family::V4) { ("ip", "ip", 32) } else { ("ipv6", "ip6", 128) };
    let Tuple { source, destination, protocol: inside, source_port, destination_port } = tuple;
    let from =
        if *source_port == 0 { String::new() } else { format!("match {word} sport {source_port} 0xffff ") };
    format!(
        "filter add dev {device} parent 1: protocol {protocol} prio {slot} u32 match {word} src {source}/{least} match {word} dst \
         {destination}/{least} match {word} protocol {inside} 0xff {from}match {word} dport {destination_port} 0xffff \
         flowid 1:{slot:x}"
    )
}

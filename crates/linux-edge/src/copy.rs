//! The second copy of a flow: where it is let in, each packet that has its mark already is duplicated, and the double goes into the other tunnel.
//!
//! The kernel duplicates in tables of one version of IP alone, and sends a double where the route of an address goes: each tunnel has such an address in each
//! version, which no host has. So a flow goes into another tunnel, or into none, by one transaction of nftables.
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use crate::domain::Family;
use crate::entry::{PROTOCOL, Tuple, family};
use crate::program::{Program, field, matches, meta, object_of, set};

/// Addresses that no host has (RFC 1112, class E) are those of tunnels for doubles of IPv4.
const V4: u32 = 0xf000_0000;
/// And those of the discard prefix (RFC 6666) are those for doubles of IPv6.
const V6: u128 = 0x0100 << 112;
/// Both, with the version that each is of and the bits that all of them have in common: 255.255.255.255 is not among them.
const ADDRESSES: [(&str, &str, u8); 2] = [("ip", "240.0.0.0", 16), ("ip6", "100::", 112)];
/// The chain that looks up copies comes right after the one that lets flows in.
const AFTER_FLOWS: i32 = -149;

/// Where and how packets of a flow are duplicated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Copy {
    /// The router where the flow is let in.
    pub router: usize,
    /// The number of the flow.
    pub slot: u16,
    /// The record of this copy.
    pub text: String,
    /// The mark of the aggregate of the first copy.
    pub first: u32,
    /// The mark of the aggregate of this one.
    pub mark: u32,
    /// The number of that aggregate, whose tunnel doubles go into.
    pub tunnel: u16,
    /// Packets of the flow.
    pub tuples: Vec<Tuple>,
}

/// What makes the tables in which packets are duplicated, in place of those that are there.
pub(crate) fn tables() -> Vec<Value> {
    let mut commands = Vec::new();
    for version in [Family::V4, Family::V6] {
        commands.extend(["add", "delete", "add"].map(|verb| object_of(version, verb, "table", json!({}))));
        let address = if version == Family::V4 { "ipv4_addr" } else { "ipv6_addr" };
        let key = [address, address, "inet_proto", "inet_service", "inet_service"];
        for (map, key) in [("copies", &key[..]), ("copies-any", &key[..4])] {
            let map = json!({ "name": map, "type": key, "map": "verdict" });
            commands.push(object_of(version, "add", "map", map));
        }
        let chain = json!({
            "name": "enter", "type": "filter", "hook": "prerouting", "prio": AFTER_FLOWS, "policy": "accept"
        });
        commands.push(object_of(version, "add", "chain", chain));
        let (protocol, inside) = match version {
            Family::V4 => ("ip", "protocol"),
            Family::V6 => ("ip6", "nexthdr"),
        };
        // What no flow has let in has no mark.
        let is_let_in = matches("!=", meta("mark"), json!(0));
        for (map, ports) in [("copies", &["sport", "dport"][..]), ("copies-any", &["dport"])] {
            let addresses = [field(protocol, "saddr"), field(protocol, "daddr"), field(protocol, inside)];
            let key: Vec<Value> =
                addresses.into_iter().chain(ports.iter().map(|port| field("th", port))).collect();
            let lookup = json!({ "vmap": { "key": { "concat": key }, "data": format!("@{map}") } });
            commands.push(rule(version, "enter", vec![is_let_in.clone(), lookup]));
        }
    }
    commands
}

/// What takes away all copies, whatever is there.
pub(crate) fn removal(router: usize) -> Vec<Program> {
    let mut programs = Vec::new();
    for version in [Family::V4, Family::V6] {
        let commands = ["add", "delete"].map(|verb| object_of(version, verb, "table", json!({})));
        programs.push(Program::nft(router, commands.into()));
        let line = format!("route flush table main protocol {PROTOCOL}");
        programs.push(Program::ip_of(version, router, line));
    }
    programs
}

/// The address by whose route doubles go into a tunnel.
fn address(version: Family, tunnel: u16) -> String {
    match version {
        Family::V4 => Ipv4Addr::from_bits(V4 | u32::from(tunnel)).to_string(),
        Family::V6 => Ipv6Addr::from_bits(V6 | u128::from(tunnel)).to_string(),
    }
}

/// The destination of that route.
pub(crate) fn destination(version: Family, tunnel: u16) -> String {
    let width = if version == Family::V4 { 32 } else { 128 };
    format!("{}/{width}", address(version, tunnel))
}

/// What keeps packets from outside out of these routes.
pub(crate) fn guards() -> [Value; 2] {
    ADDRESSES.map(|(protocol, address, length)| {
        matches("==", field(protocol, "daddr"), json!({ "prefix": { "addr": address, "len": length } }))
    })
}

fn rule(version: Family, chain: &str, expressions: Vec<Value>) -> Value {
    object_of(version, "add", "rule", json!({ "chain": chain, "expr": expressions }))
}

impl Copy {
    fn chain(&self) -> String {
        format!("copy-{:x}", self.slot)
    }

    fn versions(&self) -> impl Iterator<Item = Family> {
        let has = |version: &Family| self.tuples.iter().any(|tuple| family(tuple) == Some(*version));
        [Family::V4, Family::V6].into_iter().filter(has)
    }

    /// The double has the mark of its own aggregate, the packet that of the first one: what has another mark by now is not of both.
    fn rules(&self, version: Family) -> [Value; 2] {
        let marked = |mark: u32| set(meta("mark"), json!(mark));
        let is_other = matches("!=", meta("mark"), json!(self.first));
        let dup = json!({ "dup": { "addr": address(version, self.tunnel) } });
        [
            rule(version, &self.chain(), vec![is_other, json!({ "return": null })]),
            rule(version, &self.chain(), vec![marked(self.mark), dup, marked(self.first)]),
        ]
    }

    fn elements(&self, version: Family, verb: &str) -> Vec<Value> {
        let of_version = self.tuples.iter().filter(|tuple| family(tuple) == Some(version));
        let element = |tuple: &Tuple| {
            let (source, destination) = (tuple.source.to_string(), tuple.destination.to_string());
            let mut key = vec![json!(source), json!(destination), json!(tuple.protocol)];
            key.extend((tuple.source_port != 0).then(|| json!(tuple.source_port)));
            key.push(json!(tuple.destination_port));
            let verdict = json!({ "goto": { "target": self.chain() } });
            let map = if tuple.source_port == 0 { "copies-any" } else { "copies" };
            let elements = json!([[{ "concat": key }, verdict]]);
            object_of(version, verb, "element", json!({ "name": map, "elem": elements }))
        };
        of_version.map(element).collect()
    }

    /// What of the transaction of the flow puts it there. A program that was killed in between may have left a chain of this name.
    pub(crate) fn add(&self) -> Vec<Value> {
        let mut commands = Vec::new();
        for version in self.versions() {
            for verb in ["add", "flush"] {
                commands.push(object_of(version, verb, "chain", json!({ "name": self.chain() })));
            }
            commands.extend(self.rules(version));
            commands.extend(self.elements(version, "add"));
        }
        commands
    }

    /// What of the transaction of the flow makes it of another one for the same packets.
    pub(crate) fn change(&self) -> Vec<Value> {
        let mut commands = Vec::new();
        for version in self.versions() {
            commands.push(object_of(version, "flush", "chain", json!({ "name": self.chain() })));
            commands.extend(self.rules(version));
        }
        commands
    }

    /// What of the transaction of the flow takes it away.
    pub(crate) fn remove(&self) -> Vec<Value> {
        let mut commands = Vec::new();
        for version in self.versions() {
            commands.extend(self.elements(version, "delete"));
            let chain = || json!({ "name": self.chain() });
            commands.extend(["flush", "delete"].map(|verb| object_of(version, verb, "chain", chain())));
        }
        commands
    }
}

//! What a frame goes through in flow tables, as rules of nftables at the ingress of the bridge's ports.
//!
//! | chain | what |
//! |---|---|
//! | `in_N` | at the ingress of port N: through the tables that the frame is sent on to, one after the other; what nothing let out is dropped |
//! | `tN` | flow table N: the first rule that fits leads to the chain of an entry. Entries of one priority that match the same fields are one look-up in a map |
//! | `eN` | an entry: counts, and does its actions |
//! | `gN` | a group of type all: a copy for each bucket |
//!
//! The mark of a frame says the table that comes next. So a chain of an entry leads nowhere, and the kernel, which follows every way through
//! chains whenever something changes, has no more ways to follow than there are entries.
use std::collections::BTreeMap;

use openflow::action::Action;
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::words::PortNo;
use serde_json::{Value, json};

use crate::ruleset::{Chain, Rule, Ruleset};
use crate::tables::{Entry, Place, TABLES, Tables, actions, is_tagged, ordered};

/// Copies for the controller of each entry: this many in a second, and so many at once.
const COPIES: (u32, u32) = (1_000, 200);
const IPV4: u128 = 0x0800;
const IPV6: u128 = 0x86dd;

/// Ports by number, with the names of their interfaces.
pub type Ports = BTreeMap<u32, String>;

/// What the log calls a copy for the controller, from which [`copy_of`] knows it again.
fn prefix(table: u8, entry: u64) -> String {
    format!("punctual {table} {entry}")
}

/// The table and the entry that sent a copy, from what the log calls it.
pub fn copy_of(prefix: &str) -> Option<(u8, u64)> {
    let (table, entry) = prefix.strip_prefix("punctual ")?.split_once(' ')?;
    Some((table.parse().ok()?, entry.parse().ok()?))
}

/// The chain of an entry.
pub fn entry_chain(id: u64) -> String {
    format!("e{id}")
}

/// The chain of a group.
pub fn group_chain(number: u32) -> String {
    format!("g{number}")
}

/// The chain of a flow table.
pub fn table_chain(table: u8) -> String {
    format!("t{table}")
}

/// The rules for these tables at ports that are there; copies for the controller go to a group of the netfilter log.
pub fn translate(tables: &Tables, ports: &Ports, log: u16) -> Ruleset {
    let mut ruleset = Ruleset::default();
    let mut first = vec![Rule::of(vec![mark(0), json!({ "jump": { "target": table_chain(0) } })])];
    first.extend((1..TABLES).map(|table| {
        let sent = json!({ "match": { "op": "==", "left": { "meta": { "key": "mark" } }, "right": table } });
        Rule::of(vec![sent, json!({ "jump": { "target": table_chain(table) } })])
    }));
    for (number, interface) in ports {
        let chain = Chain { device: Some(interface.clone()), rules: first.clone() };
        ruleset.chains.insert(format!("in_{number}"), chain);
    }
    for table in 0..TABLES {
        ruleset.chains.insert(table_chain(table), Chain::default());
    }
    for (number, group) in tables.groups() {
        let mut rules = Vec::new();
        for bucket in ordered(&group.buckets) {
            for action in &bucket.actions {
                rules.extend(action_rules(action, None, ports, None));
            }
        }
        rules.push(Rule::of(vec![json!({ "drop": null })]));
        ruleset.chains.insert(group_chain(number), Chain { device: None, rules });
    }
    let mut entries: Vec<(&Place, &Entry)> = tables.entries().collect();
    // The highest priority comes first; what matches the same fields stands together.
    entries.sort_by_key(|((table, priority, _), entry)| {
        (*table, u16::MAX - *priority, signature(&entry.flow.matching), entry.id)
    });
    for ((table, priority, _), entry) in entries {
        ruleset
            .chains
            .insert(entry_chain(entry.id), Chain { device: None, rules: entry_rules(entry, ports, log) });
        dispatch(&mut ruleset, *table, *priority, entry, ports);
    }
    ruleset
}

/// The fields that are matched, without their values, if none of them has a mask.
fn signature(matching: &Match) -> Option<Vec<OxmField>> {
    let mut fields = Vec::new();
    for oxm in matching.known() {
        let whole = oxm.mask().is_none_or(|mask| mask == oxm.field().all_bits());
        if !whole {
            return None;
        }
        fields.push(oxm.field());
    }
    fields.sort_unstable();
    Some(fields)
}

/// Fields of which a map can be the key, and the prerequisites that go before.
fn key(oxm: &Oxm, ports: &Ports) -> Option<(&'static str, Value, String)> {
    let payload =
        |protocol: &str, field: &str| json!({ "payload": { "protocol": protocol, "field": field } });
    Some(match oxm.field() {
        OxmField::InPort => {
            let name = ports.get(&u32::try_from(oxm.value()).ok()?)?;
            ("ifname", json!({ "meta": { "key": "iifname" } }), name.clone())
        }
        OxmField::EthDst => ("ether_addr", payload("ether", "daddr"), mac(oxm.value())),
        OxmField::EthSrc => ("ether_addr", payload("ether", "saddr"), mac(oxm.value())),
        OxmField::Ipv4Src => ("ipv4_addr", payload("ip", "saddr"), ipv4(oxm.value())),
        OxmField::Ipv4Dst => ("ipv4_addr", payload("ip", "daddr"), ipv4(oxm.value())),
        OxmField::Ipv6Src => ("ipv6_addr", payload("ip6", "saddr"), ipv6(oxm.value())),
        OxmField::Ipv6Dst => ("ipv6_addr", payload("ip6", "daddr"), ipv6(oxm.value())),
        OxmField::UdpSrc => ("inet_service", payload("udp", "sport"), oxm.value().to_string()),
        OxmField::UdpDst => ("inet_service", payload("udp", "dport"), oxm.value().to_string()),
        _ => return None,
    })
}

/// The rule, or the element of a map, by which a table leads to an entry; nothing if it is for a port that is not there.
fn dispatch(ruleset: &mut Ruleset, table: u8, priority: u16, entry: &Entry, ports: &Ports) {
    let matching = &entry.flow.matching;
    if matching.get(OxmField::InPort).is_some_and(|port| key(&port, ports).is_none()) {
        return;
    }
    let (chain, target) = (table_chain(table), entry_chain(entry.id));
    // EtherType and protocol are told to nftables by the fields that need them, and stand before the look-up.
    let fields: Vec<Oxm> = matching.known().collect();
    let keyed: Vec<_> = fields.iter().filter_map(|oxm| key(oxm, ports)).collect();
    let has = |field| fields.iter().any(|oxm: &Oxm| oxm.field() == field);
    let is_ipv4 = fields.iter().any(|oxm| oxm.field() == OxmField::EthType && oxm.value() == IPV4);
    // All entries of a map have the same EtherType and protocol, as the ports are those of UDP.
    let is_ipv6 = fields.iter().any(|oxm| oxm.field() == OxmField::EthType && oxm.value() == IPV6);
    let whole = if is_ipv6 { without_extensions } else { whole_datagram };
    let is_udp = (is_ipv4 || is_ipv6) && has(OxmField::UdpDst);
    let mapped = signature(matching).is_some()
        && !keyed.is_empty()
        && (is_udp || fields.len() == keyed.len())
        && fields.iter().all(|oxm| {
            let is_before =
                matches!(oxm.field(), OxmField::EthType | OxmField::IpProto) || is_tagged(oxm) == Some(false);
            key(oxm, ports).is_some() || is_before
        })
        && fields.iter().any(|oxm| oxm.field() != OxmField::InPort);
    if mapped {
        let signature: String = fields.iter().map(|oxm| format!("_{}", oxm.field().number())).collect();
        let name = format!("m{table}_{priority}{signature}");
        let map = ruleset.maps.entry(name.clone()).or_default();
        let is_new = map.elements.is_empty();
        map.types = keyed.iter().map(|(kind, _, _)| *kind).collect();
        map.elements.insert(keyed.iter().map(|(_, _, value)| value.clone()).collect(), (target, entry.id));
        if is_new {
            let mut lefts: Vec<Value> = keyed.into_iter().map(|(_, left, _)| left).collect();
            let left = if lefts.len() == 1 { lefts.remove(0) } else { json!({ "concat": lefts }) };
            let mut statements = prerequisites(&fields);
            statements.extend(is_udp.then(whole));
            statements.push(json!({ "vmap": { "key": left, "data": format!("@{name}") } }));
            let rule = Rule { statements, entry: None, map: Some(name) };
            ruleset.chains.entry(chain).or_default().rules.push(rule);
        }
        return;
    }
    let tags = fields.iter().filter_map(is_tagged).flat_map(tag);
    let others = fields.iter().filter_map(|oxm| condition(oxm, &fields, ports));
    let mut statements: Vec<Value> = tags.chain(others).collect();
    let by_port = has(OxmField::UdpSrc) || has(OxmField::UdpDst);
    statements.extend(((is_ipv4 || is_ipv6) && by_port).then(whole));
    statements.push(json!({ "goto": { "target": target } }));
    let rule = Rule { statements, entry: Some(entry.id), map: None };
    ruleset.chains.entry(chain).or_default().rules.push(rule);
}

/// UDP ports are matched in whole datagrams alone: gates let fragments pass as best effort, the first of them too, which has ports.
fn whole_datagram() -> Value {
    is(json!({ "&": [{ "payload": { "protocol": "ip", "field": "frag-off" } }, 0x3fff] }), 0)
}

/// The same in IPv6, where UDP follows the header at once: gates let what has extension headers pass as best effort.
fn without_extensions() -> Value {
    is(json!({ "payload": { "protocol": "ip6", "field": "nexthdr" } }), 17)
}

fn is(left: Value, right: impl Into<Value>) -> Value {
    json!({ "match": { "op": "==", "left": left, "right": right.into() } })
}

/// Whether a frame has a VLAN tag. The kernel takes the outer tag out of a frame before its ingress: `meta protocol` is what is behind it, and the bytes
/// of the link layer are as they came.
fn tag(is_tagged: bool) -> Vec<Value> {
    let ether_type = || json!({ "payload": { "base": "ll", "offset": 96, "len": 16 } });
    let types = [0x8100, 0x88a8];
    if is_tagged {
        return vec![is(ether_type(), json!({ "set": types }))];
    }
    types.map(|kind| json!({ "match": { "op": "!=", "left": ether_type(), "right": kind } })).to_vec()
}

/// Tag, EtherType and protocol before a look-up.
fn prerequisites(fields: &[Oxm]) -> Vec<Value> {
    let of = |oxm: &Oxm| match oxm.field() {
        OxmField::EthType => Some(is(json!({ "meta": { "key": "protocol" } }), oxm.value() as u64)),
        OxmField::IpProto => Some(is(json!({ "meta": { "key": "l4proto" } }), oxm.value() as u64)),
        _ => None,
    };
    fields.iter().filter_map(is_tagged).flat_map(tag).chain(fields.iter().filter_map(of)).collect()
}

fn condition(oxm: &Oxm, fields: &[Oxm], ports: &Ports) -> Option<Value> {
    let value = oxm.value() as u64;
    Some(match oxm.field() {
        OxmField::EthType => is(json!({ "meta": { "key": "protocol" } }), value),
        OxmField::IpProto => is(json!({ "meta": { "key": "l4proto" } }), value),
        OxmField::Icmpv6Type => is(json!({ "payload": { "protocol": "icmpv6", "field": "type" } }), value),
        OxmField::Ipv6NdTarget => {
            let target = json!({ "payload": { "protocol": "icmpv6", "field": "taddr" } });
            is(target, ipv6(oxm.value()))
        }
        OxmField::IpDscp => {
            let six = fields.iter().any(|oxm| oxm.field() == OxmField::EthType && oxm.value() == IPV6);
            let protocol = if six { "ip6" } else { "ip" };
            is(json!({ "payload": { "protocol": protocol, "field": "dscp" } }), value)
        }
        _ => {
            let (_, left, right) = key(oxm, ports)?;
            let all = oxm.field().all_bits();
            match oxm.mask().filter(|mask| *mask != all) {
                Some(0) => return None,
                Some(mask) if matches!(oxm.field(), OxmField::Ipv6Src | OxmField::Ipv6Dst) => {
                    is(json!({ "&": [left, ipv6(mask)] }), right)
                }
                Some(mask) => is(json!({ "&": [left, mac(mask)] }), right),
                None => match right.parse::<u64>() {
                    Ok(number) => is(left, number),
                    Err(_) => is(left, right),
                },
            }
        }
    })
}

fn entry_rules(entry: &Entry, ports: &Ports, log: u16) -> Vec<Rule> {
    let flow = &entry.flow;
    let in_port = flow.matching.get(OxmField::InPort).and_then(|oxm| u32::try_from(oxm.value()).ok());
    let six = flow.matching.get(OxmField::EthType).is_some_and(|oxm| oxm.value() == IPV6);
    let next = flow.instructions.iter().find_map(|instruction| match instruction {
        Instruction::GotoTable(table) => Some(table.0),
        _ => None,
    });
    let mut rules = vec![Rule::of(vec![json!({ "counter": null })])];
    let list: Vec<&Action> = actions(flow).collect();
    for (index, action) in list.iter().enumerate() {
        let last = index + 1 == list.len() && next.is_none();
        match action {
            Action::Output { port, .. } if *port == PortNo::CONTROLLER => {
                let (rate, burst) = COPIES;
                rules.push(Rule::of(vec![
                    json!({ "limit": { "rate": rate, "per": "second", "burst": burst } }),
                    json!({ "log": { "prefix": prefix(flow.table.0, entry.id), "group": log, "queue-threshold": 1 } }),
                ]));
            }
            Action::Group(group) => {
                rules.push(Rule::of(vec![json!({ "goto": { "target": group_chain(group.0) } })]));
                return rules;
            }
            // The last way out takes the frame itself, so that it need not be copied.
            Action::Output { port, .. } if last && in_port.is_some_and(|from| from != port.0) => {
                rules
                    .extend(ports.get(&port.0).map(|name| Rule::of(vec![json!({ "fwd": { "dev": name } })])));
            }
            action => rules.extend(action_rules(action, in_port, ports, Some(six))),
        }
    }
    match next {
        Some(table) => rules.push(Rule::of(vec![mark(table)])),
        None => rules.push(Rule::of(vec![json!({ "drop": null })])),
    }
    rules
}

/// An action that sets a field or sends a copy. Nothing leaves by the port that it came by.
fn action_rules(action: &Action, in_port: Option<u32>, ports: &Ports, six: Option<bool>) -> Option<Rule> {
    match action {
        Action::SetField(value) => Some(Rule::of(vec![set(value, six == Some(true))])),
        Action::Output { port, .. } if in_port != Some(port.0) => {
            let name = ports.get(&port.0)?;
            let other =
                json!({ "match": { "op": "!=", "left": { "meta": { "key": "iifname" } }, "right": name } });
            let copy = json!({ "dup": { "addr": name } });
            Some(Rule::of(if in_port.is_some() { vec![copy] } else { vec![other, copy] }))
        }
        _ => None,
    }
}

fn set(value: &FieldValue, six: bool) -> Value {
    let (protocol, field, to): (_, _, Value) = match value.field() {
        OxmField::EthDst => ("ether", "daddr", mac(value.value()).into()),
        OxmField::EthSrc => ("ether", "saddr", mac(value.value()).into()),
        OxmField::IpDscp if six => ("ip6", "dscp", (value.value() as u64).into()),
        OxmField::IpDscp => ("ip", "dscp", (value.value() as u64).into()),
        OxmField::Ipv4Src => ("ip", "saddr", ipv4(value.value()).into()),
        OxmField::Ipv4Dst => ("ip", "daddr", ipv4(value.value()).into()),
        OxmField::Ipv6Src => ("ip6", "saddr", ipv6(value.value()).into()),
        OxmField::Ipv6Dst => ("ip6", "daddr", ipv6(value.value()).into()),
        OxmField::UdpSrc => ("udp", "sport", (value.value() as u64).into()),
        _ => ("udp", "dport", (value.value() as u64).into()),
    };
    json!({ "mangle": { "key": { "payload": { "protocol": protocol, "field": field } }, "value": to } })
}

fn mark(table: u8) -> Value {
    json!({ "mangle": { "key": { "meta": { "key": "mark" } }, "value": table } })
}

fn mac(value: u128) -> String {
    let bytes = value.to_be_bytes();
    bytes.iter().skip(10).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn ipv4(value: u128) -> String {
    std::net::Ipv4Addr::from(value as u32).to_string()
}

fn ipv6(value: u128) -> String {
    std::net::Ipv6Addr::from(value).to_string()
}

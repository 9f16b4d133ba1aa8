//! What routers say that they hold: read from the tables of nftables, as `nft -j -n list table` prints them.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::entry::Tuple;
use crate::entry::flow_chain;
use crate::record::{AggregateRecord, FlowRecord};
use crate::setup::MARK;
use wan::LegId;

/// What an edge has let in of a flow since it let it in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Delivered {
    /// Packets.
    pub packets: u64,
    /// Bytes of IP.
    pub bytes: u64,
}

/// What all routers of a domain hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observed {
    /// Aggregates.
    pub aggregates: Vec<AggregateRecord>,
    /// Flows, with their packets.
    pub flows: Vec<(FlowRecord, Vec<Tuple>)>,
    /// What is there and cannot be read.
    pub unread: Vec<String>,
    /// What policers have let in of each flow, by its first copy: a packet counts once, however many copies of it go on.
    pub delivered: BTreeMap<LegId, Delivered>,
    /// What routers were set up by, one for each router that is.
    pub marks: Vec<String>,
}

impl Observed {
    /// From what the routers print, in any order.
    pub fn read(listings: &[Value]) -> Self {
        let mut observed = Self::default();
        let mut flows: BTreeMap<LegId, (FlowRecord, Vec<Tuple>)> = BTreeMap::new();
        for listing in listings {
            let objects: Vec<&Value> =
                listing.get("nftables").and_then(Value::as_array).into_iter().flatten().collect();
            let tuples = tuples(&objects);
            // Chains that both copies of a flow share count each packet for both.
            let firsts: BTreeSet<&str> = objects.iter().filter_map(|object| first(object)).collect();
            let names = objects.iter().filter_map(|object| object.pointer("/set/name")?.as_str());
            observed.marks.extend(names.filter(|name| name.starts_with(MARK)).map(str::to_owned));
            for object in objects {
                let records =
                    object.get("set").filter(|set| set.get("name").is_some_and(|name| name == "held"));
                for element in records.and_then(|set| set.get("elem")?.as_array()).into_iter().flatten() {
                    let comment =
                        element.pointer("/elem/comment").and_then(Value::as_str).unwrap_or_default();
                    match AggregateRecord::read(comment) {
                        Some(record) => observed.aggregates.push(record),
                        None => observed.unread.push(format!("an aggregate of {element}")),
                    }
                }
                let Some(comment) = object.pointer("/rule/comment").and_then(Value::as_str) else { continue };
                match FlowRecord::read(comment) {
                    Some(record) => {
                        let is_counted = !record.leg.is_second_copy()
                            || !chain(object).is_some_and(|it| firsts.contains(it));
                        let counted = object.pointer("/rule/expr").filter(|_| is_counted).and_then(counter);
                        let counted = counted.unwrap_or_default();
                        let delivered = observed.delivered.entry(record.leg.first_copy()).or_default();
                        delivered.packets = delivered.packets.saturating_add(counted.packets);
                        delivered.bytes = delivered.bytes.saturating_add(counted.bytes);
                        let found = tuples.get(&flow_chain(record.slot)).cloned().unwrap_or_default();
                        flows.entry(record.leg).or_insert_with(|| (record, Vec::new())).1.extend(found);
                    }
                    None => {
                        observed.unread.push(format!("a rule that says \"{}\"", comment.escape_default()))
                    }
                }
            }
        }
        observed.flows = flows.into_values().collect();
        for (_, tuples) in &mut observed.flows {
            tuples.sort_unstable();
        }
        observed
    }
}

/// The chain of a rule.
fn chain(object: &Value) -> Option<&str> {
    object.pointer("/rule/chain")?.as_str()
}

/// The chain of a rule, if the rule is of a first copy or of a flow that has one copy.
fn first(object: &Value) -> Option<&str> {
    let record = FlowRecord::read(object.pointer("/rule/comment")?.as_str()?)?;
    chain(object).filter(|_| !record.leg.is_second_copy())
}

/// The counter among the expressions of a rule.
fn counter(expressions: &Value) -> Option<Delivered> {
    let counter = expressions.as_array()?.iter().find_map(|expression| expression.get("counter"))?;
    let number = |name| counter.get(name).and_then(Value::as_u64);
    Some(Delivered { packets: number("packets")?, bytes: number("bytes")? })
}

/// The packets that go to each chain.
fn tuples(objects: &[&Value]) -> BTreeMap<String, Vec<Tuple>> {
    let mut found: BTreeMap<String, Vec<Tuple>> = BTreeMap::new();
    for object in objects {
        let elements = object.pointer("/map/elem").and_then(Value::as_array);
        for element in elements.into_iter().flatten() {
            let chain = element.pointer("/1/goto/target").and_then(Value::as_str);
            if let Some((chain, tuple)) = chain.zip(element.pointer("/0/concat").and_then(tuple)) {
                found.entry(chain.to_owned()).or_default().push(tuple);
            }
        }
    }
    found
}

fn tuple(fields: &Value) -> Option<Tuple> {
    let number = |at: usize| fields.get(at)?.as_u64();
    // Maps for any port of the sender have one field less.
    let (source_port, last) = if fields.as_array()?.len() == 4 { (0, 3) } else { (number(3)?, 4) };
    Some(Tuple {
        source: fields.get(0)?.as_str()?.parse().ok()?,
        destination: fields.get(1)?.as_str()?.parse().ok()?,
        protocol: number(2)?.try_into().ok()?,
        source_port: source_port.try_into().ok()?,
        destination_port: number(last)?.try_into().ok()?,
    })
}

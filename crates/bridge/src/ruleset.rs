//! A table of nftables as values, and the commands in JSON that make it of another one: one transaction, which the kernel does as a
//! whole or not at all. The schema is that of libnftables-json(5).
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// The family of the table: its chains are at the ingress of interfaces.
pub const FAMILY: &str = "netdev";
/// Where chains stand at the ingress, before those of others that say nothing.
const PRIORITY: i32 = -300;

/// A chain.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chain {
    /// The interface at whose ingress it is; none if others jump to it.
    pub device: Option<String>,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// A rule: its statements, and the flow entry that it leads to, if it leads to one.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Statements as the schema has them.
    pub statements: Vec<Value>,
    /// The number of the entry.
    pub entry: Option<u64>,
    /// The map of entries that it looks into.
    pub map: Option<String>,
}

impl Rule {
    /// A rule that is of no entry in particular.
    pub fn of(statements: Vec<Value>) -> Self {
        Self { statements, entry: None, map: None }
    }
}

/// A verdict map: keys, and the chains that they lead to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Map {
    /// Types of the parts of a key.
    pub types: Vec<&'static str>,
    /// For each key its chain and entry.
    pub elements: BTreeMap<Vec<String>, (String, u64)>,
}

/// A table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ruleset {
    /// Chains by name.
    pub chains: BTreeMap<String, Chain>,
    /// Maps by name.
    pub maps: BTreeMap<String, Map>,
}

/// The table of a bridge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableName(String);

impl TableName {
    /// That of the bridge of this name.
    pub fn of(bridge: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        Self(format!("punctual_{}", bridge.chars().map(plain).collect::<String>()))
    }

    /// As nftables calls it.
    pub fn name(&self) -> &str {
        &self.0
    }

    fn table(&self, verb: &str) -> Value {
        json!({ verb: { "table": { "family": FAMILY, "name": self.0 } } })
    }

    fn chain(&self, verb: &str, name: &str) -> Value {
        json!({ verb: { "chain": { "family": FAMILY, "table": self.0, "name": name } } })
    }

    fn new_chain(&self, name: &str, chain: &Chain) -> Value {
        match &chain.device {
            None => self.chain("add", name),
            Some(device) => json!({ "add": { "chain": {
                "family": FAMILY, "table": self.0, "name": name,
                "type": "filter", "hook": "ingress", "dev": device, "prio": PRIORITY, "policy": "drop",
            } } }),
        }
    }

    fn rule(&self, chain: &str, rule: &Rule) -> Value {
        json!({ "add": { "rule": { "family": FAMILY, "table": self.0, "chain": chain, "expr": rule.statements } } })
    }

    fn map(&self, verb: &str, name: &str, types: &[&str]) -> Value {
        let kinds = if let [one] = types { json!(one) } else { json!(types) };
        json!({ verb: { "map": { "family": FAMILY, "table": self.0, "name": name, "type": kinds, "map": "verdict" } } })
    }

    fn elements<'e>(
        &self,
        verb: &str,
        name: &str,
        elements: impl Iterator<Item = (&'e Vec<String>, &'e (String, u64))>,
    ) -> Option<Value> {
        let of = |(key, (chain, _)): (&Vec<String>, &(String, u64))| {
            let key = if let [one] = key.as_slice() { json!(one) } else { json!({ "concat": key }) };
            json!([key, { "goto": { "target": chain } }])
        };
        let elements: Vec<Value> = elements.map(of).collect();
        (!elements.is_empty()).then(
            || json!({ verb: { "element": { "family": FAMILY, "table": self.0, "name": name, "elem": elements } } }),
        )
    }

    /// The command that lists it.
    pub fn list(&self) -> String {
        format!("-j list table {FAMILY} {}", self.0)
    }

    /// Takes the table away, whether it is there or not.
    pub fn removal(&self) -> Vec<Value> {
        vec![self.table("add"), self.table("delete")]
    }

    /// Makes the table anew, whatever there is of it.
    pub fn replacement(&self, target: &Ruleset) -> Vec<Value> {
        let mut commands = self.removal();
        commands.extend(self.changes(&Ruleset::default(), target));
        commands
    }

    /// Makes `target` of `now`: what is the same in both stays, with its counters.
    pub fn changes(&self, now: &Ruleset, target: &Ruleset) -> Vec<Value> {
        let mut commands = vec![self.table("add")];
        let rebuilt: BTreeSet<&String> = target
            .chains
            .iter()
            .filter(|(name, chain)| now.chains.get(*name).is_some_and(|old| old.device != chain.device))
            .map(|(name, _)| name)
            .collect();
        let gone = |name: &String| !target.chains.contains_key(name) || rebuilt.contains(name);
        // Nothing may be used when it goes: first rules and elements, then maps and chains.
        for (name, chain) in &now.chains {
            if gone(name) || target.chains.get(name) != Some(chain) {
                commands.push(self.chain("flush", name));
            }
        }
        for (name, map) in &now.maps {
            let left = target.maps.get(name).filter(|other| other.types == map.types);
            let stale = map.elements.iter().filter(|(key, to)| {
                left.is_none_or(|left| left.elements.get(*key).map(|(chain, _)| chain) != Some(&to.0))
            });
            commands.extend(self.elements("delete", name, stale));
            if left.is_none() {
                commands.push(self.map("delete", name, &map.types));
            }
        }
        commands.extend(now.chains.keys().filter(|name| gone(name)).map(|name| self.chain("delete", name)));
        for (name, chain) in &target.chains {
            if !now.chains.contains_key(name) || rebuilt.contains(name) {
                commands.push(self.new_chain(name, chain));
            }
        }
        let kept = |name: &String, map: &Map| now.maps.get(name).filter(|old| old.types == map.types);
        for (name, map) in &target.maps {
            if kept(name, map).is_none() {
                commands.push(self.map("add", name, &map.types));
            }
        }
        for (name, map) in &target.maps {
            let there = kept(name, map);
            let new = map.elements.iter().filter(|(key, to)| {
                there.is_none_or(|there| there.elements.get(*key).map(|(chain, _)| chain) != Some(&to.0))
            });
            commands.extend(self.elements("add", name, new));
        }
        for (name, chain) in &target.chains {
            if now.chains.get(name) != Some(chain) {
                commands.extend(chain.rules.iter().map(|rule| self.rule(name, rule)));
            }
        }
        commands
    }
}

/// Commands as `nft -j -f -` takes them.
pub fn document(commands: &[Value]) -> String {
    json!({ "nftables": commands }).to_string()
}

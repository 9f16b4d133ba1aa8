//! What the kernel says that a table of nftables has, read from the JSON of `nft`, and how it differs from what it was told.
//!
//! Rules have numbers that the kernel gives each once, and a rule is never changed under its number: so a chain is as it was told if it has the
//! numbers that were given then, in their order. How `nft` spells a rule does not matter. Elements of maps are compared by what they say.
use std::collections::{BTreeMap, BTreeSet};

use openflow::multipart::Traffic;
use serde_json::Value;

use crate::ruleset::Ruleset;

/// Bytes of an Ethernet header, which the kernel does not count at the ingress.
const HEADER: u64 = 14;

/// A table as it is listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// The number of the table; none if there is no table.
    pub table: Option<u64>,
    /// For each chain the numbers of its rules in their order, with what they have counted.
    pub chains: BTreeMap<String, Vec<(u64, Option<Traffic>)>>,
    /// For each map its keys, and the chains that they lead to.
    pub maps: BTreeMap<String, BTreeMap<Vec<String>, String>>,
}

impl Listing {
    /// Reads what `nft -j list table` or `nft -j -e -f -` printed; what is of no table is passed over.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let document: Value = serde_json::from_str(text)?;
        let mut listing = Self::default();
        for item in document.get("nftables").and_then(Value::as_array).into_iter().flatten() {
            // What was added is told with the verb around it.
            listing.take(item.get("add").unwrap_or(item));
        }
        Ok(listing)
    }

    fn take(&mut self, item: &Value) {
        let handle = |value: &Value| value.get("handle").and_then(Value::as_u64);
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(table) = item.get("table") {
            self.table = handle(table).or(self.table);
        } else if let Some(chain) = item.get("chain") {
            self.chains.entry(text(chain, "name").unwrap_or_default()).or_default();
        } else if let Some(rule) = item.get("rule") {
            let Some(number) = handle(rule) else { return };
            let chain = self.chains.entry(text(rule, "chain").unwrap_or_default()).or_default();
            chain.push((number, counted(rule)));
        } else if let Some(map) = item.get("map") {
            let elements = self.maps.entry(text(map, "name").unwrap_or_default()).or_default();
            for element in map.get("elem").and_then(Value::as_array).into_iter().flatten() {
                let Some([key, verdict]) = element.as_array().map(Vec::as_slice) else { continue };
                let target = verdict.get("goto").and_then(|goto| text(goto, "target")).unwrap_or_default();
                elements.insert(parts(key), target);
            }
        }
    }
}

/// What the counter at the beginning of a rule has.
fn counted(rule: &Value) -> Option<Traffic> {
    let counter = rule.get("expr")?.get(0)?.get("counter")?;
    let packets = counter.get("packets")?.as_u64()?;
    let octets = counter.get("bytes")?.as_u64()?.saturating_add(packets.saturating_mul(HEADER));
    Some(Traffic { packets, octets })
}

/// The parts of a key, as text.
fn parts(key: &Value) -> Vec<String> {
    let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match key.get("concat").and_then(Value::as_array) {
        Some(parts) => parts.iter().map(one).collect(),
        None => vec![one(key)],
    }
}

/// What was told to the kernel, and the numbers that it gave.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Told {
    /// The rules.
    pub ruleset: Ruleset,
    /// The number of the table.
    pub table: Option<u64>,
    /// The numbers of the rules of each chain, in their order.
    pub numbers: BTreeMap<String, Vec<u64>>,
}

/// What is not as it was told.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Differences {
    /// Entries that are not, or not only, what they were.
    pub entries: BTreeSet<u64>,
    /// Groups of which the same holds.
    pub groups: BTreeSet<u32>,
    /// Whether anything differs.
    pub any: bool,
}

impl Told {
    /// Compares with what the kernel has.
    pub fn compare(&self, listing: &Listing) -> Differences {
        let mut found = Differences::default();
        let all = || self.ruleset.chains.keys().filter_map(|name| number(name, 'e'));
        if self.table != listing.table {
            found.entries.extend(all());
            found
                .groups
                .extend(self.ruleset.chains.keys().filter_map(|name| number(name, 'g')).map(|id| id as u32));
            found.any = true;
            return found;
        }
        let nothing = Vec::new();
        for (name, chain) in &self.ruleset.chains {
            let has: Option<Vec<u64>> =
                listing.chains.get(name).map(|rules| rules.iter().map(|(number, _)| *number).collect());
            let told = self.numbers.get(name).unwrap_or(&nothing);
            if has.as_ref() == Some(told) {
                continue;
            }
            found.any = true;
            if let Some(id) = number(name, 'e') {
                found.entries.insert(id);
            } else if let Some(id) = number(name, 'g') {
                found.groups.insert(id as u32);
            } else if chain.device.is_some() {
                found.entries.extend(all());
            } else {
                self.compare_table(name, told, has.as_deref().unwrap_or_default(), &mut found);
            }
        }
        for (name, map) in &self.ruleset.maps {
            let none = BTreeMap::new();
            let has = listing.maps.get(name).unwrap_or(&none);
            let strange = has.keys().any(|key| !map.elements.contains_key(key));
            for (key, (chain, id)) in &map.elements {
                if strange || has.get(key) != Some(chain) {
                    found.entries.insert(*id);
                    found.any = true;
                }
            }
        }
        found
    }

    /// Rules of a flow table that are missing lead to single entries; one that is strange, or another order, may hide all.
    fn compare_table(&self, name: &str, told: &[u64], has: &[u64], found: &mut Differences) {
        let rules = self.ruleset.chains.get(name).map(|chain| chain.rules.as_slice()).unwrap_or_default();
        let left: Vec<u64> = told.iter().copied().filter(|number| has.contains(number)).collect();
        let only_less = left == has;
        for (rule, number) in rules.iter().zip(told) {
            if only_less && has.contains(number) {
                continue;
            }
            found.entries.extend(rule.entry);
            let map = rule.map.as_ref().and_then(|map| self.ruleset.maps.get(map));
            found.entries.extend(map.into_iter().flat_map(|map| map.elements.values().map(|(_, id)| *id)));
        }
    }

    /// What each entry has counted since it was told.
    pub fn traffic(&self, listing: &Listing) -> BTreeMap<u64, Traffic> {
        let of = |(name, rules): (&String, &Vec<(u64, Option<Traffic>)>)| {
            Some((number(name, 'e')?, rules.first().and_then(|(_, counted)| *counted)?))
        };
        listing.chains.iter().filter_map(of).collect()
    }
}

/// The number of a chain whose name begins with a letter.
fn number(name: &str, letter: char) -> Option<u64> {
    name.strip_prefix(letter)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ruleset::{Chain, Map, Rule};

    fn told() -> Told {
        let rule =
            |entry, map: Option<&str>| Rule { statements: Vec::new(), entry, map: map.map(str::to_owned) };
        let chain = |rules| Chain { device: None, rules };
        let mut ruleset = Ruleset::default();
        for (name, rules) in [
            ("t0", vec![rule(Some(1), None), rule(None, Some("m")), rule(Some(3), None)]),
            ("e1", vec![rule(None, None)]),
            ("e2", vec![rule(None, None)]),
            ("e3", vec![rule(None, None)]),
            ("g7", vec![rule(None, None)]),
        ] {
            ruleset.chains.insert(name.to_owned(), chain(rules));
        }
        let elements = [(vec!["p1".to_owned(), "5000".to_owned()], ("e2".to_owned(), 2))].into();
        ruleset.maps.insert("m".to_owned(), Map { types: Vec::new(), elements });
        let numbers = [
            ("t0", vec![10, 11, 12]),
            ("e1", vec![13]),
            ("e2", vec![14]),
            ("e3", vec![15]),
            ("g7", vec![16]),
        ];
        let numbers = numbers.map(|(name, numbers)| (name.to_owned(), numbers)).into();
        Told { ruleset, table: Some(4), numbers }
    }

    fn listed(change: impl Fn(&mut Vec<Value>)) -> Listing {
        let rule = |chain: &str, handle: u64| json!({ "rule": { "chain": chain, "handle": handle, "expr": [{ "counter": { "packets": 2, "bytes": 100 } }] } });
        let mut items = vec![
            json!({ "metainfo": {} }),
            json!({ "table": { "name": "x", "handle": 4 } }),
            json!({ "map": { "name": "m", "elem": [[{ "concat": ["p1", 5000] }, { "goto": { "target": "e2" } }]] } }),
        ];
        items.extend(
            [("t0", 10), ("t0", 11), ("t0", 12), ("e1", 13), ("e2", 14), ("e3", 15), ("g7", 16)]
                .map(|(chain, handle)| rule(chain, handle)),
        );
        change(&mut items);
        Listing::read(&json!({ "nftables": items }).to_string()).unwrap()
    }

    fn differs(change: impl Fn(&mut Vec<Value>)) -> (Vec<u64>, Vec<u32>) {
        let found = told().compare(&listed(change));
        assert_eq!(found.any, !found.entries.is_empty() || !found.groups.is_empty());
        (found.entries.into_iter().collect(), found.groups.into_iter().collect())
    }

    #[test]
    fn what_is_as_it_was_told_is_found_so_and_counts() {
        assert_eq!(differs(|_| ()), (Vec::new(), Vec::new()));
        let traffic = told().traffic(&listed(|_| ()));
        assert_eq!(traffic.get(&3), Some(&Traffic { packets: 2, octets: 128 }));
    }

    #[test]
    fn what_is_missing_is_missed_alone_and_what_is_strange_hides_the_table() {
        assert_eq!(differs(|items| drop(items.remove(3))), (vec![1], vec![]), "its rule in the table");
        assert_eq!(differs(|items| drop(items.remove(4))), (vec![2], vec![]), "the look-up");
        assert_eq!(differs(|items| drop(items.remove(2))), (vec![2], vec![]), "the map");
        assert_eq!(differs(|items| drop(items.remove(6))), (vec![1], vec![]), "its chain");
        assert_eq!(differs(|items| drop(items.remove(9))), (vec![], vec![7]), "the group");
        assert_eq!(differs(|items| items.swap(3, 5)), (vec![1, 2, 3], vec![]), "another order");
        let strange = |items: &mut Vec<Value>| {
            items.insert(3, json!({ "rule": { "chain": "t0", "handle": 99, "expr": [] } }))
        };
        assert_eq!(differs(strange), (vec![1, 2, 3], vec![]));
        let other = |items: &mut Vec<Value>| items[1] = json!({ "table": { "name": "x", "handle": 5 } });
        assert_eq!(differs(other), (vec![1, 2, 3], vec![7]), "another table of the same name");
    }

    #[test]
    fn odd_listings_say_nothing() {
        for text in ["{}", "[]", "{\"nftables\":[1,{\"rule\":{}},{\"map\":{\"elem\":[[],[1]]}}]}"] {
            assert_eq!(Listing::read(text).unwrap().table, None);
        }
        assert!(Listing::read("").is_err());
    }
}

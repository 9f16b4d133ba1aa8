//! A model of what routers have been told that is as strict as the kernel: what is added twice, or taken away and not there, or still in use, is an
//! error.
use std::collections::BTreeMap;

use linux_edge::program::{Program, Step};
use serde_json::Value;

/// What one router has been told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Router {
    /// Expressions of rules, and their comments.
    pub(crate) chains: BTreeMap<Name, Vec<[Value; 2]>>,
    /// Chains that packets meet by themselves: where, and in which order.
    pub(crate) hooks: BTreeMap<Name, (String, i64)>,
    /// By set or map, and key.
    pub(crate) elements: BTreeMap<(Name, String), Value>,
    /// By device and class.
    pub(crate) classes: BTreeMap<(String, String), String>,
    pub(crate) queues: BTreeMap<(String, String), String>,
    /// Device, preference, class, and all of it.
    pub(crate) filters: Vec<[String; 4]>,
    /// By version, prefix and table.
    pub(crate) routes: BTreeMap<String, String>,
    pub(crate) rules: Vec<String>,
    /// Contracts of what is marked down, by interface and key.
    pub(crate) colours: BTreeMap<(String, Vec<u8>), Vec<u8>>,
}

/// What nftables calls something: its table's version of IP, and its name.
pub(crate) type Name = (String, String);

impl Router {
    fn uses(&self, chain: &Name) -> bool {
        let target = |element: &Value| element.pointer("/1/goto/target").cloned();
        self.elements.iter().any(|((map, _), element)| {
            map.0 == chain.0 && target(element).is_some_and(|target| target == *chain.1)
        })
    }

    fn nft(&mut self, command: &Value) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what}: {command}"));
        let (verb, of) = command.as_object().unwrap().iter().next().unwrap();
        let (kind, of) = of.as_object().unwrap().iter().next().unwrap();
        let text = |key: &str| of[key].as_str().unwrap().to_owned();
        let name = |key: &str| (text("family"), text(key));
        match (verb.as_str(), kind.as_str()) {
            ("add", "table" | "set" | "map") => {}
            ("delete", "table") => {
                let family = text("family");
                self.chains.retain(|name, _| name.0 != family);
                self.hooks.retain(|name, _| name.0 != family);
                self.elements.retain(|(name, _), _| name.0 != family);
            }
            ("add", "chain") => {
                self.chains.entry(name("name")).or_default();
                if let Some(hook) = of["hook"].as_str() {
                    self.hooks.insert(name("name"), (hook.to_owned(), of["prio"].as_i64().unwrap()));
                }
            }
            ("add", "rule") => match self.chains.get_mut(&name("chain")) {
                Some(rules) => rules.push([of["expr"].clone(), of["comment"].clone()]),
                None => return wrong("no such chain"),
            },
            ("flush", "chain") => match self.chains.get_mut(&name("name")) {
                Some(rules) => rules.clear(),
                None => return wrong("no such chain"),
            },
            ("delete", "chain") => {
                let chain = name("name");
                if self.uses(&chain) || self.chains.remove(&chain).is_none_or(|of| !of.is_empty()) {
                    return wrong("in use, or not there");
                }
            }
            (verb, "element") => {
                for element in of["elem"].as_array().unwrap() {
                    let key = match element {
                        Value::Array(pair) => &pair[0],
                        Value::Object(of) => &of["elem"]["val"],
                        other => other,
                    };
                    let key = (name("name"), key.to_string());
                    if verb == "delete" {
                        if self.elements.remove(&key).is_none() {
                            return wrong("no such element");
                        }
                        continue;
                    }
                    let target = element.pointer("/1/goto/target").and_then(Value::as_str);
                    let target = target.map(|target| (text("family"), target.to_owned()));
                    if target.is_some_and(|chain| !self.chains.contains_key(&chain)) {
                        return wrong("no such chain");
                    }
                    if self.elements.insert(key, element.clone()).is_some() {
                        return wrong("it is there already");
                    }
                }
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    fn tc(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |word: &str| {
            let at = words.iter().position(|other| *other == word).unwrap();
            words[at + 1].to_owned()
        };
        let device = after("dev");
        let wrong = || Err(line.to_owned());
        match (words[0], words[1]) {
            ("class", "replace") => drop(self.classes.insert((device, after("classid")), line.to_owned())),
            ("qdisc", "replace") => {
                let key = (device, after("parent"));
                if !self.classes.contains_key(&key) {
                    return wrong();
                }
                self.queues.insert(key, line.to_owned());
            }
            ("filter", "add") => {
                let class = after("flowid");
                if !self.classes.contains_key(&(device.clone(), class.clone())) {
                    return wrong();
                }
                self.filters.push([device, after("prio"), class, line.to_owned()]);
            }
            ("filter", "del") => {
                let (count, preference) = (self.filters.len(), after("prio"));
                self.filters.retain(|of| (&of[0], &of[1]) != (&device, &preference));
                if self.filters.len() == count {
                    return wrong();
                }
            }
            ("class", "del") => {
                let key = (device, after("classid"));
                let is_used = self.filters.iter().any(|of| (&of[0], &of[2]) == (&key.0, &key.1));
                if is_used || self.classes.remove(&key).is_none() {
                    return wrong();
                }
                self.queues.remove(&key);
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    fn ip(&mut self, is_v6: bool, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let of = if is_v6 { "6" } else { "4" };
        let is_table = words.get(3) == Some(&"table");
        let key = |to: &str, table: &str| format!("{of} {to} {table}");
        match (words[0], words[1]) {
            ("route", "replace") => {
                let table = if is_table { words[4] } else { "main" };
                self.routes.insert(key(words[2], table), line.to_owned());
            }
            ("route", "del") => drop(self.routes.remove(&key(words[2], "main")).ok_or(line)?),
            ("route", "flush") => {
                let end = format!(" {}", words[3]);
                self.routes.retain(|key, _| !(key.starts_with(of) && key.ends_with(&end)));
            }
            ("rule", verb) => {
                let rule = format!("{of} {}", words[2..].join(" "));
                let there = self.rules.iter().position(|other| *other == rule);
                match (verb, there) {
                    ("add", None) => self.rules.push(rule),
                    ("del", Some(at)) => drop(self.rules.remove(at)),
                    _ => return Err(line.to_owned()),
                }
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    /// A transaction is done as a whole or not at all.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Nft(commands) => {
                let mut next = self.clone();
                commands.iter().try_for_each(|command| next.nft(command))?;
                *self = next;
                Ok(())
            }
            Step::Tc(line) => self.tc(line),
            Step::Ip(is_v6, line) => self.ip(*is_v6, line),
            Step::Colour { interface, key, contract } => {
                let at = (interface.clone(), key.to_vec());
                match contract {
                    Some(contract) => drop(self.colours.insert(at, contract.to_vec())),
                    None => drop(self.colours.remove(&at).ok_or("no such contract")?),
                }
                Ok(())
            }
            Step::Setting(..) | Step::Colouring(_) => panic!("{step:?}"),
        }
    }

    /// Whatever is let in meets a policer and a rule, and what is duplicated a route.
    pub(crate) fn is_sound(&self) -> bool {
        let maps = self.elements.iter().filter(|((map, _), _)| map.1 != "held");
        maps.into_iter().all(|((map, _), element)| {
            let chain = element.pointer("/1/goto/target").and_then(Value::as_str).unwrap();
            let rules = &self.chains[&(map.0.clone(), chain.to_owned())];
            let slot = chain.split('-').nth(1).unwrap();
            let is_policed = || self.filters.iter().any(|of| of[2] == format!("1:{slot}"));
            let expressions = || rules.iter().filter_map(|[of, _]| of.as_array()).flatten();
            let mut doubled = expressions().filter_map(|of| of.pointer("/dup/addr")?.as_str());
            let is_routed = |address: &str| {
                let key = if map.0 == "ip" {
                    format!("4 {address}/32 main")
                } else {
                    format!("6 {address}/128 main")
                };
                self.routes.contains_key(&key)
            };
            !rules.is_empty() && if map.0 == "inet" { is_policed() } else { doubled.all(is_routed) }
        })
    }

    /// What routers have before they hold anything: of queues and addresses nothing is modelled.
    pub(crate) fn set_up(&mut self, programs: &[Program]) {
        for Program { step, .. } in programs {
            match step {
                Step::Ip(_, line) if !line.starts_with("route") && !line.starts_with("rule") => {}
                Step::Tc(_) | Step::Setting(..) | Step::Colouring(_) => {}
                step => self.step(step).unwrap(),
            }
        }
    }

    /// In any order that means the same.
    pub(crate) fn sorted(mut self) -> Self {
        self.filters.sort_unstable();
        self.rules.sort_unstable();
        self
    }
}

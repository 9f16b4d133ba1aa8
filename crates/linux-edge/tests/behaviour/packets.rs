//! What a router does with packets by the rules, routes and policers that it was told: the judge of what is let in, marked and duplicated. It knows of
//! nftables, `tc` and `ip` what domains use, and nothing of what they are used for.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use serde_json::Value;
use wan::Prefix;

use crate::routers::Router;

/// Nanobits in a bit: tokens per nanosecond are bits per second.
const BIT: i128 = 1_000_000_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) ports: [u16; 2],
    /// Bytes of IP.
    pub(crate) length: u64,
    pub(crate) dscp: u64,
    pub(crate) mark: u64,
    /// By which it came.
    pub(crate) interface: String,
}

/// A packet that has left: where it goes to, and with which mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    /// Of the tunnel that it is in, if it is in one.
    pub(crate) segment: Option<Ipv6Addr>,
    pub(crate) dscp: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goes {
    /// To the next rule of the chain that called.
    On,
    /// To the next chain of the hook.
    Accepted,
    Dropped,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Operand {
    Number(u64),
    Address(IpAddr),
}

fn operand(value: &Value) -> Operand {
    match value {
        Value::String(text) => Operand::Address(text.parse().unwrap()),
        other => Operand::Number(other.as_u64().unwrap()),
    }
}

fn is_in(prefix: &Value, address: IpAddr) -> bool {
    let length = u8::try_from(prefix["len"].as_u64().unwrap()).unwrap();
    let of = prefix["addr"].as_str().unwrap().parse::<IpAddr>().unwrap();
    of.is_ipv4() == address.is_ipv4() && Prefix { address: of, length }.contains(address)
}

impl Packet {
    /// What an expression says of it; none if it has no such thing.
    fn look(&self, of: &Value) -> Option<Operand> {
        if let Some(key) = of.pointer("/meta/key").and_then(Value::as_str) {
            return match key {
                "mark" => Some(Operand::Number(self.mark)),
                "length" => Some(Operand::Number(self.length)),
                other => panic!("meta {other}"),
            };
        }
        if let Some(parts) = of.get("&").and_then(Value::as_array) {
            let Operand::Number(value) = self.look(&parts[0])? else { panic!("{of}") };
            return Some(Operand::Number(value & parts[1].as_u64().unwrap()));
        }
        let (protocol, field) =
            (of.pointer("/payload/protocol")?.as_str()?, of["payload"]["field"].as_str()?);
        let has_ports = matches!(self.protocol, 6 | 17);
        let is_there = match protocol {
            "ip" => self.source.is_ipv4(),
            "ip6" => self.source.is_ipv6(),
            "th" => has_ports,
            // No test sends any.
            "icmpv6" => false,
            other => panic!("{other}"),
        };
        if !is_there {
            return None;
        }
        Some(match field {
            "saddr" => Operand::Address(self.source),
            "daddr" => Operand::Address(self.destination),
            "protocol" | "nexthdr" => Operand::Number(self.protocol.into()),
            "dscp" => Operand::Number(self.dscp),
            "hdrlength" => Operand::Number(5),
            "hoplimit" => Operand::Number(64),
            "version" => Operand::Number(6),
            "sport" => Operand::Number(self.ports[0].into()),
            "dport" => Operand::Number(self.ports[1].into()),
            other => panic!("{other}"),
        })
    }

    fn matches(&self, of: &Value) -> bool {
        let (left, right) = (&of["left"], &of["right"]);
        if left.pointer("/meta/key").is_some_and(|key| key == "iifname") {
            return *right == *self.interface;
        }
        if left.get("exthdr").is_some() {
            // No packet of tests has any.
            return false;
        }
        let Some(value) = self.look(left) else { return false };
        let is_equal = match (&value, right.get("prefix"), right.get("set")) {
            (Operand::Address(address), Some(prefix), _) => is_in(prefix, *address),
            (value, _, Some(set)) => set.as_array().unwrap().iter().any(|one| operand(one) == *value),
            (value, ..) => operand(right) == *value,
        };
        match (of["op"].as_str().unwrap(), value) {
            ("==", _) => is_equal,
            ("!=", _) => !is_equal,
            (">", Operand::Number(value)) => value > right.as_u64().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// A number, or a part of the packet with some bits more or with some of its bits.
    fn number(&self, of: &Value) -> u64 {
        if let Some(number) = of.as_u64() {
            return number;
        }
        let (of, more) = match of.get("|").and_then(Value::as_array) {
            Some(parts) => (&parts[0], parts[1].as_u64().unwrap()),
            None => (of, 0),
        };
        match self.look(of) {
            Some(Operand::Number(value)) => value | more,
            _ => panic!("{of}"),
        }
    }

    fn set(&mut self, of: &Value) -> bool {
        let (key, value) = (&of["key"], &of["value"]);
        if self.look(key).is_none() {
            return false;
        }
        match (key.pointer("/meta/key"), key.pointer("/payload/field").and_then(Value::as_str)) {
            (Some(_), _) => self.mark = self.number(value),
            (_, Some("dscp")) => self.dscp = value.as_u64().unwrap(),
            (_, Some("daddr")) => self.destination = value.as_str().unwrap().parse().unwrap(),
            other => panic!("{other:?}"),
        }
        true
    }
}

impl Router {
    /// What a map says of a packet.
    fn mapped(&self, family: &str, vmap: &Value, packet: &Packet) -> Option<String> {
        let map = vmap["data"].as_str().unwrap().strip_prefix('@').unwrap();
        let looked = |key: &Value| match key.get("concat") {
            Some(parts) => parts.as_array().unwrap().iter().map(|part| packet.look(part)).collect(),
            None => packet.look(key).map(|one| vec![one]),
        };
        let key: Vec<Operand> = looked(&vmap["key"])?;
        let is_of = |element: &Value| {
            let of = &element[0];
            let parts =
                of.get("concat").and_then(Value::as_array).cloned().unwrap_or_else(|| vec![of.clone()]);
            parts.iter().map(operand).eq(key.iter().cloned())
        };
        let mut elements = self.elements.iter().filter(|((of, _), _)| (&*of.0, &*of.1) == (family, map));
        let (_, element) = elements.find(|(_, element)| is_of(element))?;
        Some(element.pointer("/1/goto/target").unwrap().as_str().unwrap().to_owned())
    }

    fn chain(
        &self,
        family: &str,
        chain: &str,
        packet: &mut Packet,
        doubles: &mut Vec<(Packet, IpAddr)>,
    ) -> Goes {
        'rules: for [expressions, _] in &self.chains[&(family.to_owned(), chain.to_owned())] {
            for expression in expressions.as_array().unwrap() {
                let (kind, of) = expression.as_object().unwrap().iter().next().unwrap();
                let target = match kind.as_str() {
                    "counter" => continue,
                    "match" if packet.matches(of) => continue,
                    "mangle" if packet.set(of) => continue,
                    // No test sends as many as a limit is about.
                    "match" | "mangle" | "limit" => continue 'rules,
                    "dup" => {
                        doubles.push((packet.clone(), of["addr"].as_str().unwrap().parse().unwrap()));
                        continue;
                    }
                    "return" => return Goes::On,
                    "accept" => return Goes::Accepted,
                    "drop" => return Goes::Dropped,
                    "jump" => {
                        let goes = self.chain(family, of["target"].as_str().unwrap(), packet, doubles);
                        if goes == Goes::On {
                            continue;
                        }
                        return goes;
                    }
                    "goto" => of["target"].as_str().unwrap().to_owned(),
                    "vmap" => match self.mapped(family, of, packet) {
                        Some(target) => target,
                        None => continue 'rules,
                    },
                    other => panic!("{other}"),
                };
                // What comes after it in this chain is passed over.
                return self.chain(family, &target, packet, doubles);
            }
        }
        Goes::On
    }

    /// All chains of a hook, in their order: whether it goes on.
    fn hook(&self, hook: &str, packet: &mut Packet, doubles: &mut Vec<(Packet, IpAddr)>) -> bool {
        let version = if packet.source.is_ipv4() { "ip" } else { "ip6" };
        let of =
            self.hooks.iter().filter(|(name, (at, _))| at == hook && (name.0 == "inet" || name.0 == version));
        let mut chains: Vec<_> = of.map(|(name, (_, priority))| (*priority, name)).collect();
        chains.sort();
        chains.iter().all(|(_, name)| self.chain(&name.0, &name.1, packet, doubles) != Goes::Dropped)
    }

    /// The route of an address in a table, with the longest prefix.
    fn route(&self, address: IpAddr, table: &str) -> Option<&str> {
        let of_version = if address.is_ipv4() { "4" } else { "6" };
        let of = self.routes.iter().filter_map(|(key, line)| {
            let [version, prefix, of_table] = key.split(' ').collect::<Vec<_>>()[..] else { panic!("{key}") };
            if version != of_version || of_table != table {
                return None;
            }
            if prefix == "default" {
                return Some((0, line));
            }
            let (of, length) = prefix.split_once('/').unwrap();
            let length: u8 = length.parse().unwrap();
            let prefix = Prefix { address: of.parse().unwrap(), length };
            prefix.contains(address).then_some((length, line))
        });
        of.max().map(|(_, line)| &**line)
    }

    /// The route that rules choose.
    fn routed(&self, packet: &Packet) -> Option<&str> {
        let version = if packet.destination.is_ipv4() { "4" } else { "6" };
        let mut rules: Vec<(u32, Vec<&str>)> = Vec::new();
        for rule in &self.rules {
            let words: Vec<&str> = rule.split(' ').collect();
            let at = words.iter().position(|word| *word == "pref").unwrap();
            rules.push((words[at + 1].parse().unwrap(), words));
        }
        rules.sort();
        let meets = |words: &[&str]| {
            let [of, what, value, "lookup", ..] = *words else { panic!("{words:?}") };
            of == version
                && match what {
                    "fwmark" => {
                        let number =
                            |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
                        let (mark, mask) = value.split_once('/').unwrap_or((value, "ffffffff"));
                        number(mark) == packet.mark & number(mask)
                    }
                    "to" => {
                        let (of, length) = value.split_once('/').unwrap();
                        let prefix = Prefix { address: of.parse().unwrap(), length: length.parse().unwrap() };
                        prefix.contains(packet.destination)
                    }
                    other => panic!("{other}"),
                }
        };
        let chosen = rules.iter().filter(|(_, words)| meets(words)).map(|(_, words)| words[4]);
        chosen.chain(["main"]).find_map(|table| self.route(packet.destination, table))
    }

    fn leaves(&self, mut packet: Packet, route: &str) -> Option<Left> {
        // What is inside goes on, of which the packet says nothing.
        if route.contains(" seg6local ") {
            return Some(Left { segment: None, dscp: packet.dscp });
        }
        let words: Vec<&str> = route.split(' ').collect();
        let at = words.iter().position(|word| *word == "segs");
        let segment: Option<Ipv6Addr> = at.map(|at| words[at + 1].parse().unwrap());
        if let Some(segment) = segment {
            // The kernel sets no class of what is around a packet.
            let (source, destination) = (Ipv6Addr::LOCALHOST.into(), segment.into());
            packet = Packet { source, destination, protocol: 41, dscp: 0, ..packet };
        }
        self.hook("postrouting", &mut packet, &mut Vec::new()).then_some(Left { segment, dscp: packet.dscp })
    }

    /// All that leaves when a packet comes.
    pub(crate) fn pass(&self, mut packet: Packet) -> Vec<Left> {
        let mut doubles = Vec::new();
        let goes_on = self.hook("prerouting", &mut packet, &mut doubles);
        let mut left = Vec::new();
        for (double, address) in doubles {
            left.extend(self.route(address, "main").and_then(|route| self.leaves(double, route)));
        }
        if goes_on {
            let route = self.routed(&packet).map(str::to_owned);
            left.extend(route.and_then(|route| self.leaves(packet, &route)));
        }
        left
    }

    /// What policers of a device let through, and when: nanoseconds. Packets that no policer is for pass at once.
    pub(crate) fn policed(&self, device: &str, packets: &[(u64, Packet)]) -> Vec<(u64, Packet)> {
        struct Bucket {
            rate: i128,
            most: i128,
            tokens: i128,
            at: u64,
            waiting: usize,
            released: Vec<u64>,
        }
        let after = |line: &str, word: &str| -> String {
            let mut words = line.split_whitespace().skip_while(|other| *other != word);
            words.nth(1).unwrap().to_owned()
        };
        let mut buckets: BTreeMap<String, Bucket> = BTreeMap::new();
        let mut passed = Vec::new();
        for (now, packet) in packets {
            let filter = self.filters.iter().find(|of| of[0] == device && selects(&of[3], packet));
            let Some(filter) = filter else {
                passed.push((*now, packet.clone()));
                continue;
            };
            let key = (device.to_owned(), filter[2].clone());
            let class = &self.classes[&key];
            let least: u64 = after(class, "mpu").parse().unwrap();
            let bucket = buckets.entry(filter[2].clone()).or_insert_with(|| {
                let most = after(class, "burst").parse::<i128>().unwrap() * 8 * BIT;
                let rate = after(class, "rate").trim_end_matches("bit").parse().unwrap();
                let waiting = after(&self.queues[&key], "limit").parse().unwrap();
                Bucket { rate, most, tokens: most, at: 0, waiting, released: Vec::new() }
            });
            if bucket.released.iter().filter(|at| *at > now).count() >= bucket.waiting {
                continue;
            }
            // It leaves when the one before has left, and the bucket is not in debt.
            let from = (*now).max(bucket.at);
            bucket.tokens = bucket.most.min(bucket.tokens + i128::from(from - bucket.at) * bucket.rate);
            let wait =
                u64::try_from((-bucket.tokens).max(0).unsigned_abs().div_ceil(bucket.rate.unsigned_abs()));
            let wait = wait.unwrap();
            bucket.tokens += i128::from(wait) * bucket.rate;
            bucket.tokens -= i128::from(packet.length.max(least)) * 8 * BIT;
            bucket.at = from + wait;
            bucket.released.push(bucket.at);
            passed.push((bucket.at, packet.clone()));
        }
        passed.sort_by_key(|(at, _)| *at);
        passed
    }

    /// What routers print of their tables: what a manager that starts again reads.
    pub(crate) fn listing(&self) -> Value {
        let mut objects = Vec::new();
        let mut of: BTreeMap<(&str, &str), Vec<Value>> = BTreeMap::new();
        for ((name, _), element) in self.elements.iter().filter(|((name, _), _)| name.0 == "inet") {
            of.entry((&name.0, &name.1)).or_default().push(element.clone());
        }
        for ((_, name), elements) in of {
            let kind = if name == "held" { "set" } else { "map" };
            objects.push(serde_json::json!({ kind: { "name": name, "elem": elements } }));
        }
        for (name, rules) in self.chains.iter().filter(|(name, _)| name.0 == "inet") {
            for [expressions, comment] in rules {
                let mut rule = serde_json::json!({ "chain": name.1, "expr": expressions });
                if !comment.is_null() {
                    rule["comment"] = comment.clone();
                }
                objects.push(serde_json::json!({ "rule": rule }));
            }
        }
        serde_json::json!({ "nftables": objects })
    }
}

/// Whether a filter of `tc` is about a packet.
fn selects(filter: &str, packet: &Packet) -> bool {
    let words: Vec<&str> = filter.split_whitespace().collect();
    words.iter().enumerate().filter(|(_, word)| **word == "match").all(|(at, _)| {
        let (version, what, value) = (words[at + 1], words[at + 2], words[at + 3]);
        let is_address = |address: IpAddr| value.split_once('/').unwrap().0.parse() == Ok(address);
        let is_number = |number: u16| value.parse() == Ok(number);
        (version == "ip") == packet.source.is_ipv4()
            && match what {
                "src" => is_address(packet.source),
                "dst" => is_address(packet.destination),
                "protocol" => is_number(packet.protocol.into()),
                "sport" => is_number(packet.ports[0]),
                "dport" => is_number(packet.ports[1]),
                other => panic!("{other}"),
            }
    })
}

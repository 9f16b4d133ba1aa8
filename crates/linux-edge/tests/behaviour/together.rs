//! Commands that are carried out together leave routers as the same commands do one by one. The judge is a model of a router that is as strict
//! as the kernel: what is added twice, or taken away and not there, or still in use, is an error.
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use linux_edge::LinuxEdge;
use linux_edge::program::{Program, Step};
use serde_json::Value;
use testkit::random::Random;
use wan::{
    Addresses, AggregateId, Asking, Asn, BackendCommand, Class, Demand, Direction, FlowKind, FlowRequest,
    Holding, LegId, LinkId, Place, SessionId, TSpec, TunnelId,
};

use crate::networks::domain;

/// What one router has been told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Router {
    chains: BTreeMap<String, Vec<String>>,
    /// By map and key.
    elements: BTreeMap<(String, String), String>,
    /// By device and class.
    classes: BTreeMap<(String, String), String>,
    queues: BTreeMap<(String, String), String>,
    /// Device, preference, class, and all of it.
    filters: Vec<[String; 4]>,
    routes: BTreeMap<String, String>,
    rules: Vec<String>,
    /// Contracts of what is marked down, by interface and key.
    colours: BTreeMap<(String, Vec<u8>), Vec<u8>>,
}

impl Router {
    fn uses(&self, chain: &str) -> bool {
        self.elements.values().any(|verdict| verdict.contains(&format!("\"{chain}\"")))
    }

    fn nft(&mut self, command: &Value) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what}: {command}"));
        let (verb, of) = command.as_object().unwrap().iter().next().unwrap();
        let (kind, of) = of.as_object().unwrap().iter().next().unwrap();
        let text = |key: &str| of[key].as_str().unwrap().to_owned();
        match (verb.as_str(), kind.as_str()) {
            ("add", "chain") => drop(self.chains.entry(text("name")).or_default()),
            ("add", "rule") => match self.chains.get_mut(&text("chain")) {
                Some(rules) => rules.push(format!("{} {}", of["expr"], of["comment"])),
                None => return wrong("no such chain"),
            },
            ("flush", "chain") => match self.chains.get_mut(&text("name")) {
                Some(rules) => rules.clear(),
                None => return wrong("no such chain"),
            },
            ("delete", "chain") => {
                if self.uses(&text("name"))
                    || self.chains.remove(&text("name")).is_none_or(|of| !of.is_empty())
                {
                    return wrong("in use, or not there");
                }
            }
            (verb, "element") => {
                for element in of["elem"].as_array().unwrap() {
                    let (key, value) = match element {
                        Value::Array(pair) => (pair[0].to_string(), pair[1].to_string()),
                        Value::Object(of) => {
                            (of["elem"]["val"].to_string(), of["elem"]["comment"].to_string())
                        }
                        other => (other.to_string(), String::new()),
                    };
                    let key = (text("name"), key);
                    if verb == "delete" {
                        if self.elements.remove(&key).is_none() {
                            return wrong("no such element");
                        }
                        continue;
                    }
                    let target = element.pointer("/1/goto/target").and_then(Value::as_str);
                    if target.is_some_and(|chain| !self.chains.contains_key(chain)) {
                        return wrong("no such chain");
                    }
                    if self.elements.insert(key, value).is_some() {
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
    fn step(&mut self, step: &Step) -> Result<(), String> {
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

    /// Whatever is let in meets a policer and a rule.
    fn is_sound(&self) -> bool {
        self.elements.iter().filter(|((map, _), _)| map != "held").all(|(_, verdict)| {
            let mut chains = self.chains.iter();
            let (chain, rules) = chains.find(|(chain, _)| verdict.contains(&format!("\"{chain}\""))).unwrap();
            let slot = chain.split('-').nth(1).unwrap();
            let class = format!("1:{slot}");
            !rules.is_empty() && self.filters.iter().any(|of| of[2] == class)
        })
    }

    /// In any order that means the same.
    fn sorted(mut self) -> Self {
        self.filters.sort_unstable();
        self.rules.sort_unstable();
        self
    }
}

type Routers = BTreeMap<usize, Router>;

fn tell(routers: &mut Routers, program: &Program) -> Result<(), String> {
    let router = routers.entry(program.router).or_default();
    router.step(&program.step)?;
    assert!(router.is_sound(), "after {program:?}: {router:?}");
    Ok(())
}

fn sorted(routers: &Routers) -> Routers {
    let sorted = routers.iter().map(|(at, router)| (*at, router.clone().sorted()));
    sorted.filter(|(_, router)| *router != Router::default()).collect()
}

fn command(random: &mut Random, ticket: u64) -> BackendCommand {
    let number = random.range(1, 4);
    let class = if number.is_multiple_of(2) { Class::Ef } else { Class::Af4 };
    let aggregate = AggregateId { tunnel: TunnelId { origin: Asn(1), number }, class };
    let (one, other) = (Place::Border(LinkId(1)), Place::Border(LinkId(2)));
    let places = [(Place::Edges, one), (one, Place::Edges), (one, other), (Place::Edges, other)];
    let (from, to) = places[usize::try_from(number - 1).unwrap()];
    let session = SessionId { origin: Asn(1), number: random.range(1, 6) };
    let leg = LegId { session, flow: 0, peer: Asn(2) };
    match random.range(0, 99) {
        0..30 => {
            let rate = random.range(1, 9) * 1_000;
            let (least_packet, largest_packet) = (200, 200);
            let demand = Demand { from, to, class, rate, burst: 400, least_packet, largest_packet };
            BackendCommand::Reserve { ticket, aggregate, demand }
        }
        30..50 => {
            let mut label = |is: bool| is.then(|| u32::try_from(random.range(16, 18)).unwrap());
            let (label_in, label_out) = (label(from != Place::Edges), label(to != Place::Edges));
            // Labels that a domain gives are of one aggregate.
            let label_in = label_in.map(|label| label + 10 * u32::try_from(number).unwrap());
            BackendCommand::Commit { aggregate, label_in, label_out }
        }
        50..80 => {
            let port = u16::try_from(random.range(7_400, 7_405)).unwrap();
            let flow = FlowRequest {
                kind: FlowKind::Data,
                direction: Direction::Forward,
                protocol: 17,
                source_port: if random.chance(30) { 0 } else { 9 },
                destination_port: port,
                class,
                desired: TSpec::of_packets(200, 10_000_000).unwrap(),
                least_rate: 1,
                limit: 1,
                most_loss: wan::ANY_LOSS,
                copies: 1,
                asking: Asking::HopByHop,
            };
            let host = |second| IpAddr::V4(Ipv4Addr::new(10, second, 0, 2));
            let addresses = Addresses { sources: vec![host(1)], destinations: vec![host(2)] };
            BackendCommand::Open { ticket, leg, aggregate, flow, addresses }
        }
        80..97 => {
            let holding = if random.chance(70) { Holding::Flow(leg) } else { Holding::Aggregate(aggregate) };
            BackendCommand::Release { ticket, holding }
        }
        _ => BackendCommand::Observe { ticket },
    }
}

#[test]
fn commands_together_leave_what_they_leave_one_by_one() {
    let (mut let_in, mut saved, mut taken_back, mut marked_down) = (0, 0, 0, 0);
    for seed in 0..tiers::current().number("property.cases") {
        let mut random = Random::new(seed);
        let domain = std::iter::repeat_with(|| domain(&mut random))
            .find(|domain| domain.borders.len() == 2 && domain.ceilings.len() == 4)
            .unwrap();
        let mut random = Random::new(seed);
        let (mut one, mut all) = (LinuxEdge::new(domain.clone()).unwrap(), LinuxEdge::new(domain).unwrap());
        let (mut by_one, mut together) = (Routers::new(), Routers::new());
        let mut ticket = 0;
        for _ in 0..20 {
            let commands: Vec<BackendCommand> = (0..random.range(1, 20))
                .map(|_| {
                    ticket += 1;
                    command(&mut random, ticket)
                })
                .collect();
            let (mut answers, mut count) = (Vec::new(), [0, 0]);
            for command in &commands {
                let handled = one.handle(command.clone());
                for program in &handled.programs {
                    tell(&mut by_one, program).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
                }
                count[0] += handled.programs.len();
                answers.push((handled.answer, handled.trouble));
            }
            let mut answered = Vec::new();
            while answered.len() < commands.len() {
                let done = all.together(&commands[answered.len()..]);
                assert!(!done.decided.is_empty());
                // Where a router stops in between, what undoes it leaves what was there before.
                if done.released.is_empty() && !done.programs.is_empty() {
                    let mut stopped = together.clone();
                    let steps = random.range(0, done.programs.len() as u64);
                    for program in done.programs.iter().take(usize::try_from(steps).unwrap()) {
                        tell(&mut stopped, program).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
                    }
                    for program in &done.undo {
                        let _ = stopped.entry(program.router).or_default().step(&program.step);
                    }
                    assert_eq!(sorted(&stopped), sorted(&together), "seed {seed}, after {steps} steps");
                    taken_back += 1;
                }
                for program in &done.programs {
                    tell(&mut together, program)
                        .unwrap_or_else(|what| panic!("seed {seed}: {what} in {done:#?}"));
                }
                count[1] += done.programs.len();
                answered.extend(done.decided.into_iter().map(|of| (of.answer, of.trouble)));
            }
            assert_eq!(answered, answers, "seed {seed}");
            assert_eq!(sorted(&together), sorted(&by_one), "seed {seed}: {commands:#?}");
            assert!(count[1] <= count[0], "seed {seed}: {count:?}");
            saved += count[0] - count[1];
            let chains = together.values().flat_map(|router| router.chains.keys());
            marked_down += together.values().map(|router| router.colours.len()).sum::<usize>();
            let_in += chains.filter(|chain| chain.starts_with("flow-")).count();
        }
    }
    assert!(let_in > 100 && saved > 1_000 && taken_back > 500, "{let_in} {saved} {taken_back}");
    assert!(marked_down > 100, "{marked_down} contracts of what is marked down");
}

//! Requests for those who do not ask: made of what has been found, changed with it, and withdrawn.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use latency::switch::Guard;
use wire::admission::{Contract, Losses, MOST_TEXT, Request, Socket, Stage};

use super::aggregate::Aggregate;
use super::between::{Ends, Match, Matches, Names, ambiguous, limit_of, matches};
use super::{Described, Endpoint};
use crate::action::{Facts, Pair};
use crate::fabric::Fabric;
use crate::requests::cut;
use crate::resource_manager::ResourceManager;

/// Why nothing is promised to anybody if there is too much to look at.
const TOO_MANY: &str = "there are more pairs of writers and readers than can be looked at";

/// What was asked last for each pair that does not ask.
#[derive(Default, Debug)]
pub(crate) struct Foreign {
    asked: BTreeMap<Pair, (Request, Facts)>,
    /// What was found last, and the host of each address of it: nothing is done as long as both stay.
    seen: Vec<Endpoint>,
    hosts: Vec<Option<usize>>,
}

/// What is asked for a pair, without serial.
type Asking = BTreeMap<Pair, (Request, Facts)>;

impl ResourceManager {
    /// These writers and readers are there now, those of the manager among them. Pairs of what is described
    /// ([`crate::config::Config::described`]) are asked for, asked for otherwise, or not any more.
    pub fn discovered(&mut self, now: Duration, endpoints: Vec<Endpoint>) {
        if self.config.described.topics.is_empty() {
            return;
        }
        let addresses = endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
        let hosts: Vec<Option<usize>> = addresses.map(|at| self.fabric.host_of(*at)).collect();
        if self.foreign.seen == endpoints && self.foreign.hosts == hosts {
            return;
        }
        let wanted = wanted(&self.config.described, &self.fabric, &endpoints);
        (self.foreign.seen, self.foreign.hosts) = (endpoints, hosts);
        let gone: Vec<Pair> =
            self.foreign.asked.keys().filter(|pair| !wanted.contains_key(pair)).copied().collect();
        for pair in gone {
            self.foreign.asked.remove(&pair);
            self.forget(now, pair);
        }
        // All of them are known before any of them is looked at: those of an aggregate have one contract.
        for (pair, (request, facts)) in wanted {
            let known = self.foreign.asked.get(&pair);
            let serial = known.map_or(0, |(request, _)| request.serial);
            let same = known.is_some_and(|(before, facts_before)| {
                Request { serial: 0, ..before.clone() } == request && *facts_before == facts
            });
            if same {
                continue;
            }
            let request = Request { serial: serial.saturating_add(1), ..request };
            self.foreign.asked.insert(pair, (request.clone(), facts.clone()));
            self.take_request(now, request, facts);
        }
        self.work(now);
    }
}

/// All that is to be asked for.
fn wanted(described: &Described, fabric: &Fabric, endpoints: &[Endpoint]) -> Asking {
    let mut wanted = Asking::new();
    let (all, is_all) = matches(endpoints);
    for (ends, found) in &all {
        // Between addresses of one host nothing goes over the network.
        if fabric.host_of(ends.0).is_some_and(|host| fabric.host_of(ends.1) == Some(host)) {
            continue;
        }
        let (from, to) = (fabric.host_name(ends.0), fabric.host_name(ends.1));
        let names = Names { from: &from, to: &to, ends: *ends };
        // It is the same for all of them, and is found out once.
        let mut aggregate: Option<Result<(Aggregate, Contract), String>> = None;
        for found in found {
            let Some(topic) = described.of(*found, names) else { continue };
            if found.writer.is_assured && found.reader.is_assured {
                continue;
            }
            let limit = match limit_of(topic, *found) {
                Ok(Some(limit)) => Ok(limit),
                Ok(None) => continue,
                Err(why) => Err(why),
            };
            let look = || match is_all {
                true => between(described, fabric, &all, names),
                false => Err(TOO_MANY.into()),
            };
            let mut together = || aggregate.get_or_insert_with(look).clone();
            let asked = limit.as_ref().copied().unwrap_or(0);
            let known = match (ambiguous(*found), limit) {
                (Some(why), _) | (None, Err(why)) => Err(why),
                (None, Ok(_)) => together(),
            };
            let pair = (found.writer.guid, found.reader.guid);
            // One that may go several ways is refused, and asks once.
            wanted.entry(pair).or_insert_with(|| asking(*found, *ends, asked, known));
        }
    }
    wanted
}

/// What is asked for a match, or why it cannot be.
fn asking(
    found: Match<'_>,
    ends: Ends,
    limit: u64,
    known: Result<(Aggregate, Contract), String>,
) -> (Request, Facts) {
    let (contract, aggregate) = match known {
        Ok((aggregate, contract)) => (contract, Ok(aggregate)),
        Err(why) => (Contract::default(), Err(cut(&why))),
    };
    let request = Request {
        writer: found.writer.guid.to_bytes(),
        reader: found.reader.guid.to_bytes(),
        serial: 0,
        topic: found.writer.topic.chars().take(MOST_TEXT / 4).collect(),
        contract,
        maximum_latency: limit,
        maximum_separation: 0,
        source: Socket { address: ends.0, port: 0 },
        destination: Socket { address: ends.1, port: 0 },
        stage: Stage::Unassured,
        manager: [0; 16],
        losses: Losses::default(),
    };
    let facts = Facts {
        writer_addresses: found.writer.addresses.clone(),
        reader_addresses: found.reader.addresses.clone(),
        aggregate: Some(aggregate),
        ..Facts::default()
    };
    (request, facts)
}

/// What all UDP between two hosts comes to, with all that is known to go there.
fn between(
    described: &Described,
    fabric: &Fabric,
    all: &Matches<'_>,
    names: Names<'_>,
) -> Result<(Aggregate, Contract), String> {
    let (network, ends) = (fabric.network(), names.ends);
    let missing =
        || alloc::format!("no host of the network has the address {}", crate::requests::dotted(ends.0));
    let from = fabric.host_of(ends.0).ok_or_else(missing)?;
    let (access, entry) = network.access(from).ok_or_else(missing)?;
    let port = network.links.get(access).ok_or_else(missing)?.port;
    if port.queues > 1 {
        return Err(alloc::format!(
            "host {} has several queues, and puts what such programs send into the lowest: give it `queues = 1` in the network file",
            names.from
        ));
    }
    let switch = network.links.get(entry).and_then(|link| network.switch_of(link.from));
    let model = switch.and_then(|switch| network.switches.get(switch)).map(|switch| &switch.model);
    if !model.is_some_and(|model| matches!(model.guard, Guard::Gates { .. })) {
        return Err(alloc::format!(
            "the switch of {} has no gates, which hold such programs to what is described of them",
            names.from
        ));
    }
    let of = |ends: Ends| all.get(&ends).map(Vec::as_slice).unwrap_or_default();
    described.aggregate(of(ends), of((ends.1, ends.0)), names, &port)
}

//! Random networks, requests and faults: what always holds, and what holds when all is quiet.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control::network::Network;
use latency::port::Control;
use openflow::flow::FlowMod;
use wire::admission::{Contract, Request, State, Verdict};
use wire::{Guid, GuidPrefix};

use crate::counts::{Counts, Fault};
use crate::doing::{Mutant, Next};
use crate::judge::{Case, announcement, judge};
use crate::networks::{GATES, METERS, network_with, open_vswitch};
use crate::random::Random;
use crate::switch::{Packet, Switch};
use crate::world::{Pair, World, address, guid, mac, packet_of, request};

const STEPS: usize = 52;

struct Play {
    random: Random,
    world: World,
    /// What is asked for now, with the hosts of writer and reader.
    asked: BTreeMap<Pair, (Request, usize, usize)>,
    serial: u64,
    /// Switches whose tables have been lost since they were last connected.
    forgetful: BTreeSet<usize>,
    /// Few writers with many readers.
    is_crowd: bool,
    /// How often the participant of each number has crashed: each time it comes back with another GUID.
    lives: BTreeMap<u8, u8>,
    /// Participants that have crashed and have not been missed yet.
    ghosts: BTreeSet<GuidPrefix>,
}

fn some_network(random: &mut Random, is_crowd: bool) -> Network {
    let switches = 1 + random.below(5);
    let hosts: Vec<usize> =
        (0..2 + random.below(5) + usize::from(is_crowd)).map(|_| random.below(switches)).collect();
    let mut cables = BTreeSet::new();
    // Something that hangs together, and some more.
    for switch in 1..switches {
        cables.insert((random.below(switch), switch));
    }
    for _ in 0..random.below(4) {
        let (one, other) = (random.below(switches), random.below(switches));
        if one < other {
            cables.insert((one, other));
        }
    }
    let guard = if !is_crowd && random.one_in(5) { METERS } else { GATES };
    let control = random.one_in(2).then(|| Control {
        // Too little for everybody, hardly enough, and more.
        burst: *random.of(&[40_000, 160_000, 240_000]),
        rate: *random.of(&[500_000, 2_000_000]),
    });
    let cables: Vec<_> = cables.into_iter().collect();
    network_with(control, &open_vswitch(guard), switches, &hosts, &cables)
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_crowd = random.one_in(2);
        let network = some_network(&mut random, is_crowd);
        let mut world = World::new(network, control::config::Config::default());
        world.acknowledge = !random.one_in(4);
        Self {
            random,
            world,
            asked: BTreeMap::new(),
            serial: 0,
            forgetful: BTreeSet::new(),
            is_crowd,
            lives: BTreeMap::new(),
            ghosts: BTreeSet::new(),
        }
    }

    /// An endpoint of the participant with a number, as it lives now.
    fn endpoint(&self, participant: usize, entity: usize) -> Guid {
        let participant = u8::try_from(participant).unwrap();
        let mut octets = guid(participant, u8::try_from(entity).unwrap()).to_bytes();
        octets[4] = self.lives.get(&participant).copied().unwrap_or(0);
        Guid::from_bytes(octets)
    }

    /// A participant crashes. It is back at once, with another GUID; who it was is missed now or later.
    fn crash(&mut self) {
        let pairs: Vec<Pair> = self.asked.keys().copied().collect();
        if pairs.is_empty() {
            return;
        }
        let pair = *self.random.of(&pairs);
        let gone = if self.random.one_in(2) { pair.0 } else { pair.1 };
        let [.., number, life] = *gone.to_bytes().first_chunk::<5>().unwrap();
        if self.lives.get(&number).copied().unwrap_or(0) == life {
            self.lives.insert(number, life.wrapping_add(1));
        }
        if self.random.one_in(2) {
            self.world.counts.add(Fault::ClientBackEarly);
            self.ghosts.insert(gone.prefix);
        } else {
            self.world.counts.add(Fault::ClientCrashed);
            self.miss(gone.prefix);
        }
    }

    /// The manager misses a participant.
    fn miss(&mut self, gone: GuidPrefix) {
        self.ghosts.remove(&gone);
        self.asked.retain(|pair, _| pair.0.prefix != gone && pair.1.prefix != gone);
        self.world.manager.participant_lost(self.world.now, gone);
        self.world.collect();
    }

    fn some_request(&mut self) {
        let hosts = self.world.network.hosts.len();
        let (mut from, to) = (self.random.below(hosts), self.random.below(hosts));
        // Few writers and readers, so that they meet.
        let mut entity = self.random.below(3);
        if self.is_crowd {
            (from, entity) = (self.random.below(2), 1);
        }
        let writer = self.endpoint(from, entity);
        let reader = self.random.below(2);
        let reader = self.endpoint(100 + to, reader);
        let pair = (writer, reader);
        let contract = Contract {
            largest_message: *self.random.of(&[100, 1_000, 4_000, 4_000, 16_000, 48_000]),
            smallest_message: 100,
            datagram: 1_472,
            minimum_separation: *self.random.of(&[1_000_000, 5_000_000, 7_500_000, 30_000_000]),
            maximum_separation: 0,
            jitter: *self.random.of(&[0, 0, 100_000]),
            emission: *self.random.of(&[0, 0, 150_000]),
            importance: u8::try_from(self.random.below(3)).unwrap(),
        };
        let contract = if self.is_crowd && !self.random.one_in(20) {
            let (octets, separation) = if from == 0 { (4_000, 7_500_000) } else { (1_000, 5_000_000) };
            Contract {
                largest_message: octets,
                minimum_separation: separation,
                jitter: 0,
                emission: 0,
                importance: 1,
                ..contract
            }
        } else {
            contract
        };
        let limit = *self.random.of(&[1_000_000, 3_000_000, 5_000_000, 8_000_000, 30_000_000]);
        self.serial += 1;
        let ports = (5_000 + u16::from(writer.to_bytes()[14]), 6_000);
        let mut asked = request(pair, self.serial, from, to, ports, contract, limit);
        if let Some((before, _, _)) = self.asked.get(&pair).filter(|_| self.random.one_in(2)) {
            asked.contract = before.contract;
        }
        self.asked.insert(pair, (asked.clone(), from, to));
        self.world.ask(asked);
    }

    fn restart(&mut self) {
        self.world.restart();
        // Who is not there any more has nothing that a new manager could discover.
        for gone in std::mem::take(&mut self.ghosts) {
            self.asked.retain(|pair, _| pair.0.prefix != gone && pair.1.prefix != gone);
        }
        // Requests are still there for the new manager.
        for (asked, _, _) in self.asked.values().cloned().collect::<Vec<_>>() {
            self.world.ask(asked);
        }
    }

    fn step(&mut self) {
        let switches = self.world.switches.len();
        let switch = self.random.below(switches);
        match self.random.below(24) {
            0..=6 => self.some_request(),
            7 | 8 => {
                let pairs: Vec<Pair> = self.asked.keys().copied().collect();
                if !pairs.is_empty() {
                    let pair = *self.random.of(&pairs);
                    self.asked.remove(&pair);
                    self.world.withdraw(pair);
                }
            }
            9 => match self.ghosts.first().copied().filter(|_| self.random.one_in(2)) {
                Some(gone) => self.miss(gone),
                None => self.crash(),
            },
            10 if self.world.lines[switch].is_some() => {
                self.world.disconnect(switch);
                if self.random.one_in(2) {
                    self.world.switches[switch] = Switch::default();
                    self.forgetful.insert(switch);
                }
            }
            11 => {
                // Mostly one that is in the middle of something, if there is one.
                let busy = self.world.agents.iter().position(|agent| agent.answer.is_some());
                let busy = busy.filter(|_| !self.random.one_in(4));
                self.world.disconnect_agent(busy.unwrap_or(switch));
            }
            12..=15 => {
                self.reconnect();
                self.world.greet();
            }
            16 => {
                let cable = 2 * self.random.below(self.world.network.links.len() / 2);
                let up = self.world.down.contains(&cable);
                self.world.cable(cable, up);
            }
            17 if self.random.one_in(3) => self.restart(),
            18 => {
                // A switch with little room.
                let flows = self.world.switches[switch].flows.len();
                let most = if self.random.one_in(2) { Some(flows + self.random.below(4)) } else { None };
                self.world.switches[switch].most_flows = most;
                let groups = self.world.switches[switch].groups.len();
                let most = if self.random.one_in(2) { Some(groups + self.random.below(2)) } else { None };
                self.world.switches[switch].most_groups = most;
                self.world.store_fails = self.random.one_in(3);
            }
            19 => {
                let time = *self.random.of(&[1, 10, 100, 1_000, 4_000]);
                self.world.pass(Duration::from_millis(time));
            }
            // A connection ends with what is on the way, or carries nothing any more.
            20 => {
                let is_lost = self.random.one_in(2);
                match &mut self.world.lines[switch] {
                    Some(line) if line.under_way() == 0 => {}
                    Some(line) if !is_lost => {
                        line.is_stalled = true;
                        self.world.counts.add(Fault::LineStalled);
                    }
                    _ => self.world.disconnect(switch),
                }
            }
            _ => {
                for _ in 0..1 + self.random.below(40) {
                    let next = self.world.next();
                    if next.is_empty() {
                        break;
                    }
                    let next = *self.random.of(&next);
                    // The worst moments for a crash are around a commit.
                    if matches!(next, Next::Commit | Next::Stored) && self.random.one_in(16) {
                        self.restart();
                        break;
                    }
                    // Of octets mostly all, so that something comes about; else whatever a connection may give at a time.
                    let octets = *self.random.of(&[1, 8, 60, 300, 1_448, usize::MAX, usize::MAX, usize::MAX]);
                    self.world.happen(next, octets);
                }
            }
        }
        self.strange_packets();
        self.check();
    }

    fn reconnect(&mut self) {
        for switch in 0..self.world.switches.len() {
            if self.world.lines[switch].is_none() {
                self.world.connect(switch);
            }
            if !self.world.agents[switch].is_connected {
                self.world.connect_agent(switch);
            }
        }
    }

    /// Packets that nobody has admitted come from anywhere, and want to be admitted ones.
    fn strange_packets(&mut self) {
        let hosts = self.world.network.hosts.len();
        let (from, to) = (self.random.below(hosts), self.random.below(hosts));
        let dscp = *self.random.of(&[0, 10, 18, 46, 48]);
        let plain = Packet {
            from: mac(from),
            to: if self.random.one_in(3) { [0xff; 6] } else { mac(to) },
            kind: *self.random.of(&[0x0800, 0x0806]),
            source: address(from),
            destination: address(to),
            protocol: 17,
            ports: (7_400, *self.random.of(&[7_400, 7_410, 7_411])),
            dscp,
        };
        let forged = self.asked.values().nth(self.random.below(self.asked.len().max(1)));
        let packet = match forged.filter(|(_, writer, _)| *writer != from) {
            Some((asked, writer, reader)) => {
                let verdict = self.world.verdicts.values().find(|verdict| verdict.pair() == asked.pair());
                let destination = verdict.map_or(asked.destination, |verdict| verdict.destination);
                let asked = Request { destination, ..asked.clone() };
                Packet { from: mac(from), ..packet_of(&asked, *writer, *reader, dscp) }
            }
            None => plain,
        };
        let discovery = self
            .world
            .discovery_of(from)
            .filter(|_| packet.kind == 0x0800 && gate::metatraffic::domain_of(packet.ports.1) == Some(0));
        for (_, _, trace) in self.world.send(from, packet) {
            let after = trace.iter().skip(1);
            let allowed = |dscp: u8| dscp == 0 || dscp == gate::class::CONTROL && discovery.is_some();
            let has_level = after.clone().any(|(_, dscp)| !allowed(*dscp)) && packet.kind == 0x0800;
            assert!(!has_level, "{packet:?} from {from} has a level: {trace:?}");
        }
    }

    /// What holds at any time.
    fn check(&mut self) -> Vec<Case> {
        self.world.manager.audit().unwrap();
        let report = self.world.manager.report();
        for pair in &report.pairs {
            assert!(
                pair.state == "admitted" && pair.present <= pair.promised || pair.promised == 0,
                "{pair:?}"
            );
        }
        let admitted: Vec<_> = self
            .world
            .verdicts
            .values()
            .filter(|verdict| verdict.state == State::Admitted && verdict.epoch == self.world.epoch)
            .cloned()
            .collect();
        let mut cases = Vec::new();
        for verdict in admitted {
            let Some((asked, from, to)) = self.asked.get(&verdict.pair()).cloned() else {
                panic!("a verdict for nobody: {verdict:?}")
            };
            if verdict.serial == asked.serial {
                assert!((1..=asked.maximum_latency).contains(&verdict.bound), "{verdict:?}");
            }
            let way: Vec<usize> = self.way(&report, verdict.pair());
            let node = |switch: usize| self.world.network.switch_node(switch);
            let on_way =
                |switch: &usize| way.iter().any(|link| self.world.network.links[*link].from == node(*switch));
            // Nobody can know what happens at a switch that is away, or that has said it and was not heard yet.
            let away = (0..self.world.switches.len()).filter(|switch| !self.world.is_heard(*switch));
            let broken = way.iter().any(|link| self.world.down.contains(link));
            if self.forgetful.iter().any(on_way) || broken && away.into_iter().any(|switch| on_way(&switch)) {
                continue;
            }
            let reader = asked.destination;
            let asked = Request { source: verdict.source, destination: verdict.destination, ..asked };
            let mut arrived = self.world.send(from, packet_of(&asked, from, to, verdict.dscp));
            let hosts: BTreeSet<usize> = arrived.iter().map(|(host, _, _)| *host).collect();
            assert_eq!(hosts.len(), arrived.len(), "a host has it twice: {verdict:?} {arrived:?}");
            if verdict.destination.address[0] == 239 {
                // On its last link it is for the reader alone; others may have it, too.
                arrived.retain(|(host, _, _)| *host == to);
                self.world.counts.add(Fault::ServedByTree);
            }
            assert_eq!(arrived.len(), 1, "not there, or elsewhere: {verdict:?} {arrived:?}");
            let (host, packet, trace) = &arrived[0];
            assert_eq!(*host, to);
            assert_eq!(
                (packet.to, packet.destination, packet.ports.1),
                (mac(to), reader.address, reader.port)
            );
            assert!(trace.iter().all(|(_, dscp)| *dscp != 0), "no level: {trace:?}");
            assert_eq!(trace.iter().map(|(link, _)| *link).collect::<Vec<_>>(), way);
            let first = self.world.network.switch_of(self.world.network.links[way[0]].to).unwrap();
            if self.world.has_gates(first) {
                let key = self.world.gates[first].iter().find(|(key, _)| {
                    key.flow.source.octets() == asked.source.address
                        && key.flow.source_port == asked.source.port
                        && key.flow.destination.octets() == asked.destination.address
                });
                assert!(key.is_some_and(|(_, gate)| gate.octets >= verdict.octets), "no gate: {verdict:?}");
            }
            cases.push(Case { contract: asked.contract, trace: trace.clone(), verdict });
        }
        cases
    }

    /// The links of an admitted pair.
    fn way(&self, report: &control::report::Report, pair: Pair) -> Vec<usize> {
        let digits =
            |guid: Guid| -> String { guid.to_bytes().iter().map(|octet| format!("{octet:02x}")).collect() };
        let of_pair = |found: &&control::report::PairReport| {
            (found.writer.as_str(), found.reader.as_str()) == (&*digits(pair.0), &*digits(pair.1))
        };
        let hops = &report.pairs.iter().find(of_pair).expect("the pair is reported").hops;
        let link = |port: &str| {
            let links = 0..self.world.network.links.len();
            links.into_iter().find(|link| self.world.network.port_name(*link) == port).unwrap()
        };
        hops.iter().map(|hop| link(&hop.port)).collect()
    }

    /// Everything comes back, and time passes: what holds then.
    fn quiet(&mut self) {
        self.world.store_fails = false;
        while let Some(gone) = self.ghosts.first().copied() {
            self.miss(gone);
        }
        for switch in &mut self.world.switches {
            switch.most_flows = None;
            switch.most_groups = None;
        }
        for link in (0..self.world.network.links.len()).step_by(2) {
            self.world.cable(link, true);
        }
        // Answers that were lost with a connection never come; the manager closes what does not answer.
        for _ in 0..6 {
            self.reconnect();
            self.forgetful.clear();
            self.world.greet();
            self.world.pass(Duration::from_secs(20));
        }
        let cases = self.check();
        if self.random.one_in(4)
            && let Err(reason) = judge(&mut self.world, &cases, self.random.next())
        {
            panic!("{reason}");
        }
        let report = self.world.manager.report();
        assert_eq!(report.operations, 0, "{:#?}", self.world.manager);
        for switch in &report.switches {
            assert_eq!((switch.state, switch.gates.unwrap_or(true)), ("ready", true));
        }
        let mut served = BTreeSet::new();
        for verdict in self.world.verdicts.values() {
            assert_ne!(verdict.state, State::Pending, "{verdict:?}");
            assert!(self.asked.contains_key(&verdict.pair()), "{verdict:?}");
            assert_eq!(verdict.serial, self.asked[&verdict.pair()].0.serial, "{verdict:?}");
            if verdict.state == State::Admitted {
                served.insert(verdict.pair());
            }
        }
        assert_eq!(self.world.verdicts.len(), self.asked.len());
        // Each pair has one stored grant if it is admitted, and none if not; each grant its rules, and each rule its grant.
        let mut stored = Vec::new();
        let (mut entries, mut forks) = (0, 0);
        for grant in self.world.store.values() {
            stored.extend(grant.pairs.iter().map(|pair| (pair.writer, pair.reader)));
            let parents: Vec<usize> = grant.hops.iter().filter_map(|hop| hop.parent).collect();
            entries += parents.iter().collect::<BTreeSet<_>>().len();
            let ends = grant.ends.len().max(1);
            assert!((0..ends).all(|end| grant.pairs.iter().any(|pair| pair.end == end)), "{grant:?}");
            forks += grant.hops.iter().filter(|hop| hop.group > 0).count();
        }
        stored.sort_unstable();
        let served: Vec<_> = served.into_iter().map(|pair| (pair.0.to_bytes(), pair.1.to_bytes())).collect();
        assert_eq!(stored, served, "stored grants and admitted pairs");
        let of_flows = |flow: &&FlowMod| flow.table.0 == 0 && flow.priority == 60_000;
        let rules: usize =
            self.world.switches.iter().map(|switch| switch.flows.iter().filter(of_flows).count()).sum();
        assert_eq!(rules, entries, "rules and grants");
        let copies: usize = self.world.switches.iter().map(|switch| switch.groups.len() - 1).sum();
        assert_eq!(copies, forks, "groups and grants");
        let contracts: usize = self.world.gates.iter().map(BTreeMap::len).sum();
        let meters: usize = self.world.switches.iter().map(|switch| switch.meters.len()).sum();
        let reserved = report.reserved.hosts;
        assert_eq!(contracts + meters, self.world.store.len() + reserved, "contracts and grants");
        // The discovery of every host that has a part of the class has it all the way.
        assert!(reserved == 0 || reserved == self.world.network.hosts.len());
        for host in 0..self.world.network.hosts.len() {
            assert_eq!(self.world.discovery_of(host).is_some(), reserved > 0);
            let wanted = if reserved > 0 { gate::class::CONTROL } else { gate::class::BEST_EFFORT };
            for (_, _, trace) in self.world.send(host, announcement(host)) {
                assert!(trace.iter().skip(1).all(|(_, dscp)| *dscp == wanted), "{trace:?}");
            }
        }
    }
}

impl Play {
    /// Nobody goes without what there is: who is refused when all is quiet, and asks the same again, is refused again.
    fn nobody_starves(&mut self) {
        let refused = |verdict: &&Verdict| verdict.state != State::Admitted;
        let refused: Vec<Verdict> = self.world.verdicts.values().filter(refused).cloned().collect();
        for verdict in refused {
            // A request that is void has to be made anew.
            if verdict.reason.contains("ask again") {
                continue;
            }
            self.serial += 1;
            let Some((asked, _, _)) = self.asked.get_mut(&verdict.pair()) else { continue };
            asked.serial = self.serial;
            let asked = asked.clone();
            self.world.ask(asked);
            self.world.pass(Duration::from_secs(20));
            assert_ne!(
                self.world.state(verdict.pair()),
                Some(State::Admitted),
                "it had to ask again: {verdict:?}"
            );
        }
    }
}

/// Plays one seed: what has happened in it.
pub(crate) fn play(seed: u64, mutant: Option<Mutant>) -> Counts {
    let mut play = Play::new(seed);
    if let Some(mutant) = mutant {
        play.world.spoil(mutant);
    }
    play.world.connect_all();
    play.world.greet();
    for _ in 0..STEPS {
        play.step();
    }
    play.quiet();
    play.nobody_starves();
    // Nobody wants anything any more: nothing is left.
    for pair in play.asked.keys().copied().collect::<Vec<_>>() {
        play.asked.remove(&pair);
        play.world.withdraw(pair);
    }
    play.world.pass(Duration::from_secs(20));
    play.quiet();
    assert!(play.world.store.is_empty() && play.world.verdicts.is_empty());
    play.world.counts
}

/// One seed again: `CONTROL_SEED=7 CONTROL_TRACE=1 cargo test --package punctual-control --test network seeds -- --nocapture`.
#[test]
fn random_networks_requests_and_faults() {
    let (mut counts, mut seeds) = (Counts::default(), 0);
    let one = std::env::var("CONTROL_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in one.map_or_else(|| tiers::current().seeds("control.seeds"), |seed| seed..seed + 1) {
        match std::panic::catch_unwind(|| play(seed, None)) {
            Ok(found) => {
                counts.add_all(&found);
                seeds += 1;
            }
            Err(panic) => {
                eprintln!("seed {seed}: replay with CONTROL_SEED={seed} CONTROL_TRACE=1 and --nocapture");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{seeds} seeds: {counts:#?}");
    for fault in Fault::ALL {
        assert!(one.is_some() || counts.of(fault) * 50 >= seeds, "{fault:?} hardly ever happens: {counts:?}");
    }
}

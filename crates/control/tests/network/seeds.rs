//! Random networks, requests and faults. What has to hold of them is in `holds.rs`.
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use control::network::Network;
use latency::port::Control;
use wire::admission::{Contract, Request, Socket};
use wire::{Guid, GuidPrefix};

use crate::counts::{Counts, Fault};
use crate::doing::{Mutant, Next};
use crate::drained::Drained;
use crate::foreign_seeds::Foreign;
use crate::losses::with_losses;
use crate::mix::{Mix, is_turned_away};
use crate::networks::{GATES, METERS, network_with, open_vswitch};
use crate::policy::TOPICS;
use crate::random::Random;
use crate::signing::Signing;
use crate::world::{Pair, REACTION, World, guid, in_vlan, over_ipv6, request};
use testkit::openflow_switch::Switch;

const STEPS: usize = 52;

pub(crate) struct Play {
    pub(crate) random: Random,
    pub(crate) world: World,
    /// What is asked for now, with the hosts of writer and reader.
    pub(crate) asked: BTreeMap<Pair, (Request, usize, usize)>,
    pub(crate) serial: u64,
    /// Where each request wants it, by its serial: an earlier verdict holds until there is another one.
    pub(crate) destinations: BTreeMap<(Pair, u64), Socket>,
    /// Switches whose tables have been lost since they were last connected.
    pub(crate) forgetful: BTreeSet<usize>,
    /// Few writers with many readers.
    is_crowd: bool,
    /// How often the participant of each number has crashed: each time it comes back with another GUID.
    lives: BTreeMap<u8, u8>,
    /// Hosts that have moved since all was quiet.
    pub(crate) movers: BTreeSet<usize>,
    /// A cable was cut without a word of its ports: one of its links, and the epoch of the manager that knew it to carry frames.
    pub(crate) cut: Option<(usize, u64)>,
    /// Participants that have crashed and have not been missed yet.
    pub(crate) ghosts: BTreeSet<GuidPrefix>,
    /// Programs that do not ask, if there are any.
    pub(crate) foreign: Option<Foreign>,
    /// How participants sign, if requests are signed.
    pub(crate) signing: Option<Signing>,
    /// Switches that are drained.
    pub(crate) drained: Drained,
    /// What else is a part of this world.
    pub(crate) mix: Mix,
}

/// Whether a request was made for those who do not ask.
pub(crate) const fn is_foreign(request: &Request) -> bool {
    request.source.port == 0
}

pub(crate) fn some_network(random: &mut Random, is_crowd: bool) -> Network {
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
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let is_crowd = random.one_in(2);
        let mut network = some_network(&mut random, is_crowd);
        if seed.is_multiple_of(3) {
            // Where hosts are has to be learned, and they may move.
            network.hosts.iter_mut().for_each(|host| host.addresses.clear());
        }
        // Half of them without reading back, which would put right what operations leave behind.
        let usual = control::config::Config::default();
        // Not as often as usual: most of the time nothing has changed.
        let inspection = if seed.is_multiple_of(2) { Duration::from_secs(1) } else { Duration::ZERO };
        let mut world =
            World::new(network, control::config::Config { inspection, losses: Some(REACTION), ..usual });
        world.acknowledge = !random.one_in(4);
        if random.one_in(2) {
            world.watch();
        }
        world.disorder = Some(Random::new(!seed));
        Self {
            random,
            world,
            asked: BTreeMap::new(),
            serial: 0,
            destinations: BTreeMap::new(),
            forgetful: BTreeSet::new(),
            is_crowd,
            lives: BTreeMap::new(),
            movers: BTreeSet::new(),
            cut: None,
            ghosts: BTreeSet::new(),
            foreign: None,
            signing: None,
            drained: Drained::default(),
            mix: Mix::default(),
        }
    }

    /// The pairs that ask.
    fn own_pairs(&self) -> Vec<Pair> {
        self.asked.iter().filter(|(_, (asked, _, _))| !is_foreign(asked)).map(|(pair, _)| *pair).collect()
    }

    /// An endpoint of the participant with a number, as it lives now.
    fn endpoint(&self, participant: usize, entity: usize) -> Guid {
        let participant = u8::try_from(participant).unwrap();
        let mut bytes = guid(participant, u8::try_from(entity).unwrap()).to_bytes();
        bytes[4] = self.lives.get(&participant).copied().unwrap_or(0);
        Guid::from_bytes(bytes)
    }

    /// A participant crashes. It is back at once, with another GUID; who it was is missed now or later.
    fn crash(&mut self) {
        let pairs = self.own_pairs();
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
    pub(crate) fn miss(&mut self, gone: GuidPrefix) {
        self.ghosts.remove(&gone);
        self.askers_gone(gone);
        self.asked.retain(|pair, _| pair.0.prefix != gone && pair.1.prefix != gone);
        self.world.manager.participant_lost(self.world.now, gone);
        self.world.collect();
        // The manager knows nothing of a request that was turned away; its verdict stays until there is no room for it.
        let is_gone = |pair: &Pair| pair.0.prefix == gone || pair.1.prefix == gone;
        self.world.verdicts.retain(|pair, verdict| !is_gone(pair) || !is_turned_away(verdict));
    }

    pub(crate) fn some_request(&mut self) {
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
            slack: *self.random.of(&[0, 0, 70_000]),
            importance: u8::try_from(self.random.below(3)).unwrap(),
        };
        let contract = if self.is_crowd && !self.random.one_in(20) {
            let (bytes, separation) = if from == 0 { (4_000, 7_500_000) } else { (1_000, 5_000_000) };
            Contract {
                largest_message: bytes,
                minimum_separation: separation,
                jitter: 0,
                emission: 0,
                slack: 0,
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
        if self.mix.policy.is_some() {
            asked.topic = TOPICS[usize::from(ports.0) % TOPICS.len()].to_owned();
        }
        // Writers of one half go over IPv6, where their addresses need not be learned.
        if writer.to_bytes()[14].is_multiple_of(2) && !self.world.network.hosts[from].addresses.is_empty() {
            asked.contract.datagram = 1_452;
            asked = over_ipv6(asked, from, to);
        }
        asked = self.maybe_in_vlan(asked, from, to);
        if self.serial.is_multiple_of(5) && !self.is_crowd {
            asked = with_losses(asked, 1 + u8::try_from(self.serial % 4).unwrap());
        }
        self.asked.insert(pair, (asked.clone(), from, to));
        self.ask(asked);
    }

    /// Where there are VLANs a request may be about addresses of one of them, or of one and of none: always the same for a pair.
    fn maybe_in_vlan(&self, asked: Request, from: usize, to: usize) -> Request {
        let vlans = |host: usize| -> Vec<u16> {
            self.world.network.hosts[host].vlans.iter().map(|vlan| vlan.id).collect()
        };
        let (of_writer, of_reader) = (vlans(from), vlans(to));
        let common: Vec<u16> = of_writer.iter().filter(|id| of_reader.contains(id)).copied().collect();
        let pair = asked.writer.iter().chain(&asked.reader);
        let mut random = Random::new(pair.fold(1, |sum, byte| sum * 31 % 1_000_003 + u64::from(*byte)));
        if common.is_empty() || random.one_in(3) {
            return asked;
        }
        let tagged = in_vlan(asked.clone(), *random.of(&common), from, to);
        if random.one_in(8) { Request { destination: asked.destination, ..tagged } } else { tagged }
    }

    fn restart(&mut self) {
        self.world.restart();
        self.begin_again();
    }

    /// Another manager is there: all that there is comes to it.
    pub(crate) fn begin_again(&mut self) {
        let epoch = self.world.epoch;
        self.drains_go_on();
        if let Some(signing) = &mut self.signing {
            signing.begins(epoch);
        }
        // Who is not there any more has nothing that a new manager could discover.
        for gone in std::mem::take(&mut self.ghosts) {
            self.asked.retain(|pair, _| pair.0.prefix != gone && pair.1.prefix != gone);
        }
        // Requests are still there for the new manager.
        for pair in self.own_pairs() {
            self.ask(self.asked[&pair].0.clone());
        }
        self.find_again();
    }

    fn step(&mut self) {
        let switches = self.world.switches.len();
        let switch = self.random.below(switches);
        match self.random.below(25) {
            0..=6 => self.some_request(),
            7 | 8 => {
                let pairs = self.own_pairs();
                if !pairs.is_empty() {
                    let pair = *self.random.of(&pairs);
                    self.withdraw(pair);
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
                    self.former_loses(switch);
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
            17 => self.swap_cables(),
            24 => self.change_something(),
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
                    // Of bytes mostly all, so that something comes about; else whatever a connection may give at a time.
                    let bytes = *self.random.of(&[1, 8, 60, 300, 1_448, usize::MAX, usize::MAX, usize::MAX]);
                    self.world.happen(next, bytes);
                    if let Next::Gates(switch) = next
                        && self.random.one_in(100)
                    {
                        self.world.disconnect_agent(switch);
                    }
                }
            }
        }
        if self.mix.changes {
            self.mixed_step();
        }
        self.strange_packets();
        self.check();
    }

    /// Two cables are pulled and plugged in again, the wrong way round, or the right way.
    fn swap_cables(&mut self) {
        let is_learned = |host: &control::network::Host| host.addresses.is_empty();
        let moves = self.world.network.hosts.iter().all(is_learned) && self.random.one_in(2);
        if !moves && !self.world.watches {
            return;
        }
        let trunks: Vec<usize> = (0..self.world.network.links.len())
            .step_by(2)
            .filter(|link| self.is_trunk(*link) != moves)
            .collect();
        if let Some((one, other)) = self.world.is_swapped() {
            return self.world.swap(one, other);
        }
        if trunks.len() > 1 {
            let one = self.random.below(trunks.len());
            let other = (one + 1 + self.random.below(trunks.len() - 1)) % trunks.len();
            self.world.swap(trunks[one], trunks[other]);
            if moves {
                self.movers.extend([trunks[one] / 2, trunks[other] / 2]);
            }
            self.world.counts.add(if moves { Fault::HostsMoved } else { Fault::CablesSwapped });
        }
    }

    /// Somewhere frames get lost while both ports are up, once, if the manager can find that out: it has heard LLDP there, and reads switches back.
    pub(crate) fn cut_silently(&mut self) {
        if !self.world.watches || self.world.config.inspection.is_zero() || self.cut.is_some() {
            return;
        }
        let links = self.world.manager.link_reports();
        let heard = (0..links.len()).filter(|link| links[*link].cable == "as planned");
        let heard: Vec<usize> = heard.collect();
        if heard.is_empty() {
            return;
        }
        let link = *self.random.of(&heard);
        let both = self.random.one_in(2);
        self.world.cut_silently(link, both);
        self.cut = Some((link, self.world.epoch));
        self.world.counts.add(Fault::SilentCut);
    }

    /// A cable negotiates another speed, or a switch is drained, or one of both is over.
    fn change_something(&mut self) {
        if self.random.one_in(4) {
            return self.cut_silently();
        }
        let cable = 2 * self.random.below(self.world.network.links.len() / 2);
        let switch = self.random.below(self.world.switches.len());
        let name = self.world.network.switches[switch].name.clone();
        match self.random.below(4) {
            0 => self.world.negotiate(cable, None),
            1 => {
                let speed = *self.random.of(&[10_000, 50_000, 90_000]);
                self.world.negotiate(cable, Some(speed));
                self.world.counts.add(Fault::SlowLink);
            }
            2 => {
                drop(self.world.manager.undrain(self.world.now, &name));
                self.is_not_drained(switch);
            }
            _ => {
                let force = self.random.one_in(2);
                let was_quiet = self.world.manager.report().operations == 0;
                self.world.manager.drain(self.world.now, &name, force, "seed").unwrap();
                self.is_drained(switch, was_quiet);
                self.world.counts.add(Fault::Drained);
            }
        }
        self.world.collect();
    }

    pub(crate) fn is_trunk(&self, link: usize) -> bool {
        let link = &self.world.network.links[link];
        [link.from, link.to].iter().all(|node| self.world.network.switch_of(*node).is_some())
    }

    pub(crate) fn reconnect(&mut self) {
        for switch in 0..self.world.switches.len() {
            if self.world.lines[switch].is_none() {
                self.world.connect(switch);
            }
            if !self.world.agents[switch].is_connected {
                self.world.connect_agent(switch);
            }
        }
    }
}

/// Plays one seed: what has happened in it.
pub(crate) fn play(seed: u64, mutant: Option<Mutant>) -> Counts {
    played_out(&mut Play::new(seed), mutant)
}

/// Plays what is set up to its end.
pub(crate) fn played_out(play: &mut Play, mutant: Option<Mutant>) -> Counts {
    if let Some(mutant) = mutant {
        play.world.spoil(mutant);
    }
    play.world.connect_all();
    play.world.greet();
    for _ in 0..STEPS {
        play.find_some();
        play.step();
    }
    play.quiet();
    play.nobody_starves();
    // Nobody wants anything any more: nothing is left.
    play.find_none();
    for pair in play.asked.keys().copied().collect::<Vec<_>>() {
        play.withdraw(pair);
    }
    play.world.pass(Duration::from_secs(20));
    play.quiet();
    assert!(play.world.store.is_empty() && play.world.verdicts.is_empty());
    assert!(play.world.stored_drains.is_empty(), "no switch is drained any more");
    std::mem::take(&mut play.world.counts)
}

/// One seed again: `CONTROL_SEED=7 CONTROL_TRACE=1 cargo test --package punctual-control --test network seeds -- --nocapture`.
/// Plays one seed; says how to repeat it if it fails.
fn played(seed: u64) -> Counts {
    std::panic::catch_unwind(|| played_out(&mut Play::mixed(seed), None)).unwrap_or_else(|panic| {
        eprintln!("seed {seed}: replay with CONTROL_SEED={seed} CONTROL_TRACE=1 and --nocapture");
        std::panic::resume_unwind(panic)
    })
}

/// On all cores.
#[test]
fn random_networks_requests_and_faults() {
    let one = std::env::var("CONTROL_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = one.map_or_else(|| tiers::current().seeds("control.seeds"), |seed| seed..seed + 1);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        let part = |core: usize| {
            let mut counts = Counts::default();
            let part = seeds.clone().skip(core).step_by(cores);
            part.for_each(|seed| counts.add_all(&played(seed)));
            counts
        };
        let parts: Vec<_> = (0..cores).map(|core| scope.spawn(move || part(core))).collect();
        for part in parts {
            match part.join() {
                Ok(found) => counts.add_all(&found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    let seeds = seeds.end - seeds.start;
    println!("{seeds} seeds: {counts:#?}");
    for fault in Fault::ALL {
        assert!(
            one.is_some() || counts.of(fault) as u64 * 50 >= seeds,
            "{fault:?} hardly ever happens: {counts:?}"
        );
    }
}

//! Switches, hosts and a store around a manager, in virtual time; and what can go wrong with them.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use control::ResourceManager;
use control::action::{Action, Done, Facts, GateChange, GateKey, StoreChange, SwitchReport, Token};
use control::config::Config;
use control::grant::Grant;
use control::network::Network;
use openflow::multipart::{GroupFeatures, MeterFeatures};
use openflow::packet::{PacketIn, PacketInReason};
use openflow::port::{Port, PortConfig, PortFeatures, PortReason, PortState, PortStatus};
use openflow::switch::{Capabilities, Features};
use openflow::words::{BufferId, PortNo, TableId};
use openflow::{matching::Match, oxm::Oxm};
use wire::Guid;
use wire::admission::{Contract, Request, Socket, State, Verdict};

use crate::switch::{Packet, Switch};

pub(crate) type Pair = (Guid, Guid);

/// A place that a packet has left a port: link and DSCP.
pub(crate) type Trace = Vec<(usize, u8)>;

/// What happens around the manager.
pub(crate) struct World {
    pub(crate) now: Duration,
    pub(crate) config: Config,
    pub(crate) network: Network,
    pub(crate) manager: ResourceManager,
    pub(crate) switches: Vec<Switch>,
    pub(crate) gates: Vec<BTreeMap<GateKey, gate::Contract>>,
    /// Whether a gate is at the ports of a switch at all: since its agent came for the first time.
    pub(crate) attached: Vec<bool>,
    /// Whether switch and agent are connected.
    pub(crate) connected: Vec<bool>,
    pub(crate) agents: Vec<bool>,
    pub(crate) down: BTreeSet<usize>,
    pub(crate) store: BTreeMap<u64, Grant>,
    pub(crate) verdicts: BTreeMap<Pair, Verdict>,
    pub(crate) history: Vec<Verdict>,
    pub(crate) disposed: BTreeSet<Pair>,
    pub(crate) epoch: u64,
    /// Answers that have not been given yet.
    pub(crate) waiting: VecDeque<Answer>,
    /// Whether participants acknowledge verdicts.
    pub(crate) acknowledge: bool,
    /// Groups that switches say they have room for.
    pub(crate) most_groups: u32,
}

/// Something that the manager will hear.
#[derive(Debug)]
pub(crate) enum Answer {
    Installed(Token, Done),
    Read(Token, usize),
    Stored(Token),
    Announced(Token),
}

pub(crate) fn guid(participant: u8, entity: u8) -> Guid {
    Guid::from_bytes([1, 1, 1, participant, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, entity, 2])
}

pub(crate) fn address(host: usize) -> [u8; 4] {
    [10, 0, 0, u8::try_from(host + 1).unwrap()]
}

pub(crate) fn mac(host: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, u8::try_from(host + 1).unwrap()]
}

pub(crate) fn features(datapath: u64) -> Features {
    Features {
        datapath_id: datapath,
        buffers: 0,
        tables: 254,
        auxiliary_id: 0,
        capabilities: Capabilities(0),
    }
}

impl World {
    pub(crate) fn new(network: Network, config: Config) -> Self {
        let manager = ResourceManager::new(config.clone(), network.clone(), 1).unwrap();
        let count = network.switches.len();
        Self {
            now: Duration::from_secs(100),
            config,
            manager,
            switches: (0..count).map(|_| Switch::default()).collect(),
            gates: vec![BTreeMap::new(); count],
            attached: vec![false; count],
            connected: vec![false; count],
            agents: vec![false; count],
            down: BTreeSet::new(),
            store: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            history: Vec::new(),
            disposed: BTreeSet::new(),
            epoch: 1,
            waiting: VecDeque::new(),
            acknowledge: true,
            most_groups: u32::MAX,
            network,
        }
    }

    /// All switches and agents connected and ready.
    pub(crate) fn up(network: Network) -> Self {
        let mut world = Self::new(network, Config::default());
        world.connect_all();
        world
    }

    pub(crate) fn connect_all(&mut self) {
        for switch in 0..self.switches.len() {
            self.connect(switch);
            self.connect_agent(switch);
        }
        self.settle();
    }

    /// Every host says where it is.
    pub(crate) fn greet(&mut self) {
        for host in 0..self.network.hosts.len() {
            let greeting = Packet {
                from: mac(host),
                to: [0xff; 6],
                kind: 0x0806,
                source: address(host),
                destination: address(host),
                protocol: 0,
                ports: (0, 0),
                dscp: 0,
            };
            self.send(host, greeting);
        }
    }

    pub(crate) fn has_gates(&self, switch: usize) -> bool {
        let node = self.network.switch_node(switch);
        matches!(self.network.switches[switch].model.guard, latency::switch::Guard::Gates { .. })
            && self.network.leaving(node).any(|(_, link)| self.network.switch_of(link.to).is_none())
    }

    fn port(&self, link: usize) -> Port {
        Port {
            number: PortNo(self.network.links[link].number),
            address: [0; 6],
            raw_name: [0; 16],
            config: PortConfig::NONE,
            state: if self.down.contains(&link) { PortState::LINK_DOWN } else { PortState::NONE },
            current: PortFeatures::NONE,
            advertised: PortFeatures::NONE,
            supported: PortFeatures::NONE,
            peer: PortFeatures::NONE,
            current_speed: 10_000_000,
            max_speed: 0,
        }
    }

    pub(crate) fn report(&self, switch: usize) -> SwitchReport {
        let node = self.network.switch_node(switch);
        SwitchReport {
            features: features(self.network.switches[switch].datapath),
            ports: self.network.leaving(node).map(|(link, _)| self.port(link)).collect(),
            meters: Some(MeterFeatures {
                max_meters: 262_144,
                band_types: 2,
                capabilities: 15,
                max_bands: 8,
                max_color: 0,
            }),
            groups: Some(GroupFeatures {
                types: 15,
                capabilities: 7,
                max_groups: [self.most_groups; 4],
                actions: [u32::MAX; 4],
            }),
            queues: Vec::new(),
        }
    }

    pub(crate) fn connect(&mut self, switch: usize) {
        self.connected[switch] = true;
        let report = self.report(switch);
        self.manager.switch_up(self.now, &report).unwrap();
        self.collect();
    }

    pub(crate) fn connect_agent(&mut self, switch: usize) {
        if self.has_gates(switch) {
            self.agents[switch] = true;
            self.attached[switch] = true;
            let datapath = self.network.switches[switch].datapath;
            self.manager.gates_up(self.now, datapath, None).unwrap();
            self.collect();
        }
    }

    pub(crate) fn disconnect(&mut self, switch: usize) {
        self.connected[switch] = false;
        self.manager.switch_down(self.now, self.network.switches[switch].datapath);
        self.collect();
    }

    pub(crate) fn disconnect_agent(&mut self, switch: usize) {
        self.agents[switch] = false;
        self.manager.gates_down(self.now, self.network.switches[switch].datapath);
        self.collect();
    }

    /// The manager has crashed and another one takes its place.
    pub(crate) fn restart(&mut self) {
        self.epoch += 1;
        self.waiting.clear();
        // With the old one its samples are gone.
        self.verdicts.clear();
        self.connected.fill(false);
        self.agents.fill(false);
        let mut manager =
            ResourceManager::new(self.config.clone(), self.network.clone(), self.epoch).unwrap();
        manager.restore(self.now, self.store.values().cloned().collect());
        self.manager = manager;
        self.collect();
    }

    /// A cable breaks or is mended.
    pub(crate) fn cable(&mut self, link: usize, up: bool) {
        for link in [link, Network::back(link)] {
            if up {
                self.down.remove(&link);
            } else {
                self.down.insert(link);
            }
            let Some(switch) = self.network.switch_of(self.network.links[link].from) else { continue };
            if self.connected[switch] {
                let status = PortStatus { reason: PortReason::Modify, port: self.port(link) };
                self.manager.port_status(self.now, self.network.switches[switch].datapath, &status);
                self.collect();
            }
        }
    }

    /// Takes all actions: what is done at once is done, answers wait.
    pub(crate) fn collect(&mut self) {
        while let Some(action) = self.manager.poll_action() {
            if std::env::var_os("CONTROL_TRACE").is_some() {
                eprintln!("{:?} {action:?}", self.now);
            }
            match action {
                Action::Install { token, switch, messages } => {
                    let index = self.index(switch);
                    if !self.connected[index] {
                        continue;
                    }
                    let errors: Vec<String> = messages
                        .iter()
                        .filter_map(|message| self.switches[index].take(message).err())
                        .collect();
                    let done =
                        if errors.is_empty() { Done::Confirmed } else { Done::Failed(errors.join(", ")) };
                    self.waiting.push_back(Answer::Installed(token, done));
                }
                Action::Send { switch, messages } => {
                    let index = self.index(switch);
                    for message in messages.iter().filter(|_| self.connected[index]) {
                        // Nobody waits for an answer; a full table says no.
                        let _ = self.switches[index].take(message);
                    }
                }
                Action::Read { token, switch } => {
                    let index = self.index(switch);
                    if self.connected[index] {
                        self.waiting.push_back(Answer::Read(token, index));
                    }
                }
                Action::Gate { token, switch, change } => {
                    let index = self.index(switch);
                    if !self.agents[index] {
                        continue;
                    }
                    match change {
                        GateChange::Set(key, contract) => {
                            self.gates[index].insert(key, contract);
                        }
                        GateChange::Remove(key) => {
                            self.gates[index].remove(&key);
                        }
                        GateChange::Replace(list) => self.gates[index] = list.into_iter().collect(),
                    }
                    self.waiting.push_back(Answer::Installed(token, Done::Confirmed));
                }
                Action::Disconnect { switch } => {
                    let index = self.index(switch);
                    self.connected[index] = false;
                    self.agents[index] = false;
                    self.manager.switch_down(self.now, switch);
                    if self.has_gates(index) {
                        self.manager.gates_down(self.now, switch);
                    }
                }
                Action::Store { token, change } => {
                    match change {
                        StoreChange::Put(grant) => {
                            self.store.insert(grant.number, *grant);
                        }
                        StoreChange::Remove(number) => {
                            self.store.remove(&number);
                        }
                    }
                    self.waiting.push_back(Answer::Stored(token));
                }
                Action::Publish { token, verdict } => {
                    let pair = verdict.pair();
                    self.disposed.remove(&pair);
                    self.history.push((*verdict).clone());
                    self.verdicts.insert(pair, *verdict);
                    if let Some(token) = token.filter(|_| self.acknowledge) {
                        self.waiting.push_back(Answer::Announced(token));
                    }
                }
                Action::Dispose(pair) => {
                    self.verdicts.remove(&pair);
                    self.disposed.insert(pair);
                }
            }
        }
    }

    fn index(&self, datapath: u64) -> usize {
        self.network.switches.iter().position(|switch| switch.datapath == datapath).unwrap()
    }

    /// Gives one answer; the one at this place of those that wait.
    pub(crate) fn answer(&mut self, at: usize) {
        let Some(answer) = self.waiting.remove(at) else { return };
        match answer {
            Answer::Installed(token, done) => self.manager.installed(self.now, token, done),
            Answer::Read(token, switch) => {
                if self.connected[switch] {
                    let content = self.switches[switch].content();
                    self.manager.has_read(self.now, token, Ok(content));
                }
            }
            Answer::Stored(token) => self.manager.stored(self.now, token, Done::Confirmed),
            Answer::Announced(token) => self.manager.announced(self.now, token),
        }
        self.collect();
    }

    /// All answers are given, in order, until there are no more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            if self.waiting.is_empty() {
                return;
            }
            self.answer(0);
        }
        panic!("it does not come to rest");
    }

    /// Time passes, with everything that happens in it.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        self.settle();
        let mut times = 0;
        while let Some(next) = self.manager.poll_timeout().filter(|next| *next <= until) {
            times += 1;
            assert!(times < 10_000, "it does not come to rest");
            self.now = self.now.max(next);
            self.manager.handle_timeout(self.now);
            self.collect();
            self.settle();
        }
        self.now = until;
    }

    pub(crate) fn ask(&mut self, request: Request) {
        if std::env::var_os("CONTROL_TRACE").is_some() {
            eprintln!("{:?} ASK {request:?}", self.now);
        }
        let facts = Facts { contract: Some(request.contract), ..Facts::default() };
        self.manager.request(self.now, request, facts);
        self.collect();
    }

    pub(crate) fn withdraw(&mut self, pair: Pair) {
        self.manager.withdraw(self.now, pair);
        self.collect();
    }

    pub(crate) fn state(&self, pair: Pair) -> Option<State> {
        self.verdicts.get(&pair).map(|verdict| verdict.state)
    }

    /// What the gate of a host's port has for the discovery of domain 0.
    pub(crate) fn discovery_of(&self, host: usize) -> Option<gate::Contract> {
        let (link, to) = self.network.leaving(host).map(|(index, link)| (index, link.to)).next()?;
        let port = self.network.links[Network::back(link)].number;
        let flow = gate::Key::metatraffic(0)?;
        self.gates[self.network.switch_of(to)?].get(&GateKey { port, flow }).copied()
    }

    /// A packet behind the gate of its port, as far as the reserved class goes: nobody but the gate sets its codepoint. What has a level
    /// without being admitted is left to the switch, as if there were no gate.
    fn gated(&self, switch: usize, port: u32, packet: Packet) -> Packet {
        if !self.attached[switch] || packet.kind != 0x0800 {
            return packet;
        }
        let domain = gate::metatraffic::domain_of(packet.ports.1).filter(|_| packet.protocol == 17);
        let flow = domain.and_then(gate::Key::metatraffic);
        let contract = flow.and_then(|flow| self.gates[switch].get(&GateKey { port, flow }));
        let dscp = match contract {
            Some(contract) => contract.dscp,
            None if packet.dscp == gate::class::CONTROL => gate::class::BEST_EFFORT,
            None => packet.dscp,
        };
        Packet { dscp, ..packet }
    }

    /// Sends a packet from a host: to which hosts it comes, each with its way.
    pub(crate) fn send(&mut self, host: usize, packet: Packet) -> Vec<(usize, Packet, Trace)> {
        let (first, _) = self.network.leaving(host).next().unwrap();
        let mut arrived = Vec::new();
        let mut moving = VecDeque::from([(first, packet, Trace::new())]);
        let mut copies = Vec::new();
        let mut steps = 0;
        while let Some((link, packet, mut trace)) = moving.pop_front() {
            steps += 1;
            assert!(steps < 1_000, "packets go round: {packet:?} {trace:?}");
            if self.down.contains(&link) || self.down.contains(&Network::back(link)) {
                continue;
            }
            trace.push((link, packet.dscp));
            let to = self.network.links[link].to;
            let Some(switch) = self.network.switch_of(to) else {
                arrived.push((to, packet, trace));
                continue;
            };
            let in_port = self.network.links[Network::back(link)].number;
            let packet = if link == first { self.gated(switch, in_port, packet) } else { packet };
            let fate = self.switches[switch].forward(in_port, packet);
            for (table, cookie, packet) in fate.copies {
                copies.push((switch, in_port, table, cookie, packet));
            }
            for (port, packet) in fate.out {
                let out = self.network.leaving(to).find(|(_, link)| link.number == port);
                moving.push_back((out.expect("a port of the network").0, packet, trace.clone()));
            }
        }
        for (switch, in_port, table, cookie, packet) in copies {
            if self.connected[switch] {
                let packet_in = PacketIn {
                    buffer: BufferId::NONE,
                    total_len: 60,
                    reason: PacketInReason::Action,
                    table: TableId(table),
                    cookie,
                    matching: Match::of(&[Oxm::in_port(PortNo(in_port))]).unwrap(),
                    data: packet.bytes(),
                };
                self.manager.packet_in(self.now, self.network.switches[switch].datapath, &packet_in);
                self.collect();
            }
        }
        arrived
    }
}

/// A request of a pair, for a flow between two hosts.
pub(crate) fn request(
    pair: Pair,
    serial: u64,
    from: usize,
    to: usize,
    ports: (u16, u16),
    contract: Contract,
    limit: u64,
) -> Request {
    Request {
        writer: pair.0.to_bytes(),
        reader: pair.1.to_bytes(),
        serial,
        stage: wire::admission::Stage::Waiting,
        topic: format!("topic of {}", ports.0),
        contract,
        maximum_latency: limit,
        maximum_separation: 0,
        source: Socket { address: address(from), port: ports.0 },
        destination: Socket { address: address(to), port: ports.1 },
    }
}

/// A packet of the flow of a request.
pub(crate) fn packet_of(request: &Request, from: usize, to: usize, dscp: u8) -> Packet {
    Packet {
        from: mac(from),
        to: mac(to),
        kind: 0x0800,
        source: request.source.address,
        destination: request.destination.address,
        protocol: 17,
        ports: (request.source.port, request.destination.port),
        dscp,
    }
}

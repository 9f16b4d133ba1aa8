//! Switches, hosts and a store around a manager, in virtual time; and what can go wrong with them. How what the manager wants is done,
//! step by step, is in `doing.rs`.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use wire::admission::Address;

use control::ResourceManager;
use control::action::{Asker, Facts, GateKey, StoreChange, SwitchReport, Token};
use control::config::Config;
use control::drain::StoredDrain;
use control::foreign::Endpoint;
use control::grant::Grant;
use control::network::Network;
use openflow::multipart::{GroupFeatures, MeterFeatures};
use openflow::packet::{PacketIn, PacketInReason};
use openflow::port::{Port, PortConfig, PortFeatures, PortReason, PortState, PortStatus};
use openflow::switch::{Capabilities, Features};
use openflow::words::{BufferId, PortNo, TableId, Xid};
use openflow::{Message, matching::Match, oxm::Oxm};
use wire::Guid;
use wire::admission::{Contract, Losses, OfferedRepairs, Request, Socket, State, Verdict};

use crate::counts::{Counts, Fault};
use crate::doing::{Agent, Mutant};
use crate::line::{Line, Way};
use crate::random::Random;
use testkit::openflow_switch::{Packet, Switch, Tag};

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
    /// Frames with VLAN tags that gates have counted, by switch and port. They are left to the switch all the same, as if there were no gate.
    pub(crate) tagged_at_gates: BTreeMap<(usize, u32), u64>,
    /// Whether a gate is at the ports of a switch at all: since its agent came for the first time.
    pub(crate) attached: Vec<bool>,
    /// Connections of switches, and whether the manager has taken the switch over it.
    pub(crate) lines: Vec<Option<Line>>,
    pub(crate) connected: Vec<bool>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) down: BTreeSet<usize>,
    /// Directions of links that lose all that they carry, while both ports are up.
    pub(crate) silent: BTreeSet<usize>,
    /// Cables whose far ends have been swapped: for each direction of a link, the one whose far end it has.
    pub(crate) swapped: BTreeMap<usize, usize>,
    /// What ports say of their speed that have negotiated another one, in kbit/s.
    pub(crate) speeds: BTreeMap<usize, u32>,
    /// Frames of the manager's that have come to hosts.
    pub(crate) heard_by_hosts: Vec<(usize, Vec<u8>)>,
    /// A link whose latest frame of the manager is kept by a host on the way.
    pub(crate) recorded: Option<(usize, Vec<u8>)>,
    /// The ends of a cable that the network does not have, as switches with their port numbers.
    pub(crate) extra: Option<[(usize, u32); 2]>,
    /// Cables of an earlier network file are gone.
    pub(crate) has_unplugged: bool,
    /// Whether managers watch cables.
    pub(crate) watches: bool,
    pub(crate) store: BTreeMap<u64, Grant>,
    /// The switches that are drained, as far as the store knows, by their names.
    pub(crate) stored_drains: BTreeMap<String, StoredDrain>,
    pub(crate) verdicts: BTreeMap<Pair, Verdict>,
    pub(crate) history: Vec<Verdict>,
    pub(crate) disposed: BTreeSet<Pair>,
    pub(crate) epoch: u64,
    /// The epoch of the manager that leads: one of an earlier epoch may still be there, and not know it.
    pub(crate) newest: u64,
    /// The highest epoch of a manager that the gates of each switch have heard of.
    pub(crate) gate_epochs: Vec<u64>,
    /// Changes that the store has not made yet, and whether it can make any.
    pub(crate) to_store: Vec<(Token, StoreChange)>,
    pub(crate) store_fails: bool,
    /// Whether the store has a network file of which the manager does not know that it has arrived, and goes by the former one.
    pub(crate) is_file_in_doubt: bool,
    /// What has been stored, or has failed, and the manager has not been told.
    pub(crate) stored: VecDeque<(Token, bool)>,
    /// Verdicts that have arrived where they are for.
    pub(crate) announced: VecDeque<Token>,
    /// What has been asked for and not answered, and of which switch.
    pub(crate) unanswered: BTreeMap<Token, Option<usize>>,
    /// What is spoilt on purpose.
    pub(crate) mutant: Option<Mutant>,
    /// A change has just failed.
    pub(crate) has_failed: bool,
    pub(crate) counts: Counts,
    /// Whether participants acknowledge verdicts.
    pub(crate) acknowledge: bool,
    /// Groups that switches say they have room for.
    pub(crate) most_groups: u32,
    /// In which order switches do what stands between two barriers; that of the messages without it.
    pub(crate) disorder: Option<Random>,
}

/// The protocol of a packet of IPv6 that is a fragment of UDP, and not the first one.
pub(crate) const LATER_FRAGMENT: u8 = 44;

pub(crate) fn guid(participant: u8, entity: u8) -> Guid {
    Guid::from_bytes([1, 1, 1, participant, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, entity, 2])
}

pub(crate) fn address(host: usize) -> Address {
    [10, 0, 0, u8::try_from(host + 1).unwrap()].into()
}

/// The address of a host in IPv6.
pub(crate) fn address6(host: usize) -> Address {
    let mut bytes = [0; 16];
    (bytes[0], bytes[15]) = (0xfd, u8::try_from(host + 1).unwrap());
    Address::from_bytes(bytes)
}

/// The address of a host in a VLAN.
pub(crate) fn vlan_address(id: u16, host: usize) -> Address {
    [10, u8::try_from(id).unwrap(), 0, u8::try_from(host + 1).unwrap()].into()
}

/// The same in IPv6.
pub(crate) fn vlan_address6(id: u16, host: usize) -> Address {
    let mut bytes = address6(host).bytes();
    bytes[1] = u8::try_from(id).unwrap();
    Address::from_bytes(bytes)
}

/// The tag of frames from and to an address, with a priority that is to be of no matter.
pub(crate) fn tag_of(address: Address) -> Option<Tag> {
    let vid = if address.is_ipv4() { address.bytes()[13] } else { address.bytes()[1] };
    (vid > 0).then_some(Tag { vid: vid.into(), pcp: 7 })
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

/// What hosts take to do what is due of repairs.
pub(crate) const REACTION: Duration = Duration::from_micros(100);

impl World {
    pub(crate) fn new(network: Network, config: Config) -> Self {
        let mut manager = ResourceManager::new(config.clone(), network.clone(), 1).unwrap();
        manager.use_solver(solver::multipliers);
        let count = network.switches.len();
        Self {
            now: Duration::from_secs(100),
            config,
            manager,
            switches: (0..count).map(|_| Switch::default()).collect(),
            gates: vec![BTreeMap::new(); count],
            tagged_at_gates: BTreeMap::new(),
            attached: vec![false; count],
            lines: (0..count).map(|_| None).collect(),
            connected: vec![false; count],
            agents: (0..count).map(|_| Agent::default()).collect(),
            down: BTreeSet::new(),
            silent: BTreeSet::new(),
            swapped: BTreeMap::new(),
            speeds: BTreeMap::new(),
            heard_by_hosts: Vec::new(),
            recorded: None,
            extra: None,
            has_unplugged: false,
            watches: false,
            store: BTreeMap::new(),
            stored_drains: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            history: Vec::new(),
            disposed: BTreeSet::new(),
            epoch: 1,
            newest: 1,
            gate_epochs: vec![0; count],
            to_store: Vec::new(),
            store_fails: false,
            is_file_in_doubt: false,
            stored: VecDeque::new(),
            announced: VecDeque::new(),
            unanswered: BTreeMap::new(),
            mutant: None,
            has_failed: false,
            counts: Counts::default(),
            acknowledge: true,
            most_groups: u32::MAX,
            disorder: None,
            network,
        }
    }

    /// All switches and agents connected and ready.
    pub(crate) fn up(network: Network) -> Self {
        let mut world = Self::new(network, Config { losses: Some(REACTION), ..Config::default() });
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
                tag: None,
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

    pub(crate) fn port(&self, link: usize) -> Port {
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
            current_speed: self.speeds.get(&link).copied().unwrap_or(10_000_000),
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

    /// A switch connects; what both sides have to say is on the way.
    pub(crate) fn connect(&mut self, switch: usize) {
        self.lines[switch] = Some(Line::new(self.now, self.epoch));
    }

    pub(crate) fn connect_agent(&mut self, switch: usize) {
        if self.has_gates(switch) {
            self.agents[switch].is_connected = true;
            self.attached[switch] = true;
            self.gate_epochs[switch] = self.gate_epochs[switch].max(self.epoch);
            let datapath = self.network.switches[switch].datapath;
            self.manager.gates_up(self.now, datapath, None).unwrap();
            self.collect();
        }
    }

    /// A manager of the network that is wrong in this way, in place of the one there is.
    pub(crate) fn spoil(&mut self, mutant: Mutant) {
        self.mutant = Some(mutant);
        // What reading back puts right is not found.
        self.config.inspection = Duration::ZERO;
        self.manager = ResourceManager::new(self.config.clone(), self.believed(), self.epoch).unwrap();
        self.manager.use_solver(solver::multipliers);
    }

    /// The network as the manager believes it to be.
    fn believed(&self) -> Network {
        let mut network = self.network.clone();
        if let Some(Mutant::BooksTwice(times)) = self.mutant {
            let hosts = network.hosts.len();
            let of_switches = network.links.iter_mut().filter(|link| link.from >= hosts);
            of_switches.for_each(|link| link.port.rate *= times);
        }
        network
    }

    /// The manager has crashed and another one takes its place. What it has sent and wanted to be stored is as far as it has come.
    pub(crate) fn restart(&mut self) {
        self.newest += 1;
        self.epoch = self.newest;
        self.counts.add_if(!self.to_store.is_empty(), Fault::CrashBeforeCommit);
        self.counts.add_if(!self.stored.is_empty(), Fault::CrashAfterCommit);
        self.counts.add_if(self.unanswered.values().any(Option::is_some), Fault::CrashWithinChange);
        for line in self.lines.iter_mut().filter_map(Option::take) {
            self.counts.add_if(line.under_way() > 0, Fault::OctetsLost);
            self.counts.add_if(line.is_cut(), Fault::MessageTorn);
        }
        self.connected.fill(false);
        self.agents.fill_with(Agent::default);
        self.to_store.clear();
        self.stored.clear();
        self.announced.clear();
        self.unanswered.clear();
        // With the old one its samples are gone.
        self.verdicts.clear();
        let mut manager = ResourceManager::new(self.config.clone(), self.believed(), self.epoch).unwrap();
        manager.use_solver(solver::multipliers);
        manager.restore(self.now, self.store.values().cloned().collect());
        manager.restore_drains(self.now, self.stored_drains.values().cloned().collect());
        self.manager = manager;
        if self.watches {
            self.watch();
        }
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
            let status = PortStatus { reason: PortReason::Modify, port: self.port(link) };
            self.say(switch, &Message::PortStatus(status));
        }
    }

    /// A cable negotiates another speed, in kbit/s, or the one that it had.
    pub(crate) fn negotiate(&mut self, link: usize, speed: Option<u32>) {
        for link in [link, Network::back(link)] {
            match speed {
                Some(speed) => self.speeds.insert(link, speed),
                None => self.speeds.remove(&link),
            };
            let Some(switch) = self.network.switch_of(self.network.links[link].from) else { continue };
            let status = PortStatus { reason: PortReason::Modify, port: self.port(link) };
            self.say(switch, &Message::PortStatus(status));
        }
    }

    /// True if the manager has heard all that a switch has said.
    pub(crate) fn is_heard(&self, switch: usize) -> bool {
        let heard = |line: &Line| !line.is_stalled && line.waiting(Way::ToManager) == 0;
        self.connected[switch] && self.lines[switch].as_ref().is_some_and(heard)
    }

    /// A switch says something that nobody has asked for.
    pub(crate) fn say(&mut self, switch: usize, message: &Message) {
        if let Some(line) = &mut self.lines[switch] {
            line.say(Xid(0), message);
        }
    }

    pub(crate) fn ask(&mut self, request: Request) {
        if std::env::var_os("CONTROL_TRACE").is_some() {
            eprintln!("{:?} ASK {request:?}", self.now);
        }
        self.ask_as(request, Asker::Anyone);
    }

    /// The same in a name.
    pub(crate) fn ask_as(&mut self, request: Request, asker: Asker) {
        let repairs = request.losses.asked();
        let repairs = repairs.map(|losses| OfferedRepairs { source: losses.repairs, kept: losses.kept });
        let facts = Facts { contract: Some(request.contract), repairs, asker, ..Facts::default() };
        self.manager.request(self.now, request, facts);
        self.collect();
    }

    /// These are the endpoints that do not ask by themselves.
    pub(crate) fn find(&mut self, endpoints: &[Endpoint]) {
        self.manager.discovered(self.now, endpoints.to_vec());
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
        if !self.attached[switch] || !matches!(packet.kind, 0x0800 | 0x86dd) {
            return packet;
        }
        let domain = gate::metatraffic::domain_of(packet.ports.1).filter(|_| packet.protocol == 17);
        let flow = domain.and_then(gate::Key::metatraffic);
        let contract = flow.and_then(|flow| self.gates[switch].get(&GateKey { port, flow }));
        // Flows of their own are left to the switch.
        let flow = gate::Key {
            source: packet.source.ip(),
            source_port: packet.ports.0,
            destination: packet.destination.ip(),
            destination_port: packet.ports.1,
        };
        let is_single = self.gates[switch].contains_key(&GateKey { port, flow }) && !flow.is_between();
        let all = GateKey { port, flow: gate::Key::between(flow.source, flow.destination) };
        let is_udp = packet.protocol == 17 || packet.kind == 0x86dd && packet.protocol == LATER_FRAGMENT;
        let all = self.gates[switch].get(&all).filter(|_| is_udp && !is_single);
        // Behind extension headers of IPv6 a switch finds UDP, and a gate nothing.
        let single = GateKey { port, flow };
        let single =
            self.gates[switch].get(&single).filter(|_| packet.kind == 0x86dd && packet.protocol == 17);
        // In a VLAN there is nothing but single flows.
        let contract = contract.or(all).filter(|_| packet.tag.is_none()).or(single);
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
            // Until wrong cables are found they may close a ring.
            if steps >= 1_000 && !self.swapped.is_empty() {
                break;
            }
            assert!(steps < 1_000, "packets go round: {packet:?} {trace:?}");
            if self.down.contains(&link) || self.down.contains(&Network::back(link)) {
                continue;
            }
            trace.push((link, packet.dscp));
            if self.silent.contains(&link) {
                continue;
            }
            let arrives = self.arrives(link);
            let to = self.network.links[arrives].to;
            let Some(switch) = self.network.switch_of(to) else {
                arrived.push((to, packet, trace));
                continue;
            };
            let in_port = self.network.links[Network::back(arrives)].number;
            let packet = if link == first { self.gated(switch, in_port, packet) } else { packet };
            let fate = self.switches[switch].forward(in_port, packet);
            self.switches[switch].count(&fate);
            for (table, cookie, packet) in fate.copies {
                copies.push((switch, in_port, table, cookie, packet));
            }
            for (port, packet) in fate.out {
                let out = self.network.leaving(to).find(|(_, link)| link.number == port);
                match out {
                    Some((link, _)) => moving.push_back((link, packet, trace.clone())),
                    // The cable is not there any more, and the switch has not been told.
                    None => assert!(self.has_unplugged, "not a port of the network: {port}"),
                }
            }
        }
        for (switch, in_port, table, cookie, packet) in copies {
            self.copy(switch, in_port, (table, cookie), packet.bytes());
        }
        arrived
    }

    /// A switch hands a frame to the manager.
    pub(crate) fn copy(&mut self, switch: usize, in_port: u32, by: (u8, u64), data: Vec<u8>) {
        let packet_in = PacketIn {
            buffer: BufferId::NONE,
            total_len: 60,
            reason: PacketInReason::Action,
            table: TableId(by.0),
            cookie: by.1,
            matching: Match::of(&[Oxm::in_port(PortNo(in_port))]).unwrap(),
            data,
        };
        self.say(switch, &Message::PacketIn(packet_in));
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
        manager: [0; 16],
        losses: Losses::default(),
        topic: format!("topic of {}", ports.0),
        contract,
        maximum_latency: limit,
        maximum_separation: 0,
        source: Socket { address: address(from), port: ports.0 },
        destination: Socket { address: address(to), port: ports.1 },
    }
}

/// The same over IPv6.
pub(crate) fn over_ipv6(request: Request, from: usize, to: usize) -> Request {
    Request {
        source: Socket { address: address6(from), ..request.source },
        destination: Socket { address: address6(to), ..request.destination },
        ..request
    }
}

/// The same between addresses of a VLAN.
pub(crate) fn in_vlan(request: Request, id: u16, from: usize, to: usize) -> Request {
    let address = if request.source.address.is_ipv4() { vlan_address } else { vlan_address6 };
    Request {
        source: Socket { address: address(id, from), ..request.source },
        destination: Socket { address: address(id, to), ..request.destination },
        ..request
    }
}

/// A packet of the flow of a request.
pub(crate) fn packet_of(request: &Request, from: usize, to: usize, dscp: u8) -> Packet {
    Packet {
        from: mac(from),
        to: mac(to),
        tag: tag_of(request.source.address),
        kind: if request.source.address.is_ipv4() { 0x0800 } else { 0x86dd },
        source: request.source.address,
        destination: request.destination.address,
        protocol: 17,
        ports: (request.source.port, request.destination.port),
        dscp,
    }
}

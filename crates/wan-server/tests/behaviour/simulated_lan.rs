//! A LAN with its manager, a real one, and model switches in virtual time.
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use control::ResourceManager;
use control::action::{Action, Done, GatesContent, StoreChange, SwitchReport};
use control::config::Config;
use control::grant::Grant;
use control::network::{Host, Link, Network, Switch as SwitchOf};
use control::tunnels::{TunnelStatus, TunnelsWanted};
use latency::network::{Buffer, Imperfections, Port as Analysed};
use latency::policing::Counts;
use latency::split::Split;
use latency::switch::{Guard, Interface, Others, SwitchModel};
use latency::units::MICROSECOND;
use openflow::multipart::MeterFeatures;
use openflow::port::{Port, PortConfig, PortFeatures, PortState};
use openflow::switch::{Capabilities, Features};
use openflow::words::PortNo;
use testkit::openflow_switch::Switch;
use wan_server::LanManager;

/// The stations: two routers at the first switch, two hosts at the second.
pub(crate) const STATIONS: [&str; 4] = ["north", "south", "display", "camera"];
const AT: [usize; 4] = [0, 0, 1, 1];

pub(crate) struct Simulated {
    pub(crate) now: Duration,
    network: Network,
    manager: Option<ResourceManager>,
    epoch: u64,
    switches: Vec<Switch>,
    store: std::collections::BTreeMap<u64, Grant>,
}

fn network() -> Network {
    let model = SwitchModel {
        ports: 8,
        queues: 6,
        rate: 1_000_000_000,
        buffer: Buffer::Shared(4_000_000),
        pooled: false,
        cell: 1,
        interface: Interface::default(),
        guard: Guard::Meters {
            count: Some(1_000),
            rate_step: 1_000,
            burst_step: 1_000,
            counts: Counts::Frame,
        },
        least_multiplexing: 10 * MICROSECOND,
        most_multiplexing: 50 * MICROSECOND,
        keeps_order: true,
        overhead: 0,
        preemption: false,
        mtu: 1_500,
    };
    let inside = model.port(model.rate, 0, Others { best_effort: true, control: None }).unwrap();
    let outside = Analysed {
        least_multiplexing: 0,
        most_multiplexing: 0,
        keeps_order: true,
        queues: 1,
        control: None,
        buffer: Buffer::Shared(1 << 40),
        imperfections: Imperfections::default(),
        ..inside
    };
    let count = STATIONS.len();
    let mut links = Vec::new();
    let mut used = [0_u32; 2];
    let mut number = |switch: usize| {
        used[switch] += 1;
        used[switch]
    };
    for (host, switch) in AT.into_iter().enumerate() {
        links.push(Link { from: host, to: count + switch, number: 0, port: outside });
        links.push(Link { from: count + switch, to: host, number: number(switch), port: inside });
    }
    links.push(Link { from: count, to: count + 1, number: number(0), port: inside });
    links.push(Link { from: count + 1, to: count, number: number(1), port: inside });
    let host = |(index, name): (usize, &&str)| Host {
        name: (*name).to_owned(),
        addresses: vec![[10, 3, 0, u8::try_from(index + 1).unwrap()].into()],
        mac: Some([2, 0, 0, 0, 0, u8::try_from(index + 1).unwrap()]),
        vlans: Vec::new(),
    };
    Network {
        hosts: STATIONS.iter().enumerate().map(host).collect(),
        switches: ["s1", "s2"]
            .into_iter()
            .zip(1..)
            .map(|(name, datapath)| SwitchOf { name: name.to_owned(), datapath, model: model.clone() })
            .collect(),
        links,
        split: Split::Load,
        full: BTreeSet::new(),
    }
}

impl Simulated {
    pub(crate) fn new() -> Self {
        let mut simulated = Self {
            now: Duration::from_secs(100),
            network: network(),
            manager: None,
            epoch: 0,
            switches: vec![Switch::default(), Switch::default()],
            store: std::collections::BTreeMap::new(),
        };
        simulated.start();
        simulated
    }

    /// The manager is killed: switches keep what they have.
    pub(crate) fn kill(&mut self) {
        self.manager = None;
    }

    pub(crate) fn start(&mut self) {
        self.epoch += 1;
        let config = Config { inspection: Duration::ZERO, rounds: Duration::ZERO, ..Config::default() };
        let mut manager = ResourceManager::new(config, self.network.clone(), self.epoch).unwrap();
        manager.restore(self.now, self.store.values().cloned().collect());
        self.manager = Some(manager);
        for switch in 0..self.switches.len() {
            let report = self.report(switch);
            let now = self.now;
            self.with(|manager| manager.switch_up(now, &report).unwrap());
        }
    }

    fn report(&self, switch: usize) -> SwitchReport {
        let node = STATIONS.len() + switch;
        let port = |link: &Link| Port {
            number: PortNo(link.number),
            address: [0; 6],
            raw_name: [0; 16],
            config: PortConfig::NONE,
            state: PortState::NONE,
            current: PortFeatures::NONE,
            advertised: PortFeatures::NONE,
            supported: PortFeatures::NONE,
            peer: PortFeatures::NONE,
            current_speed: 1_000_000,
            max_speed: 0,
        };
        SwitchReport {
            features: Features {
                datapath_id: self.network.switches[switch].datapath,
                buffers: 0,
                tables: 254,
                auxiliary_id: 0,
                capabilities: Capabilities(0),
            },
            ports: self.network.links.iter().filter(|link| link.from == node).map(port).collect(),
            meters: Some(MeterFeatures {
                max_meters: 1_000,
                band_types: 2,
                capabilities: 15,
                max_bands: 8,
                max_color: 0,
            }),
            groups: None,
            queues: Vec::new(),
        }
    }

    fn with<T>(&mut self, what: impl FnOnce(&mut ResourceManager) -> T) -> T {
        let said = what(self.manager.as_mut().expect("the manager runs"));
        self.settle();
        said
    }

    /// Does all that the manager wants.
    fn settle(&mut self) {
        let now = self.now;
        while let Some(manager) = &mut self.manager
            && let Some(action) = manager.poll_action()
        {
            let at = |datapath: u64| usize::try_from(datapath).unwrap() - 1;
            match action {
                Action::Install { token, switch, messages } => {
                    let refused = messages.iter().find_map(|it| self.switches[at(switch)].take(it).err());
                    let done = refused.map_or(Done::Confirmed, |code| Done::Failed(format!("{code:?}")));
                    manager.installed(now, token, done);
                }
                Action::Send { switch, messages } => {
                    for message in &messages {
                        let _ = self.switches[at(switch)].take(message);
                    }
                }
                Action::Read { token, switch, .. } => {
                    manager.has_read(now, token, Ok(self.switches[at(switch)].content()));
                }
                Action::ReadGates { token, .. } => {
                    manager.has_read_gates(now, token, Ok(GatesContent::default()))
                }
                Action::Gate { token, .. } => manager.installed(now, token, Done::Confirmed),
                Action::Store { token, change } => {
                    match change {
                        StoreChange::Put(grant) => drop(self.store.insert(grant.number, *grant)),
                        StoreChange::PutAll(all) => {
                            self.store.extend(all.into_iter().map(|grant| (grant.number, grant)));
                        }
                        StoreChange::Remove(number) => drop(self.store.remove(&number)),
                        StoreChange::Drain(_) | StoreChange::Undrain(_) => {}
                    }
                    manager.stored(now, token, Done::Confirmed);
                }
                Action::Publish { token: Some(token), .. } => manager.announced(now, token),
                Action::Publish { token: None, .. } | Action::Dispose(_) | Action::Disconnect { .. } => {}
            }
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(manager) = &mut self.manager
            && let Some(at) = manager.poll_timeout().filter(|at| *at <= until)
        {
            self.now = self.now.max(at);
            manager.handle_timeout(self.now);
            self.settle();
        }
        self.now = until;
    }

    /// An owner says what it wants, and what it has is awaited as the program does.
    pub(crate) fn hold(&mut self, owner: u32, wanted: &TunnelsWanted) -> Result<Vec<TunnelStatus>, String> {
        if self.manager.is_none() {
            return Err("it does not answer".to_owned());
        }
        let now = self.now;
        self.with(|manager| manager.hold_tunnels(now, owner, wanted))?;
        self.pass(Duration::from_millis(200));
        Ok(self.tunnels(owner))
    }

    pub(crate) fn tunnels(&self, owner: u32) -> Vec<TunnelStatus> {
        self.manager.as_ref().map(|manager| manager.tunnels_of(owner)).unwrap_or_default()
    }

    /// Entries of admitted flows in all switches, and grants in the store.
    pub(crate) fn left(&self) -> (usize, usize) {
        let of_flows = |switch: &Switch| {
            switch.flows.iter().filter(|flow| flow.table.0 == 0 && flow.cookie >> 40 == 0x50_4302).count()
        };
        (self.switches.iter().map(of_flows).sum(), self.store.len())
    }
}

/// Its interface, with bodies as over HTTP.
#[derive(Clone)]
pub(crate) struct Door(pub(crate) Arc<Mutex<Simulated>>);

impl LanManager for Door {
    fn hold(&mut self, owner: u32, wanted: &[u8]) -> Result<Vec<u8>, String> {
        let wanted: TunnelsWanted = serde_json::from_slice(wanted).unwrap();
        let tunnels = self.0.lock().unwrap().hold(owner, &wanted)?;
        Ok(serde_json::to_vec(&serde_json::json!({ "epoch": 1, "tunnels": tunnels })).unwrap())
    }
}

//! A survey finds what there is, and nothing that hosts make up.
use std::time::Duration;
use wire::admission::Address;

use control::network::Network;
use control::survey::{Found, Survey};
use openflow::Message;
use openflow::flow::FlowCommand;
use openflow::matching::Match;
use openflow::oxm::Oxm;
use openflow::packet::{PacketIn, PacketInReason};
use openflow::words::{BufferId, PortNo, TableId};

use crate::cabling::digest;
use crate::faults::two_ways;
use crate::world::{World, address, mac};
use testkit::openflow_switch::{Packet, Switch};

const NOW: Duration = Duration::from_secs(100);

/// A survey of switches without entries, and what has come to hosts.
struct Scene {
    world: World,
    switches: Vec<Switch>,
    survey: Survey,
    heard: Vec<(usize, Vec<u8>)>,
}

impl Scene {
    fn new() -> Self {
        let world = World::new(two_ways(), control::config::Config::default());
        let switches = (0..world.network.switches.len()).map(|_| Switch::default()).collect();
        let survey = Survey::new([9; 32], digest);
        let mut scene = Self { world, switches, survey, heard: Vec::new() };
        for switch in 0..scene.switches.len() {
            let messages = scene.survey.switch_up(NOW, &scene.world.report(switch));
            scene.told(switch, &messages);
        }
        scene.tell(NOW);
        scene
    }

    fn tell(&mut self, now: Duration) {
        for (datapath, messages) in self.survey.tell(now) {
            let is = |switch: &control::network::Switch| switch.datapath == datapath;
            let switch = self.world.network.switches.iter().position(is).unwrap();
            self.told(switch, &messages);
        }
    }

    fn told(&mut self, switch: usize, messages: &[Message]) {
        let node = self.world.network.switch_node(switch);
        for message in messages {
            let Message::PacketOut(packet) = message else {
                self.switches[switch].take(message).unwrap();
                continue;
            };
            let [openflow::action::Action::Output { port, .. }] = packet.actions[..] else {
                panic!("{packet:?}")
            };
            let (link, _) = self.world.network.leaving(node).find(|(_, link)| link.number == port.0).unwrap();
            self.bring(link, packet.data.clone());
        }
    }

    /// A frame goes along a link.
    fn bring(&mut self, link: usize, data: Vec<u8>) {
        let to = self.world.network.links[link].to;
        let Some(switch) = self.world.network.switch_of(to) else {
            self.heard.push((to, data));
            return;
        };
        let in_port = self.world.network.links[Network::back(link)].number;
        let packet = Packet {
            to: data[..6].try_into().unwrap(),
            from: data[6..12].try_into().unwrap(),
            tag: None,
            kind: u16::from_be_bytes([data[12], data[13]]),
            source: Address::default(),
            destination: Address::default(),
            protocol: 0,
            ports: (0, 0),
            dscp: 0,
        };
        let fate = self.switches[switch].forward(in_port, packet);
        assert!(fate.out.is_empty(), "nothing is forwarded: {fate:?}");
        for (table, cookie, _) in fate.copies {
            let packet = PacketIn {
                buffer: BufferId::NONE,
                total_len: 60,
                reason: PacketInReason::Action,
                table: TableId(table),
                cookie,
                matching: Match::of(&[Oxm::in_port(PortNo(in_port))]).unwrap(),
                data: data.clone(),
            };
            let datapath = self.world.network.switches[switch].datapath;
            self.survey.packet_in(NOW, datapath, &packet);
        }
    }

    fn say(&mut self, host: usize, data: Vec<u8>) {
        let (link, _) = self.world.network.leaving(host).next().unwrap();
        self.bring(link, data);
    }

    fn arp(&mut self, host: usize, of: Address) {
        let packet = Packet {
            from: mac(host),
            to: [0xff; 6],
            tag: None,
            kind: 0x0806,
            source: of,
            destination: [10, 0, 0, 99].into(),
            protocol: 0,
            ports: (0, 0),
            dscp: 0,
        };
        self.say(host, packet.bytes());
    }

    fn found(&self) -> Found {
        self.survey.found()
    }
}

/// Links as the network has them, with the lesser end first.
fn planned(network: &Network) -> Vec<[(u64, u32); 2]> {
    let end = |link: usize| {
        let link = &network.links[link];
        Some((network.switches[network.switch_of(link.from)?].datapath, link.number))
    };
    let mut links: Vec<[(u64, u32); 2]> = (0..network.links.len())
        .step_by(2)
        .filter_map(|link| {
            let (one, other) = (end(link)?, end(Network::back(link))?);
            Some([one.min(other), one.max(other)])
        })
        .collect();
    links.sort_unstable();
    links
}

#[test]
fn links_and_hosts_are_found() {
    let mut scene = Scene::new();
    for host in 0..4 {
        scene.arp(host, address(host));
    }
    let found = scene.found();
    assert_eq!(found.odd, Vec::<String>::new());
    assert_eq!(found.links.iter().map(|link| link.ends).collect::<Vec<_>>(), planned(&scene.world.network));
    assert!(found.links.iter().all(|link| link.rate == 10_000_000_000), "{found:?}");
    let hosts: Vec<Vec<Address>> = found.hosts.iter().map(|host| host.addresses.clone()).collect();
    assert_eq!(hosts, [[address(0)], [address(1)], [address(2)], [address(3)]]);
    // At the end switches are as they were.
    for switch in &mut scene.switches {
        assert_eq!(switch.flows.len(), 2);
        for message in Survey::end() {
            let Message::FlowMod(flow) = &message else { panic!("{message:?}") };
            assert_eq!(flow.command, FlowCommand::Delete);
            switch.take(&message).unwrap();
        }
        assert_eq!(switch.flows.len(), 0);
    }
}

#[test]
fn hosts_cannot_make_up_links() {
    let mut scene = Scene::new();
    // Two hosts pass on to each other what they hear, and one of them speaks for itself.
    let heard = std::mem::take(&mut scene.heard);
    let of_host = |host: usize| heard.iter().find(|(at, _)| *at == host).unwrap().1.clone();
    scene.say(0, of_host(2));
    scene.say(2, of_host(0));
    scene.arp(2, address(2));
    let found = scene.found();
    assert_eq!(found.links.iter().map(|link| link.ends).collect::<Vec<_>>(), planned(&scene.world.network));
    assert!(found.odd.iter().any(|odd| odd.contains("a host speaks there")), "{found:?}");
    // One alone, and one that changes what it has heard.
    scene.say(1, of_host(3));
    let mut forged = of_host(3);
    let last = forged.len() - 3;
    forged[last] ^= 1;
    scene.say(3, forged);
    let found = scene.found();
    assert_eq!(found.links.len(), planned(&scene.world.network).len());
    assert!(found.odd.iter().any(|odd| odd.contains("does not hear it")), "{found:?}");
}

#[test]
fn an_address_that_speaks_at_two_ports_is_told() {
    let mut scene = Scene::new();
    scene.arp(0, address(0));
    scene.arp(1, address(0));
    let mut frame =
        lldp::Frame::new(mac(3), lldp::ChassisId::mac(mac(3)), lldp::PortId::local("eth0").unwrap(), 60);
    frame.system_name = Some("desk".to_owned());
    scene.say(3, frame.write().unwrap());
    let found = scene.found();
    assert!(found.odd.len() == 1 && found.odd[0].contains("10.0.0.1 speaks at"), "{found:?}");
    let hosts: Vec<(usize, Option<&str>)> =
        found.hosts.iter().map(|host| (host.addresses.len(), host.name.as_deref())).collect();
    assert_eq!(hosts, [(1, None), (0, None), (0, Some("desk"))]);
}

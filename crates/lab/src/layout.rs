//! What a lab will be made of: names, addresses, interfaces, queues; found without touching the machine.
use std::net::{IpAddr, Ipv4Addr};

use latency::network::Buffer;
use latency::switch::Guard;
use network::{Network, SwitchKind};
use serde::{Deserialize, Serialize};

use crate::emulator::{Description, EndDescription, LinkDescription};
use bridge::classes::{Filled, Queues};
use system::Error;

/// Bytes of the longest name of a lab: with that of a host it names a file.
const LONGEST_NAME: usize = 16;
const LONGEST_NODE: usize = 40;
/// The most hosts, and the most switches.
const MOST: usize = 250;
/// The most links.
const MOST_LINKS: usize = 2_000;
/// Frames that a queue of a host holds; a sender's own buffer is full before.
const HOST_QUEUE: u64 = 1_000;
/// The end of the name of the emulator's namespace.
pub(crate) const WIRES: &str = "wires";
/// Picoseconds in a nanosecond.
const NANOSECOND: u64 = 1_000;
/// Links above this rate are not kept by the switch process of this kind of machine (`docs/lab.md`).
const KEPT_RATE: u64 = 100_000_000;

/// Where the port of the OpenFlow channel is.
pub const OPENFLOW_PORT: u16 = 6653;
/// Where the agent of a switch's gates listens.
pub const GATE_PORT: u16 = 6654;

/// A lab as it will be built.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What the lab is called.
    pub name: String,
    /// Its hosts, in the order of the file.
    pub hosts: Vec<Host>,
    /// Its switches, in the order of the file.
    pub switches: Vec<Switch>,
    /// Its links, in the order of the file.
    pub links: Vec<Link>,
    /// What works less well than the file says.
    pub warnings: Vec<String>,
}

/// A host: a network namespace with `eth0`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Host {
    /// What it is called in the file.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its addresses: those of the file, or one of IPv4 if the file has none.
    pub addresses: Vec<IpAddr>,
    /// The hardware address of `eth0`.
    pub mac: String,
    /// Whether the control channels of all switches end here.
    pub manager: bool,
}

/// Who carries frames from one end of a link to the other.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Carrying {
    /// The kernel, with its shapers; a link with a delay or a loss also has the emulator in it.
    #[default]
    Kernel,
    /// The emulator, which serves the queues, too.
    Emulated,
}

/// A switch: an Open vSwitch of its own, or a bridge of the kernel, in a network namespace: a bridge `br0` with ports `p1`, `p2`, ...
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Switch {
    /// What it is called in the file.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its datapath id in OpenFlow: its number in the file, from 1.
    pub datapath: u64,
    /// The numbers of its ports that have a link.
    pub ports: Vec<u32>,
    /// Those of them that lead to hosts.
    pub host_ports: Vec<u32>,
    /// Whether message gates are at the ports that lead to hosts.
    pub gated: bool,
    /// Whether gates or meters hold flows to their contracts.
    pub guarded: bool,
    /// Bytes that its full queues take of the buffer of its socket.
    pub memory: u64,
    /// Whether it is a bridge of the kernel.
    #[serde(default)]
    pub bridge: bool,
}

/// An end of a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// The namespace of the node.
    pub namespace: String,
    /// The name of the interface there.
    pub interface: String,
    /// Its hardware address.
    pub mac: String,
    /// Whether the node is a host.
    pub host: bool,
    /// The queues of the interface.
    pub queues: Queues,
}

/// A link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its two ends.
    pub ends: [End; 2],
    /// What is between them, if the kernel does not connect them alone.
    pub wire: Option<Wire>,
}

/// A link that the emulator carries from end to end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wire {
    /// The interfaces at which it meets the ends, in the namespace [`Layout::wires`].
    pub interfaces: [String; 2],
    /// Nanoseconds that every frame is held.
    pub delay: u64,
    /// Frames of a million that are lost.
    pub loss: u32,
    /// Whether it serves the queues of the ends, too; else the kernel does.
    pub queues: bool,
}

impl Layout {
    /// Lays a network out.
    ///
    /// # Errors
    /// What of the network cannot be built here, and what to do.
    pub fn new(network: &Network, name: &str, carrying: Carrying) -> Result<Self, Error> {
        check_name(name)?;
        let (hosts, switches) = (network.hosts(), network.switches());
        if hosts.len() > MOST || switches.len() > MOST || network.cables().len() > MOST_LINKS {
            let what = format!("a lab has at most {MOST} hosts, {MOST} switches and {MOST_LINKS} links");
            return Err(Error::new(what, "build parts of the network"));
        }
        let mut addresses = addresses(network);
        let mut layout = Self {
            name: name.to_owned(),
            hosts: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            warnings: Vec::new(),
        };
        for (number, host) in (1_u16..).zip(hosts) {
            check_node(&host.name)?;
            layout.hosts.push(Host {
                name: host.name.clone(),
                namespace: format!("{name}-{}", host.name),
                addresses: match host.addresses.as_slice() {
                    [] => addresses.next().map(IpAddr::V4).into_iter().collect(),
                    given => given.to_vec(),
                },
                mac: host.mac.map_or_else(|| mac(0, number), written),
                manager: host.manager,
            });
        }
        for (datapath, switch) in (1..).zip(switches) {
            check_node(&switch.name)?;
            if switch.datapath != datapath {
                let what = format!("the switch \"{}\" has the datapath id {}", switch.name, switch.datapath);
                return Err(Error::new(what, "a lab numbers its switches in the order of the file, from 1"));
            }
            layout.switches.push(Switch {
                name: switch.name.clone(),
                namespace: format!("{name}-{}", switch.name),
                datapath,
                ports: Vec::new(),
                host_ports: Vec::new(),
                gated: matches!(switch.kind.guard, Guard::Gates { .. }),
                guarded: switch.kind.guard != Guard::None,
                memory: 0,
                bridge: switch.made == SwitchKind::Bridge,
            });
        }
        let in_vlans: Vec<&str> =
            hosts.iter().filter(|host| !host.vlans.is_empty()).map(|host| host.name.as_str()).collect();
        if !in_vlans.is_empty() {
            let names = in_vlans.join(", ");
            layout.warnings.push(format!("interfaces of VLANs are not made: those of {names} have to be"));
        }
        layout.add_links(network, carrying)?;
        // Gates are where hosts come in; a switch between switches has nothing for an agent to do.
        for switch in &mut layout.switches {
            switch.gated &= !switch.host_ports.is_empty();
        }
        let managed = hosts.iter().any(|host| host.manager);
        if !managed && let Some(switch) = loops(network) {
            let name = network.node_name(switch).unwrap_or_default();
            let what = format!("the switch \"{name}\" is part of a loop, and no host is the manager");
            let remedy =
                "a frame to all would go round for ever: take a link out, or give a host manager = true";
            return Err(Error::new(what, remedy));
        }
        Ok(layout)
    }

    fn add_links(&mut self, network: &Network, carrying: Carrying) -> Result<(), Error> {
        let mut fast = 0;
        for (index, link) in network.cables().iter().enumerate() {
            let hosts = self.hosts.len();
            let mut ends = Vec::new();
            for (side, end) in link.ends.iter().enumerate() {
                let Some(port) = network.ports().get(2 * index + side) else { continue };
                let label = format!("{}:{}", network.node_name(end.node).unwrap_or_default(), end.port);
                let switch = end.node.checked_sub(hosts);
                let other = link.ends.get(1 - side).map_or(0, |other| other.node);
                ends.push(match switch.and_then(|switch| self.switches.get_mut(switch)) {
                    None => {
                        let (namespace, mac) = self
                            .hosts
                            .get(end.node)
                            .map(|host| (host.namespace.clone(), host.mac.clone()))
                            .unwrap_or_default();
                        let queues = Queues::of(port, &label, Filled::ByHost(HOST_QUEUE))?;
                        End { namespace, interface: "eth0".to_owned(), mac, host: true, queues }
                    }
                    Some(switch) => {
                        let filled = if switch.guarded { Filled::Guarded } else { Filled::Open };
                        let queues = Queues::of(port, &label, filled)?;
                        let (Buffer::PerQueue(bytes) | Buffer::Shared(bytes)) = port.buffer;
                        let each = if matches!(port.buffer, Buffer::PerQueue(_)) {
                            u64::from(port.queues)
                        } else {
                            1
                        };
                        switch.memory += queues.memory(bytes.saturating_mul(each));
                        switch.ports.push(end.port);
                        if other < hosts {
                            switch.host_ports.push(end.port);
                        }
                        End {
                            namespace: switch.namespace.clone(),
                            interface: format!("p{}", end.port),
                            mac: format!(
                                "02:01:{:02x}:{:02x}:{:02x}:{:02x}",
                                switch.datapath,
                                end.port >> 16 & 0xff,
                                end.port >> 8 & 0xff,
                                end.port & 0xff
                            ),
                            host: false,
                            queues,
                        }
                    }
                });
            }
            let Ok(ends) = <[End; 2]>::try_from(ends) else { continue };
            fast += u32::from(link.rate > KEPT_RATE);
            let (delay, loss) = (link.delay / NANOSECOND, link.loss);
            let interfaces = ["a", "b"].map(|side| format!("w{}{side}", index + 1));
            let emulated = carrying == Carrying::Emulated;
            let wire = (emulated || delay > 0 || loss > 0).then_some(Wire {
                interfaces,
                delay,
                loss,
                queues: emulated,
            });
            self.links.push(Link { ends, wire });
        }
        if fast > 0 {
            self.warnings.push(format!(
                "{fast} links are faster than 100 Mb/s: switches and queues on this kind of machine do not keep such rates"
            ));
        }
        Ok(())
    }

    /// The namespaces that it will have.
    pub(crate) fn namespaces(&self) -> Vec<String> {
        let hosts = self.hosts.iter().map(|host| host.namespace.clone());
        let switches = self.switches.iter().map(|switch| switch.namespace.clone());
        let wires = self.links.iter().any(|link| link.wire.is_some()).then(|| self.wires());
        hosts.chain(switches).chain(wires).collect()
    }

    /// The namespace of the emulator, if there is one.
    pub fn wires(&self) -> String {
        format!("{}-{WIRES}", self.name)
    }

    /// What the emulator is to be, and where it is to run; `None` if the kernel connects everything.
    pub(crate) fn emulated(&self, core: Option<usize>) -> Option<Description> {
        let links: Vec<LinkDescription> = self
            .links
            .iter()
            .filter_map(|link| {
                let wire = link.wire.as_ref()?;
                let end = |side: usize| {
                    let (end, interface) = (link.ends.get(side)?, wire.interfaces.get(side)?);
                    let gated = wire.queues && self.gated(end) && link.ends.get(1 - side)?.host;
                    Some(EndDescription {
                        interface: interface.clone(),
                        port: [end.namespace.clone(), end.interface.clone()],
                        queues: wire.queues.then(|| end.queues.clone()),
                        switch: !end.host,
                        stamps: gated,
                    })
                };
                Some(LinkDescription { ends: [end(0)?, end(1)?], delay: wire.delay, loss: wire.loss })
            })
            .collect();
        (!links.is_empty()).then_some(Description { links, core })
    }

    /// Whether it is a port of a switch that has gates.
    fn gated(&self, end: &End) -> bool {
        self.switches.iter().any(|switch| switch.gated && switch.namespace == end.namespace)
    }

    /// The host where the control channels end.
    pub(crate) fn manager(&self) -> Option<&Host> {
        self.hosts.iter().find(|host| host.manager)
    }
}

impl Switch {
    /// The addresses of its control channel: the manager's end and its own.
    pub fn control(&self) -> [Ipv4Addr; 2] {
        // There are at most 250 switches.
        let number = u8::try_from(self.datapath).unwrap_or(0);
        [Ipv4Addr::new(172, 31, number, 1), Ipv4Addr::new(172, 31, number, 2)]
    }
}

/// Checks the name of a lab.
///
/// # Errors
/// What names are.
pub fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) || name.starts_with('-') {
        let what = format!("\"{}\" is no name for a lab", name.escape_default());
        let remedy = format!("1 to {LONGEST_NAME} lower-case letters, digits and \"-\", as in --name ward-3");
        return Err(Error::new(what, remedy));
    }
    Ok(())
}

pub(crate) fn check_node(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = name.len() <= LONGEST_NODE && name.chars().all(plain) && !name.starts_with(['-', '.']);
    if !good || name == WIRES {
        let what = format!("the node \"{}\" cannot be built with that name", name.escape_default());
        let remedy = format!("1 to {LONGEST_NODE} letters, digits, \"-\", \"_\" and \".\", not \"wires\"");
        return Err(Error::new(what, remedy));
    }
    Ok(())
}

/// Addresses for hosts that have none, 10.1.0.1 and on, without those that others have.
fn addresses(network: &Network) -> impl Iterator<Item = Ipv4Addr> {
    let first = u32::from(Ipv4Addr::new(10, 1, 0, 1));
    (first..first + 0xfffe)
        .map(Ipv4Addr::from)
        .filter(|address| !network.hosts().iter().any(|host| host.addresses.contains(&IpAddr::V4(*address))))
}

fn mac(kind: u8, number: u16) -> String {
    let [high, low] = number.to_be_bytes();
    format!("02:00:00:{kind:02x}:{high:02x}:{low:02x}")
}

/// A MAC address as it is written.
pub(crate) fn written(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// A switch on a loop of links, if there is a loop.
fn loops(network: &Network) -> Option<usize> {
    let nodes = network.hosts().len() + network.switches().len();
    let mut root: Vec<usize> = (0..nodes).collect();
    let find = |root: &Vec<usize>, mut node: usize| {
        while let Some(next) = root.get(node).copied().filter(|next| *next != node) {
            node = next;
        }
        node
    };
    for link in network.cables() {
        let [one, other] = link.ends.map(|end| find(&root, end.node));
        if one == other {
            return Some(link.ends[0].node);
        }
        if let Some(root) = root.get_mut(one) {
            *root = other;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use bridge::classes::Purpose;

    const NETWORK: &str = r#"
control = { burst = 1000, rate = "1 Mb/s" }
[[host]]
name = "a"
[[host]]
name = "b"
address = "10.1.0.1"
[[host]]
name = "m"
manager = true
[[switch-model]]
name = "small"
ports = 8
queues = 4
rate = "100 Mb/s"
queue-buffer = 8_400
cell = 1
energy-efficient = false
pause = "off"
gates = {}
[[switch]]
name = "s1"
model = "small"
[[switch]]
name = "s2"
model = "open-vswitch"
[[link]]
ends = ["a", "s1:7"]
[[link]]
ends = ["s1", "s2:3"]
delay = "2 ms"
[[link]]
ends = ["b", "s2"]
[[link]]
ends = ["m", "s2"]
rate = "10 Mb/s"
"#;

    fn network(text: &str) -> Network {
        Network::parse("net.toml", text, |_| Err(String::new())).unwrap()
    }

    #[test]
    fn names_addresses_and_ports_follow_from_the_file() {
        let layout = Layout::new(&network(NETWORK), "x", Carrying::Kernel).unwrap();
        let addresses: Vec<String> = layout.hosts.iter().map(|host| host.addresses[0].to_string()).collect();
        assert_eq!(addresses, ["10.1.0.2", "10.1.0.1", "10.1.0.3"]);
        assert_eq!(layout.namespaces(), ["x-a", "x-b", "x-m", "x-s1", "x-s2", "x-wires"]);
        let [one, two] = [&layout.switches[0], &layout.switches[1]];
        assert_eq!((&one.ports[..], &one.host_ports[..], one.gated), (&[7, 1][..], &[7][..], true));
        assert_eq!((&two.ports[..], &two.host_ports[..], two.gated), (&[3, 1, 2][..], &[1, 2][..], false));
        let wire = layout.links[1].wire.as_ref().unwrap();
        assert_eq!((wire.delay, wire.loss), (2_000_000, 0));
        assert_eq!(two.control().map(|address| address.to_string()), ["172.31.2.1", "172.31.2.2"]);
        assert_eq!(layout.manager().map(|host| host.name.as_str()), Some("m"));
        let purposes: Vec<(Purpose, u8, u64)> = layout.links[0].ends[1]
            .queues
            .queues
            .iter()
            .map(|queue| (queue.purpose, queue.dscp, queue.frames))
            .collect();
        let level = |level, dscp| (Purpose::Level(level), dscp, 100);
        let control = (Purpose::Control, 48, 50);
        assert_eq!(purposes, [(Purpose::BestEffort, 0, 50), level(0, 10), level(1, 18), control]);
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let refused = |from: &str, to: &str| {
            Layout::new(&network(&NETWORK.replace(from, to)), "x", Carrying::Kernel).unwrap_err().to_string()
        };
        assert!(refused("\"b\"", "\"b/c\"").contains("cannot be built with that name"));
        assert!(refused("\"b\"", "\"wires\"").contains("not \"wires\""));
        assert!(refused("queues = 4", "queues = 9").contains("9 queues, 7 of them levels"));
        let text = NETWORK.replace("manager = true", "") + "[[link]]\nends = [\"s1\", \"s2\"]\n";
        assert!(
            Layout::new(&network(&text), "x", Carrying::Kernel).unwrap_err().what.contains("part of a loop")
        );
        let text = NETWORK.to_owned() + "[[link]]\nends = [\"s1\", \"s2\"]\n";
        Layout::new(&network(&text), "x", Carrying::Kernel).unwrap();
        for name in ["", "A", "a b", "../x", "-x", "a-name-of-17-octe"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
